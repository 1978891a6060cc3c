//! claw with flat envelopes: a question, `status`, `export`, `turn-loop`, and their errors.

use std::fs;
use std::io::Read as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::answer::{Usage, text};
use super::super::api::{Api, Failure};
use super::super::{World, complain, print};
use super::arguments::Arguments;
use super::envelope::emit;
use super::store;

const MODEL: &str = "claude-opus-4-5";

/// An error as the contract has it.
struct Error {
    kind: &'static str,
    message: String,
    hint: Option<&'static str>,
    retryable: bool,
}

impl Error {
    fn new(kind: &'static str, message: impl Into<String>, hint: Option<&'static str>) -> Self {
        Self { kind, message: message.into(), hint, retryable: false }
    }
}

/// Runs it; the exit code.
pub(in crate::reference) fn main(world: &World) -> u8 {
    let arguments = Arguments::read(world);
    let done = match (&arguments.unknown_flag, arguments.verb.as_deref()) {
        (Some(flag), _) if !world.is_wrong("fall-through") => {
            Err(Error::new("parse", format!("unknown option: {flag}"), Some("run `claw --help`")))
        }
        (_, Some("prompt")) => prompt(world, &arguments),
        (_, Some("status")) => Ok((status(world), 0)),
        (_, Some("export")) => export(&arguments),
        (_, Some("turn-loop")) => Ok(turn_loop(&arguments)),
        (_, Some("version")) => Ok((json!({"kind": "version", "status": "ok", "version": "0.1.3"}), 0)),
        (_, None) => Err(Error::new("parse", "no command was given", Some("run `claw --help`"))),
        (flag, Some(verb)) => {
            if world.is_wrong("fall-through") {
                let asked = Arguments {
                    prompt: Some(flag.clone().unwrap_or_else(|| verb.to_owned())),
                    json: arguments.json,
                    ..Arguments::default()
                };
                prompt(world, &asked)
            } else {
                Err(Error::new("parse", format!("unknown command: {verb}"), Some("run `claw --help`")))
            }
        }
    };
    finish(world, &arguments, done)
}

fn finish(world: &World, arguments: &Arguments, done: Result<(Value, u8), Error>) -> u8 {
    let is_json = arguments.json && !(arguments.compact && world.is_wrong("compact-wins"));
    match done {
        Ok((envelope, code)) if is_json => emit(world, envelope, code),
        Ok((envelope, code)) => {
            let said = envelope["message"].as_str().map_or_else(|| envelope.to_string(), str::to_owned);
            print(&format!("{said}\n"));
            code
        }
        Err(error) if error.kind == "parse" && world.is_wrong("usage-on-stderr") => {
            complain(&format!("usage: claw [-p PROMPT] COMMAND\nclaw: error: {}", error.message));
            2
        }
        Err(error) if is_json => {
            let envelope = json!({
                "type": "error", "error": error.message, "kind": error.kind, "hint": error.hint,
                "retryable": error.retryable,
            });
            emit(world, envelope, 1)
        }
        Err(error) => {
            complain(&format!("error: {}", error.message));
            u8::from(!world.is_wrong("text-exit-differs"))
        }
    }
}

fn prompt(world: &World, arguments: &Arguments) -> Result<(Value, u8), Error> {
    let mut question = arguments.prompt.clone().unwrap_or_default();
    if question.is_empty() || question == "-" {
        question.clear();
        // What cannot be read was not asked.
        _ = std::io::stdin().read_to_string(&mut question);
    }
    if question.trim().is_empty() {
        return Err(Error::new("parse", "-p needs a question", Some("claw -p \"…\"")));
    }
    let api = Api::of(world);
    if api.key.is_none() {
        return Err(Error::new("missing_credentials", "no API key", Some("set ANTHROPIC_API_KEY")));
    }
    let model = arguments.option("--model").unwrap_or(MODEL);
    let mut messages = vec![json!({"role": "user", "content": question})];
    let (mut usage, mut iterations) = (Usage::default(), 0);
    let (mut uses, mut results) = (Vec::new(), Vec::new());
    let answer = loop {
        let schema = json!({"type": "object"});
        let body = json!({
            "model": model, "max_tokens": 4096, "stream": true, "messages": messages,
            "tools": [{"name": "read_file", "description": "Reads a file", "input_schema": schema},
                      {"name": "bash", "description": "Runs a command", "input_schema": schema}],
        });
        let answer = api.ask(&body, None, &mut |_| {}).map_err(|failure| explain(&failure))?;
        usage.add(answer.usage);
        iterations += 1;
        let calls = answer.tool_calls();
        if calls.is_empty() {
            break answer;
        }
        messages.push(json!({"role": "assistant", "content": answer.blocks}));
        let mut said = Vec::new();
        for (id, name, input) in calls {
            let (output, is_error) = tool(&name, &input);
            uses.push(json!({"id": id, "name": name, "input": input.to_string()}));
            results
                .push(json!({"tool_use_id": id, "tool_name": name, "output": output, "is_error": is_error}));
            said.push(
                json!({"type": "tool_result", "tool_use_id": id, "content": output, "is_error": is_error}),
            );
        }
        messages.push(json!({"role": "user", "content": said}));
    };
    let usage_json = json!({
        "input_tokens": usage.input, "output_tokens": usage.output,
        "cache_creation_input_tokens": usage.cache_creation, "cache_read_input_tokens": usage.cache_read,
    });
    let message = answer.last_text();
    let envelope = if arguments.compact {
        json!({"message": message, "compact": true, "model": model, "usage": usage_json})
    } else {
        let cost = usage.input as f64 * 5e-6 + usage.output as f64 * 25e-6;
        json!({
            "message": message, "model": model, "iterations": iterations, "auto_compaction": null, "tool_uses": uses,
            "tool_results": results, "prompt_cache_events": [], "usage": usage_json,
            "estimated_cost": format!("${cost:.4}"),
        })
    };
    Ok((envelope, 0))
}

fn tool(name: &str, input: &Value) -> (String, bool) {
    match name {
        "read_file" => match fs::read_to_string(text(&input["path"])) {
            Ok(content) => (content, false),
            Err(error) => (error.to_string(), true),
        },
        other => (format!("no such tool: {other}"), true),
    }
}

fn explain(failure: &Failure) -> Error {
    let (kind, hint) = match (failure.status, failure.kind.as_str()) {
        (Some(401 | 403), _) => ("api_auth_error", "check ANTHROPIC_API_KEY"),
        (Some(429), _) => ("api_rate_limit_error", "wait and try again"),
        (None, "connection") => ("api_connection_error", "check the network"),
        _ => ("api_http_error", "see the status page of the provider"),
    };
    let mut error = Error::new(kind, failure.message.clone(), Some(hint));
    error.retryable = failure.is_transient();
    error
}

fn status(world: &World) -> Value {
    let broken = fs::read(".claw.json").ok().and_then(|text| serde_json::from_slice::<Value>(&text).err());
    let load_error =
        broken.filter(|_| !world.is_wrong("lying-status")).map(|error| format!(".claw.json: {error}"));
    json!({
        "kind": "status", "status": if load_error.is_some() { "degraded" } else { "ok" },
        "config_load_error": load_error, "model": MODEL, "model_source": "default", "model_raw": null,
        "permission_mode": "workspace-write",
        "usage": {"messages": 0, "turns": 0, "latest_total": 0, "cumulative_input": 0, "cumulative_output": 0,
                  "cumulative_total": 0, "estimated_tokens": 0},
        "workspace": {"cwd": std::env::current_dir().unwrap_or_default(), "project_root": null, "git_branch": null,
                      "git_state": "unknown", "changed_files": 0},
    })
}

fn export(arguments: &Arguments) -> Result<(Value, u8), Error> {
    let id = arguments.option("--session").unwrap_or("latest");
    let stored = store::path(store::FOLDER, id);
    let Ok(text) = fs::read_to_string(&stored) else {
        return Err(Error::new(
            "session_not_found",
            format!("session not found: {id}"),
            Some("use /session list"),
        ));
    };
    let into = arguments.words.first().cloned().unwrap_or_else(|| format!("{id}.md"));
    fs::write(&into, text).map_err(|error| Error {
        retryable: true,
        ..Error::new("filesystem", format!("{into}: {error}"), Some("choose another directory"))
    })?;
    Ok((json!({"kind": "export", "status": "ok", "session_id": id, "file": into}), 0))
}

fn turn_loop(arguments: &Arguments) -> (Value, u8) {
    let limit = arguments.option("--timeout-seconds").and_then(|text| text.parse::<f64>().ok());
    match limit.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
        Some(limit) if limit.is_zero() => {
            (json!({"final_stop_reason": "timeout", "final_cancel_observed": true}), 2)
        }
        _ => (
            json!({"kind": "turn-loop", "status": "ok", "final_stop_reason": "completed", "final_cancel_observed": false}),
            0,
        ),
    }
}
