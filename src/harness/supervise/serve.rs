//! The supervisor's side of the conversation.

use std::fs::File;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};

use super::channel::Channel;
use super::descendants;
use super::message::{Ended, Order, Report, Start};
use super::network::{self, Isolation, NetworkMode};
use super::spawn::{Stdios, spawn};

/// How long a killed process may take to disappear.
const MOST_TO_DIE: Duration = Duration::from_secs(2);
/// How often it is looked whether what was left is gone.
const LOOK: Duration = Duration::from_millis(2);

/// Which processes are ours to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Everything below this process, of which it is the subreaper.
    Descendants,
    /// The target's process group.
    Group,
}

/// Runs this process as a supervisor; standard input is the socket.
pub(crate) fn main() -> ExitCode {
    let served = || -> io::Result<()> {
        let socket = io::stdin().as_fd().try_clone_to_owned()?;
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        let mut supervisor = Server::new(Channel::new(UnixStream::from(socket)), Reach::Descendants);
        supervisor.serve(|stdin| Stdios { stdin, stdout: Stdio::inherit(), stderr: Stdio::inherit() })
    };
    // Whoever could be told is at the other end of the socket, and notices.
    if served().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Serves on a thread of the harness, with these streams for the target.
pub(super) fn serve_on_thread(socket: UnixStream, stdout: OwnedFd, stderr: OwnedFd) -> io::Result<()> {
    let mut supervisor = Server::new(Channel::new(socket), Reach::Group);
    supervisor.serve(|stdin| Stdios { stdin, stdout: stdout.into(), stderr: stderr.into() })
}

struct Server {
    channel: Channel,
    reach: Reach,
    isolation: Isolation,
}

impl Server {
    fn new(channel: Channel, reach: Reach) -> Self {
        Self { channel, reach, isolation: Isolation::none("not asked for") }
    }

    fn serve(&mut self, stdios: impl FnOnce(Stdio) -> Stdios) -> io::Result<()> {
        let start = loop {
            match self.channel.receive()? {
                Some(Order::Prepare { network }) => self.prepare(network)?,
                Some(Order::Start(start)) => break start,
                Some(_) => {}
                None => return Ok(()),
            }
        };
        let stdin = self.channel.descriptor().map_or_else(Stdio::null, Stdio::from);
        match spawn(&start, stdios(stdin)) {
            Err(error) => self.channel.send(&Report::not_started(&error), None),
            Ok(child) => {
                if self.reach == Reach::Descendants {
                    release_streams()?;
                }
                self.watch(child, &start)
            }
        }
    }

    fn prepare(&mut self, mode: NetworkMode) -> io::Result<()> {
        let (isolation, listener) = match (mode, self.reach) {
            (NetworkMode::Off, _) => (Isolation::none("switched off"), None),
            (_, Reach::Group) => (Isolation::none("needs the supervisor process"), None),
            _ => match network::isolate() {
                Ok(listener) => (Isolation { network: "namespace".into(), reason: None }, Some(listener)),
                Err(error) => (Isolation::none(format!("the kernel does not allow it: {error}")), None),
            },
        };
        self.isolation = isolation.clone();
        self.channel.send(&Report::Ready(isolation), listener.as_ref().map(TcpListener::as_fd))
    }

    fn watch(&mut self, mut child: Child, start: &Start) -> io::Result<()> {
        let pid = Pid::from_child(&child);
        self.tell(&Report::Started(child.id()));
        let exits = pidfd_open(pid, PidfdFlags::empty())?;
        let mut kill_at: Option<Instant> = None;
        loop {
            let left = kill_at.map(|at| at.saturating_duration_since(Instant::now()));
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
            if kill_at.is_some_and(|at| at <= Instant::now()) {
                self.kill_all(pid);
                kill_at = None;
            }
            if is_spoken_to && !self.channel.has_ended() {
                self.obey(pid, start, &mut kill_at)?;
            }
        }
        let status = child.wait()?;
        self.tell(&Report::Exited {
            code: status.code(),
            signal: status.signal(),
            core_dumped: status.core_dumped(),
        });
        let ended = self.sweep(pid, start);
        self.tell(&Report::Over(ended));
        Ok(())
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
                Order::Kill => self.kill_all(target),
                Order::Prepare { .. } | Order::Start(_) => {}
            }
        }
        if self.channel.has_ended() {
            // The harness died: nothing of its making may go on.
            self.kill_all(target);
        }
        Ok(())
    }

    /// Tells the harness; one that is gone needs to know nothing.
    fn tell(&self, report: &Report) {
        _ = self.channel.send(report, None);
    }

    fn kill_all(&self, target: Pid) {
        _ = kill_process_group(target, Signal::KILL);
        if self.reach == Reach::Descendants {
            descendants::kill(&descendants::living());
        }
    }

    /// Ends what outlived the target, and says what it was.
    fn sweep(&self, target: Pid, start: &Start) -> Ended {
        let mut ended = Ended::default();
        if self.isolation.is_complete() {
            ended.listening = network::listening(start.api_port);
        }
        if self.reach == Reach::Group {
            _ = kill_process_group(target, Signal::KILL);
            return ended;
        }
        let grace = Duration::from_millis(if self.channel.has_ended() { 0 } else { start.leftover_grace_ms });
        let patience = Instant::now() + grace;
        while descendants::reap() && !descendants::living().is_empty() && Instant::now() < patience {
            std::thread::sleep(LOOK);
        }
        ended.leftovers = descendants::living().into_iter().map(descendants::describe).collect();
        let limit = Instant::now() + MOST_TO_DIE;
        // What is killed may have started something in its last moment, so it is looked again until nothing is left.
        while descendants::reap() {
            descendants::kill(&descendants::living());
            if Instant::now() > limit {
                ended.survivors = true;
                break;
            }
            std::thread::sleep(LOOK / 4);
        }
        ended
    }
}

/// Lets go of the target's output, so that the end of the target is the end of its streams.
fn release_streams() -> io::Result<()> {
    let null = File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}
