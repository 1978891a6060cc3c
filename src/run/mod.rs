//! Runs cases: scenarios on targets, several at a time, with one stream of events that reporters consume.
//!
//! ```text
//! Suite (scenarios) × Located (targets) ─► select ─► Planned cases ─► run ─► Event, Event, …
//! ```

mod attempt;
mod command_line;
mod compare;
mod event;
mod golden;
mod journal;
mod judging;
mod live;
mod memory;
mod plan;
mod runner;
mod select;
mod shard;
mod shelves;
mod stop;
mod suite;

pub(crate) use attempt::KEPT_FILES;
pub use attempt::{Attempt, AttemptError, Setting};
pub(crate) use command_line::MISBEHAVE;
pub use compare::Failure;
pub use event::{CaseFinished, EarlierAttempt, Event, PlanInfo, RunFinished, Source, Status, TargetInfo};
pub use golden::Golden;
pub(crate) use golden::is_secret;
pub use memory::LastRun;
pub use plan::{Planned, plan};
pub use runner::{RunOptions, run};
pub(crate) use select::glob;
pub use select::{idle_filter, select};
pub use shard::{Shard, cut};
pub(crate) use shelves::Shelves;
pub use stop::Stop;
pub use suite::{Suite, SuiteError};
