//! What is wrong with a case, in the one form that SARIF, GitLab, GitHub and Markdown are made of.

use std::collections::HashMap;

use hmac_sha256::Hash as Sha256;

use super::context::Context;
use super::run_report::RunReport;
use crate::run::{BrokenClause, CaseFinished, FailureKind, Finding, Process, Source, Status, Word};
use crate::schema::Level;
use crate::text::{hex, printable};

/// What the rule of a problem begins with that no clause is about.
const RUN: &str = "run/";

/// The rule that an entry of the list of known failures breaks which is stale or has expired.
pub(super) const STALE: &str = "run/known-failures";

/// Something that is wrong with a case.
#[derive(Debug)]
pub(super) struct Problem<'r> {
    pub(super) case: &'r CaseFinished,
    /// The clause, or `run/<kind>` for what no clause is about.
    pub(super) rule: String,
    pub(super) weight: Weight,
    /// What is wrong, in a sentence, safe to show.
    pub(super) message: String,
    /// The evidence, when a clause is broken.
    pub(super) finding: Option<&'r Finding>,
    /// Why it is accepted.
    pub(super) accepted: Option<String>,
    /// The same for the same problem in every run, whatever else there is.
    pub(super) fingerprint: String,
}

/// How much a problem matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    Note,
    Warning,
    Error,
}

impl Problem<'_> {
    /// Where it is shown: formats that take nothing without a place get the recording if there is no better one.
    pub(super) fn place(&self, context: &Context) -> Option<Source> {
        context.place(self.case, self.finding).or_else(|| context.place_in_recording(self.case, self.finding))
    }

    /// What helps to mend it, where the gate fails on it: how the target was started, how it ended and what it
    /// complained of, the clause's fix and the command that explains it, as labels and texts.
    pub(super) fn more(&self, context: &Context) -> Vec<(&'static str, String)> {
        if !self.fails() {
            return Vec::new();
        }
        let clause = self.finding.map(|finding| context.broken(self.case, &finding.clause));
        let clause = clause.iter().flat_map(BrokenClause::told);
        let process = self.case.process.iter().flat_map(Process::told);
        process.chain(clause).map(|(label, text)| (label, text.to_owned())).collect()
    }

    /// Whether the gate fails on it.
    pub(super) fn fails(&self) -> bool {
        self.weight == Weight::Error && self.accepted.is_none()
    }
}

/// Every problem of a run, in the order of its cases.
pub(super) fn problems(run: &RunReport) -> Vec<Problem<'_>> {
    let mut seen: HashMap<String, u32> = HashMap::new();
    let mut all = Vec::new();
    for case in &run.cases {
        for mut problem in of_case(case) {
            // The second of the same kind is told from the first by its number.
            let count = seen.entry(problem.fingerprint.clone()).or_default();
            *count += 1;
            if *count > 1 {
                problem.fingerprint = digest(&[&problem.fingerprint, &count.to_string()]);
            }
            all.push(problem);
        }
    }
    all
}

fn of_case(case: &CaseFinished) -> Vec<Problem<'_>> {
    let failed = case.status == Status::Fail;
    let mut found = Vec::new();
    let known = case.known.iter().filter(|failure| failure.kind != FailureKind::Finding);
    for failure in case.other_failures().filter(|_| failed).chain(known) {
        let rule = printable(&format!("{RUN}{}", failure.kind)).into_owned();
        found.push(Problem {
            case,
            fingerprint: digest(&[&rule, &case.case, &case.target, &case.repetition.to_string()]),
            rule,
            weight: Weight::Error,
            message: printable(&failure.message).into_owned(),
            finding: None,
            accepted: failure.known.as_deref().map(|reason| printable(reason).into_owned()),
        });
    }
    for finding in &case.findings {
        let failing = failed && case.failing_findings().any(|known| std::ptr::eq(known, finding));
        let weight = match finding.level.known() {
            _ if failing => Weight::Error,
            Some(Level::Must) => Weight::Error,
            Some(Level::Should) => Weight::Warning,
            _ => Weight::Note,
        };
        let accepted = match &finding.known {
            Some(reason) => Some(printable(reason).into_owned()),
            None if weight == Weight::Error && !failing => Some("the scenario expects it".to_owned()),
            None => None,
        };
        let pointer: String = finding
            .pointer
            .as_deref()
            .unwrap_or_default()
            .split('/')
            .map(|part| if part.bytes().all(|byte| byte.is_ascii_digit()) { "*" } else { part })
            .collect::<Vec<_>>()
            .join("/");
        found.push(Problem {
            case,
            rule: printable(&finding.clause).into_owned(),
            weight,
            message: printable(&finding.message).into_owned(),
            finding: Some(finding),
            accepted,
            fingerprint: digest(&[
                &finding.clause,
                &case.case,
                &case.target,
                &case.repetition.to_string(),
                &pointer,
            ]),
        });
    }
    found
}

pub(super) fn digest(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part);
        digest.update([0]);
    }
    hex(&digest.finalize()[..16])
}

/// What holds when a rule is kept, in a sentence.
pub(super) fn promise(rule: &str, context: &Context) -> String {
    let of_kind = |kind| match Word::<FailureKind>::read(kind) {
        Word::Known(kind) => kind.promise(),
        Word::Unknown(_) => "The run is as the scenario expects.",
    };
    match (context.clause(rule), rule.strip_prefix(RUN)) {
        _ if rule == STALE => {
            "Every entry of the list of known failures is needed, and its day is not over.".to_owned()
        }
        (Some(clause), _) => clause.text,
        (None, Some(kind)) => of_kind(kind).to_owned(),
        (None, None) => format!("The clause {rule} holds."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_says_what_holds_when_it_is_kept() {
        let context = Context::default();
        let says = |rule: &str| promise(rule, &context);
        assert_eq!(says("run/not-measured"), "Enough trials are measured to tell anything.");
        assert_eq!(says("run/outside"), "Nothing is written outside the clean room.");
        assert_eq!(says("run/haunted"), "The run is as the scenario expects.");
        assert_eq!(says("no-such/clause"), "The clause no-such/clause holds.");
    }
}
