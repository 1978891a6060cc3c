//! claw with nested errors: the thirteen commands and `turn-loop`, of schema version 1.0 and 2.0.

use std::fs;

use serde_json::{Map, Value, json};

use super::super::{World, complain, print};
use super::arguments::Arguments;
use super::envelope::emit;
use super::store;
use crate::time;

/// The commands and tools that it knows, with what they are for.
const COMMANDS: [(&str, &str, &str); 2] = [
    ("add-dir", "commands/add-dir/add-dir.tsx", "adds a directory to the workspace"),
    ("init", "commands/init/init.tsx", "writes a first configuration"),
];
const TOOLS: [(&str, &str, &str); 2] = [
    ("BashTool", "tools/BashTool/BashTool.tsx", "runs a command"),
    ("FileReadTool", "tools/FileReadTool/FileReadTool.tsx", "reads a file"),
];

enum Done {
    Ok(Value),
    /// The fields of the answer, and the error.
    Failed(Value, Value),
    Timeout(Value),
}

/// Runs it; the exit code.
pub(in crate::reference) fn main(world: &World, version: &str) -> u8 {
    let arguments = Arguments::read(world);
    let verb = arguments.verb.clone().unwrap_or_default();
    let folder = arguments.option("--directory").unwrap_or(store::FOLDER).to_owned();
    let done = match &arguments.unknown_flag {
        Some(flag) => parse_error(&verb, &format!("unrecognized arguments: {flag}")),
        None => command(&verb, &arguments, &folder, version),
    };
    let (fields, code) = match done {
        Done::Ok(fields) => (fields, 0),
        Done::Timeout(fields) => (fields, 2),
        Done::Failed(mut fields, error) => {
            if error["kind"] == "parse" && world.is_wrong("usage-on-stderr") {
                complain(&format!(
                    "usage: claw COMMAND\nclaw: error: {}",
                    error["message"].as_str().unwrap_or_default()
                ));
                return 2;
            }
            fields["error"] = error;
            (fields, 1)
        }
    };
    if !arguments.json {
        let message = fields["error"]["message"].as_str();
        match message {
            Some(message) => complain(&format!("error: {message}")),
            None => print(&format!("{fields:#}\n")),
        }
        return if code == 1 && world.is_wrong("text-exit-differs") { 0 } else { code };
    }
    let mut envelope = Map::new();
    envelope.insert("timestamp".into(), time::rfc3339(time::now()).into());
    envelope.insert("command".into(), verb.into());
    envelope.insert("exit_code".into(), code.into());
    envelope.insert("output_format".into(), "json".into());
    envelope.insert("schema_version".into(), version.into());
    if let Value::Object(fields) = fields {
        envelope.extend(fields);
    }
    emit(world, Value::Object(envelope), code)
}

fn parse_error(verb: &str, message: &str) -> Done {
    let error = json!({
        "kind": "parse", "operation": "argparse", "target": verb, "retryable": false, "message": message,
        "hint": "run `claw --help`",
    });
    Done::Failed(json!({}), error)
}

fn not_found(kind: &str, name: &str, message: &str, version: &str) -> Done {
    if version == "2.0" {
        let error = json!({
            "kind": kind, "operation": "lookup", "target": name, "retryable": false, "message": message,
            "hint": "use 'list-sessions'",
        });
        return Done::Failed(json!({}), error);
    }
    Done::Failed(
        json!({"name": name, "found": false}),
        json!({"kind": kind, "message": message, "retryable": false}),
    )
}

fn filesystem(operation: &str, target: &str, error: &std::io::Error) -> Done {
    let error = json!({
        "kind": "filesystem", "operation": operation, "target": target, "retryable": true,
        "message": error.to_string(), "hint": "choose another directory",
    });
    Done::Failed(json!({}), error)
}

#[expect(clippy::too_many_lines, reason = "one arm a command, each a few lines")]
fn command(verb: &str, arguments: &Arguments, folder: &str, version: &str) -> Done {
    let first = arguments.words.first().map(String::as_str);
    let needs = |what: &str| parse_error(verb, &format!("the following arguments are required: {what}"));
    match verb {
        "list-sessions" => {
            let session = |id: &String| {
                json!({
                    "session_id": id, "created_at": "2026-04-21T15:30:00Z", "last_modified": "2026-04-22T09:45:00Z",
                    "prompt_count": 1, "stopped": false,
                })
            };
            let sessions: Vec<Value> = store::list(folder).iter().map(session).collect();
            Done::Ok(json!({"directory": folder, "sessions_count": sessions.len(), "sessions": sessions}))
        }
        "load-session" | "delete-session" => {
            let Some(id) = first else { return needs("session_id") };
            let path = store::path(folder, id);
            if !path.is_file() {
                return not_found("session_not_found", id, &format!("session '{id}' not found"), version);
            }
            if verb == "load-session" {
                return Done::Ok(
                    json!({"session_id": id, "loaded": true, "directory": folder, "path": path}),
                );
            }
            match fs::remove_file(&path) {
                Ok(()) => Done::Ok(json!({"session_id": id, "deleted": true, "directory": folder})),
                Err(error) => filesystem("delete", &path.display().to_string(), &error),
            }
        }
        "flush-transcript" => {
            let Some(prompt) = first else { return needs("prompt") };
            match store::save(folder, "sess_ref", prompt) {
                Ok(path) => Done::Ok(json!({
                    "session_id": "sess_ref", "path": path, "flushed": true, "messages_count": 2,
                    "input_tokens": prompt.len(), "output_tokens": 5,
                })),
                Err(error) => filesystem("write", folder, &error),
            }
        }
        "show-command" | "show-tool" => {
            let Some(name) = first else { return needs("name") };
            match known(verb, name) {
                Ok((name, source, what)) => Done::Ok(
                    json!({"name": name, "found": true, "source_hint": source, "responsibility": what}),
                ),
                Err((kind, message)) => not_found(kind, name, &message, version),
            }
        }
        "exec-command" | "exec-tool" => {
            let Some(name) = first else { return needs("name") };
            match known(verb, name) {
                Ok((name, source, _)) => {
                    let said = arguments.words.get(1).cloned().unwrap_or_default();
                    let key = if verb == "exec-tool" { "payload" } else { "prompt" };
                    Done::Ok(json!({
                        "name": name, key: said, "handled": true, "message": "done", "source_hint": source,
                    }))
                }
                Err((kind, message)) => not_found(kind, name, &message, version),
            }
        }
        "route" => {
            let Some(prompt) = first else { return needs("prompt") };
            let limit =
                arguments.option("--limit").and_then(|limit| limit.parse::<usize>().ok()).unwrap_or(5);
            let matches = routed(limit);
            Done::Ok(
                json!({"prompt": prompt, "limit": limit, "match_count": matches.len(), "matches": matches}),
            )
        }
        "bootstrap" => {
            let Some(prompt) = first else { return needs("prompt") };
            match store::save(folder, "sess_boot", prompt) {
                Ok(path) => Done::Ok(json!({
                    "prompt": prompt,
                    "setup": {"python_version": "3.13.12", "implementation": "CPython", "platform_name": "linux",
                              "test_command": "pytest"},
                    "routed_matches": routed(5), "turn": turn(prompt, "completed"), "persisted_session_path": path,
                })),
                Err(error) => filesystem("write", folder, &error),
            }
        }
        "turn-loop" => {
            let Some(prompt) = first else { return needs("prompt") };
            let limit = arguments.option("--timeout-seconds").and_then(|limit| limit.parse::<f64>().ok());
            let stop = if limit.is_some_and(|limit| limit <= 0.0) { "timeout" } else { "completed" };
            let fields = json!({
                "prompt": prompt, "max_turns": 3, "turns_completed": 1, "timeout_seconds": limit,
                "continuation_prompt": null, "turns": [turn(prompt, stop)], "final_stop_reason": stop,
                "final_cancel_observed": stop == "timeout",
            });
            if stop == "timeout" { Done::Timeout(fields) } else { Done::Ok(fields) }
        }
        "command-graph" => {
            let builtins: Vec<Value> = COMMANDS
                .iter()
                .map(|(name, source, _)| json!({"name": name, "source_hint": source}))
                .collect();
            Done::Ok(json!({
                "builtins_count": builtins.len(), "plugin_like_count": 0, "skill_like_count": 0,
                "total_count": builtins.len(), "builtins": builtins, "plugin_like": [], "skill_like": [],
            }))
        }
        "tool-pool" => {
            let tools: Vec<Value> =
                TOOLS.iter().map(|(name, source, _)| json!({"name": name, "source_hint": source})).collect();
            Done::Ok(
                json!({"simple_mode": false, "include_mcp": true, "tool_count": tools.len(), "tools": tools}),
            )
        }
        "bootstrap-graph" => {
            Done::Ok(json!({"stages": ["load", "route", "answer"], "note": "markdown only in this version"}))
        }
        "" => parse_error(verb, "the following arguments are required: command"),
        other => parse_error(other, &format!("invalid choice: '{other}'")),
    }
}

fn known(
    verb: &str,
    name: &str,
) -> Result<(&'static str, &'static str, &'static str), (&'static str, String)> {
    let (list, kind, what) = if verb.ends_with("tool") {
        (TOOLS, "tool_not_found", "tool")
    } else {
        (COMMANDS, "command_not_found", "command")
    };
    list.into_iter()
        .find(|(known, ..)| *known == name)
        .ok_or_else(|| (kind, format!("Unknown {what}: {name}")))
}

fn routed(limit: usize) -> Vec<Value> {
    COMMANDS
        .iter()
        .take(limit)
        .map(|(name, source, _)| json!({"kind": "command", "name": name, "score": 0.92, "source_hint": source}))
        .collect()
}

fn turn(prompt: &str, stop: &str) -> Value {
    json!({"prompt": prompt, "output": "done", "stop_reason": stop, "cancel_observed": stop == "timeout"})
}
