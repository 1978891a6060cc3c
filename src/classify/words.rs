//! Patterns of words that texts are searched for.

use std::sync::LazyLock;

use regex::Regex;

/// A pattern that is compiled when it is first used.
pub(super) struct Words {
    pattern: LazyLock<Option<Regex>>,
    /// Of these, in lower case, one is in every text that the pattern is in, unless the text has letters beyond ASCII. To look
    /// for them is a thousandth of the work of compiling it.
    needs: &'static [&'static str],
}

impl Words {
    pub(super) const fn new(compile: fn() -> Option<Regex>, needs: &'static [&'static str]) -> Self {
        Self { pattern: LazyLock::new(compile), needs }
    }

    pub(super) fn are_in(&self, text: &str) -> bool {
        self.may_be_in(text) && self.pattern.as_ref().is_some_and(|words| words.is_match(text))
    }

    fn may_be_in(&self, text: &str) -> bool {
        if self.needs.is_empty() || !text.is_ascii() {
            return true;
        }
        let text = text.to_ascii_lowercase();
        self.needs.iter().any(|needed| text.contains(needed))
    }

    /// What was found: the group of the pattern where it has one that matched, else all of it.
    pub(super) fn find(&self, text: &str) -> Option<String> {
        let found = self.pattern.as_ref()?.captures(text)?;
        found.get(1).or_else(|| found.get(0)).map(|found| found.as_str().to_owned())
    }
}

/// Declares patterns by name.
macro_rules! words {
    ($($(#[$doc:meta])* $vis:vis $name:ident = $pattern:literal $(needs $needs:expr)?;)*) => {
        $($(#[$doc])* $vis static $name: crate::classify::words::Words =
            crate::classify::words::Words::new(|| regex::Regex::new($pattern).ok(), words!(@needs $($needs)?));)*
    };
    (@needs) => { &[] };
    (@needs $needs:expr) => { &$needs };
}

pub(super) use words;

#[cfg(test)]
mod tests {
    words! {
        GREETING = r"(?i)\b(?:hello|good\ (?:day|night))\b" needs ["hello", "good"];
    }

    #[test]
    fn what_a_pattern_needs_decides_nothing_else() {
        for (text, is_in) in
            [("HELLO", true), ("Good night", true), ("good", false), ("bye", false), ("é hello", true)]
        {
            assert_eq!(GREETING.are_in(text), is_in, "{text}");
        }
    }
}
