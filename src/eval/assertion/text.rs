//! Assertions about a text. They agree with clauditor's first layer, lengths in code points included.

use super::format::{Format, URL};
use super::pattern::{Pattern, Undecided};
use super::{Found, clip};

/// A numbered entry in bold: `**1. `.
const ENTRY: &str = r"\*\*\d+\.\s+";

/// What has to hold for a text.
#[derive(Debug, Clone)]
pub(crate) enum TextCheck {
    Contains(String),
    NotContains(String),
    Regex(Pattern),
    NotRegex(Pattern),
    Count { pattern: Pattern, least: u64, most: Option<u64>, noun: Noun },
    MinLength(u64),
    MaxLength(u64),
    Equals(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noun {
    Matches,
    Urls,
    Entries,
    Format(&'static str),
}

impl Noun {
    fn name(self) -> &'static str {
        match self {
            Self::Matches => "matches",
            Self::Urls => "URLs",
            Self::Entries => "numbered entries",
            Self::Format(name) => name,
        }
    }
}

impl TextCheck {
    /// At least so many web addresses.
    pub(super) fn urls(least: u64) -> Result<Self, String> {
        Ok(Self::Count { pattern: Pattern::parse(URL)?, least, most: None, noun: Noun::Urls })
    }

    /// At least so many numbered entries.
    pub(super) fn entries(least: u64) -> Result<Self, String> {
        Ok(Self::Count { pattern: Pattern::parse(ENTRY)?, least, most: None, noun: Noun::Entries })
    }

    /// At least so many texts of a format.
    pub(super) fn format(format: Format, least: u64) -> Self {
        Self::Count { pattern: format.pattern, least, most: None, noun: Noun::Format(format.name) }
    }

    pub(super) fn find(&self, text: &str) -> Found {
        self.decide(text).unwrap_or_else(|undecided| Found::unchecked(undecided.to_string()))
    }

    fn decide(&self, text: &str) -> Result<Found, Undecided> {
        let length = || text.chars().count() as u64;
        Ok(match self {
            Self::Contains(needle) => {
                let holds = text.contains(needle.as_str());
                Found::when(holds, format!("{} {}", if holds { "found" } else { "missing" }, clip(needle)))
            }
            Self::NotContains(needle) => {
                let holds = !text.contains(needle.as_str());
                Found::when(holds, format!("{} {}", if holds { "no" } else { "found" }, clip(needle)))
            }
            Self::Regex(pattern) => match pattern.find(text)? {
                Some(found) => Found::when(true, format!("found {}", clip(found))),
                None => Found::when(false, "no match"),
            },
            Self::NotRegex(pattern) => match pattern.find(text)? {
                Some(found) => Found::when(false, format!("found {}", clip(found))),
                None => Found::when(true, "no match"),
            },
            Self::Count { pattern, least, most, noun } => {
                let mut first = String::new();
                let count = pattern.count(text, &mut |found| {
                    if first.is_empty() {
                        first = clip(found);
                    }
                })?;
                let holds = count >= *least && most.is_none_or(|most| count <= most);
                let first = if count > 0 { format!(", first {first}") } else { String::new() };
                Found::when(holds, format!("{count} {}{first}", noun.name()))
            }
            Self::MinLength(least) => Found::when(length() >= *least, format!("{} characters", length())),
            Self::MaxLength(most) => Found::when(length() <= *most, format!("{} characters", length())),
            Self::Equals(wanted) => {
                let holds = text.trim() == wanted.trim();
                Found::when(holds, format!("the text is {}", clip(text.trim())))
            }
        })
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Self::Contains(needle) => format!("contains {}", clip(needle)),
            Self::NotContains(needle) => format!("does not contain {}", clip(needle)),
            Self::Regex(pattern) => format!("matches /{}/", pattern.text()),
            Self::NotRegex(pattern) => format!("does not match /{}/", pattern.text()),
            Self::Count { pattern, least, most, noun } => {
                let range = match most {
                    Some(most) => format!("{least} to {most}"),
                    None => format!("at least {least}"),
                };
                match noun {
                    Noun::Matches => format!("{range} matches of /{}/", pattern.text()),
                    other => format!("{range} {}", other.name()),
                }
            }
            Self::MinLength(least) => format!("at least {least} characters"),
            Self::MaxLength(most) => format!("at most {most} characters"),
            Self::Equals(wanted) => format!("equals {}", clip(wanted)),
        }
    }
}
