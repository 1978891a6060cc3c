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

#[cfg(feature = "testing")]
mod accepted;
mod error;
mod input;
#[cfg(feature = "testing")]
mod json;
#[cfg(feature = "cli")]
mod quoted;
#[cfg(feature = "contracts")]
mod volatile;

#[cfg(feature = "testing")]
pub(crate) use accepted::Accepted;
pub use error::FileError;
use error::FilePlace;
#[cfg(feature = "testing")]
pub(crate) use input::read_to_string;
pub(crate) use input::{open, read};
#[cfg(feature = "cli")]
pub(crate) use quoted::quoted;
#[cfg(feature = "testing")]
pub(crate) use volatile::By;
#[cfg(feature = "testing")]
pub use volatile::Class;
#[cfg(feature = "contracts")]
pub(crate) use volatile::VolatileEntry;
#[cfg(feature = "testing")]
pub(crate) use volatile::is_reserved;

use std::cell::RefCell;
use std::fmt::Display;
use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::text::did_you_mean;
#[cfg(feature = "testing")]
use crate::time::is_day;

/// The text of a file and its name: what is needed to turn a span into a place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Document<'t> {
    pub(crate) file: &'t str,
    pub(crate) text: &'t str,
}

impl<'t> Document<'t> {
    /// Parses `text`; `file` is only used to name it in errors.
    pub(crate) fn parse(file: &'t str, text: &'t str) -> Result<Table<'t>, FileError> {
        let document = Document { file, text };
        match DeTable::parse(text) {
            Ok(root) => {
                let span = root.span();
                Ok(Table::new(document, String::new(), span, root.into_inner()))
            }
            Err(error) => Err(document.error(error.span().unwrap_or(0..0), "", error.message())),
        }
    }

    fn line(&self, span: &Range<usize>) -> usize {
        memchr::memchr_iter(b'\n', &self.text.as_bytes()[..span.start.min(self.text.len())]).count() + 1
    }

    /// A complaint about a part of the text.
    pub(crate) fn error(&self, span: Range<usize>, path: &str, message: impl Display) -> FileError {
        let start = span.start.min(self.text.len());
        let before = self.text.get(..start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before[line_start..].chars().count() + 1;
        // Of a line that nobody can take in, what stands around the place.
        let cut = if column > 120 { column - 60 } else { 0 };
        let source_line = self.text[line_start..].lines().next().unwrap_or_default();
        let covered =
            self.text.get(span.clone()).and_then(|covered| covered.lines().next()).unwrap_or_default();
        let place = FilePlace {
            line: self.line(&span),
            column,
            path: path.to_owned(),
            width: covered.chars().count().clamp(1, 60),
            source_line: source_line.chars().skip(cut).take(160).collect(),
            cut,
        };
        FileError { place: Some(Box::new(place)), ..FileError::whole(self.file, message) }
    }
}

/// One table of a document, with the keys it has been asked for.
#[derive(Debug)]
pub(crate) struct Table<'t> {
    document: Document<'t>,
    path: String,
    span: Range<usize>,
    entries: DeTable<'t>,
    asked: RefCell<Vec<&'static str>>,
}

/// A value with its place: what a typed reader turns into its own type, or complains about.
#[derive(Debug, Clone)]
pub(crate) struct Item<'t> {
    document: Document<'t>,
    path: String,
    span: Range<usize>,
    value: DeValue<'t>,
}

impl<'t> Table<'t> {
    fn new(document: Document<'t>, path: String, span: Range<usize>, entries: DeTable<'t>) -> Self {
        Table { document, path, span, entries, asked: RefCell::default() }
    }

    /// Takes the value of `key` out of the table.
    #[cfg(feature = "testing")]
    pub(crate) fn take(&mut self, key: &'static str) -> Option<Item<'t>> {
        self.asked.get_mut().push(key);
        let (_, value) = self.entries.remove_entry(key)?;
        Some(self.item(key, value))
    }

    /// The value of `key`, which stays in the table.
    pub(crate) fn get(&self, key: &'static str) -> Option<Item<'t>> {
        self.asked.borrow_mut().push(key);
        Some(self.item(key, self.entries.get(key)?.clone()))
    }

    /// The value of `key`, which has to be there.
    pub(crate) fn need(&self, key: &'static str) -> Result<Item<'t>, FileError> {
        self.get(key).ok_or_else(|| self.complain(format_args!("missing key `{key}`")))
    }

    /// Takes the value of `key`, which has to be there; `what` says what it is for.
    #[cfg(feature = "testing")]
    pub(crate) fn require(&mut self, key: &'static str, what: &str) -> Result<Item<'t>, FileError> {
        match self.take(key) {
            Some(item) => Ok(item),
            None => Err(self.complain(format!("missing key `{key}`: {what}"))),
        }
    }

    /// Takes the value of `key` as a string.
    #[cfg(feature = "testing")]
    pub(crate) fn string(&mut self, key: &'static str) -> Result<Option<String>, FileError> {
        self.take(key).map(Item::into_string).transpose()
    }

    /// Takes the value of `key` as a boolean.
    #[cfg(feature = "testing")]
    pub(crate) fn boolean(&mut self, key: &'static str) -> Result<Option<bool>, FileError> {
        self.take(key).map(|item| item.bool()).transpose()
    }

    /// Takes the value of `key` as a number that is not negative.
    #[cfg(feature = "testing")]
    pub(crate) fn unsigned(&mut self, key: &'static str) -> Result<Option<u64>, FileError> {
        self.take(key).map(|item| item.unsigned()).transpose()
    }

    /// Takes the value of `key` as a number, whole or not.
    #[cfg(feature = "testing")]
    pub(crate) fn number(&mut self, key: &'static str) -> Result<Option<f64>, FileError> {
        self.take(key).map(|item| item.number()).transpose()
    }

    /// Takes the value of `key` as a list of strings; an absent key is an empty list.
    #[cfg(feature = "cli")]
    pub(crate) fn strings(&mut self, key: &'static str) -> Result<Vec<String>, FileError> {
        self.list(key)?.into_iter().map(Item::into_string).collect()
    }

    /// Takes the value of `key` as a list; an absent key is an empty list.
    #[cfg(feature = "testing")]
    pub(crate) fn list(&mut self, key: &'static str) -> Result<Vec<Item<'t>>, FileError> {
        self.take(key).map_or(Ok(Vec::new()), Item::into_list)
    }

    /// Every key and value that is left, for tables whose keys are the user's own.
    pub(crate) fn into_entries(self) -> Vec<(String, Item<'t>)> {
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
    pub(crate) fn finish(&self) -> Result<(), FileError> {
        let asked = self.asked.borrow();
        let unknown = self.entries.keys().filter(|key| !asked.contains(&key.get_ref().as_ref()));
        let Some(key) = unknown.min_by_key(|key| key.span().start) else { return Ok(()) };
        let name: &str = key.get_ref();
        let message = format!("unknown key `{name}`{}", did_you_mean(name, &asked));
        Err(self.document.error(key.span(), &join(&self.path, name), message))
    }

    /// A complaint about the table as a whole.
    pub(crate) fn complain(&self, message: impl Display) -> FileError {
        self.document.error(self.span.clone(), &self.path, message)
    }

    /// The line on which the table begins.
    #[cfg(feature = "testing")]
    pub(crate) fn line(&self) -> usize {
        self.document.line(&self.span)
    }

    fn item(&self, key: &str, value: Spanned<DeValue<'t>>) -> Item<'t> {
        let (span, value) = (value.span(), value.into_inner());
        Item { document: self.document, path: join(&self.path, key), span, value }
    }
}

impl<'t> Item<'t> {
    /// A complaint about this value.
    pub(crate) fn complain(&self, message: impl Display) -> FileError {
        self.document.error(self.span.clone(), &self.path, message)
    }

    /// The place of this value, for a complaint after it was consumed.
    #[cfg(feature = "testing")]
    pub(crate) fn place(&self) -> Place<'t> {
        Place { document: self.document, path: self.path.clone(), span: self.span.clone() }
    }

    fn mismatch(&self, expected: &str) -> FileError {
        self.complain(format!("expected {expected}, found {}", describe(&self.value)))
    }

    /// The line on which the value begins.
    pub(crate) fn line(&self) -> usize {
        self.document.line(&self.span)
    }

    /// Whether the value is a table.
    pub(crate) fn is_table(&self) -> bool {
        self.value.is_table()
    }

    /// Whether the value is a list.
    pub(crate) fn is_list(&self) -> bool {
        self.value.is_array()
    }

    /// Whether the value is a string.
    pub(crate) fn is_string(&self) -> bool {
        self.value.is_str()
    }

    /// Whether the value is a boolean.
    #[cfg(feature = "testing")]
    pub(crate) fn is_bool(&self) -> bool {
        self.value.is_bool()
    }

    /// The value as a string.
    pub(crate) fn str(&self) -> Result<&str, FileError> {
        self.value.as_str().ok_or_else(|| self.mismatch("a string"))
    }

    /// The value as a string of its own.
    pub(crate) fn into_string(self) -> Result<String, FileError> {
        self.str().map(str::to_owned)
    }

    /// The value as a string with something in it, without blanks around it.
    pub(crate) fn text(&self) -> Result<String, FileError> {
        match self.str()?.trim() {
            "" => Err(self.complain("must not be empty")),
            text => Ok(text.to_owned()),
        }
    }

    /// The value as a string, or as a list of strings.
    pub(crate) fn strings(&self) -> Result<Vec<String>, FileError> {
        if self.is_string() {
            return Ok(vec![self.str()?.to_owned()]);
        }
        self.list()?.into_iter().map(Item::into_string).collect()
    }

    /// The value as a day such as `2026-12-31`, with or without quotes.
    #[cfg(feature = "testing")]
    pub(crate) fn day(&self) -> Result<String, FileError> {
        let day = match &self.value {
            DeValue::Datetime(day) => day.to_string(),
            DeValue::String(text) => text.clone().into_owned(),
            _ => String::new(),
        };
        if is_day(&day) { Ok(day) } else { Err(self.mismatch("a day such as 2026-12-31")) }
    }

    /// The value as a boolean.
    pub(crate) fn bool(&self) -> Result<bool, FileError> {
        self.value.as_bool().ok_or_else(|| self.mismatch("true or false"))
    }

    /// The value as a whole number.
    pub(crate) fn integer(&self) -> Result<i64, FileError> {
        let number = self.value.as_integer();
        number
            .and_then(|number| i64::from_str_radix(number.as_str(), number.radix()).ok())
            .ok_or_else(|| self.mismatch("a whole number"))
    }

    /// The value as a whole number that is not negative.
    pub(crate) fn unsigned(&self) -> Result<u64, FileError> {
        let number = self.value.as_integer();
        number
            .and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok())
            .ok_or_else(|| self.mismatch("a whole number, zero or more"))
    }

    /// The value as a number, whole or not.
    pub(crate) fn number(&self) -> Result<f64, FileError> {
        let number = match &self.value {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
            DeValue::Float(number) => number.as_str().parse().ok(),
            _ => None,
        };
        number.filter(|number: &f64| number.is_finite()).ok_or_else(|| self.mismatch("a number"))
    }

    /// The value as a list.
    pub(crate) fn list(&self) -> Result<Vec<Item<'t>>, FileError> {
        self.clone().into_list()
    }

    /// Where in the text the value begins.
    #[cfg(feature = "cli")]
    pub(crate) fn start(&self) -> usize {
        self.span.start
    }

    /// The value as a table.
    pub(crate) fn table(&self) -> Result<Table<'t>, FileError> {
        self.clone().into_table()
    }

    /// The value as a list.
    pub(crate) fn into_list(self) -> Result<Vec<Item<'t>>, FileError> {
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
    pub(crate) fn into_table(self) -> Result<Table<'t>, FileError> {
        let Item { document, path, span, value } = self;
        match value {
            DeValue::Table(entries) => Ok(Table::new(document, path, span, entries)),
            value => Err(Item { document, path, span, value }.mismatch("a table")),
        }
    }

    /// The value as JSON. Dates have no JSON form and are refused.
    pub(crate) fn json(&self) -> Result<Value, FileError> {
        to_json(&self.value).ok_or_else(|| self.mismatch("a value that JSON can hold"))
    }
}

/// Where a value stood.
#[cfg(feature = "testing")]
#[derive(Debug, Clone)]
pub(crate) struct Place<'t> {
    document: Document<'t>,
    path: String,
    span: Range<usize>,
}

#[cfg(feature = "testing")]
impl Place<'_> {
    /// The line on which the value began.
    #[cfg(feature = "testing")]
    pub(crate) fn line(&self) -> usize {
        self.document.line(&self.span)
    }

    /// A complaint about the value that stood here.
    #[cfg(feature = "testing")]
    pub(crate) fn complain(&self, message: impl Display) -> FileError {
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
        insta::assert_snapshot!(error.to_string(), @r#"
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
        let error = items.pop().unwrap().unsigned().unwrap_err();
        let says = "my.toml:3:2: expected a whole number, zero or more, found the string \"x\" (at list[1])";
        assert_eq!(error.headline(), says);
    }

    #[test]
    fn broken_toml_has_a_place_too() {
        let error = Document::parse("my.toml", "a = 1\nb = [1,\n").unwrap_err();
        assert_eq!((error.file.as_str(), error.line()), ("my.toml", Some(2)));
    }

    #[test]
    fn columns_count_characters() {
        let mut root = Document::parse("my.toml", "x = { \"é\" = 1, b = 2 }").unwrap();
        let mut table = root.take("x").unwrap().into_table().unwrap();
        table.string("é").unwrap_err();
        assert!(table.finish().unwrap_err().headline().starts_with("my.toml:1:16: "));
    }

    #[test]
    fn a_line_that_is_too_long_is_shown_around_the_place() {
        let text = format!("a = {}x", "[".repeat(70_000));
        let error = Document::parse("my.toml", &text).unwrap_err().to_string();
        assert!(error.len() < 600, "{}", error.len());
        let text = format!("x = [{}wrong]", "\"é\", ".repeat(500));
        let shown = Document::parse("my.toml", &text).unwrap_err().to_string();
        let (line, marker) = (shown.lines().nth(2).unwrap(), shown.lines().nth(3).unwrap());
        let at = marker.find('^').unwrap();
        assert!(line.chars().skip(at).collect::<String>().starts_with("wrong"), "{shown}");
    }

    #[test]
    fn json_keeps_the_order_of_the_file() {
        let mut root = Document::parse("my.toml", "x = { b = 1, a = [true, 1.5] }").unwrap();
        let json = root.take("x").unwrap().json().unwrap();
        assert_eq!(json.to_string(), r#"{"b":1,"a":[true,1.5]}"#);
    }
}
