//! An agent that nobody here knows, added by files alone: a target, a contract that says what its lines mean, a scenario.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{clawgate, said};
use crate::files::write;
use crate::support::{json_lines, process};

/// It answers, calls a tool, is limited, breaks off, or says that all is well once it is ended, as the question says.
const AGENT: &str = r#"#!/bin/sh
echo '{"kind":"hello","run":"run-4711","llm":"tiny-1"}'
case "$*" in
    *limited*) echo '{"kind":"bye","state":"bad","why":"slow down","until":1893456000}'; exit 7;;
    *strange*) echo '{"kind":"bye","state":"bad","why":"the server is overloaded"}'; exit 1;;
    *cut*) echo '{"kind":"say","part":"Hel"}'; exit 0;;
    *lies*) echo '{"kind":"bye","state":"good","in":7,"out":3}'; exit 0;;
    *stays*) echo '{"kind":"say","part":"Let me look."}'
        trap 'kill $! 2>/dev/null; echo "{\"kind\":\"bye\",\"state\":\"good\",\"in\":7,\"out\":3}"; exit 0' TERM
        while :; do sleep 600 & wait; done;;
esac
echo '{"kind":"use","call":"c1","tool":"clock","with":{"zone":"UTC"}}'
echo '{"kind":"used","call":"c1","gave":"noon"}'
echo '{"kind":"say","part":"It is "}'
echo '{"kind":"say","part":"noon."}'
echo '{"kind":"bye","state":"good","in":7,"out":3}'
"#;

const CONTRACT: &str = r#"[contract]
name = "tiny-lines"
title = "the lines of a tiny agent"
protocol = "stream"

[[volatile]]
as = "id:run"
fields = ["run"]

[outcome]
session = { on = "hello", at = "/run" }
model = { on = "hello", at = "/llm" }
text = { on = { "/kind" = "say" }, at = "/part", join = "deltas" }
call = { on = { "/kind" = "use" }, id = "/call", name = "/tool", input = "/with" }
answer = { on = { "/kind" = "used" }, id = "/call", output = "/gave" }
tokens = { on = "bye", input = "/in", output = "/out" }
end = { on = "bye", failed = { "/state" = "bad" }, message = "/why" }

[[outcome.row]]
id = "slow-down"
on = "bye"
when = { "/why" = "slow down" }
resets-at = "/until"
class = "rate_limit"
text = "It was told to slow down."

[[kind]]
name = "hello"
when = { "/kind" = "hello" }

[[kind]]
name = "bye"
when = { "/kind" = "bye" }

[[clause]]
id = "hello-first"
level = "must"
source = "its manual"
since = "1"
check = { rule = "first", on = "hello" }
text = "The first line greets."
why = "It has the id of the run."
fix = "Greet first."
"#;

const TARGET: &str = r#"[target]
name = "tiny"
program = "./tiny.sh"
[[speaks]]
contract = "./tiny-lines"
prompt = ["{prompt}"]
"#;

const SCENARIO: &str = r#"[scenario]
name = "tiny"
contract = "tiny-lines"
[run]
prompt = "what time is it"
[expect]
requests = 0
[[variants]]
name = "answers"
[[variants]]
name = "limited"
run = { prompt = "limited" }
expect = { verdict = "rate_limit" }
[[variants]]
name = "strange"
run = { prompt = "strange" }
expect = { verdict = "api" }
[[variants]]
name = "cut"
run = { prompt = "cut" }
expect = { verdict = "truncated" }
[[variants]]
name = "lies"
run = { prompt = "lies" }
expect = { verdict = "no_output" }
[[variants]]
name = "stays"
run = { prompt = "stays", wall_ms = 400 }
expect = { verdict = "timeout", detail = "wall" }
"#;

fn project() -> TempDir {
    let folder = TempDir::new().unwrap();
    let agent = write(folder.path(), "tiny.sh", AGENT);
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    write(folder.path(), "tiny-lines/contract.toml", CONTRACT);
    write(folder.path(), "tiny.toml", TARGET);
    write(folder.path(), "suite/tiny.toml", SCENARIO);
    folder
}

/// The exit code of a run on the agent, and how its cases ended.
fn run(folder: &TempDir, args: &[&str]) -> (Option<i32>, Vec<Value>, String) {
    let output = process(folder.path())
        .args(["run", "suite/tiny.toml", "--target", "tiny.toml", "--out", "out", "--format", "json"])
        .args(args)
        .output()
        .unwrap();
    let mut lines = json_lines(output.stdout);
    lines.retain(|line| line["type"] == "case-finished");
    (output.status.code(), lines, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn its_verdicts_tokens_and_snapshots_work() {
    let folder = project();
    let (code, cases, told) = run(&folder, &["--golden", "update"]);
    assert_eq!((code, cases.len()), (Some(0), 6), "{told}");
    let limited = cases.iter().find(|case| case["case"] == "tiny/limited").unwrap();
    assert_eq!(limited["verdict"]["resets_at"], 1_893_456_000);

    let answers = cases.iter().find(|case| case["case"] == "tiny/answers").unwrap();
    let recording = answers["recording"].as_str().unwrap();
    let (_, judged) = said(clawgate(folder.path()).args([
        "judge",
        "--format",
        "json",
        "--contract",
        "./tiny-lines",
        recording,
    ]));
    let session = &judged[0]["session"];
    assert_eq!(session["final_text"], "It is noon.");
    assert_eq!((&session["session_id"], &session["model"]), (&json!("run-4711"), &json!("tiny-1")));
    assert_eq!((&session["usage"]["input"], &session["usage"]["output"]), (&json!(7), &json!(3)));
    assert_eq!(session["tools"]["clock"], json!({"calls": 1, "errors": 0, "unanswered": 0}));

    // Another id of the run is no change, another answer is.
    let program = folder.path().join("tiny.sh");
    fs::write(&program, AGENT.replace("run-4711", "run-0815")).unwrap();
    let (code, _, told) = run(&folder, &["--golden", "check"]);
    assert_eq!(code, Some(0), "{told}");
    fs::write(&program, AGENT.replace("noon.", "late.")).unwrap();
    let (code, cases, told) = run(&folder, &["--golden", "check"]);
    assert_eq!(code, Some(100), "{told}");
    let failed: Vec<_> =
        cases.iter().filter(|case| case["status"] == "fail").map(|case| &case["case"]).collect();
    assert_eq!(failed, ["tiny/answers"]);
}

#[test]
fn a_scenario_for_any_target_is_held_to_what_each_promises() {
    let folder = project();
    let text = "[scenario]\nname = \"hello\"\ncontract = \"any\"\n[run]\nprompt = \"Say hello.\"\n[api]\n[[api.turns]]\ntext = \"Hello.\"\n";
    write(folder.path(), "any.toml", text);
    let run = |target: &str| {
        let args = ["run", "any.toml", "--golden", "off", "--target", target, "--format", "json"];
        let output = process(folder.path()).args(args).output().unwrap();
        let lines = json_lines(output.stdout);
        let case = lines.into_iter().find(|line| line["type"] == "case-finished").unwrap_or_default();
        (case["contract"].clone(), case["verdict"]["class"].clone(), output.status.code())
    };
    assert_eq!(run("reference"), (json!("claude-stream-json"), json!("ok"), Some(0)));
    // The tiny agent asks nobody, which the scenario does not allow.
    assert_eq!(run("tiny.toml"), (json!("tiny-lines"), json!("ok"), Some(100)));
}

#[test]
#[ignore = "needs the Claude CLI (CLAWGATE_CLAUDE_BIN), and the Codex CLI and the Gemini CLI in CLAWGATE_CACHE"]
fn the_same_scenario_runs_on_claude_codex_and_gemini() {
    let folder = TempDir::new().unwrap();
    let text = "[scenario]\nname = \"hello\"\ncontract = \"any\"\n[run]\nprompt = \"Say hello.\"\n[api]\n[[api.turns]]\ntext = \"Hello.\"\n";
    write(folder.path(), "any.toml", text);
    let mut command = process(folder.path());
    for name in ["CLAWGATE_CACHE", "CLAWGATE_CLAUDE_BIN"] {
        command.env(name, std::env::var_os(name).unwrap());
    }
    let targets = ["claude", "codex@0.166.0", "gemini@0.61.0"];
    command.args(["run", "any.toml", "--golden", "off", "--format", "json"]);
    let output = command.args(targets.iter().flat_map(|target| ["--target", target])).output().unwrap();
    let lines = json_lines(output.stdout);
    let cases = lines.iter().filter(|line| line["type"] == "case-finished");
    let found: Vec<_> = cases.map(|case| [&case["target"], &case["verdict"]["class"]]).collect();
    assert_eq!(found.len(), 3, "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(found.iter().all(|[_, class]| **class == "ok"), "{found:?}");
}
