//! What a target prints is hostile: nothing of it reaches a terminal as a control sequence, or a CI system that reads
//! our output as a command.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with control characters, escape sequences and direction overrides made visible, on one line, which is no
/// command to a CI system wherever it stands.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(needs_escape) && !has_command(text) {
        return line_of_ours(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for (at, c) in text.char_indices() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if needs_escape(c) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            '#' if begins_command(&text[at..]) => out.push_str("# "),
            c => out.push(c),
        }
    }
    match line_of_ours(&out) {
        Cow::Owned(line) => Cow::Owned(line),
        Cow::Borrowed(_) => Cow::Owned(out),
    }
}

/// JSON with the same value that controls no terminal and is no command to a CI system: such characters are escaped.
#[cfg(feature = "cli")]
pub(crate) fn printable_json(json: &str) -> Cow<'_, str> {
    // The end of a line stands between values; in one it is escaped already.
    let must_go = |c: char| c != '\n' && needs_escape(c);
    if !json.chars().any(must_go) && !has_command(json) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for (at, c) in json.char_indices() {
        if must_go(c) || c == '#' && begins_command(&json[at..]) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// A line that GitHub Actions does not take for a command, which it would if two colons were the first of it.
pub(crate) fn line_of_ours(line: &str) -> Cow<'_, str> {
    let start = line.trim_start();
    match start.strip_prefix("::") {
        Some(rest) => Cow::Owned(format!("{}: :{rest}", &line[..line.len() - start.len()])),
        None => Cow::Borrowed(line),
    }
}

/// Whether there is what Azure Pipelines, GitHub Actions or `TeamCity` obey wherever it stands in a line: `##[error]`,
/// `##vso[…]`, `##teamcity[…]`.
pub(crate) fn has_command(text: &str) -> bool {
    memchr::memchr_iter(b'#', text.as_bytes()).any(|at| begins_command(&text[at..]))
}

fn begins_command(text: &str) -> bool {
    text.strip_prefix("##")
        .is_some_and(|rest| rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).starts_with('['))
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
        assert_eq!(
            printable("###[x] ##vso[a] ##TeamCity[b] ## c[d]"),
            "## #[x] # #vso[a] # #TeamCity[b] ## c[d]"
        );
        assert_eq!(printable("::error::x"), ": :error::x");
        assert_eq!(printable(" \t::error::x"), " \\t::error::x");
        assert_eq!(printable("  ::error::\n"), "  : :error::\\n");
        assert!(matches!(printable("\u{fffd} family 👩\u{fe0f}"), Cow::Borrowed(_)));
        assert!(matches!(printable("plain – text 😀"), Cow::Borrowed(_)));
    }
    #[cfg(feature = "cli")]
    #[test]
    fn json_keeps_its_value() {
        let value = serde_json::json!({
            "##[error]": ["\u{9b}31m\u{202e}\u{e0041}\u{7f}\u{1b}", "###vso[x]\n::y", "é 😀 # ## plain \\"],
        });
        for text in [value.to_string(), format!("{value:#}")] {
            let safe = printable_json(&text);
            assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
            assert!(!has_command(&safe) && !safe.chars().any(|c| c != '\n' && needs_escape(c)), "{safe}");
            assert!(safe.contains("é 😀 # ## plain"), "{safe}");
        }
    }
}
