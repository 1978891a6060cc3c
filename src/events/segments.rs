//! The files of a server's log in the order in which they were written.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A directory tree deeper than this is not looked through.
const MAX_DEPTH: usize = 4;

/// The segments below a directory such as `.claws/events/`: files named `NNNN-<hour>.jsonl`, by their number. The
/// manifest beside them may be stale, so it is not asked. Empty where the directory holds no segments.
pub(crate) fn segments(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    walk(directory, 0, &mut found)?;
    found.sort();
    Ok(found.into_iter().map(|(_, _, path)| path).collect())
}

/// The files of the log at a path, oldest first: the segments of a directory, or a file with those that were rotated
/// away from it (`events.jsonl.2`, `events.jsonl.1`, `events.jsonl`). Empty where a directory holds no segments.
pub(crate) fn log_files(log: &Path) -> io::Result<Vec<PathBuf>> {
    if fs::metadata(log)?.is_dir() {
        return segments(log);
    }
    let mut files = rotated(log)?;
    files.push(log.to_owned());
    Ok(files)
}

/// What was rotated away from a file: the same name and a number, the higher the older.
fn rotated(log: &Path) -> io::Result<Vec<PathBuf>> {
    let (Some(name), Some(folder)) = (log.file_name().and_then(|name| name.to_str()), log.parent()) else {
        return Ok(Vec::new());
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let file_name = entry.file_name();
        let number =
            file_name.to_str().and_then(|file| file.strip_prefix(name)?.strip_prefix('.')?.parse().ok());
        if let Some(number) = number
            && fs::metadata(entry.path()).is_ok_and(|kind| kind.is_file())
        {
            let number: u64 = number;
            found.push((number, log.with_file_name(&file_name)));
        }
    }
    found.sort_by(|a, b| b.cmp(a));
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

fn walk(directory: &Path, depth: usize, found: &mut Vec<(PathBuf, u64, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            if depth < MAX_DEPTH {
                walk(&path, depth + 1, found)?;
            }
        } else if let Some(number) = path.file_name().and_then(|name| number_of(name.to_str()?)) {
            found.push((directory.to_owned(), number, path));
        }
    }
    Ok(())
}

/// The number in front of a segment's name.
fn number_of(name: &str) -> Option<u64> {
    let stem = name.strip_suffix(".jsonl")?;
    let (number, hour) = stem.split_once('-')?;
    // `2026-06-01T09`, so that a log that merely starts with a number is none.
    let is_hour = hour.len() >= 13 && hour.as_bytes()[4] == b'-' && hour.as_bytes()[10] == b'T';
    number.parse().ok().filter(|_| is_hour)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_come_by_number_not_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let stream = directory.path().join("default");
        fs::create_dir(&stream).unwrap();
        for name in [
            "9-2026-06-01T09.jsonl",
            "10-2026-06-01T10.jsonl",
            "0002-2026-06-01T02.jsonl",
            "0001-run.jsonl",
            "manifest.json",
            "0001-2026-06-01T01.idx",
        ] {
            fs::write(stream.join(name), "").unwrap();
        }
        let names: Vec<_> = segments(directory.path())
            .unwrap()
            .iter()
            .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["0002-2026-06-01T02.jsonl", "9-2026-06-01T09.jsonl", "10-2026-06-01T10.jsonl"]);
    }

    #[test]
    fn rotated_files_come_before_the_one_that_is_written_the_oldest_first() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("events.jsonl");
        for name in [
            "events.jsonl",
            "events.jsonl.1",
            "events.jsonl.10",
            "events.jsonl.2",
            "events.jsonl.2.gz",
            "other.jsonl.3",
        ] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        let names: Vec<_> = log_files(&log)
            .unwrap()
            .iter()
            .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["events.jsonl.10", "events.jsonl.2", "events.jsonl.1", "events.jsonl"]);
    }
}
