//! Judging: one pass over what a target printed, with the verdict, the documented reader's answer and the findings.
//!
//! A live run and a recording go through the same [`Judge`]; only where the bytes come from differs.
//!
//! ```
//! use clawgate::judge::{Ending, Judge, Protocol, Settings};
//!
//! let mut judge = Judge::new(Protocol::ClaudeStream, Settings::default());
//! judge.push(br#"{"type":"result","subtype":"success","is_error":true,"api_error_status":429}"#, &mut |_| {});
//! let judgement = judge.finish(&Ending::with_code(1), &mut |_| {});
//! assert_eq!(judgement.verdict.class.name(), "rate_limit");
//! ```

mod inputs;
mod pass;
mod protocol;

pub use inputs::{Input, InputError, Source, find};
pub use pass::{Ending, Judge, Judgement, Settings};
pub use protocol::Protocol;
