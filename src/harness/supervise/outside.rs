//! The places that a case may write, as file systems of its own: its room, and layers over the places outside of it that
//! every program writes to.
//!
//! The target sees in those what is there and may change it; its changes stand in the layer, where they are found when it
//! has ended and vanish with it. Room and layers share one bound, so that a target can fill its own disk and no other.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{
    MountFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, move_mount, open_tree, unmount,
};

const PLACES: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// More names say no more.
const MOST_NAMES: usize = 100;
/// A tree deeper than this is not walked.
const MOST_DEPTH: usize = 32;
/// A file system has room for one file in so many bytes.
const BYTES_A_FILE: u64 = 4096;

/// The room and the layers over the places.
#[derive(Debug)]
pub(super) struct Outside {
    room: PathBuf,
    layers: Vec<(&'static str, OwnedFd)>,
}

impl Outside {
    /// Makes the room a file system of so many bytes and covers the places, in this process's own mount namespace. Either
    /// all of them are covered or none. The room comes along as a descriptor: the harness sees no mount of this process.
    pub(super) fn cover(room: &Path, most_bytes: u64) -> io::Result<(Self, OwnedFd)> {
        let files = (most_bytes / BYTES_A_FILE).max(1024);
        let options = CString::new(format!("mode=0700,size={most_bytes},nr_inodes={files}"))?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("clawgate", room, "tmpfs", flags, options.as_c_str())?;
        // From here on, what is done is undone with the value.
        let mut outside = Self { room: room.to_owned(), layers: Vec::new() };
        let (view, layers) = (room.join("view"), room.join("layers"));
        fs::create_dir(&view)?;
        fs::create_dir(&layers)?;
        // The target sees the view alone.
        let tree = open_tree(CWD, &view, OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC)?;
        let inside = rustix::fs::open(&view, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        outside.cover_all(&layers)?;
        move_mount(&tree, "", CWD, room, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
        Ok((outside, inside))
    }

    fn cover_all(&mut self, base: &Path) -> io::Result<()> {
        let mut places = PLACES;
        // The one that the layers themselves stand in comes last: once it is covered they have no path.
        places.sort_by_key(|place| base.starts_with(place));
        for (number, place) in places.into_iter().enumerate() {
            let Ok(found) = fs::symlink_metadata(place) else { continue };
            if !found.is_dir() {
                continue;
            }
            let (upper, work) = (base.join(format!("{number}-upper")), base.join(format!("{number}-work")));
            fs::create_dir(&upper)?;
            fs::create_dir(&work)?;
            fs::set_permissions(&upper, fs::Permissions::from_mode(found.permissions().mode() & 0o7777))?;
            let layer = rustix::fs::open(&upper, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
            let (upper, work) = (upper.display(), work.display());
            let options =
                CString::new(format!("lowerdir={place},upperdir={upper},workdir={work},userxattr"))?;
            mount("clawgate", place, "overlay", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())?;
            self.layers.push((place, layer));
        }
        Ok(())
    }

    /// What was made, changed or removed: files, and directories with nothing in them.
    pub(super) fn written(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (place, layer) in &self.layers {
            // By its descriptor: the layers have no path in the target's view.
            walk(&PathBuf::from(format!("/proc/self/fd/{}", layer.as_raw_fd())), place, 0, &mut names);
        }
        names.sort_unstable();
        names
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        // Each goes with what stands on it; the room may be gone already, and then its mounts are too.
        for (place, _) in self.layers.iter().rev() {
            _ = unmount(*place, UnmountFlags::DETACH);
        }
        _ = unmount(&self.room, UnmountFlags::DETACH);
        _ = unmount(&self.room, UnmountFlags::DETACH);
    }
}

fn walk(folder: &Path, shown: &str, depth: usize, names: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
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
