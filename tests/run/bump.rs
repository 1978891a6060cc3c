//! A run that differs from its snapshot names the version bump that the contract's policy asks for.

use std::fs;

use tempfile::TempDir;

use crate::command::{clawgate, said};

#[test]
fn a_golden_difference_says_what_it_does_to_readers() {
    let folder = TempDir::new().unwrap();
    let case = "claw/commands/list-sessions-some";
    let told = || {
        let mut command = clawgate(folder.path());
        let (_, events) = said(command.env_remove("CI").args(["run", case, "--format", "json"]));
        let finished = events.iter().find(|event| event["type"] == "case-finished").unwrap();
        finished["failures"][0]["message"].as_str().unwrap().to_owned()
    };
    clawgate(folder.path()).env_remove("CI").args(["run", case, "--golden", "update"]).assert().success();
    let snapshot = folder.path().join(format!("golden/reference/{case}.snap"));
    let taken = fs::read_to_string(&snapshot).unwrap();
    let before = |from: &str, to: &str| {
        assert!(taken.contains(from), "{taken}");
        fs::write(&snapshot, taken.replace(from, to)).unwrap();
    };
    // What was there before is gone, and what is there now was not.
    before("\"sessions_count\"", "\"session_count\"");
    assert!(told().contains("(breaking; claw-1.0 asks for a major bump"), "{}", told());
    before("  \"sessions_count\": 1,\n", "");
    assert!(told().contains("(additive; claw-1.0"), "{}", told());
    // The bump was made: it is told so, and is still for somebody to accept.
    fs::write(
        &snapshot,
        taken.replace("\"sessions_count\"", "\"session_count\"").replace("\"1.0\"", "\"0.9\""),
    )
    .unwrap();
    let message = told();
    assert!(message.contains("(announced; claw-1.0") && message.contains("0.9 became 1.0"), "{message}");
}
