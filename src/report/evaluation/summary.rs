//! An evaluation in a page of Markdown, for the text of a pull request: rates, differences and cost.

use std::fmt::Write as _;

use super::trend::Point;
use super::{blind, difference, rate};
use crate::eval::{Report, ReportStatus};
use crate::text::printable;

/// Failures and warnings that are listed.
const MOST_LINES: usize = 10;

/// The summary.
pub(super) fn markdown(report: &Report, trend: &[Point]) -> String {
    let (sign, word) = match report.conclusion.status {
        ReportStatus::Pass => ("✅", "pass"),
        ReportStatus::Fail => ("❌", "fail"),
        ReportStatus::Invalid => ("⚠️", "invalid: a control came out wrong"),
        ReportStatus::Incomplete => ("⚠️", "too little was measured"),
        ReportStatus::Interrupted => ("⚠️", "interrupted"),
    };
    let (stamp, measured) = (&report.subject.stamp, &report.measured);
    let mut text = String::new();
    // Writing to a string cannot fail.
    _ = writeln!(text, "### {sign} {}: {word}\n", plain(&report.subject.skill));
    let arms: Vec<&str> = measured.overall.cells().map(|cell| cell.arm).collect();
    let heads: Vec<String> = arms.iter().map(|arm| plain(&arm.replace('_', " "))).collect();
    _ = writeln!(text, "| case | {} | median cost | median time |", heads.join(" | "));
    _ = writeln!(text, "|---|{}---|---|", "---|".repeat(heads.len()));
    let all = (measured.cases.len() > 1).then_some(("**all**".to_owned(), &measured.overall));
    let cases = measured.cases.iter().map(|case| (plain(&case.case), &case.comparison));
    for (name, comparison) in cases.chain(all) {
        let fields: Vec<String> = arms
            .iter()
            .map(|arm| match comparison.cells().find(|cell| cell.arm == *arm) {
                Some(cell) => {
                    let delta =
                        cell.delta.map_or(String::new(), |delta| format!("<br>Δ {}", difference(delta)));
                    format!("{}{delta}", rate(&cell.report.pass_rate))
                }
                None => "–".to_owned(),
            })
            .collect();
        let with = &comparison.with_skill;
        let cost = with.median_cost_usd.map_or("–".into(), |cost| format!("${cost:.4}"));
        let time = with.median_seconds.map_or("–".into(), |seconds| format!("{seconds:.1} s"));
        _ = writeln!(text, "| {name} | {} | {cost} | {time} |", fields.join(" | "));
    }
    if let Some(triggers) = &measured.triggers {
        _ = writeln!(
            text,
            "\nTriggers: precision {}, recall {}.",
            rate(&triggers.precision),
            rate(&triggers.recall)
        );
    }
    for (arm, found) in &measured.blind {
        _ = writeln!(text, "\n{}.", plain(&blind(arm, found)));
    }
    if let Some(baseline) = &report.conclusion.baseline
        && let Some(change) = baseline.change
    {
        let word = if baseline.regression { "worse beyond chance" } else { "no regression" };
        _ = writeln!(text, "\nAgainst {}: {} ({word}).", plain(&baseline.iteration), difference(change));
    }
    if trend.len() > 1 {
        let rates: Vec<String> = trend.iter().map(|point| format!("{:.0} %", point.rate * 100.0)).collect();
        _ = writeln!(text, "\nTrend: {}.", rates.join(" → "));
    }
    for (heading, lines) in
        [("Failures", &report.conclusion.failures), ("To know", &report.conclusion.warnings)]
    {
        if lines.is_empty() {
            continue;
        }
        _ = writeln!(text, "\n{heading}:\n");
        for line in lines.iter().take(MOST_LINES) {
            _ = writeln!(text, "- {}", plain(line));
        }
        if lines.len() > MOST_LINES {
            _ = writeln!(text, "- and {} more", lines.len() - MOST_LINES);
        }
    }
    let earlier = trend.iter().rev().nth(1).and_then(|point| point.cost_usd);
    let change = earlier
        .map_or(String::new(), |cost| format!(" ({:+.4} against the last)", measured.spent.cost_usd - cost));
    _ = writeln!(
        text,
        "\n<sub>{} {} · {} · ${:.4}{change} and {} tokens spent · iteration {}</sub>",
        plain(&stamp.target),
        plain(&stamp.version),
        plain(stamp.model.as_deref().unwrap_or("the target's model")),
        measured.spent.cost_usd,
        measured.spent.tokens(),
        report.subject.number
    );
    let conditions =
        stamp.conditions.iter().map(|condition| format!("{}: {}", condition.name, condition.value));
    let conditions: Vec<String> = conditions.map(|condition| plain(&condition)).collect();
    if !conditions.is_empty() {
        _ = writeln!(text, "\n<sub>{}</sub>", conditions.join(" · "));
    }
    text
}

/// A text of the user or the target as text, whatever Markdown would make of it.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for c in printable(text).chars() {
        match c {
            '\n' | '\r' => plain.push(' '),
            '<' => plain.push_str("&lt;"),
            '>' => plain.push_str("&gt;"),
            '&' => plain.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' | '@' => {
                plain.push('\\');
                plain.push(c);
            }
            c => plain.push(c),
        }
    }
    plain
}
