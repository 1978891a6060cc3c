//! Runs cases: scenarios on targets, several at a time, with one stream of events that reporters consume.
//!
//! ```text
//! Suite (scenarios) × Located (targets) ─► select ─► Planned cases ─► run ─► Event, Event, …
//! ```

mod attempt;
mod broken;
mod command_line;
mod compare;
mod contracts;
mod event;
#[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "only the command line compares with snapshots"))]
mod golden;
mod keep;
mod known;
#[cfg(feature = "cli")]
mod memory;
#[cfg(feature = "cli")]
mod orphans;
mod plan;
mod process;
#[cfg(feature = "cli")]
mod recorded;
#[cfg(feature = "cli")]
mod relayed;
#[cfg(feature = "cli")]
mod runner;
pub(crate) mod scenario;
#[cfg(feature = "cli")]
mod select;
#[cfg(feature = "cli")]
mod session;
#[cfg(feature = "cli")]
mod shard;
#[cfg(feature = "cli")]
mod since;
mod suite;
pub(crate) mod target;
#[cfg(feature = "cli")]
mod tested;

pub use crate::harness::stop::Stop;
#[cfg(feature = "cli")]
pub(crate) use attempt::Relay;
pub(crate) use attempt::{Attempt, AttemptError, RunContext};
pub(crate) use broken::BrokenClause;
#[cfg(feature = "cli")]
pub(crate) use compare::Failure;
pub(crate) use compare::FailureKind;
pub(crate) use contracts::{ContractCache, contracts_of};
pub use event::Event;
pub(crate) use event::Source;
#[cfg(feature = "cli")]
pub(crate) use event::Status;
#[cfg(feature = "cli")]
pub(crate) use event::{
    CaseFinished, Finding, PlanInfo, RunFinished, RunStarted, SCHEMA_VERSION, TargetInfo, Word,
};
#[cfg(feature = "cli")]
pub(crate) use golden::Golden;
#[cfg(feature = "cli")]
pub(crate) use golden::is_secret;
#[cfg(feature = "cli")]
pub(crate) use golden::{FOLDER as GOLDEN_FOLDER, GoldenOptions};
pub(crate) use keep::Keep;
#[cfg(feature = "cli")]
pub(crate) use known::ListedFailure;
pub(crate) use known::{CaseName, KnownFailures, ListedState, Scope};
#[cfg(feature = "cli")]
pub(crate) use memory::LastRun;
#[cfg(feature = "cli")]
pub(crate) use orphans::orphans;
pub(crate) use plan::Planned;
pub(crate) use plan::plan;
#[cfg(feature = "cli")]
pub(crate) use plan::{left_out, repeated};
pub(crate) use process::Process;
#[cfg(feature = "cli")]
pub(crate) use recorded::{Recorded, RecordedFolder};
#[cfg(feature = "cli")]
pub(crate) use relayed::{Relayed, Surroundings, unreached};
#[cfg(feature = "cli")]
pub(crate) use runner::{RunOptions, run};
#[cfg(feature = "cli")]
pub(crate) use select::{NoCase, cases_on, idle_filter, select};
#[cfg(feature = "cli")]
pub(crate) use session::{RecordError, Session};
#[cfg(feature = "cli")]
pub(crate) use shard::{Shard, cut};
#[cfg(feature = "cli")]
pub(crate) use since::Touched;
pub(crate) use suite::{Suite, SuiteError};
#[cfg(feature = "cli")]
pub(crate) use tested::Tested;
