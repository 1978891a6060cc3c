//! `clawgate run --golden`: whether runs are compared with their snapshots.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;

use crate::cli::output::note;
use crate::cli::{CommandError, complain};
use crate::exit_code::Outcome;
use crate::golden::{Mode, StoreError};
use crate::run::target::Located;
use crate::run::{Golden, Suite, orphans};

/// Where snapshots are.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct GoldenDir {
    /// Where golden snapshots are
    #[arg(long, value_name = "DIR", default_value = "golden", env = "CLAWGATE_GOLDEN_DIR")]
    pub(super) golden_dir: PathBuf,
}

/// Whether runs are compared with their snapshots.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct GoldenArgs {
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
pub(crate) fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !matches!(value.to_str(), Some("" | "0" | "false")))
}

impl GoldenArgs {
    /// Where snapshots are.
    pub(crate) fn folder(&self) -> &Path {
        &self.dir.golden_dir
    }

    /// What runs are compared with.
    pub(crate) fn golden(&self, targets: &[String]) -> Result<Option<Golden>, CommandError> {
        let check = if is_ci() { Mode::ReadOnly } else { Mode::Check };
        let folder = self.dir.golden_dir.as_path();
        Ok(match self.golden {
            Some(What::Off) => None,
            None => Some(Golden::new(folder, check).known_only()),
            Some(What::Check) => Some(Golden::new(folder, check)),
            Some(What::Update) if is_ci() => {
                let message = "--golden update writes snapshots, and CI is set: update them where they can be looked \
                               at, and commit them";
                return Err(CommandError::Usage(message.into()));
            }
            // A misbehaviour shares its target's snapshots, to be caught by them; it must not become one.
            Some(What::Update) => match targets.iter().find(|target| target.contains('+')) {
                Some(target) => {
                    let message = format!("--golden update: `{target}` misbehaves on purpose");
                    return Err(CommandError::Usage(message));
                }
                None => Some(Golden::new(folder, Mode::Update)),
            },
        })
    }
}

/// Tells of snapshots that no case has: in CI they fail the run, since nothing would ever look at them again.
pub(crate) fn tell_orphans(
    golden: &Golden,
    suite: &Suite,
    targets: &[Arc<Located>],
) -> Result<Outcome, CommandError> {
    let mut outcome = Outcome::Ok;
    for target in targets {
        let orphans = orphans(golden.store(), suite, target).map_err(|error| unreadable_snapshot(&error))?;
        for orphan in orphans.into_iter().filter(|orphan| orphan.kept_for.is_none()) {
            let place = orphan.path.display();
            let message =
                format!("{place}: no case has this snapshot; remove it with: clawgate golden prune");
            if is_ci() {
                complain(&message);
                outcome = Outcome::Findings;
            } else {
                note(&message);
            }
        }
    }
    Ok(outcome)
}

/// Snapshots that cannot even be looked through are an unreadable input, whatever is wrong with them.
pub(super) fn unreadable_snapshot(error: &StoreError) -> CommandError {
    CommandError::Usage(error.to_string())
}
