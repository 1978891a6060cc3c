//! Bytes that a target printed, quoted around the place that matters, with a marker under it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::text::{Masker, visible};

/// A part of a line, ready to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Quote {
    /// The text: control characters and bytes that are no UTF-8 are visible, cuts are marked by `…`.
    pub text: String,
    /// Where the marker begins, in columns.
    pub column: usize,
    /// How wide it is.
    pub width: usize,
}

/// So much more is read, to know a secret that begins before what is shown.
const BEFORE: u64 = 4096;

/// Quotes a file around a byte; none when there is no such byte.
pub(crate) fn quote_file(file: &Path, offset: u64, columns: usize) -> io::Result<Option<Quote>> {
    // Four bytes make the widest escape of a byte, so this is more than is shown.
    let reach = columns as u64 * 4;
    let start = offset.saturating_sub(BEFORE + reach);
    let mut open = File::open(file)?;
    if open.metadata()?.len() < offset {
        return Ok(None);
    }
    open.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    open.take(BEFORE + reach * 2).read_to_end(&mut bytes)?;
    let bytes = Masker::default().mask_bytes(bytes);
    Ok(Some(quote(&bytes, (offset - start) as usize, columns, start > 0)))
}

/// Quotes the line around byte `at` in at most so many columns. `cut` says that more stands before the bytes.
pub(crate) fn quote(bytes: &[u8], at: usize, columns: usize, cut: bool) -> Quote {
    let at = at.min(bytes.len());
    let line_start = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |end| end + 1);
    let line_end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |end| at + end);
    let cut_before = cut && line_start == 0;
    let (before, from) = (visible(&bytes[line_start..at]), visible(&bytes[at..line_end]));
    let columns = columns.max(16);
    // Where not everything fits, a third of the room is for what stands before.
    let all_fits = before.width() + from.width() < columns;
    let (head, head_cut) = last_columns(&before, if all_fits { columns } else { columns / 3 });
    let lead = if head_cut || cut_before { "…" } else { "" };
    let column = lead.width() + head.width();
    let (tail, tail_cut) = first_columns(&from, columns.saturating_sub(column + 1));
    let text = format!("{lead}{head}{tail}{}", if tail_cut { "…" } else { "" });
    Quote { text, column, width: token(&tail).clamp(1, columns) }
}

/// How wide the thing at the beginning of a text is: a string, a number, a word.
fn token(text: &str) -> usize {
    let mut characters = text.chars();
    match characters.next() {
        Some('"') => {
            let mut escaped = false;
            let end = characters.position(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            end.map_or(text.width(), |end| end + 2)
        }
        Some(first) if first.is_alphanumeric() || first == '-' => {
            1 + characters.take_while(|c| c.is_alphanumeric() || ".+-_".contains(*c)).count()
        }
        Some('\\') => text.chars().take_while(|c| *c != ' ').count().min(4),
        _ => 1,
    }
}

/// As much of the beginning as fits.
pub(super) fn first_columns(text: &str, columns: usize) -> (String, bool) {
    let mut used = 0;
    for (at, character) in text.char_indices() {
        used += character.width().unwrap_or(0);
        if used > columns {
            return (text[..at].to_owned(), true);
        }
    }
    (text.to_owned(), false)
}

fn last_columns(text: &str, columns: usize) -> (String, bool) {
    let mut used = 0;
    for (at, character) in text.char_indices().rev() {
        used += character.width().unwrap_or(0);
        if used > columns {
            return (text[at + character.len_utf8()..].to_owned(), true);
        }
    }
    (text.to_owned(), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &[u8], at: usize, columns: usize) -> String {
        let quote = quote(bytes, at, columns, false);
        assert!(quote.text.width() <= columns.max(16), "{quote:?}");
        format!("{}\n{}{}", quote.text, " ".repeat(quote.column), "^".repeat(quote.width))
    }

    #[test]
    fn the_marker_stands_under_what_is_meant() {
        let line = br#"{"type":"result","n":12.5}"#;
        assert_eq!(shown(line, 8, 60), "{\"type\":\"result\",\"n\":12.5}\n        ^^^^^^^^");
        assert_eq!(shown(line, 21, 60), "{\"type\":\"result\",\"n\":12.5}\n                     ^^^^");
        assert_eq!(shown(b"one\ntwo three\nfour", 8, 60), "two three\n    ^^^^^");
    }

    #[test]
    fn long_lines_are_cut_on_both_sides_and_hostile_bytes_are_visible() {
        let line = [b"a".repeat(500), b"\x1b]0;x\x07\xff".to_vec(), b"b".repeat(500)].concat();
        assert_eq!(
            shown(&line, 500, 48),
            "…aaaaaaaaaaaaaaaa\\u{1b}]0;x\\u{7}\\xffbbbbbbbbbbb…\n                 ^^^^"
        );
        assert_eq!(
            shown("日本語日本語日本語日本語日本語".as_bytes(), 15, 20).lines().next().unwrap(),
            "…語日本語日本語日本…"
        );
        assert_eq!(quote(b"", 5, 20, false).text, "");
    }
}
