//! The two forms of output, and how lines leave the program.

use std::io::{self, Write};

use clap::ValueEnum;
use serde::Serialize;

/// For people, or one JSON object a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Human,
    /// One JSON object a line.
    Json,
}

/// Writes a line of data to standard output at once. A reader that has left is no failure.
pub(crate) fn data(line: &str) {
    let mut out = io::stdout().lock();
    _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Writes a JSON object as a line of data.
pub(crate) fn json(value: &impl Serialize) {
    match serde_json::to_string(value) {
        Ok(line) => data(&line),
        Err(error) => note(&format!("error: cannot write JSON: {error}")),
    }
}

/// Writes a line for people to standard error.
pub(crate) fn note(line: &str) {
    _ = writeln!(anstream::stderr().lock(), "{line}");
}

/// Text from outside without anything that a terminal would obey.
pub(crate) fn clean(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\n' => "\\n".to_owned(),
            other if other.is_control() => other.escape_unicode().to_string(),
            other => other.to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn escapes_of_a_terminal_do_not_survive() {
        assert_eq!(super::clean("a\u{1b}[31mb\nc\u{9b}d"), "a\\u{1b}[31mb\\nc\\u{9b}d");
    }
}
