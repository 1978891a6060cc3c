//! What happens in a run: the one form in which it is reported live, written to files and read back. In JSON it is one
//! object a line (`schemas/clawgate/run.schema.json`).
//!
//! Files of other versions stay readable: what an older clawgate did not write yet has a default, and words that only a
//! newer one knows are kept as they are ([`Word::Unknown`]).

mod judgement;
mod word;

pub(crate) use judgement::{Finding, Verdict};
pub(crate) use word::Word;

use std::fmt;

use serde::{Deserialize, Serialize};

use super::broken::BrokenClause;
use super::compare::Failure;
#[cfg(feature = "cli")]
use super::compare::FailureKind;
use super::known::ListedFailure;
use super::process::Process;
#[cfg(feature = "cli")]
use crate::exit_code;
#[cfg(feature = "cli")]
use crate::harness::supervise::not_isolated_from;

/// The version of the events' form.
#[cfg(feature = "cli")]
pub(crate) const SCHEMA_VERSION: u64 = 1;

/// Why a case was not begun when somebody interrupted the run.
#[cfg(feature = "cli")]
pub(crate) const INTERRUPTED: &str = "not run: interrupted";
/// Why a case was not begun when the first failure ended the run.
#[cfg(feature = "cli")]
pub(crate) const AFTER_FAILURE: &str = "not run after a failure (--fail-fast)";

/// Something that happened in a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// The first event of a run.
    RunStarted(RunStarted),
    /// An attempt at a case begins.
    CaseStarted(CaseStarted),
    /// A case is over, with all its attempts.
    CaseFinished(Box<CaseFinished>),
    /// The last event of a run, with its counts.
    RunFinished(RunFinished),
    /// An event that only a newer clawgate knows.
    #[serde(other, skip_serializing)]
    Unknown,
}

/// The first event of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RunStarted {
    pub schema_version: u64,
    /// How many cases there are.
    pub cases: usize,
    pub targets: Vec<TargetInfo>,
    /// How many run at a time.
    pub jobs: usize,
    /// The version of clawgate.
    pub clawgate: String,
    /// When it began, as RFC 3339 in UTC.
    pub started_at: String,
    /// Where recordings go; the paths in other events begin with it.
    pub out: String,
    /// The plan of which this run may be a part.
    pub plan: PlanInfo,
}

/// An attempt at a case begins.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct CaseStarted {
    pub case: String,
    pub target: String,
    /// Which repetition of the case, from 1.
    pub repetition: u32,
    /// Which attempt at the repetition, from 1.
    pub attempt: u32,
}

/// The plan of which a run is a part: all of it unless it is a shard.
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
    /// The targets of the plan.
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
    pub fn new(target: &str, version: &str) -> Self {
        Self { target: target.to_owned(), version: version.to_owned() }
    }
}

impl fmt::Display for TargetInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version.as_str() {
            "" => f.write_str(&self.target),
            version => write!(f, "{} ({version})", self.target),
        }
    }
}

/// How a case ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CaseFinished {
    pub case: String,
    pub target: String,
    /// Which repetition, from 1.
    pub repetition: u32,
    pub status: Status,
    /// How many attempts it took.
    #[serde(default)]
    pub attempts: u32,
    /// What became of the run; none when there was none.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// The contract that it was held against.
    #[serde(default)]
    pub contract: String,
    /// Clauses that were broken.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// Why it failed.
    #[serde(default)]
    pub failures: Vec<Failure>,
    /// What is wrong and accepted for now: a case in which nothing else is has passed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<Failure>,
    /// What of the machine its target was not kept apart from, and why; none where it was kept apart in every way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_isolated: Option<String>,
    /// What the clauses say that it fails on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clauses: Vec<BrokenClause>,
    /// How the target was started and how it ended, where the case failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// Why it was not run.
    #[serde(default)]
    pub reason: Option<String>,
    /// How long the target ran.
    #[serde(default)]
    pub duration_ms: f64,
    /// What of that passed before its first request; none where it sent none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_request_ms: Option<f64>,
    /// What of that passed before its last answer was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_ms: Option<f64>,
    /// From the target's exit to its verdict.
    #[serde(default)]
    pub verdict_ms: f64,
    /// Where the recording is.
    #[serde(default)]
    pub recording: Option<String>,
    /// The command that runs exactly this case again.
    #[serde(default)]
    pub replay: String,
    /// What the case is for.
    #[serde(default)]
    pub description: String,
    /// The class that is expected, with its detail.
    #[serde(default)]
    pub expected: String,
    /// Where the scenario is written; none when it is built in.
    #[serde(default)]
    pub source: Option<Source>,
    /// The attempts before the last one.
    #[serde(default)]
    pub earlier: Vec<EarlierAttempt>,
}

impl CaseFinished {
    /// Whether the apparatus and not the target failed.
    #[cfg(feature = "cli")]
    pub(crate) fn is_harness_failure(&self) -> bool {
        self.failures.iter().any(Failure::is_ours)
    }

    /// Whether it passed although something is wrong, since all of that is known.
    #[cfg(feature = "cli")]
    pub(crate) fn is_known(&self) -> bool {
        matches!(self.status, Status::Pass | Status::Flaky) && !self.known.is_empty()
    }

    /// Why it was not begun, when its run ended before its turn came.
    #[cfg(feature = "cli")]
    pub(crate) fn not_begun(&self) -> Option<&str> {
        self.reason.as_deref().filter(|reason| [INTERRUPTED, AFTER_FAILURE].contains(reason))
    }

    /// The word for how it ended: its status, or `known`.
    #[cfg(feature = "cli")]
    pub(crate) fn status_word(&self) -> &'static str {
        if self.is_known() && self.status == Status::Pass { "known" } else { self.status.name() }
    }

    /// The class with its detail; nothing when there was no run.
    #[cfg(feature = "cli")]
    pub(crate) fn outcome(&self) -> String {
        match &self.verdict {
            Some(Verdict { class, detail: Some(detail), .. }) => format!("{class} ({detail})"),
            Some(verdict) => verdict.class.to_string(),
            None => String::new(),
        }
    }

    /// The name, with the number of the repetition where there are several.
    #[cfg(feature = "cli")]
    pub(crate) fn title(&self) -> String {
        if self.repetition > 1 { format!("{} #{}", self.case, self.repetition) } else { self.case.clone() }
    }

    /// The findings that make it fail.
    #[cfg(feature = "cli")]
    pub(crate) fn failing_findings(&self) -> impl Iterator<Item = &Finding> {
        let fails = |finding: &&Finding| {
            finding.known.is_none()
                && self.failures.iter().any(|failure| failure.clause.as_ref() == Some(&finding.clause))
        };
        self.findings.iter().filter(fails)
    }

    /// The failures that are no findings: those have more to say themselves.
    #[cfg(feature = "cli")]
    pub(crate) fn other_failures(&self) -> impl Iterator<Item = &Failure> {
        self.failures.iter().filter(|failure| failure.kind != FailureKind::Finding)
    }

    /// Where a case that fails on findings names their clauses only in its sentences, as clawgate 0.1 wrote it, takes
    /// them from there.
    #[cfg(feature = "cli")]
    pub(crate) fn name_clauses(&mut self) {
        let unnamed =
            |failure: &&mut Failure| failure.kind == FailureKind::Finding && failure.clause.is_none();
        for failure in self.failures.iter_mut().filter(unnamed) {
            let is_about = |clause: &&String| {
                failure.message.strip_prefix(*clause).is_some_and(|rest| rest.starts_with(": "))
            };
            failure.clause = self.findings.iter().map(|finding| &finding.clause).find(is_about).cloned();
        }
    }
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
    pub fn new(file: &str, line: usize) -> Self {
        Self { file: file.to_owned(), line }
    }
}

/// An attempt that failed and was made again.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EarlierAttempt {
    pub failures: Vec<Failure>,
    /// How the target was started and how it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// How long the target ran.
    pub duration_ms: f64,
    /// Where the recording is.
    pub recording: Option<String>,
}

/// How a case ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Pass,
    /// Not as expected, which holds until the opposite is known.
    #[default]
    Fail,
    /// Not as expected at first, and then as expected.
    Flaky,
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

/// The last event of a run: how it ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunFinished {
    pub passed: usize,
    pub failed: usize,
    /// Cases that passed in the end.
    pub flaky: usize,
    /// Cases that were not run.
    pub skipped: usize,
    /// Cases that passed, at once or in the end, although something known is wrong with them.
    #[serde(default)]
    pub known: usize,
    /// Cases in which the harness itself failed.
    pub harness_failures: usize,
    /// Entries of the list of known failures that matched nothing or have expired.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known_failures: Vec<ListedFailure>,
    /// What is wrong with golden snapshots beyond the cases: no case has one, or somebody changed one during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<String>,
    /// What of the machine targets were not kept apart from, and why. Each is said once, however many cases it concerns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_isolated: Vec<String>,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// How long it took.
    pub duration_ms: u64,
    /// The exit code of the command.
    pub exit_code: u8,
}

impl RunFinished {
    /// Adds a case to the counts.
    #[cfg(feature = "cli")]
    pub(crate) fn count(&mut self, case: &CaseFinished) {
        match case.status {
            Status::Pass => self.passed += 1,
            Status::Fail => self.failed += 1,
            Status::Flaky => self.flaky += 1,
            Status::Skipped => self.skipped += 1,
        }
        self.known += usize::from(case.is_known());
        self.harness_failures += usize::from(case.is_harness_failure());
        self.note_isolation(&case.not_isolated);
    }

    /// Notes what targets were not kept apart from.
    #[cfg(feature = "cli")]
    pub(crate) fn note_isolation<'m>(&mut self, missing: impl IntoIterator<Item = &'m String>) {
        for missing in missing {
            if let Err(place) = self.not_isolated.binary_search(missing) {
                self.not_isolated.insert(place, missing.clone());
            }
        }
    }

    /// What every report says of what targets were not kept apart from, in one line.
    #[cfg(feature = "cli")]
    pub(crate) fn isolation_note(&self) -> Option<String> {
        (!self.not_isolated.is_empty()).then(|| not_isolated_from(&self.not_isolated.join("; or its ")))
    }

    /// Entries of the list of known failures for which the run fails.
    #[cfg(feature = "cli")]
    pub(crate) fn failing_entries(&self) -> impl Iterator<Item = &ListedFailure> {
        self.known_failures.iter().filter(|entry| entry.fails())
    }

    /// The exit code that follows from the counts.
    #[cfg(feature = "cli")]
    pub(crate) fn code(&self) -> u8 {
        let codes = [
            (self.interrupted, exit_code::INTERRUPTED),
            (self.harness_failures > 0, exit_code::ENVIRONMENT),
            (self.failed > self.harness_failures, exit_code::FINDINGS),
            (self.failing_entries().next().is_some(), exit_code::FINDINGS),
            (!self.snapshots.is_empty(), exit_code::FINDINGS),
        ];
        codes
            .into_iter()
            .filter(|(holds, _)| *holds)
            .fold(exit_code::OK, |code, (_, other)| exit_code::worst(code, other))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::classify::Advisory;
    use crate::schema::Level;

    fn read(event: Value) -> CaseFinished {
        match serde_json::from_value(event).unwrap() {
            Event::CaseFinished(case) => *case,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn words_of_a_newer_version_are_kept_as_they_are() {
        let case = json!({
            "type": "case-finished", "case": "a/b", "target": "t", "repetition": 1, "status": "fail", "attempts": 1,
            "verdict": {"class": "haunted", "detail": null, "blame": "moon", "retryable": false, "counts": false,
                "resets_at": null, "advisories": ["late_exit", "odd"],
                "evidence": [{"rule": "r", "basis": "seance", "line": 1, "pointer": null, "value": 5}],
                "kind": null, "hint": "h", "session_id": null, "cancel_observed": null, "safe_to_reuse_session": true},
            "contract": "c",
            "findings": [{"clause": "c/d", "level": "whisper", "message": "m", "line": null, "offset": 3, "pointer": "/x",
                "seen": "y", "expected": null}],
            "failures": [{"kind": "spectre", "message": "boo"}, {"kind": "finding", "message": "c/d: m", "clause": "c/d"}],
            "reason": null, "duration_ms": 1.5, "verdict_ms": 0.5, "recording": null, "replay": "", "description": "",
            "expected": "ok", "source": null, "earlier": [],
        });
        let read = read(case.clone());
        let Some(verdict) = &read.verdict else { panic!("no verdict") };
        assert_eq!(verdict.class, Word::Unknown("haunted".into()));
        assert!(verdict.advisories[0] == Advisory::LateExit && verdict.advisories[1].known().is_none());
        assert_eq!(read.failing_findings().count(), 1);
        assert_eq!(serde_json::to_value(Event::CaseFinished(Box::new(read))).unwrap(), case);
        let unknown: Event = serde_json::from_value(json!({"type": "case-haunted", "by": 3})).unwrap();
        assert!(matches!(unknown, Event::Unknown));
    }

    #[test]
    fn files_written_before_are_read() {
        let mut case = read(json!({
            "type": "case-finished", "case": "a", "target": "t", "repetition": 1, "status": "fail",
            "findings": [{"clause": "c/d", "level": "must", "message": "m"}, {"clause": "c/de", "level": "must", "message": "m"}],
            "failures": [{"kind": "finding", "message": "c/de: m"}],
        }));
        assert!(case.findings[0].level == Level::Must && case.verdict.is_none());
        case.name_clauses();
        assert_eq!(
            case.failing_findings().map(|finding| finding.clause.as_str()).collect::<Vec<_>>(),
            ["c/de"]
        );
    }
}
