//! The supervisor's side of the conversation.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, getpid, kill_process, kill_process_group, pidfd_open,
};

use super::channel::Channel;
use super::descendants;
use super::isolation::Isolation;
use super::message::{Ended, Order, Report, Start, monotonic_ns};
use super::namespaces::{self, Network, View};
use super::network;
use super::outside::Outside;
use super::protect::{self, Before};
use super::spawn::{Stdios, spawn};
use crate::harness::remove;
use crate::recording::SpawnError;

/// How long a killed process may take to disappear.
const MOST_TO_DIE: Duration = Duration::from_secs(2);
/// How often it is looked whether what was left is gone.
const LOOK: Duration = Duration::from_millis(2);

/// How often memory is looked at where it has a limit.
const WEIGH: Duration = Duration::from_millis(10);

/// Which processes are ours to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Everything below this process, of which it is the subreaper.
    Descendants,
    /// The target's process group.
    Group,
}

/// Runs this process as a supervisor; standard input is the socket, the word what it makes first.
pub(crate) fn main(word: Option<&OsStr>) -> ExitCode {
    let view = View::named(word);
    if matches!(view, View::First(_))
        && let Err(code) = namespaces::begin_as_first()
    {
        return code;
    }
    let served = || -> io::Result<ExitCode> {
        let channel = Channel::new(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?));
        if let View::Processes(network) = view {
            return match namespaces::enter_processes(super::COMMAND, network) {
                Ok(code) => Ok(code),
                Err(reason) => channel.send(&Report::NoProcesses(reason), &[]).map(|()| ExitCode::FAILURE),
            };
        }
        rustix::process::set_child_subreaper(Some(getpid()))?;
        Server::new(channel, Reach::Descendants, Surroundings::make(view)).serve()?;
        Ok(ExitCode::SUCCESS)
    };
    // Whoever could be told is at the other end of the socket, and notices.
    served().unwrap_or(ExitCode::FAILURE)
}

/// Serves on a thread of the harness.
pub(super) fn serve_on_thread(socket: UnixStream) -> io::Result<()> {
    let shared = Surroundings::Shared(Isolation::none("group", "needs the supervisor process"));
    Server::new(Channel::new(socket), Reach::Group, shared).serve()
}

/// What a supervisor has made before its first case.
enum Surroundings {
    /// The target shares what the harness has.
    Shared(Isolation),
    /// A view of the file system of its own, and that network; how processes are held, what the file system was, and which
    /// places can be written all the same. An error says why files are not kept apart.
    Own { network: Network, processes: &'static str, files: io::Result<(Before, Vec<String>)> },
}

impl Surroundings {
    fn make(view: View) -> Self {
        let own = match view {
            View::Shared | View::Processes(_) => {
                network::give_up_override();
                return Self::Shared(Isolation::none("subreaper", "switched off"));
            }
            View::Files(network) => namespaces::enter_files(network).map(|()| (network, "subreaper")),
            View::First(network) => Ok((network, "namespace")),
        };
        match own {
            Ok((network, processes)) => Self::Own { network, processes, files: protect::protect(network) },
            Err(error) => {
                network::give_up_override();
                let reason = format!("the kernel does not allow it: {error}");
                Self::Shared(Isolation::none("subreaper", reason))
            }
        }
    }
}

struct Server {
    channel: Channel,
    reach: Reach,
    surroundings: Surroundings,
    outside: Option<Outside>,
    /// The room of the case.
    room: PathBuf,
}

impl Server {
    fn new(channel: Channel, reach: Reach, surroundings: Surroundings) -> Self {
        Self { channel, reach, surroundings, outside: None, room: PathBuf::new() }
    }

    /// One case after the other, until the harness hangs up.
    fn serve(&mut self) -> io::Result<()> {
        while let Some(order) = self.channel.receive()? {
            match order {
                Order::Prepare { room, most_bytes } => self.prepare(room, most_bytes)?,
                Order::Start(start) => self.case(&start)?,
                // For a target that ended meanwhile.
                Order::Signal(_) | Order::Terminate | Order::Kill => {}
                Order::Leave => return Ok(()),
            }
        }
        self.remove_room();
        Ok(())
    }

    /// The harness died without a word: nobody else is left to remove the room.
    fn remove_room(&mut self) {
        self.outside = None;
        match &self.surroundings {
            Surroundings::Own { files: Ok((before, _)), .. } => before.remove_folder(&self.room),
            _ if self.reach == Reach::Descendants => remove::tree(&self.room),
            _ => {}
        }
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
        let is_seen =
            self.reach == Reach::Descendants && matches!(self.surroundings, Surroundings::Shared(_));
        let be = |how| is_seen.then(|| rustix::process::set_dumpable_behavior(how).ok());
        // What is not dumpable may not say how gladly it is ended when memory runs out.
        be(DumpableBehavior::Dumpable);
        let started = spawn(start, stdios);
        // A target of the same user that sees this process could take its socket, and answer in its place.
        be(DumpableBehavior::NotDumpable);
        started
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
        // What covered the places for the case before goes first.
        self.outside = None;
        if matches!(self.surroundings, Surroundings::Own { .. }) {
            protect::close(&self.room);
        }
        self.room = room;
        let (network, processes, files) = match &self.surroundings {
            Surroundings::Shared(isolation) => {
                return self.channel.send(&Report::Ready(isolation.clone()), &[]);
            }
            Surroundings::Own { network, processes, files } => (*network, *processes, files),
        };
        let listener = (network == Network::Own).then(network::listen).transpose()?;
        let mut isolation = Isolation::with_network(processes);
        if network == Network::Shared {
            isolation.network = "none".into();
            isolation.reason = Some("the real API is outside of the machine".into());
        }
        let covered = match files {
            Ok((_, writable)) => Outside::cover(&self.room, most_bytes).map(|covered| (covered, writable)),
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        };
        let inside = match covered {
            Ok(((outside, inside), writable)) => {
                isolation.files = "overlay".into();
                isolation.files_reason =
                    (!writable.is_empty()).then(|| format!("these stay writable: {}", writable.join(", ")));
                self.outside = Some(outside);
                Some(inside)
            }
            Err(error) => {
                isolation.files_reason = Some(format!("the kernel does not allow it: {error}"));
                // Everything else stays read-only.
                if files.is_ok() {
                    protect::open(&self.room)?;
                }
                None
            }
        };
        let along = listener.iter().map(|listener| listener.as_fd());
        let along: Vec<_> = along.chain(inside.iter().map(|inside| inside.as_fd())).collect();
        self.channel.send(&Report::Ready(isolation), &along)
    }

    fn watch(&mut self, mut child: Child, start: &Start, since: u64) -> io::Result<()> {
        self.tell(&Report::Started(since));
        let status = self.wait(&mut child, start)?;
        self.tell(&Report::Exited {
            code: status.code(),
            signal: status.signal(),
            core_dumped: status.core_dumped(),
        });
        let ended = self.sweep(Pid::from_child(&child), start);
        self.tell(&Report::Over(ended));
        Ok(())
    }

    /// Waits for a child to exit, and obeys meanwhile.
    fn wait(&mut self, child: &mut Child, start: &Start) -> io::Result<ExitStatus> {
        let pid = Pid::from_child(child);
        let exits = pidfd_open(pid, PidfdFlags::empty())?;
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
                && descendants::memory(&descendants::living()) > most
            {
                is_over = true;
                self.tell(&Report::OverMemory);
                self.kill_all(pid);
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
                Order::Kill => self.kill_all(target),
                Order::Prepare { .. } | Order::Start(_) | Order::Leave => {}
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
        _ = self.channel.send(report, &[]);
    }

    fn kill_all(&self, target: Pid) {
        _ = kill_process_group(target, Signal::KILL);
        if self.reach == Reach::Descendants {
            self.kill_rest();
        }
    }

    /// Kills everything that is held here.
    fn kill_rest(&self) {
        let is_first = matches!(self.surroundings, Surroundings::Own { processes: "namespace", .. });
        if is_first && getpid().is_init() {
            // All at once, which nobody outruns: for the first process these are all processes but itself.
            _ = kill_process_group(Pid::INIT, Signal::KILL);
        } else {
            descendants::kill(&descendants::living());
        }
    }

    /// Ends what outlived the target, and says what it was.
    fn sweep(&self, target: Pid, start: &Start) -> Ended {
        let mut ended = Ended::default();
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
        // A socket lives as long as somebody holds it, and the kernel's list of them takes long to read.
        let has_network = matches!(self.surroundings, Surroundings::Own { network: Network::Own, .. });
        if has_network && !ended.leftovers.is_empty() {
            ended.listening = network::listening(start.api_port);
        }
        let limit = Instant::now() + MOST_TO_DIE;
        // What is killed may have started something in its last moment, so it is looked again until nothing is left.
        while descendants::reap() {
            self.kill_rest();
            if Instant::now() > limit {
                ended.survivors = true;
                break;
            }
            std::thread::sleep(LOOK / 4);
        }
        // Only now is nobody left who could write.
        ended.outside = self.outside.as_ref().map(Outside::written);
        ended
    }
}
