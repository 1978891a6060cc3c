//! Snapshots on disk: `golden/<target>/<case>.snap`, and beside one what a run found instead, as `.snap.new`.
//!
//! A file is written whole under another name and then renamed, under a lock of the folder; so whoever reads sees the old
//! one or the new one, and of two writers none destroys what the other is looking at.
//!
//! A run takes the digest of each of its snapshots before its first target starts: a target may be able to write here, and
//! what it does to a snapshot must not decide what it is compared with.

#[cfg(feature = "cli")]
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Component, Path, PathBuf};

use hmac_sha256::Hash as Sha256;

use super::accepted;
use super::difference::{Difference, difference};
use super::parts::{Head, Parts};
#[cfg(feature = "cli")]
use super::parts::{Normal, Part};
use super::reading::Go;
use super::snapshot::{
    LineReader, LineWriter, ReadError, SnapshotError, SnapshotLines, SnapshotReader, write_content,
    write_head,
};

/// How the name of a snapshot ends.
pub(crate) const SNAP: &str = "snap";
/// How the name of what waits for a decision ends.
#[cfg(feature = "cli")]
pub(crate) const PENDING: &str = "snap.new";
/// A folder tree deeper than this is not walked.
#[cfg(feature = "cli")]
const MAX_DEPTH: usize = 32;

/// The folder of the snapshots.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    root: PathBuf,
    is_secret: fn(&str) -> bool,
}

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

/// What a file held at some time; none when there was no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint(Option<[u8; 32]>);

impl Fingerprint {
    /// There was no file.
    pub(crate) const NONE: Self = Self(None);

    fn of(mut file: &File) -> io::Result<Self> {
        file.rewind()?;
        let mut hash = Sha256::new();
        let mut bytes = [0; 16 << 10];
        loop {
            match file.read(&mut bytes)? {
                0 => return Ok(Self(Some(hash.finalize()))),
                read => hash.update(&bytes[..read]),
            }
        }
    }
}

/// A snapshot that no case has.
#[cfg(feature = "cli")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Orphan {
    pub path: PathBuf,
    /// The file of a scenario outside of the project that it belongs to, and that is not here: it is left alone.
    pub kept_for: Option<String>,
}

/// Why snapshots cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file is no whole snapshot.
    #[error("{}: {source}", path.display())]
    Snapshot {
        /// The snapshot file or folder that could not be used.
        path: PathBuf,
        /// What is wrong with it.
        source: SnapshotError,
    },
    /// What was recorded of a run cannot be read.
    #[error("cannot be compared: {source}")]
    Unread {
        /// What the operating system said.
        source: io::Error,
    },
    /// It was another one when the run began.
    #[error("{}: was changed, removed or put there while the run went on, so it says nothing; restore it, and run again", path.display())]
    Touched {
        /// The snapshot.
        path: PathBuf,
    },
    /// It holds a credential.
    #[error("{}: refused: it would hold what looks like a credential, which is never written; have the target not print it", path.display())]
    Secret {
        /// The file that was not written.
        path: PathBuf,
    },
    /// Somebody else decided about it, or a run replaced it.
    #[error("{}: changed or gone since it was shown; look again", path.display())]
    #[cfg(feature = "cli")]
    Moved {
        /// The snapshot or file that it is about.
        path: PathBuf,
    },
}

impl StoreError {
    /// Whether there is no such file.
    fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Whether a snapshot is none. One of a newer clawgate is whole: nobody takes over what this one cannot read.
    fn is_damage(&self) -> bool {
        matches!(self, Self::Snapshot { source, .. } if !matches!(source, SnapshotError::Newer { .. }))
    }
}

impl Store {
    /// The snapshots below this folder. A text that `is_secret` is never written.
    #[cfg(feature = "cli")]
    pub(crate) fn new(root: impl Into<PathBuf>, is_secret: fn(&str) -> bool) -> Self {
        Self { root: root.into(), is_secret }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether there are snapshots of this target.
    pub(crate) fn knows(&self, target: &str) -> bool {
        self.root.join(safe(target)).is_dir()
    }

    /// Where the snapshot of a case is.
    pub(crate) fn path(&self, target: &str, case: &str) -> PathBuf {
        let mut path = self.root.join(safe(target));
        path.extend(case.split('/').map(safe));
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        path.with_file_name(format!("{name}.{SNAP}"))
    }

    /// What a snapshot holds now.
    pub(crate) fn fingerprint(snapshot: &Path) -> Result<Fingerprint, StoreError> {
        match File::open(snapshot).and_then(|file| Fingerprint::of(&file)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Fingerprint::NONE),
            found => found.map_err(at(snapshot)),
        }
    }

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
        let known = match Known::open(&path) {
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
    fn update(&self, run: &dyn Parts, known: Option<&Known>, path: &Path) -> Result<Outcome, StoreError> {
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
    fn fingerprint_of(known: Option<&Known>, path: &Path) -> Result<Fingerprint, StoreError> {
        known.map_or_else(|| Self::fingerprint(path), |known| Fingerprint::of(&known.file).map_err(at(path)))
    }

    /// What waits for a decision, in the order of the paths.
    #[cfg(feature = "cli")]
    pub(crate) fn pending(&self) -> Result<Vec<PathBuf>, StoreError> {
        Self::files(&self.root, &format!(".{PENDING}"))
    }

    /// All snapshots, in the order of their paths.
    #[cfg(feature = "cli")]
    pub(crate) fn all(&self) -> Result<Vec<PathBuf>, StoreError> {
        Self::files(&self.root, &format!(".{SNAP}"))
    }

    /// The snapshots of a target, in the order of their paths.
    #[cfg(feature = "cli")]
    pub(crate) fn snapshots(&self, target: &str) -> Result<Vec<PathBuf>, StoreError> {
        Self::files(&self.root.join(safe(target)), &format!(".{SNAP}"))
    }

    /// How a scenario's file is named in its snapshots: the way to it from their folder, which is the same in every copy of
    /// a project.
    pub(crate) fn owner(&self, scenario: &Path) -> String {
        let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let (from, to) = (whole(&self.root), whole(scenario));
        let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
        let up = from.components().skip(shared).map(|_| Component::ParentDir);
        let way: PathBuf = up.chain(to.components().skip(shared)).collect();
        way.to_string_lossy().into_owned()
    }

    /// The snapshots of a target that none of these cases has. Who else may have one is for its header to say: `has` knows
    /// whether the file of a scenario has a case.
    #[cfg(feature = "cli")]
    pub(crate) fn orphans<'c>(
        &self,
        target: &str,
        cases: impl IntoIterator<Item = &'c str>,
        has: impl Fn(&Path, &str) -> bool,
    ) -> Result<Vec<Orphan>, StoreError> {
        let known: BTreeSet<PathBuf> = cases.into_iter().map(|case| self.path(target, case)).collect();
        let mut orphans = Vec::new();
        for path in self.snapshots(target)?.into_iter().filter(|path| !known.contains(path)) {
            let head = head_of(&path)?;
            let Some(owner) = head.owner else {
                orphans.push(Orphan { path, kept_for: None });
                continue;
            };
            let scenario = self.root.join(&owner);
            // Beside the snapshots, a file that is not there is gone; elsewhere it may be on another machine.
            let is_ours = !Path::new(&owner).starts_with("../..");
            let kept_for = (!scenario.exists() && !is_ours).then_some(owner);
            if !has(&scenario, &head.scenario) {
                orphans.push(Orphan { path, kept_for });
            }
        }
        Ok(orphans)
    }

    /// Makes what waits the snapshot. With `shown`, only when it still is what was shown.
    #[cfg(feature = "cli")]
    pub(crate) fn accept(&self, pending: &Path, shown: Option<&str>) -> Result<PathBuf, StoreError> {
        let _lock = self.lock()?;
        let text = Self::take(pending, shown)?;
        Normal::from_snapshot(&text)
            .map_err(|source| StoreError::Snapshot { path: pending.to_owned(), source })?;
        if (self.is_secret)(&text) {
            return Err(StoreError::Secret { path: pending.to_owned() });
        }
        let snapshot = snapshot_of(pending);
        let new = Known::open(pending)?;
        let known = Known::open(&snapshot).ok();
        let difference = known.and_then(|known| known.difference(&new.head, &new.file).ok().flatten());
        fs::rename(pending, &snapshot).map_err(at(pending))?;
        if let Some(difference) = difference {
            self.replace(&new.file, &snapshot, &difference.places.new)?;
        }
        Ok(snapshot)
    }

    /// Removes what waits. With `shown`, only when it still is what was shown.
    #[cfg(feature = "cli")]
    pub(crate) fn reject(&self, pending: &Path, shown: Option<&str>) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        Self::take(pending, shown)?;
        fs::remove_file(pending).map_err(at(pending))
    }

    /// Removes a snapshot that no case has, and what waits beside it.
    #[cfg(feature = "cli")]
    pub(crate) fn prune(&self, snapshot: &Path) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        fs::remove_file(snapshot).map_err(at(snapshot))?;
        let pending = pending_of(snapshot);
        if pending.exists() {
            fs::remove_file(&pending).map_err(at(&pending))?;
        }
        // A folder that is not empty stays.
        _ = snapshot.parent().map(fs::remove_dir);
        Ok(())
    }

    /// Reads what waits, which has to be what was shown.
    #[cfg(feature = "cli")]
    fn take(pending: &Path, shown: Option<&str>) -> Result<String, StoreError> {
        let moved = || StoreError::Moved { path: pending.to_owned() };
        match read(pending) {
            Ok(text) if shown.is_none_or(|shown| shown == text) => Ok(text),
            Ok(_) => Err(moved()),
            Err(error) if error.is_missing() => Err(moved()),
            Err(error) => Err(error),
        }
    }

    /// A file that nobody finds with the snapshot of a run; none when the one that is known has the same lines. What is
    /// secret is never in it.
    fn written(
        &self,
        run: &dyn Parts,
        known: Option<&Known>,
        path: &Path,
    ) -> Result<Option<File>, StoreError> {
        let mut out = Spool::new(run.head(), known).map_err(unusable(path))?;
        let mut result = Ok(());
        let mut take = |line: &str| {
            result = if (self.is_secret)(line) {
                Err(StoreError::Secret { path: path.to_owned() })
            } else {
                out.line(line).map_err(unusable(path))
            };
            if result.is_ok() { Go::Continue(()) } else { Go::Break(()) }
        };
        write_content(run, &mut LineWriter::new(&mut take)).map_err(unread)?;
        result?;
        out.finish().map_err(unusable(path))
    }

    /// Copies a file into the store, whole or not at all, with the places where it differs from the one that it replaces.
    fn put(&self, written: &File, path: &Path, places: &[usize]) -> Result<(), StoreError> {
        let folder = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).map_err(at(folder))?;
        let _lock = self.lock()?;
        self.replace(written, path, places)
    }

    /// The same under the lock of the caller.
    fn replace(&self, mut written: &File, path: &Path, places: &[usize]) -> Result<(), StoreError> {
        let folder = path.parent().unwrap_or(&self.root);
        let mut file = tempfile::Builder::new().prefix(".golden-").tempfile_in(folder).map_err(at(folder))?;
        let mut out = io::BufWriter::new(&mut file);
        let copied = written.rewind().and_then(|()| accepted::copy(written, &mut out, places));
        copied.and_then(|()| out.flush()).map_err(at(path))?;
        drop(out);
        file.as_file().sync_data().map_err(at(path))?;
        // A temporary file is for its owner alone; a snapshot is for everybody.
        let readable = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o644);
        file.as_file().set_permissions(readable).map_err(at(path))?;
        file.persist(path).map_err(|error| StoreError::Io { path: path.to_owned(), source: error.error })?;
        Ok(())
    }

    /// Removes what waits and has been overtaken.
    fn forget(&self, pending: &Path) -> Result<(), StoreError> {
        if !pending.exists() {
            return Ok(());
        }
        let _lock = self.lock()?;
        match fs::remove_file(pending) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(pending)(error)),
            _ => Ok(()),
        }
    }

    /// One writer at a time, also of several processes; the lock goes with the file.
    fn lock(&self) -> Result<File, StoreError> {
        let folder = File::open(&self.root).map_err(at(&self.root))?;
        match folder.lock() {
            // A file system without locks: renaming alone still never leaves half a file.
            Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(at(&self.root)(error)),
            _ => Ok(folder),
        }
    }

    #[cfg(feature = "cli")]
    fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, StoreError> {
        let mut files = Vec::new();
        if folder.is_dir() {
            walk(folder, ending, 0, &mut files)?;
        }
        files.sort();
        Ok(files)
    }
}

/// Where what waits beside a snapshot is.
pub(crate) fn pending_of(snapshot: &Path) -> PathBuf {
    let mut name = snapshot.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

/// The snapshot beside which something waits.
#[cfg(feature = "cli")]
pub(crate) fn snapshot_of(pending: &Path) -> PathBuf {
    pending.with_extension("")
}

/// Reads a snapshot's text.
#[cfg(feature = "cli")]
pub(crate) fn read(path: &Path) -> Result<String, StoreError> {
    let bytes = fs::read(path).map_err(at(path))?;
    // What is not UTF-8 is not a snapshot of ours, and says so when it is read as one.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes a snapshot from where it begins to differ from the one that is known.
struct Spool<'k> {
    head: &'k Head,
    known: Option<(&'k Known, SnapshotReader<&'k File>)>,
    /// How many lines are the same so far.
    same: usize,
    file: Option<io::BufWriter<File>>,
}

impl<'k> Spool<'k> {
    fn new(head: &'k Head, known: Option<&'k Known>) -> Result<Self, ReadError> {
        let as_owned = |known: &Known| Head { owner: head.owner.clone(), ..known.head.clone() };
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

/// A snapshot that is there.
struct Known {
    head: Head,
    file: File,
    path: PathBuf,
}

impl Known {
    fn open(path: &Path) -> Result<Self, StoreError> {
        let file = File::open(path).map_err(at(path))?;
        let head = SnapshotReader::new(&file).map_err(unusable(path))?.head;
        Ok(Self { head, file, path: path.to_owned() })
    }

    /// From its start; only one at a time can be read.
    fn reader(&self) -> Result<SnapshotReader<&File>, ReadError> {
        let mut file = &self.file;
        file.rewind()?;
        SnapshotReader::new(file)
    }

    /// Where it differed when it was accepted.
    fn accepted(&self) -> Result<Vec<usize>, StoreError> {
        let mut file = &self.file;
        file.rewind().and_then(|()| accepted::of(file)).map_err(at(&self.path))
    }

    /// How what a run did differs from it, if it does.
    fn difference(&self, head: &Head, mut found: &File) -> Result<Option<Difference>, StoreError> {
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
    Known::open(path).map(|known| known.head)
}

/// Shows every part of the snapshot in a file.
#[cfg(feature = "cli")]
pub(crate) fn visit_snapshot(path: &Path, each: &mut dyn FnMut(Part<'_>) -> Go) -> Result<Head, StoreError> {
    let known = Known::open(path)?;
    known.reader().and_then(|mut reader| reader.visit(each)).map_err(unusable(path))?;
    Ok(known.head)
}

fn unusable(path: &Path) -> impl FnOnce(ReadError) -> StoreError {
    let path = path.to_owned();
    move |error| match error {
        ReadError::Io(source) => StoreError::Io { path, source },
        ReadError::Snapshot(source) => StoreError::Snapshot { path, source },
    }
}

fn unread(source: io::Error) -> StoreError {
    StoreError::Unread { source }
}

#[cfg(feature = "cli")]
fn walk(folder: &Path, ending: &str, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), StoreError> {
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let entry = entry.map_err(at(folder))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(at(&path))?;
        if kind.is_dir() && depth < MAX_DEPTH {
            walk(&path, ending, depth + 1, files)?;
        } else if kind.is_file() && entry.file_name().to_string_lossy().ends_with(ending) {
            files.push(path);
        }
    }
    Ok(())
}

/// A name that is one part of a path.
fn safe(name: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "@+._-".contains(c);
    let name: String = name.chars().map(|c| if is_safe(c) { c } else { '_' }).collect();
    if name.trim_matches('.').is_empty() { name.replace('.', "_") + "_" } else { name }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn normal(case: &str, code: i32) -> Normal {
        let head = Head { target: "t".into(), scenario: case.into(), ..Head::default() };
        Normal { head, exit: Some(json!({ "code": code })), ..Normal::default() }
    }

    /// Compares with the snapshot as it is now.
    fn check(store: &Store, normal: &Normal, mode: Mode) -> Result<Outcome, StoreError> {
        let at_start = Store::fingerprint(&store.path(&normal.head.target, &normal.head.scenario))?;
        store.check(normal, mode, at_start).map(|checked| checked.outcome)
    }

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().join("golden"), |text| text.contains("sk-"));
        (folder, store)
    }

    #[test]
    fn a_new_one_waits_until_it_is_accepted() {
        let (_folder, store) = store();
        assert!(matches!(check(&store, &normal("a/b", 0), Mode::Check).unwrap(), Outcome::New));
        let pending = store.pending().unwrap();
        assert_eq!(pending, [store.root().join("t/a/b.snap.new")]);
        store.accept(&pending[0], None).unwrap();
        assert!(matches!(check(&store, &normal("a/b", 0), Mode::ReadOnly).unwrap(), Outcome::Same));
        assert!(matches!(check(&store, &normal("a/b", 1), Mode::Check).unwrap(), Outcome::Changed(_)));
        assert_eq!(store.pending().unwrap().len(), 1);
        // It is as it was again: what waited is stale.
        assert!(matches!(check(&store, &normal("a/b", 0), Mode::Check).unwrap(), Outcome::Same));
        assert!(store.pending().unwrap().is_empty());
    }

    #[test]
    fn how_a_snapshot_is_laid_out_is_no_difference() {
        let (_folder, store) = store();
        let mut run = normal("a", 0);
        run.files = vec![json!({"path": "work/a", "bytes": 1}), json!({"path": "x".repeat(2 << 20)})];
        check(&store, &run, Mode::Update).unwrap();
        let path = store.path("t", "a");
        let text = read(&path).unwrap();
        let laid_out = text.replace(", \"bytes\"", ",\n  \"bytes\"");
        assert_ne!(laid_out, text);
        for other in [text.replace('\n', "\r\n"), text.replace("source: clawgate\n", ""), laid_out] {
            fs::write(&path, other).unwrap();
            for mode in [Mode::ReadOnly, Mode::Check, Mode::Update] {
                assert!(matches!(check(&store, &run, mode).unwrap(), Outcome::Same));
            }
        }
        let cases = [
            (text.replace("== end", "{\"path\": \"b\"}\n== end"), 1),
            (text.replace("{\"path\": \"work/a\", \"bytes\": 1}\n", ""), 1),
            (text.replace("xx\"", "xy\""), 1),
        ];
        for (other, lines) in cases {
            assert_ne!(other, text);
            fs::write(&path, other).unwrap();
            let Outcome::Changed(found) = check(&store, &run, Mode::Check).unwrap() else {
                panic!("it differs")
            };
            assert_eq!(found.removed.max(found.added), lines);
            assert_eq!(read(&pending_of(&path)).unwrap(), text);
        }
        fs::write(&path, text.replace("\"code\": 0", "\"code\": ")).unwrap();
        assert!(matches!(
            check(&store, &run, Mode::Check).unwrap(),
            Outcome::Unusable(StoreError::Snapshot { .. })
        ));
    }

    #[test]
    fn reading_only_writes_nothing() {
        let (_folder, store) = store();
        assert!(matches!(check(&store, &normal("a", 0), Mode::ReadOnly).unwrap(), Outcome::New));
        assert!(!store.root().exists());
    }

    #[test]
    fn half_of_one_is_kept_and_not_accepted() {
        let (_folder, store) = store();
        check(&store, &normal("a", 0), Mode::Update).unwrap();
        check(&store, &normal("a", 1), Mode::Check).unwrap();
        let pending = store.pending().unwrap().remove(0);
        let whole = fs::read_to_string(&pending).unwrap();
        fs::write(&pending, &whole[..whole.len() - 5]).unwrap();
        assert!(matches!(store.accept(&pending, None), Err(StoreError::Snapshot { .. })));
        assert!(pending.exists());
        assert!(matches!(check(&store, &normal("a", 0), Mode::ReadOnly).unwrap(), Outcome::Same));
    }

    #[test]
    fn what_changed_since_it_was_shown_is_not_decided() {
        let (_folder, store) = store();
        check(&store, &normal("a", 1), Mode::Check).unwrap();
        let pending = store.pending().unwrap().remove(0);
        assert!(matches!(store.accept(&pending, Some("other")), Err(StoreError::Moved { .. })));
        assert!(matches!(store.reject(&pending, Some("other")), Err(StoreError::Moved { .. })));
        fs::remove_file(&pending).unwrap();
        assert!(matches!(store.accept(&pending, None), Err(StoreError::Moved { .. })));
    }

    #[test]
    fn secrets_are_refused_on_the_way_in() {
        let (_folder, store) = store();
        let mut leaky = normal("a", 0);
        leaky.files.push(json!({"path": "sk-ant-1"}));
        assert!(matches!(check(&store, &leaky, Mode::Update), Err(StoreError::Secret { .. })));
        assert!(!store.root().exists());
        check(&store, &normal("a", 0), Mode::Check).unwrap();
        let pending = store.pending().unwrap().remove(0);
        fs::write(&pending, leaky.to_snapshot()).unwrap();
        assert!(matches!(store.accept(&pending, None), Err(StoreError::Secret { .. })));
        assert!(!snapshot_of(&pending).exists());
    }

    #[test]
    fn orphans_are_found_and_pruned() {
        let (_folder, store) = store();
        check(&store, &normal("a", 0), Mode::Update).unwrap();
        check(&store, &normal("gone/b", 0), Mode::Update).unwrap();
        let orphans = store.orphans("t", ["a"], |_, _| false).unwrap();
        let path = store.path("t", "gone/b");
        assert_eq!(orphans, [Orphan { path: path.clone(), kept_for: None }]);
        store.prune(&path).unwrap();
        assert!(!store.root().join("t/gone").exists() && store.path("t", "a").exists());
    }

    #[test]
    fn a_snapshot_belongs_to_the_file_of_its_scenario() {
        let (folder, store) = store();
        let owned = |case: &str, file: &str| {
            let owner = Some(store.owner(&folder.path().join(file)));
            let mut owned = normal(case, 0);
            owned.head.owner = owner;
            check(&store, &owned, Mode::Update).unwrap();
        };
        fs::write(folder.path().join("here.toml"), "").unwrap();
        for (case, file) in
            [("a", "here.toml"), ("b", "here.toml"), ("c", "gone.toml"), ("d", "../away.toml")]
        {
            owned(case, file);
        }
        let orphans = store.orphans("t", [], |file, case| file.exists() && case == "a").unwrap();
        let told: Vec<_> =
            orphans.iter().map(|orphan| (orphan.path.clone(), orphan.kept_for.clone())).collect();
        let away = Some("../../away.toml".to_owned());
        assert_eq!(
            told,
            [("b", None), ("c", None), ("d", away)].map(|(case, kept_for)| (store.path("t", case), kept_for))
        );
        // A file that moves takes its snapshots with it, without a difference.
        assert!(matches!(check(&store, &normal("a", 0), Mode::Check).unwrap(), Outcome::Same));
        assert!(matches!(check(&store, &normal("a", 0), Mode::Update).unwrap(), Outcome::Same));
        assert!(!read(&store.path("t", "a")).unwrap().contains("here.toml"));
    }

    #[test]
    fn writers_at_the_same_time_leave_whole_files() {
        let (_folder, store) = store();
        std::thread::scope(|scope| {
            for code in 0..8 {
                let store = &store;
                scope.spawn(move || {
                    for _ in 0..20 {
                        check(store, &normal("a", code), Mode::Check).unwrap();
                    }
                });
            }
        });
        let pending = store.pending().unwrap();
        assert_eq!(pending.len(), 1);
        store.accept(&pending[0], None).unwrap();
        assert_eq!(fs::read_dir(store.root().join("t")).unwrap().count(), 1);
    }

    #[test]
    fn a_name_cannot_leave_the_folder() {
        let store = Store::new("golden", |_| false);
        assert_eq!(store.path("..", "../../x"), Path::new("golden/___/___/___/x.snap"));
    }
}
