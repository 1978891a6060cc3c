//! Small things that Linux can do and others cannot, or do otherwise.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
#[cfg(feature = "cli")]
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
#[cfg(feature = "cli")]
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Access, IFlags, OFlags, StatVfsMountFlags, ioctl_getflags, ioctl_setflags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use rustix::pipe::fcntl_setpipe_size;
use rustix::process::{Resource, Rlimit, getrlimit};
use rustix::pty::OpenptFlags;
use rustix::thread::{CpuSet, sched_getaffinity};

/// A reader who is gone is an error and no signal.
pub(in crate::harness) const SEND: SendFlags = SendFlags::NOSIGNAL;
/// What comes along is for this process alone.
pub(in crate::harness) const RECEIVE: RecvFlags = RecvFlags::CMSG_CLOEXEC;
/// So is a new terminal.
pub(in crate::harness) const OPEN_TERMINAL: OpenptFlags =
    OpenptFlags::RDWR.union(OpenptFlags::NOCTTY).union(OpenptFlags::CLOEXEC);

/// Lets a pipe hold so many bytes. A user whose pipes use up their allowance gets a smaller one.
pub(in crate::harness) fn enlarge_pipe(pipe: impl AsFd, bytes: usize) {
    _ = fcntl_setpipe_size(pipe, bytes);
}

/// Whether something could not be looked at for want of descriptors or memory.
static BLIND: AtomicBool = AtomicBool::new(false);

/// What was found of a target; none where it is gone. A target can lower the limits of whoever has its user, and would not be
/// seen by one that cannot open anything: that is remembered.
pub(super) fn found<T>(looked: io::Result<T>) -> Option<T> {
    let blinding = [Errno::MFILE, Errno::NFILE, Errno::NOMEM].map(Errno::raw_os_error);
    if let Err(error) = &looked
        && error.raw_os_error().is_some_and(|code| blinding.contains(&code))
    {
        BLIND.store(true, Ordering::Relaxed);
    }
    looked.ok()
}

/// Fails where anything could not be looked at since this was last asked.
pub(super) fn check_sight() -> io::Result<()> {
    if BLIND.swap(false, Ordering::Relaxed) {
        return Err(io::Error::other("nothing can be opened any more"));
    }
    Ok(())
}

fn turns(stat: &str) -> Option<(String, String)> {
    // What follows the name, which is in brackets and may hold anything.
    let mut fields = stat.rsplit(") ").next()?.split_ascii_whitespace().skip(16);
    Some((fields.next()?.to_owned(), fields.nth(21)?.to_owned()))
}

/// What this process may use of the machine, and what it starts inherits. A target can change it for whoever has its user.
#[derive(Debug, PartialEq)]
pub(in crate::harness) struct Means {
    limits: Vec<Rlimit>,
    /// Niceness and policy, by which the scheduler goes.
    turns: Option<(String, String)>,
    processors: Option<CpuSet>,
}

impl Means {
    pub(in crate::harness) fn now() -> Self {
        const LIMITS: [Resource; 11] = [
            Resource::As,
            Resource::Core,
            Resource::Cpu,
            Resource::Data,
            Resource::Fsize,
            Resource::Memlock,
            Resource::Msgqueue,
            Resource::Nofile,
            Resource::Nproc,
            Resource::Sigpending,
            Resource::Stack,
        ];
        Self {
            limits: LIMITS.map(getrlimit).into(),
            turns: found(fs::read_to_string("/proc/self/stat")).and_then(|stat| turns(&stat)),
            processors: sched_getaffinity(None).ok(),
        }
    }
}

/// A path by which this process reaches what it holds open.
pub(in crate::harness) fn path_of(held: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()))
}

/// A place for temporary files in memory, where there is enough of it.
pub(in crate::harness) fn memory() -> Option<PathBuf> {
    const MEMORY: &str = "/dev/shm";
    const ENOUGH: u64 = 1 << 30;
    let is_fit = rustix::fs::statvfs(MEMORY).is_ok_and(|system| {
        let unfit = StatVfsMountFlags::NOEXEC | StatVfsMountFlags::RDONLY;
        !system.f_flag.intersects(unfit) && system.f_bavail.saturating_mul(system.f_frsize) >= ENOUGH
    }) && rustix::fs::access(MEMORY, Access::WRITE_OK).is_ok();
    is_fit.then(|| MEMORY.into())
}

/// The memory of the machine, or what the control group of this process leaves of it.
pub(in crate::harness) fn memory_limit() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_group = group(&groups).into_iter().flat_map(|group| {
        // Every group above sets a limit too.
        let folder = Path::new("/sys/fs/cgroup").join(group.trim_start_matches('/'));
        let folders: Vec<_> = folder.ancestors().map(Path::to_owned).collect();
        folders.into_iter().filter_map(|folder| number(&fs::read_to_string(folder.join("memory.max")).ok()?))
    });
    // Where each controller has a tree of its own, in which a container sees its group as the top.
    let old = old_group(&groups).unwrap_or_default().trim_start_matches('/');
    let old = Path::new("/sys/fs/cgroup/memory").join(old);
    let of_old = old
        .ancestors()
        .filter_map(|folder| number(&fs::read_to_string(folder.join("memory.limit_in_bytes")).ok()?));
    machine.into_iter().chain(of_group).chain(of_old).min()
}

fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    number(line.trim().strip_suffix("kB")?)?.checked_mul(1024)
}

/// The group of this process in the one tree of groups, where there is one.
fn group(groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| line.strip_prefix("0::"))
}

/// The group of this process in the tree of those that limit memory, where that is one of its own.
fn old_group(groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|name| name == "memory").then_some(group)
    })
}

fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// Takes back `chattr +i` and `chattr +a`, which root can give a file.
pub(in crate::harness) fn make_mutable(path: &Path) {
    // A pipe would be waited for, and a link leads elsewhere.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let Ok(file) = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path) else {
        return;
    };
    if let Ok(flags) = ioctl_getflags(&file) {
        _ = ioctl_setflags(&file, flags.difference(IFlags::IMMUTABLE | IFlags::APPEND));
    }
}

/// Has the kernel end a program when this thread does, which waits for it: nobody else would if clawgate is killed.
#[cfg(feature = "cli")]
#[expect(unsafe_code, reason = "only the child itself can ask for it")]
pub(crate) fn end_with_us(command: &mut Command) {
    use rustix::process::{Signal, set_parent_process_death_signal};
    let ask = || Ok(set_parent_process_death_signal(Some(Signal::TERM))?);
    // SAFETY: between fork and exec there is one system call, no allocation and no lock.
    unsafe {
        command.pre_exec(ask);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_as_the_kernel_says_it() {
        assert_eq!(total("MemFree: 1 kB\nMemTotal:       2048 kB\n"), Some(2 << 20));
        assert_eq!(group("1:name=x:/a\n0::/user.slice/b\n"), Some("/user.slice/b"));
        assert_eq!(old_group("9:cpu:/c\n4:cpuset,memory:/a/b\n0::/x\n"), Some("/a/b"));
        assert_eq!((number("max\n"), number("17\n")), (None, Some(17)));
    }

    #[test]
    fn niceness_and_policy_stand_behind_a_name_that_may_hold_anything() {
        let numbers: Vec<String> = (4..53).map(|number| number.to_string()).collect();
        let stat = format!("17 (a) S b) S {}\n", numbers.join(" "));
        assert_eq!(turns(&stat), Some(("19".into(), "41".into())));
        assert_eq!(Means::now(), Means::now());
    }

    #[test]
    fn what_nobody_may_change_goes_too() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("top");
        fs::create_dir_all(top.join("fixed/inner")).unwrap();
        fs::write(top.join("fixed/file"), "x").unwrap();
        let fix = |path: &Path| {
            let file = File::open(path).unwrap();
            ioctl_getflags(&file).and_then(|flags| ioctl_setflags(&file, flags | IFlags::IMMUTABLE))
        };
        let paths = ["fixed/file", "fixed/inner", "fixed"].map(|name| top.join(name));
        // Only root may, and not on every file system.
        let is_fixed = paths.iter().all(|path| fix(path).is_ok());
        assert!(!is_fixed || fs::remove_file(top.join("fixed/file")).is_err());
        crate::harness::remove::tree(&top);
        assert!(!top.exists());
    }
}
