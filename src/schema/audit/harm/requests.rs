//! What the program sent to the API is not what it was asked to send, or not what had been said.

use serde_json::{Value, json};

use super::super::super::fixture::{Sample, set};
use super::{Harm, texts};

/// Changes the requests of a run, as if the program had sent something else.
pub(super) fn harms(base: &Sample) -> Vec<Harm> {
    let requests = base.recorded.get("requests").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut harms = Vec::new();
    for (number, request) in requests.iter().enumerate() {
        if request["kind"] != "turn" || !request["json"].is_object() {
            continue;
        }
        for (place, what, pointer, new) in changes(request, base) {
            let mut changed = request.clone();
            if request.pointer(&pointer) == Some(&new) || set(&mut changed, &pointer, new.clone()).is_none() {
                continue;
            }
            // What is said of a body beside it follows it.
            if pointer == "/json/model" && changed.pointer("/body/model").is_some() {
                changed["body"]["model"] = new;
            }
            let mut sample = base.clone();
            if let Some(slot) = sample.recorded.get_mut("requests").and_then(|list| list.get_mut(number)) {
                *slot = changed;
            }
            let what = format!("request {} {what}", number + 1);
            harms.push(Harm { place: format!("request {place}"), what, in_request: true, sample });
        }
    }
    harms
}

type Change = (&'static str, String, String, Value);

fn changes(request: &Value, base: &Sample) -> Vec<Change> {
    let argv = base.argv.clone().unwrap_or_default();
    let flag = |name: &str| argv.iter().position(|word| word == name).and_then(|at| argv.get(at + 1));
    // What a tool said is known where it is printed.
    let is_printed = argv.iter().any(|word| word == "stream-json" || word == "--verbose");
    let is_asked_by_agent = request.pointer("/body/agent").is_some_and(Value::is_string);
    let mut all: Vec<Change> = Vec::new();
    let mut add = |place, what: &str, pointer: &str, new: Value| {
        all.push((place, what.to_string(), pointer.to_string(), new));
    };
    if flag("--model").is_some() && !is_asked_by_agent {
        add("model", "asks another", "/json/model", json!("claude-opus-4-1"));
    }
    add("key", "has another", "/credential", json!("other"));
    add("key", "has none", "/credential", json!("absent"));
    add("system", "emptied", "/json/system", json!([]));
    add("tools", "emptied", "/json/tools", json!([]));
    let system = request.pointer("/json/system").and_then(Value::as_array).cloned().unwrap_or_default();
    if let Some(rule) = flag("--append-system-prompt") {
        let has_rule = |part: &&Value| part["text"].as_str().is_some_and(|text| text.contains(rule));
        let others: Vec<Value> = system.iter().filter(|part| !has_rule(part)).cloned().collect();
        add("system", "without the rule that was asked for", "/json/system", others.into());
    }
    let messages = request.pointer("/json/messages").and_then(Value::as_array).cloned().unwrap_or_default();
    if messages.len() > 1 {
        add("history", "lost", "/json/messages", messages[messages.len() - 1..].to_vec().into());
        add("history", "without its beginning", "/json/messages", messages[1..].to_vec().into());
        let asked: Vec<Value> =
            messages.iter().filter(|message| message["role"] != "assistant").cloned().collect();
        add("history", "without the answers", "/json/messages", asked.into());
    }
    for (index, message) in messages.iter().enumerate().filter(|(_, message)| message["role"] != "system") {
        let said = if message["role"] == "assistant" { "history" } else { "prompt" };
        if let Some(text) = message["content"].as_str() {
            for (what, new) in texts::changes(text).into_iter().filter(|_| is_said(text)) {
                if !adds(what) {
                    add(said, what, &format!("/json/messages/{index}/content"), new.into());
                }
            }
        }
        for (at, block) in message["content"].as_array().into_iter().flatten().enumerate() {
            let here = format!("/json/messages/{index}/content/{at}");
            let (place, name) = match block["type"].as_str() {
                Some("text") => (said, "text"),
                Some("thinking") => ("history", "thinking"),
                Some("tool_result") => ("tool result", "content"),
                Some("tool_use") => {
                    add(
                        "history",
                        "with another tool input",
                        &format!("{here}/input"),
                        json!({"command": "rm -rf /"}),
                    );
                    add("history", "with another tool", &format!("{here}/name"), json!("Telepathy"));
                    add(
                        "history",
                        "with another id of a tool call",
                        &format!("{here}/id"),
                        json!("toolu_other"),
                    );
                    continue;
                }
                _ => continue,
            };
            if place == "tool result" && is_printed {
                let failed = block["is_error"] == true;
                add(place, "with is_error flipped", &format!("{here}/is_error"), json!(!failed));
            }
            if place == "tool result" {
                add(place, "of another call", &format!("{here}/tool_use_id"), json!("toolu_other"));
            }
            let inner = block[name]
                .get(0)
                .and_then(|first| first["text"].as_str())
                .filter(|_| place == "tool result");
            let pointer =
                if inner.is_some() { format!("{here}/content/0/text") } else { format!("{here}/{name}") };
            let Some(text) = inner.or(block[name].as_str()).filter(|text| is_said(text)) else { continue };
            // What follows is the program's own.
            let text = text.split("<system-reminder>").next().unwrap_or_default().trim_end();
            for (what, new) in texts::changes(text) {
                if if place == "tool result" { is_printed } else { !adds(what) } {
                    add(place, what, &pointer, new.into());
                }
            }
        }
    }
    // Whether a sub-agent keeps rules and tools of its own is its affair.
    all.retain(|(place, ..)| !is_asked_by_agent || !["system", "tools"].contains(place));
    all
}

/// Programs add to what is asked: what else a message says is theirs.
fn adds(what: &str) -> bool {
    ["twice", "with a sentence more"].contains(&what)
}

/// Reminders are the program's own words.
fn is_said(text: &str) -> bool {
    !text.trim_start().starts_with("<system-reminder>")
}
