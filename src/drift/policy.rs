//! What a comparison goes by: what differs from run to run, and what a change does to a reader.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use serde_json::Value;

use super::side::Side;
use crate::document::VolatileEntry;
use crate::golden::Volatile;
use crate::schema::policy::{Kind, Policy};
use crate::schema::{Bundle, Contract, ContractSet, Detector, FileError, built_in, bundle};

/// What differs from run to run, by a target's name and the contract that a recording names.
type Rules<'t> = dyn Fn(&str, Option<&str>) -> Volatile + 't;

/// The rules of targets, and the policies of contracts. A contract is read when the first run speaks it.
pub struct ComparePolicy<'t> {
    volatile: Box<Rules<'t>>,
    standard: CasePolicy,
    forced: Option<CasePolicy>,
    own: BTreeMap<String, PathBuf>,
    known: RefCell<BTreeMap<String, CasePolicy>>,
    detector: Detector,
}

/// What counts for the runs of one case: the contract that they speak, else the default policy.
#[derive(Debug, Clone)]
pub(crate) struct CasePolicy {
    contract: Option<Rc<Contract>>,
    standard: Rc<Policy>,
}

impl CasePolicy {
    /// What counts for runs that speak no contract.
    pub(crate) fn standard() -> Result<Self, FileError> {
        Ok(Self { contract: None, standard: Rc::new(Policy::standard()?) })
    }

    fn speaking(&self, contract: Contract) -> Self {
        Self { contract: Some(Rc::new(contract)), standard: self.standard.clone() }
    }

    /// The contract's name, or `default`.
    pub(crate) fn name(&self) -> &str {
        self.contract.as_ref().map_or("default", |contract| contract.name())
    }

    /// What a change does to a reader.
    pub(crate) fn policy(&self) -> &Policy {
        self.contract.as_ref().map_or(&self.standard, |contract| contract.policy())
    }

    /// The command that a message says it answers, where a file of this name should answer that one.
    pub(super) fn command_in(&self, message: &Value, named_after: &str) -> Option<String> {
        self.contract.as_ref()?.command_in(message, named_after)
    }

    /// Whether the contract promises what a change takes away; without a contract everything is promised.
    pub(super) fn promises(&self, message: &Value, pointer: &str, kind: Kind) -> bool {
        self.contract.as_ref().is_none_or(|contract| contract.promises(message, pointer, kind))
    }
}

/// What differs from run to run by a contract. One that is not here, or cannot be read, says nothing.
fn volatile_of(name: &str, place: Option<&PathBuf>) -> Vec<VolatileEntry> {
    let is_built_in = built_in().any(|known| known == name);
    let path =
        place.map(|place| place.display().to_string()).or_else(|| is_built_in.then(|| name.to_owned()));
    let set = path.and_then(|path| ContractSet::open(&path).ok());
    set.map_or(Vec::new(), |set| set.volatile().cloned().collect())
}

impl<'t> ComparePolicy<'t> {
    /// The default policy and the built-in contracts. `volatile` knows what differs from run to run, by a target's name and
    /// the contract that a recording names.
    pub fn new(volatile: impl Fn(&str, Option<&str>) -> Volatile + 't) -> Result<Self, FileError> {
        Ok(Self {
            volatile: Box::new(volatile),
            standard: CasePolicy::standard()?,
            forced: None,
            own: BTreeMap::new(),
            known: RefCell::default(),
            detector: Detector::new()?,
        })
    }

    /// With what differs from run to run by the name of a target, the user's own contracts by their names, and the contract
    /// that all runs speak whatever they say themselves.
    pub(crate) fn of_targets(
        volatile: BTreeMap<String, Volatile>,
        own: BTreeMap<String, PathBuf>,
        contract: Option<&str>,
    ) -> Result<Self, FileError> {
        let places = own.clone();
        let promised: RefCell<BTreeMap<String, Vec<VolatileEntry>>> = RefCell::default();
        let rules = move |target: &str, contract: Option<&str>| {
            let mut promised = promised.borrow_mut();
            let of_contract = contract.map(|name| {
                promised.entry(name.to_owned()).or_insert_with(|| volatile_of(name, places.get(name)))
            });
            let of_target = volatile.get(target).cloned().unwrap_or_default();
            of_target.and(of_contract.into_iter().flat_map(|entries| &*entries))
        };
        let mut policy = Self { own, ..Self::new(rules)? };
        if let Some(name) = contract {
            policy.forced = Some(policy.standard.speaking(Contract::load(&bundle(name)?)?));
        }
        Ok(policy)
    }

    pub(super) fn volatile(&self, target: &str, contract: Option<&str>) -> Volatile {
        (self.volatile)(target, contract)
    }

    pub(super) fn standard(&self) -> &Policy {
        &self.standard.standard
    }

    /// The contract that the runs of a case speak: the one that they name, else the one that their messages look like.
    pub(super) fn of_case(&self, runs: &Side) -> Result<CasePolicy, FileError> {
        if let Some(forced) = &self.forced {
            return Ok(forced.clone());
        }
        let named = runs.contract.as_deref();
        let Some(name) = named.or_else(|| self.detected(runs)) else { return Ok(self.standard.clone()) };
        if let Some(known) = self.known.borrow().get(name) {
            return Ok(known.clone());
        }
        let files = match self.own.get(name) {
            Some(place) => Some(Bundle::read(place)?),
            None if built_in().any(|known| known == name) => Some(bundle(name)?),
            // A contract of somebody else's, which is not here.
            None => None,
        };
        let policy = match files {
            Some(files) => self.standard.speaking(Contract::load(&files)?),
            None => self.standard.clone(),
        };
        self.known.borrow_mut().insert(name.to_owned(), policy.clone());
        Ok(policy)
    }

    fn detected(&self, runs: &Side) -> Option<&'static str> {
        self.detector.detect(&runs.first.iter().map(|(value, _)| value).collect::<Vec<_>>())
    }
}
