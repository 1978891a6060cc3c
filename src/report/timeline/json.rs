//! A timeline for programs: one object.

use serde_json::{Value, json};

use super::{Entry, EntryKind, Lane, Measure, Timeline};

/// The timeline of a log as one JSON object; `schemas/clawgate/timeline.schema.json` says what is in it.
pub(crate) fn timeline_json(input: &str, timeline: &Timeline) -> Value {
    json!({
        "schema_version": 1,
        "input": input,
        "sessions": timeline.sessions(),
        "lives": timeline.lanes.iter().map(lane).collect::<Vec<_>>(),
        "more_lives": timeline.more_lanes,
        "about_the_log": timeline.loose.iter().map(entry).collect::<Vec<_>>(),
        "recoveries": measure(&timeline.recovery),
        "heartbeat_gaps": measure(&timeline.heartbeats),
        "answers": measure(&timeline.answers),
        "unanswered": timeline.unanswered,
    })
}

fn lane(lane: &Lane) -> Value {
    json!({
        "session": lane.session,
        "peer": lane.peer,
        "name": lane.name,
        "role": lane.role,
        "parent": lane.parent,
        "mission": lane.mission,
        "first_ms": lane.span.map(|(first, _)| first),
        "last_ms": lane.span.map(|(_, last)| last),
        "end": lane.end,
        "entries": lane.entries.iter().map(entry).collect::<Vec<_>>(),
        "more": lane.more,
    })
}

fn entry(entry: &Entry) -> Value {
    let (kind, level) = match entry.kind {
        EntryKind::Phase(_) => ("phase", None),
        EntryKind::Request => ("request", None),
        EntryKind::Silence => ("silence", None),
        EntryKind::Command => ("command", None),
        EntryKind::Note => ("note", None),
        EntryKind::Milestone => ("milestone", None),
        EntryKind::Finding(level) => ("finding", Some(level.name())),
    };
    json!({
        "kind": kind,
        "level": level,
        "time_ms": entry.time,
        "until_ms": entry.until,
        "line": entry.line,
        "text": entry.text,
    })
}

fn measure(measure: &Measure) -> Value {
    json!({"count": measure.count, "mean_ms": measure.mean(), "longest_ms": measure.longest})
}
