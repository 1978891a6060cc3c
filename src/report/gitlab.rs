//! GitLab's code quality report: a list of issues that merge requests show.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::context::Context;
use super::markdown::command;
use super::problem::{STALE, Weight, digest, problems};
use super::run_report::RunReport;
use crate::text::printable;

/// The report of a run.
pub(super) fn render(run: &RunReport, context: &Context) -> String {
    let mut issues = Vec::new();
    for problem in problems(run).iter().filter(|problem| problem.accepted.is_none()) {
        let place = problem.place(context);
        let case = problem.case;
        let severity = match problem.weight {
            Weight::Error => "critical",
            Weight::Warning => "minor",
            Weight::Note => "info",
        };
        let mut description =
            format!("{} on {}: {}", printable(&case.title()), printable(&case.target), problem.message);
        let more = problem.more(context);
        // A merge request shows the description alone, on a line.
        for (label, text) in more.iter().filter(|(label, _)| *label != "stderr") {
            // Writing to a string cannot fail.
            let _ = write!(description, " · {label}: {}", printable(text));
        }
        let mut issue = json!({
            "description": description,
            "check_name": problem.rule,
            "fingerprint": problem.fingerprint,
            "severity": severity,
            "location": {
                // GitLab drops issues without a file.
                "path": place.as_ref().map_or("clawgate.toml", |place| place.file.as_str()),
                "lines": {"begin": place.as_ref().map_or(1, |place| place.line)},
            },
        });
        if !more.is_empty() {
            let lines: Vec<String> =
                more.iter().map(|(label, text)| format!("{label}: {}", command(text))).collect();
            issue["content"] = json!({"body": lines.join("  \n")});
        }
        issues.push(issue);
    }
    for entry in run.finished.failing_entries() {
        let path = context.in_repository(&entry.file).unwrap_or_else(|| entry.file.clone());
        issues.push(json!({
            "description": printable(&entry.message),
            "check_name": STALE,
            "fingerprint": digest(&[STALE, &entry.file, &entry.message]),
            "severity": "critical",
            "location": {"path": path, "lines": {"begin": entry.line}},
        }));
    }
    format!("{:#}\n", Value::Array(issues))
}
