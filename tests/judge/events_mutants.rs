//! Valid logs, each changed in one place: what the document calls wrong is noticed, what it allows is not.
//!
//! The changes are written from the document, not from the clauses: whatever a worker, an orchestrator or a server could
//! do wrong with one record, on every record where it could.

use std::fs;

use clawgate::internals::events::Profile;
use clawgate::internals::schema::judge_log;
use clawgate::schema::{ContractSet, Level};
use serde_json::{Value, json};

use crate::command::corpus;
use crate::support::json_lines;

/// The logs that keep every clause, as lines.
fn valid() -> Vec<(String, Vec<Value>)> {
    let mut found: Vec<_> = fs::read_dir(corpus("claws-events"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().unwrap().contains("-VALID-"))
        .collect();
    found.sort();
    let read = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap()[..2].to_owned();
        (name, json_lines(fs::read_to_string(path).unwrap()))
    };
    found.iter().map(read).collect()
}

fn written_out(lines: &[Value]) -> String {
    lines.iter().fold(String::new(), |log, line| log + &format!("{line}\n"))
}

/// A log that was changed, and how.
struct Mutant {
    name: String,
    lines: Vec<Value>,
}

/// Where the fields of a record's envelope and of its data stand in this notation.
fn places(line: &Value) -> (&'static str, &'static str) {
    match (line.get("payload"), line.pointer("/payload/data")) {
        (Some(_), Some(_)) => ("/payload", "/payload/data"),
        (Some(_), None) => ("/payload", "/payload"),
        (None, _) if line.get("data").is_some() => ("", "/data"),
        (None, _) => ("", ""),
    }
}

fn topic(line: &Value) -> &str {
    line["topic"].as_str().unwrap_or("")
}

/// One field of some records set to each of some values, or taken away.
struct FieldFault {
    /// How the topic ends.
    topic: &'static str,
    /// In the envelope, or in the data.
    in_envelope: bool,
    field: &'static str,
    values: &'static str,
    /// Whether leaving it out is wrong too.
    required: bool,
}

const fn data(topic: &'static str, field: &'static str, values: &'static str, required: bool) -> FieldFault {
    FieldFault { topic, in_envelope: false, field, values, required }
}

const fn envelope(field: &'static str, values: &'static str, required: bool) -> FieldFault {
    FieldFault { topic: "worker.", in_envelope: true, field, values, required }
}

/// What the document's tables and examples make wrong: each list is of values that the field must not have.
const FIELDS: &[FieldFault] = &[
    envelope("v", r#"[2,"1",null,0]"#, true),
    envelope("id", r#"["abc",7,null,""]"#, true),
    envelope("correlation_id", "[7,{},true]", false),
    envelope("parent_id", r#"[7,"p_999999",{},""]"#, false),
    envelope("from_peer", r#"["p_000001",7,null,""]"#, true),
    envelope("from_name", r#"[7,null,""]"#, true),
    envelope("terminal_id", "[7,{}]", false),
    envelope("ts_published", r#"["yesterday",7,null,"2026-06-01 09:00"]"#, true),
    envelope("ts_server", r#"["1999-01-01T00:00:00Z","soon",7]"#, false),
    envelope("schema", r#"["worker-lunch-v1",7,null,""]"#, true),
    envelope("data", r#"[7,null,"x",[]]"#, true),
    data(".boot", "model", "[7,null,{}]", true),
    data(".boot", "role", r#"["captain",7,null,"orchestrator"]"#, true),
    data(".boot", "mission_summary", "[7,null,[]]", true),
    data(".boot", "cwd", "[7,null]", true),
    data(".boot", "terminal_id", "[7,null]", true),
    data(".boot", "capabilities", r#"["x",[7],{}]"#, false),
    data(".boot", "parent_peer_id", r#"[7,"p_999999","p_000002"]"#, false),
    data(".phase", "phase", r#"["VERIFY","plan",7,null,""]"#, true),
    data(".phase", "prev", r#"["VERIFY",7,"FAILED"]"#, true),
    data(".phase", "transition_reason", r#"["",7,null]"#, true),
    data(".phase", "phases_completed", r#"["PLAN",[7],["VERIFY"],null,{}]"#, true),
    data(".phase", "metadata", r#"["x",7,[]]"#, false),
    data(".event", "kind", r#"["WHISPER","request",7,null]"#, true),
    data(".event", "severity", r#"["loud","WARN",7,null]"#, true),
    data(".event", "message", r#"["",7,null]"#, true),
    data(".event", "data", r#"["x",7,[]]"#, false),
    data(".heartbeat", "current_phase", r#"["VERIFY",7,null,"REFLECT"]"#, true),
    data(".heartbeat", "time_in_phase_ms", r#"[-1,"7",null]"#, true),
    data(".heartbeat", "tokens_used", r#"[-1,"7",null]"#, true),
    data(".heartbeat", "cost_usd", r#"[-1,"7",null]"#, true),
    data(".heartbeat", "last_event_id", "[7,{},true]", false),
    data(".heartbeat", "active_sub_workers", r#"["x",[7],["p_999999"],{}]"#, false),
    data(".complete", "result", r#"["fine",7,null]"#, true),
    data(".complete", "summary", r#"["",7,null]"#, true),
    data(".complete", "artifacts", r#"["x",[7],[{}],[{"path":"/a"}],null]"#, true),
    data(".complete", "phases_completed", r#"["PLAN",[7],["VERIFY"],["PLAN"],null]"#, true),
    data(".complete", "total_tokens", r#"[-1,"7"]"#, false),
    data(".complete", "total_cost_usd", r#"[-1,"7"]"#, false),
    data(".complete", "duration_ms", r#"[-1,"7"]"#, false),
    data(".approve", "correlation_id", r#"["nobody-asked",7,""]"#, false),
    data(".reject", "reason", r#"["",7,null]"#, true),
    data(".set_phase", "phase", r#"["VERIFY",7,null]"#, true),
    data(".set_phase", "reason", r#"["",7,null]"#, true),
    data("peer.joined", "peerId", r#"[7,null,""]"#, true),
    data("peer.joined", "role", r#"["captain",7,null]"#, true),
    data("peer.joined", "peerName", "[7,null]", true),
    data("peer.joined", "ts", r#"["soon",7,null]"#, true),
    data("peer.left", "peerId", r#"[7,null,"p_999999"]"#, true),
    data("peer.left", "role", r#"["captain",7,null,"observer"]"#, true),
    data("peer.left", "reason", r#"["bored",7,null]"#, true),
];

fn applies(fault: &FieldFault, line: &Value) -> bool {
    let topic = topic(line);
    match fault.topic {
        "worker." => ["boot", "phase", "event", "heartbeat", "complete"]
            .iter()
            .any(|fact| topic.starts_with("worker.") && topic.ends_with(fact)),
        ending => topic.ends_with(ending),
    }
}

/// Every log with one field of one record made wrong.
fn field_mutants(name: &str, lines: &[Value]) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        for fault in FIELDS.iter().filter(|fault| applies(fault, line)) {
            let (envelope, data) = places(line);
            let object = if fault.in_envelope { envelope } else { data };
            // The notation of the dialogue has one server time, and it is the record's own.
            if object.is_empty() && fault.field == "ts_server" {
                continue;
            }
            let mut change = |what: &str, edit: &dyn Fn(&mut serde_json::Map<String, Value>)| {
                let mut lines = lines.to_vec();
                edit(lines[at].pointer_mut(object).unwrap().as_object_mut().unwrap());
                let name = format!("{name}:{} {} {} {what}", at + 1, topic(line), fault.field);
                mutants.push(Mutant { name, lines });
            };
            let values: Vec<Value> = serde_json::from_str(fault.values).unwrap();
            let before = line.pointer(object).and_then(|object| object.get(fault.field));
            for value in values.iter().filter(|value| before != Some(value)) {
                change(&value.to_string(), &|object| {
                    object.insert(fault.field.into(), value.clone());
                });
            }
            if fault.required && before.is_some() {
                change("left out", &|object| {
                    object.remove(fault.field);
                });
            }
        }
    }
    mutants
}

/// Numbers the records again, so that a change shows in nothing but itself.
fn renumbered(mut lines: Vec<Value>) -> Vec<Value> {
    let mut next = 0;
    for line in &mut lines {
        if line.get("sequence").is_some() {
            line["sequence"] = next.into();
            next += 1;
        }
    }
    lines
}

/// Every log with one record gone, twice, elsewhere, or from somebody else.
fn record_mutants(name: &str, lines: &[Value]) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    let mut add = |at: usize, what: &str, changed: Vec<Value>| {
        let name = format!("{name}:{} {} {what}", at + 1, topic(&lines[at]));
        mutants.push(Mutant { name, lines: renumbered(changed) });
    };
    for (at, line) in lines.iter().enumerate() {
        let topic = topic(line);
        let is = |endings: &[&str]| endings.iter().any(|ending| topic.ends_with(ending));
        let with = |edit: &dyn Fn(&mut Vec<Value>)| {
            let mut changed = lines.to_vec();
            edit(&mut changed);
            changed
        };
        let set = |pointer: &str, value: Value| {
            let mut line = line.clone();
            *line.pointer_mut(pointer).unwrap() = value;
            line
        };
        if is(&[".boot", ".phase", ".complete", "peer.joined"]) {
            add(at, "removed", with(&|lines| drop(lines.remove(at))));
        }
        if is(&[".boot", ".phase", ".complete", "peer.joined", "peer.left", ".approve", ".reject"])
            && line.get("payload").is_some()
        {
            let mut again = line.clone();
            if let Some(id) = again.pointer_mut("/payload/id") {
                *id = "00000000-0000-4000-8000-00000000abcd".into();
            }
            if !is(&[".approve", ".reject"]) {
                add(at, "twice", with(&|lines| lines.insert(at + 1, again.clone())));
            }
            let dup = line.clone();
            if again != dup {
                add(at, "twice with one id", with(&|lines| lines.insert(at + 1, dup.clone())));
            }
        }
        if is(&[".boot", ".phase"])
            && at + 1 < lines.len()
            && topic_of_worker(&lines[at + 1]) == topic_of_worker(line)
        {
            add(at, "after the next", with(&|lines| lines.swap(at, at + 1)));
        }
        if topic.starts_with("worker.") && line.get("from").is_some() {
            add(at, "from another", with(&|lines| lines[at] = set("/from", "p_000001".into())));
            add(at, "in capitals", with(&|lines| lines[at] = set("/topic", topic.to_uppercase().into())));
        }
        if topic.starts_with("system.") && line.get("from").is_some() {
            add(at, "from a peer", with(&|lines| lines[at] = set("/from", "p_000002".into())));
        }
        if topic.starts_with("cmd.") && line.get("from").is_some() {
            add(at, "from a worker", with(&|lines| lines[at] = set("/from", "p_000002".into())));
        }
        if is(&[".complete"]) {
            let mut fatal = line.clone();
            let worker = topic_of_worker(line).unwrap_or_default().to_owned();
            fatal["topic"] = format!("worker.{worker}.event").into();
            let (envelope, data) = places(line);
            *fatal.pointer_mut(data).unwrap() = json!({"kind": "ERROR", "severity": "fatal", "message": "m"});
            let object = if envelope.is_empty() { &mut fatal } else { fatal.pointer_mut(envelope).unwrap() };
            object["schema"] = "worker-event-v1".into();
            object["id"] = "00000000-0000-4000-8000-00000000abce".into();
            let before = with(&|lines| lines.insert(at, fatal.clone()));
            add(at, "after a fatal error", before);
            add(at, "and then a fatal error", with(&|lines| lines.insert(at + 1, fatal.clone())));
        }
    }
    mutants
}

fn topic_of_worker(line: &Value) -> Option<&str> {
    topic(line).strip_prefix("worker.")?.split('.').next()
}

/// Every log with one thing in it that the document allows.
fn benign_mutants(name: &str, lines: &[Value]) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    let is_sidecar = lines.iter().any(|line| line.get("push").is_some());
    for (at, line) in lines.iter().enumerate() {
        let mut add = |what: &str, lines: Vec<Value>| {
            let name = format!("{name}:{} {} {what}", at + 1, topic(line));
            mutants.push(Mutant { name, lines });
        };
        let with = |edit: &dyn Fn(&mut Vec<Value>)| {
            let mut changed = lines.to_vec();
            edit(&mut changed);
            changed
        };
        if line.get("topic").is_none() {
            continue;
        }
        let (envelope, data) = places(line);
        for place in ["", envelope, data] {
            add(
                "an unknown field",
                with(&|lines| {
                    let object =
                        if place.is_empty() { &mut lines[at] } else { lines[at].pointer_mut(place).unwrap() };
                    object["colour"] = json!({"x": [1, null]});
                }),
            );
        }
        add("keys in another order", with(&|lines| lines[at] = reversed(&lines[at])));
        let mut extra = line.clone();
        extra["topic"] = "buoy.b1.ping".into();
        extra["payload"] = json!({"n": 1});
        for key in
            ["sequence", "data", "v", "id", "schema", "from_peer", "from_name", "ts_published", "parent_id"]
        {
            extra.as_object_mut().unwrap().remove(key);
        }
        if !topic(line).ends_with("peer.left") && line.get("payload").is_some() {
            extra["from"] = "p_000001".into();
            if at > 0 {
                add("an unknown topic", with(&|lines| lines.insert(at + 1, extra.clone())));
            }
        }
        if is_sidecar && at > 2 {
            let closed = json!({"type": "sidecar.closed", "ts": "2026-06-01T09:00:02Z"});
            let again = json!({"type": "sidecar.connected", "socket": "s", "ts": "2026-06-01T09:00:02Z"});
            add(
                "a reconnect",
                with(&|lines| {
                    lines.insert(at, again.clone());
                    lines.insert(at, closed.clone());
                }),
            );
        }
        if line.get("sequence").is_some() {
            add("delivered twice", with(&|lines| lines.insert(at + 1, lines[at].clone())));
            let mut replayed = line.clone();
            replayed["replayed"] = true.into();
            add("replayed", with(&|lines| lines.push(replayed.clone())));
        }
        if topic(line).ends_with(".heartbeat") && line.get("payload").is_some() {
            let mut beat = line.clone();
            *beat.pointer_mut("/payload/id").unwrap() = "00000000-0000-4000-8000-00000000abcf".into();
            beat.as_object_mut().unwrap().remove("sequence");
            add("one heartbeat more", with(&|lines| lines.insert(at + 1, beat.clone())));
        }
    }
    mutants
}

/// The same object with its members in the opposite order.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            Value::Object(map.iter().rev().map(|(key, value)| (key.clone(), reversed(value))).collect())
        }
        other => other.clone(),
    }
}

#[test]
fn nearly_every_fault_is_noticed() {
    let set = ContractSet::open("claws-events").unwrap();
    let mut count = 0;
    let mut missed = Vec::new();
    for (name, lines) in valid() {
        for mutant in field_mutants(&name, &lines).into_iter().chain(record_mutants(&name, &lines)) {
            count += 1;
            let found = judge_log(&set, Profile::Strict, written_out(&mutant.lines).as_bytes());
            if !found.iter().any(|finding| finding.level >= Level::Should) {
                let notes: Vec<_> = found.iter().map(|finding| &finding.clause[13..]).collect();
                missed.push(format!("{} {notes:?}", mutant.name));
            }
        }
    }
    assert!(count > 1_500, "{count} mutants");
    let share = missed.len() as f64 / f64::from(count);
    assert!(share <= 0.02, "{} of {count} were not noticed:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn nothing_that_is_allowed_is_noticed() {
    let set = ContractSet::open("claws-events").unwrap();
    let mut count = 0;
    let mut noticed = Vec::new();
    for (name, lines) in valid() {
        for mutant in benign_mutants(&name, &lines) {
            count += 1;
            for profile in Profile::ALL {
                let found = judge_log(&set, profile, written_out(&mutant.lines).as_bytes());
                let loud = found.iter().filter(|finding| finding.level > Level::Note);
                noticed
                    .extend(loud.map(|f| format!("{} {profile}: {} {}", mutant.name, f.clause, f.message)));
            }
        }
    }
    assert!(count > 500, "{count} mutants");
    assert!(noticed.is_empty(), "of {count}:\n{}", noticed.join("\n"));
}
