//! What a target prints is hostile: nothing of it reaches a terminal as a control sequence.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with control characters, escape sequences and direction overrides made visible, on one line.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(needs_escape) {
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
    Cow::Owned(out)
}

fn needs_escape(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_controls_the_terminal() {
        assert_eq!(printable("a\u{1b}[31mred\u{7}\n\u{202e}x"), "a\\u{1b}[31mred\\u{7}\\n\\u{202e}x");
        assert_eq!(printable("\u{9b}31m"), "\\u{9b}31m");
        assert!(matches!(printable("plain – text 😀"), Cow::Borrowed(_)));
    }
}
