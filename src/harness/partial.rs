//! A recording while it is made: a folder that gets its name when it is whole.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::remove;
use super::room::Room;
use super::scratch::Scratch;
use super::written::WrittenFile;
use crate::recording::Recording;
use crate::text::{Masked, Masker};

/// What the folder of a recording in the making begins with.
const PREFIX: &str = ".partial-";

/// The folder of a recording that holds what the target wrote.
pub(crate) const KEPT_FILES: &str = "outputs";
/// More than this is not kept of what a target wrote.
const MOST_KEPT_BYTES: u64 = 64 << 20;

/// A recording in the making. It gets its name when it is whole, so that there is no half of one.
pub(super) struct Partial {
    folder: Scratch,
    pub(super) final_name: PathBuf,
}

/// Removes what recordings of runs that were killed have left in a folder.
pub(crate) fn sweep(out: &Path) {
    Scratch::sweep(out, PREFIX);
}

impl Partial {
    pub(super) fn new(out: &Path, final_name: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(out)?;
        Ok(Self { folder: Scratch::new(out, PREFIX)?, final_name })
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// An error where the target, which was not kept apart from it, has put something else in its place: what is written
    /// there would be written through a link.
    pub(super) fn check(&self) -> io::Result<()> {
        if self.folder.is_there() {
            return Ok(());
        }
        let place = self.folder().display();
        Err(io::Error::other(format!("{place} is no longer what it was: the target may have moved it")))
    }

    pub(super) fn keep(&self) -> io::Result<()> {
        if let Some(parent) = self.final_name.parent() {
            fs::create_dir_all(parent)?;
        }
        self.make_room()?;
        fs::rename(self.folder(), &self.final_name)
    }

    /// Takes away what was at the place before. Only what is a recording is.
    pub(super) fn make_room(&self) -> io::Result<()> {
        if !Recording::is_at(&self.final_name) {
            return Ok(());
        }
        remove::tree(&self.final_name);
        if self.final_name.exists() { Err(io::ErrorKind::DirectoryNotEmpty.into()) } else { Ok(()) }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // Kept ones have gone to their final name.
        remove::tree(self.folder());
    }
}

/// Copies what a run wrote into its working directory, up to a limit and with its secrets masked. What has a name that
/// cannot be said again, by its bytes or by its length, is left out: the rest counts all the same.
pub(super) fn copy_written(from: &Room, files: &[WrittenFile], to: &Path, masker: &Masker) -> io::Result<()> {
    let mut left = MOST_KEPT_BYTES;
    for file in files {
        let Some(name) = file.path.strip_prefix("work/") else { continue };
        // A link leads to what the run did not write, and a pipe would be waited for.
        if file.kind.is_some() {
            continue;
        }
        let Some(rest) = left.checked_sub(file.bytes) else { continue };
        left = rest;
        match copy_one(&from.place(name), &to.join(masker.mask(name)), masker) {
            Err(error)
                if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename) =>
            {
                return Err(error);
            }
            _ => {}
        }
    }
    Ok(())
}

fn copy_one(from: &Path, to: &Path, masker: &Masker) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    let source = fs::File::open(from)?;
    let mode = source.metadata()?.permissions().mode();
    io::copy(&mut Masked::with(source, masker.clone()), &mut fs::File::create(to)?)?;
    // Whoever evaluates it reads it, and it can be removed.
    fs::set_permissions(to, fs::Permissions::from_mode(mode | 0o600))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt as _;

    #[test]
    fn a_file_with_an_impossible_name_takes_no_other_with_it() {
        let mut room = Room::new().unwrap();
        room.furnish(None, &[]).unwrap();
        fs::write(room.work().join(std::ffi::OsStr::from_bytes(b"no\xfftext")), "x").unwrap();
        fs::write(room.work().join("plain.txt"), "kept").unwrap();
        // As deep as a path may be here, and then deeper by where it is copied to.
        let mut deep = room.work();
        while deep.as_os_str().len() < 4000 {
            deep.push("deep-inside");
        }
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("file"), "x").unwrap();
        let to = tempfile::tempdir().unwrap();
        let far = to.path().join("a-folder-with-a-name-that-is-rather-long".repeat(4));
        copy_written(&room, &room.written(), &far, &Masker::default()).unwrap();
        assert_eq!(fs::read_to_string(far.join("plain.txt")).unwrap(), "kept");
    }
}
