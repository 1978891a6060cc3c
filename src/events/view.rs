//! A record as the clauses of a contract see it: the same message, whichever of its shapes the log gave it.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::json::Node;

use super::Role;
use super::record::Record;

/// A record that its publisher may publish.
#[derive(Debug, Clone, Copy)]
pub struct Accepted<'r> {
    pub(super) record: &'r Record<'r>,
    pub(super) role: Option<Role>,
    pub(super) is_unsure: bool,
}

/// What a topic tells, after its namespace and whom it is about: `event` of `worker.p1.event`.
fn parts(topic: &str) -> (&str, &str, &str) {
    let split = |text: &'_ str| text.find('.').unwrap_or(text.len());
    let (namespace, rest) = topic.split_at(split(topic));
    let rest = rest.strip_prefix('.').unwrap_or(rest);
    if namespace == "system" {
        return (namespace, "", rest);
    }
    let (about, told) = rest.split_at(split(rest));
    if namespace == "cmd" && about == "role" {
        // A broadcast is to nobody in particular.
        return (namespace, "", about);
    }
    (namespace, about, told.strip_prefix('.').unwrap_or(told))
}

/// Whether a topic is of one of these types: `worker.event`, `cmd.approve`, `cmd.role`, `system.peer.left`.
pub(crate) fn is_of_type(topic: &str, types: &[&str]) -> bool {
    let (namespace, _, told) = parts(topic);
    types.iter().any(|wanted| {
        wanted.strip_prefix(namespace).is_some_and(|rest| match rest.strip_prefix('.') {
            Some(rest) => rest == told,
            None => rest.is_empty() && told.is_empty(),
        })
    })
}

impl Accepted<'_> {
    /// The line of the record, its offset, and its time on a clock that does not run back.
    pub(crate) fn place(&self) -> (u64, u64, Option<i64>) {
        (self.record.line, self.record.offset, self.record.time)
    }

    /// The record's topic.
    pub(crate) fn topic(&self) -> &str {
        &self.record.topic
    }

    /// Whether something that came before may be missing from the log.
    pub(crate) fn is_unsure(&self) -> bool {
        self.is_unsure
    }

    /// Where a place of the view stands in the record.
    pub(crate) fn pointer(&self, of_view: &str) -> String {
        let below = |start: &str, at: &str| {
            let rest = of_view.strip_prefix(start)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("{at}{rest}"))
        };
        let record = self.record;
        below("/data", record.data_at).or_else(|| below("/envelope", record.envelope_at)).unwrap_or_else(
            || {
                match of_view {
                    "/from" | "/sequence" | "" => of_view.to_owned(),
                    // Everything else is told by the topic.
                    _ => "/topic".to_owned(),
                }
            },
        )
    }

    /// Writes the record as one JSON object.
    pub(crate) fn write(&self, out: &mut String) {
        let record = self.record;
        let (namespace, about, told) = parts(&record.topic);
        let dot = if told.is_empty() { "" } else { "." };
        out.clear();
        out.push('{');
        text(out, "type", &format!("{namespace}{dot}{told}"));
        text(out, "topic", &record.topic);
        let named = || record.field("peerId").and_then(Node::text);
        let peer = if namespace == "system" { named().unwrap_or_default() } else { Cow::Borrowed(about) };
        if !peer.is_empty() {
            text(out, "peer", &peer);
        }
        if let Some(from) = record.publisher() {
            text(out, "from", &from);
        }
        if let Some(role) = self.role {
            text(out, "role", role.name());
        }
        let numbers =
            [("time", record.time), ("sequence", record.sequence.and_then(|n| i64::try_from(n).ok()))];
        for (name, number) in numbers {
            if let Some(number) = number {
                let _ = write!(out, "\"{name}\":{number},");
            }
        }
        let version = record.envelope.and_then(|envelope| envelope.later_version()).unwrap_or(1);
        let _ = write!(out, "\"version\":{version}");
        if let Some(envelope) = record.envelope_node() {
            let _ = write!(out, ",\"envelope\":{}", envelope.raw());
        }
        if let Some(data) = record.data {
            let _ = write!(out, ",\"data\":{}", data.raw());
        }
        out.push('}');
    }
}

/// Writes a member that is a text, and a comma.
fn text(out: &mut String, name: &str, value: &str) {
    let _ = write!(out, "\"{name}\":{},", serde_json::Value::from(value));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::record::Entry;
    use crate::json::Scanner;

    #[test]
    fn a_type_is_what_the_topic_tells() {
        for (topic, of_type) in [
            ("worker.p1.event", "worker.event"),
            ("cmd.role.worker", "cmd.role"),
            ("system.peer.left", "system.peer.left"),
            ("buoy.b1.ping", "buoy.ping"),
            ("task.t1", "task"),
        ] {
            assert!(is_of_type(topic, &["cmd", of_type]), "{topic}");
            let others = ["worker.events", "worker", "system.peer", "cmd", "buoy.b1.ping", ""];
            assert!(!is_of_type(topic, &others), "{topic}");
        }
    }

    #[test]
    fn every_shape_is_the_same_to_a_clause() {
        let envelope = r#"{"v":1,"id":"i","schema":"worker-event-v1","data":{"kind":"LOG"}}"#;
        let own = format!(r#"{{"topic":"worker.p1.event","from":"p1","payload":{envelope},"sequence":3}}"#);
        let bare = r#"{"topic":"worker.p1.event","from":"p1","payload":{"kind":"LOG"}}"#;
        for (line, at) in [(own.as_str(), "/payload/data/kind"), (bare, "/payload/kind")] {
            let mut scanner = Scanner::default();
            let document = scanner.scan(line).unwrap();
            let Entry::Record(record) = Entry::of(document.root(), 1, 0) else { panic!("{line}") };
            let accepted = Accepted { record: &record, role: Some(Role::Worker), is_unsure: false };
            let mut out = "before".to_owned();
            accepted.write(&mut out);
            let view: serde_json::Value = serde_json::from_str(&out).unwrap();
            assert_eq!((&view["type"], &view["peer"]), (&"worker.event".into(), &"p1".into()));
            assert_eq!((&view["role"], &view["version"]), (&"worker".into(), &1.into()));
            assert_eq!(view["data"]["kind"], "LOG");
            assert_eq!(accepted.pointer("/data/kind"), at);
            assert_eq!(accepted.pointer("/peer"), "/topic");
        }
    }
}
