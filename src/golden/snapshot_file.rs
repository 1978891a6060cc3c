//! A snapshot in a file, read as a stream.

use std::fs::File;
use std::io::Seek as _;
use std::path::{Path, PathBuf};

use super::accepted;
use super::difference::{Difference, difference};
use super::lines::{LineReader, SnapshotLines};
use super::parts::Head;
#[cfg(feature = "cli")]
use super::parts::Part;
#[cfg(feature = "cli")]
use super::reading::Go;
use super::snapshot::ReadError;
use super::snapshot_reader::SnapshotReader;
use super::store::{StoreError, at};

/// A snapshot that is there, of which the header was read.
pub(super) struct SnapshotFile {
    pub head: Head,
    pub file: File,
    path: PathBuf,
}

impl SnapshotFile {
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        Self::of(File::open(path).map_err(at(path))?, path)
    }

    /// Of a file that is open already.
    pub(super) fn of(mut file: File, path: &Path) -> Result<Self, StoreError> {
        file.rewind().map_err(at(path))?;
        let head = SnapshotReader::new(&file).map_err(unusable(path))?.head;
        Ok(Self { head, file, path: path.to_owned() })
    }

    #[cfg(feature = "cli")]
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file from its start.
    pub(super) fn rewound(&self) -> Result<&File, StoreError> {
        let mut file = &self.file;
        file.rewind().map_err(at(&self.path))?;
        Ok(file)
    }

    /// From its start; only one at a time can be read.
    pub(super) fn reader(&self) -> Result<SnapshotReader<&File>, ReadError> {
        let mut file = &self.file;
        file.rewind()?;
        SnapshotReader::new(file)
    }

    /// Where it differed when it was accepted.
    pub(super) fn accepted(&self) -> Result<Vec<usize>, StoreError> {
        accepted::of(self.rewound()?).map_err(at(&self.path))
    }

    /// How what a run did differs from it, if it does.
    pub(super) fn difference(&self, head: &Head, mut found: &File) -> Result<Option<Difference>, StoreError> {
        let as_owned = Head { owner: head.owner.clone(), ..self.head.clone() };
        let reader = self.reader().map_err(unusable(&self.path))?;
        let mut old = SnapshotLines::new(reader, &as_owned);
        found.rewind().map_err(at(&self.path))?;
        let mut new = LineReader::new(found);
        difference(&mut || old.next(), &mut || Ok(new.next()?)).map_err(unusable(&self.path))
    }
}

/// Whose snapshot the one in a file is.
#[cfg(feature = "cli")]
pub(crate) fn head_of(path: &Path) -> Result<Head, StoreError> {
    SnapshotFile::open(path).map(|opened| opened.head)
}

/// Shows every part of the snapshot in a file.
#[cfg(feature = "cli")]
pub(crate) fn visit_snapshot(path: &Path, each: &mut dyn FnMut(Part<'_>) -> Go) -> Result<Head, StoreError> {
    let opened = SnapshotFile::open(path)?;
    opened.reader().and_then(|mut reader| reader.visit(each)).map_err(unusable(path))?;
    Ok(opened.head)
}

pub(super) fn unusable(path: &Path) -> impl FnOnce(ReadError) -> StoreError {
    let path = path.to_owned();
    move |error| match error {
        ReadError::Io(source) => StoreError::Io { path, source },
        ReadError::Snapshot(source) => StoreError::Snapshot { path, source },
    }
}
