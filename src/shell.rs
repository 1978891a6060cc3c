//! Commands that are printed to be typed again.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::text::{has_command, needs_escape};

/// A word as a shell has to see it, quoted where it must be. What a terminal would obey or nobody would see is spelled
/// out as bash, zsh and ksh read it, so that a command stays one line and means the same after it was copied.
pub(crate) fn shell_word(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@+._-/=:,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        Cow::Borrowed(word)
    } else if word.chars().any(needs_escape) || has_command(word) {
        Cow::Owned(spelled_out(word))
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
    }
}

/// The word as `$'…'`.
fn spelled_out(word: &str) -> String {
    let mut out = String::from("$'");
    let mut before = ' ';
    for c in word.chars() {
        // Writing to a string cannot fail.
        let _ = match c {
            '\n' => out.write_str("\\n"),
            '\r' => out.write_str("\\r"),
            '\t' => out.write_str("\\t"),
            '\'' | '\\' => write!(out, "\\{c}"),
            // Two of them and a bracket would be a command to a CI system.
            '#' if before == '#' => out.write_str("\\x23"),
            c if c.is_ascii_control() => write!(out, "\\x{:02x}", u32::from(c)),
            c if needs_escape(c) => write!(out, "\\U{:08x}", u32::from(c)),
            c => out.write_char(c),
        };
        before = c;
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn only_what_a_shell_would_change_is_quoted() {
        assert_eq!(shell_word("claw=./a/b.c"), "claw=./a/b.c");
        assert_eq!(shell_word("o 4"), "'o 4'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn what_is_hidden_is_spelled_out_and_a_shell_reads_it_back() {
        assert_eq!(shell_word("a\nb"), r"$'a\nb'");
        for word in [
            "two\nlines\t'quoted' \\n",
            "\u{1b}[31m\u{7}1",
            "##[error]x ###",
            "##vso[a]",
            "\u{202e}\u{9b}é😀",
            "\u{1}a",
        ] {
            let quoted = shell_word(word);
            assert_eq!(crate::text::printable(&quoted), quoted, "it can be shown as it is");
            let said = std::process::Command::new("bash")
                .env("LC_ALL", "C.UTF-8")
                .args(["-c", &format!("printf %s {quoted}")])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8_lossy(&said.stdout), word);
        }
    }
}
