//! Telling from its first lines whose a bare output is.

use serde_json::Value;

use super::contracts::OF_CLAUDE;
use crate::schema::{self, Family, FileError};
use crate::stream_json::{ResultFacts, Session};

/// So many messages at the start are looked at.
const FIRST: usize = 8;

/// Whose an output looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guess {
    /// An agent of this contract, which is none of the families that are told by their form.
    Agent(&'static str),
    /// A Claude CLI, a claw or an event log.
    Ours,
    /// Nobody that we know; `is_stream` where there are several messages.
    Nobody { is_stream: bool },
}

/// Whether the lines so far tell what an output is, so that a live one is held back no longer: the first does, unless it only
/// opens a document or is one that says nothing of its kind, which may be all there is.
pub(super) fn is_enough(start: &[u8]) -> bool {
    let ended = memchr::memrchr2(b'\n', b'\r', start).map_or(&[][..], |end| &start[..end]);
    let lines = ended.split(|byte| matches!(byte, b'\n' | b'\r')).map(<[u8]>::trim_ascii);
    let mut lines = lines.filter(|line| !line.is_empty());
    match lines.next() {
        None | Some(b"{" | b"[") => false,
        Some(first) => !is_untyped(first) || lines.next().is_some(),
    }
}

fn is_untyped(line: &[u8]) -> bool {
    let object = serde_json::from_slice::<Value>(line).ok().filter(Value::is_object);
    object.is_some_and(|object| !object.get("type").is_some_and(Value::is_string))
}

/// Guesses by the first bytes of an output; of one that is over and empty, by what stands on standard error.
pub(super) fn contract_of(start: &[u8], stderr: Option<&[u8]>) -> Result<Guess, FileError> {
    let text = String::from_utf8_lossy(start);
    let mut messages: Vec<Value> = Vec::new();
    let mut goes_on = false;
    match serde_json::from_str::<Value>(&text) {
        Ok(document @ Value::Object(_)) => messages.push(document),
        Ok(document @ Value::Array(_)) => {
            messages
                .extend(document.as_array().into_iter().flatten().filter(|item| item.is_object()).cloned());
            messages.push(document);
        }
        _ => {
            let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            messages.extend(lines.filter(Value::is_object).take(FIRST));
            // A message, and another one that was cut.
            let last = text.lines().next_back().unwrap_or_default();
            goes_on = !messages.is_empty() && last.trim_start().starts_with('{');
        }
    }
    let stderr = stderr.filter(|_| text.trim().is_empty()).map(String::from_utf8_lossy);
    let messages: Vec<&Value> = messages.iter().collect();
    let Some(name) = schema::recognise(&messages, stderr.as_deref())? else {
        let is_claude = messages.iter().any(|message| speaks_claude(message))
            && !messages.iter().any(|message| speaks_otherwise(message));
        let is_claude = is_claude || (messages.is_empty() && begins_as_claude(&text));
        return Ok(if is_claude {
            Guess::Ours
        } else {
            Guess::Nobody { is_stream: messages.len() > 1 || goes_on }
        });
    };
    Ok(match schema::family_of(name)? {
        Some(Family::Stream | Family::Document) => Guess::Agent(name),
        // Who else speaks the Claude dialect is told by a sign of its own.
        Some(Family::Claude) if !OF_CLAUDE.contains(&name) => Guess::Agent(name),
        _ => Guess::Ours,
    })
}

/// Whether an output without a whole message may be cut in the first one of a Claude CLI.
fn begins_as_claude(text: &str) -> bool {
    const STARTS: [&str; 4] =
        ["{\"type\":\"system\"", "{\"type\":\"assistant\"", "{\"type\":\"user\"", "{\"type\":\"result\""];
    let text: String = text.chars().filter(|letter| !letter.is_whitespace()).take(24).collect();
    !text.is_empty() && STARTS.iter().any(|start| start.starts_with(&text) || text.starts_with(start))
}

/// Whether a message is one of the Claude CLI, though it may have lost some of what tells it: others call theirs `assistant`
/// and `result` as well.
fn speaks_claude(message: &Value) -> bool {
    let text = |key: &str| message.get(key).and_then(Value::as_str).unwrap_or_default();
    let has = |key: &&str| message.get(*key).is_some();
    let signs = || {
        let is_error = message.get("is_error").is_some_and(Value::is_boolean);
        let told = message.get("result").is_some_and(Value::is_string);
        result_signs([is_its_subtype(text("subtype")), has(&"num_turns"), is_error, told])
    };
    match text("type") {
        "rate_limit_event" | "stream_event" | "tool_use_summary" | "tool_progress" | "keep_alive" => {
            ["uuid", "session_id", "event", "rate_limit_info", "tool_use_id", "summary"].iter().any(has)
        }
        "control_request" | "control_response" | "control_cancel_request" => {
            ["request", "response", "request_id"].iter().any(has)
        }
        "assistant" | "user" => message.get("message").is_some_and(Value::is_object),
        // Also a result that lost its type.
        "result" | "" => signs(),
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

/// Whether a result has two of the signs by which those of the Claude CLI are told; it may have lost others.
fn result_signs(signs: [bool; 4]) -> bool {
    signs.into_iter().filter(|sign| *sign).count() >= 2
}

fn is_its_subtype(subtype: &str) -> bool {
    subtype == "success" || subtype.starts_with("error_")
}

/// Why a stream that was taken for one of a Claude CLI is another agent's: the types of its messages that no such CLI prints.
/// None where it may be one. `is_unclear` says that its first lines look like nobody's.
pub(super) fn strange_kinds(session: &Session, lines: u64, is_unclear: bool) -> Option<Vec<&str>> {
    let is_its_result = |result: &ResultFacts| {
        let subtype = result.subtype.as_deref().is_some_and(is_its_subtype);
        let told = result.text.is_some() && !is_unclear;
        result_signs([subtype, result.num_turns.is_some(), result.is_error.is_some(), told])
            || result.model_answered && is_unclear
    };
    let has_its_result = session.results.iter().any(is_its_result);
    let is_strange = if is_unclear {
        let speaks_claude = session.inits > 0 || session.pass.answered.is_some() || has_its_result;
        !speaks_claude && (session.messages > 0 || session.cut || lines == 0)
    } else {
        // It began like a Claude CLI, and ended in a way of its own.
        let ends_strangely = if session.results.is_empty() { session.ends_unknown } else { !has_its_result };
        ends_strangely && !session.cut
    };
    // `system/…` is the dialect, of a version that we do not know.
    let strange =
        session.unknown_kinds.keys().map(String::as_str).filter(|kind| !kind.starts_with("system/"));
    is_strange.then(|| strange.take(FIRST).collect())
}
