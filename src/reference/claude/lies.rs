//! How the reference target lies when it is told to. An honest program stands behind: only what it was asked, what it
//! sends and what it prints is changed, each at one door.

use serde_json::{Value, json};

use super::flags::Flags;

/// What is said instead of an answer.
const OTHER_TEXT: &str = "I am sorry, something went wrong.";

/// Forgets what the command line asked for.
pub(super) fn disobey(flags: &mut Flags, wrong: &str) {
    match wrong {
        "session-id-ignored" => flags.session_id = None,
        "resume-elsewhere" => flags.fork = true,
        "fork-ignored" => flags.fork = false,
        "continue-ignored" => flags.resume_last = false,
        "model-ignored" => flags.model = None,
        "max-turns-ignored" => flags.max_turns = None,
        "budget-ignored" => flags.max_budget = None,
        "schema-ignored" => flags.json_schema = flags.json_schema.take().map(|_| "{}".into()),
        "permission-mode-ignored" => flags.permission_mode = None,
        "allowed-tools-ignored" => flags.allowed.clear(),
        "disallowed-tools-ignored" => flags.disallowed.clear(),
        "system-prompt-ignored" => (flags.system_prompt, flags.more_system_prompt) = (None, None),
        _ => {}
    }
}

/// Changes the messages of a request.
pub(super) fn sent(messages: &mut Value, wrong: &str) {
    let (role, change): (_, fn(&str) -> String) = match wrong {
        "prompt-cut" => ("user", |text| text.chars().take(1000).collect()),
        "prompt-mangled" => {
            ("user", |text| text.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect())
        }
        "history-lost" => ("assistant", |_| "(forgotten)".into()),
        _ => return,
    };
    for message in items(messages, "").filter(|message| message["role"] == role) {
        for block in items(message, "/content") {
            alter(block, "/text", change);
        }
    }
}

/// What is printed instead of a message: nothing, or one or two others.
pub(super) fn printed(mut message: Value, wrong: &str) -> Vec<Value> {
    let is_kept = match message["type"].as_str() {
        Some("assistant") if message["message"]["model"] != "<synthetic>" => said(&mut message, wrong),
        Some("user") => answered(&mut message, wrong),
        Some("stream_event") => in_parts(&mut message, wrong),
        Some("system") => told(&mut message, wrong),
        Some("result") => {
            summed_up(&mut message, wrong);
            counted(&mut message, wrong);
            true
        }
        _ => true,
    };
    let is_said = message["type"] == "assistant" && message["message"]["model"] != "<synthetic>";
    match (is_kept, is_said && wrong == "message-twice") {
        (false, _) => Vec::new(),
        (true, false) => vec![message],
        (true, true) => vec![message.clone(), message],
    }
}

/// What the model said; whether it is printed at all.
fn said(message: &mut Value, wrong: &str) -> bool {
    if wrong == "other-model-named" {
        message["message"]["model"] = "claude-other-1-0".into();
    }
    let mut is_kept = true;
    for block in items(message, "/message/content") {
        match (block["type"].as_str(), wrong) {
            (Some("text"), _) => alter(block, "/text", |text| reworded(text, wrong)),
            (Some("thinking"), "thinking-altered") => block["thinking"] = OTHER_TEXT.into(),
            (Some("thinking"), "thinking-lost") => is_kept = false,
            (Some("tool_use"), "tool-input-changed") => block["input"] = json!({"command": "rm -rf /"}),
            (Some("tool_use"), "tool-renamed") => block["name"] = "Shell".into(),
            _ => {}
        }
    }
    is_kept
}

/// What a tool answered.
fn answered(message: &mut Value, wrong: &str) -> bool {
    for block in items(message, "/message/content").filter(|block| block["type"] == "tool_result") {
        match wrong {
            "tool-result-altered" => block["content"] = "Everything is fine.".into(),
            "tool-error-hidden" => block["is_error"] = false.into(),
            _ => {}
        }
    }
    true
}

/// A part of what the model says.
fn in_parts(message: &mut Value, wrong: &str) -> bool {
    if wrong == "partial-altered" {
        alter(message, "/event/delta/text", str::to_uppercase);
    }
    !(wrong == "partial-lost" && message["event"]["delta"]["type"] == "text_delta")
}

/// What the program itself tells.
fn told(message: &mut Value, wrong: &str) -> bool {
    match (message["subtype"].as_str(), wrong) {
        (Some("init"), "cwd-wrong") => message["cwd"] = "/elsewhere".into(),
        (Some("init"), "version-wrong") => message["claude_code_version"] = "1.0.0".into(),
        (Some("api_retry"), "retry-status-off") => message["error_status"] = 418.into(),
        (Some("api_retry"), "retry-untold")
        | (Some("task_updated" | "task_notification"), "task-never-ended") => return false,
        _ => {}
    }
    true
}

/// What the result says of the answer.
fn summed_up(result: &mut Value, wrong: &str) {
    if result["is_error"] == true {
        if wrong == "status-off" && result["api_error_status"].is_u64() {
            result["api_error_status"] = 503.into();
        }
        return;
    }
    alter(result, "/result", |text| match wrong {
        "result-replaced" => OTHER_TEXT.into(),
        "result-empty" => String::new(),
        "result-first-chunk" => text.chars().take(5).collect(),
        _ => reworded(text, wrong),
    });
    match wrong {
        "stop-reason-off" => result["stop_reason"] = "max_tokens".into(),
        "denial-hidden" => result["permission_denials"] = json!([]),
        _ => {}
    }
}

/// What the result counts.
fn counted(result: &mut Value, wrong: &str) {
    match wrong {
        "usage-off" => count(result, "/usage/input_tokens", |tokens| tokens + 1000),
        "usage-halved" => members(result, "/usage").for_each(|tokens| count(tokens, "", |tokens| tokens / 2)),
        "usage-zero" => {
            members(result, "/usage").for_each(|tokens| count(tokens, "", |_| 0));
            for model in members(result, "/modelUsage") {
                members(model, "").for_each(|tokens| count(tokens, "", |_| 0));
            }
        }
        "model-usage-off" => members(result, "/modelUsage")
            .for_each(|model| count(model, "/inputTokens", |tokens| tokens + 1000)),
        "other-model-counted" => {
            let usage = members(result, "/modelUsage").next().map(Value::take);
            if let Some(usage) = usage {
                result["modelUsage"] = json!({"claude-other-1-0": usage});
            }
        }
        "cost-zero" => {
            result["total_cost_usd"] = 0.into();
            members(result, "/modelUsage").for_each(|model| model["costUSD"] = 0.into());
        }
        "turns-off" => count(result, "/num_turns", |turns| turns + 3),
        "api-time-off" => count(result, "/duration_api_ms", |ms| ms + 60_000),
        "duration-off" => count(result, "/duration_ms", |_| 3_600_000),
        _ => {}
    }
}

/// A text of the model as it is printed.
fn reworded(text: &str, wrong: &str) -> String {
    match wrong {
        "answer-replaced" => OTHER_TEXT.into(),
        "answer-cut" => text.chars().take(text.chars().count() / 2).collect(),
        "answer-doubled" => text.repeat(2),
        _ => text.into(),
    }
}

/// The items of a list at a place.
fn items<'v>(value: &'v mut Value, at: &str) -> impl Iterator<Item = &'v mut Value> {
    value.pointer_mut(at).and_then(Value::as_array_mut).into_iter().flatten()
}

/// The values of an object at a place.
fn members<'v>(value: &'v mut Value, at: &str) -> impl Iterator<Item = &'v mut Value> {
    let object = value.pointer_mut(at).and_then(Value::as_object_mut);
    object.into_iter().flat_map(|members| members.values_mut())
}

/// Changes the text at a place, where there is one.
fn alter(value: &mut Value, at: &str, change: impl Fn(&str) -> String) {
    if let Some(Value::String(text)) = value.pointer_mut(at) {
        *text = change(text);
    }
}

/// Changes the count at a place, where there is one.
fn count(value: &mut Value, at: &str, change: impl Fn(u64) -> u64) {
    let Some(value) = value.pointer_mut(at) else { return };
    if let Some(number) = value.as_u64() {
        *value = change(number).into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_misbehaviour_nothing_is_changed() {
        let message = json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "Hi"}]}});
        assert_eq!(printed(message.clone(), ""), [message]);
        let mut messages = json!([{"role": "user", "content": [{"type": "text", "text": "Grüße"}]}]);
        sent(&mut messages, "");
        assert_eq!(messages[0]["content"][0]["text"], "Grüße");
    }

    #[test]
    fn a_lie_changes_what_it_names_and_nothing_else() {
        let result =
            json!({"type": "result", "is_error": false, "result": "Yes.", "usage": {"input_tokens": 10}});
        let lied = printed(result.clone(), "usage-halved");
        assert_eq!(lied[0]["usage"]["input_tokens"], 5);
        assert_eq!(lied[0]["result"], "Yes.");
        assert_eq!(printed(result, "result-first-chunk")[0]["result"], "Yes.");
        let thought =
            json!({"type": "assistant", "message": {"content": [{"type": "thinking", "thinking": "Hm"}]}});
        assert!(printed(thought.clone(), "thinking-lost").is_empty());
        assert_eq!(printed(thought, "message-twice").len(), 2);
    }
}
