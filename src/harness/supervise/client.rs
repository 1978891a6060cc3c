//! The harness's side of the conversation.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::channel::Channel;
use super::message::{Order, Report, Start};
use super::network::{Isolation, NetworkMode};
use super::serve::serve_on_thread;

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
            (own.file_stem()? == "clawgate").then_some(own)
        };
        named.or_else(own).map_or(Self::Group, Self::Supervisor)
    }

    /// The strongest there is for clawgate itself, whatever its file is called.
    #[cfg(feature = "cli")]
    pub(crate) fn of_clawgate(named: Option<PathBuf>) -> Self {
        let own = || std::env::current_exe().ok();
        named.or_else(own).map_or(Self::Group, Self::Supervisor)
    }
}

/// The ends of the target's output that the target writes to.
#[derive(Debug)]
pub(crate) struct Streams {
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
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
    #[error("the supervisor is gone: {0}")]
    Lost(io::Error),
    /// The network cannot be isolated, and has to be.
    #[error("the target cannot be kept away from the network: {0}")]
    NotIsolated(String),
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
}

impl Supervisor {
    pub(crate) fn start(containment: &Containment) -> Result<Self, SuperviseError> {
        let (near, far) = Channel::pair()?;
        let process = match containment {
            Containment::Supervisor(binary) => Some(Self::spawn(binary, far.into())?),
            Containment::Group => {
                std::thread::Builder::new().name("supervisor".into()).spawn(move || {
                    // A conversation that broke is noticed at the other end.
                    _ = serve_on_thread(far);
                })?;
                None
            }
        };
        Ok(Self { process, channel: Channel::new(near) })
    }

    fn spawn(binary: &Path, socket: OwnedFd) -> Result<Child, SuperviseError> {
        Command::new(binary)
            .arg(super::COMMAND)
            .env_clear()
            .stdin(Stdio::from(socket))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C is for the harness, which then ends its cases in good order.
            .process_group(0)
            .spawn()
            .map_err(|source| SuperviseError::Start { binary: binary.to_owned(), source })
    }

    /// Lets it prepare the target's network and the places around the room; a listener in that network comes along
    /// when there is one.
    pub(crate) fn prepare(
        &mut self,
        network: NetworkMode,
        room: &Path,
    ) -> Result<(Isolation, Option<TcpListener>), SuperviseError> {
        self.order(&Order::Prepare { network, room: room.to_owned() })?;
        let Some(Report::Ready(isolation)) = self.channel.receive()? else {
            return Err(SuperviseError::Lost(io::ErrorKind::UnexpectedEof.into()));
        };
        if network == NetworkMode::Require && !isolation.is_complete() {
            return Err(SuperviseError::NotIsolated(isolation.reason.unwrap_or_default()));
        }
        let listener = self.channel.descriptor().map(TcpListener::from);
        Ok((isolation, listener))
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

    /// Reads the reports that have come. None when the supervisor is gone.
    pub(crate) fn reports(&mut self) -> io::Result<Option<Vec<Report>>> {
        self.channel.read()?;
        let mut reports = Vec::new();
        while let Some(report) = self.channel.next_read()? {
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
        // To the supervisor this is the death of the harness: it ends everything and then itself.
        self.channel.close();
        if let Some(mut process) = self.process.take() {
            _ = process.wait();
        }
    }
}
