//! What was expected against what was observed: a pure function.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::event::Word;
use super::scenario::{Expect, ExpectedFile};
use crate::classify::{Class, Verdict};
use crate::harness::Recorded;
use crate::harness::mock::Journal;
use crate::harness::room::Room;
use crate::judge::Judgement;
use crate::schema::{Finding, Level};
use crate::text::Masker;

/// Something that was not as expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    pub kind: Word<FailureKind>,
    /// What is wrong, in a sentence.
    pub message: String,
    /// The clause that was broken, where that is what is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clause: Option<String>,
    /// What differs from a snapshot, line by line; see [`crate::golden::Difference::lines`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diff: Vec<String>,
    /// Why it is accepted for now, if it is listed as a known failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), message: message.into(), clause: None, diff: Vec::new(), known: None }
    }

    /// Masks secrets in what it says: files and command lines are quoted as they are.
    pub(super) fn mask(&mut self, masker: &Masker) {
        self.message = masker.mask(&self.message);
        self.diff.iter_mut().for_each(|line| *line = masker.mask(line));
    }

    /// A clause was broken.
    pub(crate) fn finding(finding: &Finding) -> Self {
        let message = format!("{}: {}", finding.clause, finding.message);
        Self { clause: Some(finding.clause.clone()), ..Self::new(FailureKind::Finding, message) }
    }

    /// Whether it says something of the apparatus, and nothing of what was to be tested.
    #[cfg(feature = "cli")]
    pub(crate) fn is_ours(&self) -> bool {
        use FailureKind::{Control, Harness, NotMeasured};
        self.kind.known().is_some_and(|kind| matches!(kind, Harness | Control | NotMeasured))
    }
}

/// What a failure is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FailureKind {
    Verdict,
    Exit,
    Advisory,
    Finding,
    Stale,
    Requests,
    UnusedTurn,
    Step,
    UnmetExpectation,
    UnmatchedRequest,
    InvalidRequest,
    File,
    Stdout,
    Stderr,
    Secret,
    Leftover,
    Outside,
    Golden,
    Harness,
    Threshold,
    Assertion,
    Trigger,
    Control,
    NotMeasured,
}

impl FailureKind {
    /// All of them.
    pub(crate) const ALL: [Self; 24] = [
        Self::Verdict,
        Self::Exit,
        Self::Advisory,
        Self::Finding,
        Self::Stale,
        Self::Requests,
        Self::UnusedTurn,
        Self::Step,
        Self::UnmetExpectation,
        Self::UnmatchedRequest,
        Self::InvalidRequest,
        Self::File,
        Self::Stdout,
        Self::Stderr,
        Self::Secret,
        Self::Leftover,
        Self::Outside,
        Self::Golden,
        Self::Harness,
        Self::Threshold,
        Self::Assertion,
        Self::Trigger,
        Self::Control,
        Self::NotMeasured,
    ];

    /// What holds when nothing of this kind is wrong.
    #[cfg(feature = "cli")]
    pub(crate) fn promise(self) -> &'static str {
        match self {
            Self::Verdict => "The run ends as the scenario expects.",
            Self::Exit => "The exit code is the expected one.",
            Self::Advisory => "The verdict carries the expected advisories.",
            Self::Finding => "Every clause of the contract is kept.",
            Self::Stale => "A finding that the scenario expects is still there.",
            Self::Requests => "The API is asked as often as expected.",
            Self::UnusedTurn => "Every turn of the script is asked for.",
            Self::Step => "What the user waits for comes, and can be answered.",
            Self::UnmetExpectation => "Every mounted mock is asked as often as it expects.",
            Self::UnmatchedRequest => "Every request is one that the script knows.",
            Self::InvalidRequest => "Every request is a valid one.",
            Self::File => "The run leaves the expected files.",
            Self::Stdout => "Standard output holds what is expected.",
            Self::Stderr => "Standard error holds what is expected.",
            Self::Secret => "No credential is printed.",
            Self::Leftover => "Nothing is left running.",
            Self::Outside => "Nothing is written outside the clean room.",
            Self::Golden => "The output is that of the golden snapshot.",
            Self::Harness => "The harness itself works.",
            Self::Threshold => "Every threshold of the evaluation is reached.",
            Self::Assertion => "Every assertion of the case holds.",
            Self::Trigger => "The skill is used where it should be, and only there.",
            Self::Control => "What is known to pass passes, and what is known to fail fails.",
            Self::NotMeasured => "Enough trials are measured to tell anything.",
        }
    }
}

/// Everything that was observed.
pub(super) struct Observed<'o> {
    pub(super) judged: &'o Judgement,
    pub(super) recorded: &'o Recorded,
}

/// Every way in which a run was not as expected. A clause of level `fail_on` or above has to hold.
pub(super) fn compare(expect: &Expect, observed: &Observed<'_>, fail_on: Level) -> Vec<Failure> {
    let mut failures = Vec::new();
    let Recorded { captured, printed, journal, room, .. } = observed.recorded;
    match &observed.judged.verdict {
        Some(found) => verdict(expect, found, &mut failures),
        None => ended(expect, observed, &mut failures),
    }
    exit(expect, observed, &mut failures);
    findings(expect, observed.judged, fail_on, &mut failures);
    requests(expect, journal, &mut failures);
    failures.extend(steps(&observed.recorded.captured.unsaid));
    for file in &expect.files {
        failures.extend(check_file(file, room));
    }
    for (kind, wanted, bytes) in [
        (FailureKind::Stdout, &expect.stdout_contains, &printed.stdout_head),
        (FailureKind::Stderr, &expect.stderr_contains, &printed.stderr_head),
    ] {
        if let Some(wanted) = wanted
            && memchr::memmem::find(bytes, wanted.as_bytes()).is_none()
        {
            let channel = Word::from(kind);
            failures.push(Failure::new(kind, format!("{channel} does not contain {wanted:?}")));
        }
    }
    if printed.masked > 0 {
        let often = if printed.masked == 1 { "once".to_owned() } else { format!("{} times", printed.masked) };
        let message = format!("a credential was printed {often}; the recording has it masked");
        failures.push(Failure::new(FailureKind::Secret, message));
    }
    let ended = &captured.ended;
    match expect.leftovers {
        Some(false) => failures.extend(ended.leftovers.iter().map(|left| {
            let message = format!("left running: {} (process {})", left.command, left.pid);
            Failure::new(FailureKind::Leftover, message)
        })),
        Some(true) if ended.leftovers.is_empty() => {
            failures.push(Failure::new(FailureKind::Leftover, "expected a process to be left running"));
        }
        Some(true) | None => {}
    }
    let outside = ended.outside.iter().flatten();
    match (expect.outside, &ended.outside) {
        (false, _) => {
            failures.extend(
                outside.map(|path| Failure::new(FailureKind::Outside, format!("written outside: {path}"))),
            );
        }
        (true, Some(written)) if written.is_empty() => {
            failures.push(Failure::new(
                FailureKind::Outside,
                "expected a file to be written outside the clean room",
            ));
        }
        // Where it is not watched, nothing can be said.
        (true, _) => {}
    }
    if ended.survivors {
        failures.push(Failure::new(FailureKind::Leftover, "a process could not be ended"));
    }
    failures
}

/// An event log has no verdict: its writer has to have ended by itself, and well unless another end is expected.
fn ended(expect: &Expect, observed: &Observed<'_>, failures: &mut Vec<Failure>) {
    let exit = &observed.recorded.captured.exit;
    if expect.verdict != Class::Ok {
        failures.push(Failure::new(
            FailureKind::Verdict,
            "the scenario expects a verdict, and an event log has none",
        ));
    }
    if let Some(timer) = &exit.timed_out {
        failures.push(Failure::new(FailureKind::Exit, format!("the timer `{}` fired", timer.name())));
    }
    if let Some(error) = &exit.spawn_error {
        failures.push(Failure::new(FailureKind::Exit, format!("could not be started: {}", error.message)));
    }
    if let Some(signal) = exit.signal {
        failures.push(Failure::new(FailureKind::Exit, format!("ended by signal {signal}")));
    }
    if let Some(code) = exit.code.filter(|code| *code != 0 && expect.exit.is_none()) {
        failures
            .push(Failure::new(FailureKind::Exit, format!("expected exit code 0, found exit code {code}")));
    }
}

fn verdict(expect: &Expect, verdict: &Verdict, failures: &mut Vec<Failure>) {
    let named = |class: Class, detail: Option<&str>| match detail {
        Some(detail) => format!("{class} ({detail})"),
        None => class.to_string(),
    };
    let detail_differs = expect.detail.is_some() && expect.detail != verdict.detail;
    if !expect.is_met_by(verdict.class) || detail_differs {
        let wanted = expect.outcome();
        let found = named(verdict.class, verdict.detail.as_deref());
        let why = verdict
            .evidence
            .first()
            .map_or(String::new(), |evidence| format!(" ({}: {})", evidence.rule, evidence.value));
        failures.push(Failure::new(FailureKind::Verdict, format!("expected {wanted}, found {found}{why}")));
    }
    for wanted in &expect.advisories {
        if !verdict.advisories.iter().any(|advisory| advisory.name() == wanted) {
            failures.push(Failure::new(FailureKind::Advisory, format!("expected the advisory {wanted}")));
        }
    }
}

fn exit(expect: &Expect, observed: &Observed<'_>, failures: &mut Vec<Failure>) {
    let exit = &observed.recorded.captured.exit;
    if let Some(wanted) = expect.exit
        && exit.code != Some(wanted)
    {
        failures.push(Failure::new(FailureKind::Exit, format!("expected exit code {wanted}, found {exit}")));
    }
}

fn findings(expect: &Expect, judgement: &Judgement, fail_on: Level, failures: &mut Vec<Failure>) {
    for finding in judgement.findings.iter().filter(|finding| finding.level >= fail_on) {
        if !expect.findings.contains(&finding.clause) {
            failures.push(Failure::finding(finding));
        }
    }
    for clause in &expect.findings {
        if !judgement.findings.iter().any(|finding| finding.clause == *clause) {
            let message = format!("{clause} was expected to be broken and is not: take it off the list");
            failures.push(Failure::new(FailureKind::Stale, message));
        }
    }
}

/// What the user was to say and could not: then the run is not the one that was described.
fn steps(unsaid: &[String]) -> impl Iterator<Item = Failure> {
    unsaid.iter().map(|message| Failure::new(FailureKind::Step, message))
}

fn requests(expect: &Expect, journal: &Journal, failures: &mut Vec<Failure>) {
    let count = journal.asked();
    match expect.requests {
        Some(wanted) if !wanted.holds(count) => {
            failures.push(Failure::new(
                FailureKind::Requests,
                format!("expected {wanted} requests for an answer, found {count}"),
            ));
        }
        Some(_) => {}
        // Whoever counts requests knows which turns they are for.
        None => failures.extend(journal.unused.iter().map(|turn| {
            Failure::new(FailureKind::UnusedTurn, format!("no request asked for the turn `{turn}`"))
        })),
    }
    failures.extend(journal.unmet.iter().map(|unmet| Failure::new(FailureKind::UnmetExpectation, unmet)));
    if journal.unmatched_not_kept > 0 {
        let message = format!(
            "{} of the {} requests that are not in the recording were answered by no turn",
            journal.unmatched_not_kept, journal.not_kept
        );
        failures.push(Failure::new(FailureKind::UnmatchedRequest, message));
    }
    for entry in &journal.requests {
        if let Some(unmatched) = &entry.unmatched {
            let nearest = match &unmatched.nearest {
                Some(turn) => format!("the nearest is `{turn}`: {}", unmatched.because.join("; ")),
                None => "the script has none left".to_owned(),
            };
            let message = format!("{} {} is answered by no turn; {nearest}", entry.method, entry.path);
            failures.push(Failure::new(FailureKind::UnmatchedRequest, message));
        }
        for finding in &entry.findings {
            let message = format!("request {}: {} {}", entry.number, finding.pointer, finding.message);
            failures.push(Failure::new(FailureKind::InvalidRequest, message));
        }
    }
}

/// More of a file that is expected is not looked at.
const MOST_FILE_BYTES: u64 = 64 << 20;

/// Reads a file that a target left. What is none could be waited for or read for ever, or belong to somebody else.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let kind = fs::symlink_metadata(path)?.file_type();
    if !kind.is_file() {
        let what = match () {
            () if kind.is_dir() => "directory",
            () if kind.is_symlink() => "link",
            () if kind.is_fifo() => "pipe",
            () if kind.is_socket() => "socket",
            () => "device",
        };
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("no file but a {what}")));
    }
    let mut content = Vec::new();
    fs::File::open(path)?.take(MOST_FILE_BYTES).read_to_end(&mut content)?;
    Ok(content)
}

fn check_file(file: &ExpectedFile, room: &Room) -> Option<Failure> {
    let content = read_file(&room.place(&file.path));
    let message = match (&file.contains, content) {
        (None, Err(error)) if error.kind() == io::ErrorKind::NotFound => return None,
        (None, _) => format!("{} exists and should not", file.path),
        (Some(_), Err(error)) if error.kind() == io::ErrorKind::InvalidInput => {
            format!("{} is {error}", file.path)
        }
        (Some(_), Err(error)) if error.kind() == io::ErrorKind::NotFound => {
            format!("{} was not written", file.path)
        }
        (Some(_), Err(error)) => format!("{} cannot be read: {error}", file.path),
        (Some(text), Ok(content)) if memchr::memmem::find(&content, text.as_bytes()).is_some() => {
            return None;
        }
        (Some(text), Ok(_)) => format!("{} does not contain {text:?}", file.path),
    };
    Some(Failure::new(FailureKind::File, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::scenario::Requests;

    #[test]
    fn a_request_beyond_those_that_are_kept_is_not_hidden() {
        let mut expect = Expect::default();
        let mut journal = Journal::default();
        (journal.not_kept, expect.requests) = (3, Some(Requests::exactly(3)));
        let kinds = |journal: &Journal| {
            let mut failures = Vec::new();
            requests(&expect, journal, &mut failures);
            failures.into_iter().map(|failure| failure.kind.to_string()).collect::<Vec<_>>()
        };
        assert!(kinds(&journal).is_empty());
        journal.unmatched_not_kept = 1;
        assert_eq!(kinds(&journal), ["unmatched-request"]);
    }
}
