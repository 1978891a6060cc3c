//! A user's own contract, target and scenarios, used together and without compiling anything.

use std::fs;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use tempfile::TempDir;

use crate::command::{clawgate, corpus, said};
use crate::files::{folder_with, write};

const TARGET: &str = r#"
[target]
name = "mine"
program = "/bin/sh"
[env]
PATH = "/usr/bin:/bin"
[[speaks]]
contract = "../contracts/blind"
"#;

const SCENARIO: &str = r#"
[scenario]
name = "mine"
contract = "blind"

[[variants]]
name = "good"
run = { args = ["-c", "echo '{\"message\":\"hi\",\"usage\":{}}'"] }

[[variants]]
name = "bad"
run = { args = ["-c", "echo '{\"usage\":{}}'"] }
"#;

const SKILL: &str = "---\nname: greet\ndescription: Greets people.\n---\nSay Ahoy.\n";

const EVALUATION: &str = r#"
[eval]
skill = "greet"
[[cases]]
id = "ann"
prompt = "Say hello."
[[cases.assert]]
type = "contains"
needle = "Ahoy"
[[api.turns]]
text = "Ahoy!"
"#;

/// A project with a contract, a target and a scenario.
fn project() -> TempDir {
    folder_with(&[
        ("contracts/blind/contract.toml", include_str!("../data/blind/contract.toml")),
        ("contracts/blind/answer.schema.json", include_str!("../data/blind/answer.schema.json")),
        ("targets/mine.toml", TARGET),
        ("scenarios/mine.toml", SCENARIO),
        ("clawgate.toml", ""),
    ])
}

fn cases(folder: &TempDir, args: &[&str]) -> Vec<Value> {
    let mut command = clawgate(folder);
    command.args(["run", "--target", "mine", "--format", "json", "--out", "out"]).args(args);
    let (_, mut events) = said(&mut command);
    events.retain(|event| event["type"] == "case-finished");
    events
}

#[test]
fn a_contract_of_ones_own_is_what_a_target_is_held_against() {
    let folder = project();
    let cases = cases(&folder, &[]);
    let of = |name: &str| cases.iter().find(|case| case["case"] == name).unwrap();
    assert_eq!(of("mine/good")["status"], "pass", "{}", of("mine/good"));
    let bad = of("mine/bad");
    assert_eq!((&bad["status"], &bad["contract"]), (&"fail".into(), &"blind".into()));
    assert_eq!(bad["findings"][0]["clause"], "blind/has-message");
    // From disk it is judged by the same contract or not at all.
    let recording = bad["recording"].as_str().unwrap();
    clawgate(&folder)
        .args(["judge", recording, "--contract", "contracts/blind"])
        .assert()
        .code(100)
        .stdout(contains("blind/has-message"));
    clawgate(&folder).args(["judge", recording]).assert().code(2).stderr(contains("--contract DIR"));
}

#[test]
fn every_command_finds_the_same_targets() {
    let folder = project();
    clawgate(&folder).args(["target", "list"]).assert().success().stdout(contains("mine "));
    clawgate(&folder).args(["target", "doctor", "mine"]).assert().success().stdout(contains("mine: fine"));
    clawgate(&folder).args(["diff", "mine", "mine", "--case", "mine/good"]).assert().success();
    // Found, and not fit for evaluations.
    write(folder.path(), "greet.toml", EVALUATION);
    write(folder.path(), ".claude/skills/greet/SKILL.md", SKILL);
    clawgate(&folder).args(["eval", "greet.toml", "--target", "mine"]).assert().code(2).stderr(contains(
        "target `mine` promises no stream that evaluations can read: claude-stream-json, or a contract",
    ));
}

#[test]
fn every_command_finds_the_scenarios_of_the_profile() {
    let folder = project();
    fs::rename(folder.path().join("scenarios"), folder.path().join("cases")).unwrap();
    let diff = |code: i32| {
        clawgate(&folder).args(["diff", "mine", "mine", "--case", "mine/good"]).assert().code(code)
    };
    diff(4);
    fs::write(folder.path().join("clawgate.toml"), "[profile.default]\nscenarios = [\"cases\"]\n").unwrap();
    diff(0);
    let ci = "[profile.default]\nscenarios = []\n[profile.ci]\nscenarios = [\"cases\"]\n";
    fs::write(folder.path().join("clawgate.toml"), ci).unwrap();
    diff(4);
    clawgate(&folder)
        .env("CLAWGATE_PROFILE", "ci")
        .args(["diff", "mine", "mine", "--case", "mine/good"])
        .assert()
        .success();
    fs::write(folder.path().join("clawgate.toml"), "[profile.default]\nretires = 1\n").unwrap();
    diff(2).stderr(contains("clawgate.toml:2:1: unknown key `retires`"));
    // A script of its own is served by its name as well.
    fs::write(folder.path().join("clawgate.toml"), "[profile.default]\nscenarios = [\"cases\"]\n").unwrap();
    let sweep = || clawgate(&folder).args(["sweep", "own-script", "--list"]).assert();
    sweep().code(2).stderr(contains("neither a file nor a built-in scenario"));
    let script = "[scenario]\nname = \"own-script\"\n[api]\n[[api.turns]]\ntext = \"Hi.\"\n";
    fs::write(folder.path().join("cases/own-script.toml"), script).unwrap();
    sweep().success();
}

#[test]
fn its_cases_are_selected_by_contract_and_clause() {
    let folder = project();
    assert_eq!(cases(&folder, &["blind"]).len(), 2);
    assert_eq!(cases(&folder, &["blind/has-message"]).len(), 2);
    assert_eq!(cases(&folder, &["blinder"]).len(), 0);
}

#[test]
fn a_contract_that_is_not_there_is_an_error_in_the_targets_file() {
    let folder = project();
    for (named, complaint) in [
        ("claude-stream-jsn", "did you mean `claude-stream-json`?"),
        ("nothing-like-it", "named by its path"),
        ("./nowhere", "neither a built-in contract nor a directory"),
    ] {
        fs::write(folder.path().join("targets/mine.toml"), TARGET.replace("../contracts/blind", named))
            .unwrap();
        clawgate(&folder)
            .args(["run", "--target", "mine"])
            .assert()
            .code(2)
            .stderr(contains("mine.toml:8:12"))
            .stderr(contains(complaint));
    }
}

#[test]
fn scenarios_import_scripts_and_differ_by_target() {
    let folder = project();
    fs::write(
        folder.path().join("scenarios/script.toml"),
        "[scenario]\nname = \"script\"\n[api]\n[[api.turns]]\ntext = \"Imported words.\"\n",
    )
    .unwrap();
    let scenario = "[scenario]\nname = \"theirs\"\ncontract = \"claude-stream-json\"\napi = \"script.toml\"\n\
        [run]\nprompt = \"Go.\"\n[[overrides]]\ntarget = \"reference\"\nexpect = { stdout_contains = \"Imported words.\" }\n\
        [[variants]]\nname = \"passes\"\n\
        [[variants]]\nname = \"fails\"\n\
        overrides = [{ target = \"reference\", versions = \">=2\", expect = { verdict = \"auth\" } }]\n";
    fs::write(folder.path().join("scenarios/theirs.toml"), scenario).unwrap();
    clawgate(&folder)
        .args(["run", "theirs"])
        .assert()
        .code(100)
        .stdout(contains("pass ").count(1))
        .stdout(contains("expected auth, found ok"));
}

/// A millisecond is over before any target asks, so the first case passes only where its timer waits for that; and the
/// second ends by the target's own limit, which is shorter than what the case allows.
#[test]
fn the_timers_of_a_case_start_at_the_first_request() {
    let target = include_str!("../../targets/reference.toml").replace("wall_ms = 30000", "wall_ms = 600");
    let scenario = r#"
scenario = { name = "timers", contract = "claude-stream-json", api = "plain" }
[run]
prompt = "Say hello."
[expect]
verdict = "timeout"
detail = "wall"
[[variants]]
name = "asks"
fault = "stall:after-event=3"
run = { wall_ms = 1 }
expect = { requests = 1 }
[[variants]]
name = "never-asks"
run = { wall_ms = 60000 }
expect = { requests = { max = 1 } }
"#;
    let folder = folder_with(&[
        ("targets/reference.toml", &target),
        ("scenarios/timers.toml", scenario),
        ("clawgate.toml", ""),
    ]);
    for (case, target) in [("timers/asks", "reference"), ("timers/never-asks", "reference+silent")] {
        clawgate(&folder)
            .args(["run", case, "--target", target])
            .assert()
            .success()
            .stdout(contains("timeout (wall)"));
    }
}

#[test]
fn bounds_of_requests_are_held() {
    let scenario = |bounds: &str| {
        format!(
            "scenario = {{ name = \"mine\", contract = \"claude-stream-json\", api = \"plain\" }}\n\
             [run]\nprompt = \"Go.\"\n[expect]\nrequests = {bounds}\n"
        )
    };
    let run = |bounds: &str| {
        let folder = folder_with(&[("mine.toml", &scenario(bounds))]);
        clawgate(&folder).args(["run", "mine.toml"]).assert()
    };
    run("{ min = 1 }").success();
    run("{ min = 1, max = 2 }").success();
    run("{ min = 2 }").code(100).stdout(contains("expected at least 2 requests for an answer, found 1"));
    run("{ max = 0 }").code(100).stdout(contains("expected 0 requests for an answer, found 1"));
    run("{ least = 1 }").code(2).stderr(contains("mine.toml:5:14").and(contains("unknown key `least`")));
}

#[test]
fn regression_a_worker_that_wrote_nothing_or_failed_was_green() {
    let folder = project();
    let log = corpus("claws-events/01-VALID-golden-run.jsonl");
    fs::write(folder.path().join("targets/mine.toml"), TARGET.replace("../contracts/blind", "claws-events"))
        .unwrap();
    let scenario = |name: &str, script: &str, expect: &str| {
        let text = format!(
            "[scenario]\nname = \"{name}\"\ncontract = \"claws-events\"\n[run]\nargs = [\"-c\", \"{script}\"]\n[expect]\n{expect}\n"
        );
        fs::write(folder.path().join(format!("scenarios/{name}.toml")), text).unwrap();
    };
    fs::remove_file(folder.path().join("scenarios/mine.toml")).unwrap();
    let cat = format!("cat {}", log.display());
    scenario("good", &cat, "");
    scenario("good-and-fails", &format!("{cat}; exit 1"), "");
    scenario("good-and-crashes", &format!("{cat}; exit 139"), "");
    scenario("good-and-expected-to-fail", &format!("{cat}; exit 1"), "exit = 1");
    scenario("silent", "true", "");
    scenario("silent-and-fails", "echo oops >&2; exit 1", "");
    scenario("silent-as-expected", "exit 1", "exit = 1\nfindings = [\"claws-events/lg-06\"]");
    let found: Vec<(String, String, String)> = cases(&folder, &[])
        .iter()
        .map(|case| {
            let kinds = case["failures"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|failure| failure["kind"].as_str().unwrap());
            let text = |key: &str| case[key].as_str().unwrap().to_owned();
            (text("case"), text("status"), kinds.collect::<Vec<_>>().join(" "))
        })
        .collect();
    let of = |name: &str| {
        let (_, status, kinds) = found.iter().find(|(case, ..)| case == name).unwrap();
        (status.as_str(), kinds.as_str())
    };
    assert_eq!(of("good"), ("pass", ""));
    assert_eq!(of("good-and-fails"), ("fail", "exit"));
    assert_eq!(of("good-and-crashes"), ("fail", "exit"));
    assert_eq!(of("good-and-expected-to-fail"), ("pass", ""));
    assert_eq!(of("silent"), ("fail", "finding"));
    assert_eq!(of("silent-and-fails"), ("fail", "exit finding"));
    assert_eq!(of("silent-as-expected"), ("pass", ""));
}
