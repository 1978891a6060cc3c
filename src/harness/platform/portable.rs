//! What POSIX alone can do: the target's process group is all that holds it, and nothing keeps it apart from the machine.
//!
//! A child that leaves the group is neither found nor ended, what is written outside the room is not known, and memory is not
//! watched. Every recording says so, and so does the terminal.

use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
#[cfg(feature = "cli")]
use std::process::Command;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid,
};
use rustix::pty::OpenptFlags;

use super::super::remove;
use super::super::supervise::{Channel, Ended, Isolation, LOOK, Leftover, MOST_TO_DIE, Place, View};
use super::super::threads;

/// What the recording says of everything that the target is not kept apart from.
const REASON: &str = "this build of clawgate has process groups and nothing else to hold it";

/// Nobody is signalled for a reader who is gone: Rust ignores the signal.
pub(in crate::harness) const SEND: SendFlags = SendFlags::empty();
pub(in crate::harness) const RECEIVE: RecvFlags = RecvFlags::empty();
pub(in crate::harness) const OPEN_TERMINAL: OpenptFlags = OpenptFlags::RDWR.union(OpenptFlags::NOCTTY);

/// What a supervisor has made before its first case: nothing.
pub(in crate::harness) struct Surroundings {
    /// The room of the case, and whether the supervisor removes it when the harness is gone.
    room: PathBuf,
    is_process: bool,
}

/// Becomes readable when a child of this process has exited. The child waits to be noticed all the same.
pub(in crate::harness) fn ending(child: Pid) -> io::Result<OwnedFd> {
    let (hear, mut say) = io::pipe()?;
    threads::spawn("waits", move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(child), options) {}
        // Whoever has stopped listening knows already.
        _ = say.write_all(b"x");
    })?;
    Ok(hear.into())
}

impl Surroundings {
    /// Whatever a supervisor is asked for, it makes nothing.
    #[expect(clippy::unnecessary_wraps, reason = "on Linux much can fail here")]
    pub(in crate::harness) fn begin(_: View, _: &Channel) -> io::Result<ControlFlow<ExitCode, Self>> {
        Ok(ControlFlow::Continue(Self { room: PathBuf::new(), is_process: true }))
    }

    /// What there is on a thread of the harness.
    pub(in crate::harness) fn of_thread() -> Self {
        Self { room: PathBuf::new(), is_process: false }
    }

    #[expect(clippy::unnecessary_wraps, reason = "on Linux much can fail here")]
    pub(in crate::harness) fn prepare(&mut self, room: PathBuf, _: u64) -> io::Result<Place> {
        self.room = room;
        Ok(Place { isolation: Isolation::none("group", REASON), listener: None, room: None })
    }

    /// The harness died without a word: nobody else is left to remove the room.
    pub(in crate::harness) fn remove_room(&mut self) {
        if self.is_process {
            remove::tree(&self.room);
        }
    }

    #[expect(clippy::unused_self, reason = "on Linux it depends on what was made")]
    pub(in crate::harness) fn started(&self, _: Pid) {}

    /// Nobody knows.
    pub(in crate::harness) fn memory_used() -> u64 {
        0
    }

    #[expect(clippy::unused_self, reason = "on Linux it depends on what was made")]
    pub(in crate::harness) fn kill_all(&self, target: Pid) {
        _ = kill_process_group(target, Signal::KILL);
    }

    /// Ends what is left of the target's group after its grace, and says that there was something. The dead count until the
    /// system has collected them.
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere it may fail")]
    pub(in crate::harness) fn sweep(&self, target: Pid, grace: Duration, _: u16) -> io::Result<Ended> {
        let is_left = || test_kill_process_group(target).is_ok();
        let patience = Instant::now() + grace;
        while is_left() && Instant::now() < patience {
            std::thread::sleep(LOOK);
        }
        let mut ended = Ended::default();
        if is_left() {
            let pid = target.as_raw_nonzero().get().unsigned_abs();
            ended
                .leftovers
                .push(Leftover { pid, command: "(something of the target's process group)".into() });
        }
        let limit = Instant::now() + MOST_TO_DIE;
        while is_left() {
            self.kill_all(target);
            if Instant::now() > limit {
                ended.survivors = true;
                break;
            }
            std::thread::sleep(LOOK / 4);
        }
        Ok(ended)
    }
}

#[cfg(feature = "cli")]
pub(in crate::harness) fn this_is_clawgate() {}

pub(in crate::harness) fn remember_supervisor(_: Pid) {}

pub(in crate::harness) fn forget_supervisor(_: Pid) {}

/// What this process may use of the machine: here nobody looks.
#[derive(Debug, PartialEq)]
pub(in crate::harness) struct Means;

impl Means {
    pub(in crate::harness) fn now() -> Self {
        Self
    }
}

/// Nobody can see it.
pub(in crate::harness) fn is_stopped(_: Pid) -> bool {
    false
}

/// Ends the group of a target whose supervisor is gone.
pub(in crate::harness) fn end_strays(_: &Path, target: Option<Pid>) {
    if let Some(target) = target {
        _ = kill_process_group(target, Signal::KILL);
    }
}

/// A pipe is as large as it is.
pub(in crate::harness) fn enlarge_pipe(_: impl AsFd, _: usize) {}

/// No file system is reached by a descriptor alone here.
pub(in crate::harness) fn path_of(held: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/dev/fd/{}", held.as_raw_fd()))
}

pub(in crate::harness) fn memory() -> Option<PathBuf> {
    None
}

pub(in crate::harness) fn memory_limit() -> Option<u64> {
    None
}

pub(in crate::harness) fn make_mutable(_: &Path) {}

/// A program whose starter is killed goes on until it is done.
#[cfg(feature = "cli")]
pub(crate) fn end_with_us(_: &mut Command) {}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command, Stdio};

    use rustix::event::{PollFd, PollFlags, poll};

    use super::*;

    /// A shell in a group of its own, which tells its child's end by a pipe that only that child holds.
    fn started(script: &str) -> (Child, io::PipeReader) {
        let (hear, hold) = io::pipe().unwrap();
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script]).stdin(Stdio::null()).stdout(hold).process_group(0);
        (shell.spawn().unwrap(), hear)
    }

    #[test]
    fn an_exit_is_noticed_and_waits_to_be_collected() {
        let (mut child, _) = started("exit 7");
        let notice = ending(Pid::from_child(&child)).unwrap();
        poll(&mut [PollFd::new(&notice, PollFlags::IN)], None).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(7));
    }

    #[test]
    fn what_is_left_of_a_group_is_told_and_ended() {
        for (script, count) in [("sleep 86501 & exit 0", 1), ("exit 0", 0)] {
            let (mut child, mut held) = started(script);
            child.wait().unwrap();
            let ended = Surroundings::of_thread().sweep(Pid::from_child(&child), Duration::ZERO, 0).unwrap();
            assert_eq!((ended.leftovers.len(), ended.survivors), (count, false), "{script}");
            // Nobody writes to it any more.
            io::copy(&mut held, &mut io::sink()).unwrap();
        }
    }

    #[test]
    fn nothing_is_claimed() {
        let place = Surroundings::of_thread().prepare("/nowhere".into(), 0).unwrap();
        assert!(place.listener.is_none() && place.room.is_none());
        let missing = place.isolation.missing().unwrap();
        assert!(missing.starts_with("network, files, processes ("), "{missing}");
    }
}
