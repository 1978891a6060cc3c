//! The places that a case may write, as file systems of its own: its room, and layers over the places outside of it that
//! every program writes to.
//!
//! The target sees in those what is there and may change it; its changes stand in the layer, where they are found when it
//! has ended and vanish with it. Room and layers share one bound, so that a target can fill its own disk and no other.

use std::ffi::{CString, OsString};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_bind, move_mount, open_tree,
    unmount,
};

use super::protect;
use super::system::{found, path_of};

const PLACES: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// More names say no more.
const MOST_NAMES: usize = 100;
/// A tree deeper than this is not walked.
const MOST_DEPTH: usize = 32;
/// A file system has room for one file in so many bytes.
const BYTES_A_FILE: u64 = 4096;

/// Beside mounts there may stand so much, each with a layer of its own; a place with more is not covered.
const MOST_BESIDE: usize = 2000;

/// The room and the layers over the places.
#[derive(Debug)]
pub(super) struct Outside {
    room: PathBuf,
    /// Where the layers stand, which have no path once their place is covered.
    base: OwnedFd,
    /// What each covers, and the name of what was changed there.
    layers: Vec<(PathBuf, String)>,
    /// Numbers what is made in the base.
    made: usize,
    /// Everything that is mounted, read when it is needed.
    mounts: Option<Vec<PathBuf>>,
}

impl Outside {
    /// Makes the room a file system of so many bytes and covers the places, in this process's own mount namespace. Either
    /// all of them are covered or none. The room comes along as a descriptor: the harness sees no mount of this process.
    pub(super) fn cover(room: &Path, most_bytes: u64) -> io::Result<(Self, OwnedFd)> {
        let files = (most_bytes / BYTES_A_FILE).max(1024);
        let options = CString::new(format!("mode=0700,size={most_bytes},nr_inodes={files}"))?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("clawgate", room, "tmpfs", flags, options.as_c_str())?;
        let base = rustix::fs::open(room, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let base = base.inspect_err(|_| _ = unmount(room, UnmountFlags::DETACH))?;
        // From here on, what is done is undone with the value.
        let mut outside = Self { room: room.to_owned(), base, layers: Vec::new(), made: 0, mounts: None };
        let view = outside.make("view")?;
        // The target sees the view alone.
        let tree = open_tree(CWD, &view, OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC)?;
        let inside = rustix::fs::open(&view, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        for place in PLACES.map(Path::new) {
            if fs::symlink_metadata(place).is_ok_and(|found| found.is_dir()) {
                outside.cover_place(place, place)?;
            }
        }
        move_mount(&tree, "", CWD, room, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
        Ok((outside, inside))
    }

    /// Makes a directory in the base.
    fn make(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.in_base(name);
        fs::create_dir(&path)?;
        Ok(path)
    }

    fn in_base(&self, name: &str) -> PathBuf {
        path_of(&self.base).join(name)
    }

    /// Covers a place so that everything in it is seen; `found` leads to it even after the place above it was covered.
    fn cover_place(&mut self, place: &Path, found: &Path) -> io::Result<()> {
        match self.put_layer(place, found) {
            // The kernel lets nobody see what a mount hides, and a layer over the whole would show it.
            Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
                if self.is_above_a_mount(place)? { self.cover_entries(place, found) } else { Err(error) }
            }
            done => done,
        }
    }

    fn put_layer(&mut self, place: &Path, lower: &Path) -> io::Result<()> {
        let number = self.made;
        self.made += 1;
        let name = format!("{number}-upper");
        let (upper, work) = (self.make(&name)?, self.make(&format!("{number}-work"))?);
        take_mode(&upper, &fs::metadata(lower)?)?;
        let mut options = OsString::from("lowerdir=");
        options.push(lower);
        options.push(format!(",upperdir={},workdir={},userxattr", upper.display(), work.display()));
        let options = CString::new(options.into_vec())?;
        mount("clawgate", place, "overlay", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())?;
        self.layers.push((place.to_owned(), name));
        Ok(())
    }

    fn is_above_a_mount(&mut self, place: &Path) -> io::Result<bool> {
        if self.mounts.is_none() {
            let list = fs::read_to_string("/proc/self/mountinfo")?;
            self.mounts = Some(protect::mounts(&list).into_iter().map(|mount| mount.path).collect());
        }
        let is_below = |mount: &PathBuf| mount != place && mount.starts_with(place) && *mount != self.room;
        Ok(self.mounts.iter().flatten().any(is_below))
    }

    /// Covers a place with a likeness of it, whose directories have a layer each. Its files can be read and not changed.
    /// What no layer goes over is empty, and sockets, pipes and devices are not there: through those it leads outside.
    fn cover_entries(&mut self, place: &Path, found: &Path) -> io::Result<()> {
        let folder = rustix::fs::open(found, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let found = path_of(&folder);
        let number = self.made;
        self.made += 1;
        let likeness = self.make(&format!("{number}-lower"))?;
        take_mode(&likeness, &fs::metadata(&found)?)?;
        let mut entries = Vec::new();
        for entry in fs::read_dir(&found)? {
            let entry = entry?;
            let (name, kind) = (entry.file_name(), entry.file_type()?);
            let twin = likeness.join(&name);
            if kind.is_dir() {
                fs::create_dir(&twin)?;
            } else if kind.is_file() {
                fs::File::create(&twin)?;
            } else if kind.is_symlink() {
                // One that somebody has just removed is none.
                _ = fs::read_link(entry.path()).and_then(|to| symlink(to, &twin));
                continue;
            } else {
                continue;
            }
            // One that its user may not look at stays as it was made.
            if let Ok(of_entry) = entry.metadata() {
                take_mode(&twin, &of_entry)?;
            }
            entries.push((name, kind.is_dir()));
            if entries.len() + self.layers.len() > MOST_BESIDE {
                return Err(io::Error::other(format!(
                    "too much stands beside what is mounted below {}",
                    place.display()
                )));
            }
        }
        self.put_layer(place, &likeness)?;
        for (name, is_folder) in entries {
            let (entry, below) = (found.join(&name), place.join(&name));
            if is_folder && below != self.room {
                _ = self.cover_place(&below, &entry);
            } else if !is_folder {
                _ = mount_bind(&entry, &below);
            }
        }
        Ok(())
    }

    /// What was made, changed or removed: files, and directories with nothing in them.
    pub(super) fn written(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (place, layer) in &self.layers {
            walk(&self.in_base(layer), &place.to_string_lossy(), 0, &mut names);
        }
        names.sort_unstable();
        names
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        // Each goes with what stands on it; the room may be gone already, and then its mounts are too.
        for place in
            PLACES.iter().rev().filter(|place| self.layers.iter().any(|(at, _)| at == Path::new(place)))
        {
            _ = unmount(*place, UnmountFlags::DETACH);
        }
        _ = unmount(&self.room, UnmountFlags::DETACH);
        _ = unmount(&self.room, UnmountFlags::DETACH);
    }
}

fn take_mode(path: &Path, of: &fs::Metadata) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(of.permissions().mode() & 0o7777))
}

fn walk(folder: &Path, shown: &str, depth: usize, names: &mut Vec<String>) {
    let Some(entries) = found(fs::read_dir(folder)) else { return };
    for entry in entries.flatten() {
        if names.len() >= MOST_NAMES {
            return;
        }
        let name = format!("{shown}/{}", entry.file_name().to_string_lossy());
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth < MOST_DEPTH {
            let before = names.len();
            walk(&entry.path(), &name, depth + 1, names);
            if names.len() == before {
                names.push(format!("{name}/"));
            }
        } else if kind.is_char_device() {
            // The layer's mark for something that was there.
            names.push(format!("{name} (removed)"));
        } else {
            names.push(name);
        }
    }
}
