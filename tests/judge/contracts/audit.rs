//! The gate can fail: every broken run is noticed, and every clause is needed for that.

use std::path::Path;

use clawgate::internals::schema::{Audit, Sample, bundle};
use clawgate::judge::{self, Contracts, Options};
use clawgate::schema::{Contract, Level, built_in};

use crate::command::{ROOT, clawgate};

fn audit(name: &str) -> (Contract, Audit) {
    let files = bundle(name).unwrap();
    let load = || Contract::load(&files).unwrap_or_else(|error| panic!("{error}"));
    let contracts = Contracts::only(name).unwrap();
    let verdict = |run: &Sample| {
        let judgement = judge::recording(&run.recording("", ""), &contracts, &Options::default()).unwrap();
        judgement.verdict.filter(|verdict| !verdict.is_ok()).map(|verdict| verdict.class.name().to_string())
    };
    (load(), Audit::run(load(), &files, 1, &verdict).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn no_broken_run_survives_and_no_clause_can_be_spared() {
    for name in built_in() {
        let (contract, audit) = audit(name);
        let survivors: Vec<_> =
            audit.survivors().map(|mutant| format!("{}: {}", mutant.base, mutant.mutation)).collect();
        assert!(survivors.is_empty(), "{name}:\n{}", survivors.join("\n"));
        assert!(audit.mutants() > 50, "{name} has only {} mutants", audit.mutants());
        for clause in contract.clauses() {
            let id = format!("{name}/{}", clause.id);
            if clause.level == Level::Must && clause.is_judged() {
                assert!(
                    audit.score_without(Some(&id)) < audit.score(),
                    "the score stays the same without {id}"
                );
            }
        }
    }
}

#[test]
fn a_contract_without_a_clause_scores_lower() {
    let files = bundle("claw-stdout").unwrap();
    let full = Contract::load(&files).unwrap();
    let ids: Vec<_> = full
        .clauses()
        .iter()
        .filter(|clause| clause.level == Level::Must)
        .map(|clause| clause.id.clone())
        .collect();
    let before = Audit::run(full, &files, 1, &|_| None).unwrap().score();
    for id in ids {
        let less = Contract::load(&files).unwrap().without(&id);
        let after = Audit::run(less, &files, 1, &|_| None).unwrap().score();
        assert!(after < before, "without {id} the score is still {after}");
    }
}

#[test]
fn the_command_gates_and_writes_what_survives() {
    let blind = Path::new(ROOT).join("tests/data/blind");
    let directory = tempfile::tempdir().unwrap();
    let output = clawgate(ROOT)
        .args(["audit", "--format", "json", "--min-score", "0.9", "--write-survivors"])
        .arg(directory.path())
        .arg(&blind)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(100), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let survivors = report["survivors"].as_array().unwrap().len();
    assert!(survivors > 0 && report["score"].as_f64().unwrap() < 0.9, "{report}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), survivors);
    assert_eq!(report["clauses"]["blind/has-message"]["killed"], 3);
}

#[test]
fn regression_what_only_warns_was_counted_as_if_it_failed_the_gate() {
    let audit = |args: &[&str]| -> serde_json::Value {
        let mut command = clawgate(ROOT);
        let output = command.args(["audit", "claw-1.0", "--format", "json"]).args(args).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let usual = audit(&[]);
    let number = |report: &serde_json::Value, key: &str| report[key].as_u64().unwrap();
    // The numbers are said, and the strict count takes them for what they are.
    assert!(number(&usual, "warned") > 0 && number(&usual, "excused") > 0, "{usual:.200}");
    let strict = audit(&["--fail-on", "must"]);
    let passed = number(&strict, "mutants") - number(&strict, "killed");
    assert_eq!(passed, strict["survivors"].as_array().unwrap().len() as u64);
    assert!(passed >= number(&usual, "warned"), "{passed} of {}", number(&usual, "warned"));
    assert!(strict["score"].as_f64() < usual["score"].as_f64());
    let mut command = clawgate(ROOT);
    let gate = command.args(["audit", "claw-1.0", "--fail-on", "must", "--min-score", "1"]);
    gate.assert().code(100);
}
