//! `clawgate run --golden`: whether runs are compared with their snapshots.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;

use super::{Failure, complain};
use crate::exit_code;
use crate::golden::{Mode, StoreError};
use crate::harness::run::{Golden, Suite, plan};
use crate::harness::target::Located;

/// Where snapshots are.
#[derive(Debug, clap::Args)]
pub(super) struct GoldenDir {
    /// Where golden snapshots are
    #[arg(long, value_name = "DIR", default_value = "golden", env = "CLAWGATE_GOLDEN_DIR")]
    pub(super) golden_dir: PathBuf,
}

/// Whether runs are compared with their snapshots.
#[derive(Debug, clap::Args)]
pub(super) struct GoldenArgs {
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
pub(super) fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !matches!(value.to_str(), Some("" | "0" | "false")))
}

impl GoldenArgs {
    /// What runs are compared with.
    pub(super) fn golden(&self, targets: &[String]) -> Result<Option<Golden>, Failure> {
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
pub(super) fn orphans(golden: &Golden, suite: &Suite, targets: &[Arc<Located>]) -> Result<u8, Failure> {
    let mut code = exit_code::OK;
    for target in targets {
        let name = &target.choice.target.name;
        let planned = plan(suite, std::slice::from_ref(target), 1);
        let cases = planned.iter().map(|planned| planned.case.name.as_str());
        let found = golden.store().unreferenced(name, cases).map_err(usage)?;
        for path in &found {
            complain(&unreferenced(path));
            if is_ci() {
                code = exit_code::FINDINGS;
            }
        }
    }
    Ok(code)
}

fn unreferenced(path: &Path) -> String {
    format!("{}: no case has this snapshot; remove it with: clawgate golden prune", path.display())
}

/// Snapshots that cannot be read or written are an unreadable input.
pub(super) fn usage(error: StoreError) -> Failure {
    Failure::Usage(error.to_string())
}
