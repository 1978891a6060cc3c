//! Mutants of a run whose recording says what was served: it tells something else, and every line of it is well formed.

use serde_json::{Value, json};

use super::super::contract::Protocol;
use super::super::fixture::{Sample, set};

/// What a run of this protocol could say instead of what it was told; only a success is held against what was served.
pub(super) fn mutants(base: &Sample, protocol: Protocol) -> Vec<(String, Sample)> {
    let succeeds = base.exit.as_ref().is_some_and(|exit| exit.code == Some(0) && exit.timed_out.is_none());
    if !succeeds || !base.recorded.contains_key("served") {
        return Vec::new();
    }
    let with = |what: String, stdout: Vec<u8>| (what, Sample { stdout, ..base.clone() });
    if protocol == Protocol::Text {
        let told = texts(&base.stdout).into_iter();
        return told.map(|(what, stdout)| with(what.to_owned(), stdout)).collect();
    }
    let lines: Vec<&[u8]> = base.stdout.split_inclusive(|byte| *byte == b'\n').collect();
    let last = lines.len().saturating_sub(1);
    let resumes = base.argv.iter().flatten().any(|word| word == "--resume");
    let mut mutants = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { continue };
        let around = |new: &[u8]| [&lines[..index].concat(), new, &lines[index + 1..].concat()].concat();
        for pointer in places(&message) {
            // The models count on over turns and sessions, so that only their last count can be held against a run.
            if pointer.starts_with("/modelUsage") && (index < last || resumes) {
                continue;
            }
            let Some(new) = message.pointer(&pointer).and_then(another) else { continue };
            let mut broken = message.clone();
            if set(&mut broken, &pointer, new).is_some() {
                let what = format!("line {}: another {pointer}", index + 1);
                mutants.push(with(what, around(format!("{broken}\n").as_bytes())));
            }
        }
        if message["type"] == "assistant" {
            mutants.push(with(format!("line {} lost", index + 1), around(b"")));
        }
    }
    mutants
}

/// The places of a message that repeat what the API said.
fn places(message: &Value) -> Vec<String> {
    let mut places: Vec<String> = match message["type"].as_str() {
        Some("assistant") => ["model", "usage/input_tokens", "content/0/text", "content/0/thinking"]
            .iter()
            .chain(&["content/0/id", "content/0/name"])
            .map(|place| format!("/message/{place}"))
            .collect(),
        Some("user") => vec!["/message/content/0/is_error".into()],
        Some("result") => {
            let usage = ["input_tokens", "output_tokens", "cache_read_input_tokens"];
            let mut places = vec!["/result".into(), "/stop_reason".into(), "/num_turns".into()];
            places.extend(usage.map(|name| format!("/usage/{name}")));
            places
        }
        _ => Vec::new(),
    };
    let models = message["modelUsage"].as_object().into_iter().flat_map(|models| models.keys());
    places.extend(models.map(|model| format!("/modelUsage/{model}/outputTokens")));
    places
}

/// Another value of the same type.
fn another(value: &Value) -> Option<Value> {
    Some(match value {
        Value::String(text) => json!(format!("another {text}")),
        Value::Number(_) => json!(value.as_u64()? + 1),
        Value::Bool(flag) => json!(!flag),
        _ => return None,
    })
}

/// What a plain answer could be instead.
fn texts(stdout: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let half = stdout.len() / 2;
    vec![
        ("nothing is printed", Vec::new()),
        ("the answer is cut", stdout[..half].to_vec()),
        ("the start is lost", stdout[half..].to_vec()),
        ("another answer", b"Something else.\n".to_vec()),
        ("the answer twice", [stdout, stdout].concat()),
        ("a line before the answer", [b"Warning: slow\n", stdout].concat()),
        ("a line after the answer", [stdout, b"done in 3 ms\n"].concat()),
        ("a byte that is not UTF-8", [stdout, b"\xff\n"].concat()),
    ]
}
