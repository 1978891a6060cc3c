//! The work of a trial as a model that judges it is shown it: what was said, which tools were called, which files were
//! written. Files are named with type and size, and text is quoted up to a bound. Nothing in it is anything but text.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use super::grade::{list, output, output_file};
use super::observed::{Observed, inside};
use super::spec::Case;
use crate::text::{head, tail};

/// Of what was said, the judge sees this much from the start and from the end.
const LONGEST: usize = 24 << 10;
/// Of each written file, the judge sees this much.
const LONGEST_FILE: usize = 4 << 10;
/// More written files than this are only named.
const MOST_FILES: usize = 8;
/// So much of a file says of what type it is.
const TYPE_BYTES: usize = 4096;

/// What files begin with, by their types.
const BEGINNINGS: [(&[u8], &str); 12] = [
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive or Office document"),
    (b"\x1f\x8b", "gzip archive"),
    (b"\x7fELF", "ELF program"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"RIFF", "RIFF media"),
    (b"OggS", "Ogg media"),
    (b"ID3", "MP3 audio"),
    (b"\0asm", "WebAssembly"),
];

/// The work, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Work {
    /// Everything that a judge is shown.
    pub(super) shown: String,
    /// What of it somebody did, and so can be quoted: all but our own headings. White space is that of a line of text.
    quotable: String,
}

impl Work {
    /// The work of an attempt.
    pub(super) fn of(case: &Case, observed: &Observed) -> Self {
        let (said, written) = left(case, observed);
        let calls: Vec<String> = observed.calls.iter().take(40).map(|call| plain(&call.tool)).collect();
        let calls = calls.join(", ");
        let quotable = joined(&format!("{said}\n{calls}{written}"));
        let none = if calls.is_empty() { "none" } else { "" };
        let shown =
            format!("{said}\n\n## Tools that it called\n{calls}{none}\n\n## Files that it wrote{written}");
        Self { shown, quotable }
    }

    /// An answer by itself, without what tells how it was come to: tools name the skill.
    pub(super) fn of_answer(case: &Case, observed: &Observed) -> Self {
        let (said, written) = left(case, observed);
        let said = if said.is_empty() { "(nothing was said)".to_owned() } else { said };
        let files = if written.is_empty() { String::new() } else { format!("\n\n### Files{written}") };
        Self { shown: format!("{said}{files}"), quotable: joined(&format!("{said}{written}")) }
    }

    /// Work that nobody did, for controls.
    pub(super) fn canned(text: &str) -> Self {
        Self { shown: text.to_owned(), quotable: joined(text) }
    }

    /// Whether a text stands in it, white space apart. It has to be whole words: a letter stands everywhere.
    pub(super) fn holds(&self, text: &str) -> bool {
        let text = joined(text);
        // A letter is a word in English, and shows nothing.
        let mut signs = text.chars().filter(|c| c.is_alphanumeric());
        let is_letter = signs.next().is_some_and(|c| c.is_ascii_alphabetic()) && signs.next().is_none();
        if is_letter && self.quotable != text {
            return false;
        }
        // Not every writing has spaces between words.
        let is_inner = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        text.contains(|c: char| c.is_alphanumeric() || !c.is_ascii())
            && self.quotable.match_indices(&text).any(|(at, _)| {
                let (before, after) = (&self.quotable[..at], &self.quotable[at + text.len()..]);
                let is_begun = is_inner(before.chars().next_back()) && is_inner(text.chars().next());
                let goes_on = is_inner(text.chars().next_back()) && is_inner(after.chars().next());
                !is_begun && !goes_on
            })
    }
}

/// With one space wherever there is white space.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What an attempt left: what was said or is the output, and the files that were written.
fn left(case: &Case, observed: &Observed) -> (String, String) {
    let said = match output_file(case, observed) {
        Some(path) => described(&observed.files, &path, LONGEST),
        None => plain(&ends(&output(case, observed), LONGEST)),
    };
    let mut files = Vec::new();
    list(&observed.files, &observed.files, &mut files);
    files.sort();
    let mut written = String::new();
    for (index, path) in files.iter().enumerate() {
        let limit = if index < MOST_FILES { LONGEST_FILE } else { 0 };
        // Writing to a string cannot fail.
        _ = write!(written, "\n{}", described(&observed.files, path, limit));
    }
    (said, written)
}

/// A file by its name, type and size, with its text where it is text.
fn described(root: &Path, path: &str, limit: usize) -> String {
    let name = plain(path);
    let Ok(file) = fs::File::open(inside(root, path)) else { return format!("### {name} (cannot be read)") };
    let size = file.metadata().map_or(0, |found| found.len());
    let mut bytes = Vec::new();
    // Both ends are shown of what is long; the middle of very long files is not read for that.
    let most = (4 * limit).max(TYPE_BYTES) as u64;
    if file.take(most).read_to_end(&mut bytes).is_err() {
        return format!("### {name} (cannot be read)");
    }
    match kind(&bytes, size > bytes.len() as u64) {
        Some(kind) => format!("### {name} ({kind}, {size} bytes, not shown)"),
        None if limit == 0 => format!("### {name} (text, {size} bytes, not shown)"),
        None => {
            let text = plain(&ends(&String::from_utf8_lossy(&bytes), limit));
            let more = size.saturating_sub(bytes.len() as u64);
            let more = if more > 0 { format!("\n[{more} more bytes]") } else { String::new() };
            format!("### {name} (text, {size} bytes)\n{text}{more}")
        }
    }
}

/// The type of what is no text.
fn kind(bytes: &[u8], is_cut: bool) -> Option<&'static str> {
    let known = BEGINNINGS.iter().find(|(beginning, _)| bytes.starts_with(beginning));
    if let Some((_, name)) = known {
        return Some(name);
    }
    let is_text = match str::from_utf8(bytes) {
        Ok(_) => true,
        // A character may be cut at the end of what was read.
        Err(error) => is_cut && error.error_len().is_none(),
    };
    let controls = bytes.iter().filter(|byte| **byte < 32 && !b"\t\n\r\x0c\x1b".contains(byte)).count();
    (!is_text || controls > 0).then_some("binary")
}

/// Text without characters that no prompt can hold.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && !"\n\t\r".contains(c) { '\u{fffd}' } else { c }).collect()
}

pub(super) fn ends(text: &str, limit: usize) -> String {
    if text.len() <= 2 * limit {
        return text.to_owned();
    }
    let (head, tail) = (head(text, limit), tail(text, limit));
    format!("{head}\n[{} bytes left out]\n{tail}", text.len() - head.len() - tail.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_with_type_and_size_and_only_text_is_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
        write("a.png", b"\x89PNG\r\n\x1a\n\0\0rest");
        write("b.bin", b"some\0bytes");
        write("c.txt", "Grüße\n".as_bytes());
        write("d.txt", &"x".repeat(100_000).into_bytes());
        let said = |name: &str| described(folder.path(), name, LONGEST_FILE);
        assert_eq!(said("a.png"), "### a.png (PNG image, 14 bytes, not shown)");
        assert_eq!(said("b.bin"), "### b.bin (binary, 10 bytes, not shown)");
        assert_eq!(said("c.txt"), "### c.txt (text, 8 bytes)\nGrüße\n");
        assert!(said("d.txt").len() < 3 * LONGEST_FILE && said("d.txt").contains("(text, 100000 bytes)"));
        assert_eq!(said("none"), "### none (cannot be read)");
        for name in ["a.png", "b.bin", "c.txt"] {
            assert!(!said(name).contains('\0'));
        }
        assert_eq!(plain("a\0b\u{7}\n"), "a\u{fffd}b\u{fffd}\n");
        let work = Work::canned("Ahoy,\n  Ann! 42");
        assert!(work.holds("Ahoy, Ann!") && !work.holds("Ahoy, Bob!") && !work.holds(" "));
        assert!(!Work::canned("I like a boat").holds("a") && Work::canned("B").holds("B"));
        assert!(work.holds("42") && !work.holds("4") && !work.holds("hoy") && !work.holds(","));
    }
}
