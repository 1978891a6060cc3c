//! A run that is killed goes on where it was: nothing is lost, nothing is run twice, and the numbers are the same.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::project::{MODEL, Project};
use crate::files::read_json;

/// Every seventh trial fails, and every eleventh is limited once.
fn spec() -> String {
    let every = |step: usize| (1..=100).step_by(step).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    format!(
        "[eval]\nskill = \"greet\"\n[run]\ntrials = 100\nbackoff_ms = 1\n[thresholds]\nmin_pass_rate = 0.5\n{MODEL}\n\
         [[rules]]\ncase = \"ann\"\ntrials = [{}]\nattempts = [1]\nfaults = [\"http:status=529\"]\n\
         [[rules]]\ncase = \"ann\"\ntrials = [{}]\napi = \"plain\"\n\
         [[cases]]\nid = \"ann\"\nprompt = \"Say hello to Ann\"\n[[cases.assert]]\ntype = \"contains\"\nneedle = \"Ahoy\"\n",
        every(11),
        every(7),
    )
}

/// When each finished trial began, by its directory, with how many attempts were made at it.
fn finished(iteration: &Path) -> BTreeMap<String, (u64, usize)> {
    let mut found = BTreeMap::new();
    for arm in ["with_skill", "without_skill"] {
        for entry in fs::read_dir(iteration.join("eval-ann").join(arm)).into_iter().flatten().flatten() {
            let Ok(text) = fs::read(entry.path().join("trial.json")) else { continue };
            let trial: Value = serde_json::from_slice(&text).unwrap();
            let attempts = fs::read_dir(entry.path())
                .unwrap()
                .filter(|file| file.as_ref().unwrap().file_name().to_string_lossy().starts_with("attempt-"))
                .count();
            assert_eq!(trial["attempts"].as_array().unwrap().len(), attempts, "{}", entry.path().display());
            found.insert(
                entry.path().display().to_string(),
                (trial["started_ms"].as_u64().unwrap(), attempts),
            );
        }
    }
    found
}

#[test]
fn two_hundred_trials_survive_a_kill() {
    let project = Project::new();
    project.write("e.toml", &spec());
    let mut child = project
        .command(&["e.toml", "--target", "reference", "--format", "json", "--out", "killed"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let seen = lines.map_while(Result::ok).filter(|line| line.contains("trial-finished")).take(90).count();
    // SIGKILL: no handler runs.
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(seen, 90);
    let iteration = project.path().join("killed/greet/iteration-1");
    let before = finished(&iteration);
    assert!(before.len() >= 80 && before.len() < 200, "{}", before.len());
    assert!(!iteration.join("report.json").exists());

    let resumed = project.eval(&["e.toml", "--out", "killed", "--resume"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let after = finished(&iteration);
    assert_eq!(after.len(), 200);
    for (trial, known) in &before {
        assert_eq!(after.get(trial), Some(known), "{trial} was run again");
    }
    let attempts: usize = after.values().map(|(_, attempts)| attempts).sum();
    // Ten trials of each arm are limited once, in each of which two attempts are made.
    assert_eq!(attempts, 200 + 2 * 10);
    // The numbers are those of the script, as if nothing had happened.
    let report = resumed.report();
    let rate = |arm: &str| {
        let rate = &report["overall"][arm]["pass_rate"];
        (rate["passed"].as_u64().unwrap(), rate["measured"].as_u64().unwrap())
    };
    assert_eq!((rate("with_skill"), rate("without_skill")), ((85, 100), (0, 100)));
    assert_eq!(report["overall"]["with_skill"]["skill_used"], 85);
    assert_eq!((&report["number"], &report["not_measured"]), (&Value::from(1), &serde_json::json!({})));
    // Each attempt is paid for once, also those of trials that the first run finished.
    let spent: u64 = after
        .keys()
        .map(|folder| {
            let trial: Value = read_json(Path::new(folder).join("trial.json"));
            trial["spent"]["output_tokens"].as_u64().unwrap()
        })
        .sum();
    let controls = report["spent"]["output_tokens"].as_u64().unwrap() - spent;
    assert!(spent > 0 && controls > 0 && controls < 50, "{spent} and {controls}");
}

#[test]
fn what_has_changed_meanwhile_is_not_mixed_in() {
    let project = Project::new();
    project.write("e.toml", &spec().replace("trials = 100", "trials = 4"));
    let said = project.eval(&["e.toml", "--max-total-tokens", "1"]);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    let said = project.eval(&["e.toml", "--resume", "--model", "other"]);
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("begun with another model"), "{}", said.stderr);
    project.write(".claude/skills/greet/extra.md", "more");
    let said = project.eval(&["e.toml", "--resume"]);
    assert!(said.stderr.contains("another version of the skill"), "{}", said.stderr);
}

#[test]
fn an_interrupted_run_says_so_and_goes_on() {
    let project = Project::new();
    project.write("e.toml", &spec().replace("trials = 100", "trials = 30"));
    let mut child = project
        .command(&["e.toml", "--target", "reference", "--format", "json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("\"case\":\"ann\"")));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let last: Value = serde_json::from_str(&lines.last().unwrap()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!((&last["status"], &last["complete"]), (&Value::from("interrupted"), &Value::from(false)));
    let resumed = project.eval(&["e.toml", "--resume"]);
    assert_eq!(
        (resumed.code, &resumed.report()["complete"]),
        (Some(0), &Value::from(true)),
        "{}",
        resumed.stderr
    );
}
