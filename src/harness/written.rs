//! What stands in a room: its files, with their sizes and digests.
//!
//! Every directory is reached from a descriptor a few levels above it. By its whole path, the kernel would walk down from the
//! top each time, and a tree of a few thousand levels would take it as many steps as there are pairs of them.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use hmac_sha256::Hash as Sha256;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, chmodat, openat, statat};
use serde::Serialize;

use crate::text::hex;

/// A larger file is not read for its digest.
const MOST_BYTES: u64 = 16 << 20;
/// No more than this is read of all files together: a file can be large and take no space.
const MOST_READ: u64 = MOST_BYTES;
/// More files are not listed, and more directories not looked into.
const MOST_FILES: usize = 1000;
const MOST_FOLDERS: usize = 2000;
/// A directory whose path is longer is not looked into: nothing in it could be named to anybody.
const LONGEST_PATH: usize = 4096;
/// How many levels lie between two directories that are held open on the way down.
const LEVELS: usize = 32;

/// A file that stands in a room.
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

/// The files below a directory, sorted by path, and what could not be read before with the permissions that it had. All of
/// it can be read from then on.
pub(super) fn list(root: &Path) -> (Vec<WrittenFile>, Vec<(PathBuf, Mode)>) {
    let mut list = List {
        files: Vec::new(),
        opened: Vec::new(),
        left: MOST_READ,
        is_root: rustix::process::geteuid().is_root(),
    };
    list.all(root);
    list.files.sort_by(|a, b| a.path.cmp(&b.path));
    (list.files, list.opened)
}

/// A directory that is still to be looked into.
struct Folder {
    /// A directory above it, and the way from there.
    base: Rc<OwnedFd>,
    way: PathBuf,
    /// Its path in the room.
    path: PathBuf,
    depth: usize,
}

struct List {
    files: Vec<WrittenFile>,
    opened: Vec<(PathBuf, Mode)>,
    /// How much may still be read.
    left: u64,
    /// Root reads everything as it is.
    is_root: bool,
}

impl List {
    fn all(&mut self, root: &Path) {
        // Where the room is a file system of its own, its path is a link to it.
        let Ok(base) = openat(CWD, root, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) else { return };
        let top = Folder { base: Rc::new(base), way: PathBuf::from("."), path: PathBuf::new(), depth: 0 };
        let mut folders = vec![top];
        let mut count = 0;
        while let Some(folder) = folders.pop() {
            // What cannot be looked into is left out.
            _ = self.look_into(&folder, |below| {
                count += 1;
                if count < MOST_FOLDERS {
                    folders.push(below);
                }
            });
        }
    }

    /// Lists the files of a directory, and hands over the directories in it.
    fn look_into(&mut self, folder: &Folder, mut below: impl FnMut(Folder)) -> io::Result<()> {
        let found = statat(&*folder.base, &folder.way, AtFlags::SYMLINK_NOFOLLOW)?;
        self.open_up(&folder.base, &folder.way, &folder.path, &found, Mode::RWXU)?;
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(&*folder.base, &folder.way, flags, Mode::empty())?;
        let is_base = folder.depth.is_multiple_of(LEVELS);
        let base = if is_base { Rc::new(opened.try_clone()?) } else { folder.base.clone() };
        for entry in Dir::read_from(&opened)?.flatten() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let Ok(found) = statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let path = folder.path.join(name);
            if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
                if path.as_os_str().len() <= LONGEST_PATH {
                    let way = if is_base { PathBuf::from(name) } else { folder.way.join(name) };
                    below(Folder { base: base.clone(), way, path, depth: folder.depth + 1 });
                }
            } else if self.files.len() < MOST_FILES {
                let file = self.file(&opened, name, &path, &found);
                self.files.push(file);
            }
        }
        Ok(())
    }

    /// Lets its owner read something that he may not.
    fn open_up(
        &mut self,
        folder: &OwnedFd,
        name: &Path,
        path: &Path,
        found: &Stat,
        least: Mode,
    ) -> io::Result<()> {
        let mode = Mode::from_raw_mode(found.st_mode);
        if !mode.contains(least) && !self.is_root {
            chmodat(folder, name, mode | least, AtFlags::empty())?;
            self.opened.push((path.to_owned(), mode));
        }
        Ok(())
    }

    fn file(&mut self, folder: &OwnedFd, name: &OsStr, path: &Path, found: &Stat) -> WrittenFile {
        let kind = FileType::from_raw_mode(found.st_mode);
        let bytes = u64::try_from(found.st_size).unwrap_or_default();
        let sha256 = (kind == FileType::RegularFile && bytes <= MOST_BYTES.min(self.left)).then(|| {
            self.left -= bytes;
            self.open_up(folder, Path::new(name), path, found, Mode::RUSR)?;
            digest(
                openat(folder, name, OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?
                    .into(),
            )
        });
        let kind = match kind {
            FileType::Socket => Some("socket"),
            FileType::Fifo => Some("pipe"),
            FileType::Symlink => Some("link"),
            _ => None,
        };
        let path = path.to_string_lossy().into_owned();
        WrittenFile { path, bytes, sha256: sha256.and_then(Result::ok), kind }
    }
}

fn digest(file: File) -> io::Result<String> {
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

    /// A tree of so many levels, with a file beside every hundredth directory: no path reaches its end.
    fn deep(folder: &Path, name: &str, levels: usize) {
        let mut here = openat(CWD, folder, OFlags::DIRECTORY, Mode::empty()).unwrap();
        for level in 0..levels {
            if level % 100 == 0 {
                let flags = OFlags::CREATE | OFlags::WRONLY;
                openat(&here, "file", flags, Mode::RUSR | Mode::WUSR).unwrap();
            }
            rustix::fs::mkdirat(&here, name, Mode::RWXU).unwrap();
            here = openat(&here, name, OFlags::DIRECTORY, Mode::empty()).unwrap();
        }
    }

    #[test]
    fn a_deep_tree_is_listed_as_far_as_its_directories_are_few_and_its_paths_short() {
        for (name, hundreds) in [("d", MOST_FOLDERS.div_ceil(100)), ("ddd", LONGEST_PATH.div_ceil(400))] {
            let folder = tempfile::tempdir().unwrap();
            deep(folder.path(), name, 3000);
            let (files, opened) = list(folder.path());
            let mut depths: Vec<usize> = files.iter().map(|file| file.path.split('/').count() - 1).collect();
            depths.sort_unstable();
            assert_eq!(depths, (0..hundreds).map(|hundred| hundred * 100).collect::<Vec<_>>(), "{name}");
            assert!(files.iter().all(|file| file.sha256.is_some()) && opened.is_empty());
            crate::harness::remove::tree(folder.path());
        }
    }

    #[test]
    fn what_is_no_file_is_named_and_not_read() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("link")).unwrap();
        std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
        File::create(folder.path().join("sparse")).unwrap().set_len(1 << 40).unwrap();
        let (files, _) = list(folder.path());
        let told: Vec<_> =
            files.iter().map(|file| (file.path.as_str(), file.kind, file.sha256.is_some())).collect();
        assert_eq!(
            told,
            [("link", Some("link"), false), ("socket", Some("socket"), false), ("sparse", None, false)]
        );
    }
}
