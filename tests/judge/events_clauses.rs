//! Clauses that a user adds for event logs, as data: topic, condition, order, pairs and timing.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::command::{clawgate, corpus};

/// A contract of a harbour that asks more of its workers than the document does.
const CONTRACT: &str = r#"
[contract]
name = "harbour"
title = "what our harbour asks of its workers"
protocol = "events"
extends = ["claws-events"]

[[kind]]
name = "question"
when = { "/type" = "worker.event", "/data/kind" = ["REQUEST", "BLOCKED"] }

[[kind]]
name = "answer"
when = { "/type" = ["cmd.approve", "cmd.reject"] }

[[kind]]
name = "boot"
when = { "/type" = "worker.boot" }

[[kind]]
name = "phase"
when = { "/type" = "worker.phase" }

[[kind]]
name = "done"
when = { "/type" = "worker.complete" }

[[kind]]
name = "ping"
when = { "/type" = "buoy.ping" }
"#;

fn clause(id: &str, check: &str) -> String {
    format!(
        "[[clause]]\nid = \"{id}\"\nlevel = \"must\"\nsource = \"the harbour\"\nsince = \"1\"\ntext = \"t\"\nwhy = \"w\"\n\
         fix = \"f\"\ncheck = {check}\n"
    )
}

/// A folder with the contract and one clause of it.
fn contract(folder: &Path, check: &str) -> PathBuf {
    let path = folder.join("harbour");
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("contract.toml"), format!("{CONTRACT}{}", clause("x", check))).unwrap();
    path
}

/// The findings of the harbour's clause, each with its line, and of the rest only what fails.
fn findings(contract: &Path, log: &Path) -> Vec<String> {
    let output = clawgate(log.parent().unwrap())
        .args(["judge", "--format", "json", "--contract"])
        .args([contract, log])
        .output()
        .unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let judged: Value = serde_json::from_slice(&output.stdout).unwrap();
    let told = judged["findings"].as_array().unwrap().iter().filter_map(|finding| {
        let (clause, level) = (finding["clause"].as_str()?, finding["level"].as_str()?);
        let is_ours = clause == "harbour/x";
        let line = finding["line"].as_u64().map_or(String::new(), |line| line.to_string());
        let pointer = finding["pointer"].as_str().unwrap_or("");
        let message = finding["message"].as_str()?;
        (is_ours || level == "must").then(|| format!("{level} {line}{pointer} {message}"))
    });
    told.collect()
}

fn log(name: &str) -> String {
    fs::read_to_string(corpus("claws-events").join(name)).unwrap()
}

/// The dialogue with a request and its answer.
fn asked() -> String {
    log("04-VALID-request-and-blocked-answered.jsonl")
}

/// The same log with one line changed.
fn edited(log: &str, line: usize, edit: impl FnOnce(&mut Value)) -> String {
    let mut lines: Vec<String> = log.lines().map(str::to_owned).collect();
    let mut value: Value = serde_json::from_str(&lines[line - 1]).unwrap();
    edit(&mut value);
    lines[line - 1] = value.to_string();
    lines.join("\n") + "\n"
}

/// The line, counted from 1, of the first record whose topic ends so.
fn line_of(log: &str, ending: &str) -> usize {
    let ends = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        value["topic"].as_str().unwrap().ends_with(ending)
    };
    log.lines().position(ends).unwrap() + 1
}

/// Judges each log with this check, and compares what is found.
fn check(check: &str, cases: &[(&str, &[&str])]) {
    let folder = tempfile::tempdir().unwrap();
    let contract = contract(folder.path(), check);
    for (log, expected) in cases {
        let path = folder.path().join("events.jsonl");
        fs::write(&path, log).unwrap();
        assert_eq!(findings(&contract, &path), *expected, "{check}\n{log}");
    }
}

#[test]
fn a_condition_holds_for_the_records_of_a_topic() {
    let log = asked();
    let boot = line_of(&log, ".boot");
    let other = edited(&log, boot, |record| record["payload"]["data"]["model"] = json!("gull-large"));
    check(
        r#"{ rule = "implies", on = "boot", then = { "/data/model" = { matches = '^tern-' }, "/role" = "worker" } }"#,
        &[
            (&log, &[]),
            (
                &other,
                &[
                    "must 3/payload/data/model /data/model is \"gull-large\", expected a text that matches ^tern-",
                ],
            ),
        ],
    );
}

#[test]
fn an_order_is_kept_by_each_peer_alone() {
    let log = log("05-VALID-sub-worker-lineage.jsonl");
    let check_of = |per: &str| format!(r#"{{ rule = "exactly-one", {per}on = "boot" }}"#);
    // Two workers boot in this log: once each, and twice in all.
    check(&check_of("for-each = \"/peer\", "), &[(&log, &[])]);
    let second = edited(&log, 1, |_| ());
    let lines: Vec<&str> = second.lines().collect();
    let boots = lines.iter().filter(|line| line.contains(".boot\"")).count();
    assert_eq!(boots, 2);
    let folder = tempfile::tempdir().unwrap();
    let contract = contract(folder.path(), &check_of(""));
    let path = folder.path().join("events.jsonl");
    fs::write(&path, &log).unwrap();
    assert_eq!(findings(&contract, &path).len(), 1);
}

#[test]
fn an_answer_comes_in_time() {
    let log = asked();
    let question = line_of(&log, ".event");
    let id = serde_json::from_str::<Value>(log.lines().nth(question - 1).unwrap()).unwrap();
    let id = id["payload"]["data"]["request_id"].as_str().unwrap().to_owned();
    let within = |limit: u64| {
        format!(
            r#"{{ rule = "pairs", open = {{ on = "question", at = "/data/request_id" }}, close = {{ on = "answer", at = "/data/correlation_id" }}, within-ms = {limit} }}"#
        )
    };
    check(&within(60_000), &[(&log, &[])]);
    let late = format!("must {question} nothing answered `{id}` within 10 ms");
    let folder = tempfile::tempdir().unwrap();
    let contract = contract(folder.path(), &within(10));
    let path = folder.path().join("events.jsonl");
    fs::write(&path, &log).unwrap();
    assert_eq!(findings(&contract, &path)[0], late);
}

#[test]
fn a_namespace_of_ones_own_has_clauses_too() {
    let log = log("06-VALID-unknown-fields-and-topics.jsonl");
    let ping = line_of(&log, ".ping");
    let odd = edited(&log, ping, |record| record["payload"]["n"] = json!("one"));
    check(
        r#"{ rule = "implies", on = "ping", then = { "/data/n" = { is = "integer" } } }"#,
        &[
            (&log, &[]),
            (&odd, &[&*format!("must {ping}/payload/n /data/n is a string, expected an integer")]),
        ],
    );
    let none =
        log.lines().filter(|line| !line.contains("buoy")).fold(String::new(), |all, line| all + line + "\n");
    let folder = tempfile::tempdir().unwrap();
    let contract = contract(folder.path(), r#"{ rule = "at-least-one", on = "ping" }"#);
    let path = folder.path().join("events.jsonl");
    fs::write(&path, none).unwrap();
    assert_eq!(findings(&contract, &path).len(), 1, "a log without what has to be there");
}

#[test]
fn a_record_that_nobody_may_publish_is_not_the_peers_own() {
    // Another worker's boot is refused: it is the intruder's fault, and no second boot.
    let log = log("21-AUTH-01-foreign-worker-topic.jsonl");
    let folder = tempfile::tempdir().unwrap();
    let contract =
        contract(folder.path(), r#"{ rule = "unique", for-each = "/peer", on = "boot", at = "/peer" }"#);
    let path = folder.path().join("events.jsonl");
    fs::write(&path, log).unwrap();
    let found = findings(&contract, &path);
    assert!(found.len() == 1 && found[0].contains("publishes on the topic of"), "{found:?}");
}

#[test]
fn what_a_log_can_never_break_is_refused() {
    for (check, reason) in [
        (r#"{ rule = "channel", stderr = "silent" }"#, "`channel` asks for what only a run has"),
        (r#"{ rule = "equals", left = "/data/model", right = "flags/--model" }"#, "a log has none"),
        (r#"{ rule = "implies", on = "boot", then = { exit = 0 } }"#, "exit"),
        (r#"{ rule = "pears", on = "boot" }"#, "unknown rule `pears`"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let contract = contract(folder.path(), check);
        let path = folder.path().join("events.jsonl");
        fs::write(&path, asked()).unwrap();
        let output =
            clawgate(folder.path()).arg("judge").arg("--contract").args([&contract, &path]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{check}: {stderr}");
        assert!(stderr.contains(reason) && stderr.contains("contract.toml"), "{check}: {stderr}");
    }
}
