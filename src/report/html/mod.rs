//! One HTML file: an overview, a matrix, and each case with its timeline, its transcript and its findings in context.
//!
//! Nothing is loaded, and without scripts everything can still be read. A content security policy lets our one script
//! run and no other, so that even markup that slipped through would be dead.

mod case;
mod matrix;
mod timeline;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use super::context::Context;
use super::numbers::{counted, grouped};
use super::run_report::RunReport;
use crate::printable::printable;
use crate::run::{RunFinished, Status};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The report of a run.
pub(super) fn render(whole: &RunReport, context: &Context) -> String {
    let mut budget = case::Budget::default();
    // Failures first, so that what matters is never what does not fit.
    let mut order: Vec<usize> = (0..whole.cases.len()).collect();
    order.sort_by_key(|index| rank(whole.cases[*index].status));
    let cases: Vec<Markup> = order
        .iter()
        .enumerate()
        .map(|(place, index)| case::render(&whole.cases[*index], *index, place, context, &mut budget))
        .collect();
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        base64(&Sha256::digest(SCRIPT))
    );
    let (state, title) = verdict(&whole.finished);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · clawgate" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#cases" { "Skip to the cases" }
                header.top {
                    div.brand { span.logo aria-hidden="true" { "◆" } " clawgate" }
                    button.theme type="button" hidden aria-label="Switch between light and dark" { "◐" }
                }
                main {
                    (hero(whole, state, &title))
                    (matrix::groups(whole))
                    (matrix::clauses(whole, context))
                    section.cases aria-labelledby="cases" {
                        h2 #cases { "Cases" }
                        (filters(whole))
                        @for case in &cases { (case) }
                        p.none hidden { "No case is like that." }
                    }
                }
                footer {
                    p { "Made by clawgate " (whole.started.clawgate) ". Keys: "
                        kbd { "/" } " search, " kbd { "j" } " " kbd { "k" } " next and previous case, "
                        kbd { "Enter" } " open, " kbd { "n" } " next failure." }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// Text from outside with everything that is hidden made visible; escaping is the page's business.
fn shown(text: impl ToString) -> String {
    printable(&text.to_string()).into_owned()
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

fn hero(whole: &RunReport, state: &str, title: &str) -> Markup {
    let finished = &whole.finished;
    let plan = &whole.started.plan;
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
                @for (i, target) in whole.targets().iter().enumerate() {
                    @if i > 0 { ", " }
                    b { (shown(target)) }
                }
                " · " (format!("{:.1} s", finished.duration_ms as f64 / 1000.0))
                @if !whole.started.started_at.is_empty() { " · " (moment(&whole.started.started_at)) }
                @if plan.of > 1 { " · part " (plan.shard) " of " (plan.of) }
                " · exit code " (finished.exit_code)
            }
            div.bar role="img" aria-label=(whole.headline()) {
                @for (class, _, count) in counts {
                    @if count > 0 { span class=(class) style={ "flex-grow:" (count) } {} }
                }
            }
            ul.counts {
                @for (class, word, count) in counts {
                    li class=(class) { b { (grouped(count as i64)) } " " (word) }
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

fn filters(whole: &RunReport) -> Markup {
    let finished = &whole.finished;
    let choices = [
        ("all", "All", whole.cases.len()),
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
            @if whole.started.targets.len() > 1 {
                label.script hidden { span.hidden { "Target" }
                    select name="target" {
                        option value="" { "all targets" }
                        @for info in &whole.started.targets { option { (shown(&info.target)) } }
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

/// Base64, for the digest in the content security policy.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().chain([&0, &0]).take(3).fold(0_u32, |group, byte| group << 8 | u32::from(*byte));
        for position in 0..4 {
            let letter = LETTERS[(group >> (18 - 6 * position) & 63) as usize];
            text.push(if position > chunk.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_is_padded() {
        let texts = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (plain, encoded) in texts {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
    }
}
