//! The pass itself.

use crate::classify::{Process, Verdict, claude, claw};
use crate::envelope::{Envelope, MAX_BYTES};
use crate::json::{Kind, Scanner};
use crate::recording::{Exit, Facts};
use crate::schema::Finding;
use crate::stream_json::documented::{self, Run};
use crate::stream_json::{Limits, Line, Session, StreamReader, Summary};

use super::Protocol;

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
#[derive(Debug)]
pub struct Judge {
    protocol: Protocol,
    settings: Settings,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Stream(Box<Stream>),
    Document(Vec<u8>),
}

#[derive(Debug)]
struct Stream {
    reader: StreamReader,
    documented: documented::Reader,
    session: Session,
}

impl Judge {
    /// A judge of an output that speaks this protocol.
    pub fn new(protocol: Protocol, settings: Settings) -> Self {
        let limits = settings.limits;
        let body = if protocol.is_document() {
            Body::Document(Vec::new())
        } else {
            let mut documented_settings = documented::Settings::default();
            documented_settings.heuristics = settings.heuristics;
            documented_settings.background_disabled = settings.background_disabled;
            Body::Stream(Box::new(Stream {
                reader: StreamReader::new(limits),
                documented: documented::Reader::new(documented_settings, limits),
                session: Session::new(limits),
            }))
        };
        Self { protocol, settings, body }
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
                let Stream { reader, documented, session } = &mut **stream;
                reader.push(chunk, &mut |line| {
                    documented.line(line);
                    session.line(line);
                    watch(line);
                });
            }
        }
    }

    /// Ends the output and concludes.
    pub fn finish(self, ending: &Ending, watch: &mut dyn FnMut(&Line<'_>)) -> Judgement {
        let stderr = String::from_utf8_lossy(&ending.stderr);
        let mut process = Process::new(&ending.exit, &stderr);
        process.exit_known = ending.exit_known;
        let Self { protocol, settings, body } = self;
        match body {
            Body::Stream(stream) => {
                let Stream { reader, mut documented, mut session } = *stream;
                let summary = reader.finish(&mut |line| {
                    documented.line(line);
                    session.line(line);
                    watch(line);
                });
                session.finish();
                Judgement {
                    protocol,
                    verdict: claude::classify(&session, &process, summary.lines, settings.heuristics),
                    run: Some(documented.finish(&ending.exit, &ending.stderr, ending.duration_ms)),
                    findings: Vec::new(),
                    session: Some(session),
                    summary: Some(summary),
                }
            }
            Body::Document(bytes) if protocol.is_claw() => {
                let envelope = Envelope::read(&bytes);
                let verdict = if protocol == Protocol::ClawText {
                    claw::classify_text(&envelope, &process)
                } else {
                    claw::classify_json(&envelope, &process)
                };
                Judgement { protocol, verdict, run: None, findings: Vec::new(), session: None, summary: None }
            }
            Body::Document(bytes) if protocol == Protocol::ClaudeText => {
                let verdict =
                    claude::classify_text(&String::from_utf8_lossy(&bytes), &process, settings.heuristics);
                Judgement { protocol, verdict, run: None, findings: Vec::new(), session: None, summary: None }
            }
            Body::Document(bytes) => {
                let session = document_session(&bytes, settings.limits);
                let lines = u64::from(!bytes.trim_ascii().is_empty());
                Judgement {
                    protocol,
                    verdict: claude::classify(&session, &process, lines, settings.heuristics),
                    run: None,
                    findings: Vec::new(),
                    session: Some(session),
                    summary: None,
                }
            }
        }
    }
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
