//! The NDJSON stream of a Claude CLI, read permissively.
//!
//! Bytes go into a [`StreamReader`] in chunks of any size, live or from disk. It splits lines, scans each one and
//! hands [`Line`]s to whoever listens: [`documented::Reader`] answers exactly as the documented reader would,
//! [`Session`] gathers what really happened. Nothing in a stream can abort the reading, and memory is bounded by
//! [`Limits`], not by the stream.
//!
//! ```
//! use clawgate::stream_json::{Line, Message, StreamReader};
//!
//! let mut reader = StreamReader::default();
//! let mut kinds = Vec::new();
//! let stream = b"{\"type\":\"system\",\"subtype\":\"init\",\"model\":\"m\"}\nnot json\n";
//! reader.push(stream, &mut |line: &Line<'_>| match line {
//!     Line::Message(message) => match message.view() {
//!         Message::Init(init) => kinds.push(format!("init of {}", init.model().unwrap_or_default())),
//!         _ => kinds.push("another".into()),
//!     },
//!     other => kinds.push(format!("line {}: {}", other.number(), other.problem().unwrap_or_default())),
//! });
//! assert_eq!(kinds, ["init of m", "line 2: expected a value at byte 0"]);
//! ```

#[cfg(feature = "contracts")]
mod batch;
mod count;
pub mod documented;
mod kept_text;
mod limits;
mod line;
mod message;
mod reader;
mod session;
mod tally;

#[cfg(feature = "contracts")]
pub(crate) use batch::Batch;
pub use count::Count;
pub use kept_text::KeptText;
pub use limits::Limits;
pub use line::{Line, RawMessage};
pub use message::{
    ApiMessage, ApiRetry, Assistant, BackgroundTasksChanged, Block, CompactBoundary, ControlRequest,
    ControlResponse, ConversationReset, HookResponse, HookStarted, Informational, Init, Message,
    ModelFallback, ModelRefusal, Notification, PermissionDenied, RateLimitEvent, RunResult,
    SessionStateChanged, Status, StreamEvent, TaskNotification, TaskProgress, TaskStarted, TaskUpdated,
    ThinkingTokens, ToolUseSummary, Unknown, User,
};
pub use reader::{StreamReader, Summary};
pub use session::{
    AssistantError, Denial, Fate, LocalOutput, Pass, RateLimit, ResultFacts, Retries, Session, Task,
    TokenUsage, ToolCalls, ToolStats,
};
pub use tally::{Sample, Tally};
