//! An answer as the Responses API says it: one response, or the events that stream it.

use serde_json::{Map, Value, json};

use super::DATA;
use crate::harness::mock::answer::{Answer, signature, tool_id};
use crate::harness::mock::dialect::{ApiError, Asked, openai};
use crate::harness::mock::script::{Block, ToolInput};
use crate::harness::mock::sse::Events;

/// The response of an answer without a stream.
pub(super) fn message(answer: &Answer, asked: Asked<'_>) -> Value {
    let output = answer.blocks().map(|(block, letters)| item(answer, block, letters, asked, Told::Whole));
    response(answer, asked, &status(answer), &output.collect::<Vec<_>>())
}

/// The events of an answer as a stream.
pub(super) fn events(answer: &Answer, asked: Asked<'_>) -> Events {
    let mut stream = Stream { events: Events::default(), number: 0 };
    let opened = response(answer, asked, "in_progress", &[]);
    stream.push("response.created", json!({"response": opened}));
    stream.push("response.in_progress", json!({"response": opened}));
    let mut random = answer.random();
    for (index, (block, letters)) in answer.blocks().enumerate() {
        let told = |told| item(answer, block, letters, asked, told);
        stream.push("response.output_item.added", json!({"output_index": index, "item": told(Told::Opened)}));
        let text = match block {
            Block::Text(text) | Block::Thinking(text) => text.clone(),
            Block::Tool { input, .. } => input.text(),
            Block::Raw(_) => String::new(),
        };
        let whole = told(Told::Whole);
        let at = json!({"item_id": whole["id"], "output_index": index});
        let pieces = answer.split(&text, &mut random);
        stream.parts(block, &whole, &at, &pieces, &text);
        stream.push("response.output_item.done", json!({"output_index": index, "item": whole}));
    }
    let status = status(answer);
    let name = if status == "completed" { "response.completed" } else { "response.incomplete" };
    stream.push(name, json!({"response": message(answer, asked)}));
    stream.events
}

/// Adds both words by which the API tells of an error.
pub(super) fn push_error(events: &mut Events, answer: &Answer, asked: Asked<'_>, error: &ApiError) {
    let number = events.len();
    let mut stream = Stream { events: std::mem::take(events), number };
    let mut told = openai::error_body(error);
    let code = error.code.as_deref().unwrap_or("server_error");
    stream.push("error", json!({"error": told["error"].take()}));
    let mut failed = response(answer, asked, "failed", &[]);
    failed["error"] = json!({"code": code, "message": error.message});
    stream.push("response.failed", json!({"response": failed}));
    *events = stream.events;
}

/// `completed`, or why the response is not.
fn status(answer: &Answer) -> String {
    DATA.stop(&answer.stop_reason).unwrap_or("completed").to_owned()
}

/// The response as a whole; `status` may also be why it is incomplete.
fn response(answer: &Answer, asked: Asked<'_>, status: &str, output: &[Value]) -> Value {
    let is_known = ["completed", "in_progress", "failed"].contains(&status);
    let asked_for = |key: &str, default: Value| match &asked.body[key] {
        Value::Null => default,
        given => given.clone(),
    };
    let is_over = status != "in_progress" && status != "failed";
    let usage = is_over.then(|| {
        let (input, output) = (openai::input_tokens(answer), answer.output_tokens());
        json!({
            "input_tokens": input,
            "input_tokens_details": {
                "cached_tokens": answer.usage.cache_read_input_tokens,
                "cache_write_tokens": answer.usage.cache_creation_input_tokens,
            },
            "output_tokens": output,
            "output_tokens_details": {"reasoning_tokens": answer.thinking_tokens()},
            "total_tokens": input + output,
        })
    });
    json!({
        "id": format!("resp_{}", answer.id),
        "object": "response",
        "created_at": openai::CREATED,
        "status": if is_known { status } else { "incomplete" },
        "background": false,
        "error": null,
        "incomplete_details": if is_known { Value::Null } else { json!({"reason": status}) },
        "instructions": asked_for("instructions", Value::Null),
        "max_output_tokens": asked_for("max_output_tokens", Value::Null),
        "model": answer.model,
        "output": output,
        "parallel_tool_calls": asked_for("parallel_tool_calls", true.into()),
        "previous_response_id": asked_for("previous_response_id", Value::Null),
        "reasoning": asked_for("reasoning", json!({"effort": null, "summary": null})),
        "store": asked_for("store", true.into()),
        "temperature": asked_for("temperature", 1.0.into()),
        "text": asked_for("text", json!({"format": {"type": "text"}})),
        "tool_choice": asked_for("tool_choice", "auto".into()),
        "tools": asked_for("tools", json!([])),
        "top_p": asked_for("top_p", 1.0.into()),
        "truncation": asked_for("truncation", "disabled".into()),
        "usage": usage,
        "metadata": asked_for("metadata", json!({})),
    })
}

/// How much of an item is told.
#[derive(Clone, Copy, PartialEq)]
enum Told {
    Opened,
    Whole,
}

/// Whether the request offers this tool with text instead of JSON as its input.
fn is_custom(name: &str, asked: Asked<'_>) -> bool {
    let tools = asked.body["tools"].as_array();
    tools.into_iter().flatten().any(|tool| tool["type"] == "custom" && tool["name"] == name)
}

/// One item of the output.
fn item(answer: &Answer, block: &Block, letters: &str, asked: Asked<'_>, told: Told) -> Value {
    let is_whole = told == Told::Whole;
    let stopped = is_whole && status(answer) == "completed";
    let state = match (is_whole, stopped) {
        (true, true) => "completed",
        (true, false) => "incomplete",
        (false, _) => "in_progress",
    };
    let shown = |text: &str| if is_whole { text.to_owned() } else { String::new() };
    match block {
        Block::Text(text) => {
            let content = if is_whole { vec![text_part(text)] } else { Vec::new() };
            json!({"id": format!("msg_{letters}"), "type": "message", "status": state, "role": "assistant",
                   "content": content})
        }
        Block::Thinking(text) => {
            let summary =
                if is_whole { vec![json!({"type": "summary_text", "text": text})] } else { Vec::new() };
            let mut item = json!({"id": format!("rs_{letters}"), "type": "reasoning", "summary": summary});
            let wants = |part: &Value| part == "reasoning.encrypted_content";
            if asked.body["include"].as_array().into_iter().flatten().any(wants) {
                item["encrypted_content"] = signature(text).into();
            }
            item
        }
        Block::Tool { name, input, .. } => {
            let call = tool_id(block, "call_", letters);
            if is_custom(name, asked) {
                return json!({"id": format!("ctc_{letters}"), "type": "custom_tool_call", "status": state,
                              "call_id": call, "name": name, "input": shown(&custom_input(input))});
            }
            json!({"id": format!("fc_{letters}"), "type": "function_call", "status": state,
                   "arguments": shown(&input.text()), "call_id": call, "name": name})
        }
        Block::Raw(value) => value.clone(),
    }
}

fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text})
}

/// The text that a tool without JSON is called with: `input` of the script's input where there is one, else all of it.
fn custom_input(input: &ToolInput) -> String {
    let parsed = input.parsed();
    let text = parsed.as_ref().and_then(|input| input["input"].as_str());
    text.map_or_else(|| input.text(), str::to_owned)
}

/// The events of one stream, which the API numbers.
struct Stream {
    events: Events,
    number: usize,
}

impl Stream {
    fn push(&mut self, kind: &str, mut data: Value) {
        let mut event = Map::new();
        event.insert("type".into(), kind.into());
        event.insert("sequence_number".into(), self.number.into());
        if let Some(data) = data.as_object_mut() {
            event.append(data);
        }
        self.number += 1;
        self.events.push(kind, &Value::Object(event));
    }

    /// The events between the beginning and the end of an item: its text in pieces, and whole.
    fn parts(&mut self, block: &Block, whole: &Value, at: &Value, pieces: &[&str], text: &str) {
        let is_custom = whole["type"] == "custom_tool_call";
        let (name, index) = match block {
            Block::Text(_) => ("response.output_text", "content_index"),
            Block::Thinking(_) => ("response.reasoning_summary_text", "summary_index"),
            Block::Tool { .. } if is_custom => ("response.custom_tool_call_input", ""),
            Block::Tool { .. } => ("response.function_call_arguments", ""),
            Block::Raw(_) => return,
        };
        let part = match block {
            Block::Text(_) => Some(("response.content_part", text_part(""), text_part(text))),
            Block::Thinking(_) => {
                let part = |text: &str| json!({"type": "summary_text", "text": text});
                Some(("response.reasoning_summary_part", part(""), part(text)))
            }
            _ => None,
        };
        let placed = |data: Value| {
            let mut placed = at.clone();
            if !index.is_empty() {
                placed[index] = 0.into();
            }
            for (key, value) in data.as_object().into_iter().flatten() {
                placed[key] = value.clone();
            }
            placed
        };
        if let Some((kind, empty, _)) = &part {
            self.push(&format!("{kind}.added"), placed(json!({"part": empty})));
        }
        let custom = whole["input"].as_str().unwrap_or_default();
        let (pieces, text) = if is_custom { (vec![custom], custom) } else { (pieces.to_vec(), text) };
        for piece in pieces {
            self.push(&format!("{name}.delta"), placed(json!({"delta": piece})));
        }
        let key = match block {
            Block::Tool { .. } if is_custom => "input",
            Block::Tool { .. } => "arguments",
            _ => "text",
        };
        self.push(&format!("{name}.done"), placed(json!({key: text})));
        if let Some((kind, _, whole)) = &part {
            self.push(&format!("{kind}.done"), placed(json!({"part": whole})));
        }
    }
}
