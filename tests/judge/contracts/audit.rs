//! The gate can fail: every broken run is noticed, and every clause is needed for that.

use std::collections::BTreeSet;
use std::path::Path;

use clawgate::internals::schema::{Audit, Sample, bundle, row_reason};
use clawgate::judge::{self, Contracts, Options};
use clawgate::schema::{Contract, Level, built_in};

use crate::command::{ROOT, clawgate};

fn audit(name: &str) -> (Contract, Audit) {
    let files = bundle(name).unwrap();
    let load = || Contract::load(&files).unwrap_or_else(|error| panic!("{error}"));
    let contracts = Contracts::only(name).unwrap();
    let gate = |run: &Sample| {
        let judgement = judge::recording(&run.recording("", ""), &contracts, &Options::default()).unwrap();
        let verdict = judgement.verdict.filter(|verdict| !verdict.is_ok());
        let row = verdict.as_ref().map(|verdict| row_reason(&verdict.evidence[0].rule));
        let class = verdict.map(|verdict| format!("verdict {}", verdict.class.name()));
        let broken = judgement.findings.into_iter().filter(|finding| finding.level == Level::Must);
        broken.map(|finding| finding.clause).chain(class).chain(row).collect()
    };
    (load(), Audit::run(load(), &files, 1, &gate).unwrap_or_else(|error| panic!("{error}")))
}

/// What the default gate notices at least, in hundredths. The rest is listed by `clawgate audit`: what only warns, and what
/// nothing tells apart from the truth. All clauses of claw-head only warn.
const NOTICED: [(&str, f64); 18] = [
    // It asks for no right count of tokens, and nothing of ids.
    ("agent-core", 80.0),
    ("claude-commands", 100.0),
    ("claude-commands-text", 100.0),
    ("claude-json", 95.0),
    ("claude-stream-json", 99.0),
    ("claude-text", 97.0),
    ("claw-1.0", 98.0),
    ("claw-2.0", 98.0),
    ("claw-flat", 98.0),
    ("claw-head", 35.0),
    ("claw-stdout", 100.0),
    ("claws-events", 100.0),
    ("codex-exec-json", 97.0),
    ("copilot-json", 100.0),
    // Of all that it counts it is held to tokens, calls and requests alone.
    ("gemini-json", 87.0),
    ("gemini-stream-json", 98.0),
    ("ndjson", 100.0),
    ("opencode-json", 100.0),
];

#[test]
fn no_broken_shape_survives_and_no_clause_can_be_spared() {
    for name in built_in() {
        let (contract, audit) = audit(name);
        // Where it is known what was served, values are changed as well.
        let broken = audit.survivors().filter(|mutant| !mutant.base.starts_with("served"));
        let survivors: Vec<_> =
            broken.map(|mutant| format!("{}: {}", mutant.base, mutant.mutation)).collect();
        assert!(survivors.is_empty(), "{name}:\n{}", survivors.join("\n"));
        // They have no schema of their own to break.
        let is_small = ["claude-commands-text", "copilot-json", "ndjson", "opencode-json"].contains(&name);
        assert!(audit.mutants() > 50 || is_small, "{name} has only {} mutants", audit.mutants());
        let spared: Vec<_> = contract
            .clauses()
            .iter()
            .filter(|clause| clause.level == Level::Must && clause.is_judged())
            .map(|clause| format!("{name}/{}", clause.id))
            .filter(|id| audit.score_without(Some(id)) >= audit.score())
            .collect();
        assert!(spared.is_empty(), "the score stays the same without\n{}", spared.join("\n"));
        let strict = audit.held_to(Level::Must).score() * 100.0;
        let least = NOTICED.iter().find(|(known, _)| *known == name).map(|(_, least)| *least);
        assert!(
            least.is_some_and(|least| strict >= least),
            "the default gate notices {strict:.2} % of {name}"
        );
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
    let before = Audit::run(full, &files, 1, &|_| BTreeSet::new()).unwrap().score();
    for id in ids {
        let less = Contract::load(&files).unwrap().without(&id);
        let after = Audit::run(less, &files, 1, &|_| BTreeSet::new()).unwrap().score();
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
        let output = command.args(["audit", "claw-head", "--format", "json"]).args(args).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let usual = audit(&["--fail-on", "should"]);
    let number = |report: &serde_json::Value, key: &str| report[key].as_u64().unwrap();
    // The numbers are said, and the strict count takes them for what they are.
    assert!(number(&usual, "warned") > 0 && number(&usual, "excused") > 0, "{usual:.200}");
    let strict = audit(&[]);
    let passed = number(&strict, "mutants") - number(&strict, "killed");
    assert_eq!(passed, strict["survivors"].as_array().unwrap().len() as u64);
    assert!(passed >= number(&usual, "warned"), "{passed} of {}", number(&usual, "warned"));
    assert!(strict["score"].as_f64() < usual["score"].as_f64());
    let mut command = clawgate(ROOT);
    let gate = command.args(["audit", "claw-1.0", "--min-score", "1"]);
    gate.assert().code(100);
}
