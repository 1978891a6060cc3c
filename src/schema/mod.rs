//! Contracts: what a target promises about its output, as data, and the engine that holds a run against them.
//!
//! A contract is a directory with a `contract.toml` and JSON Schemas; `schemas/README.md` in the repository describes
//! the format. [`Contract::load`] reads one, [`Judge`] watches a run and answers with [`Finding`]s. A broken promise is
//! data, never an `Err`; a broken *contract* is a [`FileError`] with file, line and reason.

mod audit;
mod branches;
mod condition;
mod contract;
mod coverage;
mod declared;
mod diff;
mod events;
mod facts;
mod fields;
mod finding;
mod fixture;
mod frame;
mod instance;
mod invocation;
mod json_type;
mod judge;
mod known_failures;
mod learn;
mod library;
mod load;
mod named;
mod pass;
pub mod policy;
mod rule;
mod schemas;

pub use crate::document::FileError;
pub use audit::{Audit, Mutant, Tally};
pub use branches::Branch;
pub use contract::{Clause, Contract, Family, Protocol};
pub use coverage::{Coverage, Survey};
pub use declared::{Declared, Gaps};
pub use diff::{Change, Diff, Effect};
pub use events::{EventJudge, EventWatch, judge_log};
pub use facts::{End, Run};
pub use finding::{Finding, Level};
pub use fixture::{ClauseFixtures, Fixtures, Sample};
pub use judge::Judge;
pub use known_failures::KnownFailures;
pub use learn::{Fit, Learned, Learner};
pub(crate) use library::Detector;
pub use library::{ContractSet, built_in, bundle, detect, family_of};
pub use load::{Bundle, CONTRACT_FILE};
pub use pass::judge_output;
pub(crate) use pass::judge_read;

/// The names of the built-in rules that a clause can use.
pub fn rule_names() -> impl Iterator<Item = &'static str> {
    rule::names()
}
