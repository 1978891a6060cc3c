//! Runs that other commands need: a target through cases, recorded into a folder.

use std::path::{Path, PathBuf};

use super::CommandError;
use super::out::OutFolder;
use super::output::say;
use super::project::{Project, variable};
use super::typed::whole;
use crate::drift::CaseSet;
use crate::report::Progress;
use crate::run::target::{INSTALLING, LATEST, Located, NpmError, Target, cache_folder};
use crate::run::{Session, cases_on};

/// Which cases, and how.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct CaseArgs {
    /// Only these cases: a name or its beginning, a glob, a tag, a contract, or a clause
    #[arg(long = "case", value_name = "FILTER")]
    pub(super) cases: Vec<String>,
    #[command(flatten)]
    pub(super) jobs: JobsArg,
}

#[derive(Debug, Clone, clap::Args)]
pub(super) struct JobsArg {
    /// How many cases run at a time [default: one for each processor]
    #[arg(long, short, value_name = "N", env = "CLAWGATE_JOBS", value_parser = |text: &str| whole(text, 1, u16::MAX))]
    pub(super) jobs: Option<u16>,
}

#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct AllowMissingArg {
    /// Do not fail where a case is gone, or the fixture or golden snapshot of one
    #[arg(long, env = "CLAWGATE_ALLOW_MISSING")]
    pub(super) allow_missing: bool,
}

impl CaseArgs {
    /// Runs a target through its cases, and reads the recordings. `part` is which part of the work it is, for whoever waits.
    pub(super) fn record(
        &self,
        target: &Located,
        project: &Project,
        session: &Session,
        out: &Path,
        part: &str,
    ) -> Result<CaseSet, CommandError> {
        let planned = cases_on(target, &project.suite()?, &self.cases, 1)?;
        say(&format!("running {} cases on {}", planned.len(), target.choice));
        let progress = Progress::start(true, 0);
        progress.part(part);
        let recorded =
            session.record(planned, out, project.jobs(self.jobs.jobs), &mut |event| progress.on_event(event));
        drop(progress);
        recorded?;
        Ok(CaseSet::open(out)?)
    }
}

/// Threads and an ear for interrupts, for as long as the command takes.
pub(super) fn start() -> Result<Session, CommandError> {
    Session::start(super::containment()).map_err(CommandError::Start)
}

/// Installs a version of a target, unless it is there; says so on standard error, since that takes its time. `latest` is
/// the newest that is published.
pub(super) fn install(target: &Target, version: &str) -> Result<PathBuf, NpmError> {
    let newest = if version == LATEST { target.published()?.pop() } else { None };
    let version = newest.as_deref().unwrap_or(version);
    let cache = cache_folder(variable);
    let mut progress = None;
    target.install(version, cache.as_deref(), &mut |what| {
        say(&format!("installing {what}"));
        let shelf = cache.as_deref().map(|cache| cache.join("targets")).unwrap_or_default();
        let shown = progress.insert(Progress::start(true, 0));
        shown.note(move || format!("{} MB written", installing_bytes(&shelf) >> 20));
    })
}

/// How much of what is being installed below this folder is there.
fn installing_bytes(shelf: &Path) -> u64 {
    fn below(folder: &Path) -> u64 {
        let entries = folder.read_dir().into_iter().flatten().flatten();
        entries
            .map(|entry| match entry.metadata() {
                Ok(file) if file.is_dir() => below(&entry.path()),
                file => file.map_or(0, |file| file.len()),
            })
            .sum()
    }
    let entries = shelf.read_dir().into_iter().flatten().flatten();
    let installing = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(INSTALLING));
    installing.map(|entry| below(&entry.path())).sum()
}

/// Where recordings go.
pub(super) enum Workspace {
    Kept(PathBuf, #[expect(dead_code, reason = "held, not read")] OutFolder),
    Vanishing(tempfile::TempDir),
}

impl Workspace {
    pub(super) fn new(kept: Option<&Path>) -> Result<Self, CommandError> {
        match kept {
            Some(path) => Ok(Self::Kept(path.to_owned(), OutFolder::take(path)?)),
            None => Ok(Self::Vanishing(tempfile::tempdir()?)),
        }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Kept(path, _) => path,
            Self::Vanishing(folder) => folder.path(),
        }
    }
}
