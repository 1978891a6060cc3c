//! `JUnit` XML, for the test tab of CI systems: a suite a target, a test case a case, attempts inside it.

use std::fmt::Display;
use std::time::Duration;

use maud::html;

use super::context::Context;
use super::output;
use super::run_report::RunReport;
use crate::run::{CaseFinished, Failure, ListedFailure, Process, Status};
use crate::text::printable;

/// How much of a failed run's output goes into the report.
const OUTPUT: usize = 16 << 10;

/// The report of a run. The schema knows how many cases of a suite were skipped, but not of all suites together.
pub(super) fn render(run: &RunReport, context: &Context) -> String {
    let mut suites = String::from("\n");
    for info in &run.started.targets {
        let cases: Vec<&CaseFinished> = run.cases.iter().filter(|case| case.target == info.target).collect();
        let [_, skipped, errors, failures] = counts(&cases);
        let note = run.finished.isolation_note();
        let properties = [("version", &info.version), ("clawgate", &run.started.clawgate)]
            .into_iter()
            .chain(note.iter().map(|note| ("isolation", note)))
            .map(|(name, value)| element("property", &[("name", &name), ("value", &printable(value))], ""))
            .collect::<Vec<_>>();
        let mut inside = format!("\n{}", element("properties", &[], &properties.concat()));
        inside.extend(cases.iter().map(|case| test_case(case, context)));
        let attributes: [(&str, &dyn Display); 6] = [
            ("name", &printable(&info.target)),
            ("tests", &cases.len()),
            ("skipped", &skipped),
            ("errors", &errors),
            ("failures", &failures),
            ("time", &seconds(cases.iter().map(|case| case.duration_ms).sum())),
        ];
        suites += &element("testsuite", &attributes, &inside);
    }
    let entries: Vec<&ListedFailure> = run.finished.failing_entries().collect();
    let stale: Vec<String> = entries.iter().map(|entry| stale_entry(entry)).collect();
    let lost = run.finished.snapshots.iter();
    let lost: Vec<String> = lost.map(|told| beyond_cases("golden", "snapshot", "golden", told)).collect();
    let list = entries.first().map_or("known-failures", |first| first.file.as_str());
    for (name, tests) in [(list, &stale), ("golden snapshots", &lost)] {
        if tests.is_empty() {
            continue;
        }
        let attributes: [(&str, &dyn Display); 6] = [
            ("name", &printable(name)),
            ("tests", &tests.len()),
            ("skipped", &0),
            ("errors", &0),
            ("failures", &tests.len()),
            ("time", &seconds(0.0)),
        ];
        suites += &element("testsuite", &attributes, &format!("\n{}", tests.concat()));
    }
    let beyond = stale.len() + lost.len();
    let told = |case: &&CaseFinished| run.started.targets.iter().any(|info| info.target == case.target);
    let [tests, _, errors, failures] = counts(&run.cases.iter().filter(told).collect::<Vec<_>>());
    let attributes: [(&str, &dyn Display); 5] = [
        ("name", &"clawgate"),
        ("tests", &(tests + beyond)),
        ("failures", &(failures + beyond)),
        ("errors", &errors),
        ("time", &seconds(run.finished.duration_ms as f64)),
    ];
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}", element("testsuites", &attributes, &suites))
}

/// How many there are, were skipped, failed by our fault, and failed by the target's.
fn counts(cases: &[&CaseFinished]) -> [usize; 4] {
    let count = |is: &dyn Fn(&CaseFinished) -> bool| cases.iter().filter(|case| is(case)).count();
    let failed =
        |case: &CaseFinished, ours: bool| case.status == Status::Fail && is_ours(&case.failures) == ours;
    [
        cases.len(),
        count(&|case| case.status == Status::Skipped),
        count(&|case| failed(case, true)),
        count(&|case| failed(case, false)),
    ]
}

fn test_case(case: &CaseFinished, context: &Context) -> String {
    let (mut inside, rerun) = match case.status {
        Status::Pass | Status::Flaky => (String::new(), Some(["flakyFailure", "flakyError"])),
        Status::Skipped => {
            let reason = printable(case.reason.as_deref().unwrap_or("not run"));
            (element("skipped", &[("message", &reason)], ""), None)
        }
        Status::Fail => {
            let failed = failure(["failure", "error"], &case.failures, &description(case, context));
            (failed, Some(["rerunFailure", "rerunError"]))
        }
    };
    if case.is_known() {
        // The format knows no status between passed and failed.
        let lines = case.known.iter().map(|failure| {
            let why = failure.known.as_deref().unwrap_or_default();
            format!("known failure: {}: {} ({})\n", failure.kind, printable(&failure.message), printable(why))
        });
        inside += &element("system-out", &[], &escaped(&lines.collect::<String>()));
    }
    for (earlier, names) in case.earlier.iter().zip(rerun.iter().cycle()) {
        let mut lines = vec![reasons(&earlier.failures)];
        lines.extend(earlier.process.iter().flat_map(Process::told).map(line));
        lines.push(format!("after {:.0} ms", earlier.duration_ms));
        let text = lines.join("\n");
        inside += &failure(*names, &earlier.failures, &text);
    }
    if case.status == Status::Fail
        && let Some(recording) = &case.recording
    {
        let folder = context.path(recording);
        for (name, file) in [("system-out", "stdout"), ("system-err", "stderr")] {
            inside += &element(name, &[], &escaped(&output::head(&folder.join(file), OUTPUT)));
        }
    }
    let group = case.case.rsplit_once('/').map_or(case.case.as_str(), |(group, _)| group);
    let (title, class) = (case.title(), group.replace('/', "."));
    let attributes: [(&str, &dyn Display); 3] = [
        ("name", &printable(&title)),
        ("classname", &printable(&class)),
        ("time", &seconds(case.duration_ms)),
    ];
    element("testcase", &attributes, &inside)
}

/// An entry of the list of known failures for which the run fails, as a test of its own.
fn stale_entry(entry: &ListedFailure) -> String {
    beyond_cases("known-failures", &format!("{}:{}", entry.file, entry.line), "stale", &entry.message)
}

/// What fails a run and is no case's matter, as a test of its own.
fn beyond_cases(class: &str, title: &str, kind: &str, message: &str) -> String {
    let message = printable(message);
    let failure = element("failure", &[("message", &message), ("type", &kind)], &escaped(&message));
    let attributes: [(&str, &dyn Display); 3] =
        [("name", &printable(title)), ("classname", &class), ("time", &seconds(0.0))];
    element("testcase", &attributes, &failure)
}

/// A failure by the first of the names, or, where it is ours and not the target's, by the second.
fn failure(names: [&str; 2], failures: &[Failure], text: &str) -> String {
    let (message, kind) = failures.first().map_or_else(Default::default, |first| {
        (printable(&first.message).into_owned(), printable(&first.kind.to_string()).into_owned())
    });
    let name = names[usize::from(is_ours(failures))];
    element(name, &[("message", &message), ("type", &kind)], &escaped(text))
}

fn is_ours(failures: &[Failure]) -> bool {
    failures.iter().any(Failure::is_ours)
}

fn reasons(failures: &[Failure]) -> String {
    let line = |failure: &Failure| {
        format!("{}: {}", printable(&failure.kind.to_string()), printable(&failure.message))
    };
    failures.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn description(case: &CaseFinished, context: &Context) -> String {
    let mut lines = vec![reasons(&case.failures)];
    let mut told: Vec<&String> = Vec::new();
    for finding in case.failing_findings() {
        let clause = context.broken(case, &finding.clause);
        if !told.contains(&&finding.clause) {
            told.push(&finding.clause);
            lines.push(format!("{}: {}", printable(&finding.clause), printable(&clause.text)));
            lines.extend(clause.told().into_iter().map(line));
        }
    }
    lines.extend(case.process.iter().flat_map(Process::told).map(line));
    if let Some(recording) = &case.recording {
        lines.push(format!("recording: {}", printable(recording)));
    }
    lines.push(format!("again: {}", printable(&case.replay)));
    lines.join("\n")
}

fn line((label, text): (&str, &str)) -> String {
    format!("{label}: {}", printable(text))
}

fn seconds(ms: f64) -> String {
    format!("{:.3}", Duration::try_from_secs_f64(ms / 1000.0).unwrap_or_default().as_secs_f64())
}

/// An element of XML; its text is escaped already, and every text has been made printable before.
fn element(name: &str, attributes: &[(&str, &dyn Display)], inside: &str) -> String {
    let attribute =
        |(name, value): &(&str, &dyn Display)| format!(" {name}=\"{}\"", escaped(&value.to_string()));
    let attributes: String = attributes.iter().map(attribute).collect();
    if inside.is_empty() {
        return format!("<{name}{attributes}/>\n");
    }
    format!("<{name}{attributes}>{inside}</{name}>\n")
}

fn escaped(text: &str) -> String {
    html! { (text) }.into_string()
}
