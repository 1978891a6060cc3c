//! What really happened in a run, gathered in one pass with bounded memory.
//!
//! Unlike the documented reader, a [`Session`] keeps the main agent apart from its sub-agents and from messages that
//! the CLI made up, follows tool calls and background tasks to their ends, and remembers every result.

mod fold;
mod local_command;
mod outcome;
mod questions;
mod tasks;
mod tools;
mod usage;

pub use fold::{AssistantError, Denial, Pass, RateLimit, Retries, Session};
pub use local_command::LocalOutput;
pub use outcome::ResultFacts;
pub use tasks::{Fate, Task};
pub use tools::{ToolCalls, ToolStats};
pub use usage::TokenUsage;
