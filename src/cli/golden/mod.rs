//! `clawgate golden`: decide about runs that differ from their snapshots.

pub(super) mod flag;
mod learn;
mod review;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::cli::{Failure, Format, FormatArg, complain};
use crate::exit_code;
use crate::golden::{Store, StoreError, snapshot_of};
use crate::harness::target::{Choice, Located};
use crate::printable::printable;
use crate::run::{Suite, is_secret};
use flag::{GoldenDir, note, orphans_of};
use learn::LearnArgs;

/// Review, accept or reject runs that differ from their golden snapshots
///
/// `clawgate run` compares each run with golden/TARGET/CASE.snap. One that differs fails, and what it did is written
/// beside the snapshot as .snap.new, where it waits for a decision.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Begin with: clawgate run --golden update, and commit golden/.
Exit codes: 0 done; 100 a credential was refused; 2 a snapshot cannot be read; 3 it cannot be written, or changed meanwhile;
4 nothing was selected; 130 interrupted.")]
pub(in crate::cli) struct GoldenArgs {
    #[command(subcommand)]
    command: GoldenCommand,
}

#[derive(Debug, Subcommand)]
enum GoldenCommand {
    /// Show each difference and decide with one key: a accept, r reject, s skip, q quit
    Review(PendingArgs),
    /// Make what waits the snapshot
    Accept(PendingArgs),
    /// Remove what waits
    Reject(PendingArgs),
    /// Remove snapshots that no case has
    ///
    /// Cases are those that are built in, those below scenarios/ beside a clawgate.toml, those that are named here, and those
    /// of the file that a snapshot says it belongs to. What belongs to a file outside of the project that is not here, and
    /// what belongs to a target that is not known, is left alone.
    Prune(PruneArgs),
    LearnVolatile(LearnArgs),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct PendingArgs {
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
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    dir: GoldenDir,
    #[command(flatten)]
    format: FormatArg,
}

/// Runs the command and returns its exit code.
pub(in crate::cli) fn run(args: &GoldenArgs) -> Result<u8, Failure> {
    match &args.command {
        GoldenCommand::Review(args) => review::run(args),
        GoldenCommand::Accept(args) => {
            args.decide("accepted", |store, path| store.accept(path, None).map(drop))
        }
        GoldenCommand::Reject(args) => args.decide("rejected", |store, path| store.reject(path, None)),
        GoldenCommand::Prune(args) => prune(args),
        GoldenCommand::LearnVolatile(args) => learn::run(args),
    }
}

impl PendingArgs {
    pub(in crate::cli) fn store(&self) -> Store {
        Store::new(&self.dir.golden_dir, is_secret)
    }

    /// What waits and is meant; the inner error is the exit code when there is nothing.
    pub(in crate::cli) fn pending(&self, store: &Store) -> Result<Result<Vec<PathBuf>, u8>, Failure> {
        let mut pending = store.pending().map_err(|error| flag::usage(&error))?;
        let waiting = pending.len();
        pending.retain(|path| {
            let path = path.to_string_lossy();
            self.filters.is_empty() || self.filters.iter().any(|filter| path.contains(filter.as_str()))
        });
        if !pending.is_empty() {
            return Ok(Ok(pending));
        }
        if waiting > 0 {
            complain(&format!("{waiting} wait for a decision, but none of them is meant by this filter"));
            return Ok(Err(exit_code::NOTHING_SELECTED));
        }
        if self.format.format == Format::Human {
            writeln!(anstream::stdout(), "nothing waits in {}", self.dir.golden_dir.display())?;
        }
        Ok(Err(exit_code::OK))
    }

    fn decide(
        &self,
        what: &str,
        decide: impl Fn(&Store, &Path) -> Result<(), StoreError>,
    ) -> Result<u8, Failure> {
        let store = self.store();
        let pending = match self.pending(&store)? {
            Ok(pending) => pending,
            Err(code) => return Ok(code),
        };
        let mut code = exit_code::OK;
        for path in pending {
            match decide(&store, &path) {
                Ok(()) => tell(self.format.format, what, &snapshot_of(&path))?,
                // One that fails does not keep the others from being decided.
                Err(error) => code = exit_code::worst(code, failed(&error)),
            }
        }
        Ok(code)
    }
}

fn tell(format: Format, what: &str, path: &Path) -> io::Result<()> {
    let mut out = format.stdout();
    match format {
        Format::Human => writeln!(out, "{what} {}", printable(&path.display().to_string()))?,
        Format::Json => writeln!(out, "{}", json!({"type": what, "snapshot": path.display().to_string()}))?,
    }
    out.flush()
}

pub(in crate::cli) fn failed(error: &StoreError) -> u8 {
    complain(&error.to_string());
    match error {
        StoreError::Snapshot { .. } => exit_code::USAGE,
        StoreError::Secret { .. } => exit_code::FINDINGS,
        StoreError::Io { .. } | StoreError::Moved { .. } => exit_code::ENVIRONMENT,
    }
}

fn prune(args: &PruneArgs) -> Result<u8, Failure> {
    let usage = |error: crate::run::SuiteError| Failure::Usage(error.to_string());
    let mut suite = Suite::built_in().map_err(usage)?;
    let own = Path::new("clawgate.toml").is_file() && Path::new("scenarios").is_dir();
    for path in args.scenarios.iter().map(PathBuf::as_path).chain(own.then_some(Path::new("scenarios"))) {
        suite.add_path(path).map_err(usage)?;
    }
    let store = Store::new(&args.dir.golden_dir, is_secret);
    let mut code = exit_code::OK;
    let mut found = false;
    for name in targets(store.root())? {
        let choice = match Choice::parse(&name, crate::cli::runs::targets_folder()) {
            Ok(choice) => choice,
            Err(error) => {
                complain(&format!("{}: left alone: {error}", store.root().join(&name).display()));
                continue;
            }
        };
        // Which cases there are does not depend on where the program is.
        let located = Arc::new(Located::unlocated(choice));
        for orphan in orphans_of(&store, &suite, &located)? {
            let path = orphan.path;
            if let Some(owner) = orphan.kept_for {
                note(&format!("{}: left alone: it belongs to {owner}, which is not here", path.display()));
                continue;
            }
            found = true;
            if args.dry_run {
                tell(args.format.format, "unreferenced", &path)?;
                continue;
            }
            match store.prune(&path) {
                Ok(()) => tell(args.format.format, "pruned", &path)?,
                Err(error) => code = exit_code::worst(code, failed(&error)),
            }
        }
    }
    if !found && args.format.format == Format::Human {
        writeln!(anstream::stdout(), "every snapshot in {} has a case", store.root().display())?;
    }
    Ok(code)
}

/// The targets that have snapshots.
fn targets(root: &Path) -> Result<Vec<String>, Failure> {
    let entries =
        std::fs::read_dir(root).map_err(|error| Failure::Usage(format!("{}: {error}", root.display())))?;
    let folders = entries.flatten().filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> =
        folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}
