//! Lines that leave the program one by one while it goes on, for commands that people and programs watch.

use std::io::{self, Write};

use serde::Serialize;

/// Writes a line of data to standard output at once. A reader that has left is no failure.
pub(crate) fn data(line: &str) {
    let mut out = io::stdout().lock();
    _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Writes a JSON object as a line of data.
pub(crate) fn json(value: &impl Serialize) {
    match serde_json::to_string(value) {
        Ok(line) => data(&line),
        Err(error) => super::complain(&format!("cannot write JSON: {error}")),
    }
}

/// Writes a line for people to standard error.
pub(crate) fn note(line: &str) {
    _ = writeln!(anstream::stderr().lock(), "{line}");
}
