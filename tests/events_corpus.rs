//! The labelled event logs: exactly the expected clauses at the expected lines, under each profile, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use clawgate::events::Profile;
use clawgate::schema::{ContractSet, Finding, judge_log};
use serde_json::Value;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/claws-events")
}

fn contract() -> ContractSet {
    ContractSet::open("claws-events").unwrap_or_else(|error| panic!("{error}"))
}

/// A finding as the index writes it.
fn written(finding: &Finding) -> (u64, String, String) {
    let clause = finding.clause.strip_prefix("claws-events/").unwrap().to_uppercase();
    let severity = match finding.level.name() {
        "must" => "error",
        "should" => "warn",
        other => other,
    };
    (finding.line.unwrap_or(0), clause, severity.to_owned())
}

#[test]
fn every_labelled_log_has_exactly_its_findings_under_every_profile() {
    let set = contract();
    let index: Vec<Value> =
        serde_json::from_slice(&fs::read(corpus().join("index.json")).unwrap()).unwrap();
    assert_eq!(index.len(), 40);
    let mut wrong = Vec::new();
    for entry in &index {
        let file = entry["file"].as_str().unwrap();
        let log = fs::read(corpus().join(file)).unwrap();
        for profile in Profile::ALL {
            let mut expected: Vec<_> = entry["expected"][profile.name()]
                .as_array()
                .unwrap()
                .iter()
                .map(|finding| {
                    let text = |key: &str| finding[key].as_str().unwrap().to_owned();
                    (finding["line"].as_u64().unwrap(), text("clause"), text("severity"))
                })
                .collect();
            let findings = judge_log(&set, profile, &log);
            let mut found: Vec<_> = findings.iter().map(written).collect();
            expected.sort();
            found.sort();
            if expected != found {
                wrong.push(format!("{file} {profile}: expected {expected:?}\n  found {findings:#?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
