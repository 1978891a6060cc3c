//! A timeline for the terminal.

use std::io::{self, Write};

use crate::schema::Level;
use crate::time::{Millis, date, span, time_of_day};

use super::super::numbers::counted;
use super::super::style::{BAD, CAUTION, FAINT, GOOD, NAME};
use super::{Entry, EntryKind, Lane, Measure, Timeline};
use crate::text::printable;

/// Writes the timeline of a log.
pub(crate) fn write_text(out: &mut dyn Write, input: &str, timeline: &Timeline) -> io::Result<()> {
    let lasted = timeline.span().map(|(from, to)| format!(", {}", span(to.saturating_sub(from))));
    writeln!(
        out,
        "{NAME}{}{NAME:#}: {}, {}{}",
        printable(input),
        counted(timeline.sessions(), "session", "sessions"),
        counted(timeline.lanes.len() as u64 + timeline.more_lanes, "life", "lives"),
        lasted.unwrap_or_default()
    )?;
    measures(out, timeline)?;
    for (clause, count, first) in timeline.broken() {
        let times = counted(count, "time", "times");
        writeln!(out, "  {BAD}must{BAD:#} {NAME}{clause}{NAME:#} is broken {times}, first on line {first}")?;
    }
    for session in 1..=timeline.sessions() {
        let tree = timeline.tree(session);
        let Some((from, _)) = tree.iter().filter_map(|(_, lane)| lane.span).min() else { continue };
        writeln!(
            out,
            "\n{NAME}session {session}{NAME:#}  {FAINT}{} {} UTC{FAINT:#}",
            date(from),
            time_of_day(from)
        )?;
        for (depth, lane) in tree {
            write_lane(out, depth, lane)?;
        }
    }
    if timeline.more_lanes > 0 {
        writeln!(out, "{FAINT}and {} more lives{FAINT:#}", timeline.more_lanes)?;
    }
    if !timeline.loose.is_empty() {
        writeln!(out, "\n{NAME}about the log{NAME:#}")?;
        for entry in &timeline.loose {
            write_entry(out, "  ", entry)?;
        }
    }
    Ok(())
}

fn measures(out: &mut dyn Write, timeline: &Timeline) -> io::Result<()> {
    let mut one = |title: &str, measure: &Measure, what: &str| match measure.mean() {
        Some(mean) => writeln!(
            out,
            "  {title:<22} {} {FAINT}(longest {}, {} {what}){FAINT:#}",
            span(mean),
            span(measure.longest),
            measure.count
        ),
        None => writeln!(out, "  {title:<22} {FAINT}none{FAINT:#}"),
    };
    one("mean time to recover", &timeline.recovery, "recoveries")?;
    one("mean heartbeat gap", &timeline.heartbeats, "gaps")?;
    one("mean answer time", &timeline.answers, "answers")?;
    if timeline.unanswered > 0 {
        let open = counted(timeline.unanswered, "request", "requests");
        writeln!(out, "  {:<22} {CAUTION}{open}{CAUTION:#}", "unanswered")?;
    }
    Ok(())
}

fn write_lane(out: &mut dyn Write, depth: usize, lane: &Lane) -> io::Result<()> {
    // A tree of a thousand levels is still read on a screen.
    let indent = "  ".repeat(depth.min(12) + 1);
    let branch = if depth > 0 { "└ " } else { "" };
    let mission =
        if lane.mission.is_empty() { String::new() } else { format!(" “{}”", printable(&lane.mission)) };
    let end = lane.end.as_deref().unwrap_or("no end in this log");
    writeln!(
        out,
        "{indent}{branch}{NAME}{}{NAME:#} {} {FAINT}{}{mission} · {}{FAINT:#}",
        printable(&lane.peer),
        printable(&lane.name),
        printable(&lane.role),
        printable(end)
    )?;
    let indent = format!("{indent}{}", if depth > 0 { "    " } else { "  " });
    for entry in &lane.entries {
        write_entry(out, &indent, entry)?;
    }
    if lane.more > 0 {
        writeln!(out, "{indent}{FAINT}and {} more{FAINT:#}", lane.more)?;
    }
    Ok(())
}

fn write_entry(out: &mut dyn Write, indent: &str, entry: &Entry) -> io::Result<()> {
    let at = entry.time.map_or_else(|| " ".repeat(12), time_of_day);
    let lasted = |until: Option<Millis>| {
        let (from, until) = entry.time.zip(until)?;
        Some(format!("  {FAINT}{}{FAINT:#}", span(until.saturating_sub(from))))
    };
    let text = printable(&entry.text);
    let length = lasted(entry.until).unwrap_or_default();
    match entry.kind {
        EntryKind::Phase(_) => writeln!(out, "{indent}{at}  {GOOD}{text}{GOOD:#}{length}"),
        EntryKind::Request if entry.until.is_none() => {
            writeln!(out, "{indent}{at}  {text}  {CAUTION}unanswered{CAUTION:#}")
        }
        EntryKind::Silence => writeln!(out, "{indent}{at}  {CAUTION}silence{CAUTION:#}: {text}{length}"),
        EntryKind::Finding(level) => {
            let style = if level == Level::Must { BAD } else { CAUTION };
            writeln!(
                out,
                "{indent}{at}  {style}{}{style:#} {text} {FAINT}line {}{FAINT:#}",
                level.name(),
                entry.line
            )
        }
        EntryKind::Command => writeln!(out, "{indent}{at}  ← {text}"),
        _ => writeln!(out, "{indent}{at}  {text}{length}"),
    }
}
