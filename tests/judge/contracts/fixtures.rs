//! Every clause of every built-in contract is proven to fire on a bad run and to keep quiet on a good one.

use std::collections::BTreeSet;

use clawgate::classify::Class;
use clawgate::internals::schema::{Fixtures, OUTCOME_CLASSES, Sample, bundle, outcome_rows, rule_names};
use clawgate::judge::{self, Contracts, Options};
use clawgate::schema::{Contract, ContractSet, Level, built_in};

/// What is wrong with the fixtures of a contract, one sentence each.
fn complaints(name: &str) -> Vec<String> {
    let contract = Contract::load(&bundle(name).unwrap()).unwrap_or_else(|error| panic!("{error}"));
    let alone = ContractSet::new(vec![contract]);
    let fixtures = Fixtures::load(&bundle(name).unwrap()).unwrap_or_else(|error| panic!("{error}"));
    let mut wrong = Vec::new();
    for (run, sample) in &fixtures.base {
        for finding in sample.judge(&alone) {
            if finding.level >= Level::Should {
                wrong.push(format!("{name}: base {run} breaks {}: {}", finding.clause, finding.message));
            }
        }
    }
    let judged = alone.contracts()[0].clauses().iter().filter(|clause| clause.is_judged());
    let clauses: BTreeSet<_> = judged.map(|clause| clause.id.clone()).collect();
    for clause in &clauses {
        let Some(samples) = fixtures.clauses.get(clause) else {
            wrong.push(format!("{name}/{clause} has no fixtures"));
            continue;
        };
        if samples.good.is_empty() || samples.bad.is_empty() {
            wrong.push(format!("{name}/{clause} needs a good and a bad run"));
        }
        let id = format!("{name}/{clause}");
        for sample in &samples.good {
            for finding in sample.judge(&alone) {
                if finding.clause == id || finding.level == Level::Must {
                    wrong.push(format!(
                        "{id}: good run `{}` breaks {}: {}",
                        sample.name, finding.clause, finding.message
                    ));
                }
            }
        }
        for sample in &samples.bad {
            let findings = sample.judge(&alone);
            if findings.iter().all(|finding| finding.clause != id) {
                let others: Vec<_> = findings.iter().map(|finding| finding.clause.as_str()).collect();
                wrong.push(format!("{id}: bad run `{}` does not trigger it, but {others:?}", sample.name));
            }
        }
    }
    for clause in fixtures.clauses.keys().filter(|clause| !clauses.contains(*clause)) {
        wrong.push(format!("{name}: fixtures for `{clause}`, which is no clause"));
    }
    wrong
}

#[test]
fn every_clause_fires_on_its_bad_runs_and_on_no_good_one() {
    let wrong: Vec<_> = built_in().flat_map(complaints).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_built_in_rule_is_used_by_a_built_in_contract() {
    let mut used = BTreeSet::new();
    for name in built_in() {
        let contract = Contract::load(&bundle(name).unwrap()).unwrap();
        used.extend(contract.clauses().iter().map(clawgate::schema::Clause::rule));
    }
    let unused: Vec<_> = rule_names().filter(|rule| !used.contains(rule)).collect();
    assert!(unused.is_empty(), "no clause uses {unused:?}");
}

#[test]
fn every_rule_of_event_logs_is_used_by_exactly_one_clause() {
    let contract = Contract::load(&bundle("claws-events").unwrap()).unwrap();
    let rule = |clause: &clawgate::schema::Clause| {
        let named = |key: &str| clause.check()[key].as_str().map(str::to_owned);
        named("events").or_else(|| Some(format!("probe-{}", named("probe")?)))
    };
    let mut used: Vec<_> = contract.clauses().iter().filter_map(rule).collect();
    used.sort_unstable();
    let mut rules: Vec<_> = clawgate::internals::events::Rule::ALL.iter().map(|rule| rule.name()).collect();
    rules.sort_unstable();
    assert_eq!(used, rules);
    let count = |key: &str| contract.clauses().iter().filter(|clause| !clause.check()[key].is_null()).count();
    assert_eq!((contract.clauses().len(), count("live"), count("unjudged")), (173, 32, 6));
}

/// The row that decides the verdict on a run, and the class; nothing where the verdict is ok.
fn decided_by(sample: &Sample, contracts: &Contracts) -> (String, String) {
    let judgement = judge::recording(&sample.recording("", ""), contracts, &Options::default()).unwrap();
    let verdict = judgement.verdict.unwrap();
    (verdict.evidence[0].rule.to_string(), verdict.class.name().to_owned())
}

#[test]
fn every_row_of_an_outcome_decides_its_runs_and_no_other() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for name in built_in() {
        let contract = Contract::load(&bundle(name).unwrap()).unwrap();
        let mut fixtures = Fixtures::load(&bundle(name).unwrap()).unwrap();
        let contracts = Contracts::only(name).unwrap();
        for (row, class) in outcome_rows(&contract) {
            count += 1;
            let samples = fixtures.outcomes.remove(row).unwrap_or_default();
            if samples.decides.is_empty() || samples.silent.is_empty() {
                wrong.push(format!(
                    "{name}/outcome/{row} needs a run that it decides and one that it does not"
                ));
            }
            for sample in &samples.decides {
                let decided = decided_by(sample, &contracts);
                if decided != (row.to_owned(), class.to_owned()) {
                    wrong.push(format!("{name}/outcome/{row} ({class}): decided by {decided:?}"));
                }
            }
            for sample in &samples.silent {
                if decided_by(sample, &contracts).0 == row {
                    wrong.push(format!("{name}/outcome/{row} decides a run that it should not"));
                }
            }
        }
        wrong
            .extend(fixtures.outcomes.keys().map(|row| format!("{name}: runs for `{row}`, which is no row")));
    }
    assert!(wrong.is_empty() && count > 50, "{}", wrong.join("\n"));
}

#[test]
fn the_classes_that_rows_can_mean_are_classes_in_the_order_of_decision() {
    let classes: Vec<Class> = OUTCOME_CLASSES.iter().map(|name| name.parse().unwrap()).collect();
    assert!(classes.is_sorted());
}
