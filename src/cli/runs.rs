//! Runs that other commands need: a target through cases, recorded into a folder.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Failure;
use crate::drift::Terms;
use crate::golden::Volatile;
use crate::harness::target::{Choice, Located, NpmError, TARGETS, Target, cache_folder};
use crate::printable::printable;
use crate::report::style::FAINT;
use crate::run::{
    Event, LastRun, Planned, RunOptions, Setting, Stop, Suite, idle_filter, plan, run as run_cases, select,
};
use crate::schema::{Contract, bundle};

/// Why there are no recordings.
#[derive(Debug)]
pub(super) enum RunsError {
    /// What was typed is wrong.
    Usage(String),
    /// The target is missing, or the harness failed.
    Environment(String),
    /// The filters select nothing.
    Nothing(String),
    /// Somebody asked to stop.
    Interrupted,
}

impl From<NpmError> for RunsError {
    fn from(error: NpmError) -> Self {
        match error {
            NpmError::NoVersion(_) | NpmError::Unpublished(_) | NpmError::NotCovered { .. } => {
                Self::Usage(error.to_string())
            }
            other => Self::Environment(other.to_string()),
        }
    }
}

/// Which cases, and how.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct CaseArgs {
    /// Only these cases: a name or its beginning, a glob, a tag, a contract, or a clause
    #[arg(long = "case", value_name = "FILTER")]
    pub(super) cases: Vec<String>,
    /// How many cases run at a time [default: one for each processor]
    #[arg(long, short, value_name = "N", env = "CLAWGATE_JOBS", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) jobs: Option<u16>,
}

pub(super) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Where a user's own target files are.
pub(super) fn targets_folder() -> Option<&'static Path> {
    Path::new("clawgate.toml").is_file().then_some(Path::new("targets"))
}

/// What was typed, as a target.
pub(super) fn choose(typed: &str) -> Result<Choice, RunsError> {
    Choice::parse(typed, targets_folder()).map_err(|error| RunsError::Usage(error.to_string()))
}

/// Finds the program of a target.
pub(super) fn locate(choice: Choice) -> Result<Located, RunsError> {
    choice.locate(variable).map_err(|error| RunsError::Environment(error.to_string()))
}

/// The cases for a target that the filters select.
pub(super) fn planned(located: &Located, filters: &[String], repeat: u32) -> Result<Vec<Planned>, RunsError> {
    let usage = |error: crate::run::SuiteError| RunsError::Usage(error.to_string());
    let mut suite = Suite::built_in().map_err(usage)?;
    if Path::new("clawgate.toml").is_file() && Path::new("scenarios").is_dir() {
        suite.add_path(Path::new("scenarios")).map_err(usage)?;
    }
    let planned = plan(&suite, &[Arc::new(located.clone())], repeat);
    if let Some(filter) = idle_filter(&planned, filters) {
        let message = format!(
            "no case on {} is selected by `{filter}` (clawgate run --list shows all)",
            located.choice
        );
        return Err(RunsError::Nothing(message));
    }
    let mut planned = select(planned, filters);
    planned.retain(|planned| planned.skip.is_none());
    if planned.is_empty() {
        let message = format!("no case is selected for {} (clawgate run --list shows all)", located.choice);
        return Err(RunsError::Nothing(message));
    }
    Ok(planned)
}

/// Installs a version of a target, unless it is there; says so on standard error, since that takes its time.
pub(super) fn install(target: &Target, version: &str) -> Result<PathBuf, NpmError> {
    target.install(version, cache_folder(variable).as_deref(), &mut |what| say(&format!("installing {what}")))
}

/// Tells the user what takes time.
pub(super) fn say(what: &str) {
    // There is nobody left to tell when standard error is closed.
    _ = writeln!(anstream::stderr(), "{FAINT}{}{FAINT:#}", printable(what));
}

/// Runs targets for as long as a command takes. From its beginning an interrupt stops what runs, and then the command.
pub(super) struct Runner {
    runtime: tokio::runtime::Runtime,
    stop: Arc<Stop>,
}

impl Runner {
    pub(super) fn new() -> Result<Self, RunsError> {
        let trouble = |error: io::Error| RunsError::Environment(format!("cannot start: {error}"));
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build().map_err(trouble)?;
        let stop = Arc::new(Stop::new().map_err(trouble)?);
        super::run::listen_for_interrupts(&runtime, &stop);
        Ok(Self { runtime, stop })
    }

    /// An error when somebody wants to stop.
    pub(super) fn go_on(&self) -> Result<(), RunsError> {
        if self.stop.is_wanted() { Err(RunsError::Interrupted) } else { Ok(()) }
    }

    /// Runs the cases and leaves their recordings below `out`. What becomes of them is for the caller to see.
    pub(super) fn record(
        &self,
        planned: Vec<Planned>,
        out: &Path,
        jobs: Option<u16>,
        on_event: &mut dyn FnMut(&Event),
    ) -> Result<(), RunsError> {
        self.go_on()?;
        let setting = Setting::new(self.runtime.handle().clone(), super::containment(), out, &self.stop);
        let mut options = RunOptions::default();
        options.jobs = jobs.map_or(options.jobs, usize::from);
        let finished = run_cases(planned, &setting, &options, &mut LastRun::default(), on_event);
        if finished.interrupted {
            return Err(RunsError::Interrupted);
        }
        if finished.harness_failures > 0 {
            let message =
                format!("{} cases could not be run; see them with: clawgate run", finished.harness_failures);
            return Err(RunsError::Environment(message));
        }
        Ok(())
    }
}

/// What recordings are compared by: what differs from run to run, by the target that a recording names, else by its
/// contract; and the policy of the contract that it speaks, which is `contract` when the user names one.
pub(super) fn terms(contract: Option<&str>) -> Result<Terms<'static>, Failure> {
    let mut known: BTreeMap<String, Volatile> = BTreeMap::new();
    let mut own: BTreeMap<String, PathBuf> = BTreeMap::new();
    for (name, _) in TARGETS {
        let choice =
            Choice::parse(name, targets_folder()).map_err(|error| Failure::Usage(error.to_string()))?;
        known.insert((*name).to_owned(), choice.target.volatile);
    }
    for path in own_targets() {
        let file = path.display().to_string();
        let text =
            std::fs::read_to_string(&path).map_err(|error| Failure::Usage(format!("{file}: {error}")))?;
        let target =
            Target::parse(&file, &text).map_err(|error| Failure::Usage(error.render().to_string()))?;
        let places =
            target.speaks.into_iter().filter_map(|speaks| Some((speaks.contract, speaks.contract_at?)));
        own.extend(places);
        known.insert(target.name, target.volatile);
    }
    let volatile = move |target: &str, contract: Option<&str>| {
        let family = |name: &str| ["claude", "claw"].into_iter().find(|family| name.starts_with(family));
        let by_contract = || known.get(family(contract.unwrap_or_default())?);
        known.get(target).or_else(by_contract).cloned().unwrap_or_default()
    };
    let mut terms = Terms::new(volatile)?;
    for (name, place) in own {
        terms = terms.with_own(&name, &place);
    }
    Ok(match contract {
        Some(name) => terms.speaking(Contract::load(&bundle(name)?)?),
        None => terms,
    })
}

fn own_targets() -> Vec<PathBuf> {
    let Some(entries) = targets_folder().and_then(|folder| std::fs::read_dir(folder).ok()) else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect()
}
