//! What the document says of topics, fields and phases, as a server applies it.
//!
//! Written from the document and not from the rules that judge logs, so that the two check each other.

use serde_json::Value;

use crate::time;

/// Words of a pattern that match zero or more words of a topic, and exactly one.
const ANY: &str = "**";
const ONE: &str = "*";

/// The schema and the required fields of each topic (§6 and its generated table).
const SCHEMAS: [(&str, &str, &[&str]); 13] = [
    ("worker.*.boot", "worker-boot-v1", &["model", "role", "mission_summary", "cwd", "terminal_id"]),
    ("worker.*.phase", "worker-phase-v1", &["phase", "prev", "transition_reason", "phases_completed"]),
    ("worker.*.event", "worker-event-v1", &["kind", "severity", "message"]),
    (
        "worker.*.heartbeat",
        "worker-heartbeat-v1",
        &["current_phase", "time_in_phase_ms", "tokens_used", "cost_usd"],
    ),
    ("worker.*.complete", "worker-complete-v1", &["result", "summary", "artifacts", "phases_completed"]),
    ("cmd.*.approve", "cmd-approve-v1", &["correlation_id"]),
    ("cmd.*.reject", "cmd-reject-v1", &["correlation_id", "reason"]),
    ("cmd.*.abort", "cmd-abort-v1", &["reason"]),
    ("cmd.*.pause", "cmd-pause-v1", &[]),
    ("cmd.*.resume", "cmd-resume-v1", &[]),
    ("cmd.*.set_phase", "cmd-set-phase-v1", &["phase", "reason"]),
    ("cmd.*.spawn", "cmd-spawn-v1", &["name", "mission"]),
    ("cmd.*.inject_text", "cmd-inject-text-v1", &["text"]),
];

/// Which phases may follow each of them (§4); FAILED may follow any that is not terminal.
const NEXT: [(&str, &[&str]); 9] = [
    ("PLAN", &["SPAWN", "FAILED"]),
    ("SPAWN", &["DEPLOY", "RECOVER", "FAILED"]),
    ("DEPLOY", &["OBSERVE", "RECOVER", "FAILED"]),
    ("OBSERVE", &["HARVEST", "RECOVER", "FAILED"]),
    ("RECOVER", &["DEPLOY", "OBSERVE", "FAILED"]),
    ("HARVEST", &["CLEANUP", "FAILED"]),
    ("CLEANUP", &["REFLECT", "FAILED"]),
    ("REFLECT", &[]),
    ("FAILED", &[]),
];

/// The values of fields that have a list of them, by topic and field.
const LISTED: [(&str, &str, &[&str]); 3] = [
    ("worker.*.event", "kind", &["BLOCKED", "REQUEST", "HARVEST", "ERROR", "DECISION", "PROGRESS", "LOG"]),
    ("worker.*.event", "severity", &["info", "warn", "error", "fatal"]),
    ("worker.*.complete", "result", &["ok", "failed", "cancelled"]),
];

/// Whether a pattern matches a topic: `*` is one word, `**` zero or more.
pub(super) fn matches(pattern: &str, topic: &str) -> bool {
    let (pattern, topic): (Vec<_>, Vec<_>) = (pattern.split('.').collect(), topic.split('.').collect());
    // Row by row of the pattern: after which words of the topic it may stand. No recursion, whatever the pattern is.
    let mut stands: Vec<bool> = (0..=topic.len()).map(|at| at == 0).collect();
    for word in pattern {
        let mut next = vec![false; topic.len() + 1];
        for at in 0..=topic.len() {
            next[at] = match word {
                ANY => stands[at] || at > 0 && next[at - 1],
                ONE => at > 0 && stands[at - 1],
                word => at > 0 && stands[at - 1] && topic[at - 1] == word,
            };
        }
        stands = next;
    }
    stands[topic.len()]
}

/// Whether a topic can be published on: dotted, lower-case words.
pub(super) fn is_topic(topic: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-')
    };
    topic.split('.').all(is_word)
}

/// Whether a phase may follow another; PLAN alone follows none.
pub(super) fn may_follow(before: Option<&str>, phase: &str) -> bool {
    let Some(before) = before else { return phase == "PLAN" };
    NEXT.iter().any(|(known, next)| *known == before && next.contains(&phase))
}

/// The data of a payload: inside its envelope, or the payload itself.
pub(super) fn data(payload: &Value) -> &Value {
    let is_envelope = payload.get("v").is_some() || payload.get("schema").is_some();
    payload.get("data").filter(|_| is_envelope).unwrap_or(payload)
}

/// Why a payload is not what its topic asks for.
pub(super) fn complaint(topic: &str, payload: &Value) -> Option<String> {
    if !payload.is_object() {
        return Some("the payload is no object".into());
    }
    if topic.starts_with("worker.")
        && let Some(complaint) = envelope(topic, payload)
    {
        return Some(complaint);
    }
    let data = data(payload);
    let (_, _, fields) = SCHEMAS.iter().find(|(pattern, ..)| matches(pattern, topic))?;
    let has = |field: &str| data.get(field).or_else(|| payload.get(field)).is_some();
    if let Some(field) = fields.iter().find(|field| !has(field)) {
        return Some(format!("data.{field} is missing"));
    }
    let text = |field: &str| data.get(field).and_then(Value::as_str);
    for (_, field, values) in LISTED.iter().filter(|(pattern, ..)| matches(pattern, topic)) {
        if !text(field).is_some_and(|value| values.contains(&value)) {
            return Some(format!("data.{field} is none of {}", values.join(", ")));
        }
    }
    let is_phase = |field| text(field).is_some_and(|value| NEXT.iter().any(|(known, _)| *known == value));
    match topic.rsplit('.').next() {
        Some("phase" | "set_phase") if !is_phase("phase") => Some("data.phase is no phase".into()),
        Some("heartbeat") if !is_phase("current_phase") => Some("data.current_phase is no phase".into()),
        _ => None,
    }
}

/// Why an envelope is none; `from_peer` and `ts_server` may be left to the server.
fn envelope(topic: &str, payload: &Value) -> Option<String> {
    let text = |field: &str| payload.get(field).and_then(Value::as_str);
    if payload.get("v").and_then(Value::as_i64) != Some(1) {
        return Some("v is not 1".into());
    }
    if text("id").is_none_or(|id| id.len() != 36) {
        return Some("id is no UUID".into());
    }
    if text("from_name").is_none_or(str::is_empty) {
        return Some("from_name is missing".into());
    }
    if text("ts_published").is_none_or(|at| time::parse(at).is_none()) {
        return Some("ts_published is no time".into());
    }
    if !payload.get("data").is_some_and(Value::is_object) {
        return Some("data is no object".into());
    }
    let known = SCHEMAS.iter().find(|(pattern, ..)| matches(pattern, topic));
    let (_, schema, _) = known?;
    (text("schema") != Some(*schema)).then(|| format!("schema is not {schema}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_star_is_one_word_and_two_are_any_number() {
        for (pattern, topic, expected) in [
            ("**", "a", true),
            ("a.**", "a", true),
            ("a.**", "a.b.c", true),
            ("a.**.c", "a.c", true),
            ("a.**.c", "a.b.b.c", true),
            ("a.**.c", "a.b", false),
            ("a.*", "a.b", true),
            ("a.*", "a", false),
            ("a.*", "a.b.c", false),
            ("*", "a", true),
            ("a", "a", true),
            ("a", "b", false),
        ] {
            assert_eq!(matches(pattern, topic), expected, "{pattern} {topic}");
        }
        // Many wildcards cost the product of both lengths and no more.
        assert!(!matches(&["**"; 500].join(".a."), &["b"; 500].join(".")));
    }

    #[test]
    fn phases_follow_the_table() {
        assert!(may_follow(None, "PLAN") && may_follow(Some("PLAN"), "SPAWN"));
        assert!(!may_follow(None, "SPAWN") && !may_follow(Some("SPAWN"), "HARVEST"));
        assert!(!may_follow(Some("REFLECT"), "FAILED"));
    }
}
