//! `--known-failures` and `--update-known-failures`: what a run accepts for now, and how that list is kept.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::CommandError;
use super::error::{unreadable, unwritable};
use super::golden::flag::is_ci;
use super::output::{note, tell};
use crate::document;
use crate::report::style::{GOOD, NAME};
use crate::report::write_whole;
use crate::run::target::Located;
use crate::run::{KnownFailures, contracts_of};
use crate::shell::shell_word;
use crate::text::printable;
use crate::text::trouble;
use crate::time;

/// The list that is written where none is named.
const FILE: &str = "known-failures.toml";

#[derive(Debug, Clone, clap::Args)]
pub(super) struct KnownFailuresArgs {
    /// Failures that are accepted for now; a stale or expired entry fails
    #[arg(long, value_name = "FILE", env = "CLAWGATE_KNOWN_FAILURES")]
    pub(super) known_failures: Option<PathBuf>,
    /// Put what fails on the list of known failures [default: known-failures.toml], and take off what no longer does.
    /// What the harness or the environment does wrong is never put on it; refused where CI is set
    #[arg(long)]
    update_known_failures: bool,
}

/// A list, and the text that it was read from.
#[derive(Debug)]
pub(super) struct KnownFailuresFile {
    path: PathBuf,
    text: String,
    pub(super) list: KnownFailures,
}

impl KnownFailuresArgs {
    /// Reads the list; none when there is no wish for one.
    pub(super) fn open(&self, targets: &[Arc<Located>]) -> Result<Option<KnownFailuresFile>, CommandError> {
        let path = match &self.known_failures {
            Some(path) => path.clone(),
            None if self.update_known_failures => FILE.into(),
            None => return Ok(None),
        };
        if self.update_known_failures && is_ci() {
            let message = "--update-known-failures writes a list, and CI is set: update it where it can be looked at, \
                           and commit it";
            return Err(CommandError::Usage(message.into()));
        }
        let text = match document::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.update_known_failures => {
                String::new()
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let message = format!(
                    "{}: {}; write one with: clawgate run --update-known-failures",
                    path.display(),
                    trouble(&path, &error)
                );
                return Err(CommandError::Usage(message));
            }
            read => read.map_err(unreadable(&path))?,
        };
        let contracts = contracts_of(targets)?;
        let has_clause = |clause: &str| contracts.iter().any(|contracts| contracts.has_clause(clause));
        let file = path.display().to_string();
        let list = KnownFailures::parse(&file, &text, time::date(time::now()), &has_clause)?;
        let list = if self.update_known_failures { list.updating() } else { list };
        Ok(Some(KnownFailuresFile { path, text, list }))
    }
}

impl KnownFailuresFile {
    /// Writes the list as it is after a run, if it is to be kept up to date, and says what to do with it. `is_named` says
    /// whether runs find it without a flag.
    pub(super) fn save(&self, is_named: bool) -> Result<(), CommandError> {
        let file = self.path.display().to_string();
        let Some(updated) = self.list.updated(&file, &self.text)? else {
            if self.list.is_updating() {
                note(&format!("{file} is as it was: nothing new fails, and no entry is stale"));
            }
            return Ok(());
        };
        // Renamed into place: whoever reads it meanwhile sees the old one or the new one.
        write_whole(&self.path, &updated.text).map_err(unwritable(&self.path))?;
        let shown = printable(&file).into_owned();
        tell(format_args!(
            "{GOOD}wrote{GOOD:#} {NAME}{shown}{NAME:#}: {} added, {} stale removed, {} entries in all",
            updated.added, updated.removed, updated.entries
        ));
        if updated.added > 0 {
            tell(format_args!(
                "next: say in each `reason` why it is accepted, with `link` and `expires` where there are any, and commit it"
            ));
        }
        if !is_named {
            let file = shell_word(&file);
            tell(format_args!(
                "from now on: clawgate run --known-failures {} (or known-failures = \"…\" in a profile of clawgate.toml)",
                printable(&file)
            ));
        }
        Ok(())
    }
}
