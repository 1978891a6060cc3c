//! Snapshots on disk: `golden/<target>/<case>.snap`, and beside one what a run found instead, as `.snap.new`.
//!
//! A file is written whole under another name and then renamed, under a lock of the folder; so whoever reads sees the old
//! one or the new one, and of two writers none destroys what the other is looking at.

use std::fs::{self, File};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use super::accepted;
use super::snapshot::SnapshotError;
use crate::text::trouble;

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

/// Why snapshots cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file cannot be read or written.
    #[error("{}: {}", path.display(), trouble(path, source))]
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
    pub(super) fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Whether a snapshot is none. One of a newer clawgate is whole: nobody takes over what this one cannot read.
    pub(super) fn is_damage(&self) -> bool {
        matches!(self, Self::Snapshot { source, .. } if !matches!(source, SnapshotError::Newer { .. }))
    }
}

impl Store {
    /// The snapshots below this folder. A text that `is_secret` is never written.
    #[cfg(feature = "cli")]
    pub(crate) fn new(root: impl Into<PathBuf>, is_secret: fn(&str) -> bool) -> Self {
        Self { root: root.into(), is_secret }
    }

    /// Whether a text holds what must never be written.
    pub(super) fn is_secret(&self, text: &str) -> bool {
        (self.is_secret)(text)
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

    /// Copies a file into the store, whole or not at all, with the places where it differs from the one that it replaces.
    pub(super) fn put(&self, written: &File, path: &Path, places: &[usize]) -> Result<(), StoreError> {
        let folder = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).map_err(at(folder))?;
        let _lock = self.lock()?;
        self.replace(written, path, places)
    }

    /// The same under the lock of the caller.
    pub(super) fn replace(
        &self,
        mut written: &File,
        path: &Path,
        places: &[usize],
    ) -> Result<(), StoreError> {
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
    pub(super) fn forget(&self, pending: &Path) -> Result<(), StoreError> {
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
    pub(super) fn lock(&self) -> Result<File, StoreError> {
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

/// Says which file or folder the operating system complains about.
pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::check::{Mode, Outcome};
    use crate::golden::fingerprint::Fingerprint;
    use crate::golden::owner::Orphan;
    use crate::golden::parts::{Head, Normal};
    use serde_json::json;

    fn read(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    fn normal(case: &str, code: i32) -> Normal {
        let head = Head { target: "t".into(), scenario: case.into(), ..Head::default() };
        Normal { head, exit: Some(json!({ "code": code })), ..Normal::default() }
    }

    /// Compares with the snapshot as it is now.
    fn check(store: &Store, normal: &Normal, mode: Mode) -> Result<Outcome, StoreError> {
        let at_start = Fingerprint::at(&store.path(&normal.head.target, &normal.head.scenario))?;
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
        let text = read(&path);
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
            assert_eq!(read(&pending_of(&path)), text);
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
        assert!(matches!(store.accept(&pending, Some(Fingerprint::NONE)), Err(StoreError::Moved { .. })));
        assert!(matches!(store.reject(&pending, Some(Fingerprint::NONE)), Err(StoreError::Moved { .. })));
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
        assert!(!read(&store.path("t", "a")).contains("here.toml"));
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
