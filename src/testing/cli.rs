//! One run of a target.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once, OnceLock};
use std::time::Duration;

use tokio::runtime::Runtime;

use super::outcome::Outcome;
use crate::harness::mock::{Fault, Script};
use crate::harness::room::RoomFile;
use crate::harness::supervise::{Containment, Demands, NetworkMode, not_isolated, not_isolated_from};
use crate::harness::threads;
use crate::recording::Recording;
use crate::run::scenario::{Case, RunPart};
use crate::run::target::{Choice, ChoiceError, LocateError};
use crate::run::{Attempt, AttemptError, ContractCache, Keep, Planned, RunContext, Stop};
use crate::schema::FileError;

/// A command line to be run once, against an API that answers as it is told.
///
/// ```standalone_crate
/// # clawgate::testing::act_as_reference();
/// use std::time::Duration;
///
/// use clawgate::testing::{Cli, Script, Turn};
/// use serde_json::json;
///
/// let run = Cli::target("reference")? // or `claude=target/debug/my-agent`
///     .prompt("What is in the notes?")
///     .file("notes.txt", "Buy milk.")
///     .args(["--allowedTools", "Read"])
///     .env("LC_ALL", "C")
///     .timeout(Duration::from_secs(20))
///     .api(
///         Script::new()
///             .turn(Turn::new().text("Let me look.").tool("Read", json!({"file_path": "notes.txt"})))
///             .text("You want to buy milk."),
///     )
///     .run()?;
/// run.assert_verdict("ok").assert_tool("Read").assert_requests(2);
/// # Ok::<(), clawgate::testing::Error>(())
/// ```
///
/// Something that goes wrong is a [`Fault`], and the verdict says whose fault it was:
///
/// ```standalone_crate
/// # clawgate::testing::act_as_reference();
/// use clawgate::testing::{Cli, Script};
///
/// let limited = "http:status=429".parse()?;
/// let run = Cli::target("reference")?.prompt("Hello?").api(Script::new().text("Hi.")).fault(limited).run()?;
/// run.assert_verdict("rate_limit").assert_exit(1);
/// assert!(run.verdict().is_some_and(|verdict| verdict.retryable && !verdict.counts));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Cli {
    choice: Choice,
    contract: Option<String>,
    run: RunPart,
    script: Script,
    faults: Vec<Fault>,
    network: NetworkMode,
    keep_in: Option<PathBuf>,
}

/// Why a run could not be made: not the target's doing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such target.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// Its program is not there.
    #[error(transparent)]
    Locate(#[from] LocateError),
    /// It does not promise the contract.
    #[error("target `{target}` does not promise `{contract}`; it promises {}", promises.join(", "))]
    Contract {
        /// The target as it was named.
        target: String,
        /// What was asked for.
        contract: String,
        /// What it does promise.
        promises: Vec<String>,
    },
    /// Our own machinery failed: no room, no supervisor, no port.
    #[error(transparent)]
    Attempt(#[from] AttemptError),
    /// The contract cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The operating system refused something.
    #[error("cannot run: {0}")]
    Io(#[from] io::Error),
    /// The thread that was waiting for the run is gone.
    #[error("the run was given up")]
    GivenUp,
}

impl Cli {
    /// A target, by what one would type after `--target`: `claude`, `claude@2.1.197`, `codex@0.166.0`, `gemini@0.61.0`,
    /// `claw=./path`, `reference`, or a target file that ends in `.toml`.
    pub fn target(typed: &str) -> Result<Self, Error> {
        let folder = Path::new("targets");
        Ok(Self {
            choice: Choice::parse(typed, folder.is_dir().then_some(folder))?,
            contract: None,
            run: RunPart::default(),
            script: Script::new(),
            faults: Vec::new(),
            network: NetworkMode::Auto,
            keep_in: None,
        })
    }

    /// Which of the target's contracts it is to keep; the first one without it.
    #[must_use]
    pub fn contract(mut self, name: impl Into<String>) -> Self {
        self.contract = Some(name.into());
        self
    }

    /// Asks this; passed as an argument, or on standard input where it cannot be one.
    #[must_use]
    pub fn prompt(mut self, prompt: impl Into<String>) -> Self {
        self.run.prompt = Some(prompt.into());
        self
    }

    /// Adds an argument, before the target's own.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.run.args.push(argument.into());
        self
    }

    /// Adds arguments, before the target's own.
    #[must_use]
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.run.args.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Puts a file into the working directory, or into the home when the path begins with `~/`.
    #[must_use]
    pub fn file(mut self, path: impl Into<String>, text: impl Into<String>) -> Self {
        self.run.files.push(RoomFile::new(path, text));
        self
    }

    /// Sets a variable; an empty value takes away one of the target's own.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.run.env.push((name.into(), value.into()));
        self
    }

    /// What stands on standard input; it is closed without it.
    #[must_use]
    pub fn stdin(mut self, text: impl Into<String>) -> Self {
        self.run.stdin = Some(text.into());
        self
    }

    /// What the API answers.
    #[must_use]
    pub fn api(mut self, script: Script) -> Self {
        self.script = script;
        self
    }

    /// Something that goes wrong in every answer, or in the turn that the fault names.
    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }

    /// The most that it may take, instead of what its target file says.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.run.timers[0] = Some(limit.as_millis() as u64);
        self
    }

    /// Whether it is kept away from every network but the scripted API.
    #[must_use]
    pub fn network(mut self, network: NetworkMode) -> Self {
        self.network = network;
        self
    }

    /// Keeps the recording in this directory. Without it a recording lives as long as its [`Outcome`], and stays when
    /// an assertion fails.
    #[must_use]
    pub fn keep_in(mut self, directory: impl Into<PathBuf>) -> Self {
        self.keep_in = Some(directory.into());
        self
    }

    /// Runs it and waits for its end.
    pub fn run(self) -> Result<Outcome, Error> {
        // The thread of an async test belongs to its runtime, where nothing may wait for another one.
        if tokio::runtime::Handle::try_current().is_ok() {
            return threads::spawn("run", || self.run_here())?.join().unwrap_or(Err(Error::GivenUp));
        }
        self.run_here()
    }

    fn run_here(self) -> Result<Outcome, Error> {
        let Self { choice, contract, run, script, faults, network, keep_in } = self;
        let located = Arc::new(
            choice.locate(|name| std::env::var_os(name), Demands { network, ..Demands::default() })?,
        );
        let target = &located.choice.target;
        let promised = target.speaks.first().map_or("", |speaks| speaks.contract.as_str());
        let contract = contract.unwrap_or_else(|| promised.to_owned());
        let speaks = target.speaking(&contract).cloned().ok_or_else(|| Error::Contract {
            target: located.choice.label.clone(),
            promises: target.speaks.iter().map(|speaks| speaks.contract.clone()).collect(),
            contract: contract.clone(),
        })?;
        let case = Case::bare("test".into(), contract, run, faults);
        let folder = Folder::new(keep_in)?;
        let mut planned = Planned::new(Arc::new(case), Arc::new(script), Arc::clone(&located), speaks);
        planned.keep_files = true;
        let stop = Stop::new()?;
        let mut context = context(folder.path(), &stop)?;
        context.recorder.demands.network = network;
        let mut contracts = ContractCache::new();
        let contracts = contracts.get(planned.speaks.contract_at.as_deref())?;
        let attempt = context.attempt(&planned, contracts, 1)?;
        tell_isolation(&attempt);
        let table = contracts.outcome_of(&attempt.recording.facts)?;
        Outcome::read(folder, attempt, &planned.volatile(contracts)?, table)
    }

    /// Runs it without blocking the caller's runtime.
    ///
    /// ```standalone_crate
    /// # clawgate::testing::act_as_reference();
    /// use clawgate::testing::{Cli, Script};
    ///
    /// let agent = || Cli::target("reference").map(|cli| cli.prompt("Hello?").api(Script::new().text("Hi.")));
    /// let runtime = tokio::runtime::Runtime::new()?;
    /// let (one, other) = (agent()?, agent()?);
    /// let (one, other) = runtime.block_on(async { tokio::try_join!(one.run_async(), other.run_async()) })?;
    /// assert_eq!(one.text(), other.text());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn run_async(self) -> Result<Outcome, Error> {
        tokio::task::spawn_blocking(|| self.run_here()).await.unwrap_or(Err(Error::GivenUp))
    }
}

/// The one runtime of all scripted APIs of a test program.
pub(super) fn runtime() -> io::Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let made = threads::runtime()?;
    // Of two that were made at once, one is enough.
    Ok(RUNTIME.get_or_init(|| made))
}

/// Says what targets are not kept apart from, once a test program and past what captures the output of tests: of a test that
/// passes nobody would see it.
pub(super) fn tell_isolation(attempt: &Attempt) {
    static TOLD: Once = Once::new();
    let Some(missing) = not_isolated(&attempt.recording.facts) else { return };
    TOLD.call_once(|| {
        let fix = if std::env::var_os("CLAWGATE_BIN").is_none() {
            "; with CLAWGATE_BIN naming the clawgate binary they are where the kernel allows it"
        } else {
            ""
        };
        // A test program without standard error has nobody to tell.
        _ = writeln!(io::stderr(), "clawgate: {}{fix}", not_isolated_from(&missing));
    });
}

/// What the runs of a test share: the strongest containment there is, and the runtime.
pub(super) fn context<'s>(out: &'s Path, stop: &'s Stop) -> io::Result<RunContext<'s>> {
    let runtime = runtime()?;
    let containment = Containment::strongest(std::env::var_os("CLAWGATE_BIN").map(PathBuf::from));
    let mut context = RunContext::new(runtime.handle().clone(), containment, out, stop);
    // Whether it passed is for the test to say, when the recording is long written.
    context.keep = Keep::Bodies;
    Ok(context)
}

/// Brings a recording to where it outlives the test, since somebody will want to look at it; says where it is then.
pub(super) fn rescue(recording: &Recording, place: &Path, name: &std::ffi::OsStr) -> PathBuf {
    let kept = std::env::temp_dir().join("clawgate-failed").join(name);
    match recording.save(&kept) {
        Ok(()) => kept,
        Err(_) => place.to_owned(),
    }
}

/// Where a recording is.
#[derive(Debug)]
pub(super) enum Folder {
    /// Until the end of the test.
    Passing(tempfile::TempDir),
    /// Where the user wants it.
    Kept(PathBuf),
}

impl Folder {
    fn new(wanted: Option<PathBuf>) -> io::Result<Self> {
        match wanted {
            Some(folder) => Ok(Self::Kept(folder)),
            None => tempfile::Builder::new().prefix("clawgate-test-").tempdir().map(Self::Passing),
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Passing(folder) => folder.path(),
            Self::Kept(folder) => folder,
        }
    }
}
