//! Evaluations: for people on a terminal and in a browser, and as a run for the reports of CI systems.

mod as_run;
mod html;
mod text;

use crate::eval::statistics::{Difference, Rate};

pub(crate) use as_run::{Evaluated, evaluations};
pub(crate) use html::write_page as write_evaluation_page;
pub(crate) use text::EvaluationText;

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

fn difference(change: Difference) -> String {
    format!("{:+.2} ({:+.2} to {:+.2})", change.difference, change.low, change.high)
}
