//! A golden snapshot as text, in insta's file format: a header between `---`, and the content.
//!
//! ```text
//! ---
//! source: clawgate
//! expression: claude/answers/stream on reference
//! info:
//!   format: 1
//!   target: reference
//!   case: claude/answers/stream
//!   contract: claude-stream-json
//!   scenario: ../scenarios/mine.toml      (unless it is built in: whose snapshot it is)
//! ---
//! == exit
//! {"code": 0}
//! == stdout
//! -- system/init
//! {"cwd": "<cwd>", "session_id": "<uuid:1>", …}
//! == stderr
//! | a line of text
//! == requests
//! == files
//! == end
//! ```
//!
//! The last line tells a whole snapshot from one that was cut while it was written.

use std::fmt::{self, Write};
use std::io;

use super::entry::Entry;
use super::layout::{self, lay_out};
use super::parts::{Head, Normal, Part, Parts};
use super::reading::Go;
use crate::text::printable;

/// The version of the content's form. A reader refuses only a newer one.
pub(super) const FORMAT: u64 = 1;
pub(super) const END: &str = "== end";
/// The sections in their order.
pub(super) const SECTIONS: [&str; 5] = ["exit", "stdout", "stderr", "requests", "files"];

/// Why a text is no snapshot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// It has no header.
    #[error("no golden snapshot: it does not begin with a header between `---`")]
    Header,
    /// It ends before its last line, as a file does that was cut while it was written.
    #[error("half a snapshot: its last line is not `{END}`")]
    Cut,
    /// It comes from a newer version.
    #[error("format {found} is newer than {FORMAT}, the newest this clawgate reads: update clawgate")]
    Newer {
        /// The format that the file states.
        found: u64,
    },
    /// Something in it is not as clawgate writes it.
    #[error("line {line}: {reason}")]
    Damaged {
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        reason: String,
    },
}

/// Why a snapshot cannot be read.
#[derive(Debug)]
pub(super) enum ReadError {
    Io(io::Error),
    Snapshot(SnapshotError),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<SnapshotError> for ReadError {
    fn from(error: SnapshotError) -> Self {
        Self::Snapshot(error)
    }
}

impl Normal {
    /// The snapshot as text.
    pub(crate) fn to_snapshot(&self) -> String {
        let mut text = String::new();
        // Neither reading memory nor writing to a string can fail.
        _ = write_head(&self.head, &mut text);
        _ = write_content(self, &mut text);
        text
    }
}

/// Writes the header of a snapshot.
pub(super) fn write_head(head: &Head, out: &mut dyn Write) -> fmt::Result {
    let Head { target, scenario, contract, owner } = head;
    let on = format!("{scenario} on {target}");
    writeln!(out, "---\nsource: clawgate\nexpression: {}", yaml(&on))?;
    writeln!(out, "info:\n  format: {FORMAT}\n  target: {}\n  case: {}", yaml(target), yaml(scenario))?;
    if let Some(contract) = contract {
        writeln!(out, "  contract: {}", yaml(contract))?;
    }
    if let Some(owner) = owner {
        writeln!(out, "  scenario: {}", yaml(owner))?;
    }
    out.write_str("---\n")
}

/// Writes everything but the header, until `out` takes no more.
pub(super) fn write_content(parts: &dyn Parts, out: &mut dyn Write) -> io::Result<()> {
    let mut written = 0;
    let mut takes = true;
    parts.visit(&mut |part| {
        let result = enter(&mut written, section_of(part) + 1, out).and_then(|()| write_part(part, out));
        takes = result.is_ok();
        if takes { Go::Continue(()) } else { Go::Break(()) }
    })?;
    if takes {
        // Whoever takes no more does not want the end either.
        _ = enter(&mut written, SECTIONS.len(), out).and_then(|()| writeln!(out, "{END}"));
    }
    Ok(())
}

/// Which of the sections a part stands in.
fn section_of(part: Part<'_>) -> usize {
    match part {
        Part::Exit(_) => 0,
        Part::Stdout(_) => 1,
        Part::Stderr(_) => 2,
        Part::Request(_) => 3,
        Part::File(_) => 4,
    }
}

/// Writes the headings of the sections up to this one.
pub(super) fn enter(written: &mut usize, section: usize, out: &mut dyn Write) -> fmt::Result {
    for name in SECTIONS.get(*written..section).unwrap_or_default() {
        writeln!(out, "== {name}")?;
    }
    *written = section.max(*written);
    Ok(())
}

/// Writes one part, without the heading of its section.
pub(super) fn write_part(part: Part<'_>, out: &mut dyn Write) -> fmt::Result {
    match part {
        Part::Stdout(entry) | Part::Stderr(entry) => match entry {
            Entry::Message { kind, value, .. } => {
                writeln!(out, "-- {}", printable(kind))?;
                layout::write(value, 0, 0, out)?;
            }
            Entry::Text { text, .. } if printable(text) == text.as_str() && text.trim_end() == text => {
                write!(out, "| {text}")?;
            }
            Entry::Text { text, .. } => write!(out, "-- text\n{}", lay_out(&text.as_str().into()))?,
        },
        Part::Exit(value) | Part::Request(value) | Part::File(value) => layout::write(value, 0, 0, out)?,
    }
    out.write_char('\n')
}

/// A YAML scalar: plain where nothing in it means something to YAML.
fn yaml(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " /._@+-".contains(c);
    let plain = !text.is_empty()
        && text.chars().all(is_plain)
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.trim() == text;
    if plain { text.to_owned() } else { lay_out(&text.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::snapshot_reader::SnapshotReader;
    use serde_json::{Value, json};

    /// Reads the text of a snapshot back.
    fn read_back(text: &str) -> Result<Normal, SnapshotError> {
        let mut normal = Normal::default();
        let read = SnapshotReader::new(text.as_bytes()).and_then(|mut reader| {
            normal.head = reader.head.clone();
            reader.visit(&mut |part| {
                normal.add(part);
                Go::Continue(())
            })
        });
        read.map(|()| normal).map_err(|error| match error {
            ReadError::Snapshot(error) => error,
            ReadError::Io(error) => panic!("memory can be read: {error}"),
        })
    }

    fn sample() -> Normal {
        let message = |kind: &str, value: Value, line| Entry::Message { kind: kind.into(), value, line };
        let text = |text: &str, line| Entry::Text { text: text.into(), line };
        Normal {
            head: Head {
                target: "reference".into(),
                scenario: "odd: name".into(),
                owner: None,
                contract: Some("claude-stream-json".into()),
            },
            exit: Some(json!({"code": 0})),
            stdout: vec![
                message("system/init", json!({"tools": ["a".repeat(50), "b".repeat(50), "c"], "x": {}}), 1),
                text("== stdout", 2),
                text("-- x\u{1b}[0m ", 3),
                message("document", json!([1, "\n== end"]), 4),
            ],
            stderr: vec![text("| hi", 1), text("", 2)],
            requests: vec![json!({"path": "/v1", "long": "z".repeat(200)}), json!({"a": 1})],
            files: vec![json!({"path": "work/a"})],
        }
    }

    #[test]
    fn a_snapshot_reads_back_as_it_was() {
        let normal = sample();
        let text = normal.to_snapshot();
        assert_eq!(read_back(&text).unwrap(), normal, "{text}");
        assert_eq!(read_back(&text.replace('\n', "\r\n")).unwrap(), normal);
        let empty = Normal {
            head: Head { target: "t".into(), scenario: "s".into(), ..Head::default() },
            ..Normal::default()
        };
        assert_eq!(read_back(&empty.to_snapshot()).unwrap(), empty);
    }

    #[test]
    fn half_a_snapshot_is_none() {
        let text = sample().to_snapshot();
        for cut in 0..text.trim_end().len() {
            if let Some(half) = text.get(..cut) {
                assert!(read_back(half).is_err(), "{half}");
            }
        }
    }

    #[test]
    fn a_damaged_or_newer_snapshot_says_where() {
        let text = sample().to_snapshot();
        let newer = text.replace("format: 1", "format: 2");
        assert_eq!(read_back(&newer), Err(SnapshotError::Newer { found: 2 }));
        let damaged = text.replace("{\"code\": 0}", "{\"code\": }");
        assert!(read_back(&damaged).unwrap_err().to_string().starts_with("line 11: not JSON"));
    }
}
