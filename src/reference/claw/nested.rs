//! claw with nested errors: the thirteen commands and `turn-loop`, of schema version 1.0 and 2.0.

use std::fs;

use serde_json::{Value, json};

use super::super::{World, complain, print};
use super::arguments::Arguments;
use super::envelope::{emit, plain};
use super::store;
use crate::time;

/// What it can be asked to do.
const VERBS: [&str; 14] = [
    "list-sessions",
    "delete-session",
    "load-session",
    "flush-transcript",
    "show-command",
    "show-tool",
    "exec-command",
    "exec-tool",
    "route",
    "bootstrap",
    "command-graph",
    "tool-pool",
    "bootstrap-graph",
    "turn-loop",
];

/// The commands and tools that it knows, with what they are for.
const COMMANDS: [Known; 2] = [
    ("add-dir", "commands/add-dir/add-dir.tsx", "adds a directory to the workspace"),
    ("init", "commands/init/init.tsx", "writes a first configuration"),
];
const TOOLS: [Known; 2] = [
    ("BashTool", "tools/BashTool/BashTool.tsx", "runs a command"),
    ("FileReadTool", "tools/FileReadTool/FileReadTool.tsx", "reads a file"),
];

/// The fields of an answer with the exit code, or those of an answer that is an error.
type Outcome = Result<(Value, u8), Box<Failed>>;

struct Failed {
    fields: Value,
    error: Value,
}

/// Runs one command and prints its envelope, or text for people; the exit code.
pub(in crate::reference) fn main(world: &World, version: &str) -> u8 {
    let arguments = Arguments::read(world);
    let verb = arguments.verb.clone().unwrap_or_default();
    let folder = arguments.option("--directory").unwrap_or(store::FOLDER).to_owned();
    let outcome = match arguments.mistake("unrecognized arguments") {
        Some(mistake) => Err(parse_error(&verb, &mistake)),
        None => command(&verb, &arguments, &folder, version),
    };
    let (fields, code) = match outcome {
        Ok(done) => done,
        Err(failed) if failed.error["kind"] == "parse" && world.is_wrong("usage-on-stderr") => {
            let message = failed.error["message"].as_str().unwrap_or_default();
            complain(&format!("usage: claw COMMAND\nclaw: error: {message}"));
            return 2;
        }
        Err(failed) => {
            let Failed { mut fields, error } = *failed;
            fields["error"] = error;
            (fields, 1)
        }
    };
    if !arguments.json {
        match fields["error"]["message"].as_str() {
            Some(message) => complain(&format!("error: {message}")),
            None => print(&plain(&fields)),
        }
        return if code == 1 && world.is_wrong("text-exit-differs") { 0 } else { code };
    }
    let mut envelope = json!({
        "timestamp": time::rfc3339(time::now()), "command": verb, "exit_code": code, "output_format": "json",
        "schema_version": version,
    });
    if let (Some(envelope), Value::Object(fields)) = (envelope.as_object_mut(), fields) {
        envelope.extend(fields);
    }
    emit(world, envelope, code)
}

/// An error in all its fields.
fn failed(kind: &str, operation: &str, target: &str, message: &str, hint: &str) -> Box<Failed> {
    let error = json!({
        "kind": kind, "operation": operation, "target": target, "retryable": kind == "filesystem",
        "message": message, "hint": hint,
    });
    Box::new(Failed { fields: json!({}), error })
}

fn parse_error(verb: &str, message: &str) -> Box<Failed> {
    failed("parse", "argparse", verb, message, "run `claw --help`")
}

fn unknown(verb: &str) -> Box<Failed> {
    parse_error(verb, &format!("invalid choice: '{verb}' (choose from {})", VERBS.join(", ")))
}

fn not_found(kind: &str, name: &str, message: &str, version: &str) -> Box<Failed> {
    if version == "2.0" {
        return failed(kind, "lookup", name, message, "use 'list-sessions'");
    }
    Box::new(Failed {
        fields: json!({"name": name, "found": false}),
        error: json!({"kind": kind, "message": message, "retryable": false}),
    })
}

fn filesystem(operation: &str, target: &str, error: &std::io::Error) -> Box<Failed> {
    failed("filesystem", operation, target, &error.to_string(), "choose another directory")
}

fn command(verb: &str, arguments: &Arguments, folder: &str, version: &str) -> Outcome {
    let first = |what: &str| {
        let missing = || parse_error(verb, &format!("the following arguments are required: {what}"));
        arguments.words.first().map(String::as_str).ok_or_else(missing)
    };
    let save = |id: &str, prompt: &str| {
        store::save(folder, id, prompt).map_err(|error| filesystem("write", folder, &error))
    };
    let fields = match verb {
        "list-sessions" => {
            let sessions: Vec<Value> = store::list(folder)
                .iter()
                .map(|id| {
                    json!({
                        "session_id": id, "created_at": "2026-04-21T15:30:00Z",
                        "last_modified": "2026-04-22T09:45:00Z", "prompt_count": 1, "stopped": false,
                    })
                })
                .collect();
            json!({"directory": folder, "sessions_count": sessions.len(), "sessions": sessions})
        }
        "load-session" | "delete-session" => {
            let id = first("session_id")?;
            let path = store::path(folder, id);
            if !path.is_file() {
                let message = format!("session '{id}' not found");
                return Err(not_found("session_not_found", id, &message, version));
            }
            if verb == "load-session" {
                json!({"session_id": id, "loaded": true, "directory": folder, "path": path})
            } else {
                let target = path.display().to_string();
                fs::remove_file(&path).map_err(|error| filesystem("delete", &target, &error))?;
                json!({"session_id": id, "deleted": true, "directory": folder})
            }
        }
        "flush-transcript" => {
            let prompt = first("prompt")?;
            let id = arguments.option("--session-id").unwrap_or("sess_ref");
            let path = save(id, prompt)?;
            json!({
                "session_id": id, "path": path, "flushed": true, "messages_count": 2,
                "input_tokens": prompt.len(), "output_tokens": 5,
            })
        }
        "show-command" | "show-tool" => {
            let (name, source, what) = known(verb, first("name")?, version)?;
            json!({"name": name, "found": true, "source_hint": source, "responsibility": what})
        }
        "exec-command" | "exec-tool" => {
            let (name, source, _) = known(verb, first("name")?, version)?;
            let said = arguments.words.get(1).cloned().unwrap_or_default();
            let key = if verb == "exec-tool" { "payload" } else { "prompt" };
            json!({"name": name, key: said, "handled": true, "message": "done", "source_hint": source})
        }
        "route" => {
            let prompt = first("prompt")?;
            let limit = arguments.option("--limit").and_then(|limit| limit.parse().ok()).unwrap_or(5);
            let matches = routed(limit);
            json!({"prompt": prompt, "limit": limit, "match_count": matches.len(), "matches": matches})
        }
        "bootstrap" => {
            let prompt = first("prompt")?;
            let path = save("sess_boot", prompt)?;
            json!({
                "prompt": prompt,
                "setup": {"python_version": "3.13.12", "implementation": "CPython", "platform_name": "linux",
                          "test_command": "pytest"},
                "routed_matches": routed(5), "turn": turn(prompt, "completed"), "persisted_session_path": path,
            })
        }
        "turn-loop" => {
            let prompt = first("prompt")?;
            let limit = arguments.option("--timeout-seconds").and_then(|limit| limit.parse::<f64>().ok());
            let timed_out = limit.is_some_and(|limit| limit <= 0.0);
            let stop = if timed_out { "timeout" } else { "completed" };
            let fields = json!({
                "prompt": prompt, "max_turns": 3, "turns_completed": 1, "timeout_seconds": limit,
                "continuation_prompt": null, "turns": [turn(prompt, stop)], "final_stop_reason": stop,
                "final_cancel_observed": timed_out,
            });
            return Ok((fields, if timed_out { 2 } else { 0 }));
        }
        "command-graph" => {
            let builtins = named(&COMMANDS);
            json!({
                "builtins_count": builtins.len(), "plugin_like_count": 0, "skill_like_count": 0,
                "total_count": builtins.len(), "builtins": builtins, "plugin_like": [], "skill_like": [],
            })
        }
        "tool-pool" => {
            let tools = named(&TOOLS);
            json!({"simple_mode": false, "include_mcp": true, "tool_count": tools.len(), "tools": tools})
        }
        "bootstrap-graph" => {
            json!({"stages": ["load", "route", "answer"], "note": "markdown only in this version"})
        }
        "" => return Err(parse_error(verb, "the following arguments are required: command")),
        other => return Err(unknown(other)),
    };
    Ok((fields, 0))
}

/// A command or tool: its name, its source and what it is for.
type Known = (&'static str, &'static str, &'static str);

fn known(verb: &str, name: &str, version: &str) -> Result<Known, Box<Failed>> {
    let (list, kind, what) = if verb.ends_with("tool") {
        (TOOLS, "tool_not_found", "tool")
    } else {
        (COMMANDS, "command_not_found", "command")
    };
    list.into_iter()
        .find(|(known, ..)| *known == name)
        .ok_or_else(|| not_found(kind, name, &format!("Unknown {what}: {name}"), version))
}

fn named(list: &[Known]) -> Vec<Value> {
    list.iter().map(|(name, source, _)| json!({"name": name, "source_hint": source})).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_thing_is_told_as_its_version_tells_it() {
        let arguments = Arguments { words: vec!["nosuch".into()], ..Arguments::default() };
        let Err(old) = command("show-tool", &arguments, "/nowhere", "1.0") else { panic!("found") };
        assert_eq!(old.fields, json!({"name": "nosuch", "found": false}));
        assert_eq!(old.error["kind"], "tool_not_found");
        let Err(new) = command("show-tool", &arguments, "/nowhere", "2.0") else { panic!("found") };
        assert_eq!((&new.fields, &new.error["operation"]), (&json!({}), &json!("lookup")));
        let arguments = Arguments { words: vec!["BashTool".into()], ..Arguments::default() };
        let Ok((shown, code)) = command("show-tool", &arguments, "/nowhere", "1.0") else { panic!() };
        assert_eq!((&shown["found"], code), (&json!(true), 0));
    }

    #[test]
    fn only_a_turn_loop_without_time_times_out() {
        let loop_with = |seconds: &str| {
            let options = vec![("--timeout-seconds".to_owned(), seconds.to_owned())];
            let arguments = Arguments { words: vec!["go".into()], options, ..Arguments::default() };
            command("turn-loop", &arguments, "/nowhere", "1.0").map(|(_, code)| code).ok()
        };
        assert_eq!((loop_with("0"), loop_with("5")), (Some(2), Some(0)));
    }
}
