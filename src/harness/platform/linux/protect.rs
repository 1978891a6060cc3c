//! Nothing but a case's own places can be written: every mount that is seen becomes read-only, the places where a machine
//! keeps its sockets are empty, and of its devices only the harmless ones are left (`devices`).

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD};
use rustix::mount::{
    MountFlags, OpenTreeFlags, UnmountFlags, mount, mount_bind, mount_remount, open_tree, unmount,
};

use super::devices;
use crate::harness::supervise::view::Network;

/// Where a machine keeps sockets through which its services can be asked.
const SOCKETS: [&str; 2] = ["/run", "/var/run"];
/// Says who knows the names of the network.
const RESOLVER: &str = "/etc/resolv.conf";
/// Processes write to what is their own in `/proc`, and terminals have to be written.
const LEFT_ALONE: [(&str, Option<&str>); 2] = [("proc", Some("/proc")), ("devpts", None)];
/// More names say no more.
const MOST_NAMES: usize = 5;

/// The file system as it was, seen by nobody else: what is left of a room that its harness can no longer remove is removed
/// through it.
#[derive(Debug)]
pub(super) struct Before(OwnedFd);

impl Before {
    /// Removes the empty directory that a room was mounted on.
    pub(super) fn remove_folder(&self, folder: &Path) {
        let inside = folder.strip_prefix("/").unwrap_or(folder);
        // Its harness may have done so itself.
        _ = rustix::fs::unlinkat(&self.0, inside, AtFlags::REMOVEDIR);
    }
}

/// Makes everything read-only that this process sees. What it was, and which places can be written all the same.
///
/// Where the network is the machine's, so are the addresses of those who know its names, which may stand among the sockets.
pub(super) fn protect(network: Network, sockets: &[PathBuf]) -> io::Result<(Before, Vec<String>)> {
    let whole =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    let before = Before(open_tree(CWD, "/", whole)?);
    let mut writable: Vec<String> =
        devices::cover().err().map(|_| devices::PLACE.to_owned()).into_iter().collect();
    for place in mounts(&fs::read_to_string("/proc/self/mountinfo")?) {
        let is_left_alone = LEFT_ALONE
            .iter()
            .any(|(kind, at)| place.kind == *kind && at.is_none_or(|at| place.path == Path::new(at)));
        if place.is_read_only || is_left_alone || mount_remount(&place.path, place.read_only(), "").is_ok() {
            continue;
        }
        // One that another mount covers cannot be reached, nor can one that its user may not look at.
        if rustix::fs::access(&place.path, rustix::fs::Access::WRITE_OK).is_ok()
            && writable.len() < MOST_NAMES
        {
            writable.push(place.path.display().to_string());
        }
    }
    if devices::fix_settings().is_err() {
        writable.push(devices::SETTINGS_PLACE.to_owned());
    }
    let resolver = fs::canonicalize(RESOLVER).ok().filter(|_| network == Network::Shared);
    let resolver = resolver.and_then(|path| Some((fs::read(&path).ok()?, path)));
    for place in SOCKETS {
        if fs::symlink_metadata(place).is_ok_and(|found| found.is_dir()) {
            let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            mount("clawgate", place, "tmpfs", flags, c"mode=0755,size=64k")?;
            if let Some((text, path)) = resolver.as_ref().filter(|(_, path)| path.starts_with(place)) {
                fs::create_dir_all(path.parent().unwrap_or(path))?;
                fs::write(path, text)?;
            }
            mount_remount(place, MountFlags::BIND | MountFlags::RDONLY | flags, "")?;
        }
    }
    for socket in sockets {
        // One that is gone, or that this user does not reach, needs no cover.
        _ = mount_bind("/dev/null", socket);
    }
    Ok((before, writable))
}

/// The sockets at which somebody listens that the target would see: neither a read-only mount nor a network of its own keeps
/// it from them. Those in the places that are covered anyway are left out.
pub(super) fn sockets() -> Vec<PathBuf> {
    listening(&fs::read_to_string("/proc/self/net/unix").unwrap_or_default())
}

fn listening(list: &str) -> Vec<PathBuf> {
    const COVERED: [&str; 5] = ["/run", "/var/run", "/tmp", "/var/tmp", "/dev"];
    /// More are not hidden; as many fit into a command line.
    const MOST: usize = 4096;
    let path = |line: &str| line.find(" /").map(|at| PathBuf::from(&line[at + 1..]));
    let is_seen = |path: &PathBuf| !COVERED.iter().any(|place| path.starts_with(place));
    let mut paths: Vec<PathBuf> = list.lines().skip(1).filter_map(path).filter(is_seen).collect();
    paths.sort_unstable();
    paths.dedup();
    paths.truncate(MOST);
    paths
}

/// Lets a room be written that is no file system of its own.
pub(super) fn open(room: &Path) -> io::Result<()> {
    mount_bind(room, room)?;
    // What the machine's mount forbids besides writing cannot be taken back, and nobody says here what it is.
    let restrictions = [
        MountFlags::empty(),
        MountFlags::NOSUID | MountFlags::NODEV,
        MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC,
    ];
    let mut tried = restrictions.into_iter().map(|flags| mount_remount(room, MountFlags::BIND | flags, ""));
    if tried.any(|done| done.is_ok()) { Ok(()) } else { Err(io::ErrorKind::ReadOnlyFilesystem.into()) }
}

/// Undoes [`open()`]. The directory may be gone, or was never opened.
pub(super) fn close(room: &Path) {
    _ = unmount(room, UnmountFlags::DETACH);
}

/// One line of the kernel's list of mounts.
pub(super) struct Mounted {
    pub(super) path: PathBuf,
    kind: String,
    is_read_only: bool,
    /// What it may not be used for; a mount that came from elsewhere cannot lose such a restriction.
    flags: MountFlags,
}

impl Mounted {
    fn read_only(&self) -> MountFlags {
        MountFlags::BIND | MountFlags::RDONLY | self.flags
    }
}

pub(super) fn mounts(list: &str) -> Vec<Mounted> {
    list.lines().filter_map(mounted).collect()
}

fn mounted(line: &str) -> Option<Mounted> {
    let (of_mount, of_system) = line.split_once(" - ")?;
    let mut words = of_mount.split(' ').skip(4);
    let (path, options) = (words.next()?, words.next()?);
    let mut flags = MountFlags::empty();
    for option in options.split(',') {
        flags |= match option {
            "nosuid" => MountFlags::NOSUID,
            "nodev" => MountFlags::NODEV,
            "noexec" => MountFlags::NOEXEC,
            _ => MountFlags::empty(),
        };
    }
    let is_read_only = options.split(',').any(|option| option == "ro");
    Some(Mounted {
        path: unescaped(path),
        kind: of_system.split(' ').next()?.to_owned(),
        is_read_only,
        flags,
    })
}

/// A path of that list: space, tab, newline and backslash are written as three octal digits.
fn unescaped(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| byte == b'\\').and_then(|digits| str::from_utf8(digits).ok());
        if let Some(code) = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            bytes.push(code);
            rest = &after[3..];
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_known_by_their_paths() {
        let list = "Num       RefCount Protocol Flags    Type St Inode Path\n\
                    ffff: 00000002 00000000 00010000 0001 01 17 /home/me/.ssh/agent/a b\n\
                    ffff: 00000002 00000000 00010000 0001 01 18 @/tmp/.X11-unix/X0\n\
                    ffff: 00000003 00000000 00000000 0001 03 19\n\
                    ffff: 00000003 00000000 00000000 0001 03 20 /home/me/.ssh/agent/a b\n\
                    ffff: 00000002 00000000 00010000 0001 01 21 /run/docker.sock\n";
        assert_eq!(listening(list), [PathBuf::from("/home/me/.ssh/agent/a b")]);
        let line = |number| format!("ffff: 00000002 00000000 00010000 0001 01 {number} /srv/{number}.sock\n");
        let many: String = (0..1000).map(line).collect();
        assert_eq!(listening(&format!("Num Path\n{many}")).len(), 1000);
    }

    #[test]
    fn a_mount_is_read_with_its_restrictions_and_odd_names() {
        let line =
            r"36 35 98:0 /mnt1 /mnt/a\040b\134c rw,nosuid,noexec,relatime master:1 - ext4 /dev/root rw";
        let found = mounted(line).unwrap();
        assert_eq!((found.path.to_str().unwrap(), found.kind.as_str()), (r"/mnt/a b\c", "ext4"));
        assert!(!found.is_read_only);
        assert_eq!(found.flags, MountFlags::NOSUID | MountFlags::NOEXEC);
        assert!(mounted("36 35 0:5 / /x ro,nodev - tmpfs x rw").unwrap().is_read_only);
        assert!(mounted("nonsense").is_none());
    }
}
