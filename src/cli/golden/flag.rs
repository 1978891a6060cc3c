//! `clawgate run --golden`: whether runs are compared with their snapshots.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;

use crate::cli::{Failure, complain};
use crate::exit_code;
use crate::golden::{Mode, Orphan, Store, StoreError};
use crate::harness::target::Located;
use crate::printable::printable;
use crate::report::style::CAUTION;
use crate::run::{Golden, Suite, plan};

/// Where snapshots are.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct GoldenDir {
    /// Where golden snapshots are
    #[arg(long, value_name = "DIR", default_value = "golden", env = "CLAWGATE_GOLDEN_DIR")]
    pub(in crate::cli) golden_dir: PathBuf,
}

/// Whether runs are compared with their snapshots.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct GoldenArgs {
    /// Compare each run with its golden snapshot [default: check, for targets that have snapshots]
    #[arg(long, value_enum, value_name = "WHAT", env = "CLAWGATE_GOLDEN")]
    golden: Option<What>,
    #[command(flatten)]
    dir: GoldenDir,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// A run that differs fails, and goes beside the snapshot as .snap.new; where CI is set nothing is written
    Check,
    /// A run that differs becomes the snapshot; refused where CI is set
    Update,
    /// No snapshot is looked at
    Off,
}

/// Whether this is a build server, where nothing is written into the sources.
pub(in crate::cli) fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !matches!(value.to_str(), Some("" | "0" | "false")))
}

impl GoldenArgs {
    /// What runs are compared with.
    pub(in crate::cli) fn golden(&self, targets: &[String]) -> Result<Option<Golden>, Failure> {
        let check = if is_ci() { Mode::ReadOnly } else { Mode::Check };
        let folder = self.dir.golden_dir.as_path();
        Ok(match self.golden {
            Some(What::Off) => None,
            None => Some(Golden::new(folder, check).known_only()),
            Some(What::Check) => Some(Golden::new(folder, check)),
            Some(What::Update) if is_ci() => {
                let message = "--golden update writes snapshots, and CI is set: update them where they can be looked \
                               at, and commit them";
                return Err(Failure::Usage(message.into()));
            }
            Some(What::Update) => {
                refuse_misbehaviour(targets)?;
                Some(Golden::new(folder, Mode::Update))
            }
        })
    }
}

/// A misbehaviour shares its target's snapshots, to be caught by them; it must not become one.
fn refuse_misbehaviour(targets: &[String]) -> Result<(), Failure> {
    match targets.iter().find(|target| target.contains('+')) {
        Some(target) => Err(Failure::Usage(format!("--golden update: `{target}` misbehaves on purpose"))),
        None => Ok(()),
    }
}

/// Tells of snapshots that no case has: in CI they fail the run, since nothing would ever look at them again.
pub(in crate::cli) fn orphans(
    golden: &Golden,
    suite: &Suite,
    targets: &[Arc<Located>],
) -> Result<u8, Failure> {
    let mut code = exit_code::OK;
    for target in targets {
        for orphan in orphans_of(golden.store(), suite, target)? {
            match orphan.kept_for {
                Some(_) => {}
                None if is_ci() => {
                    complain(&unreferenced(&orphan.path));
                    code = exit_code::FINDINGS;
                }
                None => note(&unreferenced(&orphan.path)),
            }
        }
    }
    Ok(code)
}

/// The snapshots of a target that no case has: none of the suite, and none of the file that a snapshot belongs to.
pub(in crate::cli) fn orphans_of(
    store: &Store,
    suite: &Suite,
    target: &Arc<Located>,
) -> Result<Vec<Orphan>, Failure> {
    let has_snapshot = |suite: &Suite, name: &dyn Fn(&str) -> bool| {
        let planned = plan(suite, std::slice::from_ref(target), 1);
        let cases = planned.into_iter().filter(|planned| planned.case.golden.skip.is_none());
        cases.map(|planned| planned.case.name.clone()).filter(|case| name(case)).collect::<Vec<_>>()
    };
    let known = has_snapshot(suite, &|_| true);
    let has = |scenario: &Path, case: &str| {
        let mut own = Suite::default();
        // A file that cannot be read right now may well have the case: in doubt its snapshots stay.
        scenario.exists()
            && (own.add_path(scenario).is_err() || !has_snapshot(&own, &|name| name == case).is_empty())
    };
    let name = &target.choice.target.name;
    store.orphans(name, known.iter().map(String::as_str), has).map_err(|error| usage(&error))
}

/// Says something that does not fail.
pub(in crate::cli) fn note(message: &str) {
    // There is nobody left to tell when standard error is closed.
    _ = writeln!(anstream::stderr(), "{CAUTION}note{CAUTION:#}: {}", printable(message));
}

fn unreferenced(path: &Path) -> String {
    format!("{}: no case has this snapshot; remove it with: clawgate golden prune", path.display())
}

/// Snapshots that cannot be read or written are an unreadable input.
pub(in crate::cli) fn usage(error: &StoreError) -> Failure {
    Failure::Usage(error.to_string())
}
