//! What happened in an event log over time: the tree of workers with their phases, requests, silences and findings.

mod html;
mod json;
mod model;
mod text;

pub use html::write_html;
pub use json::timeline_json;
pub use model::{Entry, EntryKind, Lane, Measure, Timeline};
pub use text::write_text;
