//! The report of an evaluation as one HTML file, with the trials of each case side by side.

use std::io;

use maud::{Markup, html};

use super::super::document;
use super::super::html::{listed, shown};
use super::{difference, rate};
use crate::eval::assertion::Answer;
use crate::eval::{Iteration, Outcome, Report, ReportStatus, Series, Status, Trial};
use crate::text::Masker;

/// Trials shown of each case; the rest are in their directories.
const MOST_TRIALS: u32 = 50;

/// Writes `report.html` into the iteration.
pub(crate) fn write_page(iteration: &Iteration, report: &Report, plan: &[Series<'_>]) -> io::Result<()> {
    let status = format!("{:?}", report.conclusion.status).to_lowercase();
    let title = format!("{}: {status}", shown(&report.subject.skill));
    let tone = if report.conclusion.status == ReportStatus::Pass { "good" } else { "bad" };
    let stamp = &report.subject.stamp;
    let model = stamp.model.as_deref().unwrap_or("the target's model");
    let head = html! {
        section class={ "hero " (tone) } {
            h1 { (title) }
            p.facts { (shown(&format!("{} {} · {model}", stamp.target, stamp.version))) }
        }
        @for (heading, lines) in [("Failures", &report.conclusion.failures), ("To know", &report.conclusion.warnings)] {
            @if !lines.is_empty() {
                h2 { (heading) }
                ul { @for line in lines { li { (shown(line)) } } }
            }
        }
        (cases(report))
        h2 { "Trials" }
    };
    let list = html! { @for series in plan { (trials(iteration, series)) } };
    let page = listed(&title, "a case, an assertion, a reason…", &head, &list);
    document::write(&iteration.folder.join("report.html"), &Masker::default().mask(&page))
}

fn cases(report: &Report) -> Markup {
    html! {
        h2 { "Cases" }
        div.scroll { table {
            thead { tr { @for head in ["case", "with the skill", "without", "difference"] { th { (head) } } } }
            tbody { @for case in &report.measured.cases {
                @let compared = &case.comparison;
                tr {
                    td { (shown(&case.case)) }
                    td { (rate(&compared.with_skill.pass_rate)) }
                    td { (compared.without_skill.as_ref().map_or("–".into(), |arm| rate(&arm.pass_rate))) }
                    td { (compared.delta.map_or("–".into(), difference)) }
                }
            } }
        } }
        @if let Some(triggers) = &report.measured.triggers {
            p { "Triggers: precision " (rate(&triggers.precision)) ", recall " (rate(&triggers.recall)) }
        }
    }
}

fn trials(iteration: &Iteration, series: &Series<'_>) -> Markup {
    let ids = series.ids().take(MOST_TRIALS as usize);
    let trials: Vec<Trial> = ids.filter_map(|id| iteration.finished(&id, series.case.kind)).collect();
    html! {
        @if !trials.is_empty() { section.trial-set data-item="" tabindex="-1" {
            h2 { (shown(&series.case.id)) " · " (series.arm.name().replace('_', " ")) }
            p.quiet { (shown(series.prompt())) }
            div.scroll { table.trials {
                thead { tr { @for trial in &trials { th { (trial.id.trial) } } } }
                tbody { tr { @for trial in &trials { (cell(trial)) } } }
            } }
            @if series.trials > MOST_TRIALS { p.quiet { "and " (series.trials - MOST_TRIALS) " more" } }
        } }
    }
}

fn cell(trial: &Trial) -> Markup {
    let (class, word) = match trial.status {
        Status::Pass => ("pass", "pass"),
        Status::Fail => ("fail", "FAIL"),
        Status::NotMeasured => ("skipped", "not measured"),
    };
    let checks = trial.assertions.iter().map(|checked| {
        let passed = match checked.status {
            Answer::Pass => Some(true),
            Answer::Fail => Some(false),
            Answer::Unchecked => None,
        };
        (passed, &checked.text, &checked.message)
    });
    let judged = trial.expectations.iter().map(|judged| (judged.passed, &judged.text, &judged.evidence));
    let mark = |passed| match passed {
        Some(true) => "✓",
        Some(false) => "✗",
        None => "?",
    };
    let usage = &trial.usage;
    html! {
        td class=(class) {
            b { (word) } " " small { (trial.verdict.as_ref().map_or(String::new(), |verdict| shown(&Outcome::named(verdict)))) }
            @if let Some(reason) = &trial.reason { br; (shown(reason)) }
            @for (passed, what, found) in checks.chain(judged) {
                br; small { (mark(passed)) " " (shown(what)) ": " (shown(found)) }
            }
            br; small {
                (format!("{:.1} s · {} tokens · ${:.4} · {} attempts", usage.seconds, usage.tokens(), usage.cost_usd, trial.attempts.len()))
            }
        }
    }
}
