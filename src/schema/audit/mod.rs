//! Can the gate fail? Broken runs are made from good ones and judged; each that passes is a hole.
//!
//! Mutants come from four places: the fields that the schema of a message's kind promises, the bytes and the ending
//! that every run of a protocol has, what a run tells and sends where it is known what was served ([`Harm`]), and the
//! bad fixtures of each clause. The first three are killed by any finding that the good run does not have, and by another
//! verdict that fails; a bad fixture is killed only by the clause it was written for. Where a contract can only note a
//! change (a new kind of message, a clause that documents contradict) the mutant is excused: it is no hole, and no proof
//! either. A gate that fails on `must` alone lets more through than what nobody noticed: what only warns, and what is
//! only noted; see [`Audit::held_to`].

mod bytes;
mod fields;
mod harm;
mod stream;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::contract::{Contract, Protocol};
use super::finding::{Finding, Level};
use super::fixture::{Fixtures, Sample};
use super::library::ContractSet;
use super::load::Bundle;
use crate::document::FileError;

pub use harm::Harm;

/// How many mutants aimed at a clause there were, or were noticed by it, and how many it killed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Mutants that concern the clause.
    pub mutants: usize,
    /// Those that it noticed.
    pub killed: usize,
}

/// A run that was broken on purpose, and who noticed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Mutant {
    /// The contract it was judged against.
    pub contract: String,
    /// The good run it was made from.
    pub base: String,
    /// What was done to it.
    pub mutation: String,
    /// The clause it is aimed at, with its contract; none when any may notice it.
    pub aim: Option<String>,
    /// The clauses of level must or should that noticed it, and the class of another verdict that fails.
    pub noticed_by: BTreeSet<String>,
    /// The level of the gravest of them, or of what only noted it; none when nobody said anything.
    pub level: Option<Level>,
    /// The broken run, to look at or to judge again.
    pub sample: Sample,
}

impl Mutant {
    /// Whether it was noticed, by a clause other than `without` if one is given.
    fn is_killed(&self, without: Option<&str>) -> bool {
        match &self.aim {
            Some(aim) => without != Some(aim) && self.noticed_by.contains(aim),
            None => self.noticed_by.iter().any(|clause| Some(clause.as_str()) != without),
        }
    }

    /// Whether a gate that fails on this level fails. A bad fixture shows that its clause fires, whatever it weighs.
    fn fails(&self, fail_on: Level) -> bool {
        self.is_killed(None) && (self.aim.is_some() || self.level >= Some(fail_on))
    }
}

/// What an audit found.
#[derive(Debug, Default)]
pub struct Audit {
    mutants: Vec<Mutant>,
    /// Those that were only noted.
    noted: Vec<Mutant>,
    /// Those that may be good runs of another kind.
    other_kind: usize,
}

/// A small generator of numbers that only depends on the seed (splitmix64).
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        if limit == 0 { 0 } else { ((z ^ (z >> 31)) % limit as u64) as usize }
    }
}

/// The whole gate, which knows more than one contract: why it fails a run, each reason by a name. A clause that is broken
/// has its own, a verdict that of its class, and the row of `[outcome]` that decided it [`row_reason`].
pub(super) type Gate<'g> = &'g dyn Fn(&Sample) -> BTreeSet<String>;

impl Audit {
    /// Audits a contract with its own fixtures.
    pub fn run(contract: Contract, bundle: &Bundle, seed: u64, gate: Gate<'_>) -> Result<Self, FileError> {
        let fixtures = Fixtures::load(bundle)?;
        let mut contracts = vec![contract];
        for parent in contracts[0].extends.clone() {
            let found = super::library::bundle(&parent);
            let found = found.map_err(|error| contracts[0].blames(&parent, &error))?;
            contracts.push(Contract::load(&found)?);
        }
        let set = ContractSet::new(contracts);
        let mut audit = Self::default();
        let mut dice = Dice(seed);
        for (name, base) in &fixtures.base {
            let usual = base.judge(&set);
            let usual_reasons = gate(base);
            // A run whose ending is wrong already cannot show that another wrong one is noticed.
            let ends_well = noticed(&usual, Level::Must).is_empty();
            for broken in mutants_of(&set.contracts()[0], base, ends_well, &mut dice) {
                let Broken { what: mutation, sample, other_kind } = broken;
                let found = sample.judge(&set);
                let news = |level| &noticed(&found, level) - &noticed(&usual, level);
                let mut noticed_by = news(Level::Should);
                let noted = noticed(&found, Level::Note) != noticed(&usual, Level::Note);
                let mut reasons = &gate(&sample) - &usual_reasons;
                // Another row for the same class is the same answer of the gate.
                reasons.retain(|reason| !reason.starts_with(ROW));
                let breaks_a_must = !news(Level::Must).is_empty();
                noticed_by.extend(reasons.iter().cloned());
                let level = if breaks_a_must || !reasons.is_empty() {
                    Some(Level::Must)
                } else if !noticed_by.is_empty() {
                    Some(Level::Should)
                } else {
                    noted.then_some(Level::Note)
                };
                if other_kind && noticed_by.is_empty() {
                    audit.other_kind += 1;
                    continue;
                }
                let only_noted = level == Some(Level::Note);
                let place = if only_noted { &mut audit.noted } else { &mut audit.mutants };
                place.push(Mutant {
                    contract: set.name().to_string(),
                    base: name.clone(),
                    mutation,
                    aim: None,
                    noticed_by,
                    level,
                    sample,
                });
            }
        }
        audit.add_fixtures(&set, &fixtures);
        audit.add_outcomes(&set, &fixtures, gate);
        Ok(audit)
    }

    fn add_fixtures(&mut self, set: &ContractSet, fixtures: &Fixtures) {
        for (clause, samples) in &fixtures.clauses {
            for (number, sample) in samples.bad.iter().enumerate() {
                let found = sample.judge(set);
                let level = found.iter().map(|finding| finding.level).max();
                let noticed_by = found.into_iter().map(|finding| finding.clause).collect();
                self.mutants.push(Mutant {
                    contract: set.name().to_string(),
                    base: sample.name.clone(),
                    mutation: format!("bad fixture {} of {clause}", number + 1),
                    aim: Some(format!("{}/{clause}", set.name())),
                    noticed_by,
                    level,
                    sample: sample.clone(),
                });
            }
        }
    }

    /// A run whose verdict a row of `[outcome]` is to decide is killed by that row alone.
    fn add_outcomes(&mut self, set: &ContractSet, fixtures: &Fixtures, gate: Gate<'_>) {
        for (row, samples) in &fixtures.outcomes {
            for (number, sample) in samples.decides.iter().enumerate() {
                let decided = gate(sample).contains(&row_reason(row));
                let aim = format!("{}/outcome/{row}", set.name());
                self.mutants.push(Mutant {
                    contract: set.name().to_string(),
                    base: sample.name.clone(),
                    mutation: format!("run {} that the outcome {row} decides", number + 1),
                    noticed_by: decided.then(|| aim.clone()).into_iter().collect(),
                    aim: Some(aim),
                    level: decided.then_some(Level::Must),
                    sample: sample.clone(),
                });
            }
        }
    }

    /// Adds the mutants of another audit.
    pub fn extend(&mut self, other: Self) {
        self.mutants.extend(other.mutants);
        self.noted.extend(other.noted);
        self.other_kind += other.other_kind;
    }

    /// The same audit of a gate that fails on this level: with `must`, what only warns was not noticed, and what is
    /// only noted counts. The default is a gate that fails on `should`.
    #[must_use]
    pub fn held_to(mut self, fail_on: Level) -> Self {
        if fail_on > Level::Should {
            self.mutants.append(&mut self.noted);
            for mutant in &mut self.mutants {
                if !mutant.fails(fail_on) {
                    mutant.noticed_by.clear();
                }
            }
        }
        self
    }

    /// How many were noticed by what only warns, so that a gate that fails on `must` passes them.
    pub fn warned(&self) -> usize {
        self.mutants.iter().filter(|mutant| mutant.is_killed(None) && !mutant.fails(Level::Must)).count()
    }

    /// How many mutants there were.
    pub fn mutants(&self) -> usize {
        self.mutants.len()
    }

    /// How many more there were that the contract can only note.
    pub fn excused(&self) -> usize {
        self.noted.len() + self.other_kind
    }

    /// How many were noticed.
    pub fn killed(&self) -> usize {
        self.mutants.iter().filter(|mutant| mutant.is_killed(None)).count()
    }

    /// The part of the mutants that was noticed, from 0 to 1.
    pub fn score(&self) -> f64 {
        self.score_without(None)
    }

    /// The score that would be left if a clause (`<contract>/<clause>`) were not there.
    pub fn score_without(&self, clause: Option<&str>) -> f64 {
        let killed = self.mutants.iter().filter(|mutant| mutant.is_killed(clause)).count();
        if self.mutants.is_empty() { 1.0 } else { killed as f64 / self.mutants.len() as f64 }
    }

    /// The mutants that nobody noticed.
    pub fn survivors(&self) -> impl Iterator<Item = &Mutant> {
        self.mutants.iter().filter(|mutant| !mutant.is_killed(None))
    }

    /// For each clause the mutants that concern it.
    pub fn clauses(&self) -> BTreeMap<String, Tally> {
        let mut clauses: BTreeMap<String, Tally> = BTreeMap::new();
        for mutant in &self.mutants {
            let concerned =
                mutant.aim.iter().chain(mutant.noticed_by.iter().filter(|_| mutant.aim.is_none()));
            for clause in concerned {
                let tally = clauses.entry(clause.clone()).or_default();
                tally.mutants += 1;
                tally.killed += usize::from(mutant.noticed_by.contains(clause));
            }
        }
        clauses
    }
}

const ROW: &str = "outcome ";

/// How a gate names the row of `[outcome]` that decided a verdict.
pub fn row_reason(row: &str) -> String {
    format!("{ROW}{row}")
}

/// The clauses of at least this level that have something to say.
fn noticed(findings: &[Finding], level: Level) -> BTreeSet<String> {
    let loud = findings.iter().filter(|finding| finding.level >= level);
    loud.map(|finding| finding.clause.clone()).collect()
}

/// A run that was broken.
struct Broken {
    what: String,
    sample: Sample,
    /// The message is of another kind now, and may be a good one of that kind.
    other_kind: bool,
}

impl From<(String, Sample)> for Broken {
    fn from((what, sample): (String, Sample)) -> Self {
        Self { what, sample, other_kind: false }
    }
}

impl From<Harm> for Broken {
    fn from(harm: Harm) -> Self {
        Self { what: format!("{}: {}", harm.place, harm.what), sample: harm.sample, other_kind: false }
    }
}

/// All mutants of one good run, with what was done to it.
fn mutants_of(contract: &Contract, base: &Sample, ends_well: bool, dice: &mut Dice) -> Vec<Broken> {
    // What schemas promise is broken in bases that were written down; a recording would only repeat it.
    let is_written = base.recorded.is_empty();
    let mut mutants = if is_written { fields::mutants(contract, base) } else { Vec::new() };
    mutants.extend(Harm::some(base, dice).into_iter().map(Broken::from));
    match contract.protocol {
        Protocol::Document => {
            // The frame of claw is stricter, and its exit codes are a table of their own.
            let is_claw =
                contract.name == "claw-stdout" || contract.extends.iter().any(|name| name == "claw-stdout");
            mutants.extend(bytes::mutants(base, is_claw, dice).into_iter().map(Broken::from));
            if ends_well {
                mutants.extend(bytes::endings(base, is_claw).into_iter().map(Broken::from));
            }
        }
        Protocol::Stream => mutants.extend(stream::mutants(base, dice).into_iter().map(Broken::from)),
        // A text has no frame, and a log may lose or repeat almost any line and still keep the protocol.
        Protocol::Text | Protocol::Events => {}
    }
    mutants
}
