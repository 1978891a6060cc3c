//! Patterns of words that texts are searched for.

use std::sync::LazyLock;

use regex::Regex;

/// A pattern that is compiled when it is first used.
pub(super) struct Words(LazyLock<Option<Regex>>);

impl Words {
    pub(super) const fn new(compile: fn() -> Option<Regex>) -> Self {
        Self(LazyLock::new(compile))
    }

    pub(super) fn are_in(&self, text: &str) -> bool {
        self.0.as_ref().is_some_and(|words| words.is_match(text))
    }

    /// What was found: the group of the pattern where it has one that matched, else all of it.
    pub(super) fn find(&self, text: &str) -> Option<String> {
        let found = self.0.as_ref()?.captures(text)?;
        found.get(1).or_else(|| found.get(0)).map(|found| found.as_str().to_owned())
    }
}

/// Declares patterns by name.
macro_rules! words {
    ($($(#[$doc:meta])* $vis:vis $name:ident = $pattern:literal;)*) => {
        $($(#[$doc])* $vis static $name: crate::classify::words::Words =
            crate::classify::words::Words::new(|| regex::Regex::new($pattern).ok());)*
    };
}

pub(super) use words;
