//! The contracts that inputs are held against, each opened once.

use std::cell::OnceCell;

use serde_json::Value;

#[cfg(feature = "testing")]
use crate::document::VolatileEntry;
use crate::recording::Facts;
use crate::schema::{self, ContractSet, Family, FileError};

use super::Protocol;

/// The built-in contract of event logs.
pub(crate) const EVENTS_CONTRACT: &str = "claws-events";

/// The contract of a Claude CLI that prints a message a line.
const STREAM_CONTRACT: &str = "claude-stream-json";

/// The contract of a Claude CLI that prints its answer for people.
const TEXT_CONTRACT: &str = "claude-text";

/// The contract of claw that is left when none is recognised.
pub(super) const WEAKEST_CONTRACT: &str = "claw-stdout";

/// Contracts by name, opened when they are first needed.
#[derive(Debug)]
pub struct Contracts {
    chosen: Option<ContractSet>,
    built_in: Vec<(&'static str, OnceCell<ContractSet>)>,
}

/// A contract and whether it was guessed from the shape of the output or the command, not named by the user or the
/// target.
pub(super) type Choice<'c> = (&'c ContractSet, bool);

impl Contracts {
    /// The built-in contracts, of which the one that applies is chosen for each input.
    pub fn built_in() -> Self {
        Self { chosen: None, built_in: schema::built_in().map(|name| (name, OnceCell::new())).collect() }
    }

    /// One contract for every input: a built-in one by its name, or a user's by the path of its directory.
    pub fn only(name: &str) -> Result<Self, FileError> {
        Ok(Self { chosen: Some(ContractSet::open(name)?), ..Self::built_in() })
    }

    /// The contract that the user named.
    pub fn chosen(&self) -> Option<&ContractSet> {
        self.chosen.as_ref()
    }

    /// The contract that a run is known to be about before it prints anything: the one that the user named, else the
    /// one that its target promises.
    pub(super) fn named(&self, facts: &Facts) -> Result<Option<&ContractSet>, FileError> {
        match (&self.chosen, facts.contract()) {
            (None, Some(promised)) => self.promised(promised).map(Some),
            (chosen, _) => Ok(chosen.as_ref()),
        }
    }

    /// Whether such a run is held against a contract of event logs.
    #[cfg(feature = "testing")]
    pub(crate) fn is_event_log(&self, facts: &Facts) -> Result<bool, FileError> {
        Ok(self.named(facts)?.is_some_and(|set| set.family() == Family::EventLog))
    }

    /// What differs from run to run by the contract that a target promises, and those that it extends.
    #[cfg(feature = "testing")]
    pub(crate) fn volatile(&self, promised: &str) -> Result<impl Iterator<Item = &VolatileEntry>, FileError> {
        let set = self.chosen().map_or_else(|| self.promised(promised), Ok)?;
        Ok(set.volatile())
    }

    /// The contract that event logs are held against: the one that the user named, if it is about them, else the
    /// built-in one.
    pub(super) fn of_events(&self) -> Result<&ContractSet, FileError> {
        match self.chosen() {
            Some(chosen) if chosen.family() == Family::EventLog => Ok(chosen),
            _ => self.get(EVENTS_CONTRACT),
        }
    }

    /// The built-in contract of streams, whatever was chosen.
    pub(super) fn of_streams(&self) -> Result<&ContractSet, FileError> {
        self.get(STREAM_CONTRACT)
    }

    fn get(&self, name: &str) -> Result<&ContractSet, FileError> {
        let cell = self.built_in.iter().find(|(known, _)| *known == name).map(|(_, cell)| cell);
        let cell = cell.ok_or_else(|| FileError::whole(name, "no such contract in this build"))?;
        if let Some(set) = cell.get() {
            return Ok(set);
        }
        let set = ContractSet::open(name)?;
        Ok(cell.get_or_init(|| set))
    }

    /// Held against another contract a run would say nothing about the one that its target promises.
    fn promised(&self, name: &str) -> Result<&ContractSet, FileError> {
        if !self.built_in.iter().any(|(known, _)| *known == name) {
            let reason = "no such contract is built in: name its directory with --contract DIR";
            return Err(FileError::whole(name, reason));
        }
        self.get(name)
    }

    /// Whether there is such a clause, `<contract>/<clause>`.
    pub fn has_clause(&self, id: &str) -> bool {
        let Some((contract, clause)) = id.split_once('/') else { return false };
        let has = |set: &ContractSet| {
            set.contracts()
                .iter()
                .any(|known| known.name() == contract && known.clauses().iter().any(|c| c.id == clause))
        };
        self.chosen.as_ref().is_some_and(has) || self.get(contract).is_ok_and(has)
    }

    /// The contract for an output that speaks this protocol: the one that the user chose, or that is promised.
    /// Without either, `document` is the envelope of a claw run, whose shape tells which of its contracts is meant, or
    /// else the command does.
    pub(super) fn choose(
        &self,
        protocol: Protocol,
        run: &schema::Run,
        document: Option<&Value>,
    ) -> Result<Option<Choice<'_>>, FileError> {
        if let Some(set) = &self.chosen {
            return Ok(Some((set, false)));
        }
        if let Some(name) = run.contract.as_deref()
            && protocol != Protocol::ClaudeText
        {
            return Ok(Some((self.promised(name)?, false)));
        }
        let (name, detected) = match protocol {
            Protocol::ClaudeStream => (STREAM_CONTRACT, false),
            Protocol::ClaudeJson => ("claude-json", false),
            Protocol::ClaudeText => (TEXT_CONTRACT, false),
            Protocol::ClawText => (WEAKEST_CONTRACT, false),
            Protocol::EventLog => (EVENTS_CONTRACT, false),
            Protocol::ClawJson => {
                let guess = schema::detect(document.map_or(&[], std::slice::from_ref), run)?;
                let is_claw =
                    |name: &&str| schema::family_of(name).is_ok_and(|family| family == Some(Family::Claw));
                (guess.filter(is_claw).unwrap_or(WEAKEST_CONTRACT), true)
            }
        };
        Ok(Some((self.get(name)?, detected)))
    }
}
