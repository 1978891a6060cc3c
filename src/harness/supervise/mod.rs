//! One small process for each case that runs, which holds everything the target starts.
//!
//! ```text
//! harness ──socket──► supervisor ──► target ──► …whatever it starts
//!            orders    (subreaper)
//!           ◄─reports─
//! ```
//!
//! The supervisor is the clawgate binary itself, started as `clawgate __supervise`. It names what is left when the target has
//! exited and ends it; and it ends everything when the socket closes, which is what the death of the harness looks like. What
//! it can hold, and keep apart from the machine, depends on the system (`platform`): on Linux it is the first process of a
//! namespace or the subreaper, so that no double fork and no new session escapes. When nothing of a case is left it is ready
//! for the next one.
//!
//! Where that binary is not at hand the same code runs on a thread of the harness, with the process group as all that
//! holds the target; the recording says so.

mod channel;
mod client;
mod demands;
mod isolation;
mod message;
mod pool;
mod serve;
mod spawn;
pub(super) mod view;

use std::time::Duration;

pub(super) use channel::Channel;
pub(crate) use client::{Containment, Place, Streams, SuperviseError, Supervisor};
pub(crate) use demands::{Demands, NetworkMode};
pub(crate) use isolation::{Isolation, not_isolated, not_isolated_from};
pub(super) use message::Leftover;
pub(crate) use message::Report;
pub(crate) use message::{Ended, Order, Start, monotonic_ns};
pub(crate) use pool::Pool;
#[cfg(feature = "cli")]
pub(crate) use serve::main;
pub(crate) use view::View;

/// How long a killed process may take to disappear.
pub(super) const MOST_TO_DIE: Duration = Duration::from_secs(2);
/// How often it is looked whether what was left is gone.
pub(super) const LOOK: Duration = Duration::from_millis(2);

/// The word that makes the clawgate binary a supervisor.
pub(crate) const COMMAND: &str = "__supervise";
