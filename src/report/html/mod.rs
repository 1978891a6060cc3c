//! One HTML file: an overview, a matrix, and each case with its timeline, its transcript and its findings in context.
//!
//! Nothing is loaded, and without scripts everything can still be read. A content security policy lets our one script
//! run and no other, so that even markup that slipped through would be dead.

mod case;
mod matrix;
mod page;
mod timeline;

use maud::{Markup, html};

use page::page;
pub(super) use page::{around, listed, shown};

/// What the report of an evaluation does in a browser: filters, keys and notes.
pub(super) const EVALUATION: &str = include_str!("eval.js");

use super::context::Context;
use super::numbers::{counted, grouped};
use super::run_report::RunReport;
use crate::run::{RunFinished, Status};

const SCRIPT: &str = include_str!("script.js");

/// The report of a run.
pub(super) fn render(run: &RunReport, context: &Context) -> String {
    let mut budget = case::Budget::default();
    // Failures first, so that what matters is never what does not fit.
    let mut order: Vec<usize> = (0..run.cases.len()).collect();
    order.sort_by_key(|index| rank(run.cases[*index].status));
    let cases: Vec<Markup> = order
        .iter()
        .enumerate()
        .map(|(place, index)| case::render(&run.cases[*index], *index, place, context, &mut budget))
        .collect();
    let (state, title) = verdict(&run.finished);
    let body = html! {
                a.skip href="#cases" { "Skip to the cases" }
                header.top {
                    div.brand { span.logo aria-hidden="true" { "◆" } " clawgate" }
                    button.theme type="button" hidden aria-label="Switch between light and dark" { "◐" }
                }
                main {
                    (hero(run, state, &title))
                    (matrix::groups(run))
                    (matrix::clauses(run, context))
                    section.cases aria-labelledby="cases" {
                        h2 #cases { "Cases" }
                        (filters(run))
                        @for case in &cases { (case) }
                        p.none hidden { "No case is like that." }
                    }
                }
                footer {
                    p { "Made by clawgate " (run.started.clawgate) ". Keys: "
                        kbd { "/" } " search, " kbd { "j" } " " kbd { "k" } " next and previous case, "
                        kbd { "Enter" } " open, " kbd { "n" } " next failure." }
                }
    };
    page(&title, Some(SCRIPT), &body)
}

fn rank(status: Status) -> u8 {
    match status {
        Status::Fail => 0,
        Status::Flaky => 1,
        Status::Pass => 2,
        Status::Skipped => 3,
    }
}

fn verdict(finished: &RunFinished) -> (&'static str, String) {
    let count = |count: usize| counted(count as u64, "case", "cases");
    if finished.interrupted {
        ("bad", "Interrupted".to_owned())
    } else if finished.failed > 0 {
        ("bad", format!("{} failed", count(finished.failed)))
    } else if let stale @ 1.. = finished.failing_entries().count() {
        ("bad", counted(stale as u64, "stale known failure", "stale known failures"))
    } else if finished.passed + finished.flaky == 0 {
        ("warn", "Nothing was run".to_owned())
    } else if finished.flaky > 0 {
        ("warn", format!("All passed, {} flaky", finished.flaky))
    } else if finished.passed == 1 {
        ("good", "1 case passed".to_owned())
    } else {
        ("good", format!("All {} passed", count(finished.passed)))
    }
}

fn hero(run: &RunReport, state: &str, title: &str) -> Markup {
    let finished = &run.finished;
    let plan = &run.started.plan;
    let counts = [
        ("fail", "failed", finished.failed),
        ("flaky", "flaky", finished.flaky),
        ("pass", "passed", finished.passed),
        ("skipped", "skipped", finished.skipped),
    ];
    html! {
        section class={ "hero " (state) } {
            h1 { (title) }
            p.facts {
                @for (i, target) in run.targets().iter().enumerate() {
                    @if i > 0 { ", " }
                    b { (shown(target)) }
                }
                " · " (format!("{:.1} s", finished.duration_ms as f64 / 1000.0))
                @if !run.started.started_at.is_empty() { " · " (moment(&run.started.started_at)) }
                @if plan.of > 1 { " · part " (plan.shard) " of " (plan.of) }
                " · exit code " (finished.exit_code)
            }
            div.bar role="img" aria-label=(run.headline()) {
                @for (class, _, count) in counts {
                    @if count > 0 { span class=(class) style={ "flex-grow:" (count) } {} }
                }
            }
            @if let Some(note) = finished.isolation_note() { p.isolation { "Note: " (shown(&note)) "." } }
            @for entry in finished.failing_entries() {
                p.stale { code { (shown(&entry.file)) ":" (entry.line) } " " (shown(&entry.message)) }
            }
            ul.counts {
                @for (class, word, count) in counts {
                    li class=(class) { b { (grouped(count as i64)) } " " (word)
                        @if class == "pass" && finished.known > 0 { ", " (grouped(finished.known as i64)) " with known failures" } }
                }
            }
        }
    }
}

/// A time as people read it.
fn moment(time: &str) -> Markup {
    let date = time.get(..10).filter(|_| time.ends_with('Z') && time.as_bytes().get(10) == Some(&b'T'));
    html! {
        time datetime=(shown(time)) {
            @match (date, time.get(11..16)) {
                (Some(date), Some(clock)) => { (shown(date)) " " (shown(clock)) " UTC" }
                _ => { (shown(time)) }
            }
        }
    }
}

fn filters(run: &RunReport) -> Markup {
    let finished = &run.finished;
    let choices = [
        ("all", "All", run.cases.len()),
        ("fail", "Failed", finished.failed),
        ("flaky", "Flaky", finished.flaky),
        ("pass", "Passed", finished.passed),
        ("skipped", "Skipped", finished.skipped),
    ];
    html! {
        form.filters {
            fieldset.status {
                legend.hidden { "Status" }
                @for (value, word, count) in choices {
                    input type="radio" name="status" id={ "show-" (value) } value=(value)
                        checked[value == "all"] disabled[count == 0];
                    label for={ "show-" (value) } class=(value) { (word) " " small { (grouped(count as i64)) } }
                }
            }
            @if run.started.targets.len() > 1 {
                label.script hidden { span.hidden { "Target" }
                    select name="target" {
                        option value="" { "all targets" }
                        @for info in &run.started.targets { option { (shown(&info.target)) } }
                    }
                }
            }
            label.script.search hidden { span.hidden { "Search" }
                input type="search" name="text" placeholder="Search: a case, a verdict, a clause…  /" autocomplete="off";
            }
            button.script.expand type="button" hidden { "Open all shown" }
            output.script hidden aria-live="polite" {}
        }
    }
}
