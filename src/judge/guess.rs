//! Telling from its first lines whose a bare output is.

use serde_json::Value;

use super::contracts::OF_CLAUDE;
use crate::schema::{self, Family, FileError};
use crate::stream_json::Session;

/// So many messages at the start are looked at.
const FIRST: usize = 8;

/// Whose an output looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guess {
    /// An agent of this contract, which is none of the families that are told by their form.
    Agent(&'static str),
    /// A Claude CLI, a claw or an event log.
    Ours,
    /// Nobody that we know.
    Nobody,
}

/// Guesses by the first bytes of an output; of one that is over and empty, by what stands on standard error.
pub(super) fn contract_of(start: &[u8], stderr: Option<&[u8]>) -> Result<Guess, FileError> {
    let text = String::from_utf8_lossy(start);
    let mut messages: Vec<Value> = Vec::new();
    let whole = serde_json::from_str::<Value>(&text).ok().filter(Value::is_object);
    if let Some(document) = whole {
        messages.push(document);
    } else {
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        messages.extend(lines.filter(Value::is_object).take(FIRST));
    }
    let stderr = stderr.filter(|_| text.trim().is_empty()).map(String::from_utf8_lossy);
    let messages: Vec<&Value> = messages.iter().collect();
    let Some(name) = schema::recognise(&messages, stderr.as_deref())? else {
        let is_claude = messages.iter().any(|message| speaks_claude(message))
            && !messages.iter().any(|message| speaks_otherwise(message));
        return Ok(if is_claude { Guess::Ours } else { Guess::Nobody });
    };
    Ok(match schema::family_of(name)? {
        Some(Family::Stream | Family::Document) => Guess::Agent(name),
        // Who else speaks the Claude dialect is told by a sign of its own.
        Some(Family::Claude) if !OF_CLAUDE.contains(&name) => Guess::Agent(name),
        _ => Guess::Ours,
    })
}

/// Whether a message is one of the Claude CLI, though it may have lost some of what tells it: others call theirs `assistant`
/// and `result` as well.
fn speaks_claude(message: &Value) -> bool {
    let text = |key: &str| message.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "rate_limit_event"
        | "stream_event"
        | "tool_use_summary"
        | "tool_progress"
        | "keep_alive"
        | "control_request"
        | "control_response"
        | "control_cancel_request" => true,
        "assistant" | "user" => message.get("message").is_some_and(Value::is_object),
        "result" => {
            is_its_subtype(text("subtype"))
                || message.get("num_turns").is_some()
                || message.get("is_error").is_some_and(Value::is_boolean)
        }
        _ => false,
    }
}

/// Whether a message is called as one of the Claude CLI, and is none.
fn speaks_otherwise(message: &Value) -> bool {
    let has = |key: &str| message.get(key).is_some();
    match message.get("type").and_then(Value::as_str) {
        Some("assistant" | "user") => !message.get("message").is_some_and(Value::is_object) && !has("error"),
        Some("result") => {
            message.get("subtype").and_then(Value::as_str).is_some_and(|name| !is_its_subtype(name))
        }
        _ => false,
    }
}

fn is_its_subtype(subtype: &str) -> bool {
    subtype == "success" || subtype.starts_with("error_")
}

/// The types of messages in a stream that is none of a Claude CLI, if there are any that no such CLI prints; none where
/// something in the stream is one of its messages, or where there are no messages.
pub(super) fn strange_kinds(session: &Session) -> Option<Vec<&str>> {
    let is_its_result = |result: &crate::stream_json::ResultFacts| {
        result.subtype.as_deref().is_some_and(is_its_subtype)
            || result.num_turns.is_some()
            || result.model_answered
    };
    let speaks_claude =
        session.inits > 0 || session.pass.answered.is_some() || session.results.iter().any(is_its_result);
    if speaks_claude || session.messages == 0 {
        return None;
    }
    // `system/…` is the dialect, of a version that we do not know.
    let strange =
        session.unknown_kinds.keys().map(String::as_str).filter(|kind| !kind.starts_with("system/"));
    Some(strange.take(FIRST).collect())
}
