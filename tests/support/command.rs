//! clawgate as a user types it, in the repository or in a folder of the test's own.

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

use crate::support::{json_lines, process};

/// The repository.
pub(crate) const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// That part of the corpus.
pub(crate) fn corpus(path: &str) -> PathBuf {
    Path::new(ROOT).join("tests/corpus").join(path)
}

/// Like [`process`], with what `assert_cmd` can do.
pub(crate) fn clawgate(folder: impl AsRef<Path>) -> Command {
    Command::from_std(process(folder))
}

/// Runs a command: its exit code, and what it printed for programs.
pub(crate) fn said(command: &mut Command) -> (Option<i32>, Vec<Value>) {
    let output = command.output().unwrap();
    (output.status.code(), json_lines(output.stdout))
}
