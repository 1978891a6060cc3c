//! A table of a document: its values by key, and the keys that nobody asked for.

use std::cell::RefCell;
use std::fmt::Display;
use std::ops::Range;
use std::rc::Rc;

use super::node::{Entry, Path};
use super::{Document, FileError, Item};
use crate::text::did_you_mean;

/// One table of a document, with the keys it has been asked for.
#[derive(Debug)]
pub(crate) struct Table<'t> {
    document: Document<'t>,
    path: Path<'t>,
    span: Range<usize>,
    entries: Rc<[Entry<'t>]>,
    asked: RefCell<Vec<&'static str>>,
    /// The keys that were taken out of it.
    taken: Vec<&'static str>,
}

impl<'t> Table<'t> {
    pub(super) fn new(
        document: Document<'t>,
        path: Path<'t>,
        span: Range<usize>,
        entries: Rc<[Entry<'t>]>,
    ) -> Self {
        Table { document, path, span, entries, asked: RefCell::default(), taken: Vec::new() }
    }

    fn entry(&self, key: &str) -> Option<&Entry<'t>> {
        let place = self.entries.binary_search_by(|entry| (*entry.key).cmp(key)).ok()?;
        self.entries.get(place).filter(|_| !self.taken.contains(&key))
    }

    /// Takes the value of `key` out of the table.
    #[cfg(feature = "testing")]
    pub(crate) fn take(&mut self, key: &'static str) -> Option<Item<'t>> {
        let found = self.get(key);
        self.taken.push(key);
        found
    }

    /// The value of `key`, which stays in the table.
    pub(crate) fn get(&self, key: &'static str) -> Option<Item<'t>> {
        self.asked.borrow_mut().push(key);
        let entry = self.entry(key)?;
        let (path, span) = (self.path.join(key), entry.span.clone());
        Some(Item { document: self.document, path, span, value: entry.value.clone() })
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
    #[cfg(feature = "testing")]
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
        let left = self.entries.iter().filter(|entry| !self.taken.contains(&&*entry.key));
        left.map(|entry| {
            let (path, span) = (self.path.join(entry.key.clone()), entry.span.clone());
            let item = Item { document: self.document, path, span, value: entry.value.clone() };
            (entry.key.clone().into_owned(), item)
        })
        .collect()
    }

    /// Refuses keys that nobody asked for.
    pub(crate) fn finish(&self) -> Result<(), FileError> {
        let asked = self.asked.borrow();
        let unknown = self.entries.iter().filter(|entry| !asked.contains(&&*entry.key));
        let Some(entry) = unknown.min_by_key(|entry| entry.key_span.start) else { return Ok(()) };
        let name = &*entry.key;
        let message = format!("unknown key `{name}`{}", did_you_mean(name, &asked));
        Err(self.document.error(entry.key_span.clone(), &self.path.join(name).to_string(), message))
    }

    /// A complaint about the table as a whole.
    pub(crate) fn complain(&self, message: impl Display) -> FileError {
        self.document.error(self.span.clone(), &self.path.to_string(), message)
    }

    /// The line on which the table begins.
    #[cfg(feature = "testing")]
    pub(crate) fn line(&self) -> usize {
        self.document.line(&self.span)
    }
}
