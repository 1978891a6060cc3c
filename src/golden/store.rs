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
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use hmac_sha256::Hash as Sha256;

use super::accepted;
use super::difference::{Difference, difference};
use super::normalise::Normal;
use super::snapshot::SnapshotError;

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

    fn of(text: &str) -> Self {
        Self(Some(Sha256::hash(text.as_bytes())))
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
        match read(snapshot) {
            Ok(text) => Ok(Fingerprint::of(&text)),
            Err(error) if error.is_missing() => Ok(Fingerprint::NONE),
            Err(error) => Err(error),
        }
    }

    /// Compares a run with its snapshot, which has to be what it was at the beginning, and does what `mode` says about a
    /// difference.
    pub(crate) fn check(
        &self,
        normal: &Normal,
        mode: Mode,
        at_start: Fingerprint,
    ) -> Result<Checked, StoreError> {
        let path = self.path(&normal.target, &normal.scenario);
        let found = normal.to_snapshot();
        if (self.is_secret)(&found) {
            return Err(StoreError::Secret { path });
        }
        let text = match read(&path) {
            Ok(text) => Some(text),
            Err(error) if error.is_missing() => None,
            Err(error) => return Err(error),
        };
        let now = text.as_deref().map_or(Fingerprint::NONE, Fingerprint::of);
        let known = text.as_deref().map(|text| parse(&path, text)).transpose();
        if let Err(StoreError::Snapshot { source: SnapshotError::Newer { .. }, .. }) = &known {
            // Nobody takes over from a newer clawgate what this one cannot read.
            return known.map(|_| Checked { outcome: Outcome::Same, waits: Ok(false) });
        }
        // A scenario that moved, and a header that another tool has written differently, are no difference.
        let as_owned = |known: &Normal| Normal { owner: normal.owner.clone(), ..known.clone() }.to_snapshot();
        if mode == Mode::Update {
            let known = known.ok().flatten();
            let old = known.as_ref().map(&as_owned);
            let is_same = old.as_deref() == Some(found.as_str());
            if !is_same {
                self.write(&path, &accepted::remember(&found, old.as_deref()))?;
            } else if known.is_some_and(|known| known.owner != normal.owner) {
                self.write(&path, &found)?;
            }
            self.forget(&pending_of(&path))?;
            let outcome = if is_same { Outcome::Same } else { Outcome::Updated { replaced: text.is_some() } };
            return Ok(Checked { outcome, waits: Ok(false) });
        }
        let outcome = match known {
            _ if now != at_start => Outcome::Unusable(StoreError::Touched { path: path.clone() }),
            Err(error) => Outcome::Unusable(error),
            Ok(None) => Outcome::New,
            Ok(Some(known)) => match as_owned(&known) {
                expected if expected == found => Outcome::Same,
                expected => Outcome::Changed(Difference {
                    is_repeated: accepted::is_repeated(
                        text.as_deref().unwrap_or_default(),
                        &expected,
                        &found,
                    ),
                    ..difference(&expected, &found)
                }),
            },
        };
        let pending = pending_of(&path);
        let waits = match (mode, &outcome) {
            (Mode::Check, Outcome::Same) => self.forget(&pending).map(|()| false),
            (Mode::Check, _) => self.write(&pending, &found).map(|()| true),
            _ => Ok(false),
        };
        Ok(Checked { outcome, waits })
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
            let normal = open(&path)?;
            let Some(owner) = normal.owner else {
                orphans.push(Orphan { path, kept_for: None });
                continue;
            };
            let scenario = self.root.join(&owner);
            // Beside the snapshots, a file that is not there is gone; elsewhere it may be on another machine.
            let is_ours = !Path::new(&owner).starts_with("../..");
            let kept_for = (!scenario.exists() && !is_ours).then_some(owner);
            if !has(&scenario, &normal.scenario) {
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
        let new = parse(pending, &text)?.to_snapshot();
        if (self.is_secret)(&text) {
            return Err(StoreError::Secret { path: pending.to_owned() });
        }
        let snapshot = snapshot_of(pending);
        let old = open(&snapshot).ok().map(|old| old.to_snapshot());
        fs::rename(pending, &snapshot).map_err(at(pending))?;
        self.put(&snapshot, &accepted::remember(&new, old.as_deref()))?;
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

    fn write(&self, path: &Path, text: &str) -> Result<(), StoreError> {
        let folder = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).map_err(at(folder))?;
        let _lock = self.lock()?;
        self.put(path, text)
    }

    /// Writes under the lock that the caller holds.
    fn put(&self, path: &Path, text: &str) -> Result<(), StoreError> {
        let folder = path.parent().unwrap_or(&self.root);
        let mut file = tempfile::Builder::new().prefix(".golden-").tempfile_in(folder).map_err(at(folder))?;
        file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_data()).map_err(at(path))?;
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
pub(crate) fn read(path: &Path) -> Result<String, StoreError> {
    let bytes = fs::read(path).map_err(at(path))?;
    // What is not UTF-8 is not a snapshot of ours, and says so when it is read as one.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads the snapshot in a file.
pub(crate) fn open(path: &Path) -> Result<Normal, StoreError> {
    parse(path, &read(path)?)
}

/// Reads a snapshot of which the text is known.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Normal, StoreError> {
    Normal::from_snapshot(text).map_err(|source| StoreError::Snapshot { path: path.to_owned(), source })
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
        let exit = Some(json!({ "code": code }));
        Normal { target: "t".into(), scenario: case.into(), exit, ..Normal::default() }
    }

    /// Compares with the snapshot as it is now.
    fn check(store: &Store, normal: &Normal, mode: Mode) -> Result<Outcome, StoreError> {
        let at_start = Store::fingerprint(&store.path(&normal.target, &normal.scenario))?;
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
            check(&store, &Normal { owner, ..normal(case, 0) }, Mode::Update).unwrap();
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
