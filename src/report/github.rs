//! GitHub Actions: annotations on the lines that a reviewer looks at, as workflow commands.

use std::fmt::Write as _;

use super::context::Context;
use super::problem::problems;
use super::run_report::RunReport;
use crate::run::{CaseFinished, Process};
use crate::text::printable;

/// GitHub shows so many annotations of a step.
const MOST: usize = 10;

/// The annotations of a run, a line each: one for each case that failed.
pub(super) fn annotations(run: &RunReport, context: &Context) -> String {
    let problems = problems(run);
    let failed: Vec<&CaseFinished> = run.failed().collect();
    let shown = if failed.len() > MOST { MOST - 1 } else { MOST };
    let mut text = String::new();
    for case in failed.iter().take(shown) {
        let own: Vec<_> =
            problems.iter().filter(|problem| std::ptr::eq(problem.case, *case) && problem.fails()).collect();
        let place = context.place(case, own.iter().find_map(|problem| problem.finding));
        let place = place.map_or(String::new(), |place| {
            format!("file={},line={},", property(&place.file), place.line.max(1))
        });
        let title = property(&format!("{} on {}", case.title(), case.target));
        let mut lines = Vec::new();
        let mut told: Vec<&String> = Vec::new();
        for problem in &own {
            lines.push(format!("{}: {}", problem.rule, problem.message));
            // The second finding of a clause says no more of it than the first.
            if problem.finding.is_some() && !told.contains(&&problem.rule) {
                told.push(&problem.rule);
                let clause = context.broken(case, &problem.rule);
                lines.extend([clause.text.clone()].into_iter().filter(|text| !text.is_empty()));
                lines.extend(clause.told().into_iter().map(line));
            }
        }
        lines.extend(case.process.iter().flat_map(Process::told).map(line));
        lines.push(format!("again: {}", case.replay));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "::error {place}title={title}::{}", data(&lines));
    }
    if failed.len() > shown {
        let more = failed.len() - shown;
        let _ = writeln!(text, "::error title=clawgate::and {more} more; the step summary has all of them");
    }
    if let Some(note) = run.finished.isolation_note() {
        let _ = writeln!(text, "::warning title=clawgate::{}", data(&[note]));
    }
    for entry in run.finished.failing_entries().take(MOST) {
        let place = context.in_repository(&entry.file).unwrap_or_else(|| entry.file.clone());
        let (place, message) = (property(&place), data(std::slice::from_ref(&entry.message)));
        let _ = writeln!(text, "::error file={place},line={},title=known failures::{message}", entry.line);
    }
    text
}

fn line((label, text): (&str, &str)) -> String {
    format!("{label}: {text}")
}

/// The message of a workflow command.
fn data(lines: &[String]) -> String {
    let lines: Vec<_> = lines.iter().map(|line| printable(line).replace('%', "%25")).collect();
    lines.join("%0A")
}

/// A property of a workflow command.
fn property(text: &str) -> String {
    data(&[text.to_owned()]).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_command_of_a_targets_making_survives() {
        let lines = ["a\n::error::x\r##[add-path]".to_owned(), "100%".to_owned()];
        assert_eq!(data(&lines), "a\\n::error::x\\r# #[add-path]%0A100%25");
        assert_eq!(property("a,b:c\n::x"), "a%2Cb%3Ac\\n%3A%3Ax");
    }
}
