//! What a target prints is hostile: nothing of it reaches a terminal as a control sequence, or a CI system that reads
//! our output as a command.

use std::borrow::Cow;
use std::fmt::Write as _;

/// What begins a command to Azure Pipelines and GitHub Actions wherever it stands in a line.
const COMMAND: &str = "##[";

/// The text with control characters, escape sequences and direction overrides made visible, on one line.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(needs_escape) && !text.contains(COMMAND) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if needs_escape(c) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    Cow::Owned(if out.contains(COMMAND) { out.replace(COMMAND, "# #[") } else { out })
}

/// Bytes as text in which nothing is hidden: as [`printable`], and what is no UTF-8 as `\\xff`.
pub(crate) fn visible(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(&printable(chunk.valid()));
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// Whether it would control a terminal, or be seen by nobody.
pub(crate) fn needs_escape(c: char) -> bool {
    c.is_control() || is_unseen(c) || is_no_character(c)
}

/// Takes no room, turns the direction of what follows, or looks like nothing at all.
fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}'
            | '\u{feff}' | '\u{ffa0}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// A code point that will never be a character; XML refuses the first two of them.
fn is_no_character(c: char) -> bool {
    let code = u32::from(c);
    code & 0xfffe == 0xfffe || (0xfdd0..=0xfdef).contains(&code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_controls_the_terminal() {
        assert_eq!(printable("a\u{1b}[31mred\u{7}\n\u{202e}x"), "a\\u{1b}[31mred\\u{7}\\n\\u{202e}x");
        assert_eq!(printable("\u{9b}31m"), "\\u{9b}31m");
        assert_eq!(printable("\u{fffe}\u{ffff}\u{1fffe}\u{fdd0}"), "\\u{fffe}\\u{ffff}\\u{1fffe}\\u{fdd0}");
        assert_eq!(printable("a\u{ad}b\u{61c}\u{e0100}"), "a\\u{ad}b\\u{61c}\\u{e0100}");
        assert_eq!(printable("a ##[add-path]b"), "a # #[add-path]b");
        assert!(matches!(printable("\u{fffd} family 👩\u{fe0f}"), Cow::Borrowed(_)));
        assert!(matches!(printable("plain – text 😀"), Cow::Borrowed(_)));
    }
}
