//! Reads an answer of the Responses API back, as a client does.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{DATA, texts};
use crate::harness::mock::dialect::openai;
use crate::harness::mock::message::{Message, events, json_data, tool_use};

/// Reads a body that is no stream.
pub(super) fn of_body(body: Map<String, Value>) -> Message {
    if let Some(error) = body.get("error").filter(|error| error.is_object()) {
        let (kind, message) = openai::read_error(error);
        return Message::of_error(kind, message);
    }
    if body.get("object").and_then(Value::as_str) != Some("response") {
        return Message { is_ended: true, ..Message::default() };
    }
    let mut message = Message { content: Some(Vec::new()), is_ended: true, ..Message::default() };
    read_response(&Value::Object(body), &mut message);
    message
}

/// Reads the events of a stream. An event that is cut off at the end says nothing, unless the stream `is_whole`.
pub(super) fn of_stream(body: &[u8], is_whole: bool) -> Message {
    let mut message = Message::default();
    let mut items = BTreeMap::new();
    let mut is_damaged = false;
    for data in events(body, is_whole, json_data) {
        match data {
            Some(data) if data.is_object() => take(&data, &mut message, &mut items),
            _ => is_damaged = true,
        }
    }
    message.content = message.content.filter(|_| !is_damaged);
    if message.stop_reason.is_null()
        && let Some(content) = &mut message.content
    {
        // What was cut off before its end is told as far as it came.
        content.extend(items.into_values().map(OpenItem::close));
    }
    message
}

/// An item of a stream while its deltas come.
#[derive(Default)]
struct OpenItem {
    item: Value,
    text: String,
}

impl OpenItem {
    fn close(self) -> Value {
        read_output(&self.item, Some(&self.text))
    }
}

/// Takes one event of a stream in.
fn take(data: &Value, message: &mut Message, items: &mut BTreeMap<u64, OpenItem>) {
    let index = data["output_index"].as_u64().unwrap_or_default();
    let kind = data["type"].as_str().unwrap_or_default().to_owned();
    match kind.as_str() {
        "response.created" => {
            message.content = Some(Vec::new());
            (message.id, message.model) = (data["response"]["id"].clone(), data["response"]["model"].clone());
        }
        "response.output_item.added" => {
            items.insert(index, OpenItem { item: data["item"].clone(), text: String::new() });
        }
        "response.output_item.done" => {
            let item = data["item"].clone();
            items.insert(index, OpenItem { text: text_of(&item), item });
        }
        "response.completed" | "response.incomplete" => {
            message.is_ended = true;
            message.content = Some(Vec::new());
            read_response(&data["response"], message);
        }
        "error" => {
            let (kind, text) = openai::read_error(&data["error"]);
            message.error = json!({"type": kind, "message": text});
        }
        kind if kind.rsplit('.').next() == Some("delta") => {
            if let (Some(item), Some(delta)) = (items.get_mut(&index), data["delta"].as_str()) {
                item.text.push_str(delta);
            }
        }
        _ => {}
    }
}

/// Takes a response over into the message.
fn read_response(response: &Value, message: &mut Message) {
    (message.id, message.model) = (response["id"].clone(), response["model"].clone());
    let output = response["output"].clone();
    let content: Vec<Value> =
        output.as_array().into_iter().flatten().map(|item| read_output(item, None)).collect();
    let calls = content.iter().any(|block| block["type"] == "tool_use");
    let reason = match response["incomplete_details"]["reason"].as_str() {
        Some(reason) => DATA.reason(reason).unwrap_or(reason),
        None if calls => "tool_use",
        None => "end_turn",
    };
    message.stop_reason = reason.into();
    message.content = Some(content);
    let usage = &response["usage"];
    let details = &usage["input_tokens_details"];
    message.usage = openai::read_usage(
        &usage["input_tokens"],
        &details["cached_tokens"],
        &details["cache_write_tokens"],
        &usage["output_tokens"],
    );
}

/// The text of an item, whatever it is called.
fn text_of(item: &Value) -> String {
    let mut parts = Vec::new();
    for key in ["content", "summary", "arguments", "input"] {
        texts(&item[key], &mut parts);
    }
    parts.concat()
}

/// An item of the output as recordings tell it; `text` is as much of it as came.
fn read_output(item: &Value, text: Option<&str>) -> Value {
    let text = text.map_or_else(|| text_of(item), str::to_owned);
    match item["type"].as_str() {
        Some("message") => json!({"type": "text", "text": text}),
        Some("reasoning") => json!({"type": "thinking", "thinking": text}),
        Some("custom_tool_call") => {
            json!({"type": "tool_use", "id": item["call_id"], "name": item["name"], "input": {"input": text}})
        }
        Some("function_call") => tool_use(item["call_id"].clone(), item["name"].clone(), &text),
        _ => item.clone(),
    }
}
