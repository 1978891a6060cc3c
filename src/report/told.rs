//! The events of a run as reporters read them: from a run that is going on, or from the files that it left.
//!
//! Reporters see only what the published events say (`schemas/clawgate/run.schema.json`), so that a report made from
//! files is the report that the run itself would have made.

use serde::Deserialize;
use serde_json::Value;

use crate::run::{Event, PlanInfo, RunFinished, Source, Status, TargetInfo};

/// An event.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Told {
    /// The first event.
    RunStarted(Started),
    /// An attempt at a case begins.
    CaseStarted(CaseStarted),
    /// A case is over.
    CaseFinished(Box<Case>),
    /// The last event.
    RunFinished(RunFinished),
    /// What a newer clawgate says.
    #[serde(other)]
    Unknown,
}

impl Told {
    /// What reporters hear when a run says this.
    pub fn of(event: &Event) -> Result<Self, serde_json::Error> {
        serde_json::from_value(serde_json::to_value(event)?)
    }
}

/// How a run began.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Started {
    /// The version of the events' form.
    pub schema_version: u64,
    /// How many cases there are.
    pub cases: usize,
    /// The targets, with their versions.
    pub targets: Vec<TargetInfo>,
    /// How many run at a time.
    pub jobs: usize,
    /// The version of clawgate.
    pub clawgate: String,
    /// When, as RFC 3339 in UTC.
    pub started_at: String,
    /// Where recordings went.
    pub out: String,
    /// The whole of which it may be a part.
    pub plan: PlanInfo,
}

/// A case that is running.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct CaseStarted {
    /// The case.
    pub case: String,
    /// The target.
    pub target: String,
    /// Which repetition, from 1.
    pub repetition: u32,
    /// Which attempt at it, from 1.
    pub attempt: u32,
}

/// A case that is over.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct Case {
    /// The case.
    pub case: String,
    /// The target.
    pub target: String,
    /// Which repetition, from 1.
    pub repetition: u32,
    /// How it ended.
    pub status: Status,
    /// How many attempts it took.
    #[serde(default)]
    pub attempts: u32,
    /// What became of the run.
    pub verdict: Option<Verdict>,
    /// The contract.
    #[serde(default)]
    pub contract: String,
    /// Clauses that were broken.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// Why it failed.
    #[serde(default)]
    pub failures: Vec<Failure>,
    /// Why it was not run.
    #[serde(default)]
    pub reason: Option<String>,
    /// How long the target ran.
    #[serde(default)]
    pub duration_ms: f64,
    /// Where the recording is.
    #[serde(default)]
    pub recording: Option<String>,
    /// The command that runs exactly this case again.
    #[serde(default)]
    pub replay: String,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// The class that is expected.
    #[serde(default)]
    pub expected: String,
    /// The scenario file.
    #[serde(default)]
    pub source: Option<Source>,
    /// The attempts before the last one.
    #[serde(default)]
    pub earlier: Vec<Earlier>,
}

impl Case {
    /// Whether the apparatus and not the target failed.
    pub fn is_harness_failure(&self) -> bool {
        self.failures.iter().any(Failure::is_ours)
    }

    /// The class with its detail; nothing when there was no run.
    pub fn outcome(&self) -> String {
        match &self.verdict {
            Some(Verdict { class, detail: Some(detail), .. }) => format!("{class} ({detail})"),
            Some(verdict) => verdict.class.clone(),
            None => String::new(),
        }
    }

    /// The name, with the number of the repetition where there are several.
    pub fn title(&self) -> String {
        if self.repetition > 1 { format!("{} #{}", self.case, self.repetition) } else { self.case.clone() }
    }

    /// The findings that make it fail.
    pub fn failing_findings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| {
            self.failures.iter().any(|failure| {
                failure.kind == "finding"
                    && failure
                        .message
                        .strip_prefix(&finding.clause)
                        .is_some_and(|rest| rest.starts_with(": "))
            })
        })
    }

    /// The failures that are no findings: those have more to say themselves.
    pub fn other_failures(&self) -> impl Iterator<Item = &Failure> {
        self.failures.iter().filter(|failure| failure.kind != "finding")
    }
}

/// What became of a run.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct Verdict {
    /// The class of the outcome.
    pub class: String,
    /// More about it.
    pub detail: Option<String>,
    /// Who has to act.
    pub blame: String,
    /// Whether running again may help.
    pub retryable: bool,
    /// Whether an evaluation may count it.
    pub counts: bool,
    /// What else is worth knowing.
    #[serde(default)]
    pub advisories: Vec<String>,
    /// What it rests on.
    #[serde(default)]
    pub evidence: Vec<Evidence>,
}

/// One observation that a verdict rests on.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct Evidence {
    /// The rule that used it.
    pub rule: String,
    /// What kind of observation it is.
    pub basis: String,
    /// The line of the stream.
    pub line: Option<u64>,
    /// The place in the message.
    pub pointer: Option<String>,
    /// What was seen there.
    #[serde(default)]
    pub value: Value,
}

/// A clause that was broken.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// `<contract>/<clause>`.
    pub clause: String,
    /// How much it weighs.
    pub level: String,
    /// What happened.
    pub message: String,
    /// The line of stdout, from 1.
    #[serde(default)]
    pub line: Option<u64>,
    /// The byte of stdout, from 0.
    #[serde(default)]
    pub offset: Option<u64>,
    /// Where in the message.
    #[serde(default)]
    pub pointer: Option<String>,
    /// The value that was found there.
    #[serde(default)]
    pub seen: Option<Value>,
    /// What the clause asks for.
    #[serde(default)]
    pub expected: Option<String>,
    /// What else is broken only because of this.
    #[serde(default)]
    pub consequences: Vec<String>,
    /// Why it is accepted for now.
    #[serde(default)]
    pub known: Option<String>,
}

/// Something that was not as expected.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// What it is about, as a word.
    pub kind: String,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What differs from a snapshot, line by line, each after `-`, `+` or a space.
    #[serde(default)]
    pub diff: Vec<String>,
}

impl Failure {
    /// Whether it says something of the apparatus, and nothing of what was to be tested.
    pub fn is_ours(&self) -> bool {
        matches!(self.kind.as_str(), "harness" | "control" | "not-measured")
    }
}

/// An attempt that failed and was made again.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct Earlier {
    /// Why it failed.
    pub failures: Vec<Failure>,
    /// How long the target ran.
    pub duration_ms: f64,
    /// Where the recording is.
    pub recording: Option<String>,
}
