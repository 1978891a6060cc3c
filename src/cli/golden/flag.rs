//! `clawgate run --golden`: whether runs are compared with their snapshots.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;

use crate::cli::CommandError;
use crate::cli::cases::AllowMissingArg;
use crate::cli::error::unwritable;
use crate::cli::output::{note, tell};
use crate::golden::{Mode, Store, StoreError};
use crate::run::target::Located;
use crate::run::{GOLDEN_FOLDER, Golden, GoldenOptions, Suite, is_secret, orphans};
use crate::shell::shell_word;
use crate::text::printable;

/// So many snapshots that were written are named.
const MOST_NAMED: usize = 40;

/// Where snapshots are.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct GoldenDir {
    /// Where golden snapshots are
    #[arg(long, value_name = "DIR", default_value = GOLDEN_FOLDER, env = "CLAWGATE_GOLDEN_DIR")]
    pub(super) golden_dir: PathBuf,
}

impl GoldenDir {
    pub(super) fn store(&self) -> Store {
        Store::new(&self.golden_dir, is_secret)
    }

    /// Whether there is something to compare with or to write into: a name that is misspelt compares nothing.
    fn check(&self, what: Option<What>) -> Result<(), CommandError> {
        let (folder, shown) = (&self.golden_dir, self.golden_dir.display());
        match what {
            Some(What::Off) => Ok(()),
            Some(What::Update) if !is_ci() => fs::create_dir_all(folder).map_err(unwritable(folder)),
            _ if folder.exists() && !folder.is_dir() => {
                Err(CommandError::Usage(format!("{shown}: is a file, and a directory is expected")))
            }
            None if folder != Path::new(GOLDEN_FOLDER) && !folder.exists() => {
                Err(CommandError::Usage(format!(
                    "{shown}: there is no such folder of snapshots; take them with: clawgate run --golden update{}",
                    self.flag()
                )))
            }
            _ => Ok(()),
        }
    }

    /// The flag that makes another command look here too.
    pub(super) fn flag(&self) -> String {
        match self.golden_dir.to_str() {
            Some(GOLDEN_FOLDER) | None => String::new(),
            Some(folder) => format!(" --golden-dir {}", shell_word(folder)),
        }
    }
}

/// Whether runs are compared with their snapshots.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct GoldenArgs {
    /// Compare each run with its golden snapshot [default: check, for targets that have snapshots]
    #[arg(long, value_enum, value_name = "WHAT", env = "CLAWGATE_GOLDEN")]
    golden: Option<What>,
    #[command(flatten)]
    dir: GoldenDir,
    #[command(flatten)]
    missing: AllowMissingArg,
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
    pub(crate) fn options(&self, targets: &[Arc<Located>]) -> Result<Option<GoldenOptions>, CommandError> {
        self.dir.check(self.golden)?;
        let check = if is_ci() { Mode::ReadOnly } else { Mode::Check };
        let options = |mode, known_only| GoldenOptions {
            store: self.dir.store(),
            mode,
            known_only,
            allow_missing: self.missing.allow_missing,
        };
        Ok(match self.golden {
            Some(What::Off) => None,
            None => Some(options(check, true)),
            Some(What::Check) => Some(options(check, false)),
            Some(What::Update) if is_ci() => {
                let message = "--golden update writes snapshots, and CI is set: update them where they can be looked \
                               at, and commit them";
                return Err(CommandError::Usage(message.into()));
            }
            // A misbehaviour shares its target's snapshots, to be caught by them; it must not become one.
            Some(What::Update) => match targets.iter().find(|target| target.choice.misbehaviour.is_some()) {
                Some(target) => {
                    let message = format!("--golden update: `{}` misbehaves on purpose", target.choice.label);
                    return Err(CommandError::Usage(message));
                }
                None => Some(options(Mode::Update, false)),
            },
        })
    }
}

/// What to say of snapshots that no case has. They fail a run that compares, unless that is allowed: nothing would ever
/// look at them again, and nobody would notice that the case is gone.
pub(crate) fn lost_cases(
    args: &GoldenArgs,
    suite: &Suite,
    targets: &[Arc<Located>],
) -> Result<Vec<String>, CommandError> {
    let (store, folder) = (args.dir.store(), args.dir.flag());
    let mut lost = Vec::new();
    for target in targets {
        let choice = &target.choice;
        // A target that has its file elsewhere is not found by its name.
        let file = if Path::new(&choice.label).extension().is_some_and(|extension| extension == "toml") {
            format!(" --target {}", shell_word(&choice.label))
        } else {
            String::new()
        };
        let orphans = orphans(&store, suite, target).map_err(|error| unreadable_snapshot(&error))?;
        for orphan in orphans.into_iter().filter(|orphan| orphan.kept_for.is_none()) {
            let place = orphan.path.display();
            let message = format!(
                "{place}: no case has this snapshot; remove it with: clawgate golden prune{file}{folder}"
            );
            if args.golden == Some(What::Update) || args.missing.allow_missing {
                note(&message);
            } else {
                lost.push(format!("{message}; --allow-missing accepts that its case is gone"));
            }
        }
    }
    Ok(lost)
}

/// Says what a run has done to its snapshots.
pub(crate) fn tell_summary(golden: &Golden) {
    let summary = golden.finish();
    let count = |replaced| summary.written.values().filter(|written| written.replaced == replaced).count();
    if golden.writes() {
        tell(format_args!(
            "{}: {} new, {} changed, {} as they were",
            printable(&golden.folder().display().to_string()),
            count(false),
            count(true),
            summary.same
        ));
    }
    for (path, written) in summary.written.iter().take(MOST_NAMED) {
        let what = if written.replaced { "changed" } else { "new" };
        let failed = if written.as_expected { "" } else { " (of a case that failed)" };
        tell(format_args!("  {what:<7} {}{failed}", printable(&path.display().to_string())));
    }
    if summary.written.len() > MOST_NAMED {
        tell(format_args!("  and {} more", summary.written.len() - MOST_NAMED));
    }
}

/// Snapshots that cannot even be looked through are an unreadable input, whatever is wrong with them.
pub(crate) fn unreadable_snapshot(error: &StoreError) -> CommandError {
    CommandError::Usage(error.to_string())
}
