//! One value of one message is not what it was.

use serde_json::{Value, json};

use super::super::super::fixture::{Sample, set};
use super::places::{Sort, sort};
use super::printed::{Printed, kind};
use super::{Harm, texts};
use crate::json::pointer::join;

/// Changes each value that is printed, in every way that is known.
pub(super) fn harms(base: &Sample, printed: &Printed) -> Vec<Harm> {
    let mut harms = Vec::new();
    for (index, message) in printed.messages.iter().enumerate() {
        let mut found = Vec::new();
        places(message, "", &mut Vec::new(), &mut found);
        // What the program says itself has an id of its own making.
        let is_own = message.pointer("/message/model").is_some_and(|model| model == "<synthetic>");
        found.retain(|(pointer, ..)| !is_own || pointer != "/message/id");
        for (pointer, path, sort) in found {
            let Some(value) = message.pointer(&pointer) else { continue };
            for (what, new) in changes(sort, &path, value, base) {
                let mut changed = message.clone();
                if set(&mut changed, &pointer, new).is_some() {
                    let what = format!("line {} {what}", index + 1);
                    let sample = printed.with_one(base, index, changed);
                    harms.push(Harm::printed(format!("{} /{}", kind(message), path.join("/")), what, sample));
                }
            }
        }
        harms.extend(other_models(base, printed, index));
    }
    harms
}

/// The places of a message that can be wrong, each with its pointer and its path.
fn places<'m>(
    value: &'m Value,
    pointer: &str,
    path: &mut Vec<&'m str>,
    found: &mut Vec<(String, Vec<&'m str>, Sort)>,
) {
    let sort = sort(path, value);
    found.extend(sort.map(|sort| (pointer.to_string(), path.clone(), sort)));
    if sort == Some(Sort::Data) {
        return;
    }
    match value {
        Value::Object(members) => {
            let is_map =
                path.last().is_some_and(|name| name.contains("odelUsage") || name.contains("model_usage"));
            for (name, inner) in members {
                path.push(if is_map { "*" } else { name });
                places(inner, &join(pointer, name), path, found);
                path.pop();
            }
        }
        Value::Array(list) => {
            for (at, inner) in list.iter().enumerate() {
                path.push("*");
                places(inner, &format!("{pointer}/{at}"), path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

/// What can be wrong with a value.
fn changes(sort: Sort, path: &[&str], value: &Value, base: &Sample) -> Vec<(String, Value)> {
    let named = |what: &str, value: Value| (what.to_string(), value);
    match (sort, value) {
        (Sort::Text, Value::String(text)) => {
            texts::changes(text).into_iter().map(|(what, text)| named(what, text.into())).collect()
        }
        (Sort::Word, Value::String(word)) => {
            let other = other_word(path.last().copied().unwrap_or_default(), word);
            vec![(format!("renamed to {other}"), other.into())]
        }
        (Sort::Id, Value::String(id)) => vec![named("another id", other_id(id).into())],
        (Sort::Flag, Value::Bool(flag)) => vec![named("flipped", (!flag).into())],
        (Sort::Count, Value::Number(number)) => {
            let Some(count) = number.as_i64() else { return Vec::new() };
            let all =
                [("zero", 0), ("halved", count / 2), ("one more", count + 1), ("ten times", count * 10)];
            all.into_iter()
                .filter(|(_, new)| *new != count)
                .map(|(what, new)| named(what, new.into()))
                .collect()
        }
        (Sort::Money, Value::Number(number)) => {
            let Some(cost) = number.as_f64() else { return Vec::new() };
            let all = [("doubled", cost * 2.0), ("zero", 0.0), ("a dollar more", cost + 1.0)];
            let differs = |new: f64| (new - cost).abs() > f64::EPSILON;
            all.into_iter()
                .filter(|(_, new)| differs(*new))
                .map(|(what, new)| named(what, json!(new)))
                .collect()
        }
        (Sort::Millis, _) => {
            let whole = base.recorded.get("duration_ms").and_then(Value::as_u64);
            whole.map(|whole| named("longer than the run", (whole + 60_000).into())).into_iter().collect()
        }
        (Sort::List, Value::Array(list)) => {
            let mut all = vec![named("emptied", json!([]))];
            if list.len() > 1 {
                all.push(named("without its last", list[..list.len() - 1].to_vec().into()));
            }
            all
        }
        (Sort::Data, data) => {
            let mut all = vec![named("another", json!({"command": "rm -rf /"})), named("emptied", json!({}))];
            for (name, inner) in data.as_object().into_iter().flatten() {
                let mut changed = data.clone();
                changed[name] = match inner {
                    Value::String(text) => format!("{text}; rm -rf /").into(),
                    Value::Number(number) => json!(number.as_f64().unwrap_or_default() + 1.0),
                    Value::Bool(flag) => (!flag).into(),
                    _ => continue,
                };
                all.push((format!("with another {name}"), changed));
                let mut less = data.clone();
                if let Some(members) = less.as_object_mut() {
                    members.shift_remove(name);
                }
                all.push((format!("without {name}"), less));
            }
            all.retain(|(_, new)| new != data);
            all
        }
        _ => Vec::new(),
    }
}

/// Another word of the same vocabulary, where it is known.
fn other_word(name: &str, word: &str) -> String {
    let known: &[&str] = match name {
        "stop_reason" => &["end_turn", "max_tokens"],
        "permissionMode" => &["bypassPermissions", "default"],
        "model" => &["claude-opus-4-1", "claude-haiku-4-5"],
        "status" => &["completed", "failed"],
        "apiKeySource" => &["none", "ANTHROPIC_API_KEY"],
        "terminal_reason" => &["completed", "max_turns"],
        "error" => &["rate_limit", "server_error"],
        "name" | "tool_name" => &["Bash", "Read"],
        "claude_code_version" => &["2.1.197", "2.1.325"],
        _ => &[],
    };
    known.iter().find(|other| **other != word).map_or_else(|| format!("{word}x"), ToString::to_string)
}

/// An id of the same look that is not this one.
pub(super) fn other_id(id: &str) -> String {
    let turned = |letter: char| match letter {
        '0'..='8' | 'a'..='e' | 'g'..='y' => char::from(letter as u8 + 1),
        '9' => '0',
        'f' => 'a',
        other => other,
    };
    let start = id.len().saturating_sub(8);
    id.char_indices().map(|(at, letter)| if at < start { letter } else { turned(letter) }).collect()
}

/// The usage of a model under the name of another.
fn other_models(base: &Sample, printed: &Printed, index: usize) -> Vec<Harm> {
    let message = &printed.messages[index];
    let Some(models) = message.get("modelUsage").and_then(Value::as_object) else { return Vec::new() };
    let renamed = |name: &String| if name.contains("opus") { "claude-haiku-4-5" } else { "claude-opus-4-1" };
    let mut other = message.clone();
    other["modelUsage"] =
        models.iter().map(|(name, usage)| (renamed(name).to_string(), usage.clone())).collect();
    let mut none = message.clone();
    none["modelUsage"] = json!({});
    let all = [("under another name", other), ("emptied", none)];
    all.into_iter()
        .filter(|(_, changed)| changed != message)
        .map(|(what, changed)| {
            let what = format!("line {} {what}", index + 1);
            Harm::printed("result /modelUsage", what, printed.with_one(base, index, changed))
        })
        .collect()
}
