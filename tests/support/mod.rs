//! What all tests share. What only some of them need stands in the other files of this folder.

use std::path::Path;
use std::process::{Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

/// How the variables begin that clawgate would listen to. A test sets those it means.
const SETTINGS: [&str; 6] = ["ANTHROPIC_", "CI", "CLAWGATE_", "COLUMNS", "GITHUB_", "NO_COLOR"];

/// A clawgate in that folder, whatever the surroundings of the tests have set.
pub(crate) fn process(folder: impl AsRef<Path>) -> Command {
    let mut command = Command::new(cargo_bin("clawgate"));
    command.current_dir(folder).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if SETTINGS.iter().any(|start| name.as_encoded_bytes().starts_with(start.as_bytes())) {
            command.env_remove(name);
        }
    }
    // What somebody installed on this machine is no part of a test.
    command.env("CLAWGATE_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/no-cache"));
    command
}

/// What was printed for programs: a value on each line.
pub(crate) fn json_lines(text: impl AsRef<[u8]>) -> Vec<Value> {
    let text = str::from_utf8(text.as_ref()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
