//! TAP, version 14: a line a case, and beside one that failed why, for the many programs that read it.

use super::run_report::RunReport;
use crate::run::{CaseFinished, Status};
use crate::text::printable;

/// The report of a run.
pub(super) fn render(run: &RunReport) -> String {
    let stale: Vec<_> = run.finished.failing_entries().collect();
    let mut lines = vec!["TAP version 14".to_owned(), format!("1..{}", run.cases.len() + stale.len())];
    for (index, case) in run.cases.iter().enumerate() {
        lines.extend(told(index + 1, case));
    }
    for (index, entry) in stale.iter().enumerate() {
        let number = run.cases.len() + index + 1;
        let place = format!("{}:{}", entry.file, entry.line);
        lines.push(format!("not ok {number} - {}", plain(&place)));
        lines.extend(yaml(&[("message", &entry.message)]));
    }
    if run.finished.interrupted {
        lines.push("Bail out! interrupted".to_owned());
    }
    lines.join("\n") + "\n"
}

fn told(number: usize, case: &CaseFinished) -> Vec<String> {
    let word = if case.status == Status::Fail { "not ok" } else { "ok" };
    let name = plain(&format!("{} on {}", case.title(), case.target));
    let directive = match case.status {
        Status::Skipped => format!(" # SKIP {}", plain(case.reason.as_deref().unwrap_or_default())),
        _ => String::new(),
    };
    let mut lines = vec![format!("{word} {number} - {name}{directive}")];
    if case.status == Status::Fail {
        let reasons: Vec<String> =
            case.failures.iter().map(|failure| format!("{}: {}", failure.kind, failure.message)).collect();
        lines.extend(yaml(&[("message", &reasons.join("; ")), ("again", &case.replay)]));
    }
    lines
}

/// A block of YAML; a text in JSON is one in YAML too.
fn yaml(fields: &[(&str, &str)]) -> Vec<String> {
    let field = |(name, text): &(&str, &str)| {
        format!("  {name}: {}", serde_json::Value::from(printable(text).into_owned()))
    };
    let fields = fields.iter().map(field);
    std::iter::once("  ---".to_owned()).chain(fields).chain(["  ...".to_owned()]).collect()
}

/// A text in which nothing begins a directive.
fn plain(text: &str) -> String {
    printable(text).replace('\\', "\\\\").replace('#', "\\#").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Failure, FailureKind};

    #[test]
    fn a_line_a_case_and_a_block_beside_what_failed() {
        let case = |name: &str, status| CaseFinished {
            case: name.into(),
            target: "t".into(),
            status,
            repetition: 1,
            ..CaseFinished::default()
        };
        let failed = CaseFinished {
            failures: vec![Failure::new(FailureKind::Exit, "found \"1\"")],
            replay: "clawgate run b".into(),
            ..case("b # SKIP me", Status::Fail)
        };
        let skipped = CaseFinished { reason: Some("too old".into()), ..case("c", Status::Skipped) };
        let run = RunReport { cases: vec![case("a", Status::Pass), failed, skipped], ..RunReport::default() };
        let expected = "TAP version 14\n1..3\nok 1 - a on t\nnot ok 2 - b \\# SKIP me on t\n  ---\n  message: \
                        \"exit: found \\\"1\\\"\"\n  again: \"clawgate run b\"\n  ...\nok 3 - c on t # SKIP too old\n";
        assert_eq!(render(&run), expected);
    }
}
