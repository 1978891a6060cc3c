//! The contracts that inputs are held against, each opened once.

use std::cell::OnceCell;

use serde_json::Value;

use crate::schema::{self, ContractSet, FileError};

use super::{EVENTS_CONTRACT, Protocol, is_of_events};

/// The contract of a Claude CLI that prints a message a line.
const STREAM_CONTRACT: &str = "claude-stream-json";

/// The contract of claw that is left when none is recognised.
pub(super) const WEAKEST_CONTRACT: &str = "claw-stdout";

/// Contracts by name, opened when they are first needed.
#[derive(Debug)]
pub struct Shelf {
    chosen: Option<ContractSet>,
    built_in: Vec<(&'static str, OnceCell<ContractSet>)>,
}

/// A contract and how it came to be applied.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'s> {
    /// The contract with those that it extends.
    pub set: &'s ContractSet,
    /// Whether it was guessed from the shape of the output or the command, not named by the user or the target.
    pub detected: bool,
}

impl Shelf {
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

    /// The contract that event logs are held against: the one that the user named, if it is about them, else the
    /// built-in one.
    pub fn events(&self) -> Result<Option<&ContractSet>, FileError> {
        match self.chosen() {
            Some(chosen) if is_of_events(chosen) => Ok(Some(chosen)),
            _ => self.get(EVENTS_CONTRACT),
        }
    }

    /// The built-in contract of streams, whatever was chosen.
    pub(super) fn of_stream(&self) -> Result<Option<&ContractSet>, FileError> {
        self.get(STREAM_CONTRACT)
    }

    fn get(&self, name: &str) -> Result<Option<&ContractSet>, FileError> {
        let Some((name, cell)) = self.built_in.iter().find(|(known, _)| *known == name) else {
            return Ok(None);
        };
        if let Some(set) = cell.get() {
            return Ok(Some(set));
        }
        let set = ContractSet::open(name)?;
        Ok(Some(cell.get_or_init(|| set)))
    }

    /// Whether there is such a clause, `<contract>/<clause>`.
    pub fn has_clause(&self, id: &str) -> bool {
        let Some((contract, clause)) = id.split_once('/') else { return false };
        let has = |set: &ContractSet| {
            set.contracts()
                .iter()
                .any(|known| known.name() == contract && known.clauses().iter().any(|c| c.id == clause))
        };
        self.chosen.as_ref().is_some_and(has) || self.get(contract).ok().flatten().is_some_and(has)
    }

    /// The contract for an output that speaks this protocol: the one that the user chose, or that is promised.
    /// Without either, `document` is the envelope of a claw run, whose shape tells which of its contracts is meant, or
    /// else the command does.
    pub fn choose(
        &self,
        protocol: Protocol,
        run: &schema::Run,
        document: Option<&Value>,
    ) -> Result<Option<Choice<'_>>, FileError> {
        if let Some(set) = &self.chosen {
            return Ok(Some(Choice { set, detected: false }));
        }
        if let Some(name) = run.contract.as_deref() {
            // Held against another contract it would say nothing about this one.
            let missing = || {
                FileError::whole(name, "no such contract is built in: name its directory with --contract DIR")
            };
            let set = self.get(name)?.ok_or_else(missing)?;
            if protocol != Protocol::ClaudeText {
                return Ok(Some(Choice { set, detected: false }));
            }
        }
        let (name, detected) = match protocol {
            Protocol::ClaudeStream => (STREAM_CONTRACT, false),
            Protocol::ClaudeJson => ("claude-json", false),
            Protocol::ClaudeText => return Ok(None),
            Protocol::ClawText => (WEAKEST_CONTRACT, false),
            Protocol::ClawJson => {
                let guess = schema::detect(document.map_or(&[], std::slice::from_ref), run)?;
                (guess.filter(|name| name.starts_with("claw")).unwrap_or(WEAKEST_CONTRACT), true)
            }
        };
        Ok(self.get(name)?.map(|set| Choice { set, detected }))
    }
}
