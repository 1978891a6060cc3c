//! `contract list`, `contract show` and `explain` as a user meets them.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::command::{ROOT, clawgate, said};

/// The lines of a command's JSON output.
fn lines(args: &[&str]) -> Vec<Value> {
    said(clawgate(ROOT).args(args)).1
}

#[test]
fn every_contract_is_listed_and_can_be_shown() {
    let listed = lines(&["contract", "list", "--format", "json"]);
    let names: Vec<_> = listed.iter().filter_map(|line| line["name"].as_str()).collect();
    for name in
        ["claw-stdout", "claw-1.0", "claw-flat", "claw-2.0", "claw-head", "claude-stream-json", "claude-json"]
    {
        assert!(names.contains(&name), "{name} is not in {names:?}");
        let shown = lines(&["contract", "show", name, "--format", "json"]);
        let listed = listed.iter().find(|line| line["name"] == name).unwrap();
        assert_eq!(shown[0]["clauses"].as_array().unwrap().len() as u64, listed["clauses"].as_u64().unwrap());
    }
}

#[test]
fn a_clause_is_explained_with_samples_and_a_waiver() {
    clawgate(ROOT)
        .args(["explain", "claw-stdout/exit-code-echo"])
        .assert()
        .success()
        .stdout(contains("keeps it").and(contains("breaks it")).and(contains("[[known-failure]]")))
        .stdout(contains("exec-command").and(contains("fix")));
    let explained = lines(&["explain", "claw-stdout/exit-code-echo", "--format", "json"]);
    for key in ["text", "why", "fix", "source", "since", "good", "bad", "waive", "check"] {
        assert!(!explained[0][key].is_null(), "{key}");
    }
}

#[test]
fn the_catalogue_has_every_clause() {
    let catalogue = lines(&["explain", "--format", "json"]);
    let listed = lines(&["contract", "list", "--format", "json"]);
    let total: u64 = listed.iter().filter_map(|line| line["clauses"].as_u64()).sum();
    assert_eq!(catalogue.len() as u64, total);
}

#[test]
fn a_wrong_clause_is_one_sentence_with_a_next_step() {
    for (clause, wanted) in [
        ("single", "near are single-document"),
        ("claw-stdout/single", "near are single-document"),
        ("claw-stdot/x", "did you mean `claw-stdout`?"),
    ] {
        clawgate(ROOT).args(["explain", clause]).assert().code(2).stderr(contains(wanted));
    }
}
