//! What many cases fail for together, so that one cause is told once.

use std::collections::BTreeMap;

use crate::run::{CaseFinished, FailureKind};

/// Cases that fail for one cause.
#[derive(Debug)]
pub(super) struct Cause<'r> {
    /// The clause without its contract, or the kind of failure where no clause is broken.
    pub(super) name: String,
    /// The cases, in the order of the run; never empty.
    pub(super) cases: Vec<&'r CaseFinished>,
}

/// What a case fails for, each once: broken clauses without their contracts, then the other kinds of failure.
pub(super) fn reasons(case: &CaseFinished) -> Vec<String> {
    let clauses = case.failures.iter().filter_map(|failure| failure.clause.as_deref());
    let clauses = clauses.map(|clause| clause.rsplit('/').next().unwrap_or(clause).to_owned());
    let others = case.other_failures().filter(|failure| failure.kind != FailureKind::Verdict);
    let others = others.map(|failure| failure.kind.to_string());
    let mut names: Vec<String> = Vec::new();
    for name in clauses.chain(others) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    // The verdict follows from the rest, where there is a rest.
    if names.is_empty() && !case.failures.is_empty() {
        names.push(format!("{} instead of {}", case.outcome(), case.expected));
    }
    names
}

/// The cases by cause: the one that most of them share first, then the one that most of the others share.
pub(super) fn causes<'r>(failed: &'r [CaseFinished]) -> Vec<Cause<'r>> {
    let mut left: Vec<(&'r CaseFinished, Vec<String>)> =
        failed.iter().map(|case| (case, reasons(case))).collect();
    let mut causes = Vec::new();
    while let Some((first, _)) = left.first() {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for name in left.iter().flat_map(|(_, names)| names) {
            *counts.entry(name).or_default() += 1;
        }
        // Of two that are shared as often, the one that is told first of the earlier case.
        let most = counts.values().copied().max().unwrap_or(0);
        let mut told = left.iter().flat_map(|(_, names)| names);
        let Some(name) = told.find(|name| counts.get(name.as_str()) == Some(&most)).cloned() else {
            causes.push(Cause { name: "no reason".into(), cases: vec![*first] });
            left.remove(0);
            continue;
        };
        let (with, without): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|(_, names)| names.contains(&name));
        causes.push(Cause { name, cases: with.into_iter().map(|(case, _)| case).collect() });
        left = without;
    }
    causes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Failure;

    fn case(name: &str, clauses: &[&str]) -> CaseFinished {
        let failures = clauses.iter().map(|clause| Failure {
            clause: Some((*clause).to_owned()),
            ..Failure::new(FailureKind::Finding, "broken")
        });
        CaseFinished { case: name.into(), failures: failures.collect(), ..CaseFinished::default() }
    }

    #[test]
    fn what_most_cases_share_is_told_first_and_each_case_once() {
        let failed = [
            case("a", &["x/lone"]),
            case("b", &["x/first", "x/shared"]),
            case("c", &["y/shared"]),
            case("d", &["x/first"]),
            case("e", &["x/shared", "x/lone"]),
            case("f", &[]),
        ];
        let told: Vec<(String, Vec<&str>)> = causes(&failed)
            .into_iter()
            .map(|cause| (cause.name, cause.cases.iter().map(|case| case.case.as_str()).collect()))
            .collect();
        let expected = [
            ("shared", vec!["b", "c", "e"]),
            ("lone", vec!["a"]),
            ("first", vec!["d"]),
            ("no reason", vec!["f"]),
        ];
        assert_eq!(told, expected.map(|(name, cases)| (name.to_owned(), cases)));
    }

    #[test]
    fn a_verdict_alone_is_a_cause_and_beside_others_none() {
        let verdict = Failure::new(FailureKind::Verdict, "expected ok");
        let mut alone = case("a", &[]);
        alone.failures = vec![verdict.clone()];
        alone.expected = "ok".into();
        assert_eq!(reasons(&alone), [" instead of ok"]);
        let mut both = case("b", &["x/y"]);
        both.failures.push(verdict);
        assert_eq!(reasons(&both), ["y"]);
    }
}
