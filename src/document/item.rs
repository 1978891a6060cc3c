//! A value of a document, with its place in the file.

use std::fmt::Display;
use std::ops::Range;

use serde_json::Value;
use toml::de::DeValue;

use super::node::{Node, Path};
use super::{Document, FileError, LateJson, Table};
#[cfg(feature = "testing")]
use crate::time::is_day;

/// A value with its place: what a typed reader turns into its own type, or complains about.
#[derive(Debug, Clone)]
pub(crate) struct Item<'t> {
    pub(super) document: Document<'t>,
    pub(super) path: Path<'t>,
    pub(super) span: Range<usize>,
    pub(super) value: Node<'t>,
}

impl<'t> Item<'t> {
    /// A complaint about this value.
    pub(crate) fn complain(&self, message: impl Display) -> FileError {
        self.document.error(self.span.clone(), &self.path.to_string(), message)
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

    /// The lines on which values begin that stand one after the other.
    #[cfg(feature = "contracts")]
    pub(crate) fn lines(items: &[Self]) -> Vec<usize> {
        let (mut line, mut at) = (1, 0);
        let next = |item: &Self| {
            let text = item.document.text.as_bytes().get(at..item.span.start).unwrap_or_default();
            line += memchr::memchr_iter(b'\n', text).count();
            at = item.span.start;
            line
        };
        items.iter().map(next).collect()
    }

    /// Whether the value is a table.
    pub(crate) fn is_table(&self) -> bool {
        self.value.is_table()
    }

    /// Whether the value is a list.
    pub(crate) fn is_list(&self) -> bool {
        self.value.is_list()
    }

    /// Whether the value is a string.
    pub(crate) fn is_string(&self) -> bool {
        self.value.scalar().is_some_and(DeValue::is_str)
    }

    /// Whether the value is a boolean.
    pub(crate) fn is_bool(&self) -> bool {
        self.value.scalar().is_some_and(DeValue::is_bool)
    }

    /// The value as a string.
    pub(crate) fn str(&self) -> Result<&str, FileError> {
        self.value.scalar().and_then(DeValue::as_str).ok_or_else(|| self.mismatch("a string"))
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
        let day = match self.value.scalar() {
            Some(DeValue::Datetime(day)) => day.to_string(),
            Some(DeValue::String(text)) => text.clone().into_owned(),
            _ => String::new(),
        };
        if is_day(&day) { Ok(day) } else { Err(self.mismatch("a day such as 2026-12-31")) }
    }

    /// The value as a boolean.
    pub(crate) fn bool(&self) -> Result<bool, FileError> {
        self.value.scalar().and_then(DeValue::as_bool).ok_or_else(|| self.mismatch("true or false"))
    }

    /// The value as a whole number.
    pub(crate) fn integer(&self) -> Result<i64, FileError> {
        let number = self.value.scalar().and_then(DeValue::as_integer);
        number
            .and_then(|number| i64::from_str_radix(number.as_str(), number.radix()).ok())
            .ok_or_else(|| self.mismatch("a whole number"))
    }

    /// The value as a whole number that is not negative.
    pub(crate) fn unsigned(&self) -> Result<u64, FileError> {
        let number = self.value.scalar().and_then(DeValue::as_integer);
        number
            .and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok())
            .ok_or_else(|| self.mismatch("a whole number, zero or more"))
    }

    /// The value as a number, whole or not.
    pub(crate) fn number(&self) -> Result<f64, FileError> {
        let number = match self.value.scalar() {
            Some(DeValue::Integer(number)) if number.radix() == 10 => number.as_str().parse().ok(),
            Some(DeValue::Float(number)) => number.as_str().parse().ok(),
            _ => None,
        };
        number.filter(|number: &f64| number.is_finite()).ok_or_else(|| self.mismatch("a number"))
    }

    /// The value as a list.
    pub(crate) fn list(&self) -> Result<Vec<Item<'t>>, FileError> {
        self.clone().into_list()
    }

    /// Where in the text the value begins.
    #[cfg(feature = "testing")]
    pub(crate) fn start(&self) -> usize {
        self.span.start
    }

    /// The value as a table.
    pub(crate) fn table(&self) -> Result<Table<'t>, FileError> {
        self.clone().into_table()
    }

    /// The value as a list.
    pub(crate) fn into_list(self) -> Result<Vec<Item<'t>>, FileError> {
        let items = self.value.list().ok_or_else(|| self.mismatch("a list"))?;
        let item = |(index, (span, value)): (usize, &(Range<usize>, Node<'t>))| Item {
            document: self.document,
            path: self.path.at(index),
            span: span.clone(),
            value: value.clone(),
        };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// The value as a table.
    pub(crate) fn into_table(self) -> Result<Table<'t>, FileError> {
        let entries = self.value.table().ok_or_else(|| self.mismatch("a table"))?;
        Ok(Table::new(self.document, self.path, self.span, entries))
    }

    /// Whether it stands in a file of this binary, which our tests have read whole.
    #[cfg(feature = "contracts")]
    pub(crate) fn is_built_in(&self) -> bool {
        self.document.packed.is_some()
    }

    /// The value as JSON. Dates have no JSON form and are refused.
    pub(crate) fn json(&self) -> Result<Value, FileError> {
        to_json(&self.value).ok_or_else(|| self.mismatch("a value that JSON can hold"))
    }

    /// The same for somebody who hardly ever looks at it.
    pub(crate) fn late_json(&self) -> Result<LateJson, FileError> {
        LateJson::of(self)
    }
}

/// Where a value stood.
#[cfg(feature = "testing")]
#[derive(Debug, Clone)]
pub(crate) struct Place<'t> {
    document: Document<'t>,
    path: Path<'t>,
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
        self.document.error(self.span.clone(), &self.path.to_string(), message)
    }
}

fn describe(value: &Node<'_>) -> String {
    match value.scalar() {
        Some(DeValue::String(text)) => format!("the string {text:?}"),
        Some(DeValue::Integer(number)) => format!("the number {}", number.as_str()),
        Some(DeValue::Float(number)) => format!("the number {}", number.as_str()),
        Some(DeValue::Boolean(value)) => value.to_string(),
        Some(DeValue::Datetime(_)) => "a date".to_owned(),
        _ if value.is_list() => "a list".to_owned(),
        _ => "a table".to_owned(),
    }
}

pub(super) fn to_json(value: &Node<'_>) -> Option<Value> {
    if let Some(items) = value.list() {
        return items.iter().map(|(_, item)| to_json(item)).collect::<Option<_>>().map(Value::Array);
    }
    if let Some(entries) = value.table() {
        // The file's own order.
        let mut entries: Vec<_> = entries.iter().collect();
        entries.sort_by_key(|entry| entry.key_span.start);
        let entries = entries.into_iter();
        let object = entries.map(|entry| Some((entry.key.clone().into_owned(), to_json(&entry.value)?)));
        return object.collect::<Option<_>>().map(Value::Object);
    }
    Some(match value.scalar()? {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Integer(number) => Value::from(i64::from_str_radix(number.as_str(), number.radix()).ok()?),
        DeValue::Float(number) => Value::from(number.as_str().parse::<f64>().ok()?),
        DeValue::Boolean(value) => Value::from(*value),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => return None,
    })
}
