//! A message is judged the same whether one like it came before or not.

use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::library::ContractSet;
use super::*;
use crate::json::Scanner;

/// The findings on messages, with what was concluded of those before in mind, and with all of it forgotten.
fn findings(set: &ContractSet, lines: &[String]) -> [String; 2] {
    [false, true].map(|forgets| {
        let (mut judge, mut scanner) = (set.begin(&Run::default()), Scanner::default());
        for (number, line) in (1..).zip(lines) {
            let Ok(document) = scanner.scan(line) else { continue };
            let root = document.root();
            if document.odd_count() > 0 {
                continue;
            }
            if forgets {
                judge.contracts.iter_mut().for_each(|contract| contract.layouts.clear());
            }
            judge.view(number, number * 1000, JsonView::Scanned(root));
        }
        format!("{:#?}", judge.finish(&End::new(None, None, None)))
    })
}

fn streams(folder: &Path, lines: &mut Vec<String>) {
    let mut inside: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inside.sort();
    for path in inside {
        if path.is_dir() {
            streams(&path, lines);
        } else if let Ok(text) = std::fs::read_to_string(&path)
            && text.starts_with("{\"type\":")
        {
            lines.extend(text.lines().map(str::to_owned));
        }
    }
}

#[test]
fn a_message_like_one_before_is_judged_as_if_there_was_none() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let set = ContractSet::open("claude-stream-json").unwrap();
    for of in ["claude-2.1.0", "claude-2.1.197", "claude-2.1.325", "stream-json"] {
        let mut lines = Vec::new();
        streams(&corpus.join(of), &mut lines);
        assert!(!lines.is_empty(), "{of}");
        let [known, anew] = findings(&set, &lines);
        let differs = known.lines().zip(anew.lines()).enumerate().find(|(_, (one, other))| one != other);
        assert!(known == anew, "{of}: {differs:?}");
    }
}

fn messages() -> Vec<Value> {
    let mut lines = Vec::new();
    streams(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/claude-2.1.197/partial_messages"),
        &mut lines,
    );
    streams(&Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/streams"), &mut lines);
    lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// All places in a value.
fn places(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, &format!("{at}/{index}"), all);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                places(member, &crate::json::pointer::join(at, key), all);
            }
        }
        _ => {}
    }
}

fn any_change() -> impl Strategy<Value = (usize, usize, Option<Value>)> {
    let values = vec![
        json!(null),
        json!(""),
        json!("assistant"),
        json!("text_delta"),
        json!("0d9fe2c4-3c2d-4f1c-8a8e-6f6d5c1f2b3a"),
        json!("0d9fe2c4"),
        json!(-1),
        json!(1.5),
        json!(0),
        json!(true),
        json!([]),
        json!({}),
        json!({"type": "text", "text": "x"}),
    ];
    let value = prop::option::of(prop::sample::select(values));
    (any::<usize>(), any::<usize>(), value)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn messages_that_differ_in_one_value_are_told_apart(
        changes in prop::collection::vec(any_change(), 24)
    ) {
        static SET: std::sync::LazyLock<(ContractSet, Vec<Value>)> =
            std::sync::LazyLock::new(|| (ContractSet::open("claude-stream-json").unwrap(), messages()));
        let (set, messages) = &*SET;
        let mut lines: Vec<String> = messages.iter().take(1).map(Value::to_string).collect();
        for (message, place, value) in changes {
            let message = &messages[message % messages.len()];
            let mut all = Vec::new();
            places(message, "", &mut all);
            let mut changed = message.clone();
            let at = &all[place % all.len()];
            match (value, at.rsplit_once('/')) {
                (Some(value), Some(_)) => *changed.pointer_mut(at).unwrap() = value,
                (None, Some((before, key))) => {
                    if let Some(Value::Object(members)) = changed.pointer_mut(before) {
                        members.shift_remove(&crate::json::pointer::unescape(key));
                    }
                }
                _ => {}
            }
            // Twice as it was, and twice as it is now: that it was met before must make no difference.
            lines.extend([message, &changed, message, &changed].map(Value::to_string));
        }
        let [known, anew] = findings(set, &lines);
        prop_assert_eq!(known, anew);
    }
}
