//! Directories that go with whoever made them: rooms, recordings in the making, what is being installed.
//!
//! Their maker holds a lock on each for as long as it lives, which the kernel takes back however it ends. So what a killed
//! maker has left can be told from what is in use, also by another user's clawgate and from another container.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::remove;

/// A directory that nobody else uses. It does not remove itself: its maker knows when.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    /// Held as long as the directory is in use; none where the file system knows no locks.
    lock: Option<File>,
}

impl Scratch {
    /// Makes an empty one with a name of its own that begins with `prefix`.
    pub(crate) fn new(parent: &Path, prefix: &str) -> io::Result<Self> {
        loop {
            let path = tempfile::Builder::new().prefix(prefix).tempdir_in(parent)?.keep();
            match hold(&path) {
                Ok(Held::Ours(lock)) => return Ok(Self { path, lock }),
                // Somebody who sweeps came between, and has taken it for left.
                Ok(Held::Taken) => {}
                Err(error) => {
                    _ = fs::remove_dir(&path);
                    return Err(error);
                }
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is still at its place, and nothing else.
    pub(crate) fn is_there(&self) -> bool {
        self.lock.as_ref().is_none_or(|lock| is_at(lock, &self.path))
    }

    /// Removes those of this user that begin with `prefix` and that nobody holds: whoever made them was killed.
    pub(crate) fn sweep(parent: &Path, prefix: &str) {
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            let is_one = entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes());
            if is_one
                && entry.file_type().is_ok_and(|kind| kind.is_dir())
                && let Ok(folder) = open(&entry.path())
                && folder.try_lock().is_ok()
            {
                remove::tree(&entry.path());
            }
        }
    }
}

enum Held {
    Ours(Option<File>),
    Taken,
}

fn hold(path: &Path) -> io::Result<Held> {
    let folder = match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Held::Taken),
        folder => folder?,
    };
    match folder.try_lock() {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => return Ok(Held::Taken),
        // A file system without locks: nobody can sweep there either.
        Err(fs::TryLockError::Error(_)) => return Ok(Held::Ours(None)),
    }
    Ok(if is_at(&folder, path) { Held::Ours(Some(folder)) } else { Held::Taken })
}

fn is_at(folder: &File, path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| {
        folder.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (found.dev(), found.ino()))
    })
}

/// Opens a directory of this user, whatever its permissions.
fn open(path: &Path) -> io::Result<File> {
    let found = fs::symlink_metadata(path)?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    if found.is_dir() && found.permissions().mode() & 0o400 == 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_stays_and_what_a_killed_maker_left_goes() {
        let folder = tempfile::tempdir().unwrap();
        let held = Scratch::new(folder.path(), "room-").unwrap();
        let kept = held.path().to_owned();
        let left = Scratch::new(folder.path(), "room-").unwrap().path().to_owned();
        fs::create_dir_all(left.join("a/b")).unwrap();
        fs::write(left.join("a/b/file"), "x").unwrap();
        for path in [left.join("a"), left.clone()] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
        }
        fs::write(folder.path().join("room-file"), "x").unwrap();
        fs::create_dir(folder.path().join("another")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("another"), folder.path().join("room-link")).unwrap();
        Scratch::sweep(folder.path(), "room-");
        let names = ["another", "room-file", "room-link"];
        assert!(kept.exists() && !left.exists());
        assert!(names.iter().all(|name| folder.path().join(name).exists()));
        drop(held);
        Scratch::sweep(folder.path(), "room-");
        assert!(!kept.exists());
    }

    #[test]
    fn making_and_sweeping_at_once_takes_nothing_from_anybody() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..300 {
                        let made = Scratch::new(folder.path(), "room-").unwrap();
                        fs::write(made.path().join("file"), "x").unwrap();
                    }
                });
                scope.spawn(|| {
                    for _ in 0..300 {
                        Scratch::sweep(folder.path(), "room-");
                    }
                });
            }
        });
    }
}
