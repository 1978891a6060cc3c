//! A run beside its snapshot: the same, new or changed, and what is done about that.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use super::difference::Difference;
use super::fingerprint::Fingerprint;
use super::lines::LineWriter;
use super::parts::{Head, Parts};
use super::reading::Go;
use super::snapshot::{ReadError, write_content, write_head};
use super::snapshot_file::{SnapshotFile, unusable};
use super::snapshot_reader::SnapshotReader;
use super::store::{Store, StoreError, at, pending_of};

/// What is done about a run that differs from its snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It is told, and nothing is written.
    ReadOnly,
    /// It is told, and written beside the snapshot as `.snap.new`.
    Check,
    /// It becomes the snapshot.
    Update,
}

/// What a run is, beside its snapshot.
#[derive(Debug)]
pub(crate) enum Outcome {
    Same,
    /// There is no snapshot yet.
    New,
    /// It did something else than its snapshot says.
    Changed(Difference),
    /// The snapshot cannot be compared with: it is damaged, or somebody changed it while the run went on.
    Unusable(StoreError),
    /// It is the snapshot now; whether there was one before.
    Updated {
        replaced: bool,
    },
}

/// A run beside its snapshot, and whether it waits for a decision.
#[derive(Debug)]
pub(crate) struct Checked {
    pub outcome: Outcome,
    /// Whether what was found now lies beside the snapshot, or why it does not although it should.
    pub waits: Result<bool, StoreError>,
}

impl Store {
    /// Compares a run with its snapshot, which has to be what it was at the beginning, and does what `mode` says about a
    /// difference. Both are read as streams; what differs is written to a file before it is looked at.
    pub(crate) fn check(
        &self,
        run: &dyn Parts,
        mode: Mode,
        at_start: Fingerprint,
    ) -> Result<Checked, StoreError> {
        let path = self.path(&run.head().target, &run.head().scenario);
        let mut unusable = None;
        let known = match SnapshotFile::open(&path) {
            Ok(known) => Some(known),
            Err(error) if error.is_missing() => None,
            Err(error) if error.is_damage() => {
                unusable = Some(error);
                None
            }
            Err(error) => return Err(error),
        };
        if mode == Mode::Update {
            let outcome = self.update(run, known.as_ref(), &path)?;
            return Ok(Checked { outcome, waits: Ok(false) });
        }
        let touched = || StoreError::Touched { path: path.clone() };
        if Self::fingerprint_of(known.as_ref(), &path)? != at_start {
            unusable = Some(touched());
        }
        let written = self.written(run, known.as_ref().filter(|_| unusable.is_none()), &path)?;
        let compared = match (&known, &written) {
            (Some(known), Some(written)) => known.difference(run.head(), written),
            _ => Ok(None),
        };
        let difference = match compared {
            Err(error) if error.is_damage() => {
                unusable.get_or_insert(error);
                None
            }
            compared => compared?,
        };
        // It may have been written to while it was read.
        if Self::fingerprint_of(known.as_ref(), &path)? != at_start {
            unusable = Some(touched());
        }
        let outcome = match (unusable, &known, difference) {
            (Some(error), ..) => Outcome::Unusable(error),
            (None, None, _) => Outcome::New,
            (None, Some(_), None) => Outcome::Same,
            (None, Some(known), Some(difference)) => {
                let accepted = known.accepted()?;
                let is_repeated = difference.places.old.iter().any(|place| accepted.contains(place));
                Outcome::Changed(Difference { is_repeated, ..difference })
            }
        };
        let pending = pending_of(&path);
        let waits = match (mode, &outcome, &written) {
            (Mode::Check, Outcome::Same, _) => self.forget(&pending).map(|()| false),
            (Mode::Check, _, Some(written)) => self.put(written, &pending, &[]).map(|()| true),
            _ => Ok(false),
        };
        Ok(Checked { outcome, waits })
    }

    /// Makes a run the snapshot, unless it is.
    fn update(
        &self,
        run: &dyn Parts,
        known: Option<&SnapshotFile>,
        path: &Path,
    ) -> Result<Outcome, StoreError> {
        let replaced = path.exists();
        // A scenario that moved is no difference, and is noted.
        let has_moved = known.is_some_and(|known| known.head.owner != run.head().owner);
        let written = self.written(run, known.filter(|_| !has_moved), path)?;
        let compared = match (known, &written) {
            (Some(known), Some(written)) => known.difference(run.head(), written).map(Some),
            _ => Ok(None),
        };
        let difference = match compared {
            Err(error) if error.is_damage() => None,
            compared => compared?,
        };
        let is_same = written.is_none() || matches!(difference, Some(None));
        if let Some(written) = written.filter(|_| !is_same || has_moved) {
            let places = difference.flatten().map(|difference| difference.places.new).unwrap_or_default();
            self.put(&written, path, &places)?;
        }
        self.forget(&pending_of(path))?;
        Ok(if is_same { Outcome::Same } else { Outcome::Updated { replaced } })
    }

    /// What a snapshot holds that is open already, or else the file.
    fn fingerprint_of(known: Option<&SnapshotFile>, path: &Path) -> Result<Fingerprint, StoreError> {
        known.map_or_else(|| Fingerprint::at(path), |known| Fingerprint::of(&known.file).map_err(at(path)))
    }

    /// A file that nobody finds with the snapshot of a run; none when the one that is known has the same lines. What is
    /// secret is never in it.
    fn written(
        &self,
        run: &dyn Parts,
        known: Option<&SnapshotFile>,
        path: &Path,
    ) -> Result<Option<File>, StoreError> {
        let mut out = Spool::new(run.head(), known).map_err(unusable(path))?;
        let mut result = Ok(());
        let mut take = |line: &str| {
            result = if self.is_secret(line) {
                Err(StoreError::Secret { path: path.to_owned() })
            } else {
                out.line(line).map_err(unusable(path))
            };
            if result.is_ok() { Go::Continue(()) } else { Go::Break(()) }
        };
        write_content(run, &mut LineWriter::new(&mut take))
            .map_err(|source| StoreError::Unread { source })?;
        result?;
        out.finish().map_err(unusable(path))
    }
}

/// Writes a snapshot from where it begins to differ from the one that is known.
struct Spool<'k> {
    head: &'k Head,
    known: Option<(&'k SnapshotFile, SnapshotReader<&'k File>)>,
    /// How many lines are the same so far.
    same: usize,
    file: Option<io::BufWriter<File>>,
}

impl<'k> Spool<'k> {
    fn new(head: &'k Head, known: Option<&'k SnapshotFile>) -> Result<Self, ReadError> {
        let as_owned = |known: &SnapshotFile| Head { owner: head.owner.clone(), ..known.head.clone() };
        let known = known.filter(|known| as_owned(known) == *head);
        let known = known.map(|known| Ok::<_, ReadError>((known, known.reader()?))).transpose()?;
        let mut spool = Self { head, known, same: 0, file: None };
        if spool.known.is_none() {
            spool.begin()?;
        }
        Ok(spool)
    }

    fn line(&mut self, line: &str) -> Result<(), ReadError> {
        if self.file.is_none() {
            let next = self.known.as_mut().map(|(_, reader)| reader.next_line()).transpose()?.flatten();
            if next.as_deref() == Some(line) {
                self.same += 1;
                return Ok(());
            }
            self.begin()?;
        }
        if let Some(file) = &mut self.file {
            file.write_all(line.as_bytes())?;
            file.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Writes what is the same so far.
    fn begin(&mut self) -> Result<(), ReadError> {
        let mut file = io::BufWriter::new(tempfile::tempfile()?);
        let mut head = String::new();
        // Writing to a string cannot fail.
        _ = write_head(self.head, &mut head);
        file.write_all(head.as_bytes())?;
        if let Some((known, _)) = self.known.take() {
            let mut reader = known.reader()?;
            for _ in 0..self.same {
                file.write_all(reader.next_line()?.unwrap_or_default().as_bytes())?;
                file.write_all(b"\n")?;
            }
        }
        self.file = Some(file);
        Ok(())
    }

    /// The file, unless all was the same.
    fn finish(mut self) -> Result<Option<File>, ReadError> {
        let rest = self.known.as_mut().map(|(_, reader)| reader.next_line()).transpose()?.flatten();
        if rest.is_some() {
            self.begin()?;
        }
        let file = self.file.map(io::BufWriter::into_inner).transpose();
        Ok(file.map_err(io::IntoInnerError::into_error)?)
    }
}
