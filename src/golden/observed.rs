//! What a snapshot tells of the facts of a recording: how it ended, what was asked of the API, which files were written;
//! without what says nothing, such as when a request came.

use std::borrow::Cow;

use serde_json::Value;

use super::placeholder::without_dates;
use super::volatile::Volatile;
use crate::recording::Facts;

/// How the target ended. Where a timer ended it, whether it was quick enough to exit by itself is a matter of chance.
pub(super) fn exit(facts: &Facts) -> Option<Value> {
    let exit = facts.to_value().get("exit")?.clone();
    Some(match exit.get("timed_out") {
        Some(timer) => serde_json::json!({ "timed_out": timer }),
        None => exit,
    })
}

/// What is not told of a request: when it came and how long it was says nothing, nor does where its body is.
const NOT_OF_A_REQUEST: [&str; 12] = [
    "number",
    "at_ms",
    "sent_bytes",
    "first_byte_ms",
    "duration_ms",
    "findings",
    "unmatched",
    "note",
    "body_file",
    "body_cut",
    "credential",
    "dialect",
];

pub(super) fn requests(facts: &Facts) -> Vec<Value> {
    let told = |request: &Value| {
        let mut request = request.clone();
        if let Value::Object(fields) = &mut request {
            fields.retain(|key, value| !NOT_OF_A_REQUEST.contains(&key.as_str()) && !value.is_null());
            if let Some(Value::Object(headers)) = fields.get_mut("headers") {
                headers.retain(|name, _| name != "content-length");
            }
            // A body's length and digest follow from ids and paths in it.
            if let Some(Value::Object(body)) = fields.get_mut("body") {
                body.retain(|key, _| key != "bytes" && key != "sha256");
                body.values_mut().for_each(round_off);
            }
        }
        request
    };
    sent(facts).iter().map(told).collect()
}

pub(super) fn forget_days(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(without) = without_dates(text) {
                *text = without;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(forget_days),
        Value::Object(fields) => fields.values_mut().for_each(forget_days),
        _ => {}
    }
}

/// A text that the journal cut may end within an id; it then ends before it.
fn round_off(value: &mut Value) {
    let Value::String(text) = value else { return };
    let Some(cut) = text.strip_suffix('…') else { return };
    let is_end = |c: char| c.is_whitespace() || "/<>\"'():,".contains(c);
    let kept = cut.rfind(is_end).map_or("", |at| cut.get(..=at).unwrap_or(cut));
    *text = format!("{kept}…");
}

/// Files in the working directory with their content, all others by their path: what a program notes down for itself
/// holds times and ids.
pub(super) fn files(facts: &Facts, volatile: &Volatile) -> Vec<Value> {
    let Some(Value::Array(files)) = facts.other.get("files") else { return Vec::new() };
    let told = |file: &Value| {
        let path = file.get("path").and_then(Value::as_str).unwrap_or_default();
        let own = path.strip_prefix("work/").is_none_or(|inside| inside.starts_with('.'));
        if own { serde_json::json!({ "path": path }) } else { file.clone() }
    };
    let stays = |file: &&Value| {
        let path = file.get("path").and_then(Value::as_str).unwrap_or_default();
        !volatile.is_passing(path)
    };
    files.iter().filter(stays).map(told).collect()
}

/// What was asked of the API, as it was recorded.
pub(super) fn sent(facts: &Facts) -> &[Value] {
    facts.other.get("requests").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(super) fn room(facts: &Facts) -> Option<&str> {
    facts.other.get("room").and_then(Value::as_str)
}
