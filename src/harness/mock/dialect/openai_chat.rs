//! OpenAI Chat Completions: `/v1/chat/completions`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

#[cfg(feature = "cli")]
use super::SampleRequest;
use super::conversation::{Call, Conversation, Returned, Said, Speaker, joined};
use super::data::ApiData;
use super::schema::{self, Schema};
use super::{ApiError, Asked, Dialect, Target, openai};
use crate::harness::mock::answer::{Answer, tool_id};
use crate::harness::mock::message::{Message, events, json_data, tool_use};
use crate::harness::mock::request::{ApiRequest, Endpoint};
use crate::harness::mock::script::Block;
use crate::harness::mock::sse::Events;
use crate::harness::mock::validate::{MOST_FINDINGS, RequestFinding};

#[derive(Debug)]
pub(super) struct OpenAiChat;

static DATA: LazyLock<ApiData> = LazyLock::new(|| ApiData::of("openai-chat"));
static REQUEST: Schema = LazyLock::new(|| schema::compile("openai-chat/request.schema.json"));

/// The word that ends a stream, which is no JSON.
const DONE: &str = "[DONE]";

impl Dialect for OpenAiChat {
    fn name(&self) -> &'static str {
        "openai-chat"
    }

    fn data(&self) -> &'static ApiData {
        &DATA
    }

    fn endpoint(&self, target: &Target<'_>) -> Option<Endpoint> {
        target.trimmed().ends_with("/chat/completions").then_some(Endpoint::Messages)
    }

    fn read<'b>(&self, _: &Target<'b>, body: &'b Value) -> Conversation<'b> {
        let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let tools = body["tools"].as_array().map_or(&[][..], Vec::as_slice);
        let limit = body["max_completion_tokens"].as_u64();
        let mut conversation = Conversation {
            model: body["model"].as_str().unwrap_or_default(),
            stream: body["stream"] == true,
            max_tokens: limit.or_else(|| body["max_tokens"].as_u64()),
            listed: messages.len(),
            tools: tools.len(),
            first_tool: tools.first().and_then(|tool| tool["type"].as_str()).unwrap_or_default(),
            ..Conversation::default()
        };
        for message in messages {
            match message["role"].as_str() {
                Some("system" | "developer") => texts(&message["content"], &mut conversation.system),
                Some("tool") => {
                    let mut parts = Vec::new();
                    texts(&message["content"], &mut parts);
                    let call = message["tool_call_id"].as_str().unwrap_or_default();
                    let returned = Returned { call, text: joined(parts).into(), is_error: false };
                    conversation.said.push(Said { results: vec![returned], ..Said::default() });
                }
                role => {
                    let by = match role {
                        Some("assistant") => Speaker::Model,
                        Some("user") => Speaker::User,
                        _ => Speaker::Other,
                    };
                    let mut said = Said { by, ..Said::default() };
                    texts(&message["content"], &mut said.text);
                    for call in message["tool_calls"].as_array().into_iter().flatten() {
                        let text = |value: &'b Value| value.as_str().unwrap_or_default();
                        said.calls
                            .push(Call { id: text(&call["id"]), name: text(&call["function"]["name"]) });
                    }
                    conversation.said.push(said);
                }
            }
        }
        conversation
    }

    fn check_request(&self, request: &ApiRequest) -> Vec<RequestFinding> {
        if request.endpoint != Endpoint::Messages {
            return Vec::new();
        }
        let mut findings = Vec::new();
        openai::check_credential(request, &mut findings);
        if let Some(body) = schema::check_request(request, &REQUEST, &mut findings) {
            openai::check_calls(&self.read(&request.target(), body), "/messages", &mut findings);
        }
        findings.truncate(MOST_FINDINGS);
        findings
    }

    fn check_answer(&self, answer: &Answer) -> Result<(), String> {
        if answer.blocks.iter().any(|block| matches!(block, Block::Raw(_))) {
            return Err("openai-chat has no `raw` blocks".to_owned());
        }
        match DATA.stop(&answer.stop_reason) {
            Some(_) => Ok(()),
            None => Err(format!("openai-chat never stops for `{}`", answer.stop_reason)),
        }
    }

    fn message(&self, answer: &Answer, _: Asked<'_>) -> Value {
        let (mut text, mut thought, mut calls) = (None::<String>, None::<String>, Vec::new());
        for (block, letters) in answer.blocks() {
            match block {
                Block::Text(part) => text.get_or_insert_default().push_str(part),
                Block::Thinking(part) => thought.get_or_insert_default().push_str(part),
                Block::Tool { name, input, .. } => calls.push(json!({
                    "id": tool_id(block, "call_", letters), "type": "function",
                    "function": {"name": name, "arguments": input.text()},
                })),
                Block::Raw(_) => {}
            }
        }
        let mut message = json!({"role": "assistant", "content": text, "refusal": null, "annotations": []});
        if let Some(thought) = thought {
            message["reasoning_content"] = thought.into();
        }
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        let choice =
            json!({"index": 0, "message": message, "logprobs": null, "finish_reason": finish(answer)});
        let mut whole = envelope(answer, "chat.completion", &json!([choice]));
        whole["usage"] = usage(answer);
        whole
    }

    fn events(&self, answer: &Answer, asked: Asked<'_>) -> Events {
        let wants_usage = asked.body["stream_options"]["include_usage"] == true;
        let mut events = Events::default();
        let mut push = |delta: &Value, reason: &Value| {
            let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": reason});
            let mut chunk = envelope(answer, "chat.completion.chunk", &json!([choice]));
            if wants_usage {
                chunk["usage"] = Value::Null;
            }
            events.push_data(&chunk, b"\n\n");
        };
        push(&json!({"role": "assistant", "content": "", "refusal": null}), &Value::Null);
        let mut random = answer.random();
        let mut calls = 0;
        for (block, letters) in answer.blocks() {
            match block {
                Block::Text(text) | Block::Thinking(text) => {
                    let is_text = matches!(block, Block::Text(_));
                    let key = if is_text { "content" } else { "reasoning_content" };
                    for piece in answer.split(text, &mut random) {
                        push(&json!({key: piece}), &Value::Null);
                    }
                }
                Block::Tool { name, input, .. } => {
                    let id = tool_id(block, "call_", letters);
                    let function = json!({"name": name, "arguments": ""});
                    let call = json!({"index": calls, "id": id, "type": "function", "function": function});
                    push(&json!({"tool_calls": [call]}), &Value::Null);
                    for piece in answer.split(&input.text(), &mut random) {
                        let call = json!({"index": calls, "function": {"arguments": piece}});
                        push(&json!({"tool_calls": [call]}), &Value::Null);
                    }
                    calls += 1;
                }
                Block::Raw(_) => {}
            }
        }
        push(&json!({}), &finish(answer).into());
        if wants_usage {
            let mut last = envelope(answer, "chat.completion.chunk", &json!([]));
            last["usage"] = usage(answer);
            events.push_data(&last, b"\n\n");
        }
        events.push_raw(format!("data: {DONE}\n\n").as_bytes());
        events
    }

    fn error_body(&self, error: &ApiError) -> Value {
        openai::error_body(error)
    }

    fn push_error(&self, events: &mut Events, _: &Answer, _: Asked<'_>, error: &ApiError) {
        events.push_data(&openai::error_body(error), b"\n\n");
    }

    fn ping(&self) -> &'static [u8] {
        openai::PING
    }

    fn built_in(&self, _: &ApiRequest) -> Option<Value> {
        None
    }

    fn read_body(&self, body: Map<String, Value>) -> Message {
        if let Some(error) = body.get("error").filter(|error| error.is_object()) {
            let (kind, message) = openai::read_error(error);
            return Message::of_error(kind, message);
        }
        if body.get("object").and_then(Value::as_str) != Some("chat.completion") {
            return Message { is_ended: true, ..Message::default() };
        }
        let mut parts = Parts::default();
        let body = Value::Object(body);
        let mut message = Message { is_ended: true, ..Message::default() };
        let said = body["choices"][0]["message"].clone();
        parts.add(&said);
        read_envelope(&body, &mut message);
        message.content = Some(parts.close());
        message
    }

    fn read_stream(&self, body: &[u8], is_whole: bool) -> Message {
        let read = |data: &[u8]| if data == DONE.as_bytes() { Some(DONE.into()) } else { json_data(data) };
        let (mut message, mut parts) = (Message::default(), Parts::default());
        let (mut is_damaged, mut is_begun) = (false, false);
        for data in events(body, is_whole, read) {
            match data {
                Some(Value::String(_)) => message.is_ended = true,
                Some(data) if data["error"].is_object() => {
                    let (kind, text) = openai::read_error(&data["error"]);
                    message.error = json!({"type": kind, "message": text});
                }
                Some(data) if data.is_object() => {
                    is_begun = true;
                    parts.add(&data["choices"][0]["delta"].clone());
                    read_envelope(&data, &mut message);
                }
                _ => is_damaged = true,
            }
        }
        message.content = (is_begun && !is_damaged).then(|| parts.close());
        message
    }

    #[cfg(feature = "cli")]
    fn request(&self, conversation: &Conversation<'_>) -> SampleRequest {
        let mut messages = Vec::new();
        if !conversation.system.is_empty() {
            let system = joined(conversation.system.iter().copied());
            messages.push(json!({"role": "system", "content": system}));
        }
        for said in &conversation.said {
            messages.extend(
                said.results.iter().map(
                    |result| json!({"role": "tool", "tool_call_id": result.call, "content": result.text}),
                ),
            );
            let role = if said.by == Speaker::Model { "assistant" } else { "user" };
            if !said.calls.is_empty() {
                let function = |name: &str| json!({"name": name, "arguments": "{}"});
                let calls = said
                    .calls
                    .iter()
                    .map(|call| json!({"id": call.id, "type": "function", "function": function(call.name)}));
                let calls: Vec<Value> = calls.collect();
                messages.push(json!({"role": role, "content": null, "tool_calls": calls}));
            } else if !said.text.is_empty() {
                messages.push(json!({"role": role, "content": joined(said.text.iter().copied())}));
            }
        }
        let body = json!({"model": conversation.model, "stream": true, "messages": messages});
        let target = "/v1/chat/completions".to_owned();
        SampleRequest { target, headers: openai::sample_headers(), body }
    }
}

fn texts<'b>(content: &'b Value, into: &mut Vec<&'b str>) {
    match content {
        Value::String(text) => into.push(text),
        Value::Array(parts) => into.extend(parts.iter().filter_map(|part| part["text"].as_str())),
        _ => {}
    }
}

fn finish(answer: &Answer) -> &'static str {
    DATA.stop(&answer.stop_reason).unwrap_or("stop")
}

fn envelope(answer: &Answer, object: &str, choices: &Value) -> Value {
    json!({
        "id": format!("chatcmpl-{}", answer.id),
        "object": object,
        "created": openai::CREATED,
        "model": answer.model,
        "service_tier": "default",
        "system_fingerprint": "fp_scripted",
        "choices": choices,
    })
}

fn usage(answer: &Answer) -> Value {
    let (input, output) = (openai::input_tokens(answer), answer.output_tokens());
    json!({
        "prompt_tokens": input,
        "completion_tokens": output,
        "total_tokens": input + output,
        "prompt_tokens_details": {
            "cached_tokens": answer.usage.cache_read_input_tokens,
            "cache_write_tokens": answer.usage.cache_creation_input_tokens,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": answer.thinking_tokens(), "audio_tokens": 0,
            "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
        },
    })
}

/// Takes what stands beside the choice.
fn read_envelope(body: &Value, message: &mut Message) {
    (message.id, message.model) = (body["id"].clone(), body["model"].clone());
    if let Some(word) = body["choices"][0]["finish_reason"].as_str() {
        message.stop_reason = DATA.reason(word).unwrap_or(word).into();
    }
    let usage = &body["usage"];
    if usage.is_object() {
        let details = &usage["prompt_tokens_details"];
        message.usage = openai::read_usage(
            &usage["prompt_tokens"],
            &details["cached_tokens"],
            &details["cache_write_tokens"],
            &usage["completion_tokens"],
        );
    }
}

/// What a message says, whole or in deltas.
#[derive(Default)]
struct Parts {
    thought: String,
    text: String,
    /// The id, the name and the arguments of each call.
    calls: BTreeMap<u64, (Value, Value, String)>,
}

impl Parts {
    fn add(&mut self, said: &Value) {
        self.thought.push_str(said["reasoning_content"].as_str().unwrap_or_default());
        self.text.push_str(said["content"].as_str().unwrap_or_default());
        for (at, call) in said["tool_calls"].as_array().into_iter().flatten().enumerate() {
            let index = call["index"].as_u64().unwrap_or(at as u64);
            let known = self.calls.entry(index).or_default();
            if !call["id"].is_null() {
                (known.0, known.1) = (call["id"].clone(), call["function"]["name"].clone());
            }
            known.2.push_str(call["function"]["arguments"].as_str().unwrap_or_default());
        }
    }

    fn close(self) -> Vec<Value> {
        let thought =
            (!self.thought.is_empty()).then(|| json!({"type": "thinking", "thinking": self.thought}));
        let text = (!self.text.is_empty()).then(|| json!({"type": "text", "text": self.text}));
        let calls = self.calls.into_values().map(|(id, name, input)| tool_use(id, name, &input));
        thought.into_iter().chain(text).chain(calls).collect()
    }
}
