//! The lines of a snapshot: as they stand in a file, as clawgate would write them, and as they are being written.

use std::collections::VecDeque;
use std::fmt::{self, Write};
use std::io::{self, BufRead, BufReader, Read};

use super::parts::Head;
use super::reading::Go;
use super::snapshot::{END, ReadError, SECTIONS, enter, write_head, write_part};
use super::snapshot_reader::{Block, SnapshotReader};

/// No line of a snapshot has more bytes.
const LONGEST_LINE: u64 = 64 << 20;

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
    pub ends_well: bool,
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

    pub(super) fn peek(&mut self) -> io::Result<Option<&str>> {
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
