//! What a process started, and what its children started.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::process::{Pid, Signal, WaitOptions, kill_process};

use super::message::Leftover;
use crate::text::clip;

/// More characters of a command line say no more.
const MOST_CHARACTERS: usize = 200;

/// Every living descendant of this process, parents first.
pub(super) fn living() -> Vec<Pid> {
    let mut found: Vec<Pid> = children(rustix::process::getpid());
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        // A process may be adopted while we look; it is then listed twice and kept once.
        for child in children(pid) {
            if !found.contains(&child) {
                found.push(child);
            }
        }
        next += 1;
    }
    found.retain(|pid| !is_zombie(*pid));
    found
}

fn children(pid: Pid) -> Vec<Pid> {
    let folder = format!("/proc/{}/task", pid.as_raw_nonzero());
    let tasks = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for task in tasks {
        let list = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        let pids = list.split_ascii_whitespace().filter_map(|word| Pid::from_raw(word.parse().ok()?));
        found.extend(pids);
    }
    found
}

/// Whether the process has exited and only waits to be noticed. One that is gone counts as such.
fn is_zombie(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    // The state follows the name, which is in brackets and may hold anything.
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    !matches!(state, Some(state) if state != 'Z' && state != 'X')
}

/// What the process is, for people.
pub(super) fn describe(pid: Pid) -> Leftover {
    let number = pid.as_raw_nonzero();
    let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
    let mut command = String::from_utf8_lossy(&line).trim_end_matches('\0').replace('\0', " ");
    if command.is_empty() {
        let name = fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default();
        name.trim_end().clone_into(&mut command);
    }
    let command = clip(&command, MOST_CHARACTERS).into_owned();
    Leftover { pid: number.get().unsigned_abs(), command }
}

/// Ends what a run left behind when its supervisor was killed, which had known it: every process whose environment names
/// the run's room.
pub(crate) fn end_strays(room: &Path) {
    /// A process that starts others faster than they are found is given up.
    const ROUNDS: usize = 20;
    for _ in 0..ROUNDS {
        let strays = strays(room);
        if strays.is_empty() {
            return;
        }
        kill(&strays);
    }
}

fn strays(room: &Path) -> Vec<Pid> {
    let room = room.as_os_str().as_bytes();
    let own = rustix::process::getpid();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    pids.filter(|pid| *pid != own && !is_zombie(*pid))
        .filter(|pid| {
            let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).unwrap_or_default();
            memchr::memmem::find(&environment, room).is_some()
        })
        .collect()
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
