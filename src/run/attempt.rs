//! One attempt at one case: a clean room, a scripted API, a supervised target, a recording, a judgement.

use std::fs;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::command_line::{self, CommandLine};
use super::compare::{Failure, Observed, compare};
use super::golden::Golden;
use super::live::Live;
use super::plan::Planned;
use super::stop::Stop;
use super::{Status, journal};
use crate::golden::INTERLEAVE;
use crate::harness::capture::{self, Captured, Watch};
use crate::harness::mock::fault::FaultKind;
use crate::harness::mock::{Journal, MockApi, Options, StartError};
use crate::harness::room::{Room, RoomError};
use crate::harness::scenario::OutputMode;
use crate::harness::secrets::Masker;
use crate::harness::supervise::{
    Containment, Isolation, NetworkMode, Pool, Start, SuperviseError, end_strays,
};
use crate::harness::terminal;
use crate::harness::timers::Limits;
use crate::harness::user::{Action, Cue};
use crate::judge::{Contracts, Ending, Judge, Judgement, OUTPUT, Options as JudgeOptions, TEXT};
use crate::recording::{FACTS_FILE, Facts, Recording};
use crate::schema::{FileError, Level};

/// How long a target may take to end after TERM, and what it started after that.
const GRACE: (u64, u64) = (50, 40);

/// The folder of a recording that holds what the target wrote.
pub(crate) const KEPT_FILES: &str = "outputs";
/// More than this is not kept of what a target wrote.
const MOST_KEPT_BYTES: u64 = 64 << 20;

/// What all cases of a run share.
#[derive(Debug, Clone)]
pub(crate) struct Setting<'r> {
    /// The runtime of the scripted APIs.
    pub runtime: Handle,
    /// What holds the targets.
    pub pool: Arc<Pool>,
    /// Whether they are kept away from the network.
    pub network: NetworkMode,
    /// Where recordings go.
    pub out: &'r Path,
    /// The wish to stop.
    pub stop: &'r Stop,
    /// A wall limit instead of the targets' own.
    pub wall: Option<Duration>,
    /// The least level of a clause that fails a case.
    pub fail_on: Level,
    /// The snapshots that runs are compared with.
    pub golden: Option<Golden>,
}

/// What became of an attempt.
#[derive(Debug)]
pub(crate) struct Attempt {
    /// What was concluded of it.
    pub judgement: Judgement,
    /// Why it failed.
    pub failures: Vec<Failure>,
    /// How long the target ran.
    pub duration: Duration,
    /// From the target's exit to its verdict.
    pub to_verdict: Duration,
    /// Where the recording is.
    pub recording: PathBuf,
    /// Whether it was ended because the user wanted to stop.
    pub cancelled: bool,
}

impl Attempt {
    /// Whether it was as expected.
    pub(crate) fn status(&self) -> Status {
        if self.failures.is_empty() { Status::Pass } else { Status::Fail }
    }
}

/// Why a case could not be run: not the target's doing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttemptError {
    /// No clean room.
    #[error(transparent)]
    Room(#[from] RoomError),
    /// No supervisor.
    #[error(transparent)]
    Supervise(#[from] SuperviseError),
    /// No scripted API.
    #[error("the scripted API: {0}")]
    Api(#[from] StartError),
    /// No contract.
    #[error(transparent)]
    Contract(#[from] FileError),
    /// No place for the recording.
    #[error("cannot write the recording: {0}")]
    Disk(#[from] io::Error),
    /// The target cannot be asked that way.
    #[error("{0}")]
    Unfit(String),
}

impl<'r> Setting<'r> {
    /// Runs with the targets' own limits, and away from the network where the kernel allows it.
    pub(crate) fn new(runtime: Handle, containment: Containment, out: &'r Path, stop: &'r Stop) -> Self {
        Self {
            runtime,
            pool: Arc::new(Pool::new(containment)),
            network: NetworkMode::Auto,
            out,
            stop,
            wall: None,
            fail_on: Level::Must,
            golden: None,
        }
    }

    /// With this wish about the network.
    pub(crate) fn with_network(self, network: NetworkMode) -> Self {
        Self { network, ..self }
    }

    /// With clauses of this level failing a case.
    pub(crate) fn with_fail_on(self, fail_on: Level) -> Self {
        Self { fail_on, ..self }
    }

    /// With snapshots to compare runs with.
    pub(crate) fn with_golden(self, golden: Option<Golden>) -> Self {
        Self { golden, ..self }
    }

    /// With this wall limit instead of the targets' own.
    pub(crate) fn with_wall(self, wall: Option<Duration>) -> Self {
        Self { wall, ..self }
    }
}

impl Setting<'_> {
    /// Runs a case once.
    pub(crate) fn attempt(
        &self,
        planned: &Planned,
        contracts: &Contracts,
        number: u32,
    ) -> Result<Attempt, AttemptError> {
        let room = Room::new(&planned.run.files)?;
        let (streams, outlets, screen) = if planned.run.terminal {
            let (streams, outlets, line, keyboard) = capture::terminal()?;
            (streams, outlets, Some((line, keyboard)))
        } else {
            let (streams, outlets) = capture::pipes()?;
            (streams, outlets, None)
        };
        let is_real = planned.real_api.is_some();
        let network = if is_real || needs_own_socket(planned) { NetworkMode::Off } else { self.network };
        let prepared = self.pool.prepare(network, room.root())?;
        let (mode, isolation) = (prepared.mode(), prepared.isolation);
        let (mut supervisor, listener) = (prepared.supervisor, prepared.listener);
        let options = Options { listener, faults: planned.case.faults.clone(), ..Options::default() };
        let api = if is_real {
            None
        } else {
            Some(self.runtime.block_on(MockApi::start((*planned.script).clone(), options))?)
        };
        let api_started = Instant::now();
        let requests = self.requests(planned, api.as_ref())?;
        let base_url = api.as_ref().map(MockApi::base_url);
        let line = command_line::build(planned, &room, base_url.as_deref()).map_err(AttemptError::Unfit)?;
        let masker = Masker::new(line.secrets.iter().map(String::as_str));
        let mut facts = known_facts(planned, &line, &masker);

        let partial = Partial::new(self.out, planned, number)?;
        if contracts.is_event_log(&facts)? {
            facts.other.insert("profile".into(), planned.expect.profile.name().into());
        }
        let judge = Judge::of_run(&facts, contracts, &JudgeOptions::default())?;
        let mut live = Live::new(judge, &masker, &partial.folder)?;

        let (stdin, typing) = match screen {
            Some((line, keyboard)) => (Some(line), Some(keyboard)),
            None => stdin(planned, &line)?,
        };
        supervisor.launch(
            start(planned, line, &room, api.as_ref().map_or(0, |api| api.address().port())),
            streams,
            stdin,
        )?;
        // The journal counts from the start of the API, arrivals from the start of the target.
        let lead = api_started.elapsed();
        let watch = Watch {
            limits: limits(planned, self.wall),
            most_stdout: planned.run.most_stdout.unwrap_or(planned.target.choice.target.most_stdout),
            steps: planned.run.steps.clone(),
            stdin: typing,
            terminal: planned.run.terminal,
            requests,
            cancel: self.stop.as_fd(),
        };
        let captured = capture::watch(&mut supervisor, outlets, watch, &mut live)
            .inspect_err(|_| end_strays(room.root()))?;
        if !captured.ended.survivors {
            self.pool.give_back(mode, supervisor);
        }
        let heard = live.finish()?;
        facts.exit = captured.exit.clone();
        facts.duration_ms = Some(captured.duration.as_millis() as u64);
        let judgement =
            heard.judge.finish(Ending::of_recording(&facts, heard.stderr_head.clone()), &mut |_| {})?;
        let to_verdict = captured.exited_at.elapsed();

        let journal = api.map_or_else(Journal::default, |api| self.runtime.block_on(api.stop()));
        let observed = Observed {
            judged: &judgement,
            captured: &captured,
            journal: &journal,
            room: &room,
            stdout_start: &heard.stdout_head,
            stderr_start: &heard.stderr_head,
            masked: heard.masked,
        };
        let mut failures = compare(&planned.expect, &observed, self.fail_on);
        let counts = json!({"stderr_bytes": heard.stderr_bytes, "masked": heard.masked});
        facts.other.insert("api_lead_ms".into(), json!((lead.as_secs_f64() * 1e5).round() / 100.0));
        facts.other.extend(self.observed_facts(&captured, &isolation, &room, &journal, &counts));
        if planned.keep_files {
            keep_files(&room, &partial.folder.join(KEPT_FILES))?;
        }
        let recording = partial.keep(&facts)?;
        if let Some(golden) = self.golden.as_ref().filter(|_| !captured.cancelled) {
            let failure = golden.compare(planned, &recording, failures.is_empty());
            failures.extend(failure);
        }
        Ok(Attempt {
            judgement,
            failures,
            duration: captured.duration,
            to_verdict,
            recording,
            cancelled: captured.cancelled,
        })
    }

    /// What tells of requests, where a step of the user waits for one.
    fn requests(&self, planned: &Planned, api: Option<&MockApi>) -> io::Result<Option<OwnedFd>> {
        let awaited = planned.run.steps.iter().filter_map(|step| match step.cue {
            Cue::Asked(count) => Some(count),
            _ => None,
        });
        let (Some(most), Some(api)) = (awaited.max(), api) else { return Ok(None) };
        let _runtime = self.runtime.enter();
        api.tell_of_requests(most).map(Some)
    }

    /// What is known when it is over.
    fn observed_facts(
        &self,
        captured: &Captured,
        isolation: &Isolation,
        room: &Room,
        journal: &Journal,
        counts: &Value,
    ) -> Vec<(String, Value)> {
        let milliseconds = |time: &Duration| (time.as_secs_f64() * 1e5).round() / 100.0;
        let arrivals: Vec<Value> =
            captured.arrivals.iter().map(|(offset, time)| json!([offset, milliseconds(time)])).collect();
        let mut fields = vec![
            ("arrivals".to_owned(), arrivals.into()),
            ("files".to_owned(), json!(room.written())),
            ("leftovers".to_owned(), json!(captured.ended.leftovers)),
            ("listening".to_owned(), json!(captured.ended.listening)),
            ("outside".to_owned(), json!(captured.ended.outside)),
            ("core_dumped".to_owned(), captured.core_dumped.into()),
            ("isolation".to_owned(), json!(isolation)),
            ("containment".to_owned(), self.pool.containment().name().into()),
            ("room".to_owned(), json!(room.root())),
            ("counts".to_owned(), counts.clone()),
        ];
        fields.extend(journal::fields(journal));
        fields
    }
}

/// What is known before the start.
fn known_facts(planned: &Planned, line: &CommandLine, masker: &Masker) -> Facts {
    let mut facts = Facts::default();
    facts.target.clone_from(&planned.target.choice.target.name);
    facts.target_version = planned.target.version_for(&planned.speaks);
    facts.scenario.clone_from(&planned.case.name);
    facts.argv = std::iter::once(&line.program).chain(&line.args).map(|word| masker.mask(word)).collect();
    facts.env_set = line.env.iter().map(|(name, _)| name.clone()).collect();
    facts.env_public = line.public.iter().map(|(name, value)| (name.clone(), masker.mask(value))).collect();
    facts.other.insert("contract".into(), planned.case.contract.clone().into());
    if !planned.case.golden.interleave.is_empty() {
        facts.other.insert(INTERLEAVE.into(), planned.case.golden.interleave.to_value());
    }
    if let Some(path) = &planned.speaks.contract_at {
        facts.other.insert("contract_path".into(), path.display().to_string().into());
    }
    if planned.run.output == OutputMode::Text {
        facts.other.insert(OUTPUT.into(), TEXT.into());
    }
    if planned.run.terminal {
        let size = json!({"columns": terminal::COLUMNS, "rows": terminal::ROWS});
        facts.other.insert("terminal".into(), size);
    }
    if let Some(first) = &line.first {
        facts.other.insert("first".into(), first.iter().map(|word| masker.mask(word)).collect());
    }
    facts
}

/// A port that refuses for a while has to be made again, which only its own network can do.
fn needs_own_socket(planned: &Planned) -> bool {
    let mut faults = planned.case.faults.iter().chain(&planned.script.server_faults);
    faults.any(|fault| matches!(fault.kind, FaultKind::Refuse { for_ms: Some(_), .. }))
}

fn limits(planned: &Planned, wall: Option<Duration>) -> Limits {
    let mut limits = planned.target.choice.target.limits;
    let [own_wall, first_event, idle, after_result] =
        planned.run.timers.map(|ms| ms.map(Duration::from_millis));
    limits.wall = own_wall.or(wall).unwrap_or(limits.wall);
    limits.first_event = first_event.unwrap_or(limits.first_event);
    limits.idle = idle.unwrap_or(limits.idle);
    limits.after_result = after_result.unwrap_or(limits.after_result);
    limits
}

fn start(planned: &Planned, line: CommandLine, room: &Room, api_port: u16) -> Start {
    let work = room.work();
    let cwd = planned.run.cwd.as_ref().map_or(work.clone(), |cwd| work.join(cwd));
    Start {
        program: line.program,
        args: line.args,
        env: line.env,
        cwd: cwd.to_string_lossy().into_owned(),
        term_grace_ms: GRACE.0,
        leftover_grace_ms: GRACE.1,
        api_port,
        terminal: planned.run.terminal,
        first: line.first,
    }
}

/// The target's end of standard input, and the user's. Text that stands there from the start is a file, which no
/// target can fail to read in time.
fn stdin(planned: &Planned, line: &CommandLine) -> io::Result<(Option<OwnedFd>, Option<OwnedFd>)> {
    let types =
        planned.run.steps.iter().any(|step| matches!(step.action, Action::Type(_) | Action::CloseStdin));
    if types {
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let mut write = fs::File::from(write);
        if let Some(text) = &line.stdin {
            write.write_all(text.as_bytes())?;
        }
        return Ok((Some(read), Some(write.into())));
    }
    let Some(text) = &line.stdin else { return Ok((None, None)) };
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok((Some(file.into()), None))
}

/// A recording in the making. It gets its name when it is whole, so that there is no half of one.
struct Partial {
    folder: PathBuf,
    final_name: PathBuf,
}

impl Partial {
    fn new(out: &Path, planned: &Planned, number: u32) -> io::Result<Self> {
        let safe = |text: &str| -> String {
            text.chars()
                .map(|c| if c.is_ascii_alphanumeric() || "@+._-=".contains(c) { c } else { '_' })
                .collect()
        };
        let by_name = || {
            let mut path = out.join(safe(planned.target_label()));
            path.extend(planned.case.name.split('/').map(safe));
            if planned.repetition > 1 || number > 1 {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                path.set_file_name(format!("{name}~{}.{number}", planned.repetition));
            }
            path
        };
        let final_name = planned.place.clone().unwrap_or_else(by_name);
        fs::create_dir_all(out)?;
        let folder = tempfile::Builder::new().prefix(".partial-").tempdir_in(out)?.keep();
        Ok(Self { folder, final_name })
    }

    fn keep(self, facts: &Facts) -> io::Result<PathBuf> {
        fs::write(self.folder.join(FACTS_FILE), format!("{:#}\n", facts.to_value()))?;
        if let Some(parent) = self.final_name.parent() {
            fs::create_dir_all(parent)?;
        }
        // Only what is a recording is replaced.
        if Recording::is_at(&self.final_name) {
            fs::remove_dir_all(&self.final_name)?;
        }
        fs::rename(&self.folder, &self.final_name)?;
        Ok(self.final_name.clone())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // Kept ones have gone to their final name.
        _ = fs::remove_dir_all(&self.folder);
    }
}

/// Copies what a run wrote into its working directory, up to a limit.
fn keep_files(room: &Room, to: &Path) -> io::Result<()> {
    let mut left = MOST_KEPT_BYTES;
    for file in room.written() {
        let Some(name) = file.path.strip_prefix("work/") else { continue };
        // A link leads to what the run did not write, and a pipe would be waited for.
        if file.kind.is_some() {
            continue;
        }
        let Some(rest) = left.checked_sub(file.bytes) else { continue };
        left = rest;
        let copy = to.join(name);
        if let Some(folder) = copy.parent() {
            fs::create_dir_all(folder)?;
        }
        crate::harness::room::copy(&room.work().join(name), &copy)?;
    }
    Ok(())
}

/// How long ago it was, for reports.
pub(super) fn milliseconds_since(start: Instant) -> u64 {
    start.elapsed().as_millis() as u64
}
