//! The supervisor's side of the conversation.

use std::ffi::OsStr;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::FdFlags;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::channel::Channel;
use super::client::Place;
use super::message::{Order, Report, Start, monotonic_ns};
use super::spawn::{Stdios, spawn};
use super::view::View;
use crate::harness::platform::{self, Surroundings};
use crate::recording::SpawnError;

/// How often memory is looked at where it has a limit.
const WEIGH: Duration = Duration::from_millis(10);

/// Runs this process as a supervisor; standard input is the socket, the word what it makes first.
#[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "only clawgate itself is a supervisor"))]
pub(crate) fn main(word: Option<&OsStr>) -> ExitCode {
    keep_descriptors_to_oneself();
    let served = || -> io::Result<ExitCode> {
        let channel = Channel::new(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?));
        match Surroundings::begin(View::named(word), &channel)? {
            ControlFlow::Break(code) => Ok(code),
            ControlFlow::Continue(surroundings) => {
                Server { channel, surroundings }.serve()?;
                Ok(ExitCode::SUCCESS)
            }
        }
    };
    // Whoever could be told is at the other end of the socket, and notices.
    served().unwrap_or(ExitCode::FAILURE)
}

/// What whoever started clawgate has left open is not for the target: a shell's pipe, a build's tokens, a file of keys.
#[expect(unsafe_code, reason = "nobody in this process owns what it was started with")]
fn keep_descriptors_to_oneself() {
    let listed = std::fs::read_dir("/dev/fd").into_iter().flatten().flatten();
    let numbers: Vec<i32> = listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        // SAFETY: nothing else runs in this process yet. The list itself was one of them, is closed, and is refused.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        _ = rustix::io::fcntl_setfd(descriptor, FdFlags::CLOEXEC);
    }
}

/// Serves on a thread of the harness.
pub(super) fn serve_on_thread(socket: UnixStream) -> io::Result<()> {
    Server { channel: Channel::new(socket), surroundings: Surroundings::of_thread() }.serve()
}

struct Server {
    channel: Channel,
    surroundings: Surroundings,
}

impl Server {
    /// One case after the other, until the harness hangs up.
    fn serve(&mut self) -> io::Result<()> {
        let served = self.orders();
        // Without a goodbye the harness died, perhaps while it was to be told something: nobody else is left to do it.
        if !matches!(served, Ok(ControlFlow::Break(()))) && self.channel.is_hung_up() {
            self.surroundings.remove_room();
        }
        served.map(|_| ())
    }

    /// Obeys; ends with a break when the harness says goodbye.
    fn orders(&mut self) -> io::Result<ControlFlow<()>> {
        let means = platform::Means::now();
        while let Some(order) = self.channel.receive()? {
            match order {
                Order::Prepare { room, most_bytes } => self.prepare(room, most_bytes)?,
                Order::Start(start) => {
                    self.case(&start)?;
                    if means != platform::Means::now() {
                        // The next target would inherit what this one has changed.
                        return Err(io::Error::other("the target has changed what its supervisor may use"));
                    }
                }
                // For a target that ended meanwhile.
                Order::Signal(_) | Order::Terminate | Order::Kill => {}
                Order::Leave => return Ok(ControlFlow::Break(())),
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// From the start of the target until nothing of it is left.
    fn case(&mut self, start: &Start) -> io::Result<()> {
        let lost = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let stdout = self.channel.descriptor().ok_or_else(lost)?.into();
        let stderr = self.channel.descriptor().ok_or_else(lost)?.into();
        let stdin = self.channel.descriptor().map_or_else(Stdio::null, Stdio::from);
        if let Err(error) = self.run_first(start)? {
            return self.channel.send(&Report::not_started(&error), &[]);
        }
        let now = monotonic_ns();
        let started = self.spawn(start, Stdios { stdin, stdout, stderr });
        match started {
            Err(error) => self.channel.send(&Report::not_started(&error), &[]),
            Ok(child) => self.watch(child, start, now),
        }
    }

    /// Starts something of the target.
    fn spawn(&self, start: &Start, stdios: Stdios) -> Result<Child, SpawnError> {
        let child = spawn(start, stdios)?;
        self.surroundings.started(Pid::from_child(&child));
        Ok(child)
    }

    /// Runs what has to be run before; the error when it does not end well.
    fn run_first(&mut self, start: &Start) -> io::Result<Result<(), SpawnError>> {
        let Some(args) = &start.first else { return Ok(Ok(())) };
        let first = Start { args: args.clone(), terminal: false, ..start.clone() };
        let quiet = || Stdios { stdin: Stdio::null(), stdout: Stdio::null(), stderr: Stdio::null() };
        let mut child = match self.spawn(&first, quiet()) {
            Ok(child) => child,
            Err(error) => return Ok(Err(error)),
        };
        let status = self.wait(&mut child, &first)?;
        let message = format!("the run before this one ended with {status}");
        Ok(if status.success() { Ok(()) } else { Err(SpawnError::new("first_run", message)) })
    }

    fn prepare(&mut self, room: PathBuf, most_bytes: u64) -> io::Result<()> {
        let Place { isolation, listener, room: inside } = self.surroundings.prepare(room, most_bytes)?;
        let along = listener.iter().map(|listener| listener.as_fd());
        let along: Vec<_> = along.chain(inside.iter().map(|inside| inside.as_fd())).collect();
        self.channel.send(&Report::Ready(isolation), &along)
    }

    fn watch(&mut self, mut child: Child, start: &Start, since: u64) -> io::Result<()> {
        self.tell(&Report::Started { since, pid: child.id() });
        let status = self.wait(&mut child, start)?;
        self.tell(&Report::Exited {
            code: status.code(),
            signal: status.signal(),
            core_dumped: status.core_dumped(),
        });
        let grace = if self.channel.has_ended() { 0 } else { start.leftover_grace_ms };
        let grace = Duration::from_millis(grace);
        let ended = self.surroundings.sweep(Pid::from_child(&child), grace, start.api_port)?;
        self.tell(&Report::Over(ended));
        Ok(())
    }

    /// Waits for a child to exit, and obeys meanwhile.
    fn wait(&mut self, child: &mut Child, start: &Start) -> io::Result<ExitStatus> {
        let pid = Pid::from_child(child);
        let exits = platform::ending(pid)?;
        let mut kill_at: Option<Instant> = None;
        let mut is_over = false;
        loop {
            let left = kill_at.map(|at| at.saturating_duration_since(Instant::now()));
            let left =
                if start.memory_bytes.is_some() { Some(left.unwrap_or(WEIGH).min(WEIGH)) } else { left };
            let limit = left.and_then(|left| Timespec::try_from(left).ok());
            // A harness that is gone has nothing more to say.
            let listen = if self.channel.has_ended() { PollFlags::empty() } else { PollFlags::IN };
            let mut fds =
                [PollFd::new(&exits, PollFlags::IN), PollFd::from_borrowed_fd(self.channel.as_fd(), listen)];
            match poll(&mut fds, limit.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let (has_exited, is_spoken_to) =
                (fds[0].revents().contains(PollFlags::IN), !fds[1].revents().is_empty());
            if has_exited {
                break;
            }
            if let Some(most) = start.memory_bytes.filter(|_| !is_over)
                && Surroundings::memory_used() > most
            {
                is_over = true;
                self.tell(&Report::OverMemory);
                self.surroundings.kill_all(pid);
            }
            if kill_at.is_some_and(|at| at <= Instant::now()) {
                // What it started is looked at once it is gone, whichever signal it took.
                _ = kill_process_group(pid, Signal::KILL);
                kill_at = None;
            }
            if is_spoken_to && !self.channel.has_ended() {
                self.obey(pid, start, &mut kill_at)?;
            }
        }
        child.wait()
    }

    fn obey(&mut self, target: Pid, start: &Start, kill_at: &mut Option<Instant>) -> io::Result<()> {
        self.channel.read()?;
        while let Some(order) = self.channel.next_read()? {
            match order {
                Order::Signal(number) => {
                    if let Some(signal) = Signal::from_named_raw(number) {
                        _ = kill_process(target, signal);
                    }
                }
                Order::Terminate => {
                    _ = kill_process_group(target, Signal::TERM);
                    *kill_at = Some(Instant::now() + Duration::from_millis(start.term_grace_ms));
                }
                Order::Kill => self.surroundings.kill_all(target),
                Order::Prepare { .. } | Order::Start(_) | Order::Leave => {}
            }
        }
        if self.channel.has_ended() {
            // The harness died: nothing of its making may go on.
            self.surroundings.kill_all(target);
        }
        Ok(())
    }

    /// Tells the harness; one that is gone needs to know nothing.
    fn tell(&self, report: &Report) {
        _ = self.channel.send(report, &[]);
    }
}
