//! The API's journal as a part of a recording.

use serde_json::{Value, json};

use crate::harness::mock::Journal;

/// The journal's fields in `recording.json`.
pub(super) fn fields(journal: &Journal) -> Vec<(String, Value)> {
    let requests = serde_json::to_value(&journal.requests).unwrap_or_default();
    let mut fields = vec![("requests".to_owned(), requests)];
    let rest = json!({
        "not_kept": journal.not_kept,
        "not_http": journal.not_http,
        "unused_turns": journal.unused,
    });
    fields.push(("api".to_owned(), rest));
    fields
}
