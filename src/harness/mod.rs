//! Makes recordings: what a target is driven by and what is observed of it. The only part of the library with an
//! asynchronous runtime.

mod ask;
pub(crate) mod capture;
#[cfg(feature = "cli")]
pub(crate) mod claws;
mod command_line;
#[cfg(feature = "cli")]
pub(crate) mod environment;
mod exchanges;
mod live;
pub(crate) mod mcp;
pub(crate) mod memory;
pub(crate) mod mock;
mod partial;
pub(crate) mod platform;
mod record;
pub(crate) mod remove;
pub(crate) mod room;
pub(crate) mod scratch;
mod seams;
pub(crate) mod stop;
pub(crate) mod supervise;
pub(crate) mod terminal;
pub(crate) mod threads;
pub(crate) mod timers;
pub(crate) mod user;
mod written;

pub(crate) use crate::reference::Misbehaviour;
pub(crate) use ask::ask;
#[cfg(feature = "cli")]
pub(crate) use ask::{Errand, run_errand};
pub(crate) use command_line::CommandLine;
pub(crate) use live::{Listener, Seen};
pub(crate) use partial::{KEPT_FILES, sweep as sweep_partial};
pub(crate) use record::{Api, Bounds, Job, RecordError, Recorded, Recorder};
