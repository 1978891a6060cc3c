//! Watches one run: drains its streams at once, keeps its timers, plays the user's part, and stops it at its limits.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use super::platform;
use super::supervise::{Ended, Order, Report, Streams, SuperviseError, Supervisor, monotonic_ns};
use super::terminal;
use super::timers::{Limits, Progress};
use super::user::{Noticed, Sent, Step, User};
use crate::recording::{Exit, SpawnError, Timer};

/// As large as an unprivileged process may make a pipe, where it may. Some targets drop output on exit that does not fit.
const PIPE_BYTES: usize = 1 << 20;
/// As much is read at once.
const CHUNK_BYTES: usize = 64 << 10;
/// Arrivals kept; later ones are not.
const MOST_ARRIVALS: usize = 4096;
/// How long a supervisor may take to end everything once it was told.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is looked whether somebody has stopped it meanwhile.
const LOOK: Duration = Duration::from_millis(50);
/// EIO: what the reader of a terminal hears at its end.
const HUNG_UP: i32 = 5;
/// The timer's name for a target that printed more than it may.
const OUTPUT_LIMIT: &str = "output-limit";

/// The same for one that used more memory than it may.
const MEMORY_LIMIT: &str = "memory-limit";

/// What keeps the target's output. It must be quick: while it is at work nobody reads what the target prints.
pub(crate) trait Sink {
    /// The next bytes of standard output, and when they came.
    fn stdout(&mut self, bytes: &[u8], at: Instant) -> io::Result<()>;
    /// The next bytes of standard error.
    fn stderr(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// What the output means for the timers, as far as it has been understood since this was last asked.
    fn understood(&mut self) -> Vec<Meaning> {
        Vec::new()
    }
    /// Becomes readable when there is more of that.
    fn understands(&self) -> Option<BorrowedFd<'_>> {
        None
    }
    /// Wants to know whether what looked like the result is one; that is understood later.
    fn ask_for_result(&mut self) {}
}

/// What output means for the timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// What came at this time may have been the result.
    Result(Instant),
    /// The run goes on after a result.
    GoesOn,
    /// The answer to whether what looked like the result is one.
    IsResult(bool),
}

/// The ends of the pipes that the harness reads.
#[derive(Debug)]
pub(crate) struct Outlets {
    pub(super) stdout: Option<File>,
    stderr: Option<File>,
}

/// Pipes for the target's output: what it writes to, and what is read. With `full`, all that it writes to standard output
/// is refused for want of space.
pub(crate) fn pipes(full: bool) -> io::Result<(Streams, Outlets)> {
    let pipe = || -> io::Result<(File, OwnedFd)> {
        let (read, write) = io::pipe()?;
        platform::enlarge_pipe(&read, PIPE_BYTES);
        rustix::fs::fcntl_setfl(&read, OFlags::NONBLOCK)?;
        Ok((OwnedFd::from(read).into(), write.into()))
    };
    let ((stdout, mut stdout_end), (stderr, stderr_end)) = (pipe()?, pipe()?);
    if full {
        stdout_end = File::options().write(true).open("/dev/full")?.into();
    }
    Ok((
        Streams { stdout: stdout_end, stderr: stderr_end },
        Outlets { stdout: Some(stdout), stderr: Some(stderr) },
    ))
}

/// A terminal for all three streams of the target: what it writes to, what is read, what it reads from, and the user's
/// keyboard.
pub(crate) fn terminal() -> io::Result<(Streams, Outlets, OwnedFd, OwnedFd)> {
    let (screen, line) = terminal::open()?;
    let keyboard = screen.try_clone()?;
    let streams = Streams { stdout: line.try_clone()?, stderr: line.try_clone()? };
    Ok((streams, Outlets { stdout: Some(screen.into()), stderr: None }, line, keyboard))
}

/// How a run is watched.
#[derive(Debug)]
pub(crate) struct Watch<'w> {
    pub limits: Limits,
    /// What holds instead until the first request for an answer, where the timers wait for it.
    pub until_asked: Option<Limits>,
    /// The most that it may print.
    pub most_stdout: u64,
    pub steps: Vec<Step>,
    /// The user's end of standard input.
    pub stdin: Option<OwnedFd>,
    /// Whether that is a keyboard, which stays when there is no more to type.
    pub terminal: bool,
    /// Who speaks in the user's place: what is read there is written to the target.
    pub relay: Option<OwnedFd>,
    /// Gets a byte for each request for an answer, where a step or the timers wait for one.
    pub requests: Option<OwnedFd>,
    /// Becomes readable when the run is to be ended.
    pub cancel: BorrowedFd<'w>,
}

/// What was seen of a run.
#[derive(Debug)]
pub(crate) struct Captured {
    pub exit: Exit,
    /// When the target itself was started, after the run before it if there is one; none when it was not.
    pub target_started: Option<Instant>,
    /// Whether it left a core dump.
    pub core_dumped: bool,
    /// How long it took.
    pub duration: Duration,
    /// Offset and time of the chunks of standard output.
    pub arrivals: Vec<(u64, Duration)>,
    /// How much it had printed when a timer ended it, and when that was.
    pub timed_out_at: Option<(u64, Duration)>,
    /// What the user sent while it ran.
    pub sent: Sent,
    /// What the user was to say, and could not.
    pub unsaid: Vec<String>,
    /// What was found when it had exited.
    pub ended: Ended,
    /// Whether it was ended because the user wanted to stop.
    pub cancelled: bool,
    /// When the exit was noticed.
    pub exited_at: Instant,
}

/// Watches a target that was just started until nothing of it is left.
pub(crate) fn watch(
    supervisor: &mut Supervisor,
    mut outlets: Outlets,
    watch: Watch<'_>,
    sink: &mut dyn Sink,
) -> Result<Captured, SuperviseError> {
    let started = Instant::now();
    let mut state = State {
        progress: Progress::new(started),
        exit: Exit::default(),
        target_started: None,
        core_dumped: false,
        exited_at: None,
        ended: None,
        ordered_at: None,
        looked_at: None,
        cancelled: false,
        arrivals: Vec::new(),
        timed_out_at: None,
        printed: 0,
        user: User::new(watch.steps, watch.stdin, watch.terminal, watch.relay, started),
        started,
        asks_for_result: false,
        limits: watch.until_asked.unwrap_or(watch.limits),
        once_asked: watch.until_asked.map(|_| watch.limits),
        most_stdout: watch.most_stdout,
    };
    let mut requests = watch.requests.map(File::from);
    state.user.act(supervisor, &mut outlets, Noticed::Nothing)?;
    while state.ended.is_none() {
        let understands = sink.understands();
        let ready = wait(
            supervisor,
            &outlets,
            requests.as_ref(),
            [watch.cancel.into(), understands],
            state.user.waits_for(),
            state.user.due().map_or(state.deadline(), |due| due.min(state.deadline())),
        )?;
        // One chunk of each at a time, so that the other streams and the clock get their turn.
        if ready.stdout {
            state.drain_stdout(supervisor, &mut outlets, sink, 1)?;
        }
        if ready.stderr {
            drain_stderr(&mut outlets, sink, 1)?;
        }
        if ready.room {
            state.user.write();
        }
        if ready.relay {
            state.user.pass_on();
        }
        if state.user.due().is_some() {
            state.user.act(supervisor, &mut outlets, Noticed::Nothing)?;
        }
        if ready.understood {
            state.understand(supervisor, sink.understood())?;
        }
        if ready.requests {
            match count(&mut requests)? {
                0 => requests = None,
                count => {
                    state.asked();
                    state.user.act(supervisor, &mut outlets, Noticed::Requests(count))?;
                }
            }
        }
        if ready.reports {
            match supervisor.reports()? {
                Some(reports) => reports.into_iter().for_each(|report| state.hear(report)),
                None => return Err(SuperviseError::Lost(io::ErrorKind::UnexpectedEof.into())),
            }
        }
        if ready.cancel && !state.cancelled {
            state.cancelled = true;
            state.end(supervisor, &Order::Terminate)?;
        }
        state.look_at_the_clock(supervisor, sink)?;
    }
    // Everything that could write is gone, so what is in the pipes is all there is.
    state.drain_stdout(supervisor, &mut outlets, sink, PIPE_BYTES)?;
    drain_stderr(&mut outlets, sink, PIPE_BYTES)?;
    let exited_at = state.exited_at.unwrap_or_else(Instant::now);
    let (sent, unsaid) = state.user.finish();
    Ok(Captured {
        exit: state.exit,
        target_started: state.target_started,
        core_dumped: state.core_dumped,
        // On a busy machine the target may have been at work before it was watched.
        duration: exited_at - state.target_started.map_or(started, |target| target.min(started)),
        arrivals: state.arrivals,
        timed_out_at: state.timed_out_at,
        sent,
        unsaid,
        ended: state.ended.unwrap_or_default(),
        cancelled: state.cancelled,
        exited_at,
    })
}

/// What there is to do.
#[expect(clippy::struct_excessive_bools, reason = "each says of one descriptor whether it has something")]
struct Ready {
    stdout: bool,
    stderr: bool,
    requests: bool,
    reports: bool,
    cancel: bool,
    understood: bool,
    room: bool,
    relay: bool,
}

/// Waits until there is something to do, no longer than until the deadline. Whoever wants the run to end and whoever
/// understands its output tell so by a descriptor each; the user waits for room to write, or for who speaks in his place.
fn wait<'w>(
    supervisor: &'w Supervisor,
    outlets: &'w Outlets,
    requests: Option<&'w File>,
    [cancel, understands]: [Option<BorrowedFd<'w>>; 2],
    [room, relay]: [Option<BorrowedFd<'w>>; 2],
    deadline: Instant,
) -> io::Result<Ready> {
    let limit = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok();
    let mut fds = vec![PollFd::new(supervisor, PollFlags::IN)];
    let mut listen = |descriptor: Option<BorrowedFd<'w>>| {
        fds.push(PollFd::from_borrowed_fd(descriptor?, PollFlags::IN));
        Some(fds.len() - 1)
    };
    let stdout = listen(outlets.stdout.as_ref().map(File::as_fd));
    let stderr = listen(outlets.stderr.as_ref().map(File::as_fd));
    let requests = listen(requests.map(File::as_fd));
    let (cancel, understood, relay) = (listen(cancel), listen(understands), listen(relay));
    let room = room.map(|room| {
        fds.push(PollFd::from_borrowed_fd(room, PollFlags::OUT));
        fds.len() - 1
    });
    match poll(&mut fds, limit.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let is_ready = |at: Option<usize>| at.is_some_and(|at| !fds[at].revents().is_empty());
    Ok(Ready {
        stdout: is_ready(stdout),
        stderr: is_ready(stderr),
        requests: is_ready(requests),
        reports: is_ready(Some(0)),
        cancel: is_ready(cancel),
        understood: is_ready(understood),
        room: is_ready(room),
        relay: is_ready(relay),
    })
}

/// How many requests were told of; none when nobody will tell of more.
fn count(requests: &mut Option<File>) -> io::Result<u64> {
    let mut bytes = [0; 64];
    let Some(file) = requests else { return Ok(0) };
    match file.read(&mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => count(requests),
        read => Ok(read? as u64),
    }
}

struct State {
    progress: Progress,
    exit: Exit,
    target_started: Option<Instant>,
    core_dumped: bool,
    exited_at: Option<Instant>,
    ended: Option<Ended>,
    /// When the supervisor was told to end everything, and when it was last looked whether it can.
    ordered_at: Option<Instant>,
    looked_at: Option<Instant>,
    cancelled: bool,
    arrivals: Vec<(u64, Duration)>,
    timed_out_at: Option<(u64, Duration)>,
    printed: u64,
    user: User,
    started: Instant,
    /// Whether it is not known yet if what looked like the result is one.
    asks_for_result: bool,
    /// What holds now.
    limits: Limits,
    /// What holds from the first request on, where that is still awaited.
    once_asked: Option<Limits>,
    most_stdout: u64,
}

impl State {
    /// The target asks for an answer: with its first request the timers of the case start.
    fn asked(&mut self) {
        if let Some(limits) = self.once_asked.take() {
            self.limits = limits;
            self.progress.asked(Instant::now());
        }
    }

    fn deadline(&self) -> Instant {
        match (self.ordered_at, self.exited_at) {
            // What it left is being ended.
            (Some(at), _) | (None, Some(at)) => (at + PATIENCE).min(self.looked_at.unwrap_or(at) + LOOK),
            (None, None) => self.next().1,
        }
    }

    /// The timer that fires next, and when.
    fn next(&self) -> (Timer, Instant) {
        match self.progress.next(&self.limits) {
            // Nobody is ended for staying after a result that may be none.
            (Timer::AfterResult, _) if self.asks_for_result => self.progress.wall(&self.limits),
            next => next,
        }
    }

    /// Sets the timers by what was understood of the output.
    fn understand(&mut self, supervisor: &Supervisor, meanings: Vec<Meaning>) -> io::Result<()> {
        for meaning in meanings {
            match meaning {
                Meaning::Result(at) => self.progress.gave_result(at),
                Meaning::GoesOn => self.progress.goes_on(),
                Meaning::IsResult(is_one) => {
                    self.asks_for_result = false;
                    if !is_one {
                        self.progress.goes_on();
                    } else if self.ordered_at.is_none() && self.exited_at.is_none() {
                        self.exit.timed_out = Some(Timer::AfterResult);
                        self.end(supervisor, &Order::Terminate)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn hear(&mut self, report: Report) {
        match report {
            Report::Ready(_) | Report::NoProcesses(_) => {}
            Report::Started { since, .. } => {
                let ago = Duration::from_nanos(monotonic_ns().saturating_sub(since));
                self.target_started = Instant::now().checked_sub(ago);
            }
            Report::NotStarted { kind, message } => {
                self.exit.spawn_error = Some(SpawnError::new(kind, message));
                self.ended = Some(Ended::default());
            }
            Report::OverMemory => self.exit.timed_out = Some(Timer::Unknown(MEMORY_LIMIT.into())),
            Report::Exited { code, signal, core_dumped } => {
                self.exit.code = code;
                self.exit.signal = signal;
                self.core_dumped = core_dumped;
                self.exited_at = Some(Instant::now());
            }
            Report::Over(ended) => self.ended = Some(ended),
        }
    }

    fn end(&mut self, supervisor: &Supervisor, order: &Order) -> io::Result<()> {
        self.ordered_at = Some(Instant::now());
        supervisor.wake();
        supervisor.order(order)
    }

    fn look_at_the_clock(
        &mut self,
        supervisor: &Supervisor,
        sink: &mut dyn Sink,
    ) -> Result<(), SuperviseError> {
        let now = Instant::now();
        if self.ended.is_some() || now < self.deadline() {
            return Ok(());
        }
        if let Some(since) = self.ordered_at.or(self.exited_at) {
            self.looked_at = Some(now);
            let is_lost = supervisor.is_stopped() || now >= since + PATIENCE;
            return if is_lost { Err(SuperviseError::Lost(io::ErrorKind::TimedOut.into())) } else { Ok(()) };
        }
        let (timer, _) = self.next();
        if timer == Timer::AfterResult {
            self.asks_for_result = true;
            sink.ask_for_result();
            return Ok(());
        }
        self.exit.timed_out = Some(timer);
        self.timed_out_at = Some((self.printed, now.saturating_duration_since(self.started)));
        Ok(self.end(supervisor, &Order::Terminate)?)
    }

    fn drain_stdout(
        &mut self,
        supervisor: &Supervisor,
        outlets: &mut Outlets,
        sink: &mut dyn Sink,
        mut room: usize,
    ) -> Result<(), SuperviseError> {
        let mut chunk = vec![0; CHUNK_BYTES];
        while room > 0 {
            let Some(file) = &mut outlets.stdout else { return Ok(()) };
            let read = match file.read(&mut chunk) {
                Ok(0) => {
                    outlets.stdout = None;
                    return Ok(());
                }
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // A terminal that nobody writes to any more.
                Err(error) if error.raw_os_error() == Some(HUNG_UP) => {
                    outlets.stdout = None;
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            };
            room = room.saturating_sub(read);
            self.take(&chunk[..read], supervisor, outlets, sink)?;
        }
        Ok(())
    }

    fn take(
        &mut self,
        bytes: &[u8],
        supervisor: &Supervisor,
        outlets: &mut Outlets,
        sink: &mut dyn Sink,
    ) -> Result<(), SuperviseError> {
        let now = Instant::now();
        if self.arrivals.len() < MOST_ARRIVALS {
            self.arrivals.push((self.printed, now - self.started));
        }
        let room = self.most_stdout.saturating_sub(self.printed);
        let kept = &bytes[..bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
        self.printed += bytes.len() as u64;
        self.progress.printed(now);
        sink.stdout(kept, now)?;
        if kept.len() < bytes.len() && self.ordered_at.is_none() && self.exited_at.is_none() {
            self.exit.timed_out = Some(Timer::Unknown(OUTPUT_LIMIT.into()));
            self.end(supervisor, &Order::Kill)?;
        }
        Ok(self.user.act(supervisor, outlets, Noticed::Printed(bytes))?)
    }
}

fn drain_stderr(outlets: &mut Outlets, sink: &mut dyn Sink, mut room: usize) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    while room > 0 {
        let Some(file) = &mut outlets.stderr else { return Ok(()) };
        match file.read(&mut chunk) {
            Ok(0) => outlets.stderr = None,
            Ok(read) => {
                room = room.saturating_sub(read);
                sink.stderr(&chunk[..read])?;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
