//! What is read of a bundle: a folder that it is unpacked into, for as long as the command goes on.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::zip::{ZipError, is_zip, unpack};
use crate::cli::CommandError;
use crate::cli::error::unreadable;
use crate::judge::{Source, find};

/// A path as the user named it, and what is read of it.
#[derive(Debug)]
pub(in crate::cli) struct Opened {
    named: PathBuf,
    folder: Option<TempDir>,
}

impl Opened {
    /// Unpacks a bundle; anything else stays as it is.
    pub(in crate::cli) fn new(named: &Path) -> Result<Self, CommandError> {
        if !is_zip(named) {
            return Ok(Self { named: named.to_owned(), folder: None });
        }
        let folder = TempDir::with_prefix("clawgate-bundle-").map_err(CommandError::Start)?;
        match unpack(named, folder.path()) {
            Ok(()) => Ok(Self { named: named.to_owned(), folder: Some(folder) }),
            Err(ZipError::Io(error)) => Err(unreadable(named)(error)),
            Err(error) => Err(CommandError::Usage(format!("{}: {error}", named.display()))),
        }
    }

    /// Where it is read.
    pub(in crate::cli) fn path(&self) -> &Path {
        self.folder.as_ref().map_or(&self.named, TempDir::path)
    }

    /// What was found there, as the user calls it.
    pub(in crate::cli) fn name(&self, found: &str) -> String {
        let Some(folder) = &self.folder else { return found.to_owned() };
        match Path::new(found).strip_prefix(folder.path()) {
            Ok(inside) => self.named.join(inside).display().to_string(),
            Err(_) => found.to_owned(),
        }
    }

    /// The one recording that it is or holds.
    pub(in crate::cli) fn recording(&self) -> Result<PathBuf, CommandError> {
        if self.folder.is_none() {
            return Ok(self.named.clone());
        }
        let found = find(self.path())?.into_iter().filter_map(|input| match input.source {
            Source::Recording(path) => Some(path),
            _ => None,
        });
        let mut found: Vec<PathBuf> = found.collect();
        match found.pop() {
            Some(only) if found.is_empty() => Ok(only),
            None => {
                Err(CommandError::Usage(format!("{}: there is no recording in it", self.named.display())))
            }
            Some(_) => Err(CommandError::Usage(format!(
                "{}: there are {} recordings in it: unpack it, and name one of them",
                self.named.display(),
                found.len() + 1
            ))),
        }
    }
}

/// Whether a path is a bundle or a recording, for commands that also take files of another kind.
pub(in crate::cli) fn is_recorded(path: &Path) -> bool {
    is_zip(path) || fs::metadata(path.join("recording.json")).is_ok()
}
