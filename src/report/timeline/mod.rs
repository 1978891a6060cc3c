//! What happened in an event log over time: the tree of workers with their phases, requests, silences and findings.

mod html;
mod json;
mod model;
mod text;

pub(crate) use html::timeline_page;
pub(crate) use json::timeline_json;
pub(crate) use model::{Entry, EntryKind, Lane, Measure, Timeline};
pub(crate) use text::write_text;
