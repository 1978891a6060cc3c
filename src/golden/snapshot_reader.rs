//! Reads the text of a snapshot, part by part.

use std::io::{self, Read};

use serde_json::Value;

use super::entry::Entry;
use super::lines::LineReader;
use super::parts::{Head, Part};
use super::reading::Go;
use super::snapshot::{FORMAT, ReadError, SnapshotError};

/// A header is no longer than this, in lines.
const MOST_HEADER: usize = 64;

/// Reads a snapshot part by part.
pub(super) struct SnapshotReader<R> {
    pub head: Head,
    lines: LineReader<R>,
    pub section: String,
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
    #[cfg(feature = "cli")]
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
