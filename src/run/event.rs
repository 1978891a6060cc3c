//! What happens in a run, as reporters hear it. In JSON it is one object a line.

use serde::{Deserialize, Serialize};

use super::compare::Failure;
use crate::classify::Verdict;
use crate::schema::Finding;

/// The version of the events' form.
pub(super) const SCHEMA_VERSION: u64 = 1;

/// Something that happened in a run.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// The first event.
    #[non_exhaustive]
    RunStarted {
        /// The version of the events' form.
        schema_version: u64,
        /// How many cases there are.
        cases: usize,
        /// The targets, with their versions.
        targets: Vec<TargetInfo>,
        /// How many run at a time.
        jobs: usize,
        /// The version of clawgate.
        clawgate: &'static str,
        /// When it began, as RFC 3339 in UTC.
        started_at: String,
        /// Where recordings go; the paths in other events begin with it.
        out: String,
        /// The whole of which this may be a part.
        plan: PlanInfo,
    },
    /// A case began.
    #[non_exhaustive]
    CaseStarted {
        /// The case.
        case: String,
        /// The target.
        target: String,
        /// Which repetition, from 1.
        repetition: u32,
        /// Which attempt at it, from 1.
        attempt: u32,
    },
    /// A case ended.
    CaseFinished(Box<CaseFinished>),
    /// The last event.
    RunFinished(RunFinished),
}

/// The whole of which a run is a part: all of it unless it is a shard.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PlanInfo {
    /// What tells it from every other plan: a digest of its cases, targets and of how it was cut.
    pub id: String,
    /// How many cases it has.
    pub cases: usize,
    /// Which part this is, from 1.
    pub shard: u64,
    /// How many parts there are.
    pub of: u64,
    /// The targets of the whole.
    #[serde(skip)]
    pub targets: Vec<TargetInfo>,
}

/// A target that is run on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TargetInfo {
    /// As it was chosen.
    pub target: String,
    /// The version that its program says it has; empty when it does not say.
    pub version: String,
}

impl TargetInfo {
    /// A target and its version.
    pub fn new(target: &str, version: &str) -> Self {
        Self { target: target.to_owned(), version: version.to_owned() }
    }
}

/// How a case ended.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct CaseFinished {
    /// The case.
    pub case: String,
    /// The target.
    pub target: String,
    /// Which repetition, from 1.
    pub repetition: u32,
    /// How it ended.
    pub status: Status,
    /// How many attempts it took.
    pub attempts: u32,
    /// What became of the run; none when there was none.
    pub verdict: Option<Verdict>,
    /// The contract that it was held against.
    pub contract: String,
    /// Clauses that were broken.
    pub findings: Vec<Finding>,
    /// Why it failed.
    pub failures: Vec<Failure>,
    /// Why it was not run.
    pub reason: Option<String>,
    /// How long the target ran.
    pub duration_ms: f64,
    /// From the target's exit to its verdict.
    pub verdict_ms: f64,
    /// Where the recording is.
    pub recording: Option<String>,
    /// The command that runs exactly this case again.
    pub replay: String,
    /// What the case is for.
    pub description: String,
    /// The class that is expected, with its detail.
    pub expected: String,
    /// Where the scenario is written; none when it is built in.
    pub source: Option<Source>,
    /// The attempts before the last one.
    pub earlier: Vec<EarlierAttempt>,
}

/// A place in a file of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Source {
    /// The file as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
}

impl Source {
    /// A line of a file.
    pub fn new(file: &str, line: usize) -> Self {
        Self { file: file.to_owned(), line }
    }
}

/// An attempt that failed and was made again.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct EarlierAttempt {
    /// Why it failed.
    pub failures: Vec<Failure>,
    /// How long the target ran.
    pub duration_ms: f64,
    /// Where the recording is.
    pub recording: Option<String>,
}

/// How a case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// As expected.
    Pass,
    /// Not as expected.
    Fail,
    /// Not as expected at first, and then as expected.
    Flaky,
    /// Not run.
    Skipped,
}

impl Status {
    /// The word in machine output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Flaky => "flaky",
            Self::Skipped => "skipped",
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunFinished {
    /// Cases that passed.
    pub passed: usize,
    /// Cases that failed.
    pub failed: usize,
    /// Cases that passed in the end.
    pub flaky: usize,
    /// Cases that were not run.
    pub skipped: usize,
    /// Cases in which the harness itself failed.
    pub harness_failures: usize,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// How long it took.
    pub duration_ms: u64,
    /// The exit code of the command.
    pub exit_code: u8,
}
