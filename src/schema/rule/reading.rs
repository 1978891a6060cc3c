//! How a text is read before it is compared: taken apart, shortened, or as the JSON that it holds.

use serde_json::Value;

use super::super::pattern::Pattern;
use super::{FileError, Table, choice};

#[derive(Debug, Default)]
pub(super) struct Reading {
    split: Option<Split>,
    /// What is left out of a text.
    without: Option<Pattern>,
    /// White space around a text means nothing.
    trim: bool,
    /// A text is read as the JSON that it holds.
    parse: bool,
}

/// How a text is taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Split {
    /// Into words, with commas or spaces between them.
    Words,
    /// Into lines, without the space around them.
    Lines,
    /// Only what follows its first word.
    Rest,
}

impl Reading {
    pub(super) fn load(fields: &Table<'_>) -> Result<Self, FileError> {
        let words = [("words", Split::Words), ("lines", Split::Lines), ("rest", Split::Rest)];
        let switch = |key| fields.get(key).map_or(Ok(false), |node| node.bool());
        Ok(Self {
            split: fields.get("split").map(|node| choice(&node, &words)).transpose()?,
            without: fields.get("without").as_ref().map(Pattern::load).transpose()?,
            trim: switch("trim")?,
            parse: switch("parse")?,
        })
    }

    /// Whether a value is compared as it is.
    pub(super) fn is_plain(&self) -> bool {
        self.split.is_none() && self.without.is_none() && !self.trim && !self.parse
    }

    /// Whether no value is taken apart.
    pub(super) fn is_whole(&self) -> bool {
        self.split.is_none()
    }

    /// Shows the parts of a value: those of a text that is taken apart, else the value itself.
    pub(super) fn take_apart(&self, value: Value, show: &mut dyn FnMut(Value)) {
        let (Value::String(text), Some(split)) = (&value, self.split) else { return show(value) };
        match split {
            Split::Words => {
                text.split([',', ' ']).filter(|word| !word.is_empty()).for_each(|word| show(word.into()));
            }
            Split::Lines => {
                let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                lines.for_each(|line| show(line.into()));
            }
            Split::Rest => {
                let rest = text.trim().split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim());
                if !rest.is_empty() {
                    show(rest.into());
                }
            }
        }
    }

    /// What a whole text is compared as; none when it is compared as it is.
    pub(super) fn read(&self, value: &Value) -> Option<Value> {
        let Value::String(text) = value else { return None };
        let trim = |text: &str| if self.trim { text.trim().into() } else { Value::from(text) };
        let read = match &self.without {
            Some(without) => Some(trim(&without.remove_all(text))),
            None => self.trim.then(|| trim(text)),
        };
        let left = read.as_ref().and_then(Value::as_str).unwrap_or(text);
        if self.parse
            && let Ok(value) = serde_json::from_str(left)
        {
            return Some(value);
        }
        read
    }
}
