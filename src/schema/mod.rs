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
mod judge;
mod known_failures;
mod learn;
mod library;
mod load;
mod named;
mod pass;
pub(crate) mod policy;
mod rule;
mod schemas;

pub use crate::document::FileError;
pub use contract::{Clause, Contract, Family, Protocol};
pub use finding::{Finding, Level};
pub use library::{ContractSet, built_in};

// What our own tests and benchmarks reach through `internals`.
#[doc(hidden)]
pub use {
    audit::Audit, events::EventJudge, events::judge_log, facts::End, facts::Run, fixture::Fixtures,
    library::bundle, pass::judge_output, rule::names as rule_names,
};

pub(crate) use coverage::{Coverage, Survey};
pub(crate) use declared::Declared;
pub(crate) use diff::{Diff, Effect};
pub(crate) use events::EventWatch;
pub(crate) use fixture::Sample;
pub(crate) use judge::Judge;
pub(crate) use known_failures::KnownFailures;
pub(crate) use learn::{Fit, Learner};
pub(crate) use library::{Detector, detect, family_of};
pub(crate) use load::{Bundle, CONTRACT_FILE};
pub(crate) use pass::judge_read;
