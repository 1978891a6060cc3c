//! Regular expressions of contracts.
//!
//! Most of them ask how a text begins, or whether it is one of some words. That is answered without an expression, of which
//! to compile one takes longer than to judge a small run; the others are compiled when they are first asked.

use std::fmt;
use std::sync::OnceLock;

use regex::Regex;

use crate::document::{FileError, Item};

/// A pattern that texts are searched for.
#[derive(Clone)]
pub(crate) struct Pattern {
    text: String,
    /// How it is decided without an expression.
    plain: Option<Plain>,
    compiled: OnceLock<Option<Regex>>,
}

/// A pattern that says how a text begins.
#[derive(Debug, Clone, PartialEq)]
struct Plain {
    /// The words, of which one stands at the beginning.
    words: Vec<String>,
    /// Nothing comes after it.
    is_whole: bool,
}

/// More words than that are better left to an expression.
const MOST_WORDS: usize = 32;

impl Pattern {
    /// Reads a pattern of a contract: linear in time, and too small to be a weapon. One of the user is compiled at once, so
    /// that what is wrong with it is said where it stands.
    pub(crate) fn load(node: &Item<'_>) -> Result<Self, FileError> {
        let text = node.str()?.to_owned();
        let compiled = OnceLock::new();
        if !node.is_built_in() {
            let _ = compiled.set(Some(regex(node)?));
        }
        Ok(Self { plain: Plain::of(&text), text, compiled })
    }

    /// Whether it is found in a text.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        match &self.plain {
            Some(plain) => plain.is_match(text),
            None => self.regex().is_some_and(|regex| regex.is_match(text)),
        }
    }

    /// The text without what it finds.
    pub(crate) fn remove_all(&self, text: &str) -> String {
        self.regex().map_or_else(|| text.to_owned(), |regex| regex.replace_all(text, "").into_owned())
    }

    /// The expression; none when it is none, which our tests rule out for built-in contracts, and loading for others.
    fn regex(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| compile(&self.text).ok()).as_ref()
    }
}

/// Reads a regular expression for somebody who knows no contracts.
pub(crate) fn regex(node: &Item<'_>) -> Result<Regex, FileError> {
    compile(node.str()?).map_err(|error| {
        let error = error.to_string();
        let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_string();
        node.complain(format_args!("the regular expression does not compile: {reason}"))
    })
}

fn compile(text: &str) -> Result<Regex, regex::Error> {
    regex::RegexBuilder::new(text).size_limit(1 << 20).build()
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({:?})", self.text)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Plain {
    /// `^word`, `^(one|other)$` and what is put together from such parts.
    fn of(pattern: &str) -> Option<Self> {
        let pattern = pattern.strip_prefix('^')?;
        let (pattern, is_whole) = pattern.strip_suffix('$').map_or((pattern, false), |inner| (inner, true));
        let (words, rest) = sequence(pattern)?;
        rest.is_empty().then_some(Self { words, is_whole })
    }

    fn is_match(&self, text: &str) -> bool {
        let fits = |word: &String| if self.is_whole { text == word } else { text.starts_with(word.as_str()) };
        self.words.iter().any(fits)
    }
}

/// The words that parts of a pattern stand for, one after the other, and what comes after them.
fn sequence(mut pattern: &str) -> Option<(Vec<String>, &str)> {
    let mut words = vec![String::new()];
    while let Some(first) = pattern.chars().next() {
        let parts;
        match first {
            '(' => (parts, pattern) = group(&pattern[1..])?,
            ')' | '|' => break,
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' | '<' | '>' | '/' | ' ' | ':' => {
                parts = vec![first.to_string()];
                pattern = &pattern[1..];
            }
            _ => return None,
        }
        words = words.iter().flat_map(|word| parts.iter().map(move |part| format!("{word}{part}"))).collect();
        if words.len() > MOST_WORDS {
            return None;
        }
    }
    Some((words, pattern))
}

/// The words that a group stands for, and what comes after it.
fn group(mut pattern: &str) -> Option<(Vec<String>, &str)> {
    let mut all = Vec::new();
    loop {
        let (words, rest) = sequence(pattern)?;
        all.extend(words);
        match rest.strip_prefix('|') {
            Some(next) => pattern = next,
            None => return Some((all, rest.strip_prefix(')')?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_beginnings_that_contracts_ask_for_need_no_expression() {
        for pattern in
            ["^error_", "^result-(success|error-max-turns)$", "^(task-|result-(api|error))", "^(a|)b"]
        {
            assert!(Plain::of(pattern).is_some(), "{pattern}");
        }
        for pattern in
            ["abc", "^a*", "^a|b", "^[ab]", "^a.b", "^(a", "^a)", "^é", "^(?i)a", "^(a|b)?c", "^\\d"]
        {
            assert_eq!(Plain::of(pattern), None, "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn what_is_decided_here_is_what_the_expression_says(
            pattern in "\\^?[ab(|)c-]{0,8}\\$?",
            text in "[abc-]{0,6}\n?",
        ) {
            if let (Some(plain), Ok(regex)) = (Plain::of(&pattern), compile(&pattern)) {
                prop_assert_eq!(plain.is_match(&text), regex.is_match(&text), "{} {:?}", pattern, text);
            }
        }
    }
}
