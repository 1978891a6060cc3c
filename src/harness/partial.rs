//! A recording while it is made: a folder that gets its name when it is whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::room::Room;
use crate::recording::Recording;
use crate::text::{Masked, Masker};

/// The folder of a recording that holds what the target wrote.
pub(crate) const KEPT_FILES: &str = "outputs";
/// More than this is not kept of what a target wrote.
const MOST_KEPT_BYTES: u64 = 64 << 20;

/// A recording in the making. It gets its name when it is whole, so that there is no half of one.
pub(super) struct Partial {
    pub(super) folder: PathBuf,
    pub(super) final_name: PathBuf,
}

impl Partial {
    pub(super) fn new(out: &Path, final_name: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(out)?;
        let folder = tempfile::Builder::new().prefix(".partial-").tempdir_in(out)?.keep();
        Ok(Self { folder, final_name })
    }

    pub(super) fn keep(&self) -> io::Result<()> {
        if let Some(parent) = self.final_name.parent() {
            fs::create_dir_all(parent)?;
        }
        self.make_room()?;
        fs::rename(&self.folder, &self.final_name)
    }

    /// Takes away what was at the place before. Only what is a recording is.
    pub(super) fn make_room(&self) -> io::Result<()> {
        if Recording::is_at(&self.final_name) { fs::remove_dir_all(&self.final_name) } else { Ok(()) }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // Kept ones have gone to their final name.
        _ = fs::remove_dir_all(&self.folder);
    }
}

/// Copies what a run wrote into its working directory, up to a limit and with its secrets masked.
pub(super) fn copy_written(from: &Room, to: &Path, masker: &Masker) -> io::Result<()> {
    let mut left = MOST_KEPT_BYTES;
    for file in from.written() {
        let Some(name) = file.path.strip_prefix("work/") else { continue };
        // A link leads to what the run did not write, and a pipe would be waited for.
        if file.kind.is_some() {
            continue;
        }
        let Some(rest) = left.checked_sub(file.bytes) else { continue };
        left = rest;
        let copy = to.join(masker.mask(name));
        if let Some(folder) = copy.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut written = Masked::with(fs::File::open(from.place(name))?, masker.clone());
        io::copy(&mut written, &mut fs::File::create(&copy)?)?;
    }
    Ok(())
}
