//! An answer of the API, put together from its stream.

use serde_json::{Map, Value, json};

/// An answer of the model as far as its stream has come.
#[derive(Debug, Clone, Default)]
pub(super) struct Answer {
    pub(super) id: String,
    pub(super) model: String,
    pub(super) blocks: Vec<Value>,
    pub(super) stop_reason: Option<String>,
    /// The usage at the start and at the end of the stream.
    pub(super) first_usage: Value,
    pub(super) usage: Usage,
    pub(super) request_id: Option<String>,
    /// Whether the API said that it is complete.
    pub(super) is_complete: bool,
}

/// How many tokens were read and written.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    pub(super) cache_creation: u64,
}

impl Usage {
    pub(super) fn add(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_creation += other.cache_creation;
    }

    fn read(&mut self, usage: &Value) {
        for (field, key) in [
            (&mut self.input, "input_tokens"),
            (&mut self.output, "output_tokens"),
            (&mut self.cache_read, "cache_read_input_tokens"),
            (&mut self.cache_creation, "cache_creation_input_tokens"),
        ] {
            *field = usage.get(key).and_then(Value::as_u64).unwrap_or(*field);
        }
    }
}

/// What an event did to the answer.
pub(super) enum Step {
    /// There is nothing to tell the user yet.
    Quiet,
    /// This block is whole.
    Block(Value),
    /// The API reports an error.
    Error(Value),
}

impl Answer {
    /// Takes the next event of the stream.
    pub(super) fn event(&mut self, event: &Value) -> Step {
        let index = event["index"].as_u64().unwrap_or(0) as usize;
        match event["type"].as_str() {
            Some("message_start") => {
                let message = &event["message"];
                self.id = text(&message["id"]);
                self.model = text(&message["model"]);
                self.first_usage = message["usage"].clone();
                self.usage.read(&message["usage"]);
            }
            Some("content_block_start") => {
                self.blocks.resize(self.blocks.len().max(index + 1), Value::Null);
                self.blocks[index] = event["content_block"].clone();
                if self.blocks[index]["type"] == "tool_use" {
                    self.blocks[index]["input"] = Value::String(String::new());
                }
            }
            Some("content_block_delta") => {
                let delta = &event["delta"];
                let (key, from) = match delta["type"].as_str() {
                    Some("text_delta") => ("text", "text"),
                    Some("thinking_delta") => ("thinking", "thinking"),
                    Some("signature_delta") => ("signature", "signature"),
                    Some("input_json_delta") => ("input", "partial_json"),
                    _ => return Step::Quiet,
                };
                if let Some(block) = self.blocks.get_mut(index).filter(|block| block.is_object()) {
                    block[key] = Value::String(text(&block[key]) + &text(&delta[from]));
                }
            }
            Some("content_block_stop") => {
                let Some(block) = self.blocks.get_mut(index) else { return Step::Quiet };
                if block["type"] == "tool_use" {
                    let raw = text(&block["input"]);
                    let raw = if raw.is_empty() { "{}" } else { &raw };
                    block["input"] = serde_json::from_str::<Map<String, Value>>(raw).map_or_else(
                        |_| json!({"__unparsedToolInput": {"raw": raw, "len": raw.len()}}),
                        Value::Object,
                    );
                }
                return Step::Block(block.clone());
            }
            Some("message_delta") => {
                self.stop_reason = event["delta"]["stop_reason"].as_str().map(str::to_owned);
                self.usage.read(&event["usage"]);
            }
            Some("message_stop") => self.is_complete = true,
            Some("error") => return Step::Error(event["error"].clone()),
            _ => {}
        }
        Step::Quiet
    }

    /// The tool calls in it: id, name, input.
    pub(super) fn tool_calls(&self) -> Vec<(String, String, Value)> {
        self.blocks
            .iter()
            .filter(|block| block["type"] == "tool_use")
            .map(|block| (text(&block["id"]), text(&block["name"]), block["input"].clone()))
            .collect()
    }

    /// The text of the last text block.
    pub(super) fn last_text(&self) -> String {
        self.blocks
            .iter()
            .rev()
            .find(|block| block["type"] == "text")
            .map_or(String::new(), |block| text(&block["text"]))
    }
}

/// A string, or nothing.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(answer: &mut Answer, partial_json: &str) -> Vec<Value> {
        let block = json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {}});
        let delta = json!({"type": "input_json_delta", "partial_json": partial_json});
        let events = [
            json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 7}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": block}),
            json!({"type": "content_block_delta", "index": 0, "delta": delta}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}}),
        ];
        let whole = |event: &Value| match answer.event(event) {
            Step::Block(block) => Some(block),
            Step::Quiet | Step::Error(_) => None,
        };
        events.iter().filter_map(whole).collect()
    }

    #[test]
    fn a_tool_call_is_put_together_from_its_pieces() {
        let mut answer = Answer::default();
        stream(&mut answer, r#"{"command":"ls"}"#);
        assert_eq!(answer.tool_calls(), [("t".into(), "Bash".into(), json!({"command": "ls"}))]);
        assert_eq!((answer.usage.input, answer.usage.output), (7, 3));
        assert!(!answer.is_complete);
        answer.event(&json!({"type": "message_stop"}));
        assert!(answer.is_complete);
    }

    #[test]
    fn an_input_that_is_no_json_is_kept_as_it_came() {
        let blocks = stream(&mut Answer::default(), "{\"comm");
        assert_eq!(blocks[0]["input"]["__unparsedToolInput"]["raw"], "{\"comm");
    }
}
