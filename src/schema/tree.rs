//! TOML files read as a tree that knows its lines, so that every complaint about a user's file can point into it.

use std::cell::RefCell;
use std::fmt::Display;

use serde_json::{Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::text::did_you_mean;

/// A complaint about a file of the user: which file, which line, and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{}{reason}", .line.map_or_else(|| String::from(" "), |line| format!("{line}: ")))]
pub struct FileError {
    /// The file as the user would name it.
    pub file: String,
    /// The line, counted from 1, where one can be named.
    pub line: Option<usize>,
    /// What is wrong, as a lower-case fragment.
    pub reason: String,
}

impl FileError {
    /// A complaint about a file as a whole.
    pub fn whole(file: impl Into<String>, reason: impl Display) -> Self {
        Self { file: file.into(), line: None, reason: reason.to_string() }
    }

    /// A complaint about one line of a file.
    pub fn at(file: impl Into<String>, line: usize, reason: impl Display) -> Self {
        Self { file: file.into(), line: Some(line), reason: reason.to_string() }
    }
}

/// A parsed TOML file.
pub(crate) struct Tree<'t> {
    file: &'t str,
    text: &'t str,
    root: Spanned<DeTable<'t>>,
}

impl<'t> Tree<'t> {
    /// Parses `text`; `file` is only its name, for complaints.
    pub(crate) fn parse(file: &'t str, text: &'t str) -> Result<Self, FileError> {
        let root = DeTable::parse(text).map_err(|error| {
            let line = error.span().map(|span| line_of(text, span.start));
            FileError { file: file.into(), line, reason: error.message().to_string() }
        })?;
        Ok(Self { file, text, root })
    }

    /// The file's top level.
    pub(crate) fn fields(&self) -> Fields<'_> {
        Fields::new(Place { file: self.file, text: self.text }, self.root.get_ref(), 0)
    }
}

/// The line, counted from 1, of a byte offset in `text`.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    let head = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    memchr::memchr_iter(b'\n', head).count() + 1
}

#[derive(Clone, Copy)]
struct Place<'t> {
    file: &'t str,
    text: &'t str,
}

/// One value of a TOML file.
#[derive(Clone, Copy)]
pub(crate) struct Node<'t> {
    place: Place<'t>,
    value: &'t Spanned<DeValue<'t>>,
}

impl<'t> Node<'t> {
    /// The line the value starts on.
    pub(crate) fn line(&self) -> usize {
        line_of(self.place.text, self.value.span().start)
    }

    /// A complaint that points at this value.
    pub(crate) fn error(&self, reason: impl Display) -> FileError {
        FileError::at(self.place.file, self.line(), reason)
    }

    fn expected(&self, what: &str) -> FileError {
        self.error(format_args!("expected {what}, found {}", self.value.get_ref().type_str()))
    }

    pub(crate) fn str(&self) -> Result<&'t str, FileError> {
        self.value.get_ref().as_str().ok_or_else(|| self.expected("a string"))
    }

    /// A string with something in it.
    pub(crate) fn text(&self) -> Result<String, FileError> {
        let text = self.str()?.trim();
        if text.is_empty() { Err(self.error("must not be empty")) } else { Ok(text.to_string()) }
    }

    pub(crate) fn bool(&self) -> Result<bool, FileError> {
        self.value.get_ref().as_bool().ok_or_else(|| self.expected("true or false"))
    }

    pub(crate) fn integer(&self) -> Result<i64, FileError> {
        let integer = self.value.get_ref().as_integer().ok_or_else(|| self.expected("an integer"))?;
        i64::from_str_radix(integer.as_str(), integer.radix())
            .map_err(|_| self.error("the integer is too large"))
    }

    pub(crate) fn index(&self) -> Result<usize, FileError> {
        usize::try_from(self.integer()?).map_err(|_| self.error("must not be negative"))
    }

    pub(crate) fn number(&self) -> Result<f64, FileError> {
        match self.value.get_ref() {
            DeValue::Float(float) => float.as_str().parse().map_err(|_| self.expected("a number")),
            DeValue::Integer(_) => Ok(self.integer()? as f64),
            _ => Err(self.expected("a number")),
        }
    }

    pub(crate) fn list(&self) -> Result<Vec<Node<'t>>, FileError> {
        let list = self.value.get_ref().as_array().ok_or_else(|| self.expected("a list"))?;
        Ok(list.iter().map(|value| Node { place: self.place, value }).collect())
    }

    pub(crate) fn fields(&self) -> Result<Fields<'t>, FileError> {
        let table = self.value.get_ref().as_table().ok_or_else(|| self.expected("a table"))?;
        Ok(Fields::new(self.place, table, self.value.span().start))
    }

    pub(crate) fn is_list(&self) -> bool {
        self.value.get_ref().is_array()
    }

    pub(crate) fn is_table(&self) -> bool {
        self.value.get_ref().is_table()
    }

    pub(crate) fn is_str(&self) -> bool {
        self.value.get_ref().is_str()
    }

    /// A string, or a list of strings.
    pub(crate) fn strings(&self) -> Result<Vec<String>, FileError> {
        if self.is_str() {
            return Ok(vec![self.str()?.to_string()]);
        }
        self.list()?.iter().map(|node| node.str().map(str::to_string)).collect()
    }

    /// The value as JSON. TOML has no null, and a date is taken as its text.
    pub(crate) fn json(&self) -> Result<Value, FileError> {
        Ok(match self.value.get_ref() {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Boolean(flag) => Value::Bool(*flag),
            DeValue::Integer(_) => Value::from(self.integer()?),
            DeValue::Float(_) => Number::from_f64(self.number()?)
                .map(Value::Number)
                .ok_or_else(|| self.error("JSON has no such number"))?,
            DeValue::Datetime(date) => Value::String(date.to_string()),
            DeValue::Array(_) => Value::Array(self.list()?.iter().map(Node::json).collect::<Result<_, _>>()?),
            DeValue::Table(_) => {
                let fields = self.fields()?;
                let pairs = fields.entries.iter().map(|(key, node)| Ok(((*key).to_string(), node.json()?)));
                Value::Object(pairs.collect::<Result<_, FileError>>()?)
            }
        })
    }
}

/// The pairs of a table. Every key that was asked for is remembered, so that [`Fields::done`] can refuse the others
/// and suggest a name for a misspelt one.
pub(crate) struct Fields<'t> {
    place: Place<'t>,
    start: usize,
    entries: Vec<(&'t str, Node<'t>)>,
    lines: Vec<usize>,
    asked: RefCell<Vec<&'static str>>,
}

impl<'t> Fields<'t> {
    fn new(place: Place<'t>, table: &'t DeTable<'t>, start: usize) -> Self {
        let mut entries = Vec::new();
        let mut lines = Vec::new();
        for (key, value) in table {
            entries.push((key.get_ref().as_ref(), Node { place, value }));
            lines.push(line_of(place.text, key.span().start));
        }
        Self { place, start, entries, lines, asked: RefCell::default() }
    }

    /// The value of a key that may be left out.
    pub(crate) fn get(&self, key: &'static str) -> Option<Node<'t>> {
        self.asked.borrow_mut().push(key);
        self.entries.iter().find(|(name, _)| *name == key).map(|(_, node)| *node)
    }

    /// The value of a key that must be there.
    pub(crate) fn need(&self, key: &'static str) -> Result<Node<'t>, FileError> {
        self.get(key).ok_or_else(|| self.error(format_args!("`{key}` is missing")))
    }

    /// All pairs, for tables whose keys are the user's own.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&'t str, Node<'t>)> + '_ {
        self.entries.iter().copied()
    }

    /// A complaint that points at the table.
    pub(crate) fn error(&self, reason: impl Display) -> FileError {
        FileError::at(self.place.file, self.line(), reason)
    }

    /// The line the table starts on, which for a `[header]` is that of its first key.
    pub(crate) fn line(&self) -> usize {
        if self.start == 0 {
            return self.lines.iter().copied().min().unwrap_or(1);
        }
        line_of(self.place.text, self.start)
    }

    /// Refuses the keys that nobody asked for.
    pub(crate) fn done(&self) -> Result<(), FileError> {
        let asked = self.asked.borrow();
        for ((key, _), line) in self.entries.iter().zip(&self.lines) {
            if !asked.contains(key) {
                let hint = did_you_mean(key, &asked);
                return Err(FileError::at(self.place.file, *line, format_args!("unknown key `{key}`{hint}")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_key_is_named_with_its_line() {
        let tree = Tree::parse("c.toml", "name = 'x'\n\nlevle = 'must'\n").unwrap();
        let fields = tree.fields();
        fields.need("name").unwrap();
        assert!(fields.get("level").is_none());
        let error = fields.done().unwrap_err();
        assert_eq!(error.to_string(), "c.toml:3: unknown key `levle`, did you mean `level`?");
    }

    #[test]
    fn a_syntax_error_has_a_line() {
        let error = Tree::parse("c.toml", "a = 1\nb = = 2\n").map(|_| ()).unwrap_err();
        assert_eq!(error.line, Some(2));
    }
}
