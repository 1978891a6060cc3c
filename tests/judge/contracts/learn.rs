//! `contract learn`: what it learns, and that claw-head is what it learned.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::*;

use crate::command::{ROOT, clawgate, corpus};
use crate::tree::files_below;

fn learn(recordings: &Path, out: &Path) -> Command {
    let mut command = clawgate(ROOT);
    command.args(["contract", "learn"]).arg(recordings).arg("--out").arg(out);
    command
}

/// Every file below a directory, by its path.
fn files(directory: &Path) -> BTreeMap<String, String> {
    let text = |name: &String| fs::read_to_string(directory.join(name)).unwrap();
    files_below(directory).into_iter().map(|name| (name.clone(), text(&name))).collect()
}

#[test]
fn claw_head_is_what_the_recordings_teach() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("claw-head");
    let mut command = learn(&corpus("claw-rust-head"), &out);
    command.args([
        "--source",
        "the Rust claw of August 2026",
        "--since",
        "2026-08-16",
        "--extends",
        "claw-stdout",
    ]);
    command.assert().success();
    let (learned, kept) = (files(&out), files(&Path::new(ROOT).join("schemas/claw-head")));
    assert_eq!(learned.keys().collect::<Vec<_>>(), kept.keys().collect::<Vec<_>>());
    for (name, text) in &learned {
        assert_eq!(text, &kept[name], "{name} differs; learn it again");
    }
}

#[test]
fn new_recordings_that_do_not_fit_are_told() {
    let april = corpus("claw-rust-69c326c2");
    let mut command = learn(&april, &Path::new(ROOT).join("schemas/claw-head"));
    command.arg("--check").assert().code(100).stdout(predicate::str::contains("is missing from"));
    let version = corpus("claw-rust-head/subhelp_version");
    learn(&version, &Path::new(ROOT).join("schemas/claw-head")).arg("--check").assert().success();
}

#[test]
fn a_stream_is_learned_by_type_and_subtype() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("mine");
    learn(&corpus("claude-2.1.325"), &out).assert().success();
    let text = fs::read_to_string(out.join("contract.toml")).unwrap();
    assert!(text.contains("protocol = \"stream\"") && text.contains("name = \"system-init\""), "{text}");
    learn(&corpus("claude-2.1.325"), &out).arg("--check").assert().success();
    learn(&corpus("claude-2.1.0"), &out).arg("--check").assert().code(100);
}

#[test]
fn nothing_to_learn_from_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("mine");
    fs::write(directory.path().join("a.json"), "not json").unwrap();
    learn(&directory.path().join("a.json"), &out).assert().code(4);
    learn(&directory.path().join("none"), &out).assert().code(2);
}

#[test]
fn regression_prose_and_an_empty_stdout_were_said_to_fit() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let corpus = corpus("claude-2.1.325");
    learn(&corpus, &at("mine")).assert().success();
    learn(&Path::new(ROOT).join("examples/streams/rate-limit.ndjson"), &at("small")).assert().success();
    let document = Path::new(ROOT).join("schemas/claw-head");
    let good = fs::read_to_string(Path::new(ROOT).join("examples/streams/rate-limit.ndjson")).unwrap();
    let cut = &good[..good.len() - 20];
    for (name, text, out, complaint) in [
        ("prose", "hello\n", at("mine"), "line 1: the line is no JSON object"),
        ("empty", "", at("mine"), "the run printed nothing"),
        ("blank", "\n\n", at("mine"), "the run printed nothing"),
        ("list", "[]\n", at("mine"), "line 1: the line is no JSON object"),
        ("cut", cut, at("small"), "the line is no JSON object"),
        ("prose-document", "hello\n", document.clone(), "stdout is not one JSON object"),
        ("empty-document", "", document.clone(), "the run printed nothing"),
    ] {
        let input = at(&format!("{name}.ndjson"));
        fs::write(&input, text).unwrap();
        let assert = learn(&input, &out).arg("--check").assert();
        assert.code(100).stdout(predicate::str::contains(complaint));
    }
    learn(&Path::new(ROOT).join("examples/streams/rate-limit.ndjson"), &at("small"))
        .arg("--check")
        .assert()
        .success();
}

#[test]
fn a_run_that_did_not_ask_for_json_is_set_aside_and_counted() {
    let text = corpus("claw-rust-head/mock_streaming_text_text");
    let mut command = learn(&text, &Path::new(ROOT).join("schemas/claw-head"));
    command.arg("--check").assert().code(4).stderr(predicate::str::contains("1 did not ask for JSON"));
}
