//! Whole messages that are lost, told twice or told in another order, and lies that are told everywhere alike.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::super::fixture::Sample;
use super::Harm;
use super::printed::{Printed, kind};
use super::values::other_id;
use crate::recording::Exit;

/// Changes what a run tells as a whole.
pub(super) fn harms(base: &Sample, printed: &Printed) -> Vec<Harm> {
    let mut harms = messages(base, printed);
    harms.extend(everywhere(base, printed));
    harms.extend(endings(base, printed));
    harms
}

/// Notices that may come or not, and where nobody minds.
fn is_notice(message: &Value) -> bool {
    let named = |pointer, names: &[&str]| {
        message.pointer(pointer).and_then(Value::as_str).is_some_and(|name| names.contains(&name))
    };
    named(
        "/subtype",
        &["status", "thinking_tokens", "task_progress", "background_tasks_changed", "notification"],
    ) || named("/event/type", &["ping"])
        || named("/event/delta/type", &["signature_delta"])
        || message.pointer("/event/delta/partial_json").is_some_and(|part| part == "")
        || named("/type", &["rate_limit_event"])
}

fn messages(base: &Sample, printed: &Printed) -> Vec<Harm> {
    let all = &printed.messages;
    let mut harms = Vec::new();
    if all.len() < 2 {
        return harms;
    }
    for (index, message) in all.iter().enumerate().filter(|(_, message)| !is_notice(message)) {
        let mut add = |what: &str, messages: Vec<Value>| {
            let what = format!("line {} {what}", index + 1);
            harms.push(Harm::printed(kind(message), what, printed.with(base, &messages)));
        };
        let mut dropped = all.clone();
        dropped.remove(index);
        add("dropped", dropped);
        let mut twice = all.clone();
        let mut again = message.clone();
        if let Some(uuid) = message["uuid"].as_str() {
            again["uuid"] = other_id(uuid).into();
        }
        twice.insert(index + 1, again);
        add("told twice", twice);
        // The order of what two tools or two notices say is nobody's promise; that of talk and result is.
        let is_talk = |message: &Value| {
            ["assistant", "user", "result", "stream_event"].iter().any(|kind| message["type"] == *kind)
        };
        let is_same = |a: &Value, b: &Value| a["type"] == b["type"] && a["type"] == "user";
        if let Some(next) = all.get(index + 1)
            && is_talk(message)
            && is_talk(next)
            && !is_notice(next)
            && (message["type"] == "stream_event") == (next["type"] == "stream_event")
            && !is_same(message, next)
            && (message["event"].is_null() || message["event"] != next["event"])
        {
            let mut moved = all.clone();
            moved.swap(index, index + 1);
            add("after the next", moved);
        }
    }
    harms
}

/// Values that stand in several places and are changed in all of them.
fn everywhere(base: &Sample, printed: &Printed) -> Vec<Harm> {
    let mut found: BTreeSet<(&str, String, String)> = BTreeSet::new();
    let text =
        |message: &Value, pointer: &str| message.pointer(pointer).and_then(Value::as_str).map(String::from);
    for message in &printed.messages {
        found.extend(text(message, "/session_id").map(|id| ("session", id.clone(), other_id(&id))));
        // What the program says itself has an id of its own making.
        if message.pointer("/message/model").is_some_and(|model| model != "<synthetic>") {
            found.extend(text(message, "/message/id").map(|id| ("message", id.clone(), other_id(&id))));
        }
        for pointer in ["/cwd", "/model", "/message/model"] {
            let what = if pointer == "/cwd" { "directory" } else { "model" };
            let other = if pointer == "/cwd" { "/home/else" } else { "claude-opus-4-1" };
            found.extend(text(message, pointer).map(|old| (what, old, other.to_string())));
        }
        found.extend(text(message, "/result").map(|said| ("answer", said, "All is well.".to_string())));
        let version = text(message, "/claude_code_version");
        found.extend(version.map(|version| ("version", version, "2.1.300".to_string())));
        for block in message.pointer("/message/content").and_then(Value::as_array).into_iter().flatten() {
            for name in ["text", "thinking"] {
                found.extend(
                    text(block, &format!("/{name}")).map(|said| ("text", said, "All is well.".to_string())),
                );
            }
            if block["type"] == "tool_use" {
                found.extend(text(block, "/id").map(|id| ("tool call", id.clone(), other_id(&id))));
                found.extend(text(block, "/name").map(|name| ("tool", name, "Telepathy".to_string())));
            }
            if block["type"] == "tool_result" {
                found
                    .extend(text(block, "/content").map(|said| ("tool result", said, "nothing".to_string())));
            }
        }
    }
    let mut harms: Vec<Harm> = found
        .into_iter()
        .filter(|(_, old, new)| old != new && !old.is_empty() && old != "<synthetic>")
        .map(|(what, old, new)| {
            let messages: Vec<Value> =
                printed.messages.iter().map(|message| replaced(message, &old, &new)).collect();
            let sample = printed.with(base, &messages);
            Harm::printed("everywhere", format!("another {what}: {}", crate::text::clip(&old, 40)), sample)
        })
        .collect();
    let halved: Vec<Value> = printed.messages.iter().map(halved_usage).collect();
    if halved != printed.messages {
        harms.push(Harm::printed("everywhere", "usage halved", printed.with(base, &halved)));
    }
    harms
}

/// The value with each text that is `old` replaced.
fn replaced(value: &Value, old: &str, new: &str) -> Value {
    match value {
        Value::String(text) if text == old => new.into(),
        Value::Array(list) => list.iter().map(|inner| replaced(inner, old, new)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, inner)| {
                let name = if name == old { new.to_string() } else { name.clone() };
                (name, replaced(inner, old, new))
            })
            .collect(),
        other => other.clone(),
    }
}

/// The value with half of all counts of tokens.
fn halved_usage(value: &Value) -> Value {
    match value {
        Value::Array(list) => list.iter().map(halved_usage).collect(),
        Value::Object(members) => {
            let half = |name: &str, inner: &Value| match inner.as_u64() {
                Some(count) if name.ends_with("_tokens") || name.ends_with("Tokens") => (count / 2).into(),
                _ => halved_usage(inner),
            };
            members.iter().map(|(name, inner)| (name.clone(), half(name, inner))).collect()
        }
        other => other.clone(),
    }
}

/// The run ends in a failure or a success that it was not, with the exit code that belongs to it.
fn endings(base: &Sample, printed: &Printed) -> Vec<Harm> {
    let Some((index, result)) =
        printed.messages.iter().enumerate().rfind(|(_, message)| message["type"] == "result")
    else {
        return Vec::new();
    };
    let with = |what: &str, changed: Value, code: i32| {
        let mut sample = printed.with_one(base, index, changed);
        sample.exit = Some(Exit::with_code(code));
        Harm::printed("result", what, sample)
    };
    let mut changed = result.clone();
    if result["is_error"] == true {
        changed["is_error"] = json!(false);
        changed["subtype"] = json!("success");
        changed["api_error_status"] = Value::Null;
        changed["terminal_reason"] = json!("completed");
        let said = changed.get("errors").and_then(|errors| errors[0].as_str()).unwrap_or("Done.").to_string();
        if changed.get("result").is_none() {
            changed["result"] = json!(said);
        }
        return vec![with("a success, with exit code 0", changed, 0)];
    }
    changed["is_error"] = json!(true);
    let mut limit = result.clone();
    limit["is_error"] = json!(true);
    limit["subtype"] = json!("error_max_turns");
    limit["terminal_reason"] = json!("max_turns");
    vec![with("a failure, with exit code 1", changed, 1), with("a limit, with exit code 1", limit, 1)]
}
