//! Finding what is to be judged: files, recordings, and directories of either.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::events::{log_files, segments};
use crate::recording::{Recording, RecordingError};
use crate::text::trouble;

/// One thing to judge.
#[derive(Debug, Clone)]
pub struct Input {
    /// The path as found, which names the input in reports.
    pub name: String,
    /// Where it comes from.
    pub source: Source,
}

impl Input {
    /// The target, its version and the scenario that a recording names; of anything else the scenario is its file name.
    pub fn origin(&self) -> (String, String, String) {
        let of_file = |path: &Path| {
            path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let unnamed = |scenario| (String::new(), String::new(), scenario);
        match &self.source {
            Source::Recording(path) => match Recording::open(path) {
                Ok(recording) => {
                    let facts = recording.facts;
                    (facts.target, facts.target_version, facts.scenario)
                }
                Err(_) => unnamed(of_file(path)),
            },
            Source::File(path) => unnamed(of_file(path)),
            Source::Segments(_) => unnamed(of_file(Path::new(&self.name))),
            Source::Stdin => unnamed("-".into()),
        }
    }
}

/// Where an input comes from.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Source {
    /// A directory that holds a recording.
    Recording(PathBuf),
    /// A file with what a program printed, of which nothing else is known.
    File(PathBuf),
    /// The segments of one event log, in their order.
    Segments(Vec<PathBuf>),
    /// Standard input, read while it flows.
    Stdin,
}

/// Why an input cannot be judged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// A file or directory cannot be read.
    #[error("{}: {}", path.display(), trouble(path, source))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A recording cannot be used.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

/// What a file is named after: `list-sessions` for `fixtures/list-sessions.json` and `list-sessions.empty.json`.
pub(crate) fn named_after(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// A directory tree deeper than this is not walked.
const MAX_DEPTH: usize = 64;

/// The inputs that a path stands for: itself, or what is below it. `-` is standard input.
///
/// A directory with a `recording.json` is one input. Any other stands for the recordings below it or, where there are
/// none, for the `.ndjson`, `.jsonl` and `.json` files below it, in the order of their paths. The segments of a server's
/// event log are one input, and so is an event log with what was rotated away from it.
pub fn find(path: &Path) -> Result<Vec<Input>, InputError> {
    if path == Path::new("-") {
        return Ok(vec![Input { name: "-".into(), source: Source::Stdin }]);
    }
    let kind = fs::metadata(path).map_err(|source| InputError::Io { path: path.to_owned(), source })?;
    if !kind.is_dir() {
        return Ok(vec![of_file(path)]);
    }
    if Recording::is_at(path) {
        return Ok(vec![input(path, Source::Recording)]);
    }
    let mut found = Found::default();
    found.walk(path, 0)?;
    if found.recordings.is_empty() {
        let at = |source| InputError::Io { path: path.to_owned(), source };
        let segments = segments(path).map_err(at)?;
        if !segments.is_empty() {
            return Ok(vec![Input { name: path.display().to_string(), source: Source::Segments(segments) }]);
        }
    }
    let recordings = found.recordings.iter().map(|path| input(path, Source::Recording));
    let files = found.files.iter().map(|path| {
        // Each folder was listed already, and to list it again for each of many files takes longer than to judge them.
        let may_be_rotated = path.parent().is_some_and(|folder| found.rotated.contains(folder));
        if may_be_rotated { of_file(path) } else { input(path, Source::File) }
    });
    Ok(if found.recordings.is_empty() { files.collect() } else { recordings.collect() })
}

/// A file; with what was rotated away from it where it is an event log.
fn of_file(path: &Path) -> Input {
    match log_files(path) {
        Ok(files) if files.len() > 1 && files.iter().any(|file| is_event_log(file)) => {
            Input { name: path.display().to_string(), source: Source::Segments(files) }
        }
        // Whatever cannot be listed is said when the file itself is read.
        _ => input(path, Source::File),
    }
}

/// Whether a file begins as an event log does.
fn is_event_log(path: &Path) -> bool {
    let mut head = [0; 4096];
    let read = crate::document::open(path).and_then(|mut file| io::Read::read(&mut file, &mut head));
    let head = &head[..read.unwrap_or(0)];
    head.trim_ascii_start().starts_with(b"{") && memchr::memmem::find(head, b"\"topic\":").is_some()
}

fn input(path: &Path, source: fn(PathBuf) -> Source) -> Input {
    Input { name: path.display().to_string(), source: source(path.to_owned()) }
}

#[derive(Default)]
struct Found {
    recordings: Vec<PathBuf>,
    files: Vec<PathBuf>,
    /// The folders with a file that may have been rotated away from another: its name ends with a number.
    rotated: BTreeSet<PathBuf>,
}

impl Found {
    fn walk(&mut self, directory: &Path, depth: usize) -> Result<(), InputError> {
        let at = |source| InputError::Io { path: directory.to_owned(), source };
        let mut entries = fs::read_dir(directory).map_err(at)?.collect::<Result<Vec<_>, _>>().map_err(at)?;
        entries.sort_by_key(fs::DirEntry::path);
        for entry in entries {
            let path = entry.path();
            // A link to a directory is not followed, so that a cycle cannot trap the walk.
            let kind = entry.file_type().map_err(at)?;
            if kind.is_dir() {
                if Recording::is_at(&path) {
                    self.recordings.push(path);
                } else if depth < MAX_DEPTH {
                    self.walk(&path, depth + 1)?;
                }
            } else if matches!(
                path.extension().and_then(|extension| extension.to_str()),
                Some("ndjson" | "jsonl" | "json")
            ) {
                self.files.push(path);
            } else if path
                .extension()
                .and_then(|extension| extension.to_str())
                .is_some_and(|number| number.parse::<u64>().is_ok())
            {
                self.rotated.insert(directory.to_owned());
            }
        }
        Ok(())
    }
}
