//! What commands print: data to standard output, words for people to standard error.

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::report::style::{BAD, CAUTION, FAINT};
use crate::text::{printable, printable_json};

#[derive(Debug, Args)]
pub(super) struct FormatArg {
    /// For people, or one JSON object a line for programs
    #[arg(long, value_enum, default_value_t = Format::Human, env = "CLAWGATE_FORMAT")]
    pub(super) format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Human,
    Json,
}

impl Format {
    /// Where the output goes. What is meant for a terminal loses its colours where there is none; of data only the
    /// spelling changes, where it would control a terminal or command a CI system.
    pub(super) fn stdout(self) -> Box<dyn Write> {
        match self {
            Self::Human => Box::new(WhileRead(Some(anstream::stdout().lock()))),
            Self::Json => Box::new(JsonLines { out: raw_stdout(), line: Vec::new() }),
        }
    }
}

/// Where bytes go that are neither for people nor JSON: a recording that is played, a manual page.
pub(super) fn raw_stdout() -> Box<dyn Write> {
    Box::new(WhileRead(Some(io::BufWriter::new(io::stdout().lock()))))
}

/// Lines of JSON, each made safe when it is whole.
struct JsonLines {
    out: Box<dyn Write>,
    line: Vec<u8>,
}

impl JsonLines {
    fn write_lines(&mut self, end: usize) -> io::Result<()> {
        let rest = self.line.split_off(end);
        let lines = std::mem::replace(&mut self.line, rest);
        match std::str::from_utf8(&lines) {
            Ok(text) => self.out.write_all(printable_json(text).as_bytes()),
            Err(_) => self.out.write_all(&lines),
        }
    }
}

impl Write for JsonLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        if let Some(end) = memchr::memrchr(b'\n', &self.line) {
            self.write_lines(end + 1)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for JsonLines {
    fn drop(&mut self) {
        // Whoever needs to know whether it was written has ended the line.
        _ = self.write_lines(self.line.len()).and_then(|()| self.out.flush());
    }
}

/// An output whose reader may leave early. What comes after that is lost in silence: no exit code depends on whether
/// somebody reads to the end.
struct WhileRead<W>(Option<W>);

impl<W: Write> WhileRead<W> {
    fn attempt<T>(&mut self, lost: T, write: impl FnOnce(&mut W) -> io::Result<T>) -> io::Result<T> {
        match self.0.as_mut().map(write) {
            Some(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.0 = None;
                Ok(lost)
            }
            Some(written) => written,
            None => Ok(lost),
        }
    }
}

impl<W: Write> Write for WhileRead<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attempt(bytes.len(), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt((), Write::flush)
    }
}

/// Writes a line of data at once, for commands that are watched while they go on. A reader that has left is no failure.
pub(super) fn data(line: impl std::fmt::Display) {
    let mut out = io::stdout().lock();
    // What is no JSON is printable already, and stays as it is.
    _ = writeln!(out, "{}", printable_json(&line.to_string())).and_then(|()| out.flush());
}

/// A line of JSON with its `type` before everything else.
pub(super) fn typed(kind: &str, value: impl Serialize) -> serde_json::Result<serde_json::Value> {
    let mut object = serde_json::Map::new();
    object.insert("type".into(), kind.into());
    if let serde_json::Value::Object(fields) = serde_json::to_value(value)? {
        object.extend(fields);
    }
    Ok(object.into())
}

/// Tells the user what is wrong.
pub(super) fn complain(message: &str) {
    let mut lines = message.lines().map(printable);
    tell(format_args!("{BAD}error{BAD:#}: {}", lines.next().unwrap_or_default()));
    // A complaint about a file shows the line of the file.
    for line in lines {
        tell(format_args!("{line}"));
    }
}

/// Tells the user something that does not fail.
pub(super) fn note(message: &str) {
    tell(format_args!("{CAUTION}note{CAUTION:#}: {}", printable(message)));
}

/// Tells the user what takes time.
pub(super) fn say(what: &str) {
    tell(format_args!("{FAINT}{}{FAINT:#}", printable(what)));
}

/// Writes a line for people to standard error.
pub(super) fn tell(line: std::fmt::Arguments<'_>) {
    // There is nobody left to tell when standard error is closed.
    _ = writeln!(anstream::stderr(), "{line}");
}
