//! What went wrong, whose fault it was, and on what evidence.
//!
//! A [`Verdict`] is decided by the first row of a fixed table that holds, over all results of a run; structured
//! signals come before keywords, keywords before heuristics. The rows live in [`claude`] for the stream and the
//! result document of a Claude CLI, and in [`claw`] for the envelopes of `claw`.

mod api_error;
mod api_words;
mod class;
pub mod claude;
pub mod claw;
mod claw_handler;
mod claw_kinds;
mod offer;
mod process;
mod question;
mod run_facts;
mod slash_command;
mod trace;
mod verdict;
mod words;

pub use class::{Blame, Class};
pub use process::Process;
#[cfg(feature = "contracts")]
pub(crate) use process::classify_foreign;
pub use run_facts::{RunFacts, UnmatchedRequest};
pub use verdict::{Advisory, Basis, ClawFields, Evidence, Verdict};
