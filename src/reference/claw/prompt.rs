//! A question to the model.

use std::fs;
use std::io::Read as _;
use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::answer::{Usage, text};
use super::super::api::{Api, Failure};
use super::super::interrupt::on_interrupt;
use super::super::{World, complain};
use super::arguments::Arguments;
use super::envelope::emit;
use super::flat::{Done, Error};
use super::{servers, store};

pub(super) const MODEL: &str = "claude-opus-4-5";

pub(super) fn prompt(world: &World, arguments: &Arguments) -> Done {
    let mut question = arguments.prompt.clone().unwrap_or_default();
    if question.is_empty() || question == "-" {
        question.clear();
        // What cannot be read was not asked.
        _ = std::io::stdin().read_to_string(&mut question);
    }
    if question.trim().is_empty() {
        return Err(Error::new("parse", "-p needs a question", Some("claw -p \"…\"")));
    }
    let seconds = world.variable("CLAW_API_REQUEST_TIMEOUT").and_then(|text| text.parse::<u64>().ok());
    let api = Api { patience: seconds.map(Duration::from_secs), ..Api::of(world) };
    if api.key.is_none() {
        return Err(Error::new("missing_credentials", "no API key", Some("set ANTHROPIC_API_KEY")));
    }
    listen_for_interrupt(world, arguments);
    let _servers = servers::start(world);
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
        let answer =
            api.ask(&body, None, &mut |_| ControlFlow::Continue(())).map_err(|failure| explain(&failure))?;
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
    // A session that cannot be kept is no reason to lose the answer.
    _ = store::save(
        store::FOLDER,
        "session-reference",
        &json!({"role": "assistant", "text": message}).to_string(),
    );
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

/// An interrupt is told like any other failure.
fn listen_for_interrupt(world: &World, arguments: &Arguments) {
    let is_json = arguments.json;
    let world = World { args: Vec::new(), has_bytes: false, variables: world.variables, wrong: world.wrong };
    on_interrupt(move || {
        let error = Error::new("interrupted", "interrupted by the user", None);
        if is_json {
            return emit(&world, error.envelope(), 1);
        }
        complain(&format!("error: {}", error.message));
        1
    });
}

fn tool(name: &str, input: &Value) -> (String, bool) {
    match name {
        "read_file" => match fs::read_to_string(text(&input["path"])) {
            Ok(content) => (content, false),
            Err(error) => (error.to_string(), true),
        },
        "bash" => ("denied: nobody is there to approve it".into(), true),
        "AskUserQuestion" => ("nobody is there to answer".into(), true),
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
