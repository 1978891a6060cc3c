//! Scenario files as tests.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};

use super::cli::{Error, context, rescue};
use crate::harness::supervise::Demands;
use crate::run::target::{Choice, Located};
use crate::run::{
    BrokenClause, CaseName, ContractCache, KnownFailures, ListedState, Planned, Process, Scope, Stop, Suite,
    SuiteError, contracts_of, plan,
};
use crate::schema::FileError;
use crate::text::{printable, trouble};
use crate::time;

/// A directory of scenario files, each case a test.
///
/// In `Cargo.toml`, `[[test]] name = "scenarios"` with `harness = false`; and in `tests/scenarios.rs`:
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     clawgate::testing::Scenarios::new("tests/scenarios").on("claude=target/debug/my-agent").main()
/// }
/// ```
///
/// `cargo test` and `cargo nextest run` then list, filter and run them like any other test, several at a time. (The example
/// does not run here: it is the whole of a test binary.)
#[derive(Debug, Clone)]
pub struct Scenarios {
    directory: PathBuf,
    targets: Vec<String>,
    known_failures: Option<PathBuf>,
}

/// Why there are no tests to run.
#[derive(Debug, thiserror::Error)]
pub(super) enum ScenariosError {
    /// A scenario cannot be read.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// A target cannot be used.
    #[error(transparent)]
    Target(#[from] Error),
    /// The list of known failures cannot be read.
    #[error("{}: {}", path.display(), trouble(path, source))]
    Unreadable {
        /// The list.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The list of known failures or a contract is wrong.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is nothing to run, which is not the same as success.
    #[error("no scenario in {0} fits the targets")]
    Nothing(PathBuf),
}

impl Scenarios {
    /// The scenarios of this directory and of those below it, or of one file.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), targets: Vec::new(), known_failures: None }
    }

    /// On this target; may be called several times.
    #[must_use]
    pub fn on(mut self, target: impl Into<String>) -> Self {
        self.targets.push(target.into());
        self
    }

    /// With a list of failures that are accepted for now, as `clawgate run --known-failures` takes it and
    /// `clawgate run --update-known-failures` writes it. A test whose failures are all listed passes. Tests run one by one,
    /// so an entry that matches nothing any more fails a test when it is about that test alone.
    #[must_use]
    pub fn known_failures(mut self, file: impl Into<PathBuf>) -> Self {
        self.known_failures = Some(file.into());
        self
    }

    /// Runs them as the test binary's arguments ask, and answers with its exit code.
    pub fn main(self) -> ExitCode {
        let arguments = Arguments::from_args();
        match self.trials() {
            Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
            Err(error) => {
                // A test that cannot be made is a test that fails, and is shown like one.
                let trial = Trial::test("scenarios", move || Err(Failed::from(error.to_string())));
                libtest_mimic::run(&Arguments::default(), vec![trial]).exit_code()
            }
        }
    }

    fn trials(&self) -> Result<Vec<Trial>, ScenariosError> {
        let mut suite = Suite::default();
        suite.add_path(&self.directory)?;
        let mut targets = Vec::new();
        for typed in &self.targets {
            let choice = Choice::parse(typed, None).map_err(Error::from)?;
            let located =
                choice.locate(|name| std::env::var_os(name), Demands::default()).map_err(Error::from)?;
            targets.push(Arc::new(located));
        }
        let planned = plan(&suite, &targets);
        if planned.is_empty() {
            return Err(ScenariosError::Nothing(self.directory.clone()));
        }
        let known = match &self.known_failures {
            Some(path) => Some(Arc::new(read_known(path, &targets)?)),
            None => None,
        };
        let several = targets.len() > 1;
        let scope = Arc::new(Scope::of(&planned, None));
        let trial = |planned| trial(planned, several, known.clone(), Arc::clone(&scope));
        Ok(planned.into_iter().map(trial).collect())
    }
}

fn read_known(path: &Path, targets: &[Arc<Located>]) -> Result<KnownFailures, ScenariosError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ScenariosError::Unreadable { path: path.to_owned(), source })?;
    let contracts = contracts_of(targets)?;
    let has_clause = |clause: &str| contracts.iter().any(|contracts| contracts.has_clause(clause));
    let today = time::date(time::now());
    Ok(KnownFailures::parse(&path.display().to_string(), &text, today, &has_clause)?)
}

fn trial(planned: Planned, several: bool, known: Option<Arc<KnownFailures>>, scope: Arc<Scope>) -> Trial {
    let case = &planned.case.name;
    let name = if several { format!("{case} on {}", planned.target_label()) } else { case.clone() };
    let skipped = planned.skip.is_some();
    Trial::test(name, move || perform(&planned, known.as_deref(), &scope).map_err(Failed::from))
        .with_ignored_flag(skipped)
}

fn perform(planned: &Planned, known: Option<&KnownFailures>, scope: &Scope) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let out = tempfile::Builder::new().prefix("clawgate-test-").tempdir().map_err(|error| text(&error))?;
    let stop = Stop::new().map_err(|error| text(&error))?;
    let mut context = context(out.path(), &stop).map_err(|error| text(&error))?;
    context.known = known;
    let mut contracts = ContractCache::new();
    let contracts = contracts.get(planned.speaks.contract_at.as_deref()).map_err(|error| text(&error))?;
    let attempt = context.attempt(planned, contracts, 1).map_err(|error| text(&error))?;
    super::cli::tell_isolation(&attempt);
    let name = CaseName::of(planned);
    let listed = known.map(|known| known.listed(scope, &|case| *case == name)).unwrap_or_default();
    // Whether one has expired matters to the tests that it no longer accepts.
    let mut stale = listed.iter().filter(|entry| entry.state == ListedState::Stale).peekable();
    if attempt.failures.is_empty() {
        return match stale.peek() {
            None => Ok(()),
            Some(_) => Err(stale
                .map(|entry| format!("{}:{}: {}", entry.file, entry.line, entry.message))
                .collect::<Vec<_>>()
                .join("\n")),
        };
    }
    let lines = attempt.failures.iter().map(|failure| format!("{}: {}", failure.kind, failure.message));
    let mut lines: Vec<String> = lines.collect();
    let clauses = attempt.clauses.iter().flat_map(BrokenClause::told);
    let process = attempt.process.iter().flat_map(Process::told);
    lines.extend(clauses.chain(process).map(|(label, text)| format!("{label}: {}", printable(text))));
    let kept = rescue(&attempt.recording, &attempt.place, out.path().file_name().unwrap_or_default());
    lines.push(format!("recording: {}", kept.display()));
    lines.push(format!("again: {}", planned.replay()));
    Err(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_to_run_is_no_success() {
        let empty = tempfile::tempdir().unwrap();
        let complaint =
            |scenarios: Scenarios| scenarios.trials().err().map(|error| error.to_string()).unwrap();
        let nothing = complaint(Scenarios::new(empty.path()).on("reference"));
        assert!(nothing.starts_with("no scenario in "), "{nothing}");
        assert!(complaint(Scenarios::new(empty.path().join("gone"))).contains("gone"));
        let file = empty.path().join("bad.toml");
        std::fs::write(&file, "[scenario]\nnmae = 1\n").unwrap();
        assert!(
            complaint(Scenarios::new(&file)).contains("bad.toml:1:1: missing key `name`"),
            "the place of the mistake is named"
        );
        assert!(complaint(Scenarios::new(empty.path()).on("cluade")).contains("bad.toml"));
    }
}
