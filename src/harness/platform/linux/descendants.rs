//! What a process started, and what its children started.

use std::collections::HashSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process};

use super::system::found;
use crate::harness::supervise::Leftover;
use crate::text::clip;

/// More characters of a command line say no more.
const MOST_CHARACTERS: usize = 200;

/// Whether any descendant of this process lives. The first that is found is enough: there may be thousands, and none of them
/// waits while they are listed.
pub(super) fn are_living() -> bool {
    let mut found = children(getpid());
    while let Some(pid) = found.pop() {
        if !is_zombie(pid) {
            return true;
        }
        found.extend(children(pid));
    }
    false
}

/// Every living descendant of this process, parents first.
pub(super) fn living() -> Vec<Pid> {
    let mut found: Vec<Pid> = children(getpid());
    with_descendants(&mut found);
    found.retain(|pid| !is_zombie(*pid));
    found
}

/// Adds what these processes have started, parents first.
fn with_descendants(found: &mut Vec<Pid>) {
    let mut known: HashSet<Pid> = found.iter().copied().collect();
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        // A process may be adopted while we look; it is then listed twice and kept once.
        found.extend(children(pid).into_iter().filter(|child| known.insert(*child)));
        next += 1;
    }
}

fn children(pid: Pid) -> Vec<Pid> {
    let folder = format!("/proc/{}/task", pid.as_raw_nonzero());
    let tasks = found(fs::read_dir(folder)).into_iter().flatten().flatten();
    let mut children = Vec::new();
    for task in tasks {
        let list = found(fs::read_to_string(task.path().join("children"))).unwrap_or_default();
        let pids = list.split_ascii_whitespace().filter_map(|word| Pid::from_raw(word.parse().ok()?));
        children.extend(pids);
    }
    children
}

/// Whether the process has exited and only waits to be noticed. One that is gone counts as such.
fn is_zombie(pid: Pid) -> bool {
    matches!(state(pid), None | Some('Z' | 'X'))
}

/// Whether a signal has stopped the process.
pub(in crate::harness) fn is_stopped(pid: Pid) -> bool {
    state(pid) == Some('T')
}

fn state(pid: Pid) -> Option<char> {
    let stat = found(fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()))).unwrap_or_default();
    // The state follows the name, which is in brackets and may hold anything.
    stat.rsplit(") ").next().and_then(|rest| rest.chars().next())
}

/// The memory that these processes use, in bytes; what they share is counted for each.
pub(super) fn memory(pids: &[Pid]) -> u64 {
    let kilobytes = |pid: &Pid| -> Option<u64> {
        let status = found(fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().strip_suffix("kB")?.trim().parse().ok()
    };
    pids.iter().filter_map(kilobytes).sum::<u64>() * 1024
}

/// What the process is, for people.
pub(super) fn describe(pid: Pid) -> Leftover {
    let number = pid.as_raw_nonzero();
    let line = found(fs::read(format!("/proc/{number}/cmdline"))).unwrap_or_default();
    let mut command = String::from_utf8_lossy(&line).trim_end_matches('\0').replace('\0', " ");
    if command.is_empty() {
        let name = fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default();
        name.trim_end().clone_into(&mut command);
    }
    let command = clip(&command, MOST_CHARACTERS).into_owned();
    Leftover { pid: number.get().unsigned_abs(), command }
}

/// Ends what a run left behind when its supervisor was killed or stopped, which had known it: every process whose
/// environment names the run's room or that works there, what those have started, and what fell to this process when
/// the supervisor was gone.
pub(in crate::harness) fn end_strays(room: &Path, _: Option<Pid>) {
    /// A process that starts others faster than they are found is given up.
    const ROUNDS: usize = 20;
    for _ in 0..ROUNDS {
        let strays = strays(room);
        if strays.is_empty() {
            return;
        }
        kill(&strays);
        for stray in strays {
            // Those that fell to this process wait to be noticed by it.
            _ = rustix::process::waitpid(Some(stray), WaitOptions::NOHANG);
        }
    }
}

fn strays(room: &Path) -> Vec<Pid> {
    let own = getpid();
    let is_of_room = |pid: &Pid| {
        let number = pid.as_raw_nonzero();
        let environment = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
        let works_there = fs::read_link(format!("/proc/{number}/cwd")).is_ok_and(|cwd| cwd.starts_with(room));
        works_there || memchr::memmem::find(&environment, room.as_os_str().as_bytes()).is_some()
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    let mut found: Vec<Pid> = pids.filter(|pid| *pid != own && is_of_room(pid)).collect();
    if adopts() {
        let supervisors = SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner);
        found.extend(children(own).into_iter().filter(|pid| !supervisors.contains(pid)));
    }
    with_descendants(&mut found);
    found.retain(|pid| *pid != own && !is_zombie(*pid));
    found
}

/// Makes this process the heir of what its supervisors held, should one be killed, and its environment nobody's to read. Only
/// for clawgate itself: while cases run it has no other children than supervisors, which nobody can say of a test program.
#[cfg(feature = "cli")]
pub(in crate::harness) fn this_is_clawgate() {
    // Where it is refused, strays are known by their room alone.
    _ = rustix::process::set_child_subreaper(Some(getpid()));
    // A target of the same user could read the environment of this process otherwise, where the keys are.
    _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

fn adopts() -> bool {
    rustix::process::child_subreaper().is_ok_and(|heir| heir.is_some())
}

/// The supervisors that this process has started.
static SUPERVISORS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

pub(in crate::harness) fn remember_supervisor(pid: Pid) {
    SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner).push(pid);
}

pub(in crate::harness) fn forget_supervisor(pid: Pid) {
    SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner).retain(|known| *known != pid);
}

/// Kills these processes; those that are gone already are no failure.
pub(super) fn kill(pids: &[Pid]) {
    for pid in pids {
        _ = kill_process(*pid, Signal::KILL);
    }
}

/// Collects the children that have exited; whether any child is left.
pub(super) fn reap() -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}
