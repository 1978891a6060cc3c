//! How evaluations of a skill came out over time, as a chart and as a badge.

use maud::{Markup, html};
use serde_json::Value;

use super::super::html::shown;
use crate::eval::{Report, ReportStatus, Stamp, Store};

/// Evaluations in the chart.
const MOST: usize = 30;

/// What an evaluation came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) iteration: u64,
    pub(crate) rate: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) cost_usd: Option<f64>,
}

/// The evaluations that may be compared with one of this stamp, oldest first.
pub(crate) fn points(store: &Store, stamp: &Stamp) -> Vec<Point> {
    let history = store.history();
    let comparable = |entry: &&Value| {
        let earlier = serde_json::from_value(entry["stamp"].clone()).ok();
        earlier.is_some_and(|earlier| stamp.differs(&earlier).is_none())
    };
    let point = |entry: &Value| {
        let with = &entry["with_skill"];
        Some(Point {
            iteration: entry["iteration"].as_u64()?,
            rate: with["rate"].as_f64()?,
            low: with["low"].as_f64()?,
            high: with["high"].as_f64()?,
            cost_usd: entry["cost_usd"].as_f64(),
        })
    };
    let mut points: Vec<Point> = history.iter().filter(comparable).filter_map(point).collect();
    points.drain(..points.len().saturating_sub(MOST));
    points
}

/// The pass rates with their intervals; nothing for less than two.
pub(super) fn chart(points: &[Point]) -> Markup {
    if points.len() < 2 {
        return html! {};
    }
    let x = |index: usize| index as f64 * 300.0 / (points.len() - 1) as f64;
    let y = |rate: f64| 46.0 - rate * 42.0;
    let place = |index: usize, rate: f64| format!("{:.1},{:.1}", x(index), y(rate));
    let line: Vec<String> =
        points.iter().enumerate().map(|(index, point)| place(index, point.rate)).collect();
    let high = points.iter().enumerate().map(|(index, point)| place(index, point.high));
    let low = points.iter().enumerate().rev().map(|(index, point)| place(index, point.low));
    let band: Vec<String> = high.chain(low).collect();
    let words: Vec<String> =
        points.iter().map(|point| format!("{}: {:.0} %", point.iteration, point.rate * 100.0)).collect();
    html! {
        svg.trend viewBox="0 0 300 50" preserveAspectRatio="none" role="img" aria-label={ "Pass rates by iteration. " (words.join(", ")) } {
            polygon.band points=(band.join(" ")) {}
            polyline points=(line.join(" ")) {}
        }
        p.quiet { small { "trend: " (words.join(" · ")) } }
    }
}

/// A badge as an SVG picture, for a README: `skill NAME | 95 %`.
pub(super) fn badge(report: &Report) -> String {
    let rate = report.measured.overall.with_skill.pass_rate;
    let (words, colour) = match (report.conclusion.status, rate.rate) {
        (ReportStatus::Pass, Some(part)) => {
            (format!("{:.0} % of {}", part * 100.0, rate.measured), "#0b7a43")
        }
        (ReportStatus::Fail, Some(part)) => {
            (format!("{:.0} % of {}", part * 100.0, rate.measured), "#c01f34")
        }
        (ReportStatus::Pass, None) => ("pass".to_owned(), "#0b7a43"),
        (ReportStatus::Fail, None) => ("fail".to_owned(), "#c01f34"),
        _ => ("not measured".to_owned(), "#5c6577"),
    };
    let name: String = shown(&report.subject.skill).chars().take(40).collect();
    // Verdana's letters are about seven wide at this size; the text is fitted to the room anyway.
    let width = |text: &str| text.chars().count() as u32 * 7 + 12;
    let (left, right) = (width(&name), width(&words));
    let all = left + right;
    let text = |x: u32, room: u32, text: &str| {
        html! { text x=(x + room / 2) y="14" textLength=(room - 12) lengthAdjust="spacingAndGlyphs" { (text) } }
    };
    let picture = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(all) height="20" role="img" aria-label={ (name) ": " (words) } {
            title { (name) ": " (words) }
            rect width=(left) height="20" fill="#333a46" {}
            rect x=(left) width=(right) height="20" fill=(colour) {}
            g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" {
                (text(0, left, &name)) (text(left, right, &words))
            }
        }
    };
    picture.into_string()
}
