//! Runs cases: scenarios on targets, several at a time, with one stream of events that reporters consume.
//!
//! ```text
//! Suite (scenarios) × Located (targets) ─► select ─► Planned cases ─► run ─► Event, Event, …
//! ```

mod attempt;
mod command_line;
mod compare;
mod contracts;
mod event;
mod golden;
mod memory;
mod orphans;
mod plan;
mod recorded;
mod runner;
pub(crate) mod scenario;
mod select;
mod session;
mod shard;
mod since;
mod suite;
pub(crate) mod target;
mod tested;

pub use crate::harness::stop::Stop;
pub(crate) use attempt::{Attempt, AttemptError, RunContext};
pub(crate) use compare::{Failure, FailureKind};
pub(crate) use contracts::ContractCache;
pub use event::Event;
pub(crate) use event::{
    CaseFinished, Finding, PlanInfo, RunFinished, RunStarted, SCHEMA_VERSION, Source, Status, TargetInfo,
    Word,
};
pub(crate) use golden::Golden;
pub(crate) use golden::is_secret;
pub(crate) use memory::LastRun;
pub(crate) use orphans::orphans;
pub(crate) use plan::Planned;
pub(crate) use plan::plan;
pub(crate) use recorded::{Recorded, RecordedFolder};
pub(crate) use runner::{RunOptions, run};
pub(crate) use select::{NoCase, cases_on, idle_filter, select};
pub(crate) use session::{RecordError, Session};
pub(crate) use shard::{Shard, cut};
pub(crate) use since::Touched;
pub(crate) use suite::{Suite, SuiteError};
pub(crate) use tested::Tested;
