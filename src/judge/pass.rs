//! The pass itself.

use serde_json::Value;

use crate::classify::{Process, Verdict, classify_foreign, claude, claw};
use crate::envelope::{Envelope, FlawKind, MAX_BYTES};
use crate::json::{Kind, Scanner};
use crate::recording::{Exit, Facts};
use crate::schema::{self, End, FileError, Finding};
use crate::stream_json::documented::{self, Run};
use crate::stream_json::{Limits, Line, Session, StreamReader, Summary};

use super::shelf::WEAKEST_CONTRACT;
use super::{Choice, Protocol, Shelf};

/// How to judge.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Settings {
    /// Whether the guesses `interactive` and `background-task` are made.
    pub heuristics: bool,
    /// Whether the run had `CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1`.
    pub background_disabled: bool,
    /// Bounds on memory.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Self { heuristics: true, background_disabled: false, limits: Limits::default() }
    }
}

/// How the run ended, besides its standard output.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Ending {
    /// How the process ended.
    pub exit: Exit,
    /// Whether that was observed; a bare file's exit is assumed to be 0.
    pub exit_known: bool,
    /// The start of its standard error.
    pub stderr: Vec<u8>,
    /// How long it took.
    pub duration_ms: Option<u64>,
}

impl Ending {
    /// An observed exit with this code and nothing on standard error.
    pub fn with_code(code: i32) -> Self {
        Self { exit: Exit::with_code(code), exit_known: true, ..Self::default() }
    }

    /// The assumed end of a bare file.
    pub fn assumed() -> Self {
        Self { exit_known: false, ..Self::with_code(0) }
    }

    /// The end that a recording tells of.
    pub fn of_recording(facts: &Facts, stderr: Vec<u8>) -> Self {
        Self { exit: facts.exit.clone(), exit_known: true, stderr, duration_ms: facts.duration_ms }
    }
}

/// Everything that was concluded of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Judgement {
    /// How the output was read.
    pub protocol: Protocol,
    /// The contract that was applied; none for plain text.
    pub contract: Option<String>,
    /// Whether the contract was told from the output's shape.
    pub contract_detected: bool,
    /// What became of the run.
    pub verdict: Verdict,
    /// What the documented reader reports; for stream-json only.
    pub run: Option<Run>,
    /// Clauses that were broken.
    pub findings: Vec<Finding>,
    /// What happened in the session; for a Claude CLI only.
    pub session: Option<Session>,
    /// How the reading went; for stream-json only.
    pub summary: Option<Summary>,
}

/// Judges one output while it is read.
pub struct Judge<'s> {
    protocol: Protocol,
    settings: Settings,
    shelf: &'s Shelf,
    facts: schema::Run,
    body: Body<'s>,
}

enum Body<'s> {
    Stream(Box<Stream<'s>>),
    Document(Vec<u8>),
}

/// The listeners of a stream: each sees every line once.
struct Stream<'s> {
    reader: StreamReader,
    documented: documented::Reader,
    session: Session,
    contract: Option<(Choice<'s>, schema::Judge<'s>)>,
}

impl Judgement {
    /// Whether nobody can tell what the output was to be: any object keeps the weakest contract of claw.
    pub fn is_of_unknown_shape(&self) -> bool {
        self.contract_detected && self.contract.as_deref() == Some(WEAKEST_CONTRACT)
    }
}

impl<'s> Judge<'s> {
    /// A judge of an output that speaks this protocol. `facts` is what the contract may know of the run.
    pub fn new(
        protocol: Protocol,
        settings: Settings,
        shelf: &'s Shelf,
        facts: &schema::Run,
    ) -> Result<Self, FileError> {
        let limits = settings.limits;
        let body = if protocol.is_document() {
            Body::Document(Vec::new())
        } else {
            let documented_settings = documented::Settings {
                heuristics: settings.heuristics,
                background_disabled: settings.background_disabled,
            };
            let choice = shelf.choose(protocol, facts, None)?;
            Body::Stream(Box::new(Stream {
                reader: StreamReader::new(limits),
                documented: documented::Reader::new(documented_settings, limits),
                session: Session::new(limits),
                contract: choice.map(|choice| (choice, choice.set.begin(facts))),
            }))
        };
        Ok(Self { protocol, settings, shelf, facts: facts.clone(), body })
    }

    /// Reads the next bytes of the output. `watch` sees each line of a stream as it ends.
    pub fn push(&mut self, chunk: &[u8], watch: &mut dyn FnMut(&Line<'_>)) {
        match &mut self.body {
            Body::Document(bytes) => {
                // One byte over the limit is enough to know that it was passed.
                let room = (MAX_BYTES + 1).saturating_sub(bytes.len()).min(chunk.len());
                bytes.extend_from_slice(&chunk[..room]);
            }
            Body::Stream(stream) => {
                let Stream { reader, documented, session, contract } = &mut **stream;
                reader.push(chunk, &mut |line| hear(line, documented, session, contract, watch));
            }
        }
    }

    /// Ends the output and concludes.
    pub fn finish(self, ending: &Ending, watch: &mut dyn FnMut(&Line<'_>)) -> Result<Judgement, FileError> {
        let stderr = String::from_utf8_lossy(&ending.stderr);
        let mut process = Process::new(&ending.exit, &stderr);
        process.exit_known = ending.exit_known;
        let Self { protocol, settings, shelf, facts, body } = self;
        match body {
            Body::Stream(stream) => Ok(stream.finish(protocol, settings, ending, &process, watch)),
            Body::Document(bytes) => {
                let envelope = Envelope::read(&bytes);
                let session = (protocol == Protocol::ClaudeJson).then(|| {
                    let mut session = document_session(&bytes, settings.limits);
                    session.cut = envelope.flaws.iter().any(|flaw| flaw.kind == FlawKind::Truncated);
                    session
                });
                let lines = u64::from(!bytes.trim_ascii().is_empty());
                let verdict = match (protocol, &session) {
                    (_, Some(session)) => claude::classify(session, &process, lines, settings.heuristics),
                    (Protocol::ClawText, _) => claw::classify_text(&envelope, &process),
                    (Protocol::ClawJson, _) => claw::classify_json(&envelope, &process),
                    _ => {
                        claude::classify_text(&String::from_utf8_lossy(&bytes), &process, settings.heuristics)
                    }
                };
                let choice = shelf.choose(protocol, &facts, envelope.value.as_ref())?;
                let exit = ending.exit_known.then(|| ending.exit.clone());
                let stderr = ending.exit_known.then_some(ending.stderr.as_slice());
                let mut findings = choice
                    .map(|choice| schema::judge_output(choice.set, &facts, exit, &bytes, stderr))
                    .unwrap_or_default();
                if choice.is_some_and(|choice| choice.set.name() == "claude-json") {
                    findings.extend(listed_messages(shelf, &facts, &envelope)?);
                }
                Ok(Judgement {
                    protocol,
                    contract: choice.map(|choice| choice.set.name().to_owned()),
                    contract_detected: choice.is_some_and(|choice| choice.detected),
                    verdict,
                    run: None,
                    findings,
                    session,
                    summary: None,
                })
            }
        }
    }
}

/// Judges an output that is in memory, of which nothing is known but its bytes and its end.
pub fn judge_bytes(
    protocol: Protocol,
    shelf: &Shelf,
    stdout: &[u8],
    ending: &Ending,
) -> Result<Judgement, FileError> {
    let mut judge = Judge::new(protocol, Settings::default(), shelf, &schema::Run::default())?;
    judge.push(stdout, &mut |_| {});
    judge.finish(ending, &mut |_| {})
}

/// Lets every listener see a line.
fn hear(
    line: &Line<'_>,
    documented: &mut documented::Reader,
    session: &mut Session,
    contract: &mut Option<(Choice<'_>, schema::Judge<'_>)>,
    watch: &mut dyn FnMut(&Line<'_>),
) {
    documented.line(line);
    session.line(line);
    if let Some((_, contract)) = contract {
        contract.line(line);
    }
    watch(line);
}

impl Stream<'_> {
    fn finish(
        self,
        protocol: Protocol,
        settings: Settings,
        ending: &Ending,
        process: &Process<'_>,
        watch: &mut dyn FnMut(&Line<'_>),
    ) -> Judgement {
        let Self { reader, mut documented, mut session, mut contract } = self;
        let summary =
            reader.finish(&mut |line| hear(line, &mut documented, &mut session, &mut contract, watch));
        session.finish();
        // Another agent's stream has no messages that a verdict could rest on.
        let is_foreign = contract.as_ref().is_some_and(|(choice, _)| !choice.set.is_of_claude());
        let verdict = if is_foreign {
            classify_foreign(process, summary.lines)
        } else {
            claude::classify(&session, process, summary.lines, settings.heuristics)
        };
        let (mut name, mut findings) = (None, Vec::new());
        if let Some((choice, mut judge)) = contract {
            if summary.lines == 0 {
                judge.empty_stream();
            }
            let exit = ending.exit_known.then(|| ending.exit.clone());
            let stderr = ending.exit_known.then_some(ending.stderr.as_slice());
            findings = judge.finish(&End::new(exit, None, stderr));
            name = Some(choice.set.name().to_owned());
        }
        Judgement {
            protocol,
            contract: name,
            contract_detected: false,
            verdict,
            run: Some(documented.finish(&ending.exit, &ending.stderr, ending.duration_ms)),
            findings,
            session: Some(session),
            summary: Some(summary),
        }
    }
}

/// What is wrong with the messages of `--output-format json --verbose`: they are those of a stream, in one list. How the
/// run ended is judged with the document.
fn listed_messages(
    shelf: &Shelf,
    facts: &schema::Run,
    envelope: &Envelope,
) -> Result<Vec<Finding>, FileError> {
    let Some(Value::Array(messages)) = &envelope.value else { return Ok(Vec::new()) };
    let Some(contract) = shelf.of_stream()? else { return Ok(Vec::new()) };
    let mut judge = contract.begin(facts);
    for (number, message) in (1..).zip(messages) {
        judge.message(number, 0, message);
    }
    let mut findings = judge.finish(&End::new(None, None, None));
    for finding in &mut findings {
        let place = finding.line.map(|number| format!("/{}", number - 1)).unwrap_or_default();
        finding.pointer = Some(place + finding.pointer.as_deref().unwrap_or_default());
        (finding.line, finding.offset) = (Some(1), None);
    }
    Ok(findings)
}

/// The session that a result document tells of: one result, or an array of messages.
fn document_session(bytes: &[u8], limits: Limits) -> Session {
    let mut session = Session::new(limits);
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_BYTES)]);
    let mut scanner = Scanner::default();
    if let Ok(document) = scanner.scan(&text) {
        let root = document.root();
        match root.kind() {
            Kind::Object => session.nested_message(root, 1),
            Kind::Array => root.items().for_each(|message| session.nested_message(message, 1)),
            _ => {}
        }
    }
    session.finish();
    session
}
