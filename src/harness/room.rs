//! The clean room of a case: a home, a working directory and a temporary directory that nobody else uses.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Once;

use super::remove;
use super::scratch::Scratch;
use crate::text::hex;
use hmac_sha256::Hash as Sha256;
use rustix::fs::{Access, StatVfsMountFlags};
use serde::Serialize;

/// A larger file is not read for its digest.
const MOST_BYTES: u64 = 16 << 20;
/// The directories of a room.
const FOLDERS: [&str; 3] = ["home", "work", "tmp"];
/// More files are not listed, and more directories not looked into.
const MOST_FILES: usize = 1000;
const MOST_FOLDERS: usize = 2000;
/// No more than this is read of all files together: a file can be large and take no space.
const MOST_READ: u64 = MOST_BYTES;
/// What the directory of a room begins with.
const PREFIX: &str = "clawgate-room-";

/// Three directories that vanish with the value.
#[derive(Debug)]
pub(crate) struct Room {
    /// The directory that holds them, as the target calls it.
    root: Scratch,
    /// The same as it is reached from here: where the room is a file system of its own, nobody else sees it mounted.
    reach: PathBuf,
    /// What that stands on.
    inside: Option<OwnedFd>,
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
    /// Makes an empty room.
    pub(crate) fn new() -> Result<Self, RoomError> {
        static SWEPT: Once = Once::new();
        let ground = ground();
        // What a clawgate that was killed together with its supervisors has left.
        SWEPT.call_once(|| Scratch::sweep(&ground, PREFIX));
        let root = Scratch::new(&ground, PREFIX).map_err(|source| RoomError { path: ground, source })?;
        Ok(Self { reach: root.path().to_owned(), root, inside: None, before: Vec::new() })
    }

    /// Makes the directories and the files, where the room is a file system of its own in that.
    pub(crate) fn furnish(&mut self, inside: Option<OwnedFd>, files: &[RoomFile]) -> Result<(), RoomError> {
        if let Some(inside) = &inside {
            self.reach = PathBuf::from(format!("/proc/self/fd/{}", inside.as_raw_fd()));
        }
        self.inside = inside;
        for folder in FOLDERS.map(|name| self.reach.join(name)) {
            fs::create_dir(&folder).map_err(|source| RoomError { path: folder, source })?;
        }
        for file in files {
            let path = self.place(&file.path);
            write(&path, file).map_err(|source| RoomError { path, source })?;
        }
        // Only now: a directory may be one that nothing can be written into.
        for file in files {
            if let Some(mode) = file.mode {
                let path = self.place(&file.path);
                let change = fs::set_permissions(&path, fs::Permissions::from_mode(mode));
                change.map_err(|source| RoomError { path, source })?;
            }
        }
        let opened;
        (self.before, opened) = self.list();
        // The target finds what it was given.
        for (path, permissions) in opened.into_iter().rev() {
            fs::set_permissions(&path, permissions).map_err(|source| RoomError { path, source })?;
        }
        Ok(())
    }

    /// The home, as the target calls it.
    pub(crate) fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// The working directory, as the target calls it.
    pub(crate) fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    /// The directory for temporary files, as the target calls it.
    pub(crate) fn tmp(&self) -> PathBuf {
        self.root().join("tmp")
    }

    /// The directory that holds the others, as the target calls it.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// Where a scenario's file is reached. A path cannot leave the room.
    pub(crate) fn place(&self, path: &str) -> PathBuf {
        let (base, rest) = match path.strip_prefix("~/") {
            Some(rest) => ("home", rest),
            None => ("work", path),
        };
        self.reach.join(base).join(inside(Path::new(rest)))
    }

    /// Makes a directory below the working directory.
    pub(crate) fn make_folder(&self, path: &OsStr) -> Result<(), RoomError> {
        let path = self.reach.join("work").join(inside(Path::new(path)));
        fs::create_dir_all(&path).map_err(|source| RoomError { path, source })
    }

    /// What was made or changed since the room was made. All of it can be read from then on.
    pub(crate) fn written(&self) -> Vec<WrittenFile> {
        let (mut files, _) = self.list();
        files.retain(|file| !self.before.contains(file));
        files
    }

    /// The files, and which of them had which permissions before they could be read.
    fn list(&self) -> (Vec<WrittenFile>, Vec<(PathBuf, fs::Permissions)>) {
        let mut list = List { root: &self.reach, files: Vec::new(), opened: Vec::new(), left: MOST_READ };
        list.all();
        list.files.sort_by(|a, b| a.path.cmp(&b.path));
        (list.files, list.opened)
    }
}

/// The parts of a path that lead down.
fn inside(path: &Path) -> PathBuf {
    path.components().filter(|part| matches!(part, Component::Normal(_))).collect()
}

impl Drop for Room {
    fn drop(&mut self) {
        // A file system of its own goes with its last descriptor, and with it whatever is in it.
        remove::tree(self.root());
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
    if std::env::var_os("TMPDIR").is_none() && is_fit {
        return MEMORY.into();
    }
    let temporary = std::env::temp_dir();
    // Where a machine keeps its sockets, targets see nothing.
    if temporary.starts_with("/run") { "/tmp".into() } else { temporary }
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
        fs::copy(source, to)?;
        return Ok(());
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

/// The files of a room while they are listed.
struct List<'r> {
    root: &'r Path,
    files: Vec<WrittenFile>,
    /// What could not be read at first, with the permissions that it had.
    opened: Vec<(PathBuf, fs::Permissions)>,
    /// How much may still be read.
    left: u64,
}

impl List<'_> {
    fn all(&mut self) {
        let mut folders = vec![self.root.to_owned()];
        let mut count = 0;
        while let Some(folder) = folders.pop() {
            // A path that is longer than the system allows is not looked into.
            for entry in self
                .open_up(&folder, 0o700)
                .and_then(|()| fs::read_dir(&folder))
                .into_iter()
                .flatten()
                .flatten()
            {
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() {
                    count += 1;
                    if count < MOST_FOLDERS {
                        folders.push(entry.path());
                    }
                } else if self.files.len() < MOST_FILES {
                    let file = self.file(&entry, kind);
                    self.files.push(file);
                }
            }
        }
    }

    /// Lets its owner read something that he may not.
    fn open_up(&mut self, path: &Path, least: u32) -> io::Result<()> {
        let permissions = fs::symlink_metadata(path)?.permissions();
        let mode = permissions.mode();
        // Root reads everything as it is.
        if mode & least != least && !rustix::process::geteuid().is_root() {
            fs::set_permissions(path, fs::Permissions::from_mode(mode | least))?;
            self.opened.push((path.to_owned(), permissions));
        }
        Ok(())
    }

    fn file(&mut self, entry: &fs::DirEntry, kind: fs::FileType) -> WrittenFile {
        let path = entry.path();
        let bytes = entry.metadata().map_or(0, |file| file.len());
        let name = path.strip_prefix(self.root).unwrap_or(&path).to_string_lossy().into_owned();
        let sha256 = (kind.is_file() && bytes <= MOST_BYTES.min(self.left)).then(|| {
            self.left -= bytes;
            self.open_up(&path, 0o400).and_then(|()| digest(fs::File::open(&path)?))
        });
        let kind = match kind {
            kind if kind.is_socket() => Some("socket"),
            kind if kind.is_fifo() => Some("pipe"),
            kind if kind.is_symlink() => Some("link"),
            _ => None,
        };
        WrittenFile { path: name, bytes, sha256: sha256.and_then(Result::ok), kind }
    }
}

fn digest(file: fs::File) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut block = vec![0; 64 << 10];
    let mut file = file.take(MOST_BYTES);
    loop {
        match file.read(&mut block)? {
            0 => return Ok(hex(&hash.finalize())),
            length => hash.update(&block[..length]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn furnished(files: &[RoomFile]) -> Room {
        let mut room = Room::new().unwrap();
        room.furnish(None, files).unwrap();
        room
    }

    #[test]
    fn a_room_tells_what_was_written_and_vanishes() {
        let mut locked = RoomFile::new("locked", "");
        locked.is_dir = true;
        locked.mode = Some(0o555);
        let room = furnished(&[RoomFile::new("a/b.txt", "b"), RoomFile::new("~/.conf", "c"), locked]);
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
        let room = furnished(&[RoomFile::copy("skill", source.path())]);
        let copied = room.work().join("skill/bin/tool");
        assert_eq!(fs::read(&copied).unwrap(), [0xff, 0xfe]);
        assert_eq!(fs::metadata(&copied).unwrap().permissions().mode() & 0o777, 0o755);
        assert!(!room.work().join("skill/bin/link").exists() && room.written().is_empty());
    }

    #[test]
    fn a_path_cannot_leave_the_room() {
        let room = furnished(&[RoomFile::new("../../escape", "x"), RoomFile::new("/abs", "x")]);
        assert!(room.work().join("escape").is_file() && room.work().join("abs").is_file());
    }
}
