//! An answer as the Messages API says it: one message, or the events that stream it.

use serde_json::{Map, Value, json};

use crate::harness::mock::answer::{Answer, signature, tool_id};
use crate::harness::mock::pace::Random;
use crate::harness::mock::script::Block;
use crate::harness::mock::sse::Events;

/// A ping, with the blank that the API has in it.
pub(super) const PING: &[u8] = b"event: ping\ndata: {\"type\": \"ping\"}\n\n";

/// The message of an answer without a stream.
pub(super) fn message(answer: &Answer) -> Value {
    let content: Vec<Value> = answer.blocks().map(|(block, letters)| whole(block, letters)).collect();
    let stop = (Some(answer.stop_reason.as_str()), answer.stop_sequence.as_deref());
    envelope(answer, &content, stop, &usage(answer, answer.output_tokens()))
}

/// The events of an answer as a stream.
pub(super) fn events(answer: &Answer) -> Events {
    let mut random = answer.random();
    let mut events = Events::default();
    let start = envelope(answer, &[], (None, None), &usage(answer, 1));
    events.push("message_start", &json!({"type": "message_start", "message": start}));
    if answer.blocks.is_empty() {
        events.push_raw(PING);
    }
    for (index, (block, letters)) in answer.blocks().enumerate() {
        let start =
            json!({"type": "content_block_start", "index": index, "content_block": opened(block, letters)});
        events.push("content_block_start", &start);
        if index == 0 {
            events.push_raw(PING);
        }
        deltas(answer, block, &mut random, |kind, key, text| push_delta(&mut events, index, kind, key, text));
        events.push("content_block_stop", &json!({"type": "content_block_stop", "index": index}));
    }
    let delta = json!({"stop_reason": answer.stop_reason, "stop_sequence": answer.stop_sequence});
    let mut usage = usage(answer, answer.output_tokens());
    if let Some(usage) = usage.as_object_mut() {
        usage.remove("service_tier");
    }
    events.push("message_delta", &json!({"type": "message_delta", "delta": delta, "usage": usage}));
    events.push("message_stop", &json!({"type": "message_stop"}));
    events
}

/// Adds a delta: the same as [`Events::push`] without building a value, since answers consist of these.
fn push_delta(events: &mut Events, index: usize, kind: &str, key: &str, text: &str) {
    let head = format!(
        "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":{index},\"delta\":\
         {{\"type\":\"{kind}\",\"{key}\":"
    );
    events.push_text(&head, text, b"}}\n\n");
}

fn usage(answer: &Answer, output_tokens: u64) -> Value {
    json!({
        "input_tokens": answer.input_tokens(),
        "cache_creation_input_tokens": answer.usage.cache_creation_input_tokens,
        "cache_read_input_tokens": answer.usage.cache_read_input_tokens,
        "output_tokens": output_tokens,
        "service_tier": "standard",
    })
}

fn envelope(answer: &Answer, content: &[Value], stop: (Option<&str>, Option<&str>), usage: &Value) -> Value {
    json!({
        "id": format!("msg_01{}", answer.id),
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": content,
        "stop_reason": stop.0,
        "stop_sequence": stop.1,
        "usage": usage,
    })
}

/// Calls `send` with the type, the key and the text of each delta.
fn deltas(answer: &Answer, block: &Block, random: &mut Random, mut send: impl FnMut(&str, &str, &str)) {
    match block {
        Block::Text(text) => {
            for part in answer.split(text, random) {
                send("text_delta", "text", part);
            }
        }
        Block::Thinking(text) => {
            for part in answer.split(text, random) {
                send("thinking_delta", "thinking", part);
            }
            send("signature_delta", "signature", &signature(text));
        }
        Block::Tool { input, .. } => {
            // The API opens with an empty part, and so do we.
            send("input_json_delta", "partial_json", "");
            for part in answer.split(&input.text(), random) {
                send("input_json_delta", "partial_json", part);
            }
        }
        Block::Raw(_) => {}
    }
}

fn whole(block: &Block, letters: &str) -> Value {
    match block {
        Block::Text(text) => json!({"type": "text", "text": text}),
        Block::Thinking(text) => json!({"type": "thinking", "thinking": text, "signature": signature(text)}),
        Block::Tool { name, input, .. } => {
            // Without a stream the API has parsed the input already; what cannot be parsed is lost.
            let input = input.parsed().unwrap_or_else(|| Value::Object(Map::new()));
            json!({"type": "tool_use", "id": tool_id(block, "toolu_01", letters), "name": name, "input": input})
        }
        Block::Raw(value) => value.clone(),
    }
}

fn opened(block: &Block, letters: &str) -> Value {
    match block {
        Block::Text(_) => json!({"type": "text", "text": ""}),
        Block::Thinking(_) => json!({"type": "thinking", "thinking": "", "signature": ""}),
        Block::Tool { name, .. } => {
            json!({"type": "tool_use", "id": tool_id(block, "toolu_01", letters), "name": name, "input": {}})
        }
        Block::Raw(value) => value.clone(),
    }
}

/// What is wrong with the order of a healthy stream, if anything: one `message_start` first, blocks opened and closed
/// one after the other, `message_delta` and `message_stop` last.
pub(super) fn check_order(events: &[(String, Value)]) -> Result<(), String> {
    let mut open: Option<u64> = None;
    let mut next_index = 0;
    let mut stage = "start";
    for (number, (name, data)) in events.iter().enumerate() {
        let wrong = |what: &str| Err(format!("event {} ({name}): {what}", number + 1));
        if data["type"] != name.as_str() {
            return wrong("its name and its type differ");
        }
        let index = data["index"].as_u64();
        match (stage, name.as_str()) {
            (_, "ping") => {}
            ("start", "message_start") => stage = "blocks",
            ("blocks", "content_block_start") if open.is_none() && index == Some(next_index) => open = index,
            ("blocks", "content_block_delta") if open.is_some() && index == open => {}
            ("blocks", "content_block_stop") if open.is_some() && index == open => {
                open = None;
                next_index += 1;
            }
            ("blocks", "message_delta") if open.is_none() => stage = "delta",
            ("delta", "message_stop") => stage = "stop",
            _ => return wrong("out of order"),
        }
    }
    if stage == "stop" { Ok(()) } else { Err("the stream has no message_stop".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_is_the_event_it_would_be() {
        let (mut quick, mut slow) = (Events::default(), Events::default());
        let text = "a \"quote\", é, 🦀, \u{1} and \n";
        push_delta(&mut quick, 3, "text_delta", "text", text);
        let delta = json!({"type": "text_delta", "text": text});
        slow.push("content_block_delta", &json!({"type": "content_block_delta", "index": 3, "delta": delta}));
        assert_eq!(quick, slow);
    }

    #[test]
    fn every_disorder_is_found() {
        let event = |name: &str, index: u64| (name.to_owned(), json!({"type": name, "index": index}));
        let healthy = [
            event("message_start", 0),
            event("content_block_start", 0),
            event("ping", 0),
            event("content_block_delta", 0),
            event("content_block_stop", 0),
            event("message_delta", 0),
            event("message_stop", 0),
        ];
        assert_eq!(check_order(&healthy), Ok(()));
        // Each event but the ping and the delta is needed, and none may stand twice.
        for dropped in [0, 1, 4, 5, 6] {
            let mut broken = healthy.to_vec();
            broken.remove(dropped);
            assert!(check_order(&broken).is_err(), "without event {dropped}");
        }
        for doubled in [0, 1, 4, 5, 6] {
            let mut broken = healthy.to_vec();
            broken.insert(doubled, healthy[doubled].clone());
            assert!(check_order(&broken).is_err(), "event {doubled} twice");
        }
        let mut wrong_index = healthy.to_vec();
        wrong_index[3] = event("content_block_delta", 1);
        assert_eq!(check_order(&wrong_index), Err("event 4 (content_block_delta): out of order".to_owned()));
        let mut wrong_name = healthy.to_vec();
        wrong_name[0].0 = "other".to_owned();
        assert!(check_order(&wrong_name).unwrap_err().contains("its name and its type differ"));
    }
}
