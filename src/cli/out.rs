//! The folder that a command writes into: nobody else's, and one command's at a time.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use super::CommandError;
use super::error::unwritable;
use crate::shell::shell_word;
use crate::time;

/// The file that makes a folder ours, and says who writes there.
const MARK: &str = ".clawgate";
/// What earlier runs and evaluations leave in theirs.
const TRACES: [&str; 4] = [MARK, "events.ndjson", "last-run.json", "history.jsonl"];
/// What may stand anywhere, and is nobody's work.
const NOBODYS: [&str; 3] = [".gitignore", ".gitkeep", "lost+found"];
/// So deep is looked for evaluations, which may be all that is there: `OUT/eval/SKILL/history.jsonl`.
const DEPTH: usize = 2;

/// A folder that is this command's until the value goes.
#[derive(Debug)]
#[must_use]
pub(super) struct OutFolder {
    _lock: File,
}

impl OutFolder {
    /// Takes a folder, which is made if there is none. The error says who has it, or what is in it.
    pub(super) fn take(folder: &Path) -> Result<Self, CommandError> {
        share(folder)?;
        let path = folder.join(MARK);
        let file = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let mut lock = file.map_err(unwritable(&path))?;
        match lock.try_lock() {
            Err(fs::TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // Whoever has only just begun has not said so yet.
                _ = (&lock).take(200).read_to_string(&mut holder);
                let holder = if holder.is_empty() { "another clawgate" } else { holder.trim_end() };
                return Err(CommandError::Environment(format!(
                    "{}: {holder} is writing there: wait for its end, or name another folder with --out",
                    folder.display()
                )));
            }
            // A file system without locks.
            Ok(()) | Err(fs::TryLockError::Error(_)) => {}
        }
        let holder = format!("process {} (since {})\n", std::process::id(), time::rfc3339(time::now()));
        let write =
            lock.set_len(0).and_then(|()| lock.rewind()).and_then(|()| lock.write_all(holder.as_bytes()));
        write.map_err(unwritable(&path))?;
        Ok(Self { _lock: lock })
    }
}

/// Makes sure that a folder can be written into by several commands of ours, and marks it.
pub(super) fn share(folder: &Path) -> Result<(), CommandError> {
    fs::create_dir_all(folder).map_err(unwritable(folder))?;
    if let Some(foreign) = foreign(folder, DEPTH).map_err(unwritable(folder))? {
        let (place, mark) = (folder.display(), folder.join(MARK).display().to_string());
        return Err(CommandError::Usage(format!(
            "{place}: holds what is not clawgate's, such as {}: name an empty folder with --out, or allow it with: touch {}",
            foreign.display(),
            shell_word(&mark)
        )));
    }
    // A repository can hold such a folder, with links to files of whoever runs this.
    if let Some(link) = TRACES.map(|name| folder.join(name)).into_iter().find(|path| path.is_symlink()) {
        let link = link.display();
        return Err(CommandError::Usage(format!(
            "{link}: is a link, which nothing is written through: remove it"
        )));
    }
    let path = folder.join(MARK);
    let mark = File::options().create(true).append(true).open(&path);
    mark.map(drop).map_err(unwritable(&path))
}

/// Something in a folder that none of our commands has made there; none where everything may be ours.
fn foreign(folder: &Path, depth: usize) -> io::Result<Option<PathBuf>> {
    if TRACES.iter().any(|name| folder.join(name).exists()) {
        return Ok(None);
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if NOBODYS.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        let path = entry.path();
        // A folder in which there is nothing of ours at all is not ours.
        let is_ours = depth > 0
            && entry.file_type()?.is_dir()
            && fs::read_dir(&path)?.next().is_some()
            && foreign(&path, depth - 1)?.is_none();
        if !is_ours {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(paths: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for path in paths {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    #[test]
    fn what_runs_and_evaluations_leave_is_ours_and_nothing_else() {
        for ours in [
            &[][..],
            &["events.ndjson", "reference/claude/answers/stdout", "junit.xml"],
            &["eval/my-skill/history.jsonl", "eval/my-skill/iteration-1/iteration.json"],
            &[".clawgate", "anything"],
            &[".gitignore"],
        ] {
            let folder = folder(ours);
            assert_eq!(foreign(folder.path(), DEPTH).unwrap(), None, "{ours:?}");
        }
        for foreigners in
            [&["Cargo.toml"][..], &["src/main.rs"], &["clawgate-out/events.ndjson", "README.md"]]
        {
            let folder = folder(foreigners);
            assert!(foreign(folder.path(), DEPTH).unwrap().is_some(), "{foreigners:?}");
        }
    }
}
