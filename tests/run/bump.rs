//! A run that differs from its snapshot names the version bump that the contract's policy asks for.

use std::fs;

use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
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
    // Whoever decides about it is told the same, and so is whoever accepts it without looking.
    before("\"sessions_count\"", "\"session_count\"");
    let golden =
        |args: &[&str]| said(clawgate(folder.path()).arg("golden").args(args).args(["--format", "json"])).1;
    let asks =
        "breaking; claw-1.0 asks for a major bump of /schema_version from 1.0 to 2.0, but it is still 1.0";
    assert!(told().contains(asks), "{}", told());
    let waiting = golden(&["review"]).remove(0);
    assert_eq!(
        (&waiting["advice"], &waiting["bumps"][0]["made"]),
        (&asks.into(), &false.into()),
        "{waiting}"
    );
    assert_eq!(golden(&["accept"])[0]["advice"], asks);
    // The bump was made: it is told so, and is still for somebody to accept.
    fs::write(
        &snapshot,
        taken.replace("\"sessions_count\"", "\"session_count\"").replace("\"1.0\"", "\"0.9\""),
    )
    .unwrap();
    let message = told();
    assert!(message.contains("(announced; claw-1.0") && message.contains("0.9 became 1.0"), "{message}");
    let review = clawgate(folder.path()).args(["golden", "review"]).assert().code(100);
    review.stdout(contains("changed (1 of 1): announced; claw-1.0").and(contains("announced document /")));
}
