//! What became of a run, and what a test may demand of it.

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::cli::{Error, Folder, rescue};
use crate::classify::Verdict;
use crate::golden::{Volatile, normalise};
use crate::harness::KEPT_FILES;
use crate::judge::Judgement;
use crate::outcome::{Step, Table};
use crate::recording::{Exit, Facts, Recording};
use crate::run::{Attempt, BrokenClause, FailureKind, Process};
use crate::schema::{Finding, Level};
use crate::stream_json::StreamReader;
use crate::text::printable;

/// A finished run: what it printed, how it ended, and what was concluded of it.
///
/// The assertions can be chained. They panic, as assertions do, with all that a person needs to understand the run.
///
/// ```standalone_crate
/// # clawgate::testing::act_as_reference();
/// use clawgate::testing::{Cli, Script, Turn};
/// use serde_json::json;
///
/// let write = Turn::new().tool("Write", json!({"file_path": "note.txt", "content": "hello"}));
/// let run = Cli::target("reference")?
///     .prompt("Write a note.")
///     .arg("--dangerously-skip-permissions")
///     .api(Script::new().turn(write).text("Done."))
///     .run()?;
///
/// // What has to hold …
/// run.assert_verdict("ok").assert_no_findings().assert_file("note.txt", "hello").assert_exit(0);
/// // … what was said and done …
/// assert_eq!(run.text(), Some("Done."));
/// assert_eq!(run.tool_calls()[0].0, "Write");
/// assert_eq!(run.transcript()[0]["subtype"], "init");
/// assert_eq!(run.file("note.txt").as_deref(), Some(&b"hello"[..]));
/// // … and all of it without what differs from run to run, for `insta::assert_snapshot!`.
/// assert!(run.normalised().contains("<uuid:1>"));
/// # Ok::<(), clawgate::testing::Error>(())
/// ```
#[derive(Debug)]
pub struct Outcome {
    folder: Folder,
    place: PathBuf,
    recording: Recording,
    judgement: Judgement,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// Beyond the contract: what was left behind, written outside, or asked of the API and not scripted.
    failures: Vec<String>,
    /// What the clauses say that are broken.
    clauses: Vec<BrokenClause>,
    normalised: String,
    /// The calls that another agent's contract tells of; none for the dialect of the Claude CLI.
    calls: Option<Vec<(String, Value)>>,
}

/// What a run fails for besides its verdict and its findings, which have assertions of their own.
const STRAY: [FailureKind; 8] = [
    FailureKind::Leftover,
    FailureKind::Outside,
    FailureKind::Secret,
    FailureKind::UnmatchedRequest,
    FailureKind::InvalidRequest,
    FailureKind::UnusedTurn,
    FailureKind::Step,
    FailureKind::UnmetExpectation,
];

impl Outcome {
    pub(super) fn read(
        folder: Folder,
        attempt: Attempt,
        volatile: &Volatile,
        table: Option<&Table>,
    ) -> Result<Self, Error> {
        let recording = attempt.recording;
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        recording.stdout()?.read_to_end(&mut stdout)?;
        recording.stderr()?.read_to_end(&mut stderr)?;
        let failures =
            attempt.failures.iter().filter(|failure| STRAY.iter().any(|kind| failure.kind == *kind));
        let failures = failures.map(|failure| format!("{}: {}", failure.kind, failure.message)).collect();
        let normalised = normalise(&recording, volatile)?.to_snapshot();
        let calls = table.map(|table| calls(table, &stdout));
        Ok(Self {
            calls,
            folder,
            place: attempt.place,
            recording,
            judgement: attempt.judgement,
            stdout,
            stderr,
            failures,
            clauses: attempt.clauses,
            normalised,
        })
    }

    /// What became of the run, whose fault it was, and on what evidence; none for an event log, which has no verdict.
    pub fn verdict(&self) -> Option<&Verdict> {
        self.judgement.verdict.as_ref()
    }

    /// The clauses that were broken, the gravest first.
    pub fn findings(&self) -> &[Finding] {
        &self.judgement.findings
    }

    /// What was recorded besides the output.
    pub(super) fn facts(&self) -> &Facts {
        &self.recording.facts
    }

    /// How the process ended.
    pub fn exit(&self) -> &Exit {
        &self.recording.facts.exit
    }

    /// The final answer.
    pub fn text(&self) -> Option<&str> {
        self.judgement.session.as_ref()?.final_text.as_deref()
    }

    /// What the run wrote to standard output, byte for byte (secrets are masked).
    pub fn stdout(&self) -> &[u8] {
        &self.stdout
    }

    /// What the run wrote to standard error (secrets are masked).
    pub fn stderr(&self) -> &[u8] {
        &self.stderr
    }

    /// The messages on standard output, in order; what is no JSON object is left out (and found by the contract).
    pub fn transcript(&self) -> Vec<Value> {
        let mut messages = Vec::new();
        let mut reader = StreamReader::default();
        let mut keep = |line: &crate::stream_json::Line<'_>| {
            messages.extend(line.message().map(|message| message.root().to_value()));
        };
        reader.push(&self.stdout, &mut keep);
        reader.finish(&mut keep);
        messages
    }

    /// The tools that were called, in order, each with its input.
    pub fn tool_calls(&self) -> Vec<(String, Value)> {
        if let Some(calls) = &self.calls {
            return calls.clone();
        }
        let blocks = |message: &Value| message.pointer("/message/content")?.as_array().cloned();
        let calls = self.transcript().into_iter().filter(|message| message["type"] == "assistant");
        calls
            .filter_map(|message| blocks(&message))
            .flatten()
            .filter(|block| block["type"] == "tool_use")
            .map(|block| (block["name"].as_str().unwrap_or_default().to_owned(), block["input"].clone()))
            .collect()
    }

    /// The requests that the API got, as the journal in the recording has them.
    pub fn requests(&self) -> &[Value] {
        let requests = self.recording.facts.other.get("requests").and_then(Value::as_array);
        requests.map_or(&[], Vec::as_slice)
    }

    /// A file in the working directory, as it was when the run was over and if the run wrote it.
    pub fn file(&self, path: &str) -> Option<Vec<u8>> {
        std::fs::read(self.place.join(KEPT_FILES).join(path)).ok()
    }

    /// The run without what differs from one run to the next, for `insta::assert_snapshot!`.
    pub fn normalised(&self) -> &str {
        &self.normalised
    }

    /// Where the recording is; `clawgate judge` and `clawgate play` take it.
    pub fn recording(&self) -> &Path {
        &self.place
    }

    /// Demands a class of verdict, such as `ok` or `rate_limit`.
    #[track_caller]
    pub fn assert_verdict(&self, class: &str) -> &Self {
        let found = self.verdict().map_or("none", |verdict| verdict.class.name());
        self.demand(found == class, format_args!("expected the verdict `{class}`, found `{found}`"))
    }

    /// Demands that no must clause is broken, that nothing was left running or written outside, and that the API was
    /// asked exactly what the script answers.
    #[track_caller]
    pub fn assert_no_findings(&self) -> &Self {
        let broken = self.findings().iter().filter(|finding| finding.level == Level::Must).count();
        let stray = self.failures.join("; ");
        self.demand(broken == 0, format_args!("{broken} findings break the contract"))
            .demand(stray.is_empty(), format_args!("{}", printable(&stray)))
    }

    /// Demands that a clause is broken.
    #[track_caller]
    pub fn assert_finding(&self, clause: &str) -> &Self {
        let found = self.findings().iter().any(|finding| finding.clause == clause);
        self.demand(found, format_args!("expected the clause `{clause}` to be broken"))
    }

    /// Demands that the API was asked for so many answers; work on the side is not counted.
    #[track_caller]
    pub fn assert_requests(&self, count: usize) -> &Self {
        let found = self.requests().iter().filter(|request| asks(request)).count();
        self.demand(found == count, format_args!("expected {count} requests for an answer, found {found}"))
    }

    /// Demands that a tool was called.
    #[track_caller]
    pub fn assert_tool(&self, name: &str) -> &Self {
        let names: Vec<String> = self.tool_calls().into_iter().map(|(name, _)| name).collect();
        let said = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let found = names.iter().any(|known| known == name);
        self.demand(found, format_args!("expected a call of `{name}`; called: {}", printable(&said)))
    }

    /// Demands a file that holds this text.
    #[track_caller]
    pub fn assert_file(&self, path: &str, contains: &str) -> &Self {
        let text = self.file(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let found = text.as_ref().is_some_and(|text| text.contains(contains));
        let state = text.map_or("it was not written".to_owned(), |text| format!("it holds {text:?}"));
        self.demand(found, format_args!("expected `{path}` to hold {contains:?}; {state}"))
    }

    /// Demands this exit code.
    #[track_caller]
    pub fn assert_exit(&self, code: i32) -> &Self {
        let found = self.exit();
        self.demand(found.code == Some(code), format_args!("expected exit code {code}, found {found:?}"))
    }

    #[track_caller]
    #[expect(clippy::panic, reason = "an assertion of a test")]
    fn demand(&self, holds: bool, complaint: fmt::Arguments<'_>) -> &Self {
        if !holds {
            let place = self.rescue();
            panic!("{complaint}\n{self}recording: {}\n", place.display());
        }
        self
    }

    fn rescue(&self) -> PathBuf {
        let Folder::Passing(folder) = &self.folder else { return self.place.clone() };
        rescue(&self.recording, &self.place, folder.path().file_name().unwrap_or_default())
    }
}

/// Whether a request of the journal is for an answer.
fn asks(request: &Value) -> bool {
    const ENDS: [&str; 4] = ["/messages", "/responses", "/completions", "enerateContent"];
    match request["kind"].as_str().unwrap_or_default() {
        "turn" | "unmatched" | "refused" => true,
        "mounted" => request["path"].as_str().is_some_and(|path| ENDS.iter().any(|end| path.ends_with(end))),
        _ => false,
    }
}

/// The calls that an output tells of.
fn calls(table: &Table, stdout: &[u8]) -> Vec<(String, Value)> {
    let mut calls = Vec::new();
    let mut reader = StreamReader::default();
    let mut hear = |line: &crate::stream_json::Line<'_>| {
        table.steps(line, &mut |step| {
            if let Step::Call { name, input, .. } = step {
                calls.push((name, input));
            }
        });
    };
    reader.push(stdout, &mut hear);
    reader.finish(&mut hear);
    calls
}

impl fmt::Display for Outcome {
    /// What the command line would say of the run.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(verdict) = self.verdict() {
            let detail = verdict.detail.as_ref().map_or(String::new(), |detail| format!(" ({detail})"));
            writeln!(f, "verdict: {}{detail}, blame: {}", verdict.class, verdict.blame)?;
        }
        for evidence in self.verdict().into_iter().flat_map(|verdict| &verdict.evidence) {
            let line = evidence.line.map_or(String::new(), |line| format!(" at line {line}"));
            let pointer = evidence.pointer.as_deref().unwrap_or_default();
            let value = evidence.value.to_string();
            writeln!(f, "  because: {}{line} {pointer} {}", evidence.rule, printable(&value))?;
        }
        for finding in &self.judgement.findings {
            let line = finding.line.map_or(String::new(), |line| format!(" line {line}:"));
            writeln!(f, "{}: {}{line} {}", finding.level, finding.clause, printable(&finding.message))?;
        }
        let process = Process::of(&self.recording);
        let clauses = self.clauses.iter().flat_map(BrokenClause::told);
        for (label, text) in clauses.chain(process.told()) {
            writeln!(f, "{label}: {}", printable(text))?;
        }
        Ok(())
    }
}
