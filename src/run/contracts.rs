//! The contracts that cases are held against: the built-in ones, and those that target files name by their path.

use std::path::{Path, PathBuf};

use crate::judge::Contracts;
use crate::schema::FileError;

/// Contracts by the path that a target file gives, opened once by each worker: they are not made to be shared.
#[derive(Debug)]
pub(crate) struct ContractCache {
    built_in: Contracts,
    own: Vec<(PathBuf, Contracts)>,
}

impl ContractCache {
    pub(crate) fn new() -> Self {
        Self { built_in: Contracts::built_in(), own: Vec::new() }
    }

    /// The contract of the user at this path, or the built-in ones.
    pub(crate) fn get(&mut self, own: Option<&Path>) -> Result<&Contracts, FileError> {
        let Some(path) = own else { return Ok(&self.built_in) };
        let known = self.own.iter().position(|(known, _)| known == path);
        let at = known.unwrap_or(self.own.len());
        if known.is_none() {
            self.own.push((path.to_owned(), Contracts::only(&path.display().to_string())?));
        }
        Ok(&self.own[at].1)
    }
}
