//! A view of the machine that is the target's alone: its network, its files, its processes, its user.
//!
//! A process cannot move itself into a new tree of processes, only what it starts afterwards. So the supervisor starts
//! itself again as the first process there, and waits for it; where the kernel refuses that, it goes on without.

use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use rustix::mount::{MountFlags, mount};
use rustix::process::{Signal, getgid, getuid, set_parent_process_death_signal};
use rustix::thread::{
    CapabilitySet, CapabilitySets, UnshareFlags, capabilities, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
    unshare_unsafe,
};

use super::{network, protect};
use crate::harness::supervise::view::{Network, View};

/// The user that a target believes to be. Not root: a target must meet the permissions that a user meets.
const USER_INSIDE: u32 = 1000;
/// How the first process of a namespace says that it cannot be one.
const REFUSED: u8 = 77;

/// Moves this process into a view of the file system of its own, and a network unless that is shared.
pub(super) fn enter_files(network: Network) -> io::Result<()> {
    leave_with(UnshareFlags::NEWUSER | UnshareFlags::NEWNS, network)
}

fn leave_with(flags: UnshareFlags, network: Network) -> io::Result<()> {
    match network {
        Network::Shared => leave(flags),
        Network::Own => {
            leave(flags | UnshareFlags::NEWNET)?;
            network::raise_loopback()
        }
    }
}

/// Starts this program again as the first process of a namespace, in that network, with the same socket, and waits for its
/// end. The error says why there can be none.
pub(super) fn enter_processes(command: &str, network: Network) -> Result<ExitCode, String> {
    let start = || -> io::Result<Option<i32>> {
        let sockets = protect::sockets();
        leave_with(UnshareFlags::NEWUSER | UnshareFlags::NEWPID, network)?;
        keep_capabilities()?;
        let socket = io::stdin().as_fd().try_clone_to_owned()?;
        let mut first = Command::new(std::env::current_exe()?)
            .args([command, View::First(network).word()])
            .args(sockets)
            .env_clear()
            .stdin(Stdio::from(socket))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(first.wait()?.code())
    };
    match start().map_err(|error| error.to_string())? {
        Some(0) => Ok(ExitCode::SUCCESS),
        Some(code) if code == i32::from(REFUSED) => Err("it cannot have a /proc of its own".to_owned()),
        _ => Ok(ExitCode::FAILURE),
    }
}

/// The sockets that this process was told to hide when it was started: in its own network it does not see them.
pub(super) fn sockets_to_hide() -> Vec<PathBuf> {
    const WORDS: usize = 3;
    std::env::args_os().skip(WORDS).map(PathBuf::from).collect()
}

/// Makes this process, which is the first of its namespace, see what belongs to it; the exit code that says why it cannot.
pub(super) fn begin_as_first() -> Result<(), ExitCode> {
    let begin = || -> io::Result<()> {
        // With the one outside everything ends that is held here.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // What this process may do is not for what it starts.
        clear_ambient_capability_set()?;
        let sets = capabilities(None)?;
        set_capabilities(None, CapabilitySets { inheritable: CapabilitySet::empty(), ..sets })?;
        leave_mounts()?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        Ok(mount("proc", "/proc", "proc", flags, None)?)
    };
    begin().map_err(|_| ExitCode::from(REFUSED))
}

/// Leaves behind what processes have shared until now without files: System V's memory, queues and semaphores, and POSIX's
/// queues. What one case leaves there is not found by the next.
pub(super) fn leave_shared_memory() -> io::Result<()> {
    unshare(UnshareFlags::NEWIPC)
}

/// Takes from what this process starts whatever a program's file could give it: with the powers of this view a target could
/// uncover what is covered.
pub(super) fn give_up_powers_of_files() {
    for capability in CapabilitySet::all().iter() {
        // One that this version of the kernel does not know is given by nobody.
        _ = remove_capability_from_bounding_set(capability);
    }
}

/// Takes a view of the file system of its own; the user is one who may.
fn leave_mounts() -> io::Result<()> {
    unshare(UnshareFlags::NEWNS)
}

/// Leaves what is shared, as a user who may do everything there and nothing elsewhere.
fn leave(flags: UnshareFlags) -> io::Result<()> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    unshare(flags)?;
    // Group ids can only be mapped by a process that has given up changing them.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{USER_INSIDE} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{USER_INSIDE} {group} 1"))
}

#[expect(unsafe_code, reason = "the call is only unsafe for the file table, which stays shared here")]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: no flag that is used here concerns the table of file descriptors.
    Ok(unsafe { unshare_unsafe(flags) }?)
}

/// Who is not root loses with the next program what he may do, unless it is ambient.
fn keep_capabilities() -> io::Result<()> {
    let mut sets = capabilities(None)?;
    sets.inheritable = sets.permitted;
    set_capabilities(None, sets)?;
    for capability in sets.permitted.iter().filter(|capability| CapabilitySet::all().contains(*capability)) {
        // One that this version of the kernel does not know is needed by nobody.
        _ = configure_capability_in_ambient_set(capability, true);
    }
    Ok(())
}
