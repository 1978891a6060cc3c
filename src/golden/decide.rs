//! What waits for a decision: shown, then accepted or rejected.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::difference::{Difference, difference};
use super::fingerprint::Fingerprint;
use super::lines::LineReader;
use super::reading::Go;
use super::snapshot_file::{SnapshotFile, unusable};
use super::store::{Store, StoreError, at, snapshot_of};

/// What waits, as it is shown. The decision is about that and nothing else.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub snapshot: PathBuf,
    pub shown: Fingerprint,
    /// Whether there is a snapshot to compare it with.
    pub has_old: bool,
    /// How it differs from the snapshot; everything is new where there is none, or none that can be read.
    pub difference: Option<Difference>,
}

impl Waiting {
    /// Reads what waits and compares it with its snapshot, both as streams.
    pub(crate) fn open(pending: &Path) -> Result<Self, StoreError> {
        let file = File::open(pending).map_err(at(pending))?;
        let shown = Fingerprint::of(&file).map_err(at(pending))?;
        let (new, snapshot) = (SnapshotFile::of(file, pending)?, snapshot_of(pending));
        new.examine(|_| true)?;
        let old = SnapshotFile::open(&snapshot).and_then(|old| old.difference(&new.head, &new.file));
        let has_old = old.is_ok();
        let difference = if let Ok(found) = old {
            found
        } else {
            let mut lines = LineReader::new(new.rewound()?);
            difference(&mut || Ok(None), &mut || lines.next()).map_err(at(pending))?
        };
        Ok(Self { snapshot, shown, has_old, difference })
    }
}

impl Store {
    /// Makes what waits the snapshot. With `shown`, only when it still is what was shown.
    pub(crate) fn accept(&self, pending: &Path, shown: Option<Fingerprint>) -> Result<PathBuf, StoreError> {
        let _lock = self.lock()?;
        let new = SnapshotFile::of(Self::take(pending, shown)?, pending)?;
        if !new.examine(|line| !self.is_secret(line))? {
            return Err(StoreError::Secret { path: pending.to_owned() });
        }
        let snapshot = snapshot_of(pending);
        let old = SnapshotFile::open(&snapshot).ok();
        let difference = old.and_then(|old| old.difference(&new.head, &new.file).ok().flatten());
        let places = difference.map(|difference| difference.places.new).unwrap_or_default();
        self.replace(&new.file, &snapshot, &places)?;
        fs::remove_file(pending).map_err(at(pending))?;
        Ok(snapshot)
    }

    /// Removes what waits. With `shown`, only when it still is what was shown.
    pub(crate) fn reject(&self, pending: &Path, shown: Option<Fingerprint>) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        Self::take(pending, shown)?;
        fs::remove_file(pending).map_err(at(pending))
    }

    /// Opens what waits, which has to be what was shown.
    fn take(pending: &Path, shown: Option<Fingerprint>) -> Result<File, StoreError> {
        let moved = || StoreError::Moved { path: pending.to_owned() };
        let file = match File::open(pending) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(moved()),
            opened => opened.map_err(at(pending))?,
        };
        if let Some(shown) = shown
            && Fingerprint::of(&file).map_err(at(pending))? != shown
        {
            return Err(moved());
        }
        Ok(file)
    }
}

impl SnapshotFile {
    /// Reads it to its end, so that it is known to be whole; whether every line of it is fine.
    fn examine(&self, is_fine: impl Fn(&str) -> bool) -> Result<bool, StoreError> {
        let path = self.path();
        self.reader()
            .and_then(|mut reader| reader.visit(&mut |_| Go::Continue(())))
            .map_err(unusable(path))?;
        let mut lines = LineReader::new(self.rewound()?);
        let mut all = true;
        while all && let Some(line) = lines.next().map_err(at(path))? {
            all = is_fine(&line);
        }
        Ok(all)
    }
}
