//! `clawgate golden`: decide about runs that differ from their snapshots.

pub(super) mod advice;
pub(super) mod flag;
mod learn;
mod review;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::cli::error::unreadable;
use crate::cli::output::note;
use crate::cli::project::Project;
use crate::cli::{CommandError, Format, FormatArg, complain};
use crate::drift::diff_snapshot;
use crate::exit_code::Outcome;
use crate::golden::{Orphan, Store, StoreError, snapshot_of};
use crate::run::orphans;
use crate::run::target::Located;
use crate::text::printable;
use flag::{GoldenDir, unreadable_snapshot};
use learn::LearnArgs;

/// Review, accept or reject runs that differ from their golden snapshots
///
/// `clawgate run` compares each run with golden/TARGET/CASE.snap. One that differs fails, and what it did is written
/// beside the snapshot as .snap.new, where it waits for a decision.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Begin with: clawgate run --golden update, and commit golden/.
Exit codes: 0 done; 100 a credential was refused, or review had no terminal to ask; 2 a snapshot cannot be read; 3 it
cannot be written, or changed meanwhile; 4 nothing was selected; 130 interrupted.")]
pub(super) struct GoldenArgs {
    #[command(subcommand)]
    command: GoldenCommand,
}

#[derive(Debug, Subcommand)]
enum GoldenCommand {
    /// Show each difference, whether it is breaking or additive, and decide with one key: a accept, r reject, s skip, q quit
    ///
    /// Without a terminal everything is shown and nothing decided; what waits makes the exit code 100.
    Review(PendingArgs),
    /// Make what waits the snapshot
    Accept(PendingArgs),
    /// Remove what waits
    Reject(PendingArgs),
    /// Remove snapshots that no case has
    ///
    /// Cases are those that are built in, the project's own as `clawgate run` finds them, those that are named here, and those
    /// of the file that a snapshot says it belongs to. What belongs to a file outside of the project that is not here, and
    /// what belongs to a target that is not known, is left alone.
    Prune(PruneArgs),
    LearnVolatile(LearnArgs),
}

#[derive(Debug, Args)]
struct PendingArgs {
    /// Only these: a part of the path [default: everything that waits]
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    #[command(flatten)]
    dir: GoldenDir,
    #[command(flatten)]
    format: FormatArg,
}

#[derive(Debug, Args)]
struct PruneArgs {
    /// Scenario files or directories whose cases also count
    #[arg(value_name = "SCENARIOS")]
    scenarios: Vec<PathBuf>,
    /// A target file that is not beside a clawgate.toml, so that its snapshots are known
    #[arg(long, value_name = "FILE")]
    target: Vec<String>,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    dir: GoldenDir,
    #[command(flatten)]
    format: FormatArg,
}

pub(super) fn run(args: &GoldenArgs) -> Result<Outcome, CommandError> {
    match &args.command {
        GoldenCommand::Review(args) => review::run(args),
        GoldenCommand::Accept(args) => accept(args),
        GoldenCommand::Reject(args) => {
            args.decide("rejected", |store, path| store.reject(path, None).map(|()| None))
        }
        GoldenCommand::Prune(args) => prune(args),
        GoldenCommand::LearnVolatile(args) => learn::run(args),
    }
}

impl PendingArgs {
    fn store(&self) -> Store {
        self.dir.store()
    }

    /// What waits and is meant.
    fn pending(&self, store: &Store) -> Result<Vec<PathBuf>, CommandError> {
        let folder = printable(&self.dir.golden_dir.display().to_string()).into_owned();
        if !self.dir.golden_dir.is_dir() {
            let message = format!(
                "{folder}: there is no such folder of snapshots; take them with: clawgate run --golden update, or name \
                 theirs with --golden-dir"
            );
            return Err(CommandError::Usage(message));
        }
        let mut pending = store.pending().map_err(|error| unreadable_snapshot(&error))?;
        let waiting = pending.len();
        pending.retain(|path| {
            let path = path.to_string_lossy();
            self.filters.is_empty() || self.filters.iter().any(|filter| path.contains(filter.as_str()))
        });
        if pending.is_empty() && !self.filters.is_empty() {
            let filters = printable(&self.filters.join("`, `")).into_owned();
            let message = format!(
                "{waiting} wait for a decision in {folder}, and none of their paths holds `{filters}`; another folder of \
                 snapshots is named with --golden-dir"
            );
            return Err(CommandError::NothingSelected(message));
        }
        if pending.is_empty() && self.format.format == Format::Human {
            writeln!(Format::Human.stdout(), "nothing waits in {folder}")?;
        }
        Ok(pending)
    }

    /// Decides about all of them, and tells what became of each, with what it means if that is known.
    fn decide(
        &self,
        what: &str,
        decide: impl Fn(&Store, &Path) -> Result<Option<String>, StoreError>,
    ) -> Result<Outcome, CommandError> {
        let store = self.store();
        let mut outcome = Outcome::Ok;
        for path in self.pending(&store)? {
            match decide(&store, &path) {
                Ok(advice) => tell(self.format.format, what, &snapshot_of(&path), advice.as_deref())?,
                // One that fails does not keep the others from being decided.
                Err(error) => outcome.add(CommandError::from(error).told()),
            }
        }
        Ok(outcome)
    }
}

/// Whoever accepts without looking is told at least which version bump that asks for.
fn accept(args: &PendingArgs) -> Result<Outcome, CommandError> {
    let policy = Project::open()?.terms(None)?;
    args.decide("accepted", |store, path| {
        let drift = diff_snapshot(&snapshot_of(path), path, &policy);
        store.accept(path, None)?;
        Ok(drift.ok().and_then(|drift| drift.advice()))
    })
}

fn tell(format: Format, what: &str, path: &Path, advice: Option<&str>) -> io::Result<()> {
    let mut out = format.stdout();
    let place = path.display().to_string();
    match format {
        Format::Human => {
            let advice = advice.map_or(String::new(), |advice| format!(" ({advice})"));
            writeln!(out, "{what} {}{}", printable(&place), printable(&advice))?;
        }
        Format::Json => {
            let mut line = json!({"type": what, "snapshot": place});
            if let Some(advice) = advice {
                line["advice"] = advice.into();
            }
            writeln!(out, "{line}")?;
        }
    }
    out.flush()
}

fn prune(args: &PruneArgs) -> Result<Outcome, CommandError> {
    let project = Project::open()?;
    let mut suite = project.suite()?;
    for path in &args.scenarios {
        suite.add_path(path)?;
    }
    let store = args.dir.store();
    let named = args.target.iter().map(|typed| project.target(typed)).collect::<Result<Vec<_>, _>>()?;
    let (mut outcome, mut found) = (Outcome::Ok, false);
    for name in targets(store.root())? {
        let named = named.iter().find(|choice| choice.target.name == name).cloned();
        let choice = match named.map_or_else(|| project.target(&name), Ok) {
            Ok(choice) => choice,
            Err(error) => {
                let place = store.root().join(&name).display().to_string();
                complain(&format!("{place}: left alone: {error}; name its file with --target"));
                continue;
            }
        };
        // Which cases there are does not depend on where the program is.
        let located = Arc::new(Located::unlocated(choice));
        for Orphan { path, kept_for } in
            orphans(&store, &suite, &located).map_err(|error| unreadable_snapshot(&error))?
        {
            if let Some(owner) = kept_for {
                note(&format!("{}: left alone: it belongs to {owner}, which is not here", path.display()));
                continue;
            }
            found = true;
            if args.dry_run {
                tell(args.format.format, "unreferenced", &path, None)?;
                continue;
            }
            match store.prune(&path) {
                Ok(()) => tell(args.format.format, "pruned", &path, None)?,
                Err(error) => outcome.add(CommandError::from(error).told()),
            }
        }
    }
    if !found && args.format.format == Format::Human {
        writeln!(Format::Human.stdout(), "every snapshot in {} has a case", store.root().display())?;
    }
    Ok(outcome)
}

/// The targets that have snapshots.
fn targets(root: &Path) -> Result<Vec<String>, CommandError> {
    let entries = root.read_dir().map_err(unreadable(root))?;
    let folders = entries.flatten().filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> =
        folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}
