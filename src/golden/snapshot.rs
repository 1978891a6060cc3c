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

use std::collections::VecDeque;
use std::fmt::{self, Write};
use std::io::{self, BufRead, BufReader, Read};

use serde_json::Value;

use super::entry::Entry;
use super::layout::{self, lay_out};
use super::parts::{Head, Normal, Part, Parts};
use super::reading::Go;
use crate::text::printable;

/// The version of the content's form. A reader refuses only a newer one.
const FORMAT: u64 = 1;
const END: &str = "== end";
/// The sections in their order.
const SECTIONS: [&str; 5] = ["exit", "stdout", "stderr", "requests", "files"];
/// A header is no longer than this, in lines, nor a line, in bytes.
const MOST_HEADER: usize = 64;
const LONGEST_LINE: u64 = 64 << 20;

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

    /// Reads the text of a snapshot back.
    #[cfg(feature = "cli")]
    pub(crate) fn from_snapshot(text: &str) -> Result<Self, SnapshotError> {
        let mut normal = Self::default();
        let read = SnapshotReader::new(text.as_bytes()).and_then(|mut reader| {
            normal.head = reader.head.clone();
            reader.visit(&mut |part| {
                normal.add(part);
                Go::Continue(())
            })
        });
        match read {
            Ok(()) => Ok(normal),
            Err(ReadError::Snapshot(error)) => Err(error),
            // Memory can be read.
            Err(ReadError::Io(_)) => Err(SnapshotError::Cut),
        }
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
fn enter(written: &mut usize, section: usize, out: &mut dyn Write) -> fmt::Result {
    for name in SECTIONS.get(*written..section).unwrap_or_default() {
        writeln!(out, "== {name}")?;
    }
    *written = section.max(*written);
    Ok(())
}

/// Writes one part, without the heading of its section.
fn write_part(part: Part<'_>, out: &mut dyn Write) -> fmt::Result {
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

/// Reads a snapshot part by part.
pub(super) struct SnapshotReader<R> {
    pub head: Head,
    lines: LineReader<R>,
    section: String,
    /// How many entries of this section there were.
    entries: usize,
}

/// A part as it is written.
pub(super) struct Block {
    /// The number of its first line.
    pub line: usize,
    /// The line that says what follows, for what was printed.
    pub heading: Option<String>,
    /// Its value over as many lines as it has, or as were asked for.
    pub text: String,
    /// Whether that is all of it.
    pub is_whole: bool,
}

impl<R: Read> SnapshotReader<R> {
    /// Reads the header.
    pub(super) fn new(source: R) -> Result<Self, ReadError> {
        let mut lines = LineReader::new(source);
        let is_rule = |line: &Option<String>| line.as_deref() == Some("---");
        if !is_rule(&lines.next()?) {
            return Err(SnapshotError::Header.into());
        }
        let mut header = Vec::new();
        loop {
            let line = lines.next()?;
            match line {
                line if is_rule(&line) => break,
                Some(line) if header.len() < MOST_HEADER => header.push(line),
                _ => return Err(SnapshotError::Header.into()),
            }
        }
        let field = |name: &str| {
            let line =
                header.iter().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(": "))?;
            // Quoted as JSON, which YAML allows; insta may have taken the quotes away or made them single.
            Some(serde_json::from_str(line).unwrap_or_else(|_| line.trim_matches('\'').to_owned()))
        };
        match field("format").and_then(|format| format.parse().ok()) {
            Some(found) if found > FORMAT => return Err(SnapshotError::Newer { found }.into()),
            Some(_) => {}
            None => return Err(SnapshotError::Header.into()),
        }
        let head = Head {
            target: field("target").unwrap_or_default(),
            scenario: field("case").unwrap_or_default(),
            contract: field("contract"),
            owner: field("scenario"),
        };
        Ok(Self { head, lines, section: String::new(), entries: 0 })
    }

    /// The next line as it is written.
    pub(super) fn next_line(&mut self) -> io::Result<Option<String>> {
        self.lines.next()
    }

    /// Shows every part, until `each` has seen enough.
    pub(super) fn visit(&mut self, each: &mut dyn FnMut(Part<'_>) -> Go) -> Result<(), ReadError> {
        while let Some(block) = self.block(usize::MAX)? {
            if self.show(&block, each)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The next part as it is written; of one with more bytes than these its beginning, and then [`more`](Self::more).
    pub(super) fn block(&mut self, most: usize) -> Result<Option<Block>, ReadError> {
        let first = loop {
            match self.lines.next()? {
                None if self.lines.ends_well => return Ok(None),
                None => return Err(SnapshotError::Cut.into()),
                Some(line) => match line.strip_prefix("== ") {
                    Some(name) => {
                        name.clone_into(&mut self.section);
                        self.entries = 0;
                    }
                    None => break line,
                },
            }
        };
        let line = self.lines.number;
        let block = |heading, text| Block { line, heading, text, is_whole: true };
        match self.section.as_str() {
            "stdout" | "stderr" => {
                self.entries += 1;
                if first.starts_with("| ") {
                    return Ok(Some(block(Some(first), String::new())));
                }
                if !first.starts_with("-- ") {
                    return Err(self.damaged(line, "expected `-- KIND` or `| TEXT`"));
                }
                let Some(text) = self.lines.next()? else {
                    return Err(self.damaged(line, "nothing follows"));
                };
                let is_value = first != "-- text";
                let mut block = block(Some(first), text);
                if is_value {
                    self.more(&mut block, most)?;
                }
                Ok(Some(block))
            }
            "exit" | "requests" | "files" => {
                let mut block = block(None, first);
                self.more(&mut block, most)?;
                Ok(Some(block))
            }
            _ => Err(self.damaged(line, "expected `== exit`, stdout, stderr, requests, files or end")),
        }
    }

    /// Appends what still belongs to a part, until its text has so many bytes.
    pub(super) fn more(&mut self, block: &mut Block, most: usize) -> Result<(), ReadError> {
        let is_printed = block.heading.is_some();
        block.is_whole = false;
        while block.text.len() < most {
            let Some(next) = self.lines.peek()? else {
                block.is_whole = true;
                break;
            };
            let is_heading = ["== ", "-- ", "| "].iter().any(|start| next.starts_with(start));
            // A value ends where its brackets do, which is where a line begins with none of its indentation.
            if is_heading || !(is_printed || next.starts_with([' ', '}', ']'])) {
                block.is_whole = true;
                break;
            }
            block.text.push('\n');
            block.text.push_str(&self.lines.next()?.unwrap_or_default());
        }
        Ok(())
    }

    /// Shows what a block says.
    pub(super) fn show(
        &mut self,
        block: &Block,
        each: &mut dyn FnMut(Part<'_>) -> Go,
    ) -> Result<Go, ReadError> {
        let Block { line, heading, text, .. } = block;
        let Some(heading) = heading else {
            let value: Value = match serde_json::from_str(text) {
                Ok(value) => value,
                Err(error) => return Err(self.damaged(*line, &format!("not JSON: {error}"))),
            };
            return Ok(each(match self.section.as_str() {
                "exit" => Part::Exit(&value),
                "requests" => Part::Request(&value),
                _ => Part::File(&value),
            }));
        };
        let number = self.entries;
        let entry = if let Some(text) = heading.strip_prefix("| ") {
            Entry::Text { text: text.to_owned(), line: number }
        } else if heading == "-- text" {
            match serde_json::from_str(text) {
                Ok(text) => Entry::Text { text, line: number },
                Err(_) => return Err(self.damaged(*line, "no string follows")),
            }
        } else {
            let kind = heading.strip_prefix("-- ").unwrap_or(heading).to_owned();
            match serde_json::from_str(text) {
                Ok(value) => Entry::Message { kind, value, line: number },
                Err(error) => {
                    return Err(self.damaged(*line, &format!("the message is not JSON: {error}")));
                }
            }
        };
        Ok(each(if self.section == "stdout" { Part::Stdout(&entry) } else { Part::Stderr(&entry) }))
    }

    /// What is wrong on a line; but of half a snapshot only that it is half of one.
    fn damaged(&mut self, line: usize, reason: &str) -> ReadError {
        loop {
            match self.lines.next() {
                Ok(Some(_)) => {}
                Ok(None) if self.lines.ends_well => {
                    return SnapshotError::Damaged { line, reason: reason.to_owned() }.into();
                }
                Ok(None) => return SnapshotError::Cut.into(),
                Err(error) => return error.into(),
            }
        }
    }
}

/// Parts of more bytes are compared as they are written; smaller ones as clawgate would write them.
const LARGE: usize = 1 << 20;

/// The lines of a snapshot as clawgate would write it for this head: somebody else may have laid it out anew, or have
/// changed how its lines end.
pub(super) struct SnapshotLines<R> {
    reader: SnapshotReader<R>,
    waiting: VecDeque<String>,
    /// How many headings of sections were told.
    sections: usize,
    /// A large part of which more follows.
    large: Option<Block>,
    ended: bool,
}

impl<R: Read> SnapshotLines<R> {
    pub(super) fn new(reader: SnapshotReader<R>, head: &Head) -> Self {
        let mut text = String::new();
        // Writing to a string cannot fail.
        _ = write_head(head, &mut text);
        let waiting = text.lines().map(str::to_owned).collect();
        Self { reader, waiting, sections: 0, large: None, ended: false }
    }

    pub(super) fn next(&mut self) -> Result<Option<String>, ReadError> {
        while self.waiting.is_empty() && !self.ended {
            self.read_on()?;
        }
        Ok(self.waiting.pop_front())
    }

    fn read_on(&mut self) -> Result<(), ReadError> {
        let mut text = String::new();
        if let Some(mut block) = self.large.take() {
            block.text.clear();
            self.reader.more(&mut block, LARGE)?;
            text.push_str(block.text.strip_prefix('\n').unwrap_or_default());
            self.large = Some(block).filter(|block| !block.is_whole);
        } else if let Some(block) = self.reader.block(LARGE)? {
            let section = SECTIONS.iter().position(|name| *name == self.reader.section).unwrap_or_default();
            _ = enter(&mut self.sections, section + 1, &mut text);
            if block.is_whole {
                _ = self.reader.show(&block, &mut |part| {
                    _ = write_part(part, &mut text);
                    Go::Continue(())
                })?;
            } else {
                text.extend(block.heading.iter().flat_map(|heading| [heading, "\n"]));
                text.push_str(&block.text);
                self.large = Some(block);
            }
        } else {
            self.ended = true;
            _ = enter(&mut self.sections, SECTIONS.len(), &mut text);
            text.push_str(END);
        }
        self.waiting.extend(text.lines().map(str::to_owned));
        Ok(())
    }
}

/// Takes a text as lines, until somebody has seen enough.
pub(super) struct LineWriter<'e> {
    line: String,
    each: &'e mut dyn FnMut(&str) -> Go,
}

impl<'e> LineWriter<'e> {
    pub(super) fn new(each: &'e mut dyn FnMut(&str) -> Go) -> Self {
        Self { line: String::new(), each }
    }
}

impl Write for LineWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((end, after)) = rest.split_once('\n') {
            self.line.push_str(end);
            if (self.each)(&self.line).is_break() {
                return Err(fmt::Error);
            }
            self.line.clear();
            rest = after;
        }
        self.line.push_str(rest);
        Ok(())
    }
}

/// Lines without their ends. What is not UTF-8 is not a snapshot of ours, and is read as something else.
pub(super) struct LineReader<R> {
    source: BufReader<R>,
    peeked: Option<String>,
    /// The number of the last line that was taken.
    pub number: usize,
    /// Whether the last line with something on it was that of a whole snapshot.
    ends_well: bool,
}

impl<R: Read> LineReader<R> {
    pub(super) fn new(source: R) -> Self {
        let source = BufReader::with_capacity(64 << 10, source);
        Self { source, peeked: None, number: 0, ends_well: false }
    }

    pub(super) fn next(&mut self) -> io::Result<Option<String>> {
        self.peek()?;
        let line = self.peeked.take();
        if let Some(line) = &line {
            self.number += 1;
            if !line.trim_end().is_empty() {
                self.ends_well = line.trim_end() == END;
            }
        }
        Ok(line)
    }

    fn peek(&mut self) -> io::Result<Option<&str>> {
        if self.peeked.is_none() {
            let mut bytes = Vec::new();
            self.source.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes)?;
            if bytes.is_empty() {
                return Ok(None);
            }
            if bytes.len() as u64 == LONGEST_LINE {
                return Err(io::Error::other("a line of more than 64 MB, which no snapshot has"));
            }
            let end = bytes
                .strip_suffix(b"\r\n")
                .or_else(|| bytes.strip_suffix(b"\n"))
                .map_or(bytes.len(), <[u8]>::len);
            bytes.truncate(end);
            self.peeked = Some(match String::from_utf8(bytes) {
                Ok(line) => line,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            });
        }
        Ok(self.peeked.as_deref())
    }
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
    use serde_json::json;

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
        assert_eq!(Normal::from_snapshot(&text).unwrap(), normal, "{text}");
        assert_eq!(Normal::from_snapshot(&text.replace('\n', "\r\n")).unwrap(), normal);
        let empty = Normal {
            head: Head { target: "t".into(), scenario: "s".into(), ..Head::default() },
            ..Normal::default()
        };
        assert_eq!(Normal::from_snapshot(&empty.to_snapshot()).unwrap(), empty);
    }

    #[test]
    fn half_a_snapshot_is_none() {
        let text = sample().to_snapshot();
        for cut in 0..text.trim_end().len() {
            if let Some(half) = text.get(..cut) {
                assert!(Normal::from_snapshot(half).is_err(), "{half}");
            }
        }
    }

    #[test]
    fn a_damaged_or_newer_snapshot_says_where() {
        let text = sample().to_snapshot();
        let newer = text.replace("format: 1", "format: 2");
        assert_eq!(Normal::from_snapshot(&newer), Err(SnapshotError::Newer { found: 2 }));
        let damaged = text.replace("{\"code\": 0}", "{\"code\": }");
        assert!(Normal::from_snapshot(&damaged).unwrap_err().to_string().starts_with("line 11: not JSON"));
    }
}
