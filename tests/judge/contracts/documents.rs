//! The examples of the claw documents: each is good, and with one field broken it fails the gate.
//!
//! A field is dropped, renamed, null, of another type or, where the documents close the set, a value outside of it. What
//! the documents leave open is left out: optional fields that are missing, free text, open sets, the elements of lists
//! without a schema.

use std::fs;
use std::path::Path;

use clawgate::internals::schema::{Run, judge_output};
use clawgate::judge::{self, Contracts, Options};
use clawgate::recording::{Exit, Facts, Recording};
use clawgate::schema::{ContractSet, Level};
use serde_json::{Map, Value, json};

use crate::command::ROOT;

/// An example: its file, the command line that it answers and how the process ended.
type Example = (&'static str, &'static [&'static str], i32);

const NESTED: &[Example] = &[
    ("schemas-error", &["exec-command", "add-dir", "x"], 1),
    ("schemas-not-found", &["load-session", "does-not-exist"], 1),
    ("schemas-list-sessions", &["list-sessions"], 0),
    ("schemas-delete-session", &["delete-session", "sess_abc123"], 0),
    ("schemas-load-session", &["load-session", "sess_abc123"], 0),
    ("schemas-flush-transcript", &["flush-transcript", "hi", "--session-id", "sess_abc123"], 0),
    ("schemas-show-command", &["show-command", "add-dir"], 0),
    ("schemas-show-tool", &["show-tool", "BashTool"], 0),
    ("schemas-exec-command", &["exec-command", "add-dir", "create src/util/"], 0),
    ("schemas-exec-tool", &["exec-tool", "BashTool", "cargo build"], 0),
    ("schemas-route", &["route", "add a test", "--limit", "10"], 0),
    ("schemas-bootstrap", &["bootstrap", "hello"], 0),
    ("schemas-command-graph", &["command-graph"], 0),
    ("schemas-tool-pool", &["tool-pool"], 0),
    ("schemas-bootstrap-graph", &["bootstrap-graph"], 0),
    ("errors-timeout", &["turn-loop", "hello", "--timeout-seconds", "1"], 2),
];

const APPENDIX_B: Example = ("errors-appendix-b", &["load-session", "nonexistent"], 1);

const FLAT: &[Example] = &[
    ("reference-prompt", &["-p", "hi"], 0),
    ("reference-auto-compaction", &["-p", "hi"], 0),
    ("reference-compact", &["-p", "hi", "--compact"], 0),
    ("reference-error", &["status"], 1),
    ("reference-status", &["status"], 0),
    ("errors-appendix-a", &["load-session", "nonexistent"], 1),
    ("errors-session-not-found", &["load-session", "nonexistent"], 1),
    ("errors-success", &["load-session", "..."], 0),
    ("errors-timeout", &["turn-loop", "hello", "--timeout-seconds", "1"], 2),
];

/// The values that the documents close, by the name of the field: whatever else stands there is outside.
const CLOSED: &[&str] = &[
    "command",
    "exit_code",
    "output_format",
    "schema_version",
    "stop_reason",
    "final_stop_reason",
    "type",
    "compact",
];

/// Fields that the tables call optional: without them an envelope is as good.
const OPTIONAL: &[&str] = &["hint"];

/// Fields of the flat shape that may be null.
const NULLABLE: &[&str] = &["/hint", "/auto_compaction"];

fn example(name: &str) -> Value {
    let path = Path::new(ROOT).join(format!("tests/data/claw-documents/{name}.json"));
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// An example of the nested shape with what the tables require of every envelope and every turn.
fn nested(name: &str, version: &str) -> Value {
    let mut envelope = example(name);
    if name == "errors-timeout" {
        envelope["timestamp"] = "2026-04-22T10:10:00Z".into();
        envelope["command"] = "turn-loop".into();
        envelope["exit_code"] = 2.into();
    }
    envelope["output_format"] = "json".into();
    envelope["schema_version"] = version.into();
    if envelope.get("turn").is_some() {
        envelope["turn"]["cancel_observed"] = false.into();
    }
    envelope
}

/// An example of the flat shape; that of a part is put where it belongs.
fn flat(name: &str) -> Value {
    let mut envelope = example(name);
    if name == "reference-auto-compaction" {
        let part = std::mem::replace(&mut envelope, example("reference-prompt"));
        envelope["auto_compaction"] = part;
    }
    envelope
}

/// An envelope with one field broken, and what was done to it.
struct Mutant {
    what: String,
    envelope: Value,
}

/// Every way to break one field of an envelope.
fn mutants(envelope: &Value) -> Vec<Mutant> {
    let mut found = Vec::new();
    let is_flat = envelope.get("schema_version").is_none();
    visit(envelope, "", &mut |pointer, value| {
        let (outer, name) = pointer.rsplit_once('/').unwrap();
        let is_optional = OPTIONAL.contains(&name);
        let mut add = |what: &str, change: &dyn Fn(&mut Value)| {
            let mut broken = envelope.clone();
            change(broken.pointer_mut(outer).unwrap());
            found.push(Mutant { what: format!("{pointer} {what}"), envelope: broken });
        };
        let element = name.parse::<usize>().ok();
        let set = |to: Value| {
            move |outer: &mut Value| match element {
                Some(index) => outer[index] = to.clone(),
                None => outer[name] = to.clone(),
            }
        };
        if element.is_none() && !is_optional {
            add("dropped", &|outer| drop(object(outer).remove(name)));
            add("renamed", &|outer| {
                let value = object(outer).remove(name).unwrap();
                object(outer).insert(format!("{name}_x"), value);
            });
        }
        let may_be_null = value.is_null() || is_flat && NULLABLE.contains(&pointer);
        if !may_be_null {
            add("null", &set(Value::Null));
        }
        for other in of_another_type(value) {
            add(&format!("is {other}"), &set(other));
        }
        if let Some(outside) = outside(envelope, pointer, value) {
            add("outside its set", &set(outside));
        }
    });
    found
}

fn object(value: &mut Value) -> &mut Map<String, Value> {
    value.as_object_mut().unwrap()
}

/// Shows every field, and the first element of every list.
fn visit(value: &Value, pointer: &str, show: &mut dyn FnMut(&str, &Value)) {
    let mut inner = |name: &str, value: &Value| {
        let pointer = format!("{pointer}/{name}");
        show(&pointer, value);
        visit(value, &pointer, show);
    };
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| inner(name, value)),
        Value::Array(items) => items.iter().take(1).for_each(|value| inner("0", value)),
        _ => {}
    }
}

fn of_another_type(value: &Value) -> Vec<Value> {
    let all = [json!(7), json!("7"), json!(true), json!([]), json!({})];
    let is_other = |other: &Value| match value {
        // What is null in an example may be a text or an object in another run.
        Value::Null => !other.is_string() && !other.is_object(),
        _ => std::mem::discriminant(other) != std::mem::discriminant(value),
    };
    all.into_iter().filter(is_other).collect()
}

/// A value of the same type that the documents do not allow; none where they leave the set open.
fn outside(envelope: &Value, pointer: &str, value: &Value) -> Option<Value> {
    let name = pointer.rsplit('/').next().unwrap_or_default();
    let is_closed = CLOSED.contains(&name)
        // The kinds of nested errors are a table; those of flat ones and of matches are open.
        || pointer == "/error/kind"
        || (pointer == "/kind" && *value == "status")
        // Always false for what is not found.
        || (pointer == "/found" && *value == false);
    is_closed.then(|| match value {
        Value::Number(_) => json!(7),
        Value::Bool(flag) => json!(!flag),
        _ => json!(format!("{}_x", envelope.pointer(pointer).and_then(Value::as_str).unwrap_or_default())),
    })
}

/// The clauses of level must that an envelope breaks, as a bare file or as what a run printed.
fn broken(set: &ContractSet, envelope: &Value, run: Option<(&[&str], i32)>) -> Vec<String> {
    let stdout = format!("{envelope}\n");
    let mut facts = Run::default();
    facts.argv = run.map(|(words, _)| {
        let words = ["claw"].iter().chain(words).chain(&["--output-format", "json"]);
        words.map(ToString::to_string).collect()
    });
    let exit = run.map(|(_, code)| Exit::with_code(code));
    let stderr: Option<&[u8]> = run.is_some().then_some(b"");
    let findings = judge_output(set, &facts, exit, stdout.as_bytes(), stderr);
    let musts = findings.into_iter().filter(|finding| finding.level == Level::Must);
    musts.map(|finding| format!("{}: {}", finding.clause, finding.message)).collect()
}

/// What passes although it is broken. The branch of a detached head is null, and no document says that it is not.
const PASSES: &[(&str, &str)] = &[("claw-flat", "reference-status: /workspace/git_branch null")];

/// Holds the examples of a contract to it and answers with how many mutants there were, and how many failed.
fn hold(contract: &str, examples: &[(Example, Value)]) -> (usize, usize) {
    let set = ContractSet::open(contract).unwrap_or_else(|error| panic!("{error}"));
    let (mut count, mut killed, mut passed) = (0, 0, Vec::new());
    for ((name, argv, code), envelope) in examples {
        for run in [None, Some((*argv, *code))] {
            let good = broken(&set, envelope, run);
            assert!(good.is_empty(), "{contract}: {name} is good, but {good:?}");
            for mutant in mutants(envelope) {
                count += 1;
                if broken(&set, &mutant.envelope, run).is_empty() {
                    passed.push(format!("{name}: {}", mutant.what));
                } else {
                    killed += 1;
                }
            }
        }
    }
    let known = |passed: &&String| PASSES.iter().any(|(of, what)| *of == contract && what == passed);
    let unknown: Vec<_> = passed.iter().filter(|passed| !known(passed)).collect();
    assert!(unknown.is_empty(), "{contract}: {} of {count} pass: {unknown:#?}", passed.len());
    (count, killed)
}

#[test]
fn an_example_with_one_broken_field_fails_the_gate() {
    let all = |examples: &[Example], build: &dyn Fn(&str) -> Value| -> Vec<(Example, Value)> {
        examples.iter().map(|example| (*example, build(example.0))).collect()
    };
    let old = all(NESTED, &|name| nested(name, "1.0"));
    let mut new = all(NESTED, &|name| nested(name, "2.0"));
    new.push((APPENDIX_B, nested(APPENDIX_B.0, "2.0")));
    let flat = all(FLAT, &flat);
    for (contract, examples, least) in
        [("claw-1.0", old, 2000), ("claw-2.0", new, 2000), ("claw-flat", flat, 900)]
    {
        let (count, killed) = hold(contract, &examples);
        assert!(count >= least, "{contract}: only {count} mutants");
        assert!(killed * 100 >= count * 98, "{contract}: {killed} of {count}");
    }
}

/// The contract that a run of claw is held against, and the clauses of level must that it breaks.
fn judged(target: &str, promised: &str, words: &[&str], envelope: &Value) -> (String, Vec<String>) {
    let mut facts = Facts::default();
    facts.target = target.into();
    facts.exit = Exit::with_code(1);
    let words = ["claw"].iter().chain(words).chain(&["--output-format", "json"]);
    facts.argv = words.map(ToString::to_string).collect();
    facts.other.insert("contract".into(), promised.into());
    let recording = Recording::new(facts, format!("{envelope}\n").into_bytes(), Vec::new());
    let judgement = judge::recording(&recording, &Contracts::built_in(), &Options::default()).unwrap();
    assert!(!judgement.contract_detected);
    let musts = judgement.findings.into_iter().filter(|finding| finding.level == Level::Must);
    (judgement.contract.unwrap(), musts.map(|finding| finding.clause).collect())
}

#[test]
fn the_envelope_version_that_is_asked_for_is_the_contract() {
    let flat = example("errors-appendix-a");
    let nested = example("errors-appendix-b");
    for asked in [&["--envelope-version=2.0"][..], &["--envelope-version", "2.0"]] {
        let words = [&["load-session", "nonexistent"], asked].concat();
        let (contract, musts) = judged("claw", "claw-flat", &words, &flat);
        assert_eq!(contract, "claw-2.0");
        assert!(musts.contains(&"claw-2.0/common-fields".into()), "a flat answer is a finding: {musts:?}");
        assert_eq!(judged("claw", "claw-flat", &words, &nested), ("claw-2.0".into(), vec![]));
    }
    let other = ["load-session", "nonexistent", "--envelope-version=1.0"];
    assert_eq!(judged("claw", "claw-flat", &other, &flat), ("claw-flat".into(), vec![]));
    // Another program may mean something else by it.
    let (contract, _) = judged("mine", "claude-json", &["--envelope-version=2.0"], &flat);
    assert_eq!(contract, "claude-json");
}

#[test]
fn a_bootstrap_whose_turn_timed_out_may_exit_2_or_0() {
    let set = ContractSet::open("claw-1.0").unwrap();
    let mut envelope = nested("schemas-bootstrap", "1.0");
    envelope["turn"]["stop_reason"] = "timeout".into();
    for (code, is_good) in [(0, true), (1, false), (2, true)] {
        envelope["exit_code"] = code.into();
        let musts = broken(&set, &envelope, Some((&["bootstrap", "hello"], code)));
        assert_eq!(musts.is_empty(), is_good, "exit {code}: {musts:?}");
    }
}
