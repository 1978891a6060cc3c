//! A recording on disk.

use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use super::input::Input;
use super::{Facts, FactsError};
use crate::text::{Masked, Masker, trouble};

/// The file that makes a directory a recording.
pub const FACTS_FILE: &str = "recording.json";

/// Of standard error this much is judged, and kept in memory while a target runs.
pub const STDERR_HEAD: usize = 4 << 20;

/// One run: its facts, and where its output is.
#[derive(Debug, Clone)]
pub struct Recording {
    /// Everything but the output.
    pub facts: Facts,
    stdout: Output,
    stderr: Output,
    pub(super) input: Input,
}

#[derive(Debug, Clone)]
enum Output {
    File(PathBuf),
    Memory(Vec<u8>),
}

impl Output {
    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        match self {
            Self::Memory(bytes) => Ok(Box::new(Cursor::new(bytes))),
            Self::File(path) => match open(path) {
                Ok(file) => Ok(Box::new(Masked::new(file))),
                // A run that printed nothing may have been recorded without the file.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Box::new(io::empty())),
                Err(error) => Err(error),
            },
        }
    }
}

/// Opens a file of a recording. What a link leads to may be a device, which has no end, or a pipe, which is waited for.
fn open(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() {
        File::open(path)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidData, "is no file"))
    }
}

/// Why a recording cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// A file cannot be read or written.
    #[error("{}: {}", path.display(), trouble(path, source))]
    Io {
        /// The file that could not be used.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// `recording.json` is damaged or newer.
    #[error("{}: {source}", path.display())]
    Facts {
        /// The file that could not be used.
        path: PathBuf,
        /// What is wrong with it.
        source: FactsError,
    },
}

impl Recording {
    /// A recording in memory, as a live run makes it.
    pub fn new(facts: Facts, stdout: Vec<u8>, stderr: Vec<u8>) -> Self {
        let (stdout, stderr) = (Output::Memory(stdout), Output::Memory(stderr));
        Self { facts, stdout, stderr, input: Input::default() }
    }

    /// Reads the facts of the recording in this directory; its output is read when it is asked for.
    pub fn open(directory: &Path) -> Result<Self, RecordingError> {
        let path = directory.join(FACTS_FILE);
        let read = || {
            let mut text = Vec::new();
            open(&path)?.read_to_end(&mut text)?;
            Ok(Masker::default().mask_bytes(text))
        };
        let text = read().map_err(|source| RecordingError::Io { path: path.clone(), source })?;
        let facts = Facts::parse(&text).map_err(|source| RecordingError::Facts { path, source })?;
        Ok(Self::at(directory, facts))
    }

    /// The recording in this directory, of which the facts are known.
    pub(crate) fn at(directory: &Path, facts: Facts) -> Self {
        Self {
            facts,
            stdout: Output::File(directory.join("stdout")),
            stderr: Output::File(directory.join("stderr")),
            input: Input::Folder(directory.to_owned()),
        }
    }

    /// Where its output is, for complaints; empty for one in memory.
    #[cfg(feature = "contracts")]
    pub(crate) fn place(&self) -> &Path {
        match &self.stdout {
            Output::File(path) => path.parent().unwrap_or(path),
            Output::Memory(_) => Path::new(""),
        }
    }

    /// Whether this directory holds a recording.
    pub fn is_at(directory: &Path) -> bool {
        directory.join(FACTS_FILE).is_file()
    }

    /// What the target wrote to its standard output. Whoever recorded it, what looks like a credential is masked.
    pub fn stdout(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        self.stdout.open()
    }

    /// What the target wrote to its standard error, masked as standard output is.
    pub fn stderr(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        self.stderr.open()
    }

    /// The start of standard error, which is all that is judged of it.
    pub fn stderr_head(&self) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        self.stderr()?.take(STDERR_HEAD as u64).read_to_end(&mut head)?;
        Ok(head)
    }

    /// The last bytes of standard error, at most so many, and whether there are more before them.
    #[cfg(feature = "testing")]
    pub(crate) fn stderr_tail(&self, most: u64) -> io::Result<(Vec<u8>, bool)> {
        use std::io::{Seek, SeekFrom};
        fn tail(mut from: impl Read + Seek, most: u64) -> io::Result<(Vec<u8>, bool)> {
            let length = from.seek(SeekFrom::End(0))?;
            from.seek(SeekFrom::Start(length.saturating_sub(most)))?;
            let mut bytes = Vec::new();
            from.take(most).read_to_end(&mut bytes)?;
            Ok((Masker::default().mask_bytes(bytes), length > most))
        }
        match &self.stderr {
            Output::Memory(bytes) => tail(Cursor::new(bytes), most),
            Output::File(path) => match open(path) {
                Ok(file) => tail(file, most),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((Vec::new(), false)),
                Err(error) => Err(error),
            },
        }
    }

    /// Its output is in another directory now.
    #[cfg(feature = "testing")]
    pub(crate) fn moved_to(&mut self, directory: &Path) {
        for (name, output) in [("stdout", &mut self.stdout), ("stderr", &mut self.stderr)] {
            if let Output::File(path) = output {
                *path = directory.join(name);
            }
        }
    }

    /// Writes the recording into this directory, which is made if it is missing.
    pub fn save(&self, directory: &Path) -> Result<(), RecordingError> {
        at(directory, fs::create_dir_all(directory))?;
        for (name, output) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            let path = directory.join(name);
            let copy = || io::copy(&mut output.open()?, &mut File::create(&path)?).map(drop);
            at(&path, copy())?;
        }
        at(directory, self.save_but_output(directory))
    }

    /// Writes everything but the output into this directory, which is there.
    pub(crate) fn save_but_output(&self, directory: &Path) -> io::Result<()> {
        self.save_input(directory)?;
        fs::write(directory.join(FACTS_FILE), format!("{:#}\n", self.facts.to_value()))
    }
}

fn at(path: &Path, result: io::Result<()>) -> Result<(), RecordingError> {
    result.map_err(|source| RecordingError::Io { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_without_a_file_is_empty() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("stdout"), "said").unwrap();
        let recording = Recording::at(directory.path(), Facts::default());
        assert_eq!(recording.stderr_head().unwrap(), b"");
        let said = io::read_to_string(recording.stdout().unwrap()).unwrap();
        assert_eq!(said, "said");
    }
}
