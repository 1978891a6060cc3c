//! A program that acts as a recorded command line.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::recording::{Recording, RecordingError};
use crate::shell::shell_word;

/// A stand-in for a command line, to test a program that starts one and reads what it prints.
///
/// It prints what a recording holds, byte for byte and on both channels, and ends as the recorded run did. It is
/// `clawgate play` behind a script of one line, so the clawgate binary has to be there: the one that `CLAWGATE_BIN`
/// names, or `clawgate` on the `PATH`. (For want of it the example does not run here.)
///
/// ```no_run
/// use clawgate::testing::FakeCli;
///
/// let fake = FakeCli::of("tests/recordings/answer")?.fault("split:bytes=7").start()?;
/// let output = std::process::Command::new(fake.program()).args(["-p", "ignored"]).output()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct FakeCli {
    recording: PathBuf,
    arguments: Vec<String>,
}

/// The stand-in, which is there as long as this is.
#[derive(Debug)]
pub struct FakeProgram {
    folder: tempfile::TempDir,
}

/// Why there is no stand-in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FakeError {
    /// There is no such recording.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// It cannot be written.
    #[error("cannot write the stand-in: {0}")]
    Io(#[from] io::Error),
    /// The binary that plays is not there.
    #[error("clawgate is neither named by CLAWGATE_BIN nor on the PATH; to get it: cargo install clawgate")]
    NoClawgate,
}

impl FakeCli {
    /// A stand-in for the run that was recorded in this directory. It plays without pauses unless told otherwise.
    pub fn of(recording: impl AsRef<Path>) -> Result<Self, FakeError> {
        let recording = std::path::absolute(recording)?;
        Recording::open(&recording)?;
        Ok(Self { recording, arguments: vec!["--speed".into(), "0".into()] })
    }

    /// With something going wrong; `clawgate play --help` lists the faults.
    #[must_use]
    pub fn fault(mut self, fault: &str) -> Self {
        self.arguments.extend(["--fault".into(), fault.into()]);
        self
    }

    /// With the pauses of the recorded run, so many times as fast.
    #[must_use]
    pub fn speed(mut self, times: f64) -> Self {
        self.arguments[1] = times.to_string();
        self
    }

    /// Writes the program, which can then be started by its path.
    pub fn start(&self) -> Result<FakeProgram, FakeError> {
        let clawgate = clawgate().ok_or(FakeError::NoClawgate)?;
        let folder = tempfile::Builder::new().prefix("clawgate-fake-").tempdir()?;
        let words = [clawgate.display().to_string(), "play".into(), self.recording.display().to_string()];
        let words: Vec<String> =
            words.iter().chain(&self.arguments).map(|word| shell_word(word).into_owned()).collect();
        let mut options = fs::OpenOptions::new();
        let mut script = options.write(true).create_new(true).mode(0o755).open(folder.path().join(NAME))?;
        writeln!(script, "#!/bin/sh\nexec {} -- \"$@\"", words.join(" "))?;
        Ok(FakeProgram { folder })
    }
}

const NAME: &str = "fake-cli";

impl FakeProgram {
    /// What to start instead of the real one.
    pub fn program(&self) -> PathBuf {
        self.folder.path().join(NAME)
    }
}

fn clawgate() -> Option<PathBuf> {
    let named = std::env::var_os("CLAWGATE_BIN").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path =
        || std::env::split_paths(&path).map(|folder| folder.join("clawgate")).find(|file| file.is_file());
    named.or_else(on_path)
}
