//! What a target printed, read from its recording: bounded, and with nothing hidden.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use crate::text::{Masked, visible};

/// A line of a recording, ready to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) number: u64,
    /// The byte that it begins at.
    pub(super) offset: u64,
    /// Its first bytes, safe to show.
    pub(super) text: String,
    /// How many bytes of it are not shown.
    pub(super) hidden: u64,
    /// Its first bytes as they are.
    pub(super) raw: Vec<u8>,
}

/// The first lines of a file.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines {
    pub(super) lines: Vec<Line>,
    /// Whether there are more.
    pub(super) more: bool,
}

/// Reads at most so many lines, of each at most so many bytes. A file that is not there has none.
pub(super) fn lines(file: &Path, most: usize, width: usize) -> Lines {
    let mut found = Lines::default();
    let Ok(file) = File::open(file) else { return found };
    let mut reader = BufReader::new(Masked::new(file));
    let mut offset = 0;
    loop {
        let mut raw = Vec::new();
        let Ok(read) = reader.by_ref().take(width as u64).read_until(b'\n', &mut raw) else { return found };
        if read == 0 {
            return found;
        }
        if found.lines.len() == most {
            found.more = true;
            return found;
        }
        let mut hidden = 0;
        if raw.last() == Some(&b'\n') {
            raw.pop();
        } else if read == width {
            hidden = skip_line(&mut reader);
        }
        let number = found.lines.len() as u64 + 1;
        found.lines.push(Line { number, offset, text: visible(&raw), hidden: hidden.saturating_sub(1), raw });
        offset += read as u64 + hidden;
    }
}

/// Passes over the rest of a line, which may be a gigabyte; says how long it was, its end included.
fn skip_line(reader: &mut impl BufRead) -> u64 {
    let mut skipped = 0;
    loop {
        let (length, done) = match reader.fill_buf() {
            Ok([]) | Err(_) => return skipped + 1,
            Ok(buffer) => match memchr::memchr(b'\n', buffer) {
                Some(end) => (end + 1, true),
                None => (buffer.len(), false),
            },
        };
        reader.consume(length);
        skipped += length as u64;
        if done {
            return skipped;
        }
    }
}

/// The beginning of a file as text of several lines.
pub(super) fn head(file: &Path, most: usize) -> String {
    let read = lines(file, most / 40, most / 8);
    let mut text = String::new();
    for line in &read.lines {
        if text.len() + line.text.len() > most {
            return text + "…\n";
        }
        text += &line.text;
        text += if line.hidden > 0 { "…\n" } else { "\n" };
    }
    if read.more { text + "…\n" } else { text }
}
