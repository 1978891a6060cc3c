//! The contracts that inputs are held against, each opened once.

#[cfg(feature = "testing")]
use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;

#[cfg(feature = "testing")]
use crate::document::VolatileEntry;
use crate::outcome::Table;
use crate::recording::Facts;
use crate::schema::{self, Clause, Contract, ContractSet, Family, FileError};

use super::Protocol;

/// The built-in contract of event logs.
pub(crate) const EVENTS_CONTRACT: &str = "claws-events";

/// The contract of a Claude CLI that prints a message a line.
const STREAM_CONTRACT: &str = "claude-stream-json";

/// The contract of a Claude CLI that prints one document.
const JSON_CONTRACT: &str = "claude-json";

/// The contract of a Claude CLI that prints its answer for people.
const TEXT_CONTRACT: &str = "claude-text";

/// The contracts of the Claude CLI itself.
pub(super) const OF_CLAUDE: [&str; 3] = [STREAM_CONTRACT, JSON_CONTRACT, TEXT_CONTRACT];

/// The contract of claw that is left when none is recognised.
pub(super) const WEAKEST_CONTRACT: &str = "claw-stdout";

/// Contracts by name, opened when they are first needed.
#[derive(Debug)]
pub struct Contracts {
    chosen: Option<ContractSet>,
    /// What the chosen one was named by.
    #[cfg_attr(
        not(feature = "testing"),
        expect(dead_code, reason = "only runs name where a clause is found")
    )]
    chosen_at: String,
    built_in: Vec<(&'static str, OnceLock<ContractSet>)>,
}

/// A contract and whether it was guessed from the shape of the output or the command, not named by the user or the
/// target.
pub(super) type Choice<'c> = (&'c ContractSet, bool);

impl Contracts {
    /// The built-in contracts, of which the one that applies is chosen for each input.
    pub fn built_in() -> Self {
        Self {
            chosen: None,
            chosen_at: String::new(),
            built_in: schema::built_in().map(|name| (name, OnceLock::new())).collect(),
        }
    }

    /// One contract for every input: a built-in one by its name, or a user's by the path of its directory.
    pub fn only(name: &str) -> Result<Self, FileError> {
        Ok(Self { chosen: Some(ContractSet::open(name)?), chosen_at: name.to_owned(), ..Self::built_in() })
    }

    /// The contract that the user named.
    pub fn chosen(&self) -> Option<&ContractSet> {
        self.chosen.as_ref()
    }

    /// The contract that a run is known to be about before it prints anything: the one that the user named, else the
    /// one that a flag asks for or that its target promises.
    pub(super) fn named(&self, facts: &Facts) -> Result<Option<&ContractSet>, FileError> {
        match &self.chosen {
            None => self.asked_or_promised(&schema::Run::of(facts)),
            chosen => Ok(chosen.as_ref()),
        }
    }

    /// The built-in contract that a run promises.
    pub(super) fn promised_by(&self, run: &schema::Run) -> Result<Option<&ContractSet>, FileError> {
        run.contract.as_deref().map(|name| self.promised(name)).transpose()
    }

    /// The contract that a flag of the command line asks for, else the one that the target promises. A flag only
    /// chooses within a family: another program may mean something else by it.
    fn asked_or_promised(&self, run: &schema::Run) -> Result<Option<&ContractSet>, FileError> {
        let promised = run.contract.as_deref();
        if let Some(asked) = schema::asked_for(run)?
            && (promised.is_none() || family_of(promised)? == family_of(Some(asked))?)
        {
            return self.get(asked).map(Some);
        }
        promised.map(|name| self.promised(name)).transpose()
    }

    /// Whether such a run is held against a contract of event logs.
    #[cfg(feature = "testing")]
    pub(crate) fn is_event_log(&self, facts: &Facts) -> Result<bool, FileError> {
        Ok(self.named(facts)?.is_some_and(|set| set.family() == Family::EventLog))
    }

    /// What the messages of a run mean that is none of the Claude dialect.
    #[cfg(feature = "testing")]
    pub(crate) fn outcome_of(&self, facts: &Facts) -> Result<Option<&Table>, FileError> {
        let set = self.named(facts)?.filter(|set| set.family() != Family::Claude);
        Ok(set.and_then(ContractSet::outcome).map(|(_, table)| table))
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

    /// What single messages of the Claude dialect mean, for a run that is held against this contract, and what else the contract
    /// says of outcomes.
    pub(super) fn dialect<'c>(
        &'c self,
        contract: Option<&'c ContractSet>,
    ) -> Result<(&'c Table, Option<&'c Table>), FileError> {
        let own = contract.and_then(ContractSet::outcome);
        if let Some((contract, table)) = own
            && OF_CLAUDE.contains(&contract.name())
        {
            return Ok((table, None));
        }
        let of_claude = self.of_streams()?.outcome().map(|(_, table)| table);
        let of_claude =
            of_claude.ok_or_else(|| FileError::whole(STREAM_CONTRACT, "says nothing of outcomes"))?;
        Ok((of_claude, own.map(|(_, table)| table)))
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
        self.clause(id).is_some()
    }

    /// The clause that a finding names as `<contract>/<clause>`.
    pub fn clause(&self, id: &str) -> Option<&Clause> {
        let (contract, clause) = id.split_once('/')?;
        let sets = self.chosen.iter().chain(self.get(contract));
        let named = sets.flat_map(ContractSet::contracts).filter(|known| known.name() == contract);
        named.flat_map(Contract::clauses).find(|known| known.id == clause)
    }

    /// The clauses that a run of this contract is held to, as findings name them.
    #[cfg(feature = "cli")]
    pub(crate) fn clauses_of(&self, contract: &str) -> Vec<String> {
        let sets = self.chosen.iter().chain(self.get(contract)).filter(|set| set.name() == contract);
        let named = |known: &Contract| {
            let name = known.name().to_owned();
            known.clauses().iter().map(move |clause| format!("{name}/{}", clause.id)).collect::<Vec<_>>()
        };
        sets.flat_map(ContractSet::contracts).flat_map(named).collect()
    }

    /// What `clawgate explain` finds a clause by: as findings name it, and one of the user's by the path of its contract.
    #[cfg(feature = "testing")]
    pub(crate) fn place_of(&self, id: &str) -> String {
        let Some((contract, clause)) = id.split_once('/') else { return id.to_owned() };
        if self.built_in.iter().any(|(known, _)| *known == contract) {
            return id.to_owned();
        }
        let own = Path::new(&self.chosen_at);
        let own = if own.file_name().is_some_and(|name| name == schema::CONTRACT_FILE) {
            own.parent()
        } else {
            Some(own)
        };
        let own = own.unwrap_or(Path::new("."));
        // A contract that it extends stands beside it.
        let is_own = self.chosen.as_ref().is_some_and(|set| set.name() == contract);
        let folder = if is_own { own.to_owned() } else { own.with_file_name(contract) };
        folder.join(clause).display().to_string()
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
        // A text of Claude has a contract of its own; what else a target promises may be read as a text as well.
        if let Some(set) = self.asked_or_promised(run)?
            && (protocol != Protocol::ClaudeText
                || set.family() == Family::Document && !set.describes_document())
        {
            return Ok(Some((set, false)));
        }
        let (name, detected) = match protocol {
            Protocol::ClaudeStream => (STREAM_CONTRACT, false),
            Protocol::ClaudeJson => (JSON_CONTRACT, false),
            Protocol::ClaudeText => (TEXT_CONTRACT, false),
            Protocol::ClawText => (WEAKEST_CONTRACT, false),
            Protocol::EventLog => (EVENTS_CONTRACT, false),
            // Nobody reads an output so without a contract that describes it.
            Protocol::AgentJson => return Ok(None),
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

fn family_of(contract: Option<&str>) -> Result<Option<Family>, FileError> {
    contract.map_or(Ok(None), schema::family_of)
}
