//! Evaluations: for people on a terminal and in a browser, and as a run for the reports of CI systems.

mod as_run;
mod html;
mod notes;
mod round;
mod summary;
mod text;
mod trend;

use std::io;
use std::path::Path;

use crate::eval::statistics::{Difference, Rate};
use crate::eval::{BlindReport, Iteration, Report, Series, Store};
use crate::text::Masker;

pub(crate) use as_run::{Evaluated, evaluations};
pub(crate) use text::EvaluationText;

/// Writes what people look at: `report.html` and `summary.md` into the iteration, and `badge.svg` beside the iterations.
pub(crate) fn write_evaluation_pages(
    store: &Store,
    iteration: &Iteration,
    report: &Report,
    plan: &[Series<'_>],
) -> io::Result<()> {
    let trend = trend::points(store, &report.subject.stamp);
    let masker = Masker::default();
    let summary = masker.mask(&summary::markdown(report, &trend));
    super::document::write(&iteration.folder.join("summary.md"), &summary)?;
    let beside = iteration.folder.parent().unwrap_or(Path::new("."));
    super::document::write(&beside.join("badge.svg"), &masker.mask(&trend::badge(report)))?;
    html::write_page(iteration, report, plan, &trend)
}

/// A pass rate with its confidence interval.
fn rate(rate: &Rate) -> String {
    match rate.rate {
        Some(part) => format!(
            "{:.0} % ({} of {}, {:.0}–{:.0} %)",
            part * 100.0,
            rate.passed,
            rate.measured,
            rate.low * 100.0,
            rate.high * 100.0
        ),
        None => "not measured".into(),
    }
}

/// What a blind judge prefers, in a sentence.
fn blind(arm: &str, found: &BlindReport) -> String {
    let BlindReport { equal, wavering, not_judged, preferred, p, .. } = found;
    let rest = [(*equal, "equal"), (*wavering, "changed with the order"), (*not_judged, "not judged")];
    let rest = rest
        .iter()
        .filter(|(count, _)| *count > 0)
        .fold(String::new(), |text, (count, word)| format!("{text}, {count} {word}"));
    let than = arm.replace('_', " ");
    if preferred.rate.is_none() {
        return format!("blind: not decided against {than}{rest}");
    }
    format!("blind: better than {than} in {}{rest} (p = {p:.3})", rate(preferred))
}

fn difference(change: Difference) -> String {
    format!("{:+.2} ({:+.2} to {:+.2})", change.difference, change.low, change.high)
}
