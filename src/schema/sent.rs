//! What was sent to a target on standard input, each message with what the target printed about it: the request that it
//! answers, the answer that it got, and what came next. Clauses then hold one direction of a conversation against the other.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead as _, BufReader};

use serde_json::{Map, Value, json};

use crate::recording::Recording;

/// A longer line is not looked into.
const LONGEST_LINE: usize = 4 << 20;
/// Texts of messages that come next are kept up to this.
const LONGEST_TEXT: usize = 1024;

/// The list, if that is known. Nothing was sent in a run whose API was recorded and that tells of nothing sent.
pub(super) fn of(recording: &Recording) -> Option<Value> {
    let facts = &recording.facts.other;
    let Some(sent) = facts.get("sent").and_then(Value::as_array) else {
        return facts.contains_key("served").then(|| json!([]));
    };
    // An output that cannot be read has told nothing, which its own findings say.
    let printed = Printed::read(recording, sent).unwrap_or_default();
    let mut answered = HashSet::new();
    let mut prompts = 0_usize;
    let entries = sent.iter().map(|entry| {
        let offset = entry["offset"].as_u64().unwrap_or_default();
        let message = &entry["message"];
        let mut told = entry.as_object().cloned().unwrap_or_default();
        match message["type"].as_str() {
            Some("control_request") => {
                told.insert(
                    "answered".into(),
                    id(&message["request_id"]).and_then(|id| printed.answers.get(&id)).cloned().into(),
                );
            }
            Some("control_response") => {
                let asked = id(&message["response"]["request_id"]);
                told.insert("again".into(), asked.clone().is_some_and(|id| !answered.insert(id)).into());
                let to = asked.and_then(|id| printed.requests.get(&id));
                told.insert("to".into(), to.cloned().into());
                let call = to.and_then(|to| to["request"]["tool_use_id"].as_str());
                told.insert(
                    "call".into(),
                    call.and_then(|call| printed.outcomes.get(call))
                        .map_or(Value::Null, |outcome| outcome.seen_at(offset)),
                );
            }
            Some("user") => prompts += 1,
            _ => {}
        }
        let done = printed.results.iter().filter(|(at, _)| *at < offset).count();
        told.insert("busy".into(), (prompts > done).into());
        told.insert("next".into(), printed.next(offset));
        Value::Object(told)
    });
    Some(entries.collect())
}

fn id(value: &Value) -> Option<String> {
    (!value.is_null()).then(|| value.to_string())
}

/// What a target printed about what was sent to it.
#[derive(Default)]
struct Printed {
    requests: HashMap<String, Value>,
    answers: HashMap<String, Value>,
    /// What became of the calls that somebody was asked about.
    outcomes: HashMap<String, Outcome>,
    inits: Vec<(u64, Value)>,
    results: Vec<(u64, Value)>,
    statuses: Vec<(u64, Value)>,
}

struct Outcome {
    offset: u64,
    block: Value,
    extra: Value,
}

impl Outcome {
    /// What was told of the call, and whether that was before or after this was sent.
    fn seen_at(&self, offset: u64) -> Value {
        let printed = if self.offset < offset { "before" } else { "after" };
        let is_error = self.block["is_error"].as_bool().unwrap_or(false);
        json!({"printed": printed, "is_error": is_error, "content": self.block["content"], "extra": self.extra})
    }
}

impl Printed {
    fn read(recording: &Recording, sent: &[Value]) -> std::io::Result<Self> {
        let mut printed = Self::default();
        if sent.is_empty() {
            return Ok(printed);
        }
        let mut out = BufReader::new(recording.stdout()?);
        let (mut line, mut offset) = (Vec::new(), 0);
        loop {
            line.clear();
            let length = out.read_until(b'\n', &mut line)? as u64;
            if length == 0 {
                return Ok(printed);
            }
            if line.len() <= LONGEST_LINE
                && let Ok(message) = serde_json::from_slice::<Value>(&line)
            {
                printed.note(offset, message);
            }
            offset += length;
        }
    }

    fn note(&mut self, offset: u64, message: Value) {
        match (message["type"].as_str(), message["subtype"].as_str()) {
            (Some("control_request"), _) => {
                if let Some(id) = id(&message["request_id"]) {
                    self.requests.entry(id).or_insert(message);
                }
            }
            (Some("control_response"), _) => {
                if let Some(id) = id(&message["response"]["request_id"]) {
                    self.answers.entry(id).or_insert(message);
                }
            }
            (Some("user"), _) => {
                let blocks = message["message"]["content"].as_array();
                for block in blocks.into_iter().flatten().filter(|block| block["type"] == "tool_result") {
                    if let Some(call) = block["tool_use_id"].as_str() {
                        let extra = message["tool_use_result"].clone();
                        let outcome = Outcome { offset, block: block.clone(), extra };
                        self.outcomes.entry(call.to_owned()).or_insert(outcome);
                    }
                }
            }
            (Some("system"), Some("init")) => self.inits.push((offset, clipped(message))),
            (Some("system"), Some("status")) => self.statuses.push((offset, clipped(message))),
            (Some("result"), _) => self.results.push((offset, clipped(message))),
            _ => {}
        }
    }

    /// The first init, status and result that came after this was sent.
    fn next(&self, offset: u64) -> Value {
        let after =
            |list: &[(u64, Value)]| list.iter().find(|(at, _)| *at >= offset).map(|(_, value)| value.clone());
        let kinds = [("init", &self.inits), ("status", &self.statuses), ("result", &self.results)];
        let next = kinds.map(|(name, list)| (name.to_owned(), after(list).into()));
        Value::Object(next.into_iter().collect::<Map<_, _>>())
    }
}

/// The message with its long texts and lists left out: many entries may name it.
fn clipped(mut message: Value) -> Value {
    for value in message.as_object_mut().into_iter().flat_map(Map::values_mut) {
        match value {
            Value::String(text) if text.len() > LONGEST_TEXT => *value = Value::Null,
            Value::Array(items) if items.len() > 64 => *value = Value::Null,
            _ => {}
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Facts;

    #[test]
    fn each_message_knows_what_was_printed_about_it() {
        let asks = json!({"type": "control_request", "request_id": "c1", "request": {"subtype": "can_use_tool", "tool_use_id": "t1"}});
        let lines = [
            json!({"type": "control_response", "response": {"subtype": "success", "request_id": "r1"}}),
            json!({"type": "system", "subtype": "init", "model": "m"}),
            asks.clone(),
            json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": true}]}}),
            json!({"type": "result", "subtype": "success"}),
        ];
        let (mut stdout, mut offsets) = (String::new(), Vec::new());
        for line in &lines {
            offsets.push(stdout.len());
            stdout.push_str(&line.to_string());
            stdout.push('\n');
        }
        let answer = |id: &str| json!({"type": "control_response", "response": {"subtype": "success", "request_id": id}});
        let sent = json!([
            {"offset": 0, "message": {"type": "control_request", "request_id": "r1", "request": {"subtype": "initialize"}}},
            {"offset": offsets[1], "message": {"type": "user"}},
            {"offset": offsets[3], "message": answer("c1")},
            {"offset": offsets[4], "message": answer("c1")},
            {"offset": offsets[4], "message": answer("other")},
            {"offset": stdout.len(), "message": {"type": "control_request", "request_id": "r2"}},
            {"offset": stdout.len(), "closed": true},
        ]);
        let mut facts = Facts::default();
        facts.other.insert("sent".into(), sent);
        let told = of(&Recording::new(facts, stdout.into_bytes(), Vec::new())).unwrap();
        assert_eq!(told[0]["answered"], lines[0]);
        assert_eq!((&told[1]["busy"], &told[1]["next"]["init"]["model"]), (&json!(true), &json!("m")));
        assert_eq!((&told[2]["to"], &told[2]["again"]), (&asks, &json!(false)));
        assert_eq!(
            told[2]["call"],
            json!({"printed": "after", "is_error": true, "content": "no", "extra": null})
        );
        assert_eq!((&told[3]["call"]["printed"], &told[3]["again"]), (&json!("before"), &json!(true)));
        assert_eq!((&told[4]["to"], &told[4]["call"]), (&Value::Null, &Value::Null));
        assert_eq!(told[5]["answered"], Value::Null);
        assert_eq!((&told[6]["busy"], &told[6]["next"]["result"]), (&json!(false), &Value::Null));
        assert_eq!(of(&Recording::new(Facts::default(), Vec::new(), Vec::new())), None);
    }
}
