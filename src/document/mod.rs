//! A TOML or JSON file that a person wrote, read key by key so that every complaint names file, line, column and path.
//!
//! A [`Table`] remembers the keys it was asked for; [`Table::finish`] refuses the others and suggests the nearest:
//!
//! ```text
//! my.toml:7:1: unknown key `txet`, did you mean `text`? (at api.turns[0].txet)
//!   |
//! 7 | txet = "Hello."
//!   | ^^^^
//! ```

mod json;

use std::fmt;
use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::text::did_you_mean;

/// Something in a user's file is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.headline())]
#[non_exhaustive]
pub struct DocumentError {
    /// The file as the user named it.
    pub file: String,
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// Where in the document, as `api.turns[0].text`; empty for the document itself.
    pub path: String,
    /// What is wrong and what was expected.
    pub message: String,
    source_line: String,
    width: usize,
}

impl DocumentError {
    /// One line: file, line, column, message, path.
    pub fn headline(&self) -> String {
        let at = if self.path.is_empty() { String::new() } else { format!(" (at {})", self.path) };
        format!("{}:{}:{}: {}{at}", self.file, self.line, self.column, self.message)
    }

    /// The headline with the line of the file and a marker under what is meant.
    pub fn render(&self) -> impl fmt::Display + '_ {
        Rendered(self)
    }
}

struct Rendered<'e>(&'e DocumentError);

impl fmt::Display for Rendered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = self.0;
        let number = error.line.to_string();
        let gutter = " ".repeat(number.len());
        writeln!(f, "{}", error.headline())?;
        writeln!(f, "{gutter} |")?;
        writeln!(f, "{number} | {}", error.source_line)?;
        // Tabs are repeated so that the marker stands under its text however wide a terminal draws them.
        let indent: String = error
            .source_line
            .chars()
            .take(error.column - 1)
            .map(|character| if character == '\t' { '\t' } else { ' ' })
            .collect();
        write!(f, "{gutter} | {indent}{}", "^".repeat(error.width))
    }
}

/// The text of a file and its name: what is needed to turn a span into a place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Document<'t> {
    file: &'t str,
    text: &'t str,
}

impl<'t> Document<'t> {
    /// Parses `text`; `file` is only used to name it in errors.
    pub(crate) fn parse(file: &'t str, text: &'t str) -> Result<Table<'t>, DocumentError> {
        let document = Document { file, text };
        match DeTable::parse(text) {
            Ok(root) => {
                let span = root.span();
                Ok(Table::new(document, String::new(), span, root.into_inner()))
            }
            Err(error) => Err(document.error(error.span().unwrap_or(0..0), "", error.message())),
        }
    }

    fn error(&self, span: Range<usize>, path: &str, message: impl Into<String>) -> DocumentError {
        let start = span.start.min(self.text.len());
        let before = self.text.get(..start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let source_line = self.text[line_start..].lines().next().unwrap_or_default().to_owned();
        let column = self.text[line_start..start].chars().count() + 1;
        let covered = self.text.get(span).and_then(|covered| covered.lines().next()).unwrap_or_default();
        DocumentError {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column,
            path: path.to_owned(),
            message: message.into(),
            width: covered.chars().count().clamp(1, 60),
            source_line,
        }
    }
}

/// One table of a document, with the keys it has been asked for.
#[derive(Debug)]
pub struct Table<'t> {
    document: Document<'t>,
    path: String,
    span: Range<usize>,
    entries: DeTable<'t>,
    asked: Vec<&'static str>,
}

/// A value with its place: what a typed reader turns into its own type, or complains about.
#[derive(Debug, Clone)]
pub struct Item<'t> {
    document: Document<'t>,
    path: String,
    span: Range<usize>,
    value: DeValue<'t>,
}

impl<'t> Table<'t> {
    fn new(document: Document<'t>, path: String, span: Range<usize>, entries: DeTable<'t>) -> Self {
        Table { document, path, span, entries, asked: Vec::new() }
    }

    /// Takes the value of `key` out of the table.
    pub fn take(&mut self, key: &'static str) -> Option<Item<'t>> {
        self.asked.push(key);
        let (_, value) = self.entries.remove_entry(key)?;
        Some(self.item(key, value))
    }

    /// Takes the value of `key`, which has to be there; `what` says what it is for.
    pub fn require(&mut self, key: &'static str, what: &str) -> Result<Item<'t>, DocumentError> {
        match self.take(key) {
            Some(item) => Ok(item),
            None => Err(self.complain(format!("missing key `{key}`: {what}"))),
        }
    }

    /// Takes the value of `key` as a string.
    pub fn string(&mut self, key: &'static str) -> Result<Option<String>, DocumentError> {
        self.take(key).map(Item::into_string).transpose()
    }

    /// Takes the value of `key` as a boolean.
    pub fn boolean(&mut self, key: &'static str) -> Result<Option<bool>, DocumentError> {
        self.take(key).map(Item::into_bool).transpose()
    }

    /// Takes the value of `key` as a number that is not negative.
    pub fn unsigned(&mut self, key: &'static str) -> Result<Option<u64>, DocumentError> {
        self.take(key).map(Item::into_unsigned).transpose()
    }

    /// Takes the value of `key` as a number, whole or not.
    pub fn number(&mut self, key: &'static str) -> Result<Option<f64>, DocumentError> {
        self.take(key).map(Item::into_number).transpose()
    }

    /// Takes the value of `key` as a list of strings; an absent key is an empty list.
    pub fn strings(&mut self, key: &'static str) -> Result<Vec<String>, DocumentError> {
        self.list(key)?.into_iter().map(Item::into_string).collect()
    }

    /// Takes the value of `key` as a list; an absent key is an empty list.
    pub fn list(&mut self, key: &'static str) -> Result<Vec<Item<'t>>, DocumentError> {
        self.take(key).map_or(Ok(Vec::new()), Item::into_list)
    }

    /// Every key and value that is left, for tables whose keys are the user's own.
    pub fn into_entries(self) -> Vec<(String, Item<'t>)> {
        let Table { document, path, entries, .. } = self;
        entries
            .into_iter()
            .map(|(key, value)| {
                let key = key.into_inner().into_owned();
                let path = join(&path, &key);
                let (span, value) = (value.span(), value.into_inner());
                (key, Item { document, path, span, value })
            })
            .collect()
    }

    /// Refuses keys that nobody asked for.
    pub fn finish(self) -> Result<(), DocumentError> {
        let Some((key, _)) = self.entries.iter().min_by_key(|(key, _)| key.span().start) else {
            return Ok(());
        };
        let name: &str = key.get_ref();
        let message = format!("unknown key `{name}`{}", did_you_mean(name, &self.asked));
        Err(self.document.error(key.span(), &join(&self.path, name), message))
    }

    /// A complaint about the table as a whole.
    pub fn complain(&self, message: impl Into<String>) -> DocumentError {
        self.document.error(self.span.clone(), &self.path, message)
    }

    /// The line on which the table begins.
    pub fn line(&self) -> usize {
        self.complain("").line
    }

    fn item(&self, key: &str, value: Spanned<DeValue<'t>>) -> Item<'t> {
        let (span, value) = (value.span(), value.into_inner());
        Item { document: self.document, path: join(&self.path, key), span, value }
    }
}

impl<'t> Item<'t> {
    /// A complaint about this value.
    pub fn complain(&self, message: impl Into<String>) -> DocumentError {
        self.document.error(self.span.clone(), &self.path, message)
    }

    /// The place of this value, for a complaint after it was consumed.
    pub fn place(&self) -> Place<'t> {
        Place { document: self.document, path: self.path.clone(), span: self.span.clone() }
    }

    fn mismatch(&self, expected: &str) -> DocumentError {
        self.complain(format!("expected {expected}, found {}", describe(&self.value)))
    }

    /// Whether the value is a table.
    pub fn is_table(&self) -> bool {
        self.value.is_table()
    }

    /// Whether the value is a string.
    pub fn is_string(&self) -> bool {
        self.value.is_str()
    }

    /// Whether the value is a boolean.
    pub fn is_bool(&self) -> bool {
        self.value.is_bool()
    }

    /// The value as a string.
    pub fn into_string(self) -> Result<String, DocumentError> {
        match self.value {
            DeValue::String(text) => Ok(text.into_owned()),
            _ => Err(self.mismatch("a string")),
        }
    }

    /// The value as a boolean.
    pub fn into_bool(self) -> Result<bool, DocumentError> {
        self.value.as_bool().ok_or_else(|| self.mismatch("true or false"))
    }

    /// The value as a number that is not negative.
    pub fn into_unsigned(self) -> Result<u64, DocumentError> {
        let number = match &self.value {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        number.ok_or_else(|| self.mismatch("a whole number, zero or more"))
    }

    /// The value as a number, whole or not.
    pub fn into_number(self) -> Result<f64, DocumentError> {
        let number = match &self.value {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
            DeValue::Float(number) => number.as_str().parse().ok(),
            _ => None,
        };
        number.filter(|number: &f64| number.is_finite()).ok_or_else(|| self.mismatch("a number"))
    }

    /// The value as a list.
    pub fn into_list(self) -> Result<Vec<Item<'t>>, DocumentError> {
        let Item { document, path, span, value } = self;
        match value {
            DeValue::Array(items) => Ok(items
                .into_iter()
                .enumerate()
                .map(|(index, item)| {
                    let (span, value) = (item.span(), item.into_inner());
                    Item { document, path: format!("{path}[{index}]"), span, value }
                })
                .collect()),
            value => Err(Item { document, path, span, value }.mismatch("a list")),
        }
    }

    /// The value as a table.
    pub fn into_table(self) -> Result<Table<'t>, DocumentError> {
        let Item { document, path, span, value } = self;
        match value {
            DeValue::Table(entries) => Ok(Table::new(document, path, span, entries)),
            value => Err(Item { document, path, span, value }.mismatch("a table")),
        }
    }

    /// The value as JSON. Dates have no JSON form and are refused.
    pub fn into_json(self) -> Result<Value, DocumentError> {
        to_json(&self.value).ok_or_else(|| self.mismatch("a value that JSON can hold"))
    }
}

/// Where a value stood.
#[derive(Debug, Clone)]
pub struct Place<'t> {
    document: Document<'t>,
    path: String,
    span: Range<usize>,
}

impl Place<'_> {
    /// The line on which the value stood.
    pub fn line(&self) -> usize {
        self.complain("").line
    }

    /// A complaint about the value that stood here.
    pub fn complain(&self, message: impl Into<String>) -> DocumentError {
        self.document.error(self.span.clone(), &self.path, message)
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the string {text:?}"),
        DeValue::Integer(number) => format!("the number {}", number.as_str()),
        DeValue::Float(number) => format!("the number {}", number.as_str()),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

fn to_json(value: &DeValue<'_>) -> Option<Value> {
    fn list(items: &DeArray<'_>) -> Option<Vec<Value>> {
        items.iter().map(|item| to_json(item.get_ref())).collect()
    }
    Some(match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Integer(number) => Value::from(i64::from_str_radix(number.as_str(), number.radix()).ok()?),
        DeValue::Float(number) => Value::from(number.as_str().parse::<f64>().ok()?),
        DeValue::Boolean(value) => Value::from(*value),
        DeValue::Datetime(_) => return None,
        DeValue::Array(items) => Value::Array(list(items)?),
        DeValue::Table(entries) => {
            // The file's own order, which the map type does not keep.
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by_key(|(key, _)| key.span().start);
            let mut object = serde_json::Map::new();
            for (key, value) in entries {
                object.insert(key.get_ref().clone().into_owned(), to_json(value.get_ref())?);
            }
            Value::Object(object)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_named_with_its_place_and_a_suggestion() {
        let mut root = Document::parse("my.toml", "a = 1\n\n[api]\n  txet = \"x\"\n").unwrap();
        root.unsigned("a").unwrap();
        let mut api = root.take("api").unwrap().into_table().unwrap();
        api.string("text").unwrap();
        let error = api.finish().unwrap_err();
        assert_eq!(error.headline(), "my.toml:4:3: unknown key `txet`, did you mean `text`? (at api.txet)");
        insta::assert_snapshot!(error.render().to_string(), @r#"
        my.toml:4:3: unknown key `txet`, did you mean `text`? (at api.txet)
          |
        4 |   txet = "x"
          |   ^^^^
        "#);
    }

    #[test]
    fn a_key_like_no_other_lists_what_is_expected() {
        let mut root = Document::parse("my.toml", "zebra = 1").unwrap();
        root.string("name").unwrap();
        root.string("text").unwrap();
        assert_eq!(root.finish().unwrap_err().message, "unknown key `zebra`, expected one of: name, text");
    }

    #[test]
    fn a_wrong_type_says_what_was_expected_and_found() {
        let mut root = Document::parse("my.toml", "list = [\n 1,\n \"x\"]").unwrap();
        let mut items = root.list("list").unwrap();
        let error = items.pop().unwrap().into_unsigned().unwrap_err();
        assert_eq!((error.line, error.column, error.path.as_str()), (3, 2, "list[1]"));
        assert_eq!(error.message, "expected a whole number, zero or more, found the string \"x\"");
    }

    #[test]
    fn broken_toml_has_a_place_too() {
        let error = Document::parse("my.toml", "a = 1\nb = [1,\n").unwrap_err();
        assert_eq!((error.file.as_str(), error.line), ("my.toml", 2));
    }

    #[test]
    fn columns_count_characters() {
        let mut root = Document::parse("my.toml", "x = { \"é\" = 1, b = 2 }").unwrap();
        let mut table = root.take("x").unwrap().into_table().unwrap();
        table.string("é").unwrap_err();
        assert_eq!(table.finish().unwrap_err().column, 16);
    }

    #[test]
    fn json_keeps_the_order_of_the_file() {
        let mut root = Document::parse("my.toml", "x = { b = 1, a = [true, 1.5] }").unwrap();
        let json = root.take("x").unwrap().into_json().unwrap();
        assert_eq!(json.to_string(), r#"{"b":1,"a":[true,1.5]}"#);
    }
}
