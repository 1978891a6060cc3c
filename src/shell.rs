//! Commands that are printed to be typed again.

use std::borrow::Cow;

/// A word as a shell has to see it, quoted where it must be.
pub(crate) fn shell_word(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@+._-/=:,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
    }
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
}
