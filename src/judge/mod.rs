//! Judging: one pass over what a target printed, with the verdict, the documented reader's answer and the findings.
//!
//! Everything goes through one [`Judge`], which alone chooses contract, protocol and bounds: a live run and a pipe push
//! their bytes into it, and [`recording`], [`file()`] and [`output`] are loops over it.
//!
//! ```
//! use clawgate::judge::{self, Contracts, Options};
//!
//! let stdout = br#"{"type":"result","subtype":"success","is_error":true,"api_error_status":429}"#;
//! let judgement = judge::output(stdout, &Contracts::built_in(), &Options::with_exit_code(1))?;
//! assert_eq!(judgement.verdict.ok_or("a run has a verdict")?.class.name(), "rate_limit");
//! assert_eq!(judgement.contract.as_deref(), Some("claude-stream-json"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod contracts;
mod guess;
mod inputs;
#[expect(clippy::module_inception, reason = "the judge is what this module is about")]
mod judge;
mod protocol;
mod recorded;

pub use crate::events::{Profile, Summary as LogSummary};
pub use contracts::Contracts;
#[cfg(feature = "cli")]
pub(crate) use contracts::EVENTS_CONTRACT;
#[cfg(feature = "cli")]
pub(crate) use inputs::named_after;
pub use inputs::{Input, InputError, Source, find};
pub use judge::{Ending, Judge, Judgement, Options};
pub use protocol::Protocol;
#[cfg(feature = "testing")]
pub(crate) use protocol::{OUTPUT, TEXT};
#[cfg(feature = "cli")]
pub(crate) use recorded::watched_recording;
pub use recorded::{JudgeError, file, output, recording};
