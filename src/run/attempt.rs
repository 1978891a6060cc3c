//! One attempt at one case: it is recorded, judged on the way, and compared with what is expected.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
#[cfg(feature = "cli")]
use std::time::Instant;

use tokio::runtime::Handle;

#[cfg(feature = "cli")]
use super::Status;
use super::broken::{BrokenClause, broken};
use super::command_line;
use super::compare::{Failure, Observed, compare};
use super::golden::Golden;
use super::keep::Keep;
use super::known::{CaseName, KnownFailures};
use super::plan::Planned;
use super::process::Process;
use super::scenario::{OutputMode, Requests};
use super::target::Transform;
use crate::classify::Class;
use crate::golden::INTERLEAVE;
use crate::harness::mcp::McpPart;
use crate::harness::memory;
use crate::harness::stop::Stop;
use crate::harness::supervise::{Containment, Demands, Pool};
use crate::harness::timers::Limits;
use crate::harness::{Api, Job, Listener, RecordError, Recorder, Seen, sweep_partial};
use crate::judge::{Contracts, Ending, Judge, Judgement, OUTPUT, Options, TEXT};
use crate::recording::{Facts, Recording};
use crate::schema::{FileError, Level};
use crate::stream_json::{Line, Message};

/// What all cases of a run share.
#[derive(Debug, Clone)]
pub(crate) struct RunContext<'r> {
    pub recorder: Recorder<'r>,
    /// A wall limit instead of the targets' own.
    pub wall: Option<Duration>,
    /// The least level of a clause that fails a case.
    pub fail_on: Level,
    /// The snapshots that runs are compared with.
    pub golden: Option<Golden>,
    /// What is accepted for now.
    pub known: Option<&'r KnownFailures>,
    /// Which recordings stay.
    pub keep: Keep,
}

/// What became of an attempt.
#[derive(Debug)]
#[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "the command line alone reads some fields"))]
pub(crate) struct Attempt {
    /// What was concluded of it.
    pub judgement: Judgement,
    pub failures: Vec<Failure>,
    /// What is wrong and accepted for now.
    pub known: Vec<Failure>,
    /// Whether the target was started, or was not expected to be: else nothing was measured, and nothing of it can be
    /// accepted.
    pub is_measured: bool,
    /// What the clauses say that it fails on.
    pub clauses: Vec<BrokenClause>,
    /// How the target was started and how it ended, where something failed.
    pub process: Option<Process>,
    /// How long the target ran.
    pub duration: Duration,
    /// From the target's exit to its verdict.
    pub to_verdict: Duration,
    /// What was recorded, and where.
    pub recording: Recording,
    pub place: PathBuf,
    /// Whether the recording is there.
    pub is_kept: bool,
    /// Whether it was ended because the user wanted to stop.
    pub cancelled: bool,
}

impl Attempt {
    /// Whether it was as expected.
    #[cfg(feature = "cli")]
    pub(crate) fn status(&self) -> Status {
        if self.failures.is_empty() { Status::Pass } else { Status::Fail }
    }
}

/// Why a case could not be run: not the target's doing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttemptError {
    /// It cannot be recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Its contract cannot be opened.
    #[error(transparent)]
    Contract(#[from] FileError),
}

impl<'r> RunContext<'r> {
    /// Runs with the targets' own limits, and away from the network where the kernel allows it.
    pub(crate) fn new(runtime: Handle, containment: Containment, out: &'r Path, stop: &'r Stop) -> Self {
        let pool = Arc::new(Pool::new(containment));
        sweep_partial(out);
        Self {
            recorder: Recorder {
                runtime,
                pool,
                demands: Demands::default(),
                disk_bytes: memory::bytes_for_a_room(),
                out,
                stop,
            },
            wall: None,
            fail_on: Level::Must,
            golden: None,
            known: None,
            keep: Keep::default(),
        }
    }

    /// Runs a case once.
    pub(crate) fn attempt(
        &self,
        planned: &Planned,
        contracts: &Contracts,
        number: u32,
    ) -> Result<Attempt, AttemptError> {
        self.attempt_with(planned, contracts, number, None)
    }

    /// The same, with somebody else in the user's place.
    pub(crate) fn attempt_with(
        &self,
        planned: &Planned,
        contracts: &Contracts,
        number: u32,
        relay: Option<Relay<'_>>,
    ) -> Result<Attempt, AttemptError> {
        let (relay, mut show) = relay.map(|relay| (relay.stdin, relay.show)).unzip();
        let run = &planned.run;
        let job = Job {
            files: &run.files,
            terminal: run.terminal,
            steps: &run.steps,
            relay,
            cwd: run.cwd.as_deref(),
            stdout_full: run.stdout_full,
            api: if planned.real_api.is_some() { Api::Real } else { Api::Scripted(&planned.script) },
            own_cwd: None,
            faults: &planned.case.faults,
            mcp: mcp_part(planned)?,
            limits: limits(planned, self.wall),
            until_asked: until_asked(planned, self.wall),
            most_stdout: run.most_stdout.unwrap_or(planned.target.choice.target.most_stdout),
            bounds: run.bounds,
            facts: facts(planned, contracts)?,
            place: planned.place.clone().unwrap_or_else(|| place(self.recorder.out, planned, number)),
            keep_files: planned.keep_files,
        };
        let prepared = self.recorder.prepare(job, |room, api| command_line::build(planned, room, api))?;
        let mut judge = Judge::of_run(&prepared.facts, contracts, &Options::default())?;
        let ran = match &mut show {
            None => prepared.run(&mut judge),
            Some(show) => prepared.run(&mut Shown { judge: &mut judge, show: &mut **show }),
        };
        let mut recorded = ran?.complete()?;
        if contracts.is_event_log(&recorded.recording.facts)? {
            // Who writes an event log asks no model.
            recorded.recording.facts.other.shift_remove("served");
        }
        let ending = Ending::of_recording(&recorded.recording).map_err(RecordError::from)?;
        let mut judgement = judge.finish(ending, &mut |_| {})?;
        let to_verdict = recorded.captured.exited_at.elapsed();
        let observed = Observed { judged: &judgement, recorded: &recorded };
        let mut failures = compare(&planned.expect, &observed, self.fail_on);
        if let Some(golden) = self.golden.as_ref().filter(|_| !recorded.captured.cancelled) {
            let failure = {
                let volatile = planned.volatile(contracts)?;
                golden.compare(planned, &recorded.recording, &volatile, failures.is_empty())
            };
            failures.extend(failure);
        }
        for failure in &mut failures {
            failure.mask(&recorded.masker);
        }
        let is_measured = recorded.captured.exit.spawn_error.is_none()
            || matches!(planned.expect.verdict, Class::Spawn | Class::Harness);
        let mut known = Vec::new();
        if let Some(list) = self.known.filter(|_| is_measured) {
            let name = CaseName::of(planned);
            list.mark(&mut judgement.findings, &name, &planned.expect.findings);
            known = list.take(&mut failures, &name);
        }
        let has_passed = failures.is_empty() && !recorded.captured.cancelled;
        if !self.keep.keeps_bodies(has_passed) {
            recorded.recording.forget_bodies();
        }
        let is_kept = self.keep.keeps(has_passed);
        if is_kept {
            recorded.save()?;
        } else {
            recorded.discard()?;
        }
        let clauses = broken(&failures, contracts);
        let process = (!failures.is_empty()).then(|| Process::of(&recorded.recording));
        let place = recorded.place().to_owned();
        Ok(Attempt {
            judgement,
            failures,
            known,
            is_measured,
            clauses,
            process,
            duration: recorded.captured.duration,
            to_verdict,
            recording: recorded.recording,
            place,
            is_kept,
            cancelled: recorded.captured.cancelled,
        })
    }
}

/// Who speaks with a target in the user's place.
pub(crate) struct Relay<'r> {
    /// What is said to the target.
    pub(crate) stdin: OwnedFd,
    /// Gets what the target prints, as it comes.
    pub(crate) show: &'r mut dyn FnMut(&[u8]),
}

/// The judge, and somebody who wants to see the same.
struct Shown<'s, 'j> {
    judge: &'s mut Judge<'j>,
    show: &'s mut dyn FnMut(&[u8]),
}

impl Listener for Shown<'_, '_> {
    fn stdout(&mut self, bytes: &[u8]) -> Seen {
        (self.show)(bytes);
        self.judge.stdout(bytes)
    }

    fn has_result(&mut self) -> bool {
        self.judge.has_result()
    }
}

/// The judge hears what a target prints, and says when it has its result.
impl Listener for Judge<'_> {
    fn stdout(&mut self, bytes: &[u8]) -> Seen {
        let mut seen = Seen::Output;
        let ends = self.ends();
        self.push(bytes, &mut |line| seen = meaning(line).unwrap_or(seen));
        if let Some(now) = self.ends() {
            seen = if Some(now) > ends { Seen::Result } else { Seen::Output };
        }
        if self.is_document() {
            let ends = bytes.trim_ascii_end().last().is_some_and(|byte| matches!(byte, b'}' | b']'));
            seen = if ends { Seen::Result } else { Seen::GoesOn };
        }
        seen
    }

    /// Asked once, when the target has long been silent.
    fn has_result(&mut self) -> bool {
        !self.is_document() || self.has_document()
    }
}

/// What a line of the Claude dialect means for the timers.
fn meaning(line: &Line<'_>) -> Option<Seen> {
    match line.message()?.view() {
        Message::Result(_) => Some(Seen::Result),
        Message::Init(_) | Message::Assistant(_) | Message::User(_) => Some(Seen::GoesOn),
        _ => None,
    }
}

/// What is known of a case before its command line is.
pub(super) fn facts(planned: &Planned, contracts: &Contracts) -> Result<Facts, FileError> {
    let mut facts = Facts::default();
    facts.target.clone_from(&planned.target.choice.target.name);
    facts.target_version = planned.target.version_for(&planned.speaks);
    facts.scenario.clone_from(&planned.case.name);
    // Without one it is told from the arguments or the output, as that of any program is.
    if !planned.case.contract.is_empty() {
        facts.other.insert("contract".into(), planned.case.contract.clone().into());
    }
    if !planned.case.golden.interleave.is_empty() {
        facts.other.insert(INTERLEAVE.into(), planned.case.golden.interleave.to_value());
    }
    let transforms = &planned.target.choice.target.transforms;
    if !transforms.is_empty() {
        facts.other.insert("transforms".into(), transforms.iter().map(Transform::to_value).collect());
    }
    if let Some(flags) = &planned.speaks.flags {
        facts.other.insert("flags".into(), flags.clone().into());
    }
    if let Some(prices) = &planned.target.choice.target.prices {
        facts.other.insert("prices".into(), prices.to_value());
    }
    if let Some(path) = &planned.speaks.contract_at {
        facts.other.insert("contract_path".into(), path.display().to_string().into());
    }
    if planned.run.output == OutputMode::Text {
        facts.other.insert(OUTPUT.into(), TEXT.into());
    }
    if contracts.is_event_log(&facts)? {
        facts.other.insert("profile".into(), planned.expect.profile.name().into());
    }
    Ok(facts)
}

/// Where the recording of a case goes: its place below the output folder follows from its name.
fn place(out: &Path, planned: &Planned, number: u32) -> PathBuf {
    let safe = |text: &str| -> String {
        text.chars()
            .map(|c| if c.is_ascii_alphanumeric() || "@+._-=".contains(c) { c } else { '_' })
            .collect()
    };
    let mut path = out.join(safe(planned.target_label()));
    path.extend(planned.case.name.split('/').map(safe));
    if planned.repetition > 1 || number > 1 {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        path.set_file_name(format!("{name}~{}.{number}", planned.repetition));
    }
    path
}

/// The scripted MCP servers of a case, and what starts them.
fn mcp_part(planned: &Planned) -> Result<Option<McpPart<'_>>, RecordError> {
    let servers = &planned.case.mcp[..];
    if servers.is_empty() {
        return Ok(None);
    }
    Ok(Some(McpPart { servers, clawgate: command_line::own_path().map_err(RecordError::Unfit)? }))
}

/// How long the target may take when the case says nothing else.
fn usual_limits(planned: &Planned, wall: Option<Duration>) -> Limits {
    let limits = planned.target.choice.target.limits;
    Limits { wall: wall.unwrap_or(limits.wall), ..limits }
}

fn limits(planned: &Planned, wall: Option<Duration>) -> Limits {
    let mut limits = usual_limits(planned, wall);
    let [own_wall, first_event, idle, after_result] =
        planned.run.timers.map(|ms| ms.map(Duration::from_millis));
    limits.wall = own_wall.unwrap_or(limits.wall);
    limits.first_event = first_event.unwrap_or(limits.first_event);
    limits.idle = idle.unwrap_or(limits.idle);
    limits.after_result = after_result.unwrap_or(limits.after_result);
    limits
}

/// What bounds the start of a target whose case has timers of its own: they are about what the API does, so they wait
/// until it is asked, and a slow start on a busy machine is none of their business.
fn until_asked(planned: &Planned, wall: Option<Duration>) -> Option<Limits> {
    let [own_wall, first_event, idle, _] = planned.run.timers;
    let sets_one = own_wall.or(first_event).or(idle).is_some();
    let asks = planned.real_api.is_none()
        && !planned.script.turns.is_empty()
        && planned.expect.requests.is_none_or(|requests| requests != Requests::NONE);
    (sets_one && asks).then(|| usual_limits(planned, wall))
}

/// How long ago it was, for reports.
#[cfg(feature = "cli")]
pub(super) fn milliseconds_since(start: Instant) -> u64 {
    start.elapsed().as_millis() as u64
}
