//! A scripted turn as the Messages API says it: one message, or the events that stream it.

use serde_json::{Map, Value, json};

use super::pace::Random;
use super::script::{Block, Chunk, ToolInput, Turn, Usage};
use super::sse::Events;

/// Input tokens of a turn that does not say: a constant, so that costs in golden snapshots do not move.
const INPUT_TOKENS: u64 = 25;

/// Which answer this is; ids and random follow from it, so a replay gives the same bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnswerSeed {
    pub(super) seed: u64,
    pub(super) entry: u64,
    /// How often it has answered before.
    pub(super) earlier: u64,
}

impl AnswerSeed {
    pub(super) fn random(self, purpose: u64) -> Random {
        Random::new(self.seed, &[self.entry, self.earlier, purpose])
    }

    pub(super) fn request_id(self) -> String {
        format!("req_01{}", self.random(1).token(22))
    }
}

#[derive(Debug, Clone)]
pub(super) struct Answer {
    id: String,
    model: String,
    blocks: Vec<Block>,
    tool_ids: Vec<String>,
    stop_reason: String,
    stop_sequence: Option<String>,
    usage: Usage,
    chunk: Chunk,
    random: Random,
}

impl Answer {
    /// The answer of a turn to a request for `model`.
    pub(super) fn of_turn(turn: &Turn, model: &str, seed: AnswerSeed) -> Self {
        let has_tool = turn.blocks.iter().any(|block| matches!(block, Block::Tool { .. }));
        let stop_reason = turn.stop_reason.clone().unwrap_or_else(|| {
            let reason = match (&turn.stop_sequence, has_tool) {
                (Some(_), _) => "stop_sequence",
                (None, true) => "tool_use",
                (None, false) => "end_turn",
            };
            reason.to_owned()
        });
        Answer {
            model: turn.model.clone().unwrap_or_else(|| model.to_owned()),
            stop_reason,
            stop_sequence: turn.stop_sequence.clone(),
            usage: turn.usage.clone(),
            chunk: turn.chunk,
            ..Answer::new(turn.blocks.clone(), model, seed)
        }
    }

    /// An answer of one text.
    pub(super) fn of_text(text: &str, model: &str, seed: AnswerSeed) -> Self {
        Answer::new(vec![Block::Text(text.to_owned())], model, seed)
    }

    fn new(blocks: Vec<Block>, model: &str, seed: AnswerSeed) -> Self {
        let mut ids = seed.random(2);
        let tool_ids = blocks
            .iter()
            .map(|block| match block {
                Block::Tool { id: Some(id), .. } => id.clone(),
                _ => format!("toolu_01{}", ids.token(22)),
            })
            .collect();
        Answer {
            id: format!("msg_01{}", ids.token(22)),
            model: model.to_owned(),
            blocks,
            tool_ids,
            stop_reason: "end_turn".to_owned(),
            stop_sequence: None,
            usage: Usage::default(),
            chunk: Chunk::Characters(16),
            random: seed.random(3),
        }
    }

    /// The same answer with a text of so many bytes in front, in deltas of 64 KiB.
    pub(super) fn with_huge_text(mut self, bytes: usize) -> Self {
        const LINE: &str = "all work and no play makes a long text.\n";
        let mut text = LINE.repeat(bytes / LINE.len() + 1);
        text.truncate(bytes);
        // Counting its characters for the usage would take longer than sending them.
        self.usage.output_tokens = Some(self.output_tokens() + bytes as u64 / 4);
        self.blocks.insert(0, Block::Text(text));
        self.tool_ids.insert(0, String::new());
        self.chunk = Chunk::Characters(1 << 16);
        self
    }

    fn output_tokens(&self) -> u64 {
        self.usage.output_tokens.unwrap_or_else(|| {
            let characters: usize = self
                .blocks
                .iter()
                .map(|block| match block {
                    Block::Text(text) | Block::Thinking(text) => text.chars().count(),
                    Block::Tool { name, input, .. } => name.len() + input.text().len(),
                    Block::Raw(value) => value.to_string().len(),
                })
                .sum();
            (characters as u64 / 4).max(1)
        })
    }

    fn usage(&self, output_tokens: u64) -> Value {
        json!({
            "input_tokens": self.usage.input_tokens.unwrap_or(INPUT_TOKENS),
            "cache_creation_input_tokens": self.usage.cache_creation_input_tokens,
            "cache_read_input_tokens": self.usage.cache_read_input_tokens,
            "output_tokens": output_tokens,
            "service_tier": "standard",
        })
    }

    fn envelope(&self, content: &[Value], stop: (Option<&str>, Option<&str>), usage: &Value) -> Value {
        json!({
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": stop.0,
            "stop_sequence": stop.1,
            "usage": usage,
        })
    }

    /// The message of an answer without a stream.
    pub(super) fn message(&self) -> Value {
        let content: Vec<Value> =
            self.blocks.iter().zip(&self.tool_ids).map(|(block, id)| whole(block, id)).collect();
        self.envelope(
            &content,
            (Some(&self.stop_reason), self.stop_sequence.as_deref()),
            &self.usage(self.output_tokens()),
        )
    }

    /// The events of an answer as a stream.
    pub(super) fn events(&self) -> Events {
        let mut random = self.random.clone();
        let mut events = Events::default();
        let start = self.envelope(&[], (None, None), &self.usage(1));
        events.push("message_start", &json!({"type": "message_start", "message": start}));
        if self.blocks.is_empty() {
            events.ping();
        }
        for (index, (block, id)) in self.blocks.iter().zip(&self.tool_ids).enumerate() {
            let start =
                json!({"type": "content_block_start", "index": index, "content_block": opened(block, id)});
            events.push("content_block_start", &start);
            if index == 0 {
                events.ping();
            }
            self.deltas(block, &mut random, |kind, key, text| events.push_delta(index, kind, key, text));
            events.push("content_block_stop", &json!({"type": "content_block_stop", "index": index}));
        }
        let delta = json!({"stop_reason": self.stop_reason, "stop_sequence": self.stop_sequence});
        let mut usage = self.usage(self.output_tokens());
        if let Some(usage) = usage.as_object_mut() {
            usage.remove("service_tier");
        }
        events.push("message_delta", &json!({"type": "message_delta", "delta": delta, "usage": usage}));
        events.push("message_stop", &json!({"type": "message_stop"}));
        events
    }

    /// Calls `send` with the type, the key and the text of each delta.
    fn deltas(&self, block: &Block, random: &mut Random, mut send: impl FnMut(&str, &str, &str)) {
        match block {
            Block::Text(text) => {
                for part in split(text, self.chunk, random) {
                    send("text_delta", "text", part);
                }
            }
            Block::Thinking(text) => {
                for part in split(text, self.chunk, random) {
                    send("thinking_delta", "thinking", part);
                }
                send("signature_delta", "signature", &signature(text));
            }
            Block::Tool { input, .. } => {
                // The API opens with an empty part, and so do we.
                send("input_json_delta", "partial_json", "");
                for part in split(&input.text(), self.chunk, random) {
                    send("input_json_delta", "partial_json", part);
                }
            }
            Block::Raw(_) => {}
        }
    }
}

impl ToolInput {
    fn text(&self) -> String {
        match self {
            ToolInput::Json(value) => value.to_string(),
            ToolInput::Text(text) => text.clone(),
        }
    }
}

fn whole(block: &Block, tool_id: &str) -> Value {
    match block {
        Block::Text(text) => json!({"type": "text", "text": text}),
        Block::Thinking(text) => json!({"type": "thinking", "thinking": text, "signature": signature(text)}),
        Block::Tool { name, input, .. } => {
            let input = match input {
                ToolInput::Json(value) => value.clone(),
                // Without a stream the API has parsed the input already; what cannot be parsed is lost.
                ToolInput::Text(text) => serde_json::from_str(text)
                    .ok()
                    .filter(Value::is_object)
                    .unwrap_or_else(|| Value::Object(Map::new())),
            };
            json!({"type": "tool_use", "id": tool_id, "name": name, "input": input})
        }
        Block::Raw(value) => value.clone(),
    }
}

fn opened(block: &Block, tool_id: &str) -> Value {
    match block {
        Block::Text(_) => json!({"type": "text", "text": ""}),
        Block::Thinking(_) => json!({"type": "thinking", "thinking": "", "signature": ""}),
        Block::Tool { name, .. } => json!({"type": "tool_use", "id": tool_id, "name": name, "input": {}}),
        Block::Raw(value) => value.clone(),
    }
}

/// A signature of the shape of the real one; it signs nothing.
fn signature(text: &str) -> String {
    let label = text.bytes().fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    format!("Eq{}==", Random::new(label, &[]).token(60))
}

fn split<'t>(text: &'t str, chunk: Chunk, random: &mut Random) -> Vec<&'t str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let size = match chunk {
            Chunk::Whole => usize::MAX,
            Chunk::Characters(size) => size,
            Chunk::Seeded(most) => 1 + random.below(most as u64) as usize,
        };
        // The common case of ASCII costs no walk over the characters.
        let end = match rest.as_bytes().get(..size) {
            Some(head) if head.is_ascii() => size,
            _ => rest.char_indices().nth(size).map_or(rest.len(), |(end, _)| end),
        };
        let (part, after) = rest.split_at(end);
        parts.push(part);
        rest = after;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::mock::message::Message;
    use crate::run::scenario::Scenario;

    const SEED: AnswerSeed = AnswerSeed { seed: 7, entry: 0, earlier: 0 };

    fn turn(text: &str) -> Turn {
        let text = format!("scenario.name = \"t\"\n[[api.turns]]\n{text}");
        Scenario::parse("t.toml", &text).unwrap().script.turns.remove(0)
    }

    #[test]
    fn a_stream_and_its_message_say_the_same_however_it_is_split() {
        for chunk in ["1", "3", "\"whole\"", "\"seeded:5\""] {
            let turn = turn(&format!(
                "chunk = {chunk}\nthinking = \"Häh? 日本\"\ntext = \"Grüße, \\\"Welt\\\" 🦀\\n\"\n\
                 tools = [{{ name = \"Bash\", input = {{ command = \"echo 'é🦀'\", n = [1, 2.5] }} }}, {{ name = \"Read\" }}]"
            ));
            let answer = Answer::of_turn(&turn, "claude-x", SEED);
            let (stream, whole) = (answer.events().into_parts().0, answer.message().to_string());
            let replayed = Message::of_stream(&stream, true);
            assert_eq!(replayed, Message::of_body(whole.as_bytes()), "chunk = {chunk}");
            assert_eq!(replayed.content.map_or(0, |blocks| blocks.len()), 4);
        }
    }

    #[test]
    fn the_events_are_those_of_the_api() {
        let turn = turn("text = \"Hello there.\"\nchunk = 6\nusage = { output_tokens = 9 }");
        let events = Answer::of_turn(&turn, "claude-x", SEED).events();
        let text = String::from_utf8(events.into_parts().0).unwrap();
        insta::assert_snapshot!(text.replace("\n\n", "\n"));
    }

    #[test]
    fn the_stop_reason_follows_from_the_blocks() {
        let reason = |text: &str| Answer::of_turn(&turn(text), "m", SEED).message()["stop_reason"].clone();
        assert_eq!(reason("text = \"x\""), "end_turn");
        assert_eq!(reason("tool.name = \"Bash\""), "tool_use");
        assert_eq!(reason("text = \"x\"\nstop_sequence = \"END\""), "stop_sequence");
        assert_eq!(reason("text = \"x\"\nstop_reason = \"max_tokens\""), "max_tokens");
    }

    #[test]
    fn ids_repeat_in_a_replay_and_differ_between_occasions() {
        let id = |earlier| Answer::of_text("x", "m", AnswerSeed { earlier, ..SEED }).message()["id"].clone();
        assert_eq!(id(0), id(0));
        assert_ne!(id(0), id(1));
    }

    #[test]
    fn broken_tool_input_is_streamed_as_it_is() {
        let turn = turn("tool = { name = \"Bash\", input_json = \"{\\\"a\\\": \" }\nchunk = \"whole\"");
        let answer = Answer::of_turn(&turn, "m", SEED);
        let text = String::from_utf8(answer.events().into_parts().0).unwrap();
        assert!(text.contains(r#""partial_json":"{\"a\": ""#), "{text}");
        assert_eq!(answer.message()["content"][0]["input"], json!({}));
    }
}
