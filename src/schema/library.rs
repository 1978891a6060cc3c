//! Where contracts are found: inside the binary, by name, or in a directory of the user.

use std::path::Path;

use serde_json::Value;

use super::contract::{Contract, Detect, Protocol};
use super::facts::Run;
use super::judge::Judge;
use super::load::{Bundle, CONTRACT_FILE, detect_of};
use super::tree::{FileError, suggestion};

/// Every file below `schemas/`, by its path there.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/contracts.rs"));

/// The names of the contracts in this binary.
pub fn built_in() -> impl Iterator<Item = &'static str> {
    FILES.iter().filter_map(|(path, _)| path.strip_suffix(CONTRACT_FILE)?.strip_suffix('/'))
}

/// The files of a contract: a built-in one by its name, or a user's by the path of its directory.
pub fn bundle(name: &str) -> Result<Bundle, FileError> {
    if built_in().any(|known| known == name) {
        let inside = |(path, bytes): &(&str, &[u8])| {
            let path = path.strip_prefix(name)?.strip_prefix('/')?;
            Some((path.to_string(), bytes.to_vec()))
        };
        return Ok(Bundle::new(format!("schemas/{name}"), FILES.iter().filter_map(inside)));
    }
    let path = Path::new(name);
    if path.exists() {
        return Bundle::read(path);
    }
    let known: Vec<_> = built_in().collect();
    Err(FileError::whole(
        name,
        format_args!("neither a built-in contract nor a directory{}", suggestion(name, &known)),
    ))
}

/// A contract together with those that it extends, ready to judge with.
#[derive(Debug)]
pub struct ContractSet {
    contracts: Vec<Contract>,
}

impl ContractSet {
    /// Opens a contract by name or path, with all that it extends.
    pub fn open(name: &str) -> Result<Self, FileError> {
        let mut contracts = vec![Contract::load(&bundle(name)?)?];
        let mut next = 0;
        while let Some(contract) = contracts.get(next) {
            for parent in contract.extends.clone() {
                if contracts.iter().all(|known| known.name != parent) {
                    let beside = Path::new(name).parent().map(|directory| directory.join(&parent));
                    let beside =
                        beside.filter(|path| name.contains('/') && path.join(CONTRACT_FILE).is_file());
                    let found = match beside {
                        Some(path) => Bundle::read(&path)?,
                        None => bundle(&parent)?,
                    };
                    contracts.push(Contract::load(&found)?);
                }
            }
            next += 1;
        }
        Ok(Self { contracts })
    }

    /// A set of these contracts, the one that gives it its name first.
    pub fn new(contracts: Vec<Contract>) -> Self {
        Self { contracts }
    }

    /// The name of the contract that was asked for.
    pub fn name(&self) -> &str {
        self.contracts.first().map_or("", |contract| &contract.name)
    }

    /// What stdout holds.
    pub fn protocol(&self) -> Protocol {
        self.contracts.first().map_or(Protocol::Document, |contract| contract.protocol)
    }

    /// The contracts, the one that was asked for first.
    pub fn contracts(&self) -> &[Contract] {
        &self.contracts
    }

    /// Starts to judge a run.
    pub fn begin(&self, run: &Run) -> Judge<'_> {
        Judge::begin(&self.contracts, run)
    }
}

/// Recognises built-in contracts by the shape of messages.
pub(crate) struct Detector {
    known: Vec<(&'static str, Detect)>,
}

impl Detector {
    pub(crate) fn new() -> Result<Self, FileError> {
        let mut known = Vec::new();
        for name in built_in() {
            known.extend(detect_of(&bundle(name)?)?.map(|detect| (name, detect)));
        }
        Ok(Self { known })
    }

    /// The contract with the highest priority, of several the first.
    pub(crate) fn detect(&self, messages: &[&Value]) -> Option<&'static str> {
        let fits = |(_, detect): &&(&'static str, Detect)| {
            messages.iter().any(|message| detect.when.holds((*message).into()))
        };
        let best = self.known.iter().filter(fits).rev().max_by_key(|(_, detect)| detect.priority);
        best.map(|(name, _)| *name)
    }
}

/// The contract whose shape the first messages of a run have; the caller always says that it was guessed.
///
/// `messages` are the first objects on stdout; a few are enough.
pub fn detect(messages: &[Value]) -> Result<Option<&'static str>, FileError> {
    Ok(Detector::new()?.detect(&messages.iter().collect::<Vec<_>>()))
}
