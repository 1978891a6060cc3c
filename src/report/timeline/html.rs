//! A timeline as one HTML file: nothing loaded, every text of the log escaped.

use maud::{Markup, html};

use crate::schema::Level;
use crate::time::{Millis, date, span, time_of_day};

use super::super::html::{listed, shown};
use super::super::numbers::counted;
use super::{Entry, EntryKind, Lane, Measure, Timeline};

/// The timeline of a log as an HTML document.
pub(crate) fn timeline_page(input: &str, timeline: &Timeline) -> String {
    let title = shown(input);
    let lasted = timeline.span().map(|(from, to)| span(to.saturating_sub(from))).unwrap_or_default();
    let facts = [
        ("sessions", timeline.sessions().to_string()),
        ("lives", (timeline.lanes.len() as u64 + timeline.more_lanes).to_string()),
        ("duration", lasted),
        ("mean time to recover", measured(&timeline.recovery)),
        ("mean heartbeat gap", measured(&timeline.heartbeats)),
        ("mean answer time", measured(&timeline.answers)),
        ("unanswered requests", timeline.unanswered.to_string()),
    ];
    let broken = timeline.broken();
    let tone = if broken.is_empty() { "good" } else { "bad" };
    let head = html! {
        section class={ "hero " (tone) } {
            h1 { (title) }
            dl { @for (name, value) in facts { dt { (name) } dd { (value) } } }
        }
        @if !broken.is_empty() {
            h2 { "Broken must clauses" }
            ul.reasons { @for (clause, count, first) in broken {
                li { span.level.must { "must" } " " b { (shown(clause)) } " "
                    span.quiet { (counted(count, "time", "times")) ", first on line " (first) } " "
                    code { "clawgate explain " (shown(clause)) } }
            } }
        }
    };
    let list = html! {
        div.log {
            @for number in 1..=timeline.sessions() { (session(timeline, number)) }
            @if timeline.more_lanes > 0 { p { "and " (timeline.more_lanes) " more lives" } }
            @if !timeline.loose.is_empty() {
                h2 { "About the log" }
                (table(&timeline.loose))
            }
        }
    };
    listed(&title, "a worker, a phase, a clause…", &head, &list)
}

fn measured(measure: &Measure) -> String {
    match measure.mean() {
        Some(mean) => format!("{} (longest {}, {} in all)", span(mean), span(measure.longest), measure.count),
        None => "none".into(),
    }
}

fn session(timeline: &Timeline, number: u64) -> Markup {
    let tree = timeline.tree(number);
    let spans = tree.iter().filter_map(|(_, lane)| lane.span);
    let scale = spans.reduce(|(from, to), (start, end)| (from.min(start), to.max(end)));
    let Some((from, to)) = scale else { return Markup::default() };
    html! {
        h2 { "Session " (number) " "
            span.quiet { (date(from)) " " (time_of_day(from)) " UTC, " (span(to.saturating_sub(from))) } }
        @for (depth, lane) in tree { (life(depth, lane, &Scale { from, to })) }
    }
}

/// The stretch of time that the width of the page stands for.
struct Scale {
    from: Millis,
    to: Millis,
}

impl Scale {
    /// Where a moment is, in per cent.
    fn at(&self, time: Millis) -> f64 {
        let whole = self.to.saturating_sub(self.from).max(1) as f64;
        (time.saturating_sub(self.from) as f64 / whole * 100.0).clamp(0.0, 100.0)
    }
}

fn life(depth: usize, lane: &Lane, scale: &Scale) -> Markup {
    html! {
        @let is_broken = lane.entries.iter().any(|entry| entry.kind == EntryKind::Finding(Level::Must));
        div.lane.fail[is_broken] data-item="" tabindex="-1" style={ "margin-left:" (depth.min(12) * 2) "rem" } {
            div { code { b { (shown(&lane.peer)) } } " " (shown(&lane.name)) " "
                span.quiet { (shown(&lane.role))
                    @if !lane.mission.is_empty() { " “" (shown(&lane.mission)) "”" }
                    " · " (shown(lane.end.as_deref().unwrap_or("no end in this log"))) } }
            div.track { @for entry in &lane.entries { (bar(entry, scale)) } }
            details { summary.quiet { (lane.entries.len()) (if lane.entries.len() == 1 { " entry" } else { " entries" }) }
                (table(&lane.entries))
                @if lane.more > 0 { p.quiet { "and " (lane.more) " more" } } }
        }
    }
}

fn bar(entry: &Entry, scale: &Scale) -> Markup {
    let Some(time) = entry.time else { return Markup::default() };
    let (class, label, lasts) = match entry.kind {
        EntryKind::Phase(phase) => (format!("phase {}", phase.name()), entry.text.as_str(), true),
        EntryKind::Request if entry.until.is_none() => ("request open".into(), "", true),
        EntryKind::Request => ("request".into(), "", true),
        EntryKind::Silence => ("silence".into(), "", true),
        EntryKind::Finding(Level::Must) => ("mark must".into(), "", false),
        EntryKind::Finding(Level::Should) => ("mark should".into(), "", false),
        EntryKind::Finding(_) => ("mark".into(), "", false),
        _ => return Markup::default(),
    };
    let left = scale.at(time);
    let width = (scale.at(entry.until.unwrap_or(scale.to)) - left).max(0.0);
    let width = if lasts { format!(";width:{width:.3}%") } else { String::new() };
    html! {
        span class=(class) style={ "left:" (format!("{left:.3}")) "%" (width) }
            title=(shown(&format!("{} {}", time_of_day(time), entry.text))) { (shown(label)) }
    }
}

fn table(entries: &[Entry]) -> Markup {
    html! {
        table { @for entry in entries {
            tr {
                td { (entry.time.map(time_of_day).unwrap_or_default()) }
                td { "line " (entry.line) }
                td {
                    @match entry.kind {
                        EntryKind::Finding(level) => { (level.name()) " " }
                        EntryKind::Silence => "silence ",
                        EntryKind::Command => "← ",
                        EntryKind::Request if entry.until.is_none() => "unanswered ",
                        _ => {}
                    }
                    (shown(&entry.text))
                }
                td { (entry.time.zip(entry.until).map(|(from, to)| span(to.saturating_sub(from))).unwrap_or_default()) }
            }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_log_is_markup() {
        let page = timeline_page("<b a='1' c=\"2\">&\u{202e}", &Timeline::default());
        assert!(page.contains("&lt;b a='1' c=&quot;2&quot;&gt;&amp;\\u{202e}</h1>"), "{page}");
        assert!(!page.contains("<b a"));
    }
}
