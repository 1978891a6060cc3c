//! Records one run of a target: a clean room, a scripted API, a supervised process, and everything that was observed.
//!
//! ```text
//! Recorder::prepare(Job) ─► Prepared ─► run(listener) ─► Ran ─► complete ─► Recorded ─► save
//! ```

use std::ffi::{OsStr, OsString};
use std::io::{self, Seek as _, Write as _};
use std::net::TcpListener;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hmac_sha256::Hash as Sha256;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::capture::{self, Captured, Outlets, Watch};
use super::command_line::CommandLine;
use super::exchanges::Exchanges;
use super::live::{Backlog, Listener, Live, Printed};
use super::mcp::{self, HttpServers, McpPart};
use super::mock::kept::KeptExchange;
use super::mock::{Fault, Journal, MockApi, Options, Script, StartError, Upstreams};
use super::partial::{KEPT_FILES, Partial, copy_written};
use super::room::{Room, RoomError, RoomFile};
use super::stop::Stop;
use super::supervise::{Demands, Isolation, Place, Pool, Start, Streams, SuperviseError, Supervisor, View};
use super::terminal;
use super::timers::Limits;
use super::user::{self, Cue, Step};
use crate::recording::{Facts, MOST_INPUT, Recording};
use crate::text::Masker;
use crate::text::hex;
use crate::time;

/// How long a target may take to end after TERM, and what it started after that.
const GRACE: (u64, u64) = (50, 40);

/// What all recordings of a run share.
#[derive(Debug, Clone)]
pub(crate) struct Recorder<'r> {
    /// The runtime of the scripted APIs.
    pub(crate) runtime: Handle,
    /// What holds the targets.
    pub(crate) pool: Arc<Pool>,
    /// What they must be kept apart from.
    pub(crate) demands: Demands,
    /// How much a target may write, into its room and around it.
    pub(crate) disk_bytes: u64,
    /// Where recordings are made.
    pub(crate) out: &'r Path,
    pub(crate) stop: &'r Stop,
}

/// One run that is to be recorded.
#[derive(Debug)]
pub(crate) struct Job<'j> {
    /// What stands in the room from the start.
    pub(crate) files: &'j [RoomFile],
    /// Whether the target runs on a terminal.
    pub(crate) terminal: bool,
    /// What the user does meanwhile.
    pub(crate) steps: &'j [Step],
    /// Who speaks in the user's place.
    pub(crate) relay: Option<OwnedFd>,
    /// Another working directory, relative to the usual one.
    pub(crate) cwd: Option<&'j OsStr>,
    /// The user's own working directory, instead of one in the room.
    pub(crate) own_cwd: Option<&'j Path>,
    /// Whether standard output is a device on which there is no space left.
    pub(crate) stdout_full: bool,
    /// Who answers the target.
    pub(crate) api: Api<'j>,
    /// What goes wrong besides what the script says.
    pub(crate) faults: &'j [Fault],
    /// The scripted MCP servers, where there are any.
    pub(crate) mcp: Option<McpPart<'j>>,
    pub(crate) limits: Limits,
    /// What holds instead until the first request for an answer, where the timers wait for it.
    pub(crate) until_asked: Option<Limits>,
    /// The most that the target may print.
    pub(crate) most_stdout: u64,
    pub(crate) bounds: Bounds,
    /// What is known of the run before its command line is.
    pub(crate) facts: Facts,
    /// Where the recording goes once it is whole.
    pub(crate) place: PathBuf,
    /// Whether what the target wrote into its working directory is kept beside the recording.
    pub(crate) keep_files: bool,
}

/// Who answers a target.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Api<'j> {
    /// The scripted API.
    Scripted(&'j Script),
    /// A real one, with what is asked and answered written down.
    #[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "only `record` relays"))]
    Relayed(&'j Upstreams),
    /// A real one that the target reaches by itself.
    Real,
}

/// What a target may use of the machine; what is left open is bounded only where everything is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bounds {
    /// How much it may write, into its room and around it.
    pub(crate) disk_bytes: Option<u64>,
    pub(crate) memory_bytes: Option<u64>,
    /// How many files it may have open at once.
    pub(crate) descriptors: Option<u64>,
}

/// Why a run could not be recorded: not the target's doing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// There is no clean room.
    #[error(transparent)]
    Room(#[from] RoomError),
    /// There is no supervisor.
    #[error(transparent)]
    Supervise(#[from] SuperviseError),
    /// There is no scripted API.
    #[error("the scripted API: {0}")]
    Api(#[from] StartError),
    /// There is no thread for it.
    #[error(
        "no thread can be had: {0}; run fewer cases at a time (--jobs 1), or raise the limit (ulimit -u)"
    )]
    Threads(io::Error),
    /// There is no place for the recording.
    #[error("cannot write the recording: {0}")]
    Disk(#[from] io::Error),
    /// The target cannot be asked that way.
    #[error("{0}")]
    Unfit(String),
}

/// A run that has all it needs to begin.
pub(crate) struct Prepared<'r> {
    /// What is known before the start.
    pub(crate) facts: Facts,
    recorder: &'r Recorder<'r>,
    job: Job<'r>,
    room: Room,
    streams: Streams,
    outlets: Outlets,
    /// The target's end of standard input, and the user's.
    stdin: (Option<OwnedFd>, Option<OwnedFd>),
    view: View,
    supervisor: Supervisor,
    isolation: Isolation,
    api: Option<MockApi>,
    http: Option<Arc<HttpServers>>,
    requests: Option<OwnedFd>,
    line: CommandLine,
    masker: Masker,
    partial: Partial,
}

/// A run whose target has ended, and that is not yet written down.
pub(crate) struct Ran<'r> {
    /// What is known so far, with the exit.
    pub(crate) facts: Facts,
    pub(crate) captured: Captured,
    pub(crate) printed: Printed,
    recorder: &'r Recorder<'r>,
    room: Room,
    isolation: Isolation,
    api: Option<MockApi>,
    mcp: Option<McpPart<'r>>,
    http: Option<Arc<HttpServers>>,
    /// When the target was launched, by the clock of the system.
    launched_ms: f64,
    /// When the target's own requests began, on the clock of the API.
    target_started_ms: f64,
    /// The text on standard input.
    input: Option<String>,
    masker: Masker,
    /// The secrets that the masker knows, where the API may tell of more.
    secrets: Option<Vec<String>>,
    keep_files: bool,
    partial: Partial,
}

/// A run of which everything is known, and that is not yet at its place.
pub(crate) struct Recorded {
    pub(crate) captured: Captured,
    pub(crate) printed: Printed,
    pub(crate) journal: Journal,
    /// The room as the target left it, which goes with this.
    pub(crate) room: Room,
    /// What was recorded; what the target printed is read from memory if it fits.
    pub(crate) recording: Recording,
    /// Knows the secrets of the run.
    pub(crate) masker: Masker,
    partial: Partial,
}

impl Recorder<'_> {
    /// Makes the room, the API and the supervisor. `command_line` gets the room and the address of the scripted API, if
    /// there is one; its error says why the target cannot be asked that way.
    pub(crate) fn prepare<'r>(
        &'r self,
        job: Job<'r>,
        command_line: impl FnOnce(&Room, Option<&str>) -> Result<CommandLine, String>,
    ) -> Result<Prepared<'r>, RecordError> {
        let mut room = Room::new()?;
        let (streams, outlets, screen) = if job.terminal {
            let (streams, outlets, line, keyboard) = capture::terminal()?;
            (streams, outlets, Some((line, keyboard)))
        } else {
            let (streams, outlets) = capture::pipes(job.stdout_full)?;
            (streams, outlets, None)
        };
        let demands = Demands { real_api: matches!(job.api, Api::Real), ..self.demands };
        let prepared =
            self.pool.prepare(demands, room.root(), job.bounds.disk_bytes.unwrap_or(self.disk_bytes))?;
        let view = prepared.view();
        let Place { isolation, listener, room: inside } = prepared.place;
        let http = job.mcp.as_ref().and_then(http_servers);
        let api = self.start_api(&job, &room, listener, http.clone())?;
        let requests = self.requests(&job, api.as_ref())?;
        let base_url = api.as_ref().map(MockApi::base_url);
        let line = command_line(&room, base_url.as_deref()).map_err(RecordError::Unfit)?;
        room.furnish(inside, line.files.iter().chain(job.files))?;
        // No file can be named that would stand in it.
        if let Some(cwd) = job.cwd.filter(|cwd| cwd.to_str().is_none()) {
            room.make_folder(cwd)?;
        }
        if let Some(mcp) = &job.mcp {
            if api.is_none() && http.is_some() {
                let reason = "an MCP server over HTTP stands beside the scripted API, and there is none";
                return Err(RecordError::Unfit(reason.into()));
            }
            let (seen, reach) = room.mcp();
            mcp.furnish(&reach, &seen, base_url.as_deref().unwrap_or_default())?;
        }
        let masker = Masker::new(line.secrets.iter().map(String::as_str));
        if let Some(api) = &api {
            api.expect_credentials(line.credentials.clone());
        }
        let stdin = match screen {
            Some((line, keyboard)) => (Some(line), Some(keyboard)),
            None => stdin(&job, &line)?,
        };
        let facts = known_facts(&job, &line, &room, &masker);
        let partial = Partial::new(self.out, job.place.clone())?;
        Ok(Prepared {
            facts,
            recorder: self,
            job,
            room,
            streams,
            outlets,
            stdin,
            view,
            supervisor: prepared.supervisor,
            isolation,
            api,
            http,
            requests,
            line,
            masker,
            partial,
        })
    }

    /// What the target asks instead of the real API.
    fn start_api(
        &self,
        job: &Job<'_>,
        room: &Room,
        listener: Option<TcpListener>,
        mcp: Option<Arc<HttpServers>>,
    ) -> Result<Option<MockApi>, StartError> {
        let _runtime = self.runtime.enter();
        match job.api {
            Api::Scripted(script) => {
                let mut script = script.clone();
                script.fill(&|text| room.fill(text));
                let faults = job.faults.to_vec();
                let options = Options { listener, faults, keep_bodies: true, mcp, ..Options::default() };
                self.runtime.block_on(MockApi::start(script, options)).map(Some)
            }
            Api::Relayed(upstreams) => MockApi::relay(upstreams.clone(), listener).map(Some),
            Api::Real => Ok(None),
        }
    }

    /// Makes a room and takes it away again; the error says why there is none as it is demanded.
    #[cfg(feature = "cli")]
    pub(crate) fn try_room(&self, real_api: bool) -> Result<(), RecordError> {
        let room = Room::new()?;
        let demands = Demands { real_api, ..self.demands };
        self.pool.prepare(demands, room.root(), self.disk_bytes)?;
        Ok(())
    }

    /// What tells of requests, where a step of the user or the timers wait for one.
    fn requests(&self, job: &Job<'_>, api: Option<&MockApi>) -> io::Result<Option<OwnedFd>> {
        let steps = job.steps.iter().filter_map(|step| match step.cue {
            Cue::Asked(count) => Some(count),
            _ => None,
        });
        let awaited = steps.chain(job.until_asked.map(|_| 1));
        let (Some(most), Some(api)) = (awaited.max(), api) else { return Ok(None) };
        let _runtime = self.runtime.enter();
        api.tell_of_requests(most).map(Some)
    }
}

impl<'r> Prepared<'r> {
    /// Starts the target and stays until nothing of it is left. `listener` sees its output as it comes.
    pub(crate) fn run(self, listener: &mut dyn Listener) -> Result<Ran<'r>, RecordError> {
        let Self { mut facts, recorder, job, room, supervisor, api, partial, mut outlets, .. } = self;
        if user::never_reads(job.steps) {
            outlets.stdout = None;
        }
        let backlog = Backlog::new()?;
        let live = Live::new(&backlog, &self.masker, partial.folder())?;
        let api_port = api.as_ref().map_or(0, |api| api.address().port());
        let (stdin, typing) = self.stdin;
        let has_first = self.line.first.is_some();
        let input = self.line.stdin.clone().filter(|_| !job.terminal);
        let secrets = matches!(job.api, Api::Relayed(_)).then(|| self.line.secrets.clone());
        let launched_ms = mcp::now();
        facts.other.insert("started_at".into(), time::rfc3339(launched_ms as i64).into());
        supervisor.launch(start(&job, self.line, &room, api_port), self.streams, stdin)?;
        // The journal counts from the start of the API, arrivals from the start of the target.
        let launched = Instant::now();
        let api_started = api.as_ref().map_or(launched, MockApi::started);
        let watch = Watch {
            limits: job.limits,
            until_asked: job.until_asked,
            most_stdout: job.most_stdout,
            steps: job.steps.to_vec(),
            stdin: typing,
            terminal: job.terminal,
            relay: job.relay,
            requests: self.requests,
            cancel: recorder.stop.as_fd(),
        };
        let watched = watch_and_hear(supervisor, outlets, watch, live, &backlog, listener)?;
        let (supervisor, printed, captured) = match watched {
            (supervisor, Ok((printed, captured))) => (supervisor, printed, captured),
            (supervisor, Err(error)) => {
                supervisor.give_up(room.root());
                return Err(error);
            }
        };
        if !captured.ended.survivors {
            recorder.pool.give_back(self.view, supervisor);
        }
        facts.exit = captured.exit.clone();
        facts.duration_ms = Some(captured.duration.as_millis() as u64);
        facts.other.insert("api_lead_ms".into(), json!(milliseconds(launched - api_started)));
        let target_started_ms = match captured.target_started {
            _ if !has_first => 0.0,
            Some(started) => (started - api_started).as_secs_f64() * 1000.0,
            None => f64::INFINITY,
        };
        let (isolation, keep_files, masker) = (self.isolation, job.keep_files, self.masker);
        let (mcp, http) = (job.mcp, self.http);
        Ok(Ran {
            facts,
            captured,
            printed,
            recorder,
            room,
            isolation,
            api,
            mcp,
            http,
            launched_ms,
            target_started_ms,
            input,
            masker,
            secrets,
            keep_files,
            partial,
        })
    }
}

/// What became of a watched target, with its supervisor.
type Watched = (Supervisor, Result<(Printed, Captured), RecordError>);

/// Watches the target on a thread of its own, so that nothing that `listener` does slows the target or holds up the clock.
fn watch_and_hear(
    mut supervisor: Supervisor,
    outlets: Outlets,
    watch: Watch<'_>,
    mut live: Live<'_>,
    backlog: &Backlog,
    listener: &mut dyn Listener,
) -> Result<Watched, RecordError> {
    let stdout = live.stdout_file()?;
    std::thread::scope(|scope| {
        let drain = move || {
            let captured = capture::watch(&mut supervisor, outlets, watch, &mut live);
            let ended = captured.map_err(RecordError::from);
            (supervisor, ended.and_then(|captured| Ok((live.finish()?, captured))))
        };
        let drains = std::thread::Builder::new().name("drain".into()).spawn_scoped(scope, drain);
        // Without it the supervisor is gone as well, with all that it held.
        let drains = drains.map_err(RecordError::Threads)?;
        let heard = backlog.hear(&stdout, listener);
        let (supervisor, ended) = drains.join().map_err(|_| io::Error::other("the drain broke off"))?;
        Ok((supervisor, ended.and_then(|ended| heard.map(|()| ended).map_err(RecordError::from))))
    })
}

impl Ran<'_> {
    /// Ends the API and puts everything together that was observed.
    pub(crate) fn complete(self) -> Result<Recorded, RecordError> {
        let Self { mut facts, captured, mut printed, recorder, room, isolation, mut masker, partial, .. } =
            self;
        let is_scripted = self.api.is_some();
        let (journal, kept) = self.api.map(|api| recorder.runtime.block_on(api.finish())).unwrap_or_default();
        if let Some(secrets) = self.secrets {
            // What the target took from elsewhere is known once it was sent.
            let learned: Vec<String> = kept.iter().flat_map(KeptExchange::credentials).collect();
            if learned.iter().any(|value| !secrets.contains(value)) {
                masker = Masker::new(secrets.iter().chain(&learned).map(String::as_str));
                printed.mask(&masker, partial.folder())?;
                facts.argv.iter_mut().for_each(|word| *word = masker.mask(word));
                facts.other.values_mut().for_each(|value| masker.mask_value(value));
            }
        }
        let exchanges = Exchanges::new(&journal, kept, &masker, self.target_started_ms);
        let arrival = |(offset, time): &(u64, Duration)| json!([offset, milliseconds(*time)]);
        let written = room.written();
        let observed: [(&str, Value); 12] = [
            ("arrivals", captured.arrivals.iter().map(arrival).collect()),
            ("files", json!(written)),
            ("leftovers", json!(captured.ended.leftovers)),
            ("listening", json!(captured.ended.listening)),
            ("outside", json!(captured.ended.outside)),
            ("core_dumped", captured.core_dumped.into()),
            ("isolation", json!(isolation)),
            ("containment", recorder.pool.containment().name().into()),
            ("room", json!(room.root())),
            ("counts", json!({"stderr_bytes": printed.stderr_bytes, "masked": printed.masked})),
            ("requests", exchanges.requests.into()),
            (
                "api",
                json!({
                    "not_kept": journal.not_kept,
                    "unmatched_not_kept": journal.unmatched_not_kept,
                    "not_http": journal.not_http,
                    "unused_turns": journal.unused,
                }),
            ),
        ];
        // Names of files and command lines are the target's own words.
        facts.other.extend(observed.map(|(name, mut value)| {
            masker.mask_value(&mut value);
            (name.to_owned(), value)
        }));
        if let Some(error) = &mut facts.exit.spawn_error {
            error.message = masker.mask(&error.message);
        }
        if let Some(at) = &captured.timed_out_at {
            facts.other.insert("timed_out_at".into(), arrival(at));
        }
        if is_scripted {
            facts.other.insert("served".into(), exchanges.served.into());
        }
        if let Some(part) = &self.mcp {
            let lead = facts.other.get("api_lead_ms").and_then(Value::as_f64).unwrap_or_default();
            let since = match self.target_started_ms {
                0.0 => f64::NEG_INFINITY,
                after_first => self.launched_ms + after_first - lead,
            };
            let (_, reach) = room.mcp();
            let mut seen = mcp::seen(part.servers, self.http.as_deref(), &reach, self.launched_ms, since);
            for entry in &mut seen {
                masker.mask_value(entry);
            }
            let served = facts.other.get("served").and_then(Value::as_array);
            mcp::tie(&mut seen, served.map_or(&[], Vec::as_slice));
            facts.other.insert("mcp".into(), seen.into());
        }
        if !captured.sent.entries.is_empty() {
            let mut sent = Value::Array(captured.sent.entries.clone());
            masker.mask_value(&mut sent);
            facts.other.insert("sent".into(), sent);
            if captured.sent.not_kept > 0 {
                facts.other.insert("sent_not_kept".into(), captured.sent.not_kept.into());
            }
        }
        partial.check()?;
        if self.keep_files {
            copy_written(&room, &written, &partial.folder().join(KEPT_FILES), &masker)?;
        }
        let input = self.input.filter(|text| text.len() <= MOST_INPUT);
        let input = input.map(|text| masker.mask_bytes(text.into_bytes()));
        let recording = printed.recording(facts, partial.folder()).with_input(exchanges.bodies, input);
        let recording = recording.with_answers(exchanges.answers);
        Ok(Recorded { captured, printed, journal, room, recording, masker, partial })
    }
}

impl Recorded {
    /// Where the recording is once it is saved.
    pub(crate) fn place(&self) -> &Path {
        &self.partial.final_name
    }

    /// Leaves nothing of the recording, nor of an earlier one at its place, which would pass for it.
    pub(crate) fn discard(&self) -> Result<(), RecordError> {
        // What is in the making vanishes with the value.
        Ok(self.partial.make_room()?)
    }

    /// Brings the recording to its place.
    pub(crate) fn save(&mut self) -> Result<(), RecordError> {
        self.partial.check()?;
        self.recording.save_but_output(self.partial.folder())?;
        self.partial.keep()?;
        self.recording.moved_to(&self.partial.final_name);
        Ok(())
    }
}

/// The scripted MCP servers that are reached over HTTP, if there are any.
fn http_servers(part: &McpPart<'_>) -> Option<Arc<HttpServers>> {
    let over_http: Vec<_> = part.servers.iter().filter(|server| server.is_over_http()).cloned().collect();
    (!over_http.is_empty()).then(|| Arc::new(HttpServers::new(over_http, mcp::Journal::in_memory())))
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e5).round() / 100.0
}

/// What is known before the start.
fn known_facts(job: &Job<'_>, line: &CommandLine, room: &Room, masker: &Masker) -> Facts {
    let mut facts = job.facts.clone();
    // What is no text is written with replacement characters.
    let masked = |word: &OsString| masker.mask(&word.to_string_lossy());
    facts.argv = std::iter::once(masker.mask(&line.program)).chain(line.args.iter().map(masked)).collect();
    facts.env_set = line.env.iter().map(|(name, _)| name.clone()).collect();
    facts.env_public = line.public.iter().map(|(name, value)| (name.clone(), masker.mask(value))).collect();
    let templates = line.templates.iter().map(|(name, value)| (name.clone(), masker.mask(value).into()));
    facts.other.insert("env_templates".into(), Value::Object(templates.collect()));
    if !line.file_templates.is_empty() {
        let given = line.file_templates.iter().map(|(path, text)| (path.clone(), masker.mask(text).into()));
        facts.other.insert("given".into(), Value::Object(given.collect()));
    }
    facts.other.insert("cwd".into(), masker.mask(&cwd(job, room).to_string_lossy()).into());
    if job.terminal {
        let size = json!({"columns": terminal::COLUMNS, "rows": terminal::ROWS});
        facts.other.insert("terminal".into(), size);
    } else if let Some(text) = &line.stdin {
        let digest = json!({"bytes": text.len(), "sha256": hex(&Sha256::hash(text.as_bytes()))});
        facts.other.insert("stdin".into(), digest);
    }
    if !matches!(job.api, Api::Real) {
        // It stands there from the start, so that whoever judges on the way knows that it will be known.
        facts.other.insert("served".into(), json!([]));
    }
    if let Some(first) = &line.first {
        facts.other.insert("first".into(), first.iter().map(masked).collect());
    }
    facts
}

/// The target's working directory.
fn cwd(job: &Job<'_>, room: &Room) -> PathBuf {
    if let Some(own) = job.own_cwd {
        return own.to_owned();
    }
    let work = room.work();
    job.cwd.map_or_else(|| work.clone(), |cwd| work.join(cwd))
}

fn start(job: &Job<'_>, line: CommandLine, room: &Room, api_port: u16) -> Start {
    Start {
        program: line.program,
        args: line.args,
        env: line.env,
        cwd: cwd(job, room).into(),
        term_grace_ms: GRACE.0,
        leftover_grace_ms: GRACE.1,
        api_port,
        terminal: job.terminal,
        memory_bytes: job.bounds.memory_bytes,
        descriptors: job.bounds.descriptors,
        first: line.first,
    }
}

/// The target's end of standard input, and the user's. Text that stands there from the start is a file, which no
/// target can fail to read in time.
fn stdin(job: &Job<'_>, line: &CommandLine) -> io::Result<(Option<OwnedFd>, Option<OwnedFd>)> {
    if job.relay.is_some() || job.steps.iter().any(|step| step.action.needs_stdin()) {
        let (read, mut write) = io::pipe()?;
        if let Some(text) = &line.stdin {
            write.write_all(text.as_bytes())?;
        }
        return Ok((Some(read.into()), Some(write.into())));
    }
    let Some(text) = &line.stdin else { return Ok((None, None)) };
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok((Some(file.into()), None))
}
