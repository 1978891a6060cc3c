//! Markdown: for pull requests, wikis, and the summary of a CI step.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::context::Context;
use super::document::RenderError;
use super::evidence::versus;
use super::numbers::counted;
use super::problem::{Problem, problems, promise};
use super::run_report::RunReport;
use crate::run::{Process, Status};
use crate::text::printable;

/// Failures told in full; the tables have all of them.
const MOST_TOLD: usize = 50;
/// Columns of the table; the rest is one column.
const MOST_COLUMNS: usize = 8;

/// The report of a run.
pub(super) fn render(run: &RunReport, context: &Context) -> Result<String, RenderError> {
    let mut out = String::new();
    write(&mut out, run, context).map_err(|error| RenderError(error.to_string()))?;
    Ok(out)
}

fn write(out: &mut String, run: &RunReport, context: &Context) -> std::fmt::Result {
    let finished = &run.finished;
    let mark = match finished.exit_code {
        0 => "✅",
        100 => "❌",
        _ => "⚠️",
    };
    writeln!(out, "# {mark} clawgate: {}\n", run.headline())?;
    let targets: Vec<String> = run.targets().iter().map(|target| code(target)).collect();
    writeln!(
        out,
        "{} on {} in {:.1} s.\n",
        counted(run.cases.len() as u64, "case", "cases"),
        targets.join(", "),
        finished.duration_ms as f64 / 1000.0
    )?;
    if let Some(note) = finished.isolation_note() {
        writeln!(out, "Note: {}.\n", plain(&note))?;
    }
    let problems = problems(run);
    let failing: Vec<&Problem<'_>> = problems.iter().filter(|problem| problem.fails()).collect();
    if !failing.is_empty() {
        table(out, &failing, context)?;
        writeln!(out, "## Failures\n")?;
        let failed: Vec<_> = run.failed().collect();
        for case in failed.iter().take(MOST_TOLD) {
            writeln!(
                out,
                "<details><summary>{} on {}: {}</summary>\n",
                code(&case.title()),
                code(&case.target),
                counted(case.failures.len() as u64, "reason", "reasons")
            )?;
            for problem in failing.iter().filter(|problem| std::ptr::eq(problem.case, *case)) {
                tell(out, problem, context)?;
            }
            writeln!(out)?;
            for (label, text) in case.process.iter().flat_map(Process::told) {
                writeln!(out, "{label}: {}<br>", command(text))?;
            }
            writeln!(out, "again: {}\n\n</details>\n", code(&case.replay))?;
        }
        if failed.len() > MOST_TOLD {
            writeln!(out, "and {} more.\n", failed.len() - MOST_TOLD)?;
        }
    }
    known_failures(out, run)?;
    let others = run.cases.iter().filter(|case| matches!(case.status, Status::Flaky | Status::Skipped));
    let others: Vec<String> = others
        .map(|case| {
            let why = case.reason.as_deref().unwrap_or("failed at first, then passed");
            format!(
                "| {} | {} | {} | {} |",
                code(&case.title()),
                code(&case.target),
                case.status.name(),
                code(why)
            )
        })
        .collect();
    if !others.is_empty() {
        writeln!(out, "## Flaky and skipped\n\n| case | target | | why |\n|---|---|---|---|")?;
        writeln!(out, "{}\n", others.join("\n"))?;
    }
    Ok(())
}

/// What is wrong with the list of known failures, and what is accepted by it.
fn known_failures(out: &mut String, run: &RunReport) -> std::fmt::Result {
    let stale: Vec<_> = run.finished.failing_entries().collect();
    if !stale.is_empty() {
        writeln!(out, "## Stale known failures\n")?;
        for entry in stale {
            writeln!(
                out,
                "- {}: {}",
                code(&format!("{}:{}", entry.file, entry.line)),
                plain(&entry.message)
            )?;
        }
        writeln!(out)?;
    }
    let known: Vec<_> = run.cases.iter().filter(|case| !case.known.is_empty()).collect();
    if known.is_empty() {
        return Ok(());
    }
    let mut rows: Vec<String> = Vec::new();
    for case in &known {
        for failure in &case.known {
            let what = match &failure.clause {
                Some(clause) => code(clause),
                None => format!("{} {}", plain(&failure.kind.to_string()), code(&failure.message)),
            };
            let why = plain(failure.known.as_deref().unwrap_or_default());
            rows.push(format!("| {} | {} | {what} | {why} |", code(&case.title()), code(&case.target)));
        }
    }
    // A clause that is broken in many places of a case is one row.
    rows.dedup();
    writeln!(
        out,
        "<details><summary>Known failures in {}</summary>\n\n| case | target | failure | accepted because |\n|---|---|---|---|",
        counted(known.len() as u64, "case", "cases")
    )?;
    writeln!(out, "{}\n\n</details>\n", rows.join("\n"))
}

/// What each command broke: a row a command, a column a clause.
fn table(out: &mut String, failing: &[&Problem<'_>], context: &Context) -> std::fmt::Result {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for problem in failing {
        *counts.entry(&problem.rule).or_default() += 1;
    }
    let mut rules: Vec<&str> = counts.keys().copied().collect();
    rules.sort_by_key(|rule| (std::cmp::Reverse(counts[rule]), *rule));
    let (columns, rest) = rules.split_at(rules.len().min(MOST_COLUMNS));
    let group = |problem: &Problem<'_>| {
        let name = &problem.case.case;
        (
            name.rsplit_once('/').map_or(name.as_str(), |(group, _)| group).to_owned(),
            problem.case.target.clone(),
        )
    };
    let rows: BTreeSet<(String, String)> = failing.iter().map(|problem| group(problem)).collect();
    write!(out, "| command | target |")?;
    for rule in columns {
        write!(out, " {} |", code(rule))?;
    }
    let other = if rest.is_empty() { "" } else { " other |" };
    writeln!(out, "{other}\n|---|---|{}", ":-:|".repeat(columns.len() + usize::from(!rest.is_empty())))?;
    for row in rows {
        write!(out, "| {} | {} |", code(&row.0), code(&row.1))?;
        let here = || failing.iter().filter(|problem| group(problem) == row);
        for rule in columns {
            match here().filter(|problem| problem.rule == *rule).count() {
                0 => write!(out, " |")?,
                count => write!(out, " ❌ {count} |")?,
            }
        }
        if !rest.is_empty() {
            match here().filter(|problem| rest.contains(&problem.rule.as_str())).count() {
                0 => write!(out, " |")?,
                count => write!(out, " ❌ {count} |")?,
            }
        }
        writeln!(out)?;
    }
    writeln!(out)?;
    for rule in columns {
        writeln!(out, "- {}: {}", code(rule), plain(&promise(rule, context)))?;
    }
    writeln!(out)
}

fn tell(out: &mut String, problem: &Problem<'_>, context: &Context) -> std::fmt::Result {
    writeln!(out, "- **{}**: {}", plain(&problem.rule), code(&problem.message))?;
    let Some(finding) = problem.finding else { return Ok(()) };
    let clause = context.broken(problem.case, &problem.rule);
    if !clause.text.is_empty() {
        writeln!(out, "  <br>{}", plain(&clause.text))?;
    }
    for (label, text) in versus(finding, None) {
        writeln!(out, "  <br>{label} {}", code(&text))?;
    }
    for (label, text) in clause.told() {
        let text = if label == "explain" { code(text) } else { plain(text) };
        writeln!(out, "  <br>{label}: {text}")?;
    }
    match (finding.pointer.as_deref().unwrap_or_default(), finding.line) {
        // The first line is where a document begins, and no more to the point than the pointer.
        (pointer @ ("" | "/"), Some(line)) | (pointer, Some(line @ 2..)) => {
            let pointer = if pointer.is_empty() { String::new() } else { format!(" at {}", code(pointer)) };
            writeln!(out, "  <br>line {line} of standard output{pointer}")
        }
        ("", None) => Ok(()),
        (pointer, _) => writeln!(out, "  <br>at {}", code(pointer)),
    }
}

/// Text from outside: shown letter by letter, never markup, never a mention or a link.
pub(super) fn code(text: &str) -> String {
    code_within(text, 400)
}

/// A command to be copied, which has to be whole.
pub(super) fn command(text: &str) -> String {
    code_within(text, 4000)
}

fn code_within(text: &str, columns: usize) -> String {
    let (text, cut) = super::quote::first_columns(&printable(text), columns);
    format!("<code>{}{}</code>", plain(&text), if cut { "…" } else { "" })
}

/// Text in which no character means anything to Markdown or HTML.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in printable(text).chars() {
        if character.is_ascii_punctuation() && !".,/-".contains(character) {
            let _ = write!(out, "&#{};", character as u32);
        } else {
            out.push(character);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_target_is_markup() {
        let shown = code("</code><script>|`*_[x](y)@me\n# ::error::\u{202e}");
        assert!(shown.starts_with("<code>") && shown.ends_with("</code>"));
        let inner = &shown[6..shown.len() - 7];
        assert!(
            !inner.contains(['<', '>', '|', '`', '*', '_', '[', ']', '(', '@', '\n', ':', '\u{202e}']),
            "{inner}"
        );
    }

    #[test]
    fn a_megabyte_is_cut() {
        assert!(code(&"x".repeat(1 << 20)).len() < 1000);
    }
}
