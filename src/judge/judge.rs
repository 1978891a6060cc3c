//! The judge: it chooses how an output is read and which contract it is held against, sees its bytes once, and
//! concludes.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use serde_json::Value;

use crate::classify::{Process, Rows, RunFacts, Verdict, agent, classify_foreign, claude, claw};
use crate::envelope::{Envelope, MAX_BYTES};
use crate::events::{self, Profile};
use crate::json::{JsonView, Kind, Node, Problem};
use crate::outcome::{self, Signs};
use crate::recording::{Exit, Facts, Recording, STDERR_HEAD};
use crate::schema::{self, ContractSet, End, EventJudge, Family, FileError, Finding};
use crate::stream_json::documented::{self, Run};
use crate::stream_json::{Batch, Limits, Line, Session, StreamReader, Summary};

use super::contracts::{Choice, WEAKEST_CONTRACT};
use super::guess::{self, Guess};
use super::inputs::named_after;
use super::{Contracts, Protocol};

/// Bytes looked at to tell what a bare output is, in steps of so many.
const SNIFF: usize = 64 << 10;
const SNIFF_STEP: usize = 4 << 10;
/// Lines of a standard error that are tried as the start of a document.
const MOST_STARTS: usize = 64;

/// How to judge, and what is known besides what was recorded.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Whether the guesses `interactive` and `background-task` are made.
    pub heuristics: bool,
    /// Whether the run had `CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1`; without it the recording says.
    pub background_disabled: Option<bool>,
    /// The reading that an event log is held to; without it the recording says, and else it is strict.
    pub profile: Option<Profile>,
    /// The roles of peers that an event log does not tell of.
    pub(crate) roles: Vec<(String, events::Role)>,
    /// How the output is to be read; without it the recording says, or the shape of the output does.
    pub protocol: Option<Protocol>,
    /// How the process ended, instead of what was recorded. A bare output's exit is assumed to be 0 without it, and
    /// clauses about it do not apply.
    pub exit: Option<Exit>,
    /// Its standard error, instead of what was recorded.
    pub stderr: Option<Vec<u8>>,
    /// How much of an output is kept in memory while it is judged.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            heuristics: true,
            background_disabled: None,
            profile: None,
            roles: Vec::new(),
            protocol: None,
            exit: None,
            stderr: None,
            limits: Limits::default(),
        }
    }
}

impl Options {
    /// The options for an output whose process ended with this code.
    pub fn with_exit_code(code: i32) -> Self {
        Self { exit: Some(Exit::with_code(code)), ..Self::default() }
    }
}

/// How a run ended, besides its standard output.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Ending<'r> {
    /// How the process ended; none where nobody saw it.
    pub exit: Option<Exit>,
    /// The start of its standard error.
    pub stderr: Vec<u8>,
    /// How long it took.
    pub duration_ms: Option<u64>,
    /// What was recorded of it, if it was.
    recording: Option<&'r Recording>,
}

impl<'r> Ending<'r> {
    /// The end that a recording tells of.
    pub fn of_recording(recording: &'r Recording) -> io::Result<Self> {
        let facts = &recording.facts;
        Ok(Self {
            exit: Some(facts.exit.clone()),
            stderr: recording.stderr_head()?,
            duration_ms: facts.duration_ms,
            recording: Some(recording),
        })
    }

    /// What contracts may know of it.
    fn of_contract<'e>(&'e self, stdout: Option<&'e [u8]>) -> End<'e> {
        let stderr = self.exit.is_some().then_some(self.stderr.as_slice());
        End::new(self.exit.clone(), stdout, stderr).recorded(self.recording)
    }
}

/// Everything that was concluded of a run or an event log.
#[derive(Debug)]
#[non_exhaustive]
pub struct Judgement {
    /// The contract that was applied; none for plain text.
    pub contract: Option<String>,
    /// Whether the contract was told from the output's shape.
    pub contract_detected: bool,
    /// What became of the run; none for an event log, which is no run.
    pub verdict: Option<Verdict>,
    /// What the documented reader reports; for stream-json only.
    pub run: Option<Run>,
    /// Clauses that were broken.
    pub findings: Vec<Finding>,
    /// What happened in the session; for a Claude CLI only.
    pub session: Option<Session>,
    /// How the reading went; for stream-json only.
    pub summary: Option<Summary>,
    /// The reading that an event log was held to and how reading it went; for event logs only.
    pub log: Option<(Profile, events::Summary)>,
}

/// Judges one output while it is read.
pub struct Judge<'c> {
    contracts: &'c Contracts,
    options: Options,
    /// What the contract may know of the run.
    run: schema::Run,
    /// Whether how to read it is told from the output's shape.
    is_guessed: bool,
    /// How a run is read whose output does not look like that of an agent we know.
    fallback: Option<Protocol>,
    /// What the first lines told of whose they are.
    origin: Origin,
    body: Body<'c>,
}

/// Whose output it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// It was said, or it is of the families that are told by their form.
    Known,
    /// The first lines look like those of another agent.
    Guessed,
    /// The first lines look like nobody's.
    Unclear,
}

enum Body<'c> {
    /// The start of a bare output of this name, of which nobody knows yet what it is.
    Unknown(Option<PathBuf>, Vec<u8>),
    Stream(Box<Stream<'c>>),
    Document(Protocol, Vec<u8>),
    Log(&'c ContractSet, Profile, Box<EventJudge<'c>>),
    /// The contract cannot be opened.
    Failed(FileError),
}

/// The listeners of a stream: each sees every line once.
struct Stream<'c> {
    reader: StreamReader,
    listener: Listener<'c>,
    contract: Option<(Choice<'c>, schema::Judge<'c>)>,
}

/// What hears the dialect of the Claude CLI; `own` is for a speaker of it that says some things in its own way.
struct ClaudeListener<'c> {
    documented: documented::Reader,
    session: Session,
    signs: Signs<'c>,
    own: Option<(&'c outcome::Table, outcome::Reader<'c>)>,
}

/// Who hears what a stream tells of its run.
enum Listener<'c> {
    /// The dialect of the Claude CLI.
    Claude(Box<ClaudeListener<'c>>),
    /// Another agent, whose contract says what its messages mean.
    Agent(&'c outcome::Table, Box<outcome::Reader<'c>>),
}

impl<'c> Judge<'c> {
    /// A judge of a run that was recorded or begins now.
    pub fn of_run(facts: &Facts, contracts: &'c Contracts, options: &Options) -> Result<Self, FileError> {
        let named = contracts.named(facts)?;
        let protocol = Protocol::of_run(facts, contracts.chosen(), named);
        let mut options = options.clone();
        let recorded = || Profile::from_name(facts.other.get("profile")?.as_str()?);
        options.profile = options.profile.or_else(recorded);
        options
            .background_disabled
            .get_or_insert_with(|| facts.env("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS") == Some("1"));
        let run = schema::Run::of(facts);
        let (is_guessed, origin) = (false, Origin::Known);
        // Of a target that nobody knows and that promises nothing, the output may still tell.
        let fallback =
            (named.is_none() && options.protocol.is_none() && Family::from_name(&facts.target).is_none())
                .then_some(protocol);
        let body = match fallback {
            Some(_) => Body::Unknown(None, Vec::new()),
            None => Body::new(options.protocol.unwrap_or(protocol), contracts, &options, &run)?,
        };
        Ok(Self { contracts, options, run, is_guessed, fallback, origin, body })
    }

    /// A judge of an output of which nothing is known but its name, if it has one. One that is named after a command of
    /// the contract, such as `list-sessions.json`, is held to that command.
    pub fn of_output(name: Option<&Path>, contracts: &'c Contracts, options: &Options) -> Self {
        let run = schema::Run { named_after: name.map(named_after), ..schema::Run::default() };
        let body = match options.protocol {
            Some(protocol) => Body::new(protocol, contracts, options, &run).unwrap_or_else(Body::Failed),
            None => Body::Unknown(name.map(Path::to_owned), Vec::new()),
        };
        let is_guessed = options.protocol.is_none();
        let (options, origin) = (options.clone(), Origin::Known);
        Self { contracts, options, run, is_guessed, fallback: None, origin, body }
    }

    /// Whether the output is one document rather than a stream.
    #[cfg(feature = "testing")]
    pub(crate) fn is_document(&self) -> bool {
        matches!(self.body, Body::Document(..))
    }

    /// Whether what was printed so far holds a whole document.
    #[cfg(feature = "testing")]
    pub(crate) fn has_document(&self) -> bool {
        matches!(&self.body, Body::Document(_, bytes) if Envelope::outline(bytes, 0, &mut |_| {}).value.is_some())
    }

    /// How many messages ended the run so far, by the contract of another agent than the Claude CLI.
    #[cfg(feature = "testing")]
    pub(crate) fn ends(&self) -> Option<u64> {
        let Body::Stream(stream) = &self.body else { return None };
        match &stream.listener {
            Listener::Agent(_, reader) => Some(reader.ends()),
            Listener::Claude(_) => None,
        }
    }

    /// Reads the next bytes of the output. `watch` sees each line of a stream as it ends.
    pub fn push(&mut self, mut chunk: &[u8], watch: &mut dyn FnMut(&Line<'_>)) {
        while let Body::Unknown(_, start) = &mut self.body {
            if chunk.is_empty() {
                return;
            }
            // However the output is cut into chunks, the same bytes decide.
            let step = (SNIFF_STEP - start.len() % SNIFF_STEP).min(chunk.len());
            start.extend_from_slice(&chunk[..step]);
            chunk = &chunk[step..];
            if guess::is_enough(start) || start.len() >= SNIFF {
                self.recognise(None, watch);
            }
        }
        self.body.push(chunk, watch);
    }

    /// Reads all that is left of the output, ahead of the judging and on a thread of its own where it is a stream.
    pub(super) fn push_ahead(
        &mut self,
        mut output: impl Read + Send,
        watch: &mut dyn FnMut(&Line<'_>),
    ) -> io::Result<()> {
        if let Body::Stream(stream) = &mut self.body {
            return stream.push_ahead(output, watch);
        }
        let mut chunk = vec![0; CHUNK];
        while let Some(read) = read_more(&mut output, &mut chunk)? {
            self.push(read, watch);
        }
        Ok(())
    }

    /// Decides what a bare output is. `stderr` is what came with an output that is over.
    fn recognise(&mut self, stderr: Option<&[u8]>, watch: &mut dyn FnMut(&Line<'_>)) {
        let Body::Unknown(name, start) = &mut self.body else { return };
        let (name, start) = (name.take(), std::mem::take(start));
        self.body = self.told_by(name.as_deref(), &start, stderr).unwrap_or_else(Body::Failed);
        self.body.push(&start, watch);
    }

    fn told_by(
        &mut self,
        name: Option<&Path>,
        start: &[u8],
        stderr: Option<&[u8]>,
    ) -> Result<Body<'c>, FileError> {
        let mut protocol = self.fallback.unwrap_or_else(|| Protocol::detect(name, start));
        if let Some(chosen) = self.contracts.chosen() {
            protocol = protocol.fitting(Some(chosen));
        } else if protocol != Protocol::EventLog {
            match guess::contract_of(start, stderr)? {
                Guess::Agent(name) => {
                    self.run.contract = Some(name.to_owned());
                    (self.is_guessed, self.origin) = (true, Origin::Guessed);
                    protocol = protocol.fitting(self.contracts.promised_by(&self.run)?);
                }
                Guess::Nobody { is_stream } if self.fallback.is_none() => {
                    self.origin = Origin::Unclear;
                    if is_stream && protocol == Protocol::ClawJson {
                        protocol = Protocol::ClaudeStream;
                    }
                }
                Guess::Nobody { .. } | Guess::Ours => {}
            }
        }
        Body::new(protocol, self.contracts, &self.options, &self.run)
    }

    /// Begins another segment of an event log; its first line is the one with this number.
    #[cfg(feature = "cli")]
    pub(super) fn next_segment(&mut self) -> u64 {
        let Body::Log(_, _, judge) = &mut self.body else { return 1 };
        judge.end_segment(&mut ());
        judge.next_line()
    }

    /// Ends the output and concludes. Fails when the contract of the output cannot be opened.
    pub fn finish(
        mut self,
        mut ending: Ending<'_>,
        watch: &mut dyn FnMut(&Line<'_>),
    ) -> Result<Judgement, FileError> {
        ending.exit = self.options.exit.clone().or(ending.exit);
        ending.stderr = self.options.stderr.clone().unwrap_or(ending.stderr);
        ending.stderr.truncate(STDERR_HEAD);
        self.recognise(Some(&ending.stderr), watch);
        let Self { contracts, options, run, is_guessed, origin, body, .. } = self;
        let is_named = contracts.chosen().is_some();
        match body {
            Body::Stream(stream) => {
                let is_claude = is_guessed && !is_named && origin != Origin::Guessed;
                let doubt = is_claude.then_some(origin == Origin::Unclear);
                let mut judgement = stream.finish(&options, &ending, doubt, watch);
                judgement.contract_detected = judgement.contract.is_some() && is_guessed && !is_named;
                Ok(judgement)
            }
            Body::Document(Protocol::ClaudeJson, bytes) if origin == Origin::Unclear => {
                Ok(judge_strange_document(&bytes, &ending))
            }
            Body::Document(protocol, bytes) => {
                let mut judgement =
                    judge_document(protocol, &bytes, contracts, &options, &run, &ending, is_guessed)?;
                judgement.contract_detected |= judgement.contract.is_some() && is_guessed && !is_named;
                Ok(judgement)
            }
            Body::Log(set, profile, judge) => {
                let (findings, summary) = judge.finish(&mut ());
                Ok(Judgement {
                    contract: Some(set.name().to_owned()),
                    contract_detected: is_guessed && !is_named,
                    verdict: None,
                    run: None,
                    findings,
                    session: None,
                    summary: None,
                    log: Some((profile, summary)),
                })
            }
            Body::Failed(error) => Err(error),
            Body::Unknown(..) => Err(FileError::whole("", "nothing was read")),
        }
    }
}

impl<'c> Body<'c> {
    fn new(
        protocol: Protocol,
        contracts: &'c Contracts,
        options: &Options,
        run: &schema::Run,
    ) -> Result<Self, FileError> {
        Ok(match protocol {
            Protocol::EventLog => {
                let (set, profile) = (contracts.of_events()?, options.profile.unwrap_or_default());
                let mut judge = EventJudge::new(set, profile, events::Limits::default());
                judge.assign(&options.roles);
                Self::Log(set, profile, Box::new(judge))
            }
            Protocol::ClaudeStream => {
                let choice = contracts.choose(protocol, run, None)?;
                Self::Stream(Box::new(Stream {
                    reader: StreamReader::new(options.limits),
                    listener: Listener::of(choice.map(|(set, _)| set), contracts, options)?,
                    contract: choice.map(|choice| (choice, choice.0.begin(run))),
                }))
            }
            document => Self::Document(document, Vec::new()),
        })
    }

    fn push(&mut self, chunk: &[u8], watch: &mut dyn FnMut(&Line<'_>)) {
        match self {
            Self::Document(_, bytes) => {
                // One byte over the limit is enough to know that it was passed.
                let room = (MAX_BYTES + 1).saturating_sub(bytes.len()).min(chunk.len());
                bytes.extend_from_slice(&chunk[..room]);
            }
            Self::Stream(stream) => {
                let Stream { reader, listener, contract } = &mut **stream;
                reader.push(chunk, &mut |line| hear(line, listener, contract, watch));
            }
            Self::Log(_, _, judge) => judge.push(chunk, &mut ()),
            Self::Unknown(..) | Self::Failed(_) => {}
        }
    }
}

/// Lets every listener see a line.
fn hear(
    line: &Line<'_>,
    listener: &mut Listener<'_>,
    contract: &mut Option<(Choice<'_>, schema::Judge<'_>)>,
    watch: &mut dyn FnMut(&Line<'_>),
) {
    match listener {
        Listener::Claude(listeners) => {
            listeners.documented.line(line);
            listeners.session.line(line);
            if let Some(message) = line.message() {
                listeners.signs.message(JsonView::Scanned(message.root()), message.line);
            }
            if let Some((_, own)) = &mut listeners.own {
                own.line(line);
            }
        }
        Listener::Agent(_, reader) => reader.line(line),
    }
    if let Some((_, contract)) = contract {
        contract.line(line);
    }
    watch(line);
}

/// What a verdict may know of the process; its exit is taken for 0 where nobody saw it.
fn with_process<T>(ending: &Ending<'_>, exit: &Exit, decide: impl FnOnce(&mut Process<'_>) -> T) -> T {
    let stderr = String::from_utf8_lossy(&ending.stderr);
    let mut process = Process::new(exit, &stderr);
    process.exit_known = ending.exit.is_some();
    process.facts = ending.recording.map(|known| RunFacts::of(&known.facts)).unwrap_or_default();
    decide(&mut process)
}

impl<'c> Listener<'c> {
    /// The listener for a stream that is held against a contract.
    fn of(
        contract: Option<&'c ContractSet>,
        contracts: &'c Contracts,
        options: &Options,
    ) -> Result<Self, FileError> {
        let reader = |table| (table, outcome::Reader::new(table, options.limits));
        let is_claude = contract.is_none_or(|set| set.family() == Family::Claude);
        if let Some((_, table)) = contract.and_then(ContractSet::outcome).filter(|_| !is_claude) {
            let (table, reader) = reader(table);
            return Ok(Self::Agent(table, Box::new(reader)));
        }
        let (rows, own) = contracts.dialect(contract.filter(|_| is_claude))?;
        let settings = documented::Settings {
            heuristics: options.heuristics,
            background_disabled: options.background_disabled.unwrap_or(false),
        };
        Ok(Self::Claude(Box::new(ClaudeListener {
            documented: documented::Reader::new(settings, options.limits),
            session: Session::new(options.limits),
            signs: Signs::new(rows),
            own: own.map(reader),
        })))
    }

    /// What became of the run, and what was told of it.
    fn conclude(
        self,
        is_foreign: bool,
        options: &Options,
        ending: &Ending<'_>,
        lines: u64,
    ) -> (Verdict, Option<Run>, Session) {
        let exit = ending.exit.clone().unwrap_or_else(|| Exit::with_code(0));
        match self {
            Self::Agent(table, reader) => {
                let (verdict, told) = with_process(ending, &exit, |process| {
                    let told = reader.finish(process.in_time());
                    (agent::classify(table, &told, process, lines, options.heuristics), told)
                });
                (verdict, None, told.session)
            }
            Self::Claude(listeners) => {
                let ClaudeListener { documented, mut session, signs, own } = *listeners;
                session.finish();
                let (table, hits) = signs.finish();
                let rows = Rows { table, hits: &hits };
                let verdict = with_process(ending, &exit, |process| {
                    // Another agent's stream has no messages that a verdict could rest on.
                    if is_foreign {
                        classify_foreign(process, lines)
                    } else {
                        let verdict = claude::classify(&session, rows, process, lines, options.heuristics);
                        match own {
                            Some((table, reader)) => {
                                agent::cause(table, &reader.finish(process.in_time()), process, verdict)
                            }
                            None => verdict,
                        }
                    }
                });
                let run = documented.finish(&exit, &ending.stderr, ending.duration_ms);
                (verdict, Some(run), session)
            }
        }
    }
}

/// So much is read at once.
pub(super) const CHUNK: usize = 256 << 10;

/// Reads the next bytes into a chunk; none at the end.
pub(super) fn read_more<'c>(output: &mut impl Read, chunk: &'c mut [u8]) -> io::Result<Option<&'c [u8]>> {
    loop {
        match output.read(chunk) {
            Ok(0) => return Ok(None),
            Ok(read) => return Ok(Some(&chunk[..read])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

impl Stream<'_> {
    /// Another thread reads and scans the lines, and this one judges them, in their order.
    fn push_ahead(
        &mut self,
        mut output: impl Read + Send,
        watch: &mut dyn FnMut(&Line<'_>),
    ) -> io::Result<()> {
        let Self { reader, listener, contract } = self;
        let mut ahead = std::mem::take(reader);
        // One batch is read, one waits and one is judged: lines may be long.
        let (full, ready) = mpsc::sync_channel::<Batch>(1);
        let (emptied, used) = mpsc::channel::<Batch>();
        let read = move || {
            let (mut chunk, mut batch) = (vec![0; CHUNK / 4], Batch::default());
            let end = loop {
                match read_more(&mut output, &mut chunk) {
                    Ok(Some(read)) => ahead.push(read, &mut |line| batch.push(line)),
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
                if batch.is_full() {
                    let next = used.try_recv().unwrap_or_default();
                    if full.send(std::mem::replace(&mut batch, next)).is_err() {
                        break Ok(());
                    }
                }
            };
            // Nobody waits for it only when the judging broke off.
            _ = full.send(batch);
            (ahead, end)
        };
        let (ahead, end) = thread::scope(|scope| {
            let reads = scope.spawn(read);
            for batch in ready {
                batch.replay(&mut |line| hear(line, listener, contract, watch));
                _ = emptied.send(batch.emptied());
            }
            reads.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        *reader = ahead;
        end
    }

    /// Ends the stream. `doubt` is there where it was only guessed that it is one of a Claude CLI, and says whether its first
    /// lines look like nobody's.
    fn finish(
        self,
        options: &Options,
        ending: &Ending<'_>,
        doubt: Option<bool>,
        watch: &mut dyn FnMut(&Line<'_>),
    ) -> Judgement {
        let Self { reader, mut listener, mut contract } = self;
        let summary = reader.finish(&mut |line| hear(line, &mut listener, &mut contract, watch));
        let is_foreign = contract.as_ref().is_some_and(|((set, _), _)| set.family() != Family::Claude);
        let lines = summary.lines;
        let (mut verdict, mut run, session) = listener.conclude(is_foreign, options, ending, lines);
        let (mut name, mut findings) = (None, Vec::new());
        let strange = doubt.and_then(|is_unclear| guess::strange_kinds(&session, lines, is_unclear));
        if let Some(strange) = strange {
            // Nothing that a Claude CLI promises can be asked of it.
            let exit = ending.exit.clone().unwrap_or_else(|| Exit::with_code(0));
            verdict = with_process(ending, &exit, |process| agent::unknown_agent(&strange, process, lines));
            run = run.filter(|_| lines == 0);
        } else if let Some(((set, _), mut judge)) = contract {
            judge.end_of_stream(&summary);
            findings = judge.finish(&ending.of_contract(None));
            name = Some(set.name().to_owned());
        }
        Judgement {
            contract: name,
            contract_detected: false,
            verdict: Some(verdict),
            run,
            findings,
            session: Some(session),
            summary: Some(summary),
            log: None,
        }
    }
}

fn judge_document(
    protocol: Protocol,
    bytes: &[u8],
    contracts: &Contracts,
    options: &Options,
    run: &schema::Run,
    ending: &Ending<'_>,
    is_guessed: bool,
) -> Result<Judgement, FileError> {
    if protocol == Protocol::AgentJson {
        return judge_agent_document(bytes, contracts, options, run, ending);
    }
    let mut session = (protocol == Protocol::ClaudeJson).then(|| Session::new(options.limits));
    let mut signs = match protocol {
        Protocol::ClaudeJson => {
            let promised = contracts.choose(protocol, run, None)?.map(|(set, _)| set);
            Some(Signs::new(contracts.dialect(promised.filter(|set| set.family() == Family::Claude))?.0))
        }
        _ => None,
    };
    let output_end = end_of(bytes);
    // The verdict on a claw carries whole texts of its document; that on a Claude CLI has them from its session.
    let longest = if session.is_some() { 1 << 10 } else { usize::MAX };
    let envelope = Envelope::outline(bytes, longest, &mut |root| {
        if let Some(session) = &mut session {
            see_messages(root, output_end, session, signs.as_mut());
        }
    });
    if let Some(session) = &mut session {
        // A result with something around it is no result.
        let is_spoilt = |kind| {
            use Problem::{ByteOrderMark, Prefix, SecondDocument, Suffix};
            matches!(kind, Prefix | Suffix | SecondDocument | ByteOrderMark)
        };
        if envelope.flaws.iter().any(|flaw| is_spoilt(flaw.kind)) {
            *session = Session::new(options.limits);
            signs.iter_mut().for_each(Signs::clear);
        }
        session.finish();
        session.cut = envelope.flaws.iter().any(|flaw| flaw.kind == Problem::Truncated);
    }
    let lines = u64::from(!bytes.trim_ascii().is_empty());
    let exit = ending.exit.clone().unwrap_or_else(|| Exit::with_code(0));
    let seen = signs.map(Signs::finish);
    let rows = seen.as_ref().map(|(table, hits)| Rows { table, hits });
    let mut verdict = with_process(ending, &exit, |process| {
        let text = || String::from_utf8_lossy(bytes);
        process.output_end = output_end;
        match (protocol, session.as_ref().zip(rows)) {
            (_, Some((session, rows))) => claude::classify(session, rows, process, lines, options.heuristics),
            (Protocol::ClawText, _) => claw::classify_text(&envelope, &text(), process),
            (Protocol::ClawJson, _) => claw::classify_json(&envelope, process),
            _ => claude::classify_text(&text(), process, options.heuristics),
        }
    });
    let choice = contracts.choose(protocol, run, envelope.value.as_ref())?;
    let mut findings = Vec::new();
    if let Some((set, detected)) = choice {
        findings = schema::judge_read(set, run, &envelope, bytes, &ending.of_contract(Some(bytes)));
        if set.name() == "claude-json" {
            findings.extend(listed_messages(contracts, run, &envelope, bytes, ending)?);
        }
        // Any object keeps the weakest contract of claw, so nobody can tell what the output was to be.
        if is_guessed && detected && set.name() == WEAKEST_CONTRACT && verdict.is_ok() {
            verdict = claw::unknown_shape();
        }
    }
    Ok(Judgement {
        contract: choice.map(|(set, _)| set.name().to_owned()),
        contract_detected: choice.is_some_and(|(_, detected)| detected),
        verdict: Some(verdict),
        run: None,
        findings,
        session,
        summary: None,
        log: None,
    })
}

/// Judges a document that is called as one of a Claude CLI, and is none.
fn judge_strange_document(bytes: &[u8], ending: &Ending<'_>) -> Judgement {
    let document: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let items = document.as_array().map_or(std::slice::from_ref(&document), Vec::as_slice);
    let kinds: Vec<&str> = items.iter().filter_map(|item| item.get("type")?.as_str()).take(8).collect();
    let exit = ending.exit.clone().unwrap_or_else(|| Exit::with_code(0));
    Judgement {
        contract: None,
        contract_detected: false,
        verdict: Some(with_process(ending, &exit, |process| agent::unknown_agent(&kinds, process, 1))),
        run: None,
        findings: Vec::new(),
        session: None,
        summary: None,
        log: None,
    }
}

/// Judges the document of an agent whose contract says what it means.
fn judge_agent_document(
    bytes: &[u8],
    contracts: &Contracts,
    options: &Options,
    run: &schema::Run,
    ending: &Ending<'_>,
) -> Result<Judgement, FileError> {
    let Some((set, _)) = contracts.choose(Protocol::AgentJson, run, None)? else {
        return Err(FileError::whole("", "no contract describes the document"));
    };
    let exit = ending.exit.clone().unwrap_or_else(|| Exit::with_code(0));
    let lines = u64::from(!bytes.trim_ascii().is_empty());
    let mut told = None;
    let mut reader = set.outcome().map(|(_, table)| (table, outcome::Reader::new(table, options.limits)));
    let mut read = |bytes: &[u8], end: u64| {
        Envelope::outline(bytes, usize::MAX, &mut |root| {
            if let Some((_, reader)) = &mut reader {
                reader.message(JsonView::Scanned(root), 1, end);
            }
        })
    };
    let envelope = read(bytes, end_of(bytes));
    // One that was printed to the wrong place says what became of the run all the same.
    if let Some(misplaced) = misplaced_document(&ending.stderr).filter(|_| lines == 0) {
        read(misplaced, 0);
    }
    let verdict = with_process(ending, &exit, |process| match reader.take() {
        Some((table, reader)) => {
            let told = told.insert(reader.finish(process.in_time()));
            told.session.cut = envelope.flaws.iter().any(|flaw| flaw.kind == Problem::Truncated);
            agent::classify(table, told, process, lines, options.heuristics)
        }
        None => classify_foreign(process, lines),
    });
    Ok(Judgement {
        contract: Some(set.name().to_owned()),
        contract_detected: false,
        verdict: Some(verdict),
        run: None,
        findings: schema::judge_read(set, run, &envelope, bytes, &ending.of_contract(Some(bytes))),
        session: told.map(|told| told.session),
        summary: None,
        log: None,
    })
}

/// The JSON object that stands at the end of a standard error.
fn misplaced_document(stderr: &[u8]) -> Option<&[u8]> {
    let end = stderr.trim_ascii_end();
    let starts = memchr::memmem::find_iter(end, b"\n{").map(|at| at + 1);
    let starts = end.starts_with(b"{").then_some(0).into_iter().chain(starts);
    let is_object = |at: &usize| serde_json::from_slice::<serde_json::Map<_, _>>(&end[*at..]).is_ok();
    starts.take(MOST_STARTS).find(is_object).map(|at| &end[at..])
}

/// What is wrong with the messages of `--output-format json --verbose`: they are those of a stream, in one list. A bad end
/// of the run is judged with the document.
fn listed_messages(
    contracts: &Contracts,
    run: &schema::Run,
    envelope: &Envelope,
    stdout: &[u8],
    ending: &Ending<'_>,
) -> Result<Vec<Finding>, FileError> {
    if !envelope.value.as_ref().is_some_and(Value::is_array) {
        return Ok(Vec::new());
    }
    let mut judge = contracts.of_streams()?.begin(run);
    schema::see_document(envelope, stdout, &mut |list| {
        for (number, message) in (1..).zip(list.items()) {
            judge.view(number, 0, message);
        }
    });
    let exit = ending.exit.clone().filter(|exit| *exit == Exit::with_code(0));
    let mut findings = judge.finish(&End::new(exit, None, None).recorded(ending.recording));
    for finding in &mut findings {
        let place = finding.line.map(|number| format!("/{}", number - 1)).unwrap_or_default();
        finding.pointer = Some(place + finding.pointer.as_deref().unwrap_or_default());
        (finding.line, finding.offset) = (Some(1), None);
    }
    Ok(findings)
}

/// Where the last byte of a document stands.
fn end_of(document: &[u8]) -> u64 {
    document.trim_ascii_end().len().saturating_sub(1) as u64
}

/// Shows a session the result document that it printed: one result, or an array of messages.
fn see_messages(root: Node<'_>, end: u64, session: &mut Session, mut signs: Option<&mut Signs<'_>>) {
    let mut see = |message| {
        session.nested_message(message, 1, end);
        if let Some(signs) = &mut signs {
            signs.message(JsonView::Scanned(message), 1);
        }
    };
    match root.kind() {
        Kind::Object => see(root),
        Kind::Array => root.items().for_each(see),
        _ => {}
    }
}
