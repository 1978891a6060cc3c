//! What a program printed, as messages and lines of text.

use serde_json::Value;

use crate::json::JsonView;

/// One thing that a program printed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Entry {
    /// A JSON value on lines of its own.
    Message {
        /// What kind of message it is: `system/init`, `result/success`, the topic of an event, or [`DOCUMENT`].
        kind: String,
        value: Value,
        /// The line on which it begins, from 1; in a snapshot its position.
        line: usize,
    },
    /// A line that is no JSON.
    Text {
        /// The line, without its end.
        text: String,
        /// Its number, from 1.
        line: usize,
    },
}

/// The kind of a message that names none.
pub(crate) const DOCUMENT: &str = "document";

impl Entry {
    /// The kind of a message; none for text.
    #[cfg(feature = "cli")]
    pub(crate) fn kind(&self) -> Option<&str> {
        match self {
            Self::Message { kind, .. } => Some(kind),
            Self::Text { .. } => None,
        }
    }
}

/// Whether a message is one of a stream of the Claude CLI.
pub(super) fn is_of_stream(message: JsonView<'_>) -> bool {
    const TYPES: [&str; 5] = ["system", "assistant", "user", "result", "stream_event"];
    text(message, "type").is_some_and(|kind| TYPES.contains(&&*kind))
}

/// Whether a message says of which kind it is. Where none of an output does, all are of the kind [`DOCUMENT`].
pub(super) fn has_kind(message: JsonView<'_>) -> bool {
    is_of_stream(message) || text(message, "topic").is_some()
}

/// The kind of a message of a stream or an event log.
pub(super) fn kind_of(message: JsonView<'_>) -> String {
    if let Some(topic) = text(message, "topic") {
        // A part with a number is the name of a peer or a session, which differs from run to run.
        let parts = topic.split('.').filter(|part| !part.contains(|c: char| c.is_ascii_digit()));
        return plain_word(&parts.collect::<Vec<_>>().join("."));
    }
    let Some(kind) = text(message, "type") else { return DOCUMENT.into() };
    let part = text(message, "subtype").or_else(|| {
        (kind == "stream_event").then(|| message.get("event").and_then(|event| text(event, "type"))).flatten()
    });
    plain_word(&part.map_or_else(|| kind.to_string(), |part| format!("{kind}/{part}")))
}

/// A kind stands in headings and in rows of a table.
fn plain_word(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !c.is_control()).take(80).collect()
}

fn text<'v>(message: JsonView<'v>, key: &str) -> Option<std::borrow::Cow<'v, str>> {
    message.get(key)?.text()
}
