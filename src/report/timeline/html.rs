//! A timeline as one HTML file: no script, nothing loaded, every text of the log escaped.

use std::io::{self, Write};

use crate::events::Phase;
use crate::schema::Level;
use crate::time::{Millis, date, span, time_of_day};

use super::{Entry, EntryKind, Lane, Measure, Timeline};

const STYLE: &str = "
:root{color-scheme:light dark;font:14px/1.45 system-ui,sans-serif}
body{margin:2rem;max-width:110rem}
h1{font-size:1.3rem}h2{font-size:1.05rem;margin-top:2rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}dt{opacity:.7}dd{margin:0}
.lane{margin:.6rem 0 1rem}.who{margin-bottom:.2rem}.who b{font-family:ui-monospace,monospace}.faint{opacity:.65}
.track{position:relative;height:2.2rem;background:#8882;border-radius:4px;overflow:hidden}
.track>*{position:absolute;top:0;height:100%;min-width:2px;overflow:hidden;white-space:nowrap;font-size:11px}
.phase{padding-left:3px;color:#fff;line-height:1.3rem;height:60%!important}
.request{top:62%!important;height:20%!important;background:#2979ff}.request.open{background:repeating-linear-gradient(45deg,#e65100 0 6px,#ffb74d 6px 12px)}
.silence{top:84%!important;height:16%!important;background:#d50000}
.mark{width:3px}.must{background:#d50000}.should{background:#ff9100}.other{background:#9e9e9e}
.PLAN{background:#5c6bc0}.SPAWN{background:#7e57c2}.DEPLOY{background:#26a69a}.OBSERVE{background:#42a5f5}.RECOVER{background:#ef6c00}.HARVEST{background:#66bb6a}.CLEANUP{background:#8d6e63}.REFLECT{background:#78909c}.FAILED{background:#c62828}
table{border-collapse:collapse;margin-top:.3rem}td{padding:.05rem .7rem .05rem 0;vertical-align:top}td:first-child,td:nth-child(2){font-family:ui-monospace,monospace;white-space:nowrap}
summary{cursor:pointer}
";

/// Writes the timeline of a log as an HTML document.
pub(crate) fn write_html(out: &mut dyn Write, input: &str, timeline: &Timeline) -> io::Result<()> {
    let title = escape(input);
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title><style>{STYLE}</style></head>\
         <body><h1>{title}</h1>\n<dl>"
    )?;
    let lasted = timeline.span().map(|(from, to)| span(to.saturating_sub(from))).unwrap_or_default();
    row(out, "sessions", &timeline.sessions().to_string())?;
    row(out, "lives", &(timeline.lanes.len() as u64 + timeline.more_lanes).to_string())?;
    row(out, "duration", &lasted)?;
    row(out, "mean time to recover", &measured(&timeline.recovery))?;
    row(out, "mean heartbeat gap", &measured(&timeline.heartbeats))?;
    row(out, "mean answer time", &measured(&timeline.answers))?;
    row(out, "unanswered requests", &timeline.unanswered.to_string())?;
    writeln!(out, "</dl>")?;
    for session in 1..=timeline.sessions() {
        let tree = timeline.tree(session);
        let spans: Vec<_> = tree.iter().filter_map(|(_, lane)| lane.span).collect();
        let Some(from) = spans.iter().map(|(from, _)| *from).min() else { continue };
        let to = spans.iter().map(|(_, to)| *to).max().unwrap_or(from);
        writeln!(
            out,
            "<h2>Session {session} <span class=\"faint\">{} {} UTC, {}</span></h2>",
            date(from),
            time_of_day(from),
            span(to.saturating_sub(from))
        )?;
        for (depth, lane) in tree {
            write_lane(out, depth, lane, Scale { from, to })?;
        }
    }
    if timeline.more_lanes > 0 {
        writeln!(out, "<p>and {} more lives</p>", timeline.more_lanes)?;
    }
    if !timeline.loose.is_empty() {
        writeln!(out, "<h2>About the log</h2>")?;
        table(out, &timeline.loose)?;
    }
    writeln!(out, "</body></html>")
}

/// The stretch of time that the width of the page stands for.
#[derive(Clone, Copy)]
struct Scale {
    from: Millis,
    to: Millis,
}

impl Scale {
    /// Where a moment is, in per cent.
    fn at(self, time: Millis) -> f64 {
        let whole = self.to.saturating_sub(self.from).max(1) as f64;
        (time.saturating_sub(self.from) as f64 / whole * 100.0).clamp(0.0, 100.0)
    }
}

fn row(out: &mut dyn Write, title: &str, value: &str) -> io::Result<()> {
    write!(out, "<dt>{title}</dt><dd>{}</dd>", escape(value))
}

fn measured(measure: &Measure) -> String {
    match measure.mean() {
        Some(mean) => format!("{} (longest {}, {} in all)", span(mean), span(measure.longest), measure.count),
        None => "none".into(),
    }
}

fn write_lane(out: &mut dyn Write, depth: usize, lane: &Lane, scale: Scale) -> io::Result<()> {
    let mission =
        if lane.mission.is_empty() { String::new() } else { format!(" “{}”", escape(&lane.mission)) };
    write!(
        out,
        "<div class=\"lane\" style=\"margin-left:{}rem\"><div class=\"who\"><b>{}</b> {} \
         <span class=\"faint\">{}{mission} · {}</span></div><div class=\"track\">",
        depth.min(12) * 2,
        escape(&lane.peer),
        escape(&lane.name),
        escape(&lane.role),
        escape(lane.end.as_deref().unwrap_or("no end in this log")),
    )?;
    for entry in &lane.entries {
        bar(out, entry, scale)?;
    }
    write!(out, "</div><details><summary class=\"faint\">{} entries</summary>", lane.entries.len())?;
    table(out, &lane.entries)?;
    if lane.more > 0 {
        write!(out, "<p class=\"faint\">and {} more</p>", lane.more)?;
    }
    writeln!(out, "</details></div>")
}

fn bar(out: &mut dyn Write, entry: &Entry, scale: Scale) -> io::Result<()> {
    let Some(time) = entry.time else { return Ok(()) };
    let left = scale.at(time);
    let width = (scale.at(entry.until.unwrap_or(scale.to)) - left).max(0.0);
    let (class, label, width) = match entry.kind {
        EntryKind::Phase(phase) => (phase_class(phase), entry.text.as_str(), Some(width)),
        EntryKind::Request if entry.until.is_none() => ("request open", "", Some(width)),
        EntryKind::Request => ("request", "", Some(width)),
        EntryKind::Silence => ("silence", "", Some(width)),
        EntryKind::Finding(Level::Must) => ("mark must", "", None),
        EntryKind::Finding(Level::Should) => ("mark should", "", None),
        EntryKind::Finding(_) => ("mark other", "", None),
        _ => return Ok(()),
    };
    let width = width.map(|width| format!(";width:{width:.3}%")).unwrap_or_default();
    write!(
        out,
        "<span class=\"{class}\" style=\"left:{left:.3}%{width}\" title=\"{}\">{}</span>",
        escape(&format!("{} {}", time_of_day(time), entry.text)),
        escape(label)
    )
}

fn phase_class(phase: Phase) -> &'static str {
    match phase {
        Phase::Plan => "phase PLAN",
        Phase::Spawn => "phase SPAWN",
        Phase::Deploy => "phase DEPLOY",
        Phase::Observe => "phase OBSERVE",
        Phase::Recover => "phase RECOVER",
        Phase::Harvest => "phase HARVEST",
        Phase::Cleanup => "phase CLEANUP",
        Phase::Reflect => "phase REFLECT",
        Phase::Failed => "phase FAILED",
    }
}

fn table(out: &mut dyn Write, entries: &[Entry]) -> io::Result<()> {
    write!(out, "<table>")?;
    for entry in entries {
        let at = entry.time.map(time_of_day).unwrap_or_default();
        let lasted = entry.time.zip(entry.until).map(|(from, to)| span(to.saturating_sub(from)));
        let level = match entry.kind {
            EntryKind::Finding(level) => format!("{} ", level.name()),
            EntryKind::Silence => "silence ".into(),
            EntryKind::Command => "← ".into(),
            EntryKind::Request if entry.until.is_none() => "unanswered ".into(),
            _ => String::new(),
        };
        write!(
            out,
            "<tr><td>{at}</td><td>line {}</td><td>{level}{}</td><td>{}</td></tr>",
            entry.line,
            escape(&entry.text),
            lasted.unwrap_or_default()
        )?;
    }
    writeln!(out, "</table>")
}

/// Text that HTML shows as it is, with control characters and direction overrides made visible.
fn escape(text: &str) -> String {
    let text = crate::printable::printable(text);
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn nothing_of_a_log_is_markup() {
        assert_eq!(escape("<b a='1' c=\"2\">&"), "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;");
    }
}
