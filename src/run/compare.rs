//! What was expected against what was observed: a pure function.

use std::fs;

use serde::Serialize;

use super::judging::Judged;
use crate::classify::{Class, Verdict};
use crate::harness::capture::Captured;
use crate::harness::mock::Journal;
use crate::harness::room::Room;
use crate::harness::scenario::{Expect, ExpectedFile};
use crate::schema::Level;

/// Something that was not as expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Failure {
    /// What it is about, as a word.
    pub kind: &'static str,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What differs from a snapshot, line by line; see [`crate::golden::Difference::lines`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diff: Vec<String>,
}

impl Failure {
    pub(super) fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), diff: Vec::new() }
    }
}

/// Everything that was observed.
#[derive(Debug)]
pub(super) struct Observed<'o> {
    pub(super) judged: &'o Judged,
    pub(super) captured: &'o Captured,
    pub(super) journal: &'o Journal,
    pub(super) room: &'o Room,
    pub(super) stdout_start: &'o [u8],
    pub(super) stderr_start: &'o [u8],
    /// How many secrets the target printed.
    pub(super) masked: u64,
}

/// Every way in which a run was not as expected. A clause of level `fail_on` or above has to hold.
pub(super) fn compare(expect: &Expect, observed: &Observed<'_>, fail_on: Level) -> Vec<Failure> {
    let mut failures = Vec::new();
    match &observed.judged.verdict {
        Some(found) => verdict(expect, found, &mut failures),
        None => ended(expect, observed, &mut failures),
    }
    exit(expect, observed, &mut failures);
    findings(expect, observed.judged, fail_on, &mut failures);
    requests(expect, observed.journal, &mut failures);
    for file in &expect.files {
        failures.extend(check_file(file, observed.room));
    }
    for (channel, wanted, bytes) in [
        ("stdout", &expect.stdout_contains, observed.stdout_start),
        ("stderr", &expect.stderr_contains, observed.stderr_start),
    ] {
        if let Some(wanted) = wanted
            && memchr::memmem::find(bytes, wanted.as_bytes()).is_none()
        {
            failures.push(Failure::new(channel, format!("{channel} does not contain {wanted:?}")));
        }
    }
    if observed.masked > 0 {
        let message =
            format!("{} times a credential was printed; the recording has it masked", observed.masked);
        failures.push(Failure::new("secret", message));
    }
    let ended = &observed.captured.ended;
    if !expect.leftovers {
        for left in &ended.leftovers {
            failures.push(Failure::new(
                "leftover",
                format!("left running: {} (process {})", left.command, left.pid),
            ));
        }
    } else if ended.leftovers.is_empty() {
        failures.push(Failure::new("leftover", "expected a process to be left running"));
    }
    let outside = ended.outside.iter().flatten();
    match (expect.outside, &ended.outside) {
        (false, _) => {
            failures.extend(outside.map(|path| Failure::new("outside", format!("written outside: {path}"))));
        }
        (true, Some(written)) if written.is_empty() => {
            failures.push(Failure::new("outside", "expected a file to be written outside the clean room"));
        }
        // Where it is not watched, nothing can be said.
        (true, _) => {}
    }
    if ended.survivors {
        failures.push(Failure::new("leftover", "a process could not be ended"));
    }
    failures
}

/// An event log has no verdict: its writer has to have ended by itself, and well unless another end is expected.
fn ended(expect: &Expect, observed: &Observed<'_>, failures: &mut Vec<Failure>) {
    let exit = &observed.captured.exit;
    if expect.verdict != Class::Ok {
        failures.push(Failure::new("verdict", "an event log has no verdict that could be expected"));
    }
    if let Some(timer) = &exit.timed_out {
        failures.push(Failure::new("exit", format!("the timer {} fired", timer.name())));
    }
    if let Some(error) = &exit.spawn_error {
        failures.push(Failure::new("exit", format!("could not be started: {}", error.message)));
    }
    if let Some(signal) = exit.signal {
        failures.push(Failure::new("exit", format!("ended by signal {signal}")));
    }
    if let Some(code) = exit.code.filter(|code| *code != 0 && expect.exit.is_none()) {
        failures.push(Failure::new("exit", format!("expected exit code 0, found exit code {code}")));
    }
}

fn verdict(expect: &Expect, verdict: &Verdict, failures: &mut Vec<Failure>) {
    let named = |class: Class, detail: Option<&str>| match detail {
        Some(detail) => format!("{class} ({detail})"),
        None => class.to_string(),
    };
    let detail_differs = expect.detail.is_some() && expect.detail != verdict.detail;
    if verdict.class != expect.verdict || detail_differs {
        let wanted = named(expect.verdict, expect.detail.as_deref());
        let found = named(verdict.class, verdict.detail.as_deref());
        let why = verdict
            .evidence
            .first()
            .map_or(String::new(), |evidence| format!(": {} {}", evidence.rule, evidence.value));
        failures.push(Failure::new("verdict", format!("expected {wanted}, found {found}{why}")));
    }
    for wanted in &expect.advisories {
        if !verdict.advisories.iter().any(|advisory| advisory.name() == wanted) {
            failures.push(Failure::new("advisory", format!("expected the advisory {wanted}")));
        }
    }
}

fn exit(expect: &Expect, observed: &Observed<'_>, failures: &mut Vec<Failure>) {
    let exit = &observed.captured.exit;
    if let Some(wanted) = expect.exit
        && exit.code != Some(wanted)
    {
        let found = match (exit.code, exit.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "no exit".to_owned(),
        };
        failures.push(Failure::new("exit", format!("expected exit code {wanted}, found {found}")));
    }
}

fn findings(expect: &Expect, judgement: &Judged, fail_on: Level, failures: &mut Vec<Failure>) {
    for finding in judgement.findings.iter().filter(|finding| finding.level >= fail_on) {
        if !expect.findings.contains(&finding.clause) {
            failures.push(Failure::new("finding", format!("{}: {}", finding.clause, finding.message)));
        }
    }
    for clause in &expect.findings {
        if !judgement.findings.iter().any(|finding| finding.clause == *clause) {
            let message = format!("{clause} was expected to be broken and is not: take it off the list");
            failures.push(Failure::new("stale", message));
        }
    }
}

fn requests(expect: &Expect, journal: &Journal, failures: &mut Vec<Failure>) {
    let count = journal.asked();
    match expect.requests {
        Some(wanted) if wanted != count => {
            failures.push(Failure::new(
                "requests",
                format!("expected {wanted} requests for an answer, found {count}"),
            ));
        }
        Some(_) => {}
        // Whoever counts requests knows which turns they are for.
        None => failures.extend(
            journal
                .unused
                .iter()
                .map(|turn| Failure::new("unused-turn", format!("nobody asked for turn `{turn}`"))),
        ),
    }
    for entry in &journal.requests {
        if let Some(unmatched) = &entry.unmatched {
            let because = unmatched.because.join("; ");
            let nearest = unmatched.nearest.as_deref().unwrap_or("none");
            let message = format!(
                "{} {} was answered by no turn; nearest is {nearest}: {because}",
                entry.method, entry.path
            );
            failures.push(Failure::new("unmatched-request", message));
        }
        for finding in &entry.findings {
            let message = format!("request {}: {} {}", entry.number, finding.pointer, finding.message);
            failures.push(Failure::new("invalid-request", message));
        }
    }
}

fn check_file(file: &ExpectedFile, room: &Room) -> Option<Failure> {
    let content = fs::read(room.place(&file.path));
    let message = match (&file.contains, content) {
        (None, Err(_)) => return None,
        (None, Ok(_)) => format!("{} exists and should not", file.path),
        (Some(_), Err(error)) => format!("{}: {error}", file.path),
        (Some(text), Ok(content)) if memchr::memmem::find(&content, text.as_bytes()).is_some() => {
            return None;
        }
        (Some(text), Ok(_)) => format!("{} does not contain {text:?}", file.path),
    };
    Some(Failure::new("file", message))
}
