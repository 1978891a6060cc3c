//! Judging: one pass over what a target printed, with the verdict, the documented reader's answer and the findings.
//!
//! A live run and a recording go through the same [`Judge`]; only where the bytes come from differs.
//!
//! ```
//! use clawgate::judge::{Ending, Protocol, Shelf, judge_bytes};
//!
//! let stdout = br#"{"type":"result","subtype":"success","is_error":true,"api_error_status":429}"#;
//! let judgement = judge_bytes(Protocol::ClaudeStream, &Shelf::built_in(), stdout, &Ending::with_code(1))?;
//! assert_eq!(judgement.verdict.class.name(), "rate_limit");
//! assert_eq!(judgement.contract.as_deref(), Some("claude-stream-json"));
//! # Ok::<(), clawgate::schema::FileError>(())
//! ```

mod event_log;
mod inputs;
mod pass;
mod protocol;
mod shelf;

pub use event_log::{
    EVENTS_CONTRACT, LogJudgement, is_of_events, judge_segments, judge_stream, looks_like_events,
};
pub use inputs::{Input, InputError, Source, find};
pub use pass::{Ending, Judge, Judgement, Settings, judge_bytes};
pub use protocol::Protocol;
pub use shelf::{Choice, Shelf};
