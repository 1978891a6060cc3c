//! Printing the one envelope, and the ways in which that went wrong in releases.

use serde_json::{Map, Value};

use super::super::{World, complain, print, write};

/// Prints an envelope as claw would, or as a broken claw did; the exit code.
pub(super) fn emit(world: &World, mut envelope: Value, code: u8) -> u8 {
    let is_error = code != 0;
    let message = reason(&envelope);
    let wrong = world.wrong();
    match wrong {
        "prose-on-stderr" if is_error => {
            complain(&format!("error: {message}"));
            return code;
        }
        "bypassed-formatter" if is_error => {
            complain(&format!("error: {message}"));
            return 2;
        }
        "prose-on-stdout" => {
            print(&format!("Done. {message}\n"));
            return 0;
        }
        "empty-stdout" => return 0,
        "error-on-stderr" if is_error => {
            complain(&envelope.to_string());
            return code;
        }
        "exit-code-lie" => set(&mut envelope, "exit_code", u64::from(code == 0).into()),
        "untyped-error" if is_error => {
            if let Some(error) = envelope.as_object_mut() {
                error.shift_remove("kind");
            }
            if let Some(error) = envelope.get_mut("error").and_then(Value::as_object_mut) {
                error.shift_remove("kind");
            }
        }
        "kind-unknown" if is_error => {
            if envelope["error"].is_object() {
                envelope["error"]["kind"] = "unknown".into();
            } else {
                set(&mut envelope, "kind", "unknown".into());
            }
        }
        "sibling-drift" => {
            if let Some(text) = envelope.as_object_mut().and_then(|object| object.shift_remove("message")) {
                set(&mut envelope, "text", text);
            }
        }
        "prose-in-json" => envelope = serde_json::json!({"message": summary(&envelope)}),
        "secret-leak" => {
            let key = world.variable("ANTHROPIC_API_KEY").unwrap_or_default();
            set(&mut envelope, "mcp_env", format!("ANTHROPIC_API_KEY={key}").into());
        }
        _ => {}
    }
    let mut text = envelope.to_string();
    match wrong {
        "duplicate-keys" => text.insert_str(1, "\"status\":\"ok\",\"status\":\"ok\","),
        "not-a-number" => text.insert_str(1, "\"elapsed\":NaN,"),
        "lone-surrogate" => text.insert_str(1, "\"cwd\":\"\\udcff\","),
        _ => {}
    }
    if write(&format!("{text}\n")).is_err() {
        return unwritten(world);
    }
    if wrong == "double-envelope" {
        print("{\"type\":\"error\",\"kind\":\"runtime\",\"error\":\"found failing checks\",\"hint\":null}\n");
    }
    code
}

/// An envelope that nobody gets is a failure, and no panic.
fn unwritten(world: &World) -> u8 {
    match world.wrong() {
        "lost-output-panics" => {
            complain(
                "thread 'main' panicked at library/std/src/io/stdio.rs:1165:9:\nfailed printing to stdout",
            );
            101
        }
        "lost-output-hidden" => 0,
        _ => 1,
    }
}

fn set(envelope: &mut Value, key: &str, value: Value) {
    if let Some(object) = envelope.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

/// What an envelope says for people.
fn reason(envelope: &Value) -> String {
    let error = &envelope["error"];
    error["message"].as_str().or_else(|| error.as_str()).unwrap_or("ok").to_owned()
}

fn summary(envelope: &Value) -> String {
    let keys = envelope.as_object().map(Map::keys).into_iter().flatten();
    keys.map(|key| format!("{key}: {}", envelope[key])).collect::<Vec<_>>().join("\n")
}

/// What an envelope says, for people: a line for each member.
pub(super) fn plain(envelope: &Value) -> String {
    let members = envelope.as_object().into_iter().flatten();
    let lines: Vec<_> = members.map(|(name, value)| format!("{name}={value}\n")).collect();
    lines.concat()
}
