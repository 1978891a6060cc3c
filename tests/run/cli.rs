//! `clawgate run`, `target` and `play` as a user types them.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use assert_cmd::cargo::cargo_bin;
use predicates::prelude::*;
use predicates::str::contains;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::command::{clawgate, said};
use crate::files::{folder_with, read_json};
use crate::scenario::WRONG;
use crate::schema::assert_fit;
use crate::support::process;

fn events(folder: &Path, args: &[&str]) -> (Option<i32>, Vec<Value>) {
    said(clawgate(folder).arg("run").args(args).args(["--format", "json"]))
}

#[test]
fn the_events_of_a_run_tell_everything() {
    let folder = TempDir::new().unwrap();
    let (code, events) = events(folder.path(), &["claude/answers"]);
    assert_eq!(code, Some(0), "{events:?}");
    assert_eq!(events[0]["type"], "run-started");
    assert_eq!(events[0]["cases"], 3);
    let finished: Vec<&Value> = events.iter().filter(|event| event["type"] == "case-finished").collect();
    assert_eq!(finished.len(), 3);
    for case in finished {
        assert_eq!(case["status"], "pass");
        assert_eq!(case["verdict"]["class"], "ok");
        assert!(case["replay"].as_str().unwrap().starts_with("clawgate run claude/answers/"));
        let recording = folder.path().join(case["recording"].as_str().unwrap());
        let facts: Value = read_json(recording.join("recording.json"));
        assert_eq!(facts["containment"], "supervisor");
        assert!(facts["isolation"]["network"].is_string() && facts["requests"].is_array());
        assert!(!fs::read_to_string(recording.join("recording.json")).unwrap().contains("not-a-key"));
    }
    assert_eq!(events.last().unwrap()["type"], "run-finished");
    assert_eq!(events.last().unwrap()["passed"], 3);
}

#[test]
fn timings_tell_what_the_time_of_each_case_went_to() {
    let folder = TempDir::new().unwrap();
    let run = |args: &[&str]| {
        let output = clawgate(folder.path()).args(["run", "claude/answers"]).args(args).output().unwrap();
        assert!(output.status.success());
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    assert!(!run(&[]).1.contains("answers      end"), "only who asks is told");
    let (events, told) = run(&["--timings", "--format", "json"]);
    let table = told.lines().skip_while(|line| !line.starts_with("time in ms")).skip(1);
    let rows: Vec<Vec<&str>> = table.map(|line| line.split_whitespace().collect()).collect();
    let names: Vec<String> = rows.iter().map(|row| row[..row.len() - 5].join(" ")).collect();
    assert_eq!(names.len(), 4, "{told}");
    assert_eq!(names[3], "3 cases");
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    for case in events.filter(|event| event["type"] == "case-finished") {
        assert!(names.contains(&format!("{} reference", case["case"].as_str().unwrap())), "{told}");
        let [first, last, whole] =
            ["first_request_ms", "answered_ms", "duration_ms"].map(|key| case[key].as_f64().unwrap());
        // On a busy machine a target may ask before the clock of its case is looked at.
        assert!(0.0 <= first && first <= last && last <= whole, "{case}");
    }
}

#[test]
fn a_recording_is_judged_from_disk_as_it_was_live() {
    let folder = TempDir::new().unwrap();
    let (_, events) = events(folder.path(), &["claw/prompt/answer", "claw/commands/load-session-not-found"]);
    for case in events.iter().filter(|event| event["type"] == "case-finished") {
        let output = clawgate(folder.path())
            .args(["judge", "--format", "json", case["recording"].as_str().unwrap()])
            .output()
            .unwrap();
        let judged: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(judged["verdict"], case["verdict"]);
        assert_eq!(judged["contract"], case["contract"]);
        assert_eq!(judged["findings"], case["findings"]);
    }
}

#[test]
fn a_failure_says_why_and_how_to_see_it_again() {
    let wrong = format!("{WRONG}files = {{ \"never.txt\" = \"x\" }}\n");
    let folder = folder_with(&[("wrong.toml", &wrong)]);
    clawgate(folder.path())
        .args(["run", "wrong.toml"])
        .assert()
        .code(100)
        .stdout(contains("expected rate_limit, found ok"))
        .stdout(contains("never.txt was not written"))
        .stdout(contains("clawgate run wrong.toml mine/wrong --target reference"))
        .stdout(contains("recording: clawgate-out/reference/mine/wrong"));
}

#[test]
fn a_scenario_beside_the_configuration_is_found_and_what_failed_is_rerun() {
    let folder = folder_with(&[("scenarios/wrong.toml", WRONG), ("clawgate.toml", "")]);
    clawgate(folder.path())
        .args(["run", "--rerun", "failed"])
        .assert()
        .code(4)
        .stderr(contains("no last run"));
    clawgate(folder.path()).args(["run", "mine", "claude/answers"]).assert().code(100);
    let (code, events) = events(folder.path(), &["--rerun", "failed"]);
    assert_eq!((code, &events[0]["cases"]), (Some(100), &Value::from(1)));
}

#[test]
fn cases_are_selected_by_name_glob_tag_contract_clause_and_shard() {
    let folder = TempDir::new().unwrap();
    let listed = |args: &[&str]| -> Vec<String> {
        let (_, cases) = events(folder.path(), &[&["--list"], args].concat());
        cases.iter().map(|case| case["case"].as_str().unwrap().to_owned()).collect()
    };
    let all = listed(&[]);
    assert!(all.len() >= 80, "{} cases", all.len());
    assert_eq!(listed(&["claude/http/429"]), ["claude/http/429"]);
    assert!(listed(&["claude/http"]).len() > 10);
    assert_eq!(listed(&["*/429"]), ["claude/http/429", "claw/prompt-errors/429"]);
    assert!(listed(&["smoke"]).contains(&"claw/prompt/answer".to_owned()));
    assert!(listed(&["claw-2.0"]).iter().all(|name| name.starts_with("claw/version-2")));
    assert_eq!(listed(&["claw-flat/error-fields"]), listed(&["claw-flat"]));
    assert!(listed(&["claw-stdout/utf8"]).len() > listed(&["claw-flat"]).len());
    let mut parts: Vec<String> =
        ["1/3", "2/3", "3/3"].iter().flat_map(|part| listed(&["--shard", part])).collect();
    parts.sort();
    let mut whole = all;
    whole.sort();
    assert_eq!(parts, whole);
    clawgate(folder.path())
        .args(["run", "claude/htp"])
        .assert()
        .code(4)
        .stderr(contains("no case on reference is selected by"));
    // One name that is wrong does not make the run smaller in silence; a folder may be typed as one.
    clawgate(folder.path())
        .args(["run", "claude/http/", "claude/htp"])
        .assert()
        .code(4)
        .stderr(contains("`claude/htp`"));
    assert_eq!(listed(&["claude/http/"]), listed(&["claude/http"]));
}

#[test]
fn mistakes_of_the_user_and_missing_programs_are_told_apart() {
    let folder = TempDir::new().unwrap();
    let run = |args: &[&str]| clawgate(folder.path()).env("PATH", "/nowhere").arg("run").args(args).assert();
    run(&["--target", "cluade"]).code(2).stderr(contains("did you mean `claude`?"));
    run(&["--target", "reference+doubleenvelope"])
        .code(2)
        .stderr(contains("did you mean `double-envelope`?"));
    run(&["--shard", "3/2"]).code(2);
    run(&["--target", "claude"]).code(3).stderr(contains("to get it: clawgate target install"));
    run(&["--target", "claw=./claw"]).code(3).stderr(contains("./claw does not exist"));
    fs::write(folder.path().join("bad.toml"), WRONG.replace("prompt", "promt")).unwrap();
    run(&["bad.toml"]).code(2).stderr(contains("bad.toml:8:1: unknown key `promt`"));
}

#[test]
fn a_case_that_passes_at_the_second_attempt_is_flaky() {
    let folder = TempDir::new().unwrap();
    // A target that fails once: it leaves a mark where the next attempt finds it.
    let mark = folder.path().join("mark");
    let script = format!("#!/bin/sh\nif [ -e {0} ]; then exec \"$@\"; fi\n: > {0}\nexit 1\n", mark.display());
    fs::write(folder.path().join("agent"), script).unwrap();
    let runs = |retries: &str| {
        let target =
            include_str!("../../targets/reference.toml").replace("\"{clawgate}\"", "\"/bin/sh\"").replace(
                "prompt = [\"-p\", \"{prompt}\"]",
                &format!(
                    "prompt = [{:?}, {:?}, \"-p\", \"{{prompt}}\"]",
                    folder.path().join("agent"),
                    cargo_bin("clawgate")
                ),
            );
        fs::write(folder.path().join("agent.toml"), target).unwrap();
        // In a view of the file system of its own the mark would be lost with the first attempt.
        let args =
            ["claude/answers/stream", "--target", "agent.toml", "--network", "off", "--retries", retries];
        events(folder.path(), &args)
    };
    let (code, events) = runs("2");
    let case = events.iter().find(|event| event["type"] == "case-finished").unwrap();
    assert_eq!((code, case["status"].as_str(), case["attempts"].as_u64()), (Some(0), Some("flaky"), Some(2)));
    fs::remove_file(&mark).unwrap();
    assert_eq!(runs("0").0, Some(100));
}

#[test]
fn fail_fast_skips_the_rest() {
    let folder = TempDir::new().unwrap();
    let args = ["claude/answers", "claude/http", "--target", "reference+crash", "--fail-fast", "--jobs", "1"];
    let (code, events) = events(folder.path(), &args);
    let last = events.last().unwrap();
    assert_eq!((code, last["failed"].as_u64()), (Some(100), Some(1)), "{last}");
    assert!(last["skipped"].as_u64().unwrap() > 10);
}

#[test]
fn repeated_cases_each_have_a_recording() {
    let folder = TempDir::new().unwrap();
    let (_, events) = events(folder.path(), &["claude/answers/stream", "--repeat", "3"]);
    let mut recordings: Vec<&str> = events.iter().filter_map(|event| event["recording"].as_str()).collect();
    recordings.sort_unstable();
    recordings.dedup();
    assert_eq!(recordings.len(), 3);
    assert!(recordings.iter().all(|path| folder.path().join(path).join("recording.json").is_file()));
}

#[test]
fn an_interrupt_ends_the_cases_and_still_reports() {
    let folder = TempDir::new().unwrap();
    let mut child = process(folder.path())
        .args(["run", "claude/answers", "--target", "reference+silent", "--format", "json", "--jobs", "1"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let started = lines.by_ref().map(Result::unwrap).find(|line| line.contains("case-started"));
    assert!(started.is_some());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let rest: Vec<Value> = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let last = rest.last().unwrap();
    assert_eq!((&last["type"], &last["interrupted"]), (&Value::from("run-finished"), &Value::from(true)));
    assert_eq!(last["skipped"], 3);
}

#[test]
fn a_target_file_of_the_user_is_run() {
    let folder = TempDir::new().unwrap();
    let text =
        include_str!("../../targets/reference.toml").replace("name = \"reference\"", "name = \"ours\"");
    fs::write(folder.path().join("ours.toml"), text).unwrap();
    let (code, events) = events(folder.path(), &["claude/answers/stream", "--target", "ours.toml"]);
    assert_eq!((code, events[0]["targets"][0]["target"].as_str()), (Some(0), Some("ours.toml")));
}

#[test]
fn targets_are_listed_and_examined() {
    let folder = TempDir::new().unwrap();
    let target = |args: &[&str]| {
        clawgate(folder.path())
            .env("PATH", "/nowhere")
            .env("CLAWGATE_CACHE", folder.path())
            .arg("target")
            .args(args)
            .assert()
    };
    target(&["list"]).success().stdout(contains("claude ").and(contains("not installed")));
    target(&["list", "--misbehaviours"]).success().stdout(contains("reference+double-envelope"));
    target(&["doctor", "reference"]).success().stdout(contains("reference: fine"));
    target(&["doctor", "claude"]).code(3).stdout(contains("clawgate target install"));
    target(&["install", "claude@newest"]).code(2).stderr(contains("such as 2.1.197"));
    target(&["install", "claude@latest"]).code(3).stderr(contains("npm does not start"));
    target(&["install", "claude@2.1.197"]).code(3).stderr(contains("npm does not start"));
}

/// What a program says to the reference target that asks once for a permission.
const SAID: &str = r#"{"type":"control_request","request_id":"mine","request":{"subtype":"initialize"}}
{"type":"user","message":{"role":"user","content":[{"type":"text","text":"Write a file."}]}}
{"type":"control_response","response":{"subtype":"success","request_id":"00000000-0000-4000-8000-00c000000001","response":{"behavior":"allow","updatedInput":{"file_path":"a.txt","content":"x"}}}}
"#;

#[test]
fn a_recorded_conversation_waits_for_its_other_half() {
    let folder = TempDir::new().unwrap();
    events(folder.path(), &["claude/control/allowed"]);
    let recording = "clawgate-out/reference/claude/control/allowed";
    let recorded = fs::read_to_string(folder.path().join(recording).join("stdout")).unwrap();
    let play = |said: &str| {
        let mut command = clawgate(folder.path());
        command.args(["play", recording, "--speed", "0"]).write_stdin(said).output().unwrap()
    };
    let whole = play(SAID);
    assert_eq!(whole.status.code(), Some(0));
    let told = String::from_utf8(whole.stdout).unwrap();
    let lines = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert!(told.lines().next().unwrap().contains("\"mine\""), "{told}");
    assert_eq!(lines(&told), lines(&recorded));
    let half = play(&SAID.split_inclusive('\n').take(2).collect::<String>());
    assert_eq!(half.status.code(), Some(2));
    assert!(!String::from_utf8_lossy(&half.stdout).contains("tool_result"));
    assert!(String::from_utf8_lossy(&half.stderr).contains("goes on after control_response"));
}

#[test]
fn a_target_in_place_of_a_recording_is_spoken_with_and_judged() {
    let folder = TempDir::new().unwrap();
    let play = |more: &[&str], said: &str| {
        let flags = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
        let mut command = clawgate(folder.path());
        command.args(["play", "claude/control/allowed", "--out", "said"]).args(more).arg("--").args(flags);
        command.args(["--permission-prompt-tool", "stdio"]).write_stdin(said).output().unwrap()
    };
    let whole = play(&[], SAID);
    assert_eq!(whole.status.code(), Some(0), "{}", String::from_utf8_lossy(&whole.stderr));
    assert!(String::from_utf8_lossy(&whole.stdout).contains("\"result\":\"Done.\""));
    clawgate(folder.path()).args(["judge", "said"]).assert().code(0);
    let told = String::from_utf8(play(&["--fault", "no-result"], SAID).stdout).unwrap();
    assert!(told.contains("Done.") && !told.contains("\"type\":\"result\""), "{told}");
    play(&["--target", "reference+denied-runs"], &SAID.replace("\"allow\"", "\"deny\""));
    clawgate(folder.path())
        .args(["judge", "said"])
        .assert()
        .code(100)
        .stdout(contains("permission-denied-obeyed"));
    clawgate(folder.path()).args(["play", "plain.toml"]).assert().code(2);
}

#[test]
fn a_recording_is_played_byte_for_byte_and_with_faults() {
    let folder = TempDir::new().unwrap();
    events(folder.path(), &["claude/http/429"]);
    let recording = "clawgate-out/reference/claude/http/429";
    let recorded = fs::read(folder.path().join(recording).join("stdout")).unwrap();
    let play = |args: &[&str]| {
        clawgate(folder.path()).args(["play", recording, "--speed", "0"]).args(args).output().unwrap()
    };
    let plain = play(&[]);
    assert_eq!((plain.status.code(), &plain.stdout), (Some(1), &recorded));
    assert_eq!(play(&["--fault", "split:bytes=7", "--", "-p", "x"]).stdout, recorded);
    let unknown = play(&["--fault", "unknown-message"]).stdout;
    assert!(unknown.starts_with(b"{\"type\":\"from_the_future\"") && unknown.ends_with(&recorded));
    assert_eq!(play(&["--fault", "long-line"]).stdout.len(), recorded.len() + (5 << 20) + 46);
    assert_eq!(play(&["--fault", "cut:after=100"]).stdout, recorded[..100]);
    assert_eq!(play(&["--fault", "closed-stdout:after=9"]).stdout, recorded[..9]);
    assert_eq!(play(&["--fault", "crash"]).status.code(), None);
    assert_eq!(play(&["--fault", "nope"]).status.code(), Some(2));
    clawgate(folder.path()).args(["play", "nowhere"]).assert().code(2);
}

#[test]
fn every_event_has_the_published_form() {
    let folder = TempDir::new().unwrap();
    let (_, passing) =
        events(folder.path(), &["claude/http/429", "claw/prompt/answer", "claude/files/denied"]);
    let (_, failing) =
        events(folder.path(), &["claw/status", "--target", "reference+double-envelope", "--fail-fast"]);
    assert_fit(&passing, "run");
    assert_fit(&failing, "run");
    assert!(failing.iter().any(|event| event["status"] == "skipped" || event["status"] == "fail"));
}

/// Root may write anywhere, and a target that runs as root must still meet the permissions that a user meets.
#[test]
fn a_read_only_directory_is_one_without_namespaces_too() {
    let folder = tempfile::tempdir().unwrap();
    clawgate(folder.path())
        .args(["run", "claw/mistakes/read-only", "claw/commands/bootstrap-read-only", "--network", "off"])
        .assert()
        .code(0)
        .stdout(contains("2 passed"));
}

#[test]
fn a_scenario_that_runs_nowhere_is_no_scenario_that_passes() {
    let scenario = |contract: &str| {
        format!(
            "[scenario]\nname = \"mine\"\ndescription = \"d\"\ncontract = \"{contract}\"\napi = \"plain\"\n[run]\nprompt = \"hi\"\n"
        )
    };
    let (typo, other) = (scenario("claude-stream-jsn"), scenario("of-another-target"));
    let folder = folder_with(&[("typo.toml", &typo), ("other.toml", &other)]);
    let run = |file: &str| clawgate(folder.path()).args(["run", file]).assert();
    run("typo.toml")
        .code(2)
        .stderr(contains("typo.toml:2").and(contains("did you mean `claude-stream-json`")));
    run("other.toml").code(4).stderr(contains("no case of it runs on reference"));
}
