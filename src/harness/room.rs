//! The clean room of a case: a home, a working directory and a temporary directory that nobody else uses.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Once;

use super::scratch::Scratch;
use super::written::{self, WrittenFile};
use super::{mcp, platform, remove};

/// The directories of a room.
const FOLDERS: [&str; 3] = ["home", "work", "tmp"];
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
    /// Of two files at one place the later one stands there.
    pub(crate) fn furnish<'f>(
        &mut self,
        inside: Option<OwnedFd>,
        files: impl IntoIterator<Item = &'f RoomFile> + Clone,
    ) -> Result<(), RoomError> {
        if let Some(inside) = &inside {
            self.reach = platform::path_of(inside);
        }
        self.inside = inside;
        for folder in FOLDERS.map(|name| self.reach.join(name)) {
            fs::create_dir(&folder).map_err(|source| RoomError { path: folder, source })?;
        }
        for file in files.clone() {
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
        (self.before, opened) = written::list(&self.reach);
        // The target finds what it was given.
        for (path, mode) in opened.into_iter().rev() {
            let path = self.reach.join(path);
            let change = rustix::fs::chmod(&path, mode);
            change.map_err(|source| RoomError { path, source: source.into() })?;
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

    /// Fills in its places where a text names them.
    pub(crate) fn fill(&self, text: &mut String) {
        if text.contains('{') {
            for (name, place) in [("{home}", self.home()), ("{work}", self.work()), ("{tmp}", self.tmp())] {
                *text = text.replace(name, &place.to_string_lossy());
            }
        }
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

    /// Where the files of scripted MCP servers are: as the target calls it, and as it is reached from here.
    pub(crate) fn mcp(&self) -> (PathBuf, PathBuf) {
        (self.root().join(mcp::FOLDER), self.reach.join(mcp::FOLDER))
    }

    /// What was made or changed since the room was made. All of it can be read from then on. What scripted MCP servers
    /// write is not the target's.
    pub(crate) fn written(&self) -> Vec<WrittenFile> {
        let (mut files, _) = written::list(&self.reach);
        files.retain(|file| !self.before.contains(file) && !Path::new(&file.path).starts_with(mcp::FOLDER));
        files
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
    if let Some(memory) = platform::memory().filter(|_| std::env::var_os("TMPDIR").is_none()) {
        return memory;
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
