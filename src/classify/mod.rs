//! What went wrong, whose fault it was, and on what evidence.
//!
//! A [`Verdict`] is decided by the first row of a fixed table that holds, over all results of a run; structured
//! signals come before keywords, keywords before heuristics. What one message means stands in the `[outcome]` of a contract,
//! for which [`judge`](crate::judge) is the door; the rows that take several messages of a Claude CLI live in [`claude`], those
//! for the envelopes of `claw` in [`claw`].

#[cfg(feature = "contracts")]
pub(crate) mod agent;
#[cfg_attr(
    not(feature = "contracts"),
    expect(dead_code, reason = "a verdict on a stream needs its contract")
)]
mod api_error;
mod api_words;
mod class;
pub mod claude;
pub mod claw;
mod claw_handler;
mod claw_kinds;
mod offer;
#[cfg_attr(
    not(feature = "contracts"),
    expect(dead_code, reason = "a verdict on a stream needs its contract")
)]
mod process;
mod question;
#[cfg(feature = "contracts")]
mod rows;
mod run_facts;
#[cfg_attr(
    not(feature = "contracts"),
    expect(dead_code, reason = "a verdict on a stream needs its contract")
)]
mod slash_command;
mod trace;
mod verdict;
mod words;

pub use class::{Blame, Class};
pub use process::Process;
#[cfg(feature = "contracts")]
pub(crate) use process::classify_foreign;
#[cfg(feature = "contracts")]
pub(crate) use rows::Rows;
pub use run_facts::{RunFacts, UnmatchedRequest};
pub use verdict::{Advisory, Basis, ClawFields, Evidence, Verdict};
