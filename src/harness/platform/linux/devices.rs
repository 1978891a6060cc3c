//! A `/dev` with nothing in it but what every program may use, and the kernel's settings as something to read.
//!
//! A read-only mount does not keep anybody from writing to a device, and root is root to the owner's bits of a file even
//! where it has no power: without this, a target that root runs could write to disks, to the kernel's log, to the user's
//! terminal, and say which program the kernel starts when another one crashes.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_bind_recursive, mount_remount,
    move_mount, open_tree, unmount,
};

pub(super) const PLACE: &str = "/dev";
/// What is kept of it, where it is there: devices that hold nothing, and memory to share.
const KEPT: [&str; 7] = ["null", "zero", "full", "random", "urandom", "tty", "shm"];
const LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
/// Where the kernel is told something by writing to a file.
pub(super) const SETTINGS_PLACE: &str = "/proc";
/// What there is in it, besides what belongs to a process.
const SETTINGS: [&str; 8] = ["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr"];

/// Covers `/dev`. The terminals in it are the target's own.
pub(super) fn cover() -> io::Result<()> {
    let whole =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    let place = Path::new(PLACE);
    let mut kept = Vec::new();
    for name in KEPT.map(|name| place.join(name)).into_iter().filter(|name| name.exists()) {
        kept.push((open_tree(CWD, &name, whole)?, name.is_dir(), name));
    }
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("clawgate", place, "tmpfs", flags, c"mode=0755,size=64k")?;
    furnish(place, kept).inspect_err(|_| _ = unmount(place, UnmountFlags::DETACH))
}

/// Puts what was kept into the empty place, and what is new.
fn furnish(place: &Path, kept: Vec<(OwnedFd, bool, PathBuf)>) -> io::Result<()> {
    for (tree, is_folder, name) in kept {
        if is_folder {
            fs::create_dir(&name)?;
        } else {
            File::create(&name)?;
        }
        move_mount(&tree, "", CWD, &name, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    }
    for (name, to) in LINKS {
        symlink(to, place.join(name))?;
    }
    let terminals = place.join("pts");
    fs::create_dir(&terminals)?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("clawgate", &terminals, "devpts", flags, c"newinstance,ptmxmode=0666,mode=620")?;
    Ok(())
}

/// Makes the kernel's settings read-only.
pub(super) fn fix_settings() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    for path in SETTINGS.map(|name| Path::new(SETTINGS_PLACE).join(name)).iter().filter(|path| path.exists())
    {
        mount_bind_recursive(path, path)?;
        mount_remount(path, MountFlags::BIND | MountFlags::RDONLY | flags, "")?;
    }
    Ok(())
}
