//! The clean room of a case: a home, a working directory and a temporary directory that nobody else uses.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use crate::text::hex;
use hmac_sha256::Hash as Sha256;
use rustix::fs::{Access, StatVfsMountFlags};
use serde::Serialize;
use tempfile::TempDir;

/// A larger file is not read for its digest.
const MOST_BYTES: u64 = 16 << 20;
/// More files are counted, not listed.
const MOST_FILES: usize = 1000;

/// Three directories that vanish with the value.
#[derive(Debug)]
pub(crate) struct Room {
    root: TempDir,
    before: Vec<WrittenFile>,
}

/// A file to put into the working directory, or the home when its path begins with `~/`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoomFile {
    pub path: String,
    /// What is in it.
    pub text: String,
    /// Its permissions; those of an ordinary file without it. `dir` files are directories.
    pub mode: Option<u32>,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// A file or directory on disk that is copied instead, links not followed.
    pub copy_of: Option<PathBuf>,
}

impl RoomFile {
    /// A file with this text.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into(), mode: None, is_dir: false, copy_of: None }
    }

    /// A copy of a file or directory, with its permissions.
    pub fn copy(path: impl Into<String>, source: impl Into<PathBuf>) -> Self {
        Self { copy_of: Some(source.into()), ..Self::new(path, "") }
    }
}

/// A file that a run made or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct WrittenFile {
    /// Its path in the room: `work/…`, `home/…` or `tmp/…`.
    pub path: String,
    pub bytes: u64,
    /// The digest of its content, unless it is too large or no file.
    pub sha256: Option<String>,
    /// What it is instead of a file: `socket`, `pipe` or `link`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
}

/// Why there is no room.
#[derive(Debug, thiserror::Error)]
#[error("cannot make the clean room: {}: {source}", path.display())]
pub struct RoomError {
    /// The file or directory.
    pub path: PathBuf,
    /// What the operating system said.
    pub source: io::Error,
}

impl Room {
    /// Makes the directories and the files.
    pub(crate) fn new(files: &[RoomFile]) -> Result<Self, RoomError> {
        let temporary = ground();
        let root = tempfile::Builder::new()
            .prefix("clawgate-")
            .tempdir_in(&temporary)
            .map_err(|source| RoomError { path: temporary, source })?;
        let mut room = Self { root, before: Vec::new() };
        for folder in [room.home(), room.work(), room.tmp()] {
            fs::create_dir(&folder).map_err(|source| RoomError { path: folder, source })?;
        }
        for file in files {
            let path = room.place(&file.path);
            write(&path, file).map_err(|source| RoomError { path, source })?;
        }
        // Only now: a directory may be one that nothing can be written into.
        for file in files {
            if let Some(mode) = file.mode {
                let path = room.place(&file.path);
                let change = fs::set_permissions(&path, fs::Permissions::from_mode(mode));
                change.map_err(|source| RoomError { path, source })?;
            }
        }
        room.before = room.list();
        Ok(room)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    pub(crate) fn tmp(&self) -> PathBuf {
        self.root.path().join("tmp")
    }

    /// The directory that holds the others.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// Where a scenario's file stands. A path cannot leave the room.
    pub(crate) fn place(&self, path: &str) -> PathBuf {
        let (base, rest) = match path.strip_prefix("~/") {
            Some(rest) => (self.home(), rest),
            None => (self.work(), path),
        };
        let inside = Path::new(rest).components().filter(|part| matches!(part, Component::Normal(_)));
        base.join(inside.collect::<PathBuf>())
    }

    /// What was made or changed since the room was made.
    pub(crate) fn written(&self) -> Vec<WrittenFile> {
        let mut files = self.list();
        files.retain(|file| !self.before.contains(file));
        files
    }

    fn list(&self) -> Vec<WrittenFile> {
        let mut files = Vec::new();
        list(self.root.path(), self.root.path(), &mut files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        unlock(self.root.path());
    }
}

/// Where rooms are made: in memory where there is enough of it, which saves most of what a room costs, unless the user
/// names another place for temporary files.
fn ground() -> PathBuf {
    const MEMORY: &str = "/dev/shm";
    const ENOUGH: u64 = 1 << 30;
    let is_fit = rustix::fs::statvfs(MEMORY).is_ok_and(|system| {
        let unfit = StatVfsMountFlags::NOEXEC | StatVfsMountFlags::RDONLY;
        !system.f_flag.intersects(unfit) && system.f_bavail.saturating_mul(system.f_frsize) >= ENOUGH
    }) && rustix::fs::access(MEMORY, Access::WRITE_OK).is_ok();
    if std::env::var_os("TMPDIR").is_none() && is_fit { MEMORY.into() } else { std::env::temp_dir() }
}

fn write(path: &Path, file: &RoomFile) -> io::Result<()> {
    if file.is_dir {
        return fs::create_dir_all(path);
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    match &file.copy_of {
        Some(source) => copy(source, path),
        None => fs::write(path, &file.text),
    }
}

/// Copies a file, or a directory with everything in it but links, which could lead out of it.
pub(crate) fn copy(source: &Path, to: &Path) -> io::Result<()> {
    if !fs::metadata(source)?.is_dir() {
        return fs::copy(source, to).map(drop);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(source)? {
        let entry = entry?;
        if !entry.file_type()?.is_symlink() {
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn list(root: &Path, folder: &Path, files: &mut Vec<WrittenFile>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_dir() {
            list(root, &path, files);
        } else if files.len() < MOST_FILES {
            let bytes = entry.metadata().map_or(0, |file| file.len());
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            let content = (kind.is_file() && bytes <= MOST_BYTES).then(|| fs::read(&path).ok()).flatten();
            let sha256 = content.map(|content| hex(&Sha256::hash(&content)));
            let kind = match kind {
                kind if kind.is_socket() => Some("socket"),
                kind if kind.is_fifo() => Some("pipe"),
                kind if kind.is_symlink() => Some("link"),
                _ => None,
            };
            files.push(WrittenFile { path: name, bytes, sha256, kind });
        }
    }
}

/// Directories that forbid writing would outlive the room.
fn unlock(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let path = entry.path();
            if fs::metadata(&path).is_ok_and(|folder| folder.permissions().mode() & 0o700 != 0o700) {
                _ = fs::set_permissions(&path, fs::Permissions::from_mode(0o700));
            }
            unlock(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_tells_what_was_written_and_vanishes() {
        let mut locked = RoomFile::new("locked", "");
        locked.is_dir = true;
        locked.mode = Some(0o555);
        let room =
            Room::new(&[RoomFile::new("a/b.txt", "b"), RoomFile::new("~/.conf", "c"), locked]).unwrap();
        assert!(room.written().is_empty());
        fs::write(room.work().join("new.txt"), "new").unwrap();
        fs::write(room.work().join("a/b.txt"), "B").unwrap();
        let names: Vec<_> = room.written().into_iter().map(|file| file.path).collect();
        assert_eq!(names, ["work/a/b.txt", "work/new.txt"]);
        let root = room.root().to_owned();
        drop(room);
        assert!(!root.exists());
    }

    #[test]
    fn a_directory_is_copied_with_its_permissions_and_without_links() {
        let source = tempfile::tempdir().unwrap();
        fs::create_dir(source.path().join("bin")).unwrap();
        fs::write(source.path().join("bin/tool"), [0xff, 0xfe]).unwrap();
        fs::set_permissions(source.path().join("bin/tool"), fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", source.path().join("bin/link")).unwrap();
        let room = Room::new(&[RoomFile::copy("skill", source.path())]).unwrap();
        let copied = room.work().join("skill/bin/tool");
        assert_eq!(fs::read(&copied).unwrap(), [0xff, 0xfe]);
        assert_eq!(fs::metadata(&copied).unwrap().permissions().mode() & 0o777, 0o755);
        assert!(!room.work().join("skill/bin/link").exists() && room.written().is_empty());
    }

    #[test]
    fn a_path_cannot_leave_the_room() {
        let room = Room::new(&[RoomFile::new("../../escape", "x"), RoomFile::new("/abs", "x")]).unwrap();
        assert!(room.work().join("escape").is_file() && room.work().join("abs").is_file());
    }
}
