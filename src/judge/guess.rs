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
    let Some(name) = schema::recognise(&messages, stderr.as_deref())? else { return Ok(Guess::Nobody) };
    Ok(match schema::family_of(name)? {
        Some(Family::Stream | Family::Document) => Guess::Agent(name),
        // Who else speaks the Claude dialect is told by a sign of its own.
        Some(Family::Claude) if !OF_CLAUDE.contains(&name) => Guess::Agent(name),
        _ => Guess::Ours,
    })
}

/// The types of messages that no Claude CLI prints, where nothing in the stream is one of its messages; else none.
pub(super) fn strange_kinds(session: &Session) -> Vec<&str> {
    let is_its_result = |result: &crate::stream_json::ResultFacts| {
        result.is_error.is_some()
            || result.subtype.is_some()
            || result.num_turns.is_some()
            || result.model_answered
    };
    let speaks_claude =
        session.inits > 0 || session.pass.answered.is_some() || session.results.iter().any(is_its_result);
    // `system/…` is the dialect, of a version that we do not know.
    let strange =
        session.unknown_kinds.keys().map(String::as_str).filter(|kind| !kind.starts_with("system/"));
    if speaks_claude { Vec::new() } else { strange.take(FIRST).collect() }
}
