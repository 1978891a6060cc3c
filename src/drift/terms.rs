//! What a comparison goes by: what differs from run to run, and what a change does to a reader.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use serde_json::Value;

use crate::golden::{Entry, Normal, Volatile};
use crate::schema::policy::{Kind, Policy};
use crate::schema::{Bundle, Contract, Detector, FileError, built_in, bundle, family_of};

/// So many messages are enough to recognise a contract by its shape.
const ENOUGH: usize = 8;

/// What differs from run to run, by a target's name and the contract that a recording names.
type Rules<'t> = dyn Fn(&str, Option<&str>) -> Volatile + 't;

/// The rules of targets, and the policies of contracts. A contract is read when the first run speaks it.
pub struct Terms<'t> {
    volatile: Box<Rules<'t>>,
    standard: Spoken,
    forced: Option<Spoken>,
    own: BTreeMap<String, PathBuf>,
    known: RefCell<BTreeMap<String, Spoken>>,
    detector: Detector,
}

/// The contract that a run speaks; without one the default policy counts.
#[derive(Debug, Clone)]
pub(crate) struct Spoken {
    name: String,
    contract: Option<Rc<Contract>>,
    policy: Rc<Policy>,
}

impl Spoken {
    /// A run that speaks no contract.
    pub(crate) fn nothing() -> Result<Self, FileError> {
        Ok(Self { name: "default".into(), contract: None, policy: Rc::new(Policy::standard()?) })
    }

    /// A run that speaks this contract.
    pub(crate) fn contract(contract: Contract) -> Self {
        Self {
            name: contract.name().to_owned(),
            policy: Rc::new(contract.policy().clone()),
            contract: Some(Rc::new(contract)),
        }
    }

    /// The contract's name, or `default`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The policy that counts.
    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(super) fn promises(&self, message: &Value, pointer: &str, kind: Kind) -> bool {
        self.contract.as_ref().is_none_or(|contract| contract.promises(message, pointer, kind))
    }
}

impl<'t> Terms<'t> {
    /// The default policy and the built-in contracts. `volatile` knows what differs from run to run, by a target's name and
    /// the contract that a recording names.
    pub fn new(volatile: impl Fn(&str, Option<&str>) -> Volatile + 't) -> Result<Self, FileError> {
        Ok(Self {
            volatile: Box::new(volatile),
            standard: Spoken::nothing()?,
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
        let rules = move |target: &str, contract: Option<&str>| {
            let by_contract = || volatile.get(family_of(contract?).ok()??.name());
            volatile.get(target).or_else(by_contract).cloned().unwrap_or_default()
        };
        let forced =
            contract.map(|name| Ok::<_, FileError>(Spoken::contract(Contract::load(&bundle(name)?)?)));
        Ok(Self { own, forced: forced.transpose()?, ..Self::new(rules)? })
    }

    pub(super) fn volatile(&self, target: &str, contract: Option<&str>) -> Volatile {
        (self.volatile)(target, contract)
    }

    pub(super) fn standard(&self) -> &Policy {
        self.standard.policy()
    }

    /// The contract that the runs of a case speak: the one that they name, else the one that their messages look like.
    pub(super) fn spoken(&self, runs: &[(String, Normal)]) -> Result<Spoken, FileError> {
        if let Some(forced) = &self.forced {
            return Ok(forced.clone());
        }
        let named = runs.iter().find_map(|(_, normal)| normal.contract.as_deref());
        let Some(name) = named.or_else(|| self.detected(runs)) else { return Ok(self.standard.clone()) };
        if let Some(spoken) = self.known.borrow().get(name) {
            return Ok(spoken.clone());
        }
        let spoken = match self.own.get(name) {
            Some(place) => Spoken::contract(Contract::load(&Bundle::read(place)?)?),
            None if built_in().any(|known| known == name) => {
                Spoken::contract(Contract::load(&bundle(name)?)?)
            }
            // A contract of somebody else's, which is not here.
            None => self.standard.clone(),
        };
        self.known.borrow_mut().insert(name.to_owned(), spoken.clone());
        Ok(spoken)
    }

    fn detected(&self, runs: &[(String, Normal)]) -> Option<&'static str> {
        let entries = runs.iter().flat_map(|(_, normal)| normal.stdout.iter().chain(&normal.stderr));
        let messages = entries.filter_map(|entry| match entry {
            Entry::Message { value, .. } => Some(value),
            Entry::Text { .. } => None,
        });
        let messages: Vec<&Value> = messages.take(ENOUGH).collect();
        self.detector.detect(&messages)
    }
}
