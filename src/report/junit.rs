//! `JUnit` XML, for the test tab of CI systems: a suite a target, a test case a case, attempts inside it.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestRerun, TestSuite};

use super::context::Context;
use super::document::RenderError;
use super::output;
use super::run_report::RunReport;
use crate::printable::printable;
use crate::run::{CaseFinished, Failure, Status};

/// How much of a failed run's output goes into the report.
const OUTPUT: usize = 16 << 10;

/// The report of a run.
pub(super) fn render(run: &RunReport, context: &Context) -> Result<String, RenderError> {
    let mut report = Report::new("clawgate");
    report.set_time(Duration::from_millis(run.finished.duration_ms));
    for info in &run.started.targets {
        let mut suite = TestSuite::new(&*printable(&info.target));
        let cases: Vec<&CaseFinished> = run.cases.iter().filter(|case| case.target == info.target).collect();
        suite.set_time(seconds(cases.iter().map(|case| case.duration_ms).sum()));
        suite.add_property(Property::new("version", &*printable(&info.version)));
        suite.add_property(Property::new("clawgate", run.started.clawgate.as_str()));
        for case in cases {
            suite.add_test_case(test_case(case, context));
        }
        report.add_test_suite(suite);
    }
    let text = report.to_string().map_err(|error| RenderError(error.to_string()))?;
    Ok(by_the_schema(&text))
}

/// The schema knows the number of skipped cases of a suite, but not of all suites; readers that check refuse it.
fn by_the_schema(text: &str) -> String {
    let Some(start) = text.find("<testsuites") else { return text.to_owned() };
    let end = text[start..].find('>').map_or(text.len(), |end| start + end);
    // The name, the only text of somebody's own in this tag, is ours.
    let Some(at) = text[start..end].find(" skipped=\"").map(|at| start + at) else { return text.to_owned() };
    let rest = text[at + 1..].find('"').and_then(|open| {
        let open = at + 1 + open + 1;
        text[open..].find('"').map(|close| open + close + 1)
    });
    match rest {
        Some(rest) => format!("{}{}", &text[..at], &text[rest..]),
        None => text.to_owned(),
    }
}

fn test_case(case: &CaseFinished, context: &Context) -> TestCase {
    let mut status = match case.status {
        Status::Pass | Status::Flaky => TestCaseStatus::success(),
        Status::Skipped => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(&*printable(case.reason.as_deref().unwrap_or("not run")));
            status
        }
        Status::Fail => {
            let mut status = TestCaseStatus::non_success(kind(&case.failures));
            let (message, ty) = first(&case.failures);
            status.set_message(message);
            status.set_type(ty);
            status.set_description(description(case, context));
            status
        }
    };
    for earlier in &case.earlier {
        let mut rerun = TestRerun::new(kind(&earlier.failures));
        let (message, ty) = first(&earlier.failures);
        rerun.set_message(message).set_type(ty);
        let took = format!("after {:.0} ms", earlier.duration_ms);
        rerun.set_description(format!("{}\n{took}", reasons(&earlier.failures)));
        status.add_rerun(rerun);
    }
    let mut test = TestCase::new(&*printable(&case.title()), status);
    let group = case.case.rsplit_once('/').map_or(case.case.as_str(), |(group, _)| group);
    test.set_classname(&*printable(&group.replace('/', ".")));
    test.set_time(seconds(case.duration_ms));
    if case.status == Status::Fail
        && let Some(recording) = &case.recording
    {
        let folder = context.path(recording);
        test.set_system_out(output::head(&folder.join("stdout"), OUTPUT));
        test.set_system_err(output::head(&folder.join("stderr"), OUTPUT));
    }
    test
}

fn kind(failures: &[Failure]) -> NonSuccessKind {
    // Ours is an error; a failure is the target's.
    if failures.iter().any(Failure::is_ours) { NonSuccessKind::Error } else { NonSuccessKind::Failure }
}

fn first(failures: &[Failure]) -> (String, String) {
    failures.first().map_or((String::new(), String::new()), |failure| {
        (printable(&failure.message).into_owned(), printable(&failure.kind.to_string()).into_owned())
    })
}

fn reasons(failures: &[Failure]) -> String {
    let line = |failure: &Failure| {
        format!("{}: {}", printable(&failure.kind.to_string()), printable(&failure.message))
    };
    failures.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn description(case: &CaseFinished, context: &Context) -> String {
    let mut lines = vec![reasons(&case.failures)];
    for finding in case.failing_findings() {
        if let Some(clause) = context.clause(&finding.clause) {
            lines.push(format!("{}: {}", printable(&finding.clause), clause.text));
        }
    }
    if let Some(recording) = &case.recording {
        lines.push(format!("recording: {}", printable(recording)));
    }
    lines.push(format!("again: {}", printable(&case.replay)));
    lines.join("\n")
}

fn seconds(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms / 1000.0).unwrap_or_default()
}
