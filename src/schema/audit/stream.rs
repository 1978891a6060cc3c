//! Mutants of a stream: its lines, their order and how it ends.

use serde_json::{Value, json};

use super::super::fixture::Sample;
use super::Dice;
use crate::recording::Exit;

/// Breaks the lines, the order and the ending of a run that prints a stream.
pub(super) fn mutants(base: &Sample, dice: &mut Dice) -> Vec<(String, Sample)> {
    let lines: Vec<Vec<u8>> =
        base.stdout.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let messages: Vec<Value> =
        lines.iter().map(|line| serde_json::from_slice(line).unwrap_or_default()).collect();
    let is = |index: usize, kind: &str| messages[index].get("type").is_some_and(|value| value == kind);
    let of_type = |kind: &str| (0..messages.len()).filter(|index| is(*index, kind)).collect::<Vec<_>>();
    let results = of_type("result");
    let (Some(last_result), true) =
        (results.last().copied(), base.exit.as_ref().is_some_and(ended_by_itself))
    else {
        return Vec::new();
    };
    let mut mutants = Vec::new();
    let mut add = |what: String, lines: Vec<Vec<u8>>| {
        let mut sample = base.clone();
        sample.stdout = lines.concat();
        mutants.push((what, sample));
    };
    let any = dice.below(lines.len());
    add(format!("prose on line {}", any + 1), inserted(&lines, any, b"Debugger listening on 9229\n"));
    add(format!("a number on line {}", any + 1), inserted(&lines, any, b"42\n"));
    add(format!("a byte that is not UTF-8 on line {}", any + 1), inserted(&lines, any, b"\xff\n"));
    add("no type".into(), inserted(&lines, last_result, b"{\"subtype\":\"init\"}\n"));
    if results.len() == 1 && lines.len() > 1 {
        add("result dropped".into(), without(&lines, last_result));
    }
    let mut cut = lines[..last_result].to_vec();
    cut.push(lines[last_result][..lines[last_result].len() / 2].to_vec());
    add("cut in the result".into(), cut);
    for (index, message) in messages.iter().enumerate() {
        if message.get("uuid").is_some() {
            add(format!("line {} twice", index + 1), inserted(&lines, index, &lines[index].clone()));
        }
        if index > 0 && message.get("session_id").is_some_and(Value::is_string) {
            let mut other = message.clone();
            other["session_id"] = json!("99999999-9999-4999-8999-999999999999");
            add(format!("another session on line {}", index + 1), replaced(&lines, index, &other));
        }
    }
    for init in of_type("system").into_iter().filter(|index| messages[*index]["subtype"] == "init") {
        if results.len() == 1 && of_type("assistant").iter().any(|index| *index > init) {
            add("init dropped".into(), without(&lines, init));
            let mut late = without(&lines, init);
            late.push(lines[init].clone());
            add("init last".into(), late);
        }
    }
    if let Some(assistant) = of_type("assistant").last().copied().filter(|index| *index < last_result) {
        let mut late = without(&lines, assistant);
        late.push(lines[assistant].clone());
        add("assistant after the result".into(), late);
    }
    for (index, message) in messages.iter().enumerate().filter(|(index, _)| is(*index, "result")) {
        let mut flipped = message.clone();
        if let Some(flag) = message.get("is_error").and_then(Value::as_bool) {
            flipped["is_error"] = json!(!flag);
            add(format!("is_error flipped on line {}", index + 1), replaced(&lines, index, &flipped));
        }
    }
    mutants
}

fn ended_by_itself(exit: &Exit) -> bool {
    exit.code.is_some_and(|code| code < 124) && exit.timed_out.is_none()
}

fn inserted(lines: &[Vec<u8>], index: usize, line: &[u8]) -> Vec<Vec<u8>> {
    let mut lines = lines.to_vec();
    lines.insert(index, line.to_vec());
    lines
}

fn without(lines: &[Vec<u8>], index: usize) -> Vec<Vec<u8>> {
    let mut lines = lines.to_vec();
    lines.remove(index);
    lines
}

fn replaced(lines: &[Vec<u8>], index: usize, message: &Value) -> Vec<Vec<u8>> {
    let mut lines = lines.to_vec();
    lines[index] = format!("{message}\n").into_bytes();
    lines
}
