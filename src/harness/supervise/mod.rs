//! One small process for each case that runs, which holds everything the target starts.
//!
//! ```text
//! harness ──socket──► supervisor ──► target ──► …whatever it starts
//!            orders    (subreaper)
//!           ◄─reports─
//! ```
//!
//! The supervisor is the clawgate binary itself, started as `clawgate __supervise`. It becomes the subreaper of what
//! it starts, so that no double fork and no new session escapes; it names what is left when the target has exited and
//! ends it; and it ends everything when the socket closes, which is what the death of the harness looks like. Where the
//! kernel allows it, it is the first process of a namespace, in a network and a view of the file system of its own
//! (`namespaces`, `protect`, `outside`). When nothing of a case is left it is ready for the next one.
//!
//! Where that binary is not at hand the same code runs on a thread of the harness, with the process group as all that
//! holds the target; the recording says so.

mod channel;
mod client;
mod descendants;
mod isolation;
mod message;
mod namespaces;
mod network;
mod outside;
mod pool;
mod protect;
#[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "only clawgate itself is a supervisor"))]
mod serve;
mod spawn;

pub(crate) use client::{Containment, Place, Streams, SuperviseError, Supervisor};
pub(crate) use isolation::{Isolation, not_isolated, not_isolated_from};
pub(crate) use message::Report;
pub(crate) use message::{Ended, Order, Start, monotonic_ns};
pub(crate) use namespaces::View;
pub(crate) use network::{Demands, NetworkMode};
pub(crate) use pool::Pool;
#[cfg(feature = "cli")]
pub(crate) use serve::main;

/// The word that makes the clawgate binary a supervisor.
pub(crate) const COMMAND: &str = "__supervise";
