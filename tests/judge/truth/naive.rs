//! A second hand that changes recordings, and knows nothing of the first (`Harm`) nor of any clause: it takes any value of
//! any line that is printed, or of what was said in a request, and makes it another one of its kind.

use std::collections::BTreeMap;

use clawgate::internals::schema::Sample;
use serde_json::{Value, json};

/// What nobody but the program can know: made up for each message, how long its own steps took, and what it can do.
const UNKNOWABLE: &[&str] = &[
    "uuid",
    "timestamp",
    "request_id",
    "hook_id",
    "task_id",
    "agentId",
    "run_id",
    "signature",
    "start_time",
    "end_time",
    "duration_ms",
    "duration_api_ms",
    "durationMs",
    "totalDurationMs",
    "ttft_ms",
    "ttft_stream_ms",
    "time_to_request_ms",
    "first_content_frame_ms",
    "thinking_duration_ms",
    "retry_delay_ms",
    "estimated_tokens",
    "estimated_tokens_delta",
    // What the installation can do, and settings that nobody gave it.
    "agents",
    "skills",
    "slash_commands",
    "terminal_slash_commands",
    "plugins",
    "capabilities",
    "messaging_socket_path",
    "output_style",
    "view_mode",
    "per_turn_effort_active",
    "ultrathink_available",
    "ultrathink_typed_raises",
    "noOutputExpected",
    "reason_type",
];

/// The program's own words to the model.
const REMINDER: &str = "<system-reminder>";

/// A change: what was changed (without numbers), how, whether it stands in a request, and the changed run.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) place: String,
    pub(crate) what: String,
    pub(crate) in_request: bool,
    pub(crate) sample: Sample,
}

/// Numbers that look random and are the same in every run.
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % end.max(1)
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// So many changes of one run, each to another place and as far as there are so many, and as many of its requests.
pub(crate) fn changes(base: &Sample, some: usize, dice: &mut Dice) -> Vec<Change> {
    let mut all = Vec::new();
    let text = String::from_utf8_lossy(&base.stdout).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    let messages: Option<Vec<Value>> = lines.iter().map(|line| serde_json::from_str(line).ok()).collect();
    match messages
        .filter(|messages| messages.iter().any(Value::is_object) || messages.iter().any(Value::is_array))
    {
        Some(messages) => {
            of_messages(base, &messages, dice, &mut all);
            of_lines(base, &lines, &messages, dice, &mut all);
        }
        None => of_text(base, &text, dice, &mut all),
    }
    let mut sent = Vec::new();
    of_requests(base, dice, &mut sent);
    for list in [&mut all, &mut sent] {
        while list.len() > some {
            list.swap_remove(dice.below(list.len()));
        }
    }
    all.append(&mut sent);
    all
}

fn printed(base: &Sample, lines: &[String]) -> Sample {
    let mut sample = base.clone();
    sample.stdout = (lines.join("\n") + "\n").into_bytes();
    sample
}

/// One change to a value for each place of each kind of message.
fn of_messages(base: &Sample, messages: &[Value], dice: &mut Dice, all: &mut Vec<Change>) {
    let mut seen: BTreeMap<String, Vec<(usize, String)>> = BTreeMap::new();
    for (index, message) in messages.iter().enumerate() {
        leaves(message, "", &mut |pointer, _| {
            // What the program says itself has an id of its own making.
            if pointer == "/message/id" && message["message"]["model"] == "<synthetic>" {
                return;
            }
            let inner = pointer.split('/').nth(1).and_then(|at| message.get(at.parse::<usize>().ok()?));
            let head = inner.filter(|_| message.is_array()).unwrap_or(message);
            seen.entry(format!("{} {}", kind(head), general(&pointer, message)))
                .or_default()
                .push((index, pointer));
        });
    }
    for (place, found) in seen {
        let (index, pointer) = dice.pick(&found).clone();
        let mut changed = messages[index].clone();
        let Some(slot) = changed.pointer_mut(&pointer) else { continue };
        let Some((what, new)) = another(slot, &pointer, dice) else { continue };
        *slot = new;
        let lines: Vec<String> = messages
            .iter()
            .enumerate()
            .map(|(at, message)| if at == index { changed.to_string() } else { message.to_string() })
            .collect();
        let what = format!("line {} {pointer} {what}", index + 1);
        all.push(Change { place, what, in_request: false, sample: printed(base, &lines) });
    }
}

/// What kind of message it is.
fn kind(message: &Value) -> String {
    let word = |pointer| message.pointer(pointer).and_then(Value::as_str);
    let agent = if message["parent_tool_use_id"].is_string() { "+agent" } else { "" };
    let more = if word("/type") == Some("result") || word("/type") == Some("system") {
        word("/subtype")
    } else {
        word("/event/type")
    };
    format!("{}/{}{agent}", word("/type").unwrap_or("?"), more.unwrap_or(""))
}

/// The pointer without what is a value in it.
fn general(pointer: &str, message: &Value) -> String {
    let mut out = Vec::new();
    let mut before = String::new();
    for step in pointer.split('/') {
        let is_value = step.parse::<usize>().is_ok() || before == "modelUsage";
        let at: String = if is_value { "*".to_string() } else { step.to_string() };
        before = step.to_string();
        out.push(at);
    }
    // Blocks of different types are different places.
    let block = pointer.split('/').take(4).collect::<Vec<_>>().join("/");
    let block = message
        .pointer(&block)
        .and_then(|block| block["type"].as_str())
        .filter(|_| pointer.contains("/content/"));
    format!("{}{}", out.join("/"), block.map_or_else(String::new, |block| format!(" of {block}")))
}

/// Every value that is no object: scalars, and lists as a whole.
fn leaves(value: &Value, pointer: &str, found: &mut dyn FnMut(String, &Value)) {
    match value {
        Value::Object(members) => {
            for (name, inner) in members.iter().filter(|(name, _)| !UNKNOWABLE.contains(&name.as_str())) {
                let name = name.replace('~', "~0").replace('/', "~1");
                leaves(inner, &format!("{pointer}/{name}"), found);
            }
        }
        Value::Array(list) => {
            if !list.is_empty() && !pointer.is_empty() {
                found(pointer.to_string(), value);
            }
            for (at, inner) in list.iter().enumerate() {
                leaves(inner, &format!("{pointer}/{at}"), found);
            }
        }
        Value::Null => {}
        scalar => found(pointer.to_string(), scalar),
    }
}

/// Another value of the same kind.
fn another(value: &Value, pointer: &str, dice: &mut Dice) -> Option<(String, Value)> {
    let name = pointer.rsplit('/').find(|step| step.parse::<usize>().is_err()).unwrap_or_default();
    Some(match value {
        Value::Bool(flag) => ("flipped".into(), json!(!flag)),
        Value::Number(number) if number.is_f64() => {
            let number = number.as_f64()?;
            let new = *dice.pick(&[number * 2.0, number / 2.0, number + 1.0]);
            (format!("{number} to {new}"), json!(new))
        }
        Value::Number(number) => {
            let number = number.as_i64()?;
            let new = *dice.pick(&[number / 2, number + 1, number * 2, number * 10, 0, number - 1]);
            let new = if new == number { number + 1 } else { new };
            (format!("{number} to {new}"), json!(new))
        }
        Value::String(text) if text.is_empty() => return None,
        Value::String(text) => {
            let known: &[&str] = match name {
                "model" | "resolvedModel" => &["claude-opus-4-1", "claude-haiku-4-5", "claude-sonnet-4-5"],
                "permissionMode" => &["default", "bypassPermissions", "plan", "acceptEdits"],
                "stop_reason" => &["end_turn", "max_tokens", "tool_use"],
                "subtype" if pointer == "/subtype" => {
                    &["success", "error_max_turns", "error_during_execution"]
                }
                "status" => &["completed", "failed", "stopped", "running"],
                "tools" | "name" | "tool_name" => &["Bash", "Read", "Write", "WebFetch"],
                _ => &[],
            };
            let words: Vec<&str> = text.split(' ').collect();
            let new = if known.is_empty() {
                let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
                let mut without = words.clone();
                without.remove(dice.below(words.len()));
                let mut other = words.clone();
                other[dice.below(words.len())] = "lobster";
                let ways = [
                    format!("{text}x"),
                    text[..middle].to_string(),
                    without.join(" "),
                    other.join(" "),
                    text.chars().rev().collect(),
                    "I am sorry, something went wrong.".to_string(),
                ];
                dice.pick(&ways).clone()
            } else {
                dice.pick(known).to_string()
            };
            let new = if new == *text { format!("{text}x") } else { new };
            let clip = |text: &str| text.chars().take(40).collect::<String>();
            (format!("{:?} to {:?}", clip(text), clip(&new)), json!(new))
        }
        Value::Array(list) => {
            let mut new = list.clone();
            let gone = dice.below(list.len());
            new.remove(gone);
            ("without one".into(), new.into())
        }
        _ => return None,
    })
}

/// Lines lost, doubled, and in another order.
fn of_lines(base: &Sample, lines: &[&str], messages: &[Value], dice: &mut Dice, all: &mut Vec<Change>) {
    if lines.len() < 2 {
        return;
    }
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    for _ in 0..4 {
        for way in ["lost", "twice", "swapped"] {
            let index = dice.below(lines.len());
            let mut new = lines.clone();
            match way {
                "lost" => drop(new.remove(index)),
                "twice" => new.insert(index, lines[index].clone()),
                _ => new.swap(index, (index + 1) % lines.len()),
            }
            let other =
                if way == "swapped" { kind(&messages[(index + 1) % lines.len()]) } else { String::new() };
            let place = format!("{way} {} {other}", kind(&messages[index]));
            all.push(Change {
                place,
                what: format!("line {}", index + 1),
                in_request: false,
                sample: printed(base, &new),
            });
        }
    }
}

fn of_text(base: &Sample, text: &str, dice: &mut Dice, all: &mut Vec<Change>) {
    for _ in 0..6 {
        let body = text.trim_end();
        let Some((what, new)) = another(&json!(body), "", dice) else { return };
        let mut sample = base.clone();
        sample.stdout = format!("{}{}", new.as_str().unwrap(), &text[body.len()..]).into_bytes();
        all.push(Change { place: "text".into(), what, in_request: false, sample });
    }
}

/// What was said to the API: the messages and the model, and where the first message names them the tools.
fn of_requests(base: &Sample, dice: &mut Dice, all: &mut Vec<Change>) {
    let has_init = base.argv.iter().flatten().any(|argument| argument == "stream-json");
    let requests = base.recorded.get("requests").and_then(Value::as_array).cloned().unwrap_or_default();
    for (number, request) in requests.iter().enumerate().filter(|(_, request)| request["json"].is_object()) {
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let parts: &[&str] = if has_init { &["messages", "model", "tools"] } else { &["messages", "model"] };
        for part in parts {
            leaves(&request["json"][part], &format!("/json/{part}"), &mut |pointer, value| {
                let message = pointer.split('/').take(4).collect::<Vec<_>>().join("/");
                let is_system = request.pointer(&message).is_some_and(|message| message["role"] == "system");
                let is_own =
                    is_system || value.to_string().contains(REMINDER) || pointer.contains("/cache_control");
                let is_name = *part != "tools" || pointer.ends_with("/name") || pointer == "/json/tools";
                if is_name && !is_own {
                    let general = general(&pointer, &Value::Null);
                    let role =
                        request.pointer(&message).and_then(|message| message["role"].as_str()).unwrap_or("");
                    found
                        .entry(format!("request {} {general} {role}", request["kind"].as_str().unwrap_or("")))
                        .or_default()
                        .push(pointer);
                }
            });
        }
        for (place, pointers) in found {
            let pointer = dice.pick(&pointers).clone();
            let mut changed = request.clone();
            let Some(slot) = changed.pointer_mut(&pointer) else { continue };
            let Some((what, new)) = another(slot, &pointer, dice) else { continue };
            *slot = new.clone();
            if pointer == "/json/model" && changed.pointer("/body/model").is_some() {
                changed["body"]["model"] = new;
            }
            let mut sample = base.clone();
            sample.recorded.get_mut("requests").unwrap()[number] = changed;
            all.push(Change {
                place,
                what: format!("request {} {pointer} {what}", number + 1),
                in_request: true,
                sample,
            });
        }
    }
}
