//! What a recording holds of a run, and which recordings stay.

use std::fs;
use std::path::{Path, PathBuf};

use predicates::str::contains;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{clawgate, said};
use crate::files::{folder_with, read_json};
use crate::scenario::WRONG;
use crate::tree::files_below;

/// A scenario in which a key is asked about and answered with; it fails, since that is printed.
const KEY: &str = r#"
[scenario]
name = "mine/key"
description = "A key goes around."
contract = "claude-stream-json"
[api]
[[api.turns]]
thinking = "Is it sk-ant-api03-thought?"
text = "It is sk-ant-api03-answer."
[run]
prompt = "-What is sk-ant-api03-question? Grüße."
"#;

/// The recording of a case that was run with these arguments, and its facts.
fn recorded(folder: &Path, args: &[&str]) -> (PathBuf, Value) {
    let (_, events) = said(clawgate(folder).arg("run").args(args).args(["--format", "json"]));
    let case = events.iter().find(|event| event["type"] == "case-finished").unwrap();
    let place = folder.join(case["recording"].as_str().unwrap());
    let facts = read_json(place.join("recording.json"));
    (place, facts)
}

#[test]
fn what_was_asked_served_and_given_is_there_and_its_keys_are_masked() {
    let folder = folder_with(&[("key.toml", KEY)]);
    let (place, facts) = recorded(folder.path(), &["key.toml"]);
    assert_eq!(files_below(&place), ["recording.json", "requests/000.json", "stderr", "stdin", "stdout"]);
    // A question that looks like a flag goes through standard input.
    let stdin = fs::read_to_string(place.join("stdin")).unwrap();
    assert_eq!(stdin, "-What is sk-ant-**************? Grüße.");
    assert_eq!((&facts["stdin"]["bytes"], &facts["stdin"]["file"]), (&json!(stdin.len()), &json!("stdin")));
    assert_eq!(facts["stdin"]["sha256"].as_str().map(str::len), Some(64));

    let body: Value = read_json(place.join("requests/000.json"));
    let length = fs::metadata(place.join("requests/000.json")).unwrap().len();
    let request = &facts["requests"][0];
    assert_eq!(request["body"]["bytes"], length, "the mask is as long as what it masks");
    assert_eq!(
        (&request["body_file"], &request["credential"]),
        (&json!("requests/000.json"), &json!("as-given"))
    );
    assert!(body["messages"].to_string().contains(&stdin), "{body}");

    let served = &facts["served"][0];
    assert_eq!(served["content"][1]["text"], "It is sk-ant-************.");
    assert_eq!(served["content"][0]["thinking"], "Is it sk-ant-*************?");
    let stdout = fs::read_to_string(place.join("stdout")).unwrap();
    assert!(stdout.contains(served["content"][1]["text"].as_str().unwrap()), "{stdout}");
    let told =
        ["request", "turn", "kind", "agent", "first", "status", "stop_reason", "error", "complete", "body"];
    let told: Vec<&Value> = told.iter().map(|key| &served[key]).collect();
    let wanted = json!([0, "turn-1", "turn", null, false, 200, "end_turn", null, true, "requests/000.json"]);
    assert_eq!(json!(told), wanted);
    assert_eq!(served["at_ms"], request["at_ms"]);

    assert_eq!(facts["cwd"], format!("{}/work", facts["room"].as_str().unwrap()));
    let started = facts["started_at"].as_str().unwrap();
    assert!(started.ends_with('Z') && started.len() == "2026-01-01T00:00:00.000Z".len(), "{started}");
    for file in files_below(&place) {
        let text = fs::read_to_string(place.join(&file)).unwrap();
        for secret in ["api03", "not-a-key"] {
            assert!(!text.contains(secret), "{secret} in {file}");
        }
    }
}

#[test]
fn closed_standard_input_is_not_there() {
    let folder = TempDir::new().unwrap();
    let (place, facts) = recorded(folder.path(), &["claude/answers/stream"]);
    assert_eq!(facts["stdin"], Value::Null);
    assert!(!place.join("stdin").exists());
}

#[test]
fn requests_of_the_run_before_are_told_apart() {
    let folder = TempDir::new().unwrap();
    let (_, facts) = recorded(folder.path(), &["claude/resume/goes-on"]);
    let turns = facts["served"].as_array().unwrap().iter();
    let first: Vec<(&str, &Value)> =
        turns.map(|turn| (turn["turn"].as_str().unwrap(), &turn["first"])).collect();
    assert_eq!(first, [("turn-1", &json!(true)), ("turn-2", &json!(false))]);
}

#[test]
fn an_event_log_was_served_nothing() {
    let folder = TempDir::new().unwrap();
    let (_, facts) = recorded(folder.path(), &["events/worker"]);
    assert_eq!(facts.get("served"), None);
    let (_, facts) = recorded(folder.path(), &["claw/commands"]);
    assert_eq!(facts["served"], json!([]));
}

#[test]
fn what_a_scenario_gives_is_the_given_credential() {
    let key = KEY.replace("sk-ant-api03-", "") + "env = { ANTHROPIC_API_KEY = \"another-key-0001\" }\n";
    let folder = folder_with(&[("given.toml", &key)]);
    let (_, facts) = recorded(folder.path(), &["given.toml"]);
    assert_eq!(facts["requests"][0]["credential"], "as-given");
}

/// The files that stay of a run with a case that passes and one that fails.
fn staying(folder: &Path, args: &[&str]) -> Vec<String> {
    let run = clawgate(folder)
        .args(["run", "good.toml", "wrong.toml", "--out", "out"])
        .args(args)
        .assert()
        .code(100);
    drop(run);
    let files = files_below(&folder.join("out/reference")).into_iter();
    files.filter(|path| !path.ends_with("/stdout") && !path.ends_with("/stderr")).collect()
}

#[test]
fn the_user_says_which_recordings_stay() {
    let good = WRONG.replace("mine/wrong", "mine/good").replace("rate_limit", "ok");
    let folder = folder_with(&[("good.toml", &good), ("wrong.toml", WRONG)]);
    let (good, good_body) = ("mine/good/recording.json", "mine/good/requests/000.json");
    let (wrong, wrong_body) = ("mine/wrong/recording.json", "mine/wrong/requests/000.json");
    let facts = || read_json::<Value>(folder.path().join("out/reference").join(good));
    assert_eq!(staying(folder.path(), &["--keep", "bodies"]), [good, good_body, wrong, wrong_body]);
    assert_eq!(facts()["requests"][0]["body_file"], "requests/000.json");
    for args in [&["--keep", "all"][..], &[]] {
        assert_eq!(staying(folder.path(), args), [good, wrong, wrong_body]);
        let facts = facts();
        assert_eq!(
            (&facts["requests"][0]["body_file"], &facts["served"][0]["body"]),
            (&Value::Null, &Value::Null)
        );
        assert!(facts["served"][0]["content"].is_array() && facts["requests"][0]["body"].is_object());
    }
    // What an earlier run left there would pass for this one's.
    assert_eq!(staying(folder.path(), &["--keep", "failed"]), [wrong, wrong_body]);
    assert_eq!(staying(folder.path(), &["--keep", "none"]), Vec::<String>::new());
    assert_eq!(
        files_below(&folder.path().join("out")),
        [".clawgate", "events.ndjson", "last-run.json"],
        "and nothing half made"
    );
}

#[test]
fn what_stays_can_be_said_in_the_environment_and_in_the_profile() {
    let folder = folder_with(&[("clawgate.toml", "[profile.default]\nkeep = \"none\"\n")]);
    let stays = |variable: Option<&str>, args: &[&str]| {
        let mut command = clawgate(&folder);
        command.args(["run", "claude/answers/stream", "--out", "out", "--format", "json"]).args(args);
        let (code, events) = said(command.envs(variable.map(|value| ("CLAWGATE_KEEP", value))));
        assert_eq!(code, Some(0));
        let case = events.iter().find(|event| event["type"] == "case-finished").unwrap();
        let place = folder.path().join("out/reference/claude/answers/stream");
        assert_eq!(case["recording"].is_string(), place.exists(), "{case}");
        (place.exists(), place.join("requests").exists())
    };
    assert_eq!(stays(None, &[]), (false, false));
    assert_eq!(stays(Some("all"), &[]), (true, false));
    assert_eq!(stays(Some("all"), &["--keep", "bodies"]), (true, true));
    clawgate(&folder).args(["run", "--keep", "some"]).assert().code(2).stderr(contains("bodies"));
    fs::write(folder.path().join("clawgate.toml"), "[profile.default]\nkeep = \"some\"\n").unwrap();
    clawgate(&folder)
        .arg("run")
        .assert()
        .code(2)
        .stderr(contains("expected one of: all, bodies, failed, none"));
}

#[test]
fn a_request_that_nothing_matched_fails_a_case_whatever_it_expects() {
    let scenario = r#"
[scenario]
name = "mine/unmatched"
description = "Asks what no turn answers."
contract = "claude-stream-json"
[api]
[[api.turns]]
when.prompt = "Something else"
text = "Hi."
[run]
prompt = "Say hello."
[expect]
requests = 1
"#;
    let folder = folder_with(&[("unmatched.toml", scenario)]);
    let failures = |text: &str| {
        fs::write(folder.path().join("unmatched.toml"), text).unwrap();
        let (code, events) = said(clawgate(&folder).args(["run", "unmatched.toml", "--format", "json"]));
        assert_eq!(code, Some(100));
        let case = events.iter().find(|event| event["type"] == "case-finished").unwrap();
        let kinds: Vec<String> = case["failures"]
            .as_array()
            .unwrap()
            .iter()
            .map(|failure| failure["kind"].as_str().unwrap().into())
            .collect();
        let clauses: Vec<Value> =
            case["findings"].as_array().unwrap().iter().map(|found| found["clause"].clone()).collect();
        (kinds, case["verdict"]["class"].clone(), clauses)
    };
    let (kinds, class, clauses) = failures(scenario);
    assert!(kinds.iter().any(|kind| kind == "unmatched-request"), "{kinds:?}");
    let expects = format!("{scenario}verdict = {class}\nfindings = {}\n", Value::from(clauses));
    assert_eq!(failures(&expects).0, ["unmatched-request"]);
}
