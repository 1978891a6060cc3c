//! The harness's side of the conversation.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};

use super::channel::Channel;
use super::isolation::Isolation;
use super::message::{Order, Report, Start};
use super::serve::serve_on_thread;
use super::view::View;
use crate::harness::platform;

/// How long a supervisor may take to get ready.
const MOST_TO_PREPARE: Duration = Duration::from_secs(30);
/// How long it may take to end everything once it is left: killed processes have two seconds to go.
const MOST_TO_LEAVE: Duration = Duration::from_secs(5);

/// Whether this process is clawgate and not a program that uses its library.
static IS_CLAWGATE: AtomicBool = AtomicBool::new(false);

/// What holds the processes of a target.
#[derive(Debug, Clone)]
pub(crate) enum Containment {
    /// A supervisor process, started from this binary.
    Supervisor(PathBuf),
    /// The process group alone.
    Group,
}

impl Containment {
    /// The name in recordings.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Supervisor(_) => "supervisor",
            Self::Group => "process-group",
        }
    }

    /// The strongest there is: the binary that `CLAWGATE_BIN` names, or the running executable if it is clawgate.
    pub(crate) fn strongest(named: Option<PathBuf>) -> Self {
        let own = || {
            let own = std::env::current_exe().ok()?;
            (IS_CLAWGATE.load(Ordering::Relaxed) || own.file_stem()? == "clawgate").then_some(own)
        };
        named.or_else(own).map_or(Self::Group, Self::Supervisor)
    }

    /// The running executable is clawgate, whatever its file is called.
    #[cfg(feature = "cli")]
    pub(crate) fn this_is_clawgate() {
        IS_CLAWGATE.store(true, Ordering::Relaxed);
        platform::this_is_clawgate();
    }
}

/// The ends of the target's output that the target writes to.
#[derive(Debug)]
pub(crate) struct Streams {
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
}

/// Where a target will run.
#[derive(Debug)]
pub(crate) struct Place {
    /// What keeps the target away from everything else.
    pub isolation: Isolation,
    /// A listener in the target's network, where it has one of its own.
    pub listener: Option<TcpListener>,
    /// The clean room, where that is a file system of its own.
    pub room: Option<OwnedFd>,
}

/// Why there is no supervisor, or no longer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuperviseError {
    /// The binary does not start.
    #[error("cannot start the supervisor {}: {source}", binary.display())]
    Start {
        binary: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    #[error("the supervisor is gone, killed by somebody or for want of memory: {0}")]
    Lost(io::Error),
    /// The network cannot be isolated, and has to be.
    #[error("the target cannot be kept away from the network: {0}")]
    NoNetwork(String),
    /// Something of the machine cannot be kept from the target, and everything has to be.
    #[error("the target cannot be kept apart from the machine's {0}")]
    NotIsolated(String),
    /// There can be no namespace of processes.
    #[error("the target cannot have processes of its own: {0}")]
    NoProcesses(String),
}

impl From<io::Error> for SuperviseError {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

/// A supervisor that is ready, or at work.
#[derive(Debug)]
pub(crate) struct Supervisor {
    process: Option<Child>,
    channel: Channel,
    /// The target of the case, as the supervisor sees it.
    target: Option<Pid>,
}

impl Supervisor {
    pub(super) fn start(containment: &Containment, view: View) -> Result<Self, SuperviseError> {
        let (near, far) = Channel::pair()?;
        let process = match containment {
            Containment::Supervisor(binary) => Some(Self::spawn(binary, view, far.into())?),
            Containment::Group => {
                std::thread::Builder::new().name("supervisor".into()).spawn(move || {
                    // A conversation that broke is noticed at the other end.
                    _ = serve_on_thread(far);
                })?;
                None
            }
        };
        if let Some(process) = &process {
            platform::remember_supervisor(Pid::from_child(process));
        }
        Ok(Self { process, channel: Channel::new(near), target: None })
    }

    fn spawn(binary: &Path, view: View, socket: OwnedFd) -> Result<Child, SuperviseError> {
        Command::new(binary)
            .args([super::COMMAND, view.word()])
            .env_clear()
            .stdin(Stdio::from(socket))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C is for the harness, which then ends its cases in good order.
            .process_group(0)
            .spawn()
            .map_err(|source| SuperviseError::Start { binary: binary.to_owned(), source })
    }

    /// Lets it prepare the target's network and the places around the room.
    pub(super) fn prepare(&mut self, room: &Path, most_bytes: u64) -> Result<Place, SuperviseError> {
        // One that cannot be of use has said so and left, perhaps before it was asked.
        _ = self.order(&Order::Prepare { room: room.to_owned(), most_bytes });
        let isolation = match self.channel.receive_until(Some(Instant::now() + MOST_TO_PREPARE))? {
            Some(Report::Ready(isolation)) => isolation,
            Some(Report::NoProcesses(reason)) => return Err(SuperviseError::NoProcesses(reason)),
            _ => return Err(SuperviseError::Lost(io::ErrorKind::UnexpectedEof.into())),
        };
        let mut next = |is_there: bool| is_there.then(|| self.channel.descriptor()).flatten();
        let listener = next(isolation.has_network()).map(TcpListener::from);
        let room = next(isolation.has_files());
        Ok(Place { isolation, listener, room })
    }

    /// Starts the target with these streams; without `stdin` it finds its standard input closed. They are closed here,
    /// so that the end of the target is their end.
    pub(crate) fn launch(
        &self,
        start: Start,
        streams: Streams,
        stdin: Option<OwnedFd>,
    ) -> Result<(), SuperviseError> {
        let Streams { stdout, stderr } = streams;
        let ends = [Some(&stdout), Some(&stderr), stdin.as_ref()];
        let ends: Vec<BorrowedFd<'_>> = ends.into_iter().flatten().map(AsFd::as_fd).collect();
        self.channel.send(&Order::Start(Box::new(start)), &ends)?;
        drop(stdin);
        Ok(())
    }

    pub(crate) fn order(&self, order: &Order) -> io::Result<()> {
        self.channel.send(order, &[])
    }

    /// Lets it go on if somebody has stopped it, which a target can do that sees it.
    pub(crate) fn wake(&self) {
        if let Some(process) = &self.process {
            _ = kill_process(Pid::from_child(process), Signal::CONT);
        }
    }

    /// Whether somebody has stopped it.
    pub(crate) fn is_stopped(&self) -> bool {
        self.process.as_ref().is_some_and(|process| platform::is_stopped(Pid::from_child(process)))
    }

    /// Does without a supervisor that was killed or stopped, and ends what it held.
    pub(crate) fn give_up(self, room: &Path) {
        let target = self.target;
        drop(self);
        platform::end_strays(room, target);
    }

    /// Reads the reports that have come. None when the supervisor is gone.
    pub(crate) fn reports(&mut self) -> io::Result<Option<Vec<Report>>> {
        self.channel.read()?;
        let mut reports = Vec::new();
        while let Some(report) = self.channel.next_read()? {
            if let Report::Started { pid, .. } = report {
                self.target = Pid::from_raw(pid.cast_signed());
            }
            reports.push(report);
        }
        Ok(if reports.is_empty() && self.channel.has_ended() { None } else { Some(reports) })
    }
}

impl AsFd for Supervisor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        // A supervisor in the middle of a case ends everything and then itself.
        _ = self.order(&Order::Leave);
        self.channel.close();
        let is_stopped = self.is_stopped();
        let Some(mut process) = self.process.take() else { return };
        let pid = Pid::from_child(&process);
        if is_stopped {
            // What it held is found by the room.
            _ = process.kill();
        }
        let ends = platform::ending(pid);
        let limit = Timespec::try_from(MOST_TO_LEAVE).ok();
        let is_over = ends.is_ok_and(|ends| {
            poll(&mut [PollFd::new(&ends, PollFlags::IN)], limit.as_ref()).is_ok_and(|count| count > 0)
        });
        if !is_over {
            // Somebody keeps it from its work.
            _ = process.kill();
        }
        _ = process.wait();
        platform::forget_supervisor(pid);
    }
}
