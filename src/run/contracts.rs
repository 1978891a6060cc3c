//! The contracts that cases are held against: the built-in ones, and those that target files name by their path.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::target::Located;
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

/// All contracts that cases on these targets may be held against: the built-in ones, and those that the targets bring.
pub(crate) fn contracts_of(targets: &[Arc<Located>]) -> Result<Vec<Contracts>, FileError> {
    let own = targets.iter().flat_map(|target| &target.choice.target.speaks);
    let own = own.filter_map(|speaks| speaks.contract_at.as_deref());
    let own = own.map(|place: &Path| Contracts::only(&place.display().to_string()));
    std::iter::once(Ok(Contracts::built_in())).chain(own).collect()
}
