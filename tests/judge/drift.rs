//! `clawgate diff` and `clawgate matrix` as a user types them, on recordings of real programs.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{ROOT, clawgate, corpus, said};
use crate::files;
use crate::schema::assert_fit;

/// The lines of `clawgate diff --format json`, each as the schema says, and the exit code.
fn diff(old: impl AsRef<OsStr>, new: impl AsRef<OsStr>, more: &[&str]) -> (Option<i32>, Vec<Value>) {
    lines(clawgate(ROOT).arg("diff").arg(old).arg(new).args(["--format", "json"]).args(more), "diff")
}

fn lines(command: &mut Command, schema: &str) -> (Option<i32>, Vec<Value>) {
    let (code, lines) = said(command);
    assert_fit(&lines, schema);
    (code, lines)
}

fn changes(lines: &[Value]) -> Vec<&Value> {
    lines.iter().filter(|line| line["type"] == "change").collect()
}

fn shows(change: &Value, case: &str) -> bool {
    change["cases"].as_array().unwrap().iter().any(|name| name == case)
}

fn document(folder: &Path, file: &str) -> Option<Value> {
    let value: Value = serde_json::from_slice(&fs::read(folder.join(file)).ok()?).ok()?;
    value.is_object().then_some(value)
}

#[test]
fn every_exit_code_and_top_level_key_that_claw_changed_is_told_once() {
    let (old, new) = (corpus("claw-rust-69c326c2"), corpus("claw-rust-head"));
    let (code, lines) = diff(&old, &new, &[]);
    assert_eq!(code, Some(100));
    let changes = changes(&lines);
    let (mut exits, mut lost, mut gained) = (0, 0, 0);
    let expect_one = |case: &str, effect: &str, hits: Vec<&&Value>| {
        assert_eq!(hits.len(), 1, "{case}: {hits:?}");
        assert_eq!(hits[0]["effect"], effect, "{case}");
    };
    for entry in fs::read_dir(&old).unwrap() {
        let before = entry.unwrap().path();
        let case = before.file_name().unwrap().to_str().unwrap().to_owned();
        let after = new.join(&case);
        let (Some(facts), Some(facts_after)) =
            (document(&before, "recording.json"), document(&after, "recording.json"))
        else {
            continue;
        };
        if facts["exit"] != facts_after["exit"] {
            exits += 1;
            let hits: Vec<_> = changes
                .iter()
                .filter(|change| change["kind"] == "exit-code" && shows(change, &case))
                .collect();
            assert_eq!(
                (&hits[0]["old"], &hits[0]["new"]),
                (&facts["exit"]["code"], &facts_after["exit"]["code"])
            );
            expect_one(&case, "breaking", hits);
        }
        let (Some(document), Some(document_after)) =
            (document(&before, "stdout"), document(&after, "stdout"))
        else {
            continue;
        };
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
        let (before, after) = (keys(&document), keys(&document_after));
        let hits = |kind: &str, key: &str| {
            let pointer = format!("/{key}");
            let hit = |change: &&&Value| {
                change["kind"] == kind && change["pointer"] == *pointer && shows(change, &case)
            };
            changes.iter().filter(hit).collect::<Vec<_>>()
        };
        for key in before.difference(&after) {
            lost += 1;
            expect_one(&case, "breaking", hits("field-removed", key));
        }
        for key in after.difference(&before) {
            gained += 1;
            expect_one(&case, "additive", hits("field-added", key));
        }
    }
    assert_eq!((exits, lost, gained), (22, 56, 862));
    // The same change in many cases is one row.
    let mut rows: Vec<String> = changes
        .iter()
        .map(|change| {
            format!("{} {} {} {}", change["kind"], change["message"], change["pointer"], change["summary"])
        })
        .collect();
    rows.sort();
    let all = rows.len();
    rows.dedup();
    assert_eq!(rows.len(), all);
}

/// What is known to have changed between versions of the Claude CLI: effect, kind, message and pointer of each change.
const KNOWN: [(&str, &str, &str); 3] = [
    (
        "2.1.0",
        "2.1.100",
        "additive field-added result/success /stop_reason
         additive field-added result/success /terminal_reason
         breaking field-null assistant /message/stop_reason
         additive message-added system/api_retry
         additive message-added system/task_started
         additive message-added system/task_notification
         breaking exit-code
         breaking value-changed result/error_max_turns /is_error
         info request-added request HEAD /
         info request-count request POST /v1/messages",
    ),
    (
        "2.1.100",
        "2.1.197",
        "additive field-added result/success /api_error_status
         breaking value-changed assistant /error
         additive message-added system/task_updated
         additive message-added system/status
         additive field-added result/success /ttft_ms
         additive field-added result/success /ttft_stream_ms
         additive field-added result/success /time_to_request_ms
         additive field-added result/success /origin
         additive field-added assistant /request_id
         additive field-added user /subagent_type
         additive message-added system/thinking_tokens
         info enum-value-removed system/init /tools/*
         breaking message-repeated result/success
         breaking exit-code",
    ),
    (
        "2.1.197",
        "2.1.325",
        "breaking value-changed result/success /terminal_reason
         additive message-added system/permission_denied
         additive message-added system/background_tasks_changed
         additive field-added assistant /is_api_error_message
         additive field-added result/success /subagent_stats
         additive field-added result/success /queued_turn_count
         additive field-added result/success /result_index
         additive field-added assistant /api_error_type
         additive field-added result/success /model_usage_since_last_result
         additive field-added result/success /safety_stops
         additive field-added assistant /agent_id
         info request-removed request HEAD /
         info request-added request POST /v1/messages
         info value-changed system/init /model
         breaking exit-code",
    ),
];

#[test]
fn every_known_change_of_the_claude_cli_is_told() {
    for (old, new, expected) in KNOWN {
        let (code, lines) = diff(corpus(&format!("claude-{old}")), corpus(&format!("claude-{new}")), &[]);
        assert_eq!(code, Some(100));
        let told: BTreeSet<String> = changes(&lines)
            .into_iter()
            .map(|change| {
                let parts = ["effect", "kind", "message", "pointer"].map(|key| change[key].as_str());
                parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
            })
            .collect();
        for change in expected.lines().map(str::trim) {
            assert!(told.contains(change), "{old} to {new}: {change} in {told:#?}");
        }
    }
    // A limit became a failure, and a command that never ends was waited for, then given up, then waited for again.
    for (old, new, case, before, after) in [
        ("2.1.0", "2.1.100", "max_turns_1", json!(0), json!(1)),
        ("2.1.0", "2.1.100", "bash_bg_never", json!(0), json!("the wall timer")),
        ("2.1.100", "2.1.197", "bash_bg_never", json!("the wall timer"), json!(0)),
        ("2.1.197", "2.1.325", "bash_bg_never", json!(0), json!("the wall timer")),
    ] {
        let (old, new) = (corpus(&format!("claude-{old}")), corpus(&format!("claude-{new}")));
        let (_, lines) = diff(&old, &new, &["--case", case]);
        let exit = changes(&lines).into_iter().find(|change| change["kind"] == "exit-code").unwrap().clone();
        assert_eq!((&exit["old"], &exit["new"], &exit["cases"]), (&before, &after, &json!([case])));
    }
}

#[test]
fn the_same_recordings_have_not_drifted() {
    for name in ["claude-2.1.325", "claude-2.1.197", "claw-rust-head", "claw-py-71830d7d"] {
        let (code, lines) = diff(corpus(name), corpus(name), &[]);
        assert_eq!((code, changes(&lines).len()), (Some(0), 0), "{name}");
    }
}

#[test]
fn two_runs_of_a_target_have_not_drifted() {
    let folder = TempDir::new().unwrap();
    let (code, lines) = diff("reference", "reference", &["--case", "claude/tools", "--case", "claw/prompt"]);
    assert_eq!(code, Some(0), "{lines:?}");
    assert!(lines[0]["compared"].as_u64() > Some(3) && lines.len() == 1, "{lines:?}");
    // And one that misbehaves has.
    let out = folder.path().to_str().unwrap();
    let args = ["--case", "claude/answers/stream", "--out", out];
    let (code, lines) = diff("reference", "reference+no-result", &args);
    assert_eq!(code, Some(100), "{lines:?}");
    assert!(changes(&lines).iter().any(|change| change["kind"] == "message-removed"), "{lines:?}");
    assert!(folder.path().join("old").is_dir());
}

#[test]
fn fixtures_snapshots_and_recordings_can_be_compared() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    for (side, text) in [("old", r#"{"kind":"x","gone":1}"#), ("new", r#"{"kind":"x","come":1}"#)] {
        fs::create_dir(root.join(side)).unwrap();
        fs::write(root.join(side).join("list-sessions.json"), text).unwrap();
    }
    let (old, new) = (root.join("old"), root.join("new"));
    let (code, lines) = diff(&old, &new, &[]);
    assert_eq!(code, Some(100));
    let told: Vec<_> = changes(&lines)
        .into_iter()
        .map(|change| (change["kind"].as_str().unwrap(), &change["cases"]))
        .collect();
    let case = json!(["list-sessions"]);
    assert_eq!(told, [("field-removed", &case), ("field-added", &case)]);
    assert_eq!(changes(&lines)[0]["evidence"]["old_line"], 1);

    clawgate(ROOT)
        .current_dir(root)
        .args(["run", "claude/answers", "--golden", "update"])
        .env_remove("CI")
        .assert()
        .success();
    let (golden, out) = (root.join("golden/reference"), root.join("clawgate-out"));
    let (code, lines) = diff(golden.to_str().unwrap(), out.to_str().unwrap(), &[]);
    assert_eq!((code, lines.len()), (Some(0), 1), "{lines:?}");
    assert_eq!(lines[0]["compared"], 3);
}

#[test]
fn what_cannot_be_compared_is_said() {
    let folder = TempDir::new().unwrap();
    let (a, b, empty) = (folder.path().join("a"), folder.path().join("b"), folder.path().join("empty"));
    for path in [&a, &b, &empty] {
        fs::create_dir(path).unwrap();
    }
    fs::write(a.join("x.json"), "{}").unwrap();
    fs::write(b.join("y.json"), "{}").unwrap();
    let refused = |old: &Path, new: &Path, code: i32, says: &str| {
        clawgate(ROOT).arg("diff").args([old, new]).assert().code(code).stderr(contains(says.to_owned()));
    };
    refused(&a, &b, 4, "no case is on both sides: the old one has 1 others, such as `x`");
    refused(&a, &empty, 2, "neither recordings, golden snapshots nor JSON files");
    refused(&a, Path::new("./nowhere"), 2, "no such file or directory");
    refused(&a, Path::new("cluade"), 2, "did you mean `claude`?");
    refused(&a, Path::new("claude@newest"), 2, "`newest` is no whole version");
    fs::write(a.join("recording.json"), "{\"schema_version\":99}").unwrap();
    refused(&a, &b, 2, "newer");
}

#[test]
fn a_reader_is_told_whether_it_breaks() {
    let (old, new) = (corpus("claude-2.1.0"), corpus("claude-2.1.100"));
    let (_, lines) = diff(&old, &new, &["--consumer", "documented"]);
    let reader = lines.iter().find(|line| line["type"] == "consumer").unwrap();
    assert_eq!((&reader["consumer"], &reader["breaks"]), (&json!("documented"), &json!(true)));
    let because = reader["because"].as_array().unwrap();
    assert!(because.iter().any(|broken| broken["pointer"] == "/message/stop_reason"), "{because:?}");
    assert!(
        because.iter().all(|broken| broken["kind"] != "exit-code"),
        "it does not read exit codes: {because:?}"
    );

    let folder = TempDir::new().unwrap();
    let manifest = folder.path().join("mine.toml");
    let text = "[consumer]\nname = \"mine\"\nexit_code = false\norder = false\n[[reads]]\nmessage = \"result/*\"\nfields = { \"/result\" = \"string or absent\" }\n";
    fs::write(&manifest, text).unwrap();
    let (_, lines) = diff(&old, &new, &["--consumer", manifest.to_str().unwrap()]);
    assert_eq!(lines.iter().find(|line| line["type"] == "consumer").unwrap()["breaks"], false);
    fs::write(&manifest, text.replace("string or", "text or")).unwrap();
    let mut command = clawgate(ROOT);
    command.arg("diff").args([&old, &new]).args(["--consumer"]).arg(&manifest);
    command.assert().code(2).stderr(contains("unknown type `text`").and(contains("^^^")));
}

#[test]
fn known_changes_do_not_fail_and_stale_ones_do() {
    let folder = TempDir::new().unwrap();
    let (old, new, list) =
        (folder.path().join("old.json"), folder.path().join("new.json"), folder.path().join("known.toml"));
    fs::write(&old, r#"{"a":1,"b":1}"#).unwrap();
    fs::write(&new, r#"{"b":1}"#).unwrap();
    // A file is named after itself, so both are put where they have the same name.
    let place = |side: &str, from: &Path| {
        let path = folder.path().join(side).join("x.json");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(from, path).unwrap();
        folder.path().join(side).to_str().unwrap().to_owned()
    };
    let (old, new) = (place("o", &old), place("n", &new));
    let known = |pointer: &str, expires: &str| {
        let text = format!(
            "[[known-change]]\nkind = \"field-removed\"\npointer = \"{pointer}\"\nreason = \"announced\"\nlink = \"https://example.org/1\"\nexpires = \"{expires}\"\n"
        );
        fs::write(&list, text).unwrap();
        diff(&old, &new, &["--known-changes", list.to_str().unwrap()])
    };
    let (code, lines) = known("/a", "2999-01-01");
    assert_eq!((code, &lines[0]["known"]), (Some(0), &json!("announced (https://example.org/1)")));
    assert_eq!(known("/nope", "2999-01-01").0, Some(100));
    assert_eq!(known("/a", "2001-01-01").0, Some(100));
    fs::write(&list, "[[known-change]]\nkind = \"field-gone\"\n").unwrap();
    let mut command = clawgate(ROOT);
    command.arg("diff").args([&old, &new]).args(["--known-changes"]).arg(&list);
    command.assert().code(2).stderr(contains("known.toml:2:8: unknown kind of change `field-gone`"));
}

#[test]
fn people_and_pull_requests_get_tables() {
    let (old, new) = (corpus("claude-2.1.100"), corpus("claude-2.1.325"));
    let mut command = clawgate(ROOT);
    command.arg("diff").args([&old, &new]).args(["--case", "http_429_r0"]);
    let text = command.assert().code(100).get_output().stdout.clone();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("breaking  assistant /error  value-changed"), "{text}");
    assert!(text.contains("\"unknown\" -> \"rate_limit\"") && text.contains("1 cases compared"), "{text}");
    assert!(!text.contains('\u{1b}'));
    let mut command = clawgate(ROOT);
    command.arg("diff").args([&old, &new]).args(["--format", "markdown"]);
    command.assert().code(100).stdout(
        contains("| breaking | where | what | cases |")
            .and(contains("<details><summary>"))
            .and(contains("terminal&#95;reason")),
    );
}

#[test]
fn a_hostile_fixture_is_only_data() {
    let folder = TempDir::new().unwrap();
    let sides = ["old", "new"].map(|side| folder.path().join(side));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for (side, key) in sides.iter().zip(["\u{1b}[31mred", "| <script>"]) {
        fs::create_dir(side).unwrap();
        fs::write(side.join("a.json"), json!({key: "x\u{202e}y", "same": 1}).to_string()).unwrap();
        fs::write(side.join("deep.json"), &deep).unwrap();
        fs::write(side.join("bytes.json"), b"\xff\xfe{").unwrap();
        fs::write(side.join("empty.json"), b"").unwrap();
    }
    for format in ["human", "markdown"] {
        let mut command = clawgate(ROOT);
        command.arg("diff").args(&sides).args(["--all", "--format", format]);
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(matches!(output.status.code(), Some(0 | 100)), "{text}");
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
        assert!(format == "human" || !text.contains("<script"), "{text}");
    }
}

/// A contract that promises little, and counts what is new as breaking.
const OWN_CONTRACT: &str = r#"
[contract]
name = "mine"
title = "ours"
protocol = "document"
sources = ["ours.md"]
[policy]
source = "ours.md, Versions"
unpromised = "info"
closed = ["words"]
booleans-decide = false
[policy.effects]
field-added = "breaking"
[[kind]]
name = "doc"
when = { "/kept" = { present = true } }
schema = "doc.schema.json"
[[clause]]
id = "shape"
level = "must"
source = "ours.md"
since = "1.0"
check = { schema = "doc.schema.json", on = "doc" }
text = "It has its fields."
why = "They are read."
fix = "Print them."
"#;

const OWN_SCHEMA: &str = r#"{"type":"object","required":["kept"],"properties":{"kept":{"type":"integer"},"hint":{"type":"string"}}}"#;

#[test]
fn what_a_change_does_is_for_the_contract_to_say() {
    let folder = TempDir::new().unwrap();
    let write = |path: &str, text: &str| files::write(folder.path(), path, text).to_str().unwrap().to_owned();
    write("old/x.json", r#"{"kept":1,"loose":1,"hint":"a b","on":true}"#);
    write("new/x.json", r#"{"hint":3,"new":1,"on":false}"#);
    let contract = write("mine/contract.toml", OWN_CONTRACT);
    write("mine/doc.schema.json", OWN_SCHEMA);
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    let told = |more: &[&str]| {
        let (_, lines) = diff(&old, &new, more);
        let told = |line: &&Value| {
            let text = |key: &str| line[key].as_str().unwrap();
            format!("{} {} {}", text("effect"), text("kind"), text("pointer"))
        };
        (changes(&lines).iter().map(told).collect::<Vec<_>>(), lines.last().unwrap()["policies"].clone())
    };
    let mine = Path::new(&contract).parent().unwrap().to_str().unwrap();
    let (by_mine, policies) = told(&["--contract", mine]);
    assert_eq!(
        by_mine,
        [
            "breaking field-removed /kept",
            "breaking field-added /new",
            "breaking field-retyped /hint",
            "info field-removed /loose",
            "info value-changed /on",
        ]
    );
    assert_eq!(policies, json!({"mine": 1}));
    let (by_default, policies) = told(&[]);
    assert_eq!(
        by_default,
        [
            "breaking field-removed /kept",
            "breaking field-removed /loose",
            "breaking field-retyped /hint",
            "breaking value-changed /on",
            "additive field-added /new",
        ]
    );
    assert_eq!(policies, json!({"default": 1}));

    let show = || {
        let mut command = clawgate(ROOT);
        command.args(["contract", "show", mine]);
        command.assert()
    };
    show().success().stdout(
        contains("versioning policy  ours.md, Versions")
            .and(contains("a new word is breaking in:    words"))
            .and(contains("losing a field that no schema promises: info")),
    );
    fs::write(&contract, OWN_CONTRACT.replace("field-added =", "field-add =")).unwrap();
    show().code(2).stderr(contains("contract.toml:13").and(contains("`field-add` is no kind of change")));
    let mut command = clawgate(ROOT);
    command.arg("diff").args([&old, &new]).args(["--contract", mine]);
    command.assert().code(2).stderr(contains("contract.toml:13"));
}

/// A recording that names a contract is judged by it, also one of a project's own target; one that names none by its shape.
#[test]
fn a_recording_is_judged_by_the_contract_that_it_speaks() {
    let target = "target = { name = \"agent\", program = \"agent\" }\n[[speaks]]\ncontract = \"../mine\"\n";
    let folder = files::folder_with(&[
        ("clawgate.toml", ""),
        ("mine/contract.toml", OWN_CONTRACT),
        ("mine/doc.schema.json", OWN_SCHEMA),
        ("targets/agent.toml", target),
    ]);
    let root = folder.path();
    let record = |side: &str, contract: &str, document: &str| {
        let facts = json!({
            "schema_version": 1, "target": "agent", "target_version": "1", "scenario": "case", "exit": {"code": 0},
            "contract": contract,
        });
        let write = |name: &str, text: &str| files::write(root, &format!("{side}/case/{name}"), text);
        write("recording.json", &facts.to_string());
        write("stdout", document);
        write("stderr", "");
    };
    for (contract, policy, effect) in [("mine", "mine", "breaking"), ("theirs", "default", "additive")] {
        record("old", contract, r#"{"kept":1}"#);
        record("new", contract, r#"{"kept":1,"new":1}"#);
        let (_, lines) = lines(clawgate(root).args(["diff", "old", "new", "--format", "json"]), "diff");
        assert_eq!(lines[0]["effect"], effect, "{contract}");
        assert_eq!(lines[1]["policies"], json!({ policy: 1 }));
    }
    let (old, new) = (corpus("claude-2.1.0"), corpus("claude-2.1.100"));
    let (_, lines) = diff(&old, &new, &["--case", "plain"]);
    assert_eq!(lines.last().unwrap()["policies"], json!({"claude-stream-json": 1}));
}

#[test]
fn a_matrix_says_when_it_changed() {
    let versions = ["1.0.128", "2.1.0", "2.1.100", "2.1.197", "2.1.325"];
    let directories = versions.map(|version| corpus(&format!("claude-{version}")));
    let mut command = clawgate(ROOT);
    command.arg("matrix").args(&directories).args(["--sample", "2", "--format", "json"]);
    let (code, lines) = lines(&mut command, "matrix");
    assert_eq!(code, Some(0));
    let found = |kind: &str, message: &str, pointer: &str, after: &str, since: &str| {
        lines.iter().any(|line| {
            line["kind"] == kind
                && line["message"] == message
                && line["pointer"] == pointer
                && line["after"] == after
                && line["since"] == since
                && line["exact"] == true
        })
    };
    assert!(found("field-added", "result/success", "/terminal_reason", "2.1.0", "2.1.100"));
    assert!(found("field-null", "assistant", "/message/stop_reason", "2.1.0", "2.1.100"));
    assert!(found("field-added", "result/success", "/ttft_ms", "2.1.100", "2.1.197"));
    assert!(found("field-added", "result/success", "/result_index", "2.1.197", "2.1.325"));
    assert!(!found("field-added", "result/success", "/result_index", "2.1.0", "2.1.100"));
    clawgate(ROOT)
        .args(["matrix", "nowhere"])
        .assert()
        .code(2)
        .stderr(contains("neither a directory of recordings nor TARGET@A..B, such as"));
}

#[test]
fn what_holds_no_json_is_no_comparison() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &[u8]| files::write(folder.path(), path, text);
    write("garbage", b"\xff\x00 no JSON\n");
    clawgate(folder.path())
        .args(["diff", "garbage", "garbage"])
        .assert()
        .code(2)
        .stderr(contains("garbage: holds no JSON"));
    for side in ["old", "new"] {
        write(&format!("{side}/a.json"), b"");
        write(&format!("{side}/b.json"), b"prose");
    }
    let mut diff = clawgate(folder.path());
    diff.args(["diff", "old", "new"]);
    diff.assert().code(2).stderr(contains("old: holds no JSON"));
    // One that lost its JSON is told.
    write("old/c.json", b"{}");
    write("new/c.json", b"{}");
    write("old/a.json", b"{\"a\":1}");
    diff.assert().code(100).stdout(contains("was JSON, and now nothing is printed"));
}
