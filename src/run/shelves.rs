//! The contracts that cases are held against: the built-in ones, and those that target files name by their path.

use std::path::{Path, PathBuf};

use crate::judge::Shelf;
use crate::schema::FileError;

/// Opened once by each worker: contracts are not made to be shared.
#[derive(Debug)]
pub(crate) struct Shelves {
    built_in: Shelf,
    own: Vec<(PathBuf, Shelf)>,
}

impl Shelves {
    pub(crate) fn new() -> Self {
        Self { built_in: Shelf::built_in(), own: Vec::new() }
    }

    /// The shelf for a contract of the user at this path, or for the built-in ones.
    pub(crate) fn with(&mut self, own: Option<&Path>) -> Result<&Shelf, FileError> {
        let Some(path) = own else { return Ok(&self.built_in) };
        let known = self.own.iter().position(|(known, _)| known == path);
        let at = known.unwrap_or(self.own.len());
        if known.is_none() {
            self.own.push((path.to_owned(), Shelf::only(&path.display().to_string())?));
        }
        Ok(&self.own[at].1)
    }
}
