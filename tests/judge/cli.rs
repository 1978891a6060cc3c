//! `clawgate judge` as a user types it.

use std::fs;
use std::path::Path;

use predicates::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

use crate::command::{ROOT, clawgate, said};
use crate::files::folder_with;
use crate::schema::assert_fit;
use crate::support::process;

/// A plain run of the real CLI.
const OK: &str = include_str!("../corpus/claude-2.1.197/plain/stdout");

#[test]
fn the_sample_of_the_readme_is_explained_in_one_screen() {
    let output = clawgate(ROOT).args(["judge", "examples/streams/rate-limit.ndjson"]).output().unwrap();
    assert_eq!(output.status.code(), Some(100));
    insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap());
}

#[test]
fn a_good_run_exits_0() {
    clawgate(ROOT)
        .args(["judge", "-", "-q"])
        .write_stdin(OK)
        .assert()
        .code(0)
        .stdout(predicate::str::contains("ok"));
}

#[test]
fn lines_are_shown_while_they_arrive_unless_quiet() {
    clawgate(ROOT)
        .args(["judge", "-"])
        .write_stdin(OK)
        .assert()
        .code(0)
        .stderr(predicate::str::contains("assistant: Hello"));
    clawgate(ROOT).args(["judge", "-", "--quiet"]).write_stdin(OK).assert().stderr("");
    clawgate(ROOT).args(["judge", "-", "--format", "json"]).write_stdin(OK).assert().stderr("");
}

#[test]
fn allowed_classes_do_not_fail() {
    let directory = "tests/corpus/claude-2.1.197/question_text_missing";
    clawgate(ROOT).args(["judge", directory]).assert().code(2);
    let question = "tests/corpus/claude-2.1.197/ask_then_question";
    clawgate(ROOT).args(["judge", question]).assert().code(100);
    clawgate(ROOT).args(["judge", question, "--allow", "interactive"]).assert().code(0);
    clawgate(ROOT).args(["judge", question, "--no-heuristics"]).assert().code(0);
    clawgate(ROOT)
        .args(["judge", question, "--allow", "interactiv"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("the classes are"));
}

#[test]
fn exit_code_stderr_and_environment_complete_a_bare_file() {
    let directory = TempDir::new().unwrap();
    let stream = directory.path().join("run.ndjson");
    let stderr = directory.path().join("stderr");
    fs::write(&stream, "").unwrap();
    fs::write(&stderr, "error: unknown option '--x'\n").unwrap();
    let (code, lines) = said(
        clawgate(ROOT)
            .args(["judge", "--format", "json", "--exit-code", "1", "--stderr"])
            .arg(&stderr)
            .arg(&stream),
    );
    assert_eq!(code, Some(100));
    assert_eq!(lines[0]["verdict"]["class"], "usage");
    assert_eq!(lines[0]["run"]["error"], "error: unknown option '--x'\n");

    let launch = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Task","input":{"run_in_background":true}}]}}
{"type":"result","num_turns":1,"result":"ok"}"#;
    fs::write(&stream, launch).unwrap();
    let category = |env: &[&str]| {
        let (_, lines) = said(clawgate(ROOT).args(["judge", "--format", "json"]).args(env).arg(&stream));
        lines[0]["run"]["error_category"].clone()
    };
    assert_eq!(category(&[]), "background-task");
    assert_eq!(category(&["--env", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1"]), Value::Null);
    clawgate(ROOT)
        .args(["judge", "--env", "X"])
        .arg(&stream)
        .assert()
        .code(2)
        .stderr(predicate::str::contains("NAME=VALUE"));
}

#[test]
fn a_directory_stands_for_what_is_below_it() {
    let directory = TempDir::new().unwrap();
    let below = directory.path().join("a/b");
    fs::create_dir_all(&below).unwrap();
    fs::write(below.join("two.jsonl"), OK).unwrap();
    fs::write(directory.path().join("a/one.ndjson"), OK).unwrap();
    fs::write(directory.path().join("ignored.txt"), "x").unwrap();
    let names = |path: &Path| -> Vec<String> {
        let (_, lines) = said(clawgate(ROOT).args(["judge", "--format", "json"]).arg(path));
        lines
            .iter()
            .map(|line| line["input"].as_str().unwrap().rsplit('/').next().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(directory.path()), ["two.jsonl", "one.ndjson"]);

    // Once there are recordings, they are what is meant.
    let recording = directory.path().join("recording");
    fs::create_dir(&recording).unwrap();
    fs::write(
        recording.join("recording.json"),
        r#"{"schema_version":1,"target":"claude","target_version":"2.1.197","scenario":"s","exit":{"code":0},"argv":["claude","--output-format","stream-json"]}"#,
    )
    .unwrap();
    fs::write(recording.join("stdout"), OK).unwrap();
    assert_eq!(names(directory.path()), ["recording"]);
}

#[test]
fn bad_inputs_get_a_sentence_and_the_right_code() {
    let directory = TempDir::new().unwrap();
    clawgate(ROOT)
        .args(["judge", "nowhere.ndjson"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("nowhere.ndjson: "));
    clawgate(ROOT)
        .arg("judge")
        .arg(directory.path())
        .assert()
        .code(4)
        .stderr(predicate::str::contains("there is no recording"));
    clawgate(ROOT).arg("judge").assert().code(2).stderr(predicate::str::contains("INPUT"));

    let recording = directory.path().join("r");
    fs::create_dir(&recording).unwrap();
    fs::write(recording.join("recording.json"), r#"{"schema_version":99}"#).unwrap();
    clawgate(ROOT)
        .arg("judge")
        .arg(&recording)
        .assert()
        .code(2)
        .stderr(predicate::str::contains("recording.json: schema_version 99 is newer"));
    fs::write(recording.join("recording.json"), "{\n  nonsense").unwrap();
    clawgate(ROOT).arg("judge").arg(&recording).assert().code(2).stderr(predicate::str::contains("line 2"));
}

#[test]
fn an_unreadable_input_does_not_hide_the_others() {
    let directory = TempDir::new().unwrap();
    for name in ["a", "b"] {
        fs::create_dir(directory.path().join(name)).unwrap();
        fs::write(directory.path().join(name).join("recording.json"), "{}").unwrap();
    }
    fs::write(
        directory.path().join("b/recording.json"),
        r#"{"schema_version":1,"target":"claude","target_version":"x","scenario":"s","exit":{"spawn_error":{"kind":"not_found","message":"no such file"}}}"#,
    )
    .unwrap();
    clawgate(ROOT)
        .arg("judge")
        .arg(directory.path())
        .assert()
        .code(2)
        .stdout(predicate::str::contains("spawn (not_found)"))
        .stderr(predicate::str::contains("schema_version"));
}

#[test]
fn garbage_is_judged_and_controls_nothing() {
    let garbage = b"\x1b]0;owned\x07\xff\xfe{\x00}\r\n\x1b[2J".repeat(50);
    let output = clawgate(ROOT).args(["judge", "-"]).write_stdin(garbage).output().unwrap();
    assert_eq!(output.status.code(), Some(100));
    let shown = [output.stdout, output.stderr].concat();
    assert!(!shown.contains(&0x1b) && !shown.contains(&7), "{}", String::from_utf8_lossy(&shown));
    assert!(String::from_utf8_lossy(&shown).contains("protocol"));
}

/// What becomes of a command whose standard output nobody reads.
fn unread(args: &[&str]) -> Option<i32> {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = process(ROOT);
    command.args(args).stderr(std::process::Stdio::null()).stdout(writer);
    command.status().unwrap().code()
}

#[test]
fn regression_a_reader_that_left_early_turned_the_exit_code_into_0() {
    for format in ["human", "json"] {
        assert_eq!(unread(&["judge", "--format", format, "tests/corpus/claude-2.1.197"]), Some(100));
        let old_and_new = ["tests/corpus/claw-py-71830d7d", "tests/corpus/claw-rust-head"];
        let diff = unread(&["diff", "--format", format, old_and_new[0], old_and_new[1]]);
        let read = clawgate(ROOT).args(["diff", "--format", format]).args(old_and_new).output().unwrap();
        assert_eq!(diff, read.status.code());
        assert_eq!(unread(&["audit", "--min-score", "1.1", "--format", format, "claude-json"]), Some(100));
        assert_eq!(unread(&["contract", "list", "--format", format]), Some(0));
    }
    // What follows a log stops when nobody follows any more, and says what it saw.
    let log = "tests/corpus/claws-events/14-ENV-02-envelope-v2.jsonl";
    assert_eq!(unread(&["events", "watch", "--for", "60", log]), Some(100));
    assert_eq!(unread(&["run", "--list"]), Some(0));
    assert_eq!(unread(&["completions", "bash"]), Some(0));
}

/// What becomes of a command whose reader takes one line and leaves.
fn read_one_line(args: &[&str]) -> (String, Option<i32>) {
    use std::io::BufRead as _;
    let mut command = process(ROOT);
    command.args(args).stderr(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (line, child.wait().unwrap().code())
}

#[test]
fn a_reader_that_takes_one_line_learns_the_same_exit_code() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().display().to_string();
    for format in ["human", "json"] {
        for (args, code) in [
            (vec!["judge", "tests/corpus/claude-2.1.197"], 100),
            (vec!["judge", "tests/corpus/claude-2.1.197/plain"], 0),
            (vec!["audit", "--min-score", "1.1", "claw-2.0"], 100),
            (vec!["audit", "--min-score", "0.1", "claw-2.0"], 0),
            (vec!["diff", "tests/corpus/claw-rust-69c326c2", "tests/corpus/claw-rust-head"], 100),
            (
                vec![
                    "run",
                    "claude/answers",
                    "--target",
                    "reference+usage-off",
                    "--out",
                    &out,
                    "--fail-on",
                    "should",
                ],
                100,
            ),
            (vec!["run", "claude/answers", "--target", "reference+no-result", "--out", &out], 100),
            (vec!["run", "claude/answers", "--target", "reference", "--out", &out], 0),
        ] {
            let (line, seen) = read_one_line(&[&args[..], &["--format", format]].concat());
            assert!(!line.is_empty(), "{args:?}");
            assert_eq!(seen, Some(code), "{args:?} --format {format}");
        }
    }
}

#[test]
fn a_broken_should_fails_only_where_that_is_asked_for() {
    // The only clause that this run breaks is one that warns.
    let warned = "tests/corpus/claw-rust-head/bad_trunc";
    let (_, lines) = said(clawgate(ROOT).args(["judge", "--format", "json", warned]));
    let levels = lines[0]["findings"].as_array().unwrap().iter().map(|finding| &finding["level"]);
    assert_eq!(levels.collect::<Vec<_>>(), ["should"]);
    let judge = |path: &str, more: &[&str]| {
        clawgate(ROOT).args(["judge", path]).args(more).output().unwrap().status.code()
    };
    assert_eq!(judge(warned, &[]), Some(0));
    assert_eq!(judge(warned, &["--fail-on", "must"]), Some(0));
    assert_eq!(judge(warned, &["--fail-on", "should"]), Some(100));
    assert_eq!(
        judge("tests/corpus/claude-2.1.197/plain", &["--fail-on", "should"]),
        Some(0),
        "nothing is broken"
    );
    assert_eq!(judge(warned, &["--fail-on", "note"]), Some(2));
    let by_environment = clawgate(ROOT).args(["judge", warned]).env("CLAWGATE_FAIL_ON", "should").output();
    assert_eq!(by_environment.unwrap().status.code(), Some(100));
    // What is accepted for now does not fail at any level.
    let folder = TempDir::new().unwrap();
    let known = folder.path().join("known-failures.toml");
    fs::write(&known, "[[known-failure]]\nclause = \"claw-flat/answer-has-usage\"\ntarget = \"claw*\"\nscenario = \"*\"\nreason = \"upstream\"\nlink = \"https://example.org\"\nexpires = 2999-01-01\n").unwrap();
    let known = known.display().to_string();
    assert_eq!(judge(warned, &["--fail-on", "should", "--known-failures", &known]), Some(0));
}

#[test]
fn the_json_fits_its_published_schema() {
    let folders = ["claude-2.1.197", "claude-2.1.325", "claw-rust-head", "claw-py-71830d7d"];
    let inputs = folders.map(|folder| format!("tests/corpus/{folder}"));
    let (_, lines) = said(clawgate(ROOT).args(["judge", "--format", "json"]).args(inputs));
    assert!(lines.len() > 300);
    assert_fit(&lines, "judge");
}

#[test]
fn control_characters_of_the_target_survive_in_json() {
    let stream = "{\"type\":\"result\",\"is_error\":true,\"result\":\"boom\u{7f}\u{9b}31m\"}\n";
    let (_, lines) = said(clawgate(ROOT).args(["judge", "-", "--format", "json"]).write_stdin(stream));
    assert_eq!(lines[0]["run"]["error"], "boom\u{7f}\u{9b}31m");
}

#[test]
fn known_failures_do_not_fail_until_they_are_stale_or_expired() {
    let directory = TempDir::new().unwrap();
    let list = directory.path().join("known-failures.toml");
    let run = "tests/corpus/claude-2.1.325/bash_bg_never";
    let judge = |entries: &str| {
        fs::write(&list, entries).unwrap();
        clawgate(ROOT)
            .args(["judge", run, "--allow", "background-task", "--known-failures"])
            .arg(&list)
            .assert()
    };
    let entry = |clause: &str, expires: &str| {
        format!(
            "[[known-failure]]\nclause = \"claude-stream-json/{clause}\"\ntarget = \"claude\"\nscenario = \"bash_*\"\nreason = \"upstream\"\nlink = \"https://example.org\"\nexpires = {expires}\n"
        )
    };
    judge("").code(100).stdout(predicate::str::contains("1 must clause broken"));
    judge(&entry("exits-after-result", "2999-01-01")).code(0).stdout(predicate::str::contains("known"));
    judge(&entry("exits-after-result", "2001-01-01"))
        .code(100)
        .stderr(predicate::str::contains("expired on 2001-01-01"));
    let stale = entry("exits-after-result", "2999-01-01") + &entry("result-present", "2999-01-01");
    judge(&stale).code(100).stderr(predicate::str::contains("known-failures.toml:8:1: the known failure"));
    judge(&entry("no-such-clause", "2999-01-01"))
        .code(2)
        .stderr(predicate::str::contains("there is no clause"));
}

#[test]
fn a_contract_can_be_named_and_a_guess_is_always_told() {
    let recording = "tests/corpus/claw-py-71830d7d/route";
    let contract = |arguments: &[&str]| {
        let (_, lines) = said(clawgate(ROOT).args(["judge", "--format", "json", recording]).args(arguments));
        (lines[0]["contract"].clone(), lines[0]["contract_detected"].clone())
    };
    assert_eq!(contract(&[]), ("claw-1.0".into(), true.into()));
    assert_eq!(contract(&["--contract", "claw-flat"]), ("claw-flat".into(), false.into()));
    clawgate(ROOT).args(["judge", recording]).assert().stdout(predicate::str::contains("(a guess;"));
    clawgate(ROOT)
        .args(["judge", recording, "--contract", "claw-flt"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("claw-flat"));
}

#[test]
fn what_nobody_can_tell_is_no_success() {
    let folder = folder_with(&[
        ("foo.json", "{\"foo\":1}\n"),
        ("version.json", "{\"kind\":\"version\",\"status\":\"ok\"}\n"),
    ]);
    let judge = |arguments: &[&str]| {
        clawgate(folder.path()).arg("judge").args(arguments).assert().get_output().status.code()
    };
    assert_eq!(judge(&["foo.json"]), Some(100), "an object of no contract");
    assert_eq!(judge(&["foo.json", "--contract", "claw-stdout"]), Some(0), "somebody said what it is");
    assert_eq!(judge(&["version.json"]), Some(0));

    fs::create_dir(folder.path().join("empty")).unwrap();
    assert_eq!(judge(&["version.json", "empty"]), Some(4), "a directory that holds nothing");
    assert_eq!(judge(&["version.json", "--exit-code", "256"]), Some(2), "no exit code");
}

#[test]
fn a_stream_of_another_agent_is_judged_by_its_own_contract() {
    let folder = tempfile::tempdir().unwrap();
    let contract = folder.path().join("mine");
    fs::create_dir(&contract).unwrap();
    fs::write(
        contract.join("contract.toml"),
        r#"
[contract]
name = "mine"
title = "pings are answered"
protocol = "stream"
sources = ["its manual"]

[[kind]]
name = "ping"
when = { "/type" = "ping" }

[[kind]]
name = "pong"
when = { "/type" = "pong" }

[[clause]]
id = "answered"
level = "must"
source = "its manual"
since = "1.0"
text = "Each ping is answered."
why = "Nobody waits for ever."
fix = "Answer it."
check = { rule = "pairs", open = { on = "ping", at = "/id" }, close = { on = "pong", at = "/id" } }
"#,
    )
    .unwrap();
    let judge = |stream: &str, code: &str| {
        fs::write(folder.path().join("s.ndjson"), stream).unwrap();
        let mut command = clawgate(ROOT);
        command.current_dir(folder.path()).args([
            "judge",
            "s.ndjson",
            "--contract",
            "./mine",
            "--exit-code",
            code,
        ]);
        command.assert().get_output().status.code()
    };
    let answered = "{\"type\":\"ping\",\"id\":1}\n{\"type\":\"pong\",\"id\":1}\n";
    assert_eq!(judge(answered, "0"), Some(0));
    assert_eq!(judge(answered, "1"), Some(100), "it says that it failed");
    assert_eq!(judge("{\"type\":\"ping\",\"id\":1}\n{\"type\":\"pong\",\"id\":\"1\"}\n", "0"), Some(100));
}

#[test]
fn a_finding_says_which_type_was_expected() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("status.json"),
        "{\"kind\":\"status\",\"status\":\"ok\",\"model_source\":null}\n",
    )
    .unwrap();
    let (_, lines) = said(clawgate(folder.path()).args([
        "judge",
        "status.json",
        "--contract",
        "claw-flat",
        "--format",
        "json",
    ]));
    let findings = lines[0]["findings"].as_array().unwrap();
    let source = findings.iter().find(|finding| finding["pointer"] == "/model_source").unwrap();
    assert_eq!(source["expected"], "a string");
}
