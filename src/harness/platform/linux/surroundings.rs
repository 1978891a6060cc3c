//! What a supervisor makes before its first case, and how it ends what a target has started.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, getpid, kill_process_group, pidfd_open, set_dumpable_behavior,
};

use super::outside::Outside;
use super::protect::{self, Before};
use super::system::check_sight;
use super::{descendants, namespaces, network};
use crate::harness::remove;
use crate::harness::supervise::view::{Network, View};
use crate::harness::supervise::{Channel, Ended, Isolation, LOOK, MOST_TO_DIE, Place, Report};

/// How gladly the kernel ends this process when memory runs out.
const OOM_SCORE: &str = "/proc/self/oom_score_adj";

/// What a supervisor has made before its first case.
pub(in crate::harness) struct Surroundings {
    kind: Kind,
    outside: Option<Outside>,
    /// The room of the case.
    room: PathBuf,
}

enum Kind {
    /// The target shares what the harness has.
    Shared(Isolation, Reach),
    /// A view of the file system of its own, and that network; how processes are held, what the file system was, and which
    /// places can be written all the same. An error says why files are not kept apart.
    Own { network: Network, processes: &'static str, files: io::Result<(Before, Vec<String>)> },
}

/// Which processes are ours to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Everything below this process, of which it is the subreaper.
    Descendants,
    /// The target's process group.
    Group,
}

/// Becomes readable when a child of this process has exited.
pub(in crate::harness) fn ending(child: Pid) -> io::Result<OwnedFd> {
    Ok(pidfd_open(child, PidfdFlags::empty())?)
}

/// A machine that runs out of memory ends the target first, which inherits what is said here, or else this process, and the
/// target with it: a target can take back what it has inherited, and not what is said of this process. It is not
/// dumpable either: a target of the same user could take its socket, and answer in its place.
fn be_ended_first() {
    // Where either is refused, nothing else can be done.
    _ = fs::write(OOM_SCORE, "1000");
    _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

impl Surroundings {
    /// Makes what a supervisor is asked for. Breaks off with an exit code where another process has served in its place.
    pub(in crate::harness) fn begin(
        view: View,
        channel: &Channel,
    ) -> io::Result<ControlFlow<ExitCode, Self>> {
        let own = match view {
            View::Shared => None,
            View::Processes(network) => {
                return match namespaces::enter_processes(crate::harness::supervise::COMMAND, network) {
                    Ok(code) => Ok(ControlFlow::Break(code)),
                    Err(reason) => {
                        channel.send(&Report::NoProcesses(reason), &[])?;
                        Ok(ControlFlow::Break(ExitCode::FAILURE))
                    }
                };
            }
            View::First(network) => match namespaces::begin_as_first() {
                Ok(()) => Some(Ok((network, "namespace", namespaces::sockets_to_hide()))),
                Err(code) => return Ok(ControlFlow::Break(code)),
            },
            View::Files(network) => {
                let sockets = protect::sockets();
                Some(namespaces::enter_files(network).map(|()| (network, "subreaper", sockets)))
            }
        };
        rustix::process::set_child_subreaper(Some(getpid()))?;
        let shared = |reason: String| {
            network::give_up_override();
            Kind::Shared(Isolation::none("subreaper", reason), Reach::Descendants)
        };
        let kind = match own {
            None => shared("switched off".to_owned()),
            Some(Err(error)) => shared(format!("the kernel does not allow it: {error}")),
            Some(Ok((network, processes, sockets))) => {
                let files = protect::protect(network, &sockets);
                namespaces::give_up_powers_of_files();
                Kind::Own { network, processes, files }
            }
        };
        be_ended_first();
        Ok(ControlFlow::Continue(Self::new(kind)))
    }

    /// What there is on a thread of the harness.
    pub(in crate::harness) fn of_thread() -> Self {
        let isolation = Isolation::none("group", "needs the supervisor process");
        Self::new(Kind::Shared(isolation, Reach::Group))
    }

    fn new(kind: Kind) -> Self {
        Self { kind, outside: None, room: PathBuf::new() }
    }

    /// Gets ready for a case in this room, into which and around which so much may be written.
    pub(in crate::harness) fn prepare(&mut self, room: PathBuf, most_bytes: u64) -> io::Result<Place> {
        // What covered the places for the case before goes first.
        self.outside = None;
        if matches!(self.kind, Kind::Own { .. }) {
            protect::close(&self.room);
        }
        self.room = room;
        let (network, processes, files) = match &self.kind {
            Kind::Shared(isolation, _) => {
                return Ok(Place { isolation: isolation.clone(), listener: None, room: None });
            }
            Kind::Own { network, processes, files } => (*network, *processes, files),
        };
        namespaces::leave_shared_memory()?;
        let listener = (network == Network::Own).then(network::listen).transpose()?;
        let is_online = network == Network::Shared;
        let mut isolation = Isolation {
            network: if is_online { "none" } else { "namespace" }.into(),
            reason: is_online.then(|| "the real API is outside of the machine".into()),
            files: "none".into(),
            files_reason: None,
            processes: processes.into(),
            processes_reason: None,
        };
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
        Ok(Place { isolation, listener, room: inside })
    }

    /// The harness died without a word: nobody else is left to remove the room.
    pub(in crate::harness) fn remove_room(&mut self) {
        self.outside = None;
        match &self.kind {
            Kind::Own { files: Ok((before, _)), .. } => before.remove_folder(&self.room),
            Kind::Shared(_, Reach::Group) => {}
            Kind::Own { .. } | Kind::Shared(..) => remove::tree(&self.room),
        }
    }

    /// A target was started: where it has not inherited that it is ended first, it is said of it.
    pub(in crate::harness) fn started(&self, target: Pid) {
        if matches!(self.kind, Kind::Shared(_, Reach::Group)) {
            // It may have exited already.
            _ = fs::write(format!("/proc/{}/oom_score_adj", target.as_raw_nonzero()), "1000");
        }
    }

    /// The memory that the target and what it started use, in bytes.
    pub(in crate::harness) fn memory_used() -> u64 {
        descendants::memory(&descendants::living())
    }

    /// Kills the target and everything that it started, as far as it is held.
    pub(in crate::harness) fn kill_all(&self, target: Pid) {
        _ = kill_process_group(target, Signal::KILL);
        if !matches!(self.kind, Kind::Shared(_, Reach::Group)) {
            self.kill_rest();
        }
    }

    /// Kills everything that is held here.
    fn kill_rest(&self) {
        let is_first = matches!(self.kind, Kind::Own { processes: "namespace", .. });
        if is_first && getpid().is_init() {
            // All at once, which nobody outruns: for the first process these are all processes but itself.
            _ = kill_process_group(Pid::INIT, Signal::KILL);
        } else {
            descendants::kill(&descendants::living());
        }
    }

    /// Ends what outlived the target by more than its grace, and says what it was. Fails where that cannot be seen.
    pub(in crate::harness) fn sweep(&self, target: Pid, grace: Duration, api_port: u16) -> io::Result<Ended> {
        let mut ended = Ended::default();
        if matches!(self.kind, Kind::Shared(_, Reach::Group)) {
            _ = kill_process_group(target, Signal::KILL);
            return Ok(ended);
        }
        let patience = Instant::now() + grace;
        while descendants::reap() && descendants::are_living() && Instant::now() < patience {
            std::thread::sleep(LOOK);
        }
        ended.leftovers = descendants::living().into_iter().map(descendants::describe).collect();
        check_sight()?;
        // A socket lives as long as somebody holds it, and the kernel's list of them takes long to read.
        let has_network = matches!(self.kind, Kind::Own { network: Network::Own, .. });
        if has_network && !ended.leftovers.is_empty() {
            ended.listening = network::listening(api_port);
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
        check_sight()?;
        Ok(ended)
    }
}
