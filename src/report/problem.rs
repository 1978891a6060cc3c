//! What is wrong with a case, in the one form that SARIF, GitLab, GitHub and Markdown are made of.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

use super::context::Context;
use super::told::{Case, Finding};
use super::whole::Whole;
use crate::printable::printable;
use crate::run::{Source, Status};

/// Something that is wrong with a case.
#[derive(Debug)]
pub(super) struct Problem<'r> {
    pub(super) case: &'r Case,
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

    /// Whether the gate fails on it.
    pub(super) fn fails(&self) -> bool {
        self.weight == Weight::Error && self.accepted.is_none()
    }
}

/// Every problem of a run, in the order of its cases.
pub(super) fn problems(whole: &Whole) -> Vec<Problem<'_>> {
    let mut seen: HashMap<String, u32> = HashMap::new();
    let mut all = Vec::new();
    for case in &whole.cases {
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

fn of_case(case: &Case) -> Vec<Problem<'_>> {
    let failed = case.status == Status::Fail;
    let mut found = Vec::new();
    for failure in case.other_failures().filter(|_| failed) {
        let rule = format!("run/{}", printable(&failure.kind));
        found.push(Problem {
            case,
            fingerprint: digest(&[&rule, &case.case, &case.target, &case.repetition.to_string()]),
            rule,
            weight: Weight::Error,
            message: printable(&failure.message).into_owned(),
            finding: None,
            accepted: None,
        });
    }
    for finding in &case.findings {
        let failing = failed && case.failing_findings().any(|known| std::ptr::eq(known, finding));
        let weight = match finding.level.as_str() {
            _ if failing => Weight::Error,
            "must" => Weight::Error,
            "should" => Weight::Warning,
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

fn digest(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part);
        digest.update([0]);
    }
    digest.finalize().iter().take(16).fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

/// What a kind of failure is about, in words.
pub(super) fn kind_in_words(kind: &str) -> &'static str {
    match kind {
        "verdict" => "The run ends as the scenario expects.",
        "exit" => "The exit code is the expected one.",
        "advisory" => "The verdict carries the expected advisories.",
        "stale" => "A finding that the scenario expects is still there.",
        "requests" => "The API is asked as often as expected.",
        "unused-turn" => "Every turn of the script is asked for.",
        "unmatched-request" => "Every request is one that the script knows.",
        "invalid-request" => "Every request is a valid one.",
        "file" => "The run leaves the expected files.",
        "stdout" => "Standard output holds what is expected.",
        "stderr" => "Standard error holds what is expected.",
        "secret" => "No credential is printed.",
        "leftover" => "Nothing is left running.",
        "golden" => "The output is that of the golden snapshot.",
        "harness" => "The harness itself works.",
        "threshold" => "Every threshold of the evaluation is reached.",
        "assertion" => "Every assertion of the case holds.",
        "trigger" => "The skill is used where it should be, and only there.",
        "control" => "What is known to pass passes, and what is known to fail fails.",
        "not-measured" => "Enough trials are measured to tell anything.",
        _ => "The run is as the scenario expects.",
    }
}
