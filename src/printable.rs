//! What a target prints is hostile: nothing of it reaches a terminal as a control sequence, or a CI system that reads
//! our output as a command.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::text::is_visible;

/// What begins a command to Azure Pipelines and GitHub Actions wherever it stands in a line.
const COMMAND: &str = "##[";

/// The text with control characters, escape sequences and direction overrides made visible, on one line.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_visible) && !text.contains(COMMAND) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if !is_visible(c) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    Cow::Owned(if out.contains(COMMAND) { out.replace(COMMAND, "# #[") } else { out })
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
