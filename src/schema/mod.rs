//! Contracts: what a target promises about its output, as data, and the engine that holds a run against them.
//!
//! A contract is a directory with a `contract.toml` and JSON Schemas; `schemas/README.md` in the repository describes
//! the format. [`Contract::load`] reads one, `Judge` watches a run and answers with [`Finding`]s. A broken promise is
//! data, never an `Err`; a broken *contract* is a [`FileError`] with file, line and reason.

mod audit;
#[cfg(feature = "cli")]
mod branches;
mod condition;
mod contract;
#[cfg(feature = "cli")]
mod coverage;
#[cfg(feature = "cli")]
mod declared;
#[cfg(feature = "cli")]
mod diff;
mod event_clauses;
mod events;
mod facts;
mod fields;
mod finding;
mod fixture;
mod frame;
mod include;
mod instance;
mod invocation;
mod judge;
#[cfg(feature = "cli")]
mod learn;
mod library;
mod load;
mod named;
mod outcome;
mod pass;
mod pattern;
mod plan;
pub(crate) mod policy;
mod program;
mod question;
mod quick;
mod rule;
mod schemas;
mod sent;

pub use crate::document::FileError;
pub use contract::{Clause, Contract, Family, Protocol};
pub use finding::{Finding, Level};
pub use library::{ContractSet, built_in};

// What our own tests and benchmarks reach through `internals`.
#[doc(hidden)]
pub use {
    audit::Audit, audit::Harm, audit::row_reason, events::EventJudge, events::judge_log, facts::End,
    facts::Run, fixture::Fixtures, fixture::Sample, library::bundle, outcome::CLASSES as OUTCOME_CLASSES,
    outcome::rows as outcome_rows, pass::judge_output, rule::names as rule_names,
};

#[cfg(feature = "cli")]
pub(crate) use coverage::{Coverage, Survey};
#[cfg(feature = "cli")]
pub(crate) use declared::Declared;
#[cfg(feature = "cli")]
pub(crate) use diff::{Diff, Effect};
#[cfg(feature = "cli")]
pub(crate) use events::EventWatch;
pub(crate) use frame::see_document;
pub(crate) use judge::Judge;
#[cfg(feature = "cli")]
pub(crate) use learn::{Fit, LEARNED, Learner};
#[cfg(feature = "cli")]
pub(crate) use library::Detector;
#[cfg(feature = "testing")]
pub(crate) use library::part_of;
pub(crate) use library::{asked_for, detect, family_of, recognise};
#[cfg(feature = "cli")]
pub(crate) use load::Bundle;
#[cfg(feature = "testing")]
pub(crate) use load::CONTRACT_FILE;
pub(crate) use pass::judge_read;
