//! Runs cases: scenarios on targets, several at a time, with one stream of events that reporters consume.
//!
//! ```text
//! Suite (scenarios) × Located (targets) ─► select ─► Planned cases ─► run ─► Event, Event, …
//! ```

mod attempt;
mod command_line;
mod compare;
mod event;
mod journal;
mod live;
mod memory;
mod plan;
mod runner;
mod select;
mod stop;
mod suite;

pub(crate) use attempt::KEPT_FILES;
pub use attempt::{Attempt, AttemptError, Setting};
pub(crate) use command_line::MISBEHAVE;
pub use compare::Failure;
pub use event::{CaseFinished, Event, RunFinished, Status};
pub use memory::LastRun;
pub use plan::{Planned, plan};
pub use runner::{RunOptions, run};
pub use select::{Shard, select};
pub use stop::Stop;
pub use suite::{Suite, SuiteError};
