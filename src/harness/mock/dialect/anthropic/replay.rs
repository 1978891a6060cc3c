//! Reads an answer of the Messages API back, as a client does.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::harness::mock::message::{Message, events, json_data};

/// Reads a body that is no stream.
pub(super) fn of_body(mut body: Map<String, Value>) -> Message {
    match body.get("type").and_then(Value::as_str) {
        Some("message") => {
            let mut message = Message::default();
            open(&mut message, &mut body);
            if let Some(Value::Array(blocks)) = body.remove("content") {
                message.content = Some(blocks);
            }
            message.is_ended = true;
            message
        }
        Some("error") => Message { error: error(&mut body), is_ended: true, ..Message::default() },
        _ => Message { is_ended: true, ..Message::default() },
    }
}

/// Reads the events of a stream. An event that is cut off at the end says nothing, unless the stream `is_whole`.
pub(super) fn of_stream(body: &[u8], is_whole: bool) -> Message {
    let mut message = Message::default();
    let mut blocks = BTreeMap::new();
    let mut is_damaged = false;
    for data in events(body, is_whole, json_data) {
        match data {
            Some(Value::Object(data)) => take(&mut message, data, &mut blocks),
            _ => is_damaged = true,
        }
    }
    let has_message = message.content.is_some();
    message.content = (has_message && !is_damaged).then(|| blocks.into_values().map(Block::close).collect());
    message
}

/// Takes what the envelope of a message says.
fn open(message: &mut Message, envelope: &mut Map<String, Value>) {
    let mut take = |key: &str| envelope.remove(key).unwrap_or_default();
    (message.id, message.model) = (take("id"), take("model"));
    (message.stop_reason, message.usage) = (take("stop_reason"), take("usage"));
}

fn take(message: &mut Message, mut data: Map<String, Value>, blocks: &mut BTreeMap<u64, Block>) {
    let index = data.get("index").and_then(Value::as_u64).unwrap_or_default();
    match data.get("type").and_then(Value::as_str) {
        Some("message_start") => {
            if let Some(Value::Object(envelope)) = data.get_mut("message") {
                open(message, envelope);
                message.content = Some(Vec::new());
            }
        }
        Some("content_block_start") => {
            if let Some(Value::Object(start)) = data.remove("content_block") {
                blocks.insert(index, Block { value: start, input: String::new() });
            }
        }
        Some("content_block_delta") => {
            if let (Some(block), Some(Value::Object(delta))) = (blocks.get_mut(&index), data.get("delta")) {
                block.add(delta);
            }
        }
        Some("message_delta") => {
            if let Some(Value::Object(delta)) = data.get_mut("delta") {
                message.stop_reason = delta.remove("stop_reason").unwrap_or_default();
            }
            if let (Value::Object(usage), Some(Value::Object(last))) =
                (&mut message.usage, data.remove("usage"))
            {
                usage.extend(last.into_iter().filter(|(_, value)| !value.is_null()));
            }
        }
        Some("message_stop") => message.is_ended = true,
        Some("error") => message.error = error(&mut data),
        _ => {}
    }
}

fn error(body: &mut Map<String, Value>) -> Value {
    let Some(Value::Object(mut error)) = body.remove("error") else { return Value::Null };
    error.retain(|key, _| key == "type" || key == "message");
    Value::Object(error)
}

/// A block of a stream, while its deltas come.
struct Block {
    value: Map<String, Value>,
    /// The JSON of a tool's input, as far as it came.
    input: String,
}

impl Block {
    fn add(&mut self, delta: &Map<String, Value>) {
        let kind = delta.get("type").and_then(Value::as_str).unwrap_or_default();
        match kind {
            "text_delta" | "thinking_delta" | "signature_delta" => {
                let key = kind.trim_end_matches("_delta");
                let Some(part) = delta.get(key).and_then(Value::as_str) else { return };
                match self.value.get_mut(key) {
                    Some(Value::String(text)) => text.push_str(part),
                    _ => _ = self.value.insert(key.to_owned(), part.into()),
                }
            }
            "input_json_delta" => {
                self.input.push_str(delta.get("partial_json").and_then(Value::as_str).unwrap_or_default());
            }
            "citations_delta" => {
                let Some(citation) = delta.get("citation") else { return };
                match self.value.get_mut("citations") {
                    Some(Value::Array(all)) => all.push(citation.clone()),
                    _ => _ = self.value.insert("citations".into(), vec![citation.clone()].into()),
                }
            }
            _ => {}
        }
    }

    fn close(mut self) -> Value {
        if !self.input.is_empty() {
            let input = serde_json::from_str::<Value>(&self.input);
            if input.is_err() {
                // Cut off, or broken on purpose: there is no input, only what there was of it.
                self.value.insert("partial_json".into(), self.input.into());
            }
            self.value.insert("input".into(), input.unwrap_or_default());
        }
        Value::Object(self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn stream(events: &[Value]) -> Vec<u8> {
        events.iter().flat_map(|data| format!("event: x\ndata: {data}\n\n").into_bytes()).collect()
    }

    fn opening() -> [Value; 2] {
        let message = json!({"id": "msg_1", "model": "m", "usage": {"input_tokens": 7, "output_tokens": 1}});
        let block = json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {}});
        [
            json!({"type": "message_start", "message": message}),
            json!({"type": "content_block_start", "index": 0, "content_block": block}),
        ]
    }

    #[test]
    fn what_is_cut_off_is_told_as_far_as_it_came() {
        let part = json!({"type": "content_block_delta", "index": 0,
                          "delta": {"type": "input_json_delta", "partial_json": "{\"command\": \"l"}});
        let mut body = stream(&[&opening()[..], &[part]].concat());
        body.extend(b"event: content_block_delta\ndata: {\"type\":");
        let cut = of_stream(&body, false);
        let wanted = json!([{"type": "tool_use", "id": "t", "name": "Bash", "input": null,
                             "partial_json": "{\"command\": \"l"}]);
        assert_eq!(Value::from(cut.content.unwrap()), wanted);
        assert_eq!((cut.id, cut.is_ended), ("msg_1".into(), false));
        assert_eq!(cut.usage["output_tokens"], 1, "the first word on usage is the last that came");
        // The same as the last word of a whole stream is garbage, of which nothing can be said.
        assert_eq!(of_stream(&body, true).content, None);
    }

    #[test]
    fn an_event_that_is_none_leaves_no_content() {
        let healthy = stream(&opening());
        assert!(of_stream(&healthy, true).content.is_some());
        for garbage in ["event x\ndata {}\n\n", "data: {\"type\n\n", "data: \n\n", "data: 7\n\n"] {
            let body = [&healthy[..], garbage.as_bytes()].concat();
            assert_eq!(of_stream(&body, true).content, None, "{garbage}");
        }
        let comment = [b": hello\r\n\r\n", &healthy[..]].concat();
        assert!(of_stream(&comment, true).content.is_some());
        assert_eq!(of_stream(b"", false), Message::default());
    }

    #[test]
    fn a_body_is_a_message_an_error_or_neither() {
        let body = |value: Value| of_body(value.as_object().unwrap().clone());
        let message =
            body(json!({"type": "message", "id": "msg_2", "content": [{"type": "text", "text": "x"}],
                                  "stop_reason": "end_turn", "usage": {"output_tokens": 3}}));
        assert_eq!(message.content, Some(vec![json!({"type": "text", "text": "x"})]));
        assert_eq!((message.stop_reason, message.usage), ("end_turn".into(), json!({"output_tokens": 3})));
        let failed = body(json!({"type": "error", "error": {"type": "api_error", "message": "no", "x": 1}}));
        assert_eq!(failed.error, json!({"type": "api_error", "message": "no"}));
        assert_eq!((failed.content, failed.id), (None, Value::Null));
        assert_eq!(body(json!({"type": "model", "id": "claude-x"})).id, Value::Null);
    }
}
