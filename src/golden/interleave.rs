//! Messages that may come in any order between each other, as a scenario says it.
//!
//! ```toml
//! [golden]
//! interleave = [["system/task_*"], ["result/*", "assistant"]]
//! any_order = ["user"]
//! ```
//!
//! Each list is a group, and within a group order matters. Where messages of several groups stand next to each other
//! those of the first group are put first; a message of no group stays where it is, and nothing moves across it.
//!
//! The kinds in `any_order` are one more group, the last one, whose messages are put into the order of their content: the
//! answers of tools that ran at the same time.

use serde_json::Value;

use super::placeholder::Placeholders;
use super::reading::LARGEST;
use crate::recording::Facts;
use crate::text::glob;

/// The field of a recording that holds the groups.
pub(crate) const INTERLEAVE: &str = "interleave";

/// Groups of kinds that may interleave.
#[derive(Debug, Clone, Default)]
pub struct Interleave {
    groups: Vec<Vec<String>>,
    any_order: Vec<String>,
}

impl Interleave {
    /// Groups of patterns over kinds, in which a `*` at the end stands for anything.
    pub fn new(groups: Vec<Vec<String>>) -> Self {
        Self { groups, any_order: Vec::new() }
    }

    /// With kinds whose messages may come in any order among themselves.
    #[must_use]
    pub fn any_order(self, kinds: Vec<String>) -> Self {
        Self { any_order: kinds, ..self }
    }

    /// The groups that a recording names.
    pub(super) fn of_recording(facts: &Facts) -> Self {
        let strings = |group: &Value| {
            let items = group.as_array()?;
            items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        };
        let told =
            facts.other.get(INTERLEAVE).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let kinds = told.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        Self::new(told.iter().filter_map(strings).collect()).any_order(kinds)
    }

    /// As a field of a recording: a list for each group, and a string for each kind in any order.
    pub fn to_value(&self) -> Value {
        let groups = self.groups.iter().map(|group| serde_json::json!(group));
        groups.chain(self.any_order.iter().map(|kind| kind.as_str().into())).collect()
    }

    /// Whether every message has its place.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.any_order.is_empty()
    }

    /// The group of a kind of message.
    pub(super) fn group(&self, kind: &str) -> Option<usize> {
        let fits = |patterns: &[String]| patterns.iter().any(|pattern| glob(pattern, kind));
        let any_order = || fits(&self.any_order).then_some(self.groups.len());
        self.groups.iter().position(|group| fits(group)).or_else(any_order)
    }

    /// Whether the messages of a group are put into the order of their content.
    pub(super) fn is_any_order(&self, group: usize) -> bool {
        group == self.groups.len()
    }
}

/// Messages of groups that stand next to each other, until they are put into the order of their groups. Of very many,
/// only those that stand within [`LARGEST`] bytes of each other change places.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    held: Vec<Held>,
    bytes: usize,
}

#[derive(Debug)]
struct Held {
    group: usize,
    /// What its place within the group follows from, where that is not when it came.
    content: Option<String>,
    text: String,
    line: usize,
}

impl Neighbours {
    /// Takes the next one, which is in any order within its group or not; whether they are to be released now.
    pub(super) fn hold(&mut self, group: usize, is_any_order: bool, text: &str, line: usize) -> bool {
        let content = is_any_order.then(|| content(text));
        self.bytes += text.len() + content.as_ref().map_or(0, String::len);
        self.held.push(Held { group, content, text: text.to_owned(), line });
        self.bytes > LARGEST
    }

    /// All of them, as text with its line.
    pub(super) fn release(&mut self) -> impl Iterator<Item = (String, usize)> + use<> {
        self.bytes = 0;
        let mut held = std::mem::take(&mut self.held);
        let sent_at = |held: &Held| held.content.as_ref().and_then(|_| time(&held.text));
        let times: Vec<_> = held.iter().map(sent_at).collect();
        held.sort_by(|a, b| (a.group, &a.content).cmp(&(b.group, &b.content)));
        // When one came is not when the other came that now stands in its place: time does not go back by sorting.
        for (held, time) in held.iter_mut().zip(times) {
            if let (Some(time), Some(own)) = (time, sent_at(held)) {
                held.text = held.text.replacen(&own, &time, 1);
            }
        }
        held.into_iter().map(|held| (held.text, held.line))
    }
}

/// A message without what says nothing about which one it is: ids and times.
fn content(text: &str) -> String {
    Placeholders::default().text(text)
}

/// When a message says that it was sent, as it is written.
fn time(text: &str) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok()?;
    value.get("timestamp")?.as_str().filter(|time| text.contains(*time)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{Volatile, normalise};
    use crate::recording::Recording;

    #[test]
    fn groups_interleave_and_nothing_else_moves() {
        let groups = Interleave::new(vec![vec!["system/task_*".into()], vec!["result".into()]]);
        let sorted = |kinds: &[&str]| {
            let line = |kind: &&str| match kind.split_once('/') {
                Some((kind, part)) => format!("{{\"type\":\"{kind}\",\"subtype\":\"{part}\"}}\n"),
                None => format!("{{\"type\":\"{kind}\"}}\n"),
            };
            let stream: String = kinds.iter().map(line).collect();
            let mut facts = Facts::default();
            facts.other.insert(INTERLEAVE.into(), groups.to_value());
            let recording = Recording::new(facts, stream.into_bytes(), Vec::new());
            let normal = normalise(&recording, &Volatile::default()).unwrap();
            normal.stdout.iter().map(|entry| entry.kind().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let a = sorted(&["result", "system/task_a", "user", "system/task_b", "result"]);
        assert_eq!(a, ["system/task_a", "result", "user", "system/task_b", "result"]);
        assert_ne!(sorted(&["user", "result"]), sorted(&["result", "user"]));
        assert_ne!(sorted(&["system/task_a", "system/task_b"]), sorted(&["system/task_b", "system/task_a"]));
    }

    #[test]
    fn answers_that_come_in_any_order_are_put_into_one() {
        let answers = |texts: [&str; 3]| {
            let line = |(at, text): (usize, &&str)| {
                let uuid = format!("0000c1a0-0000-4000-8000-{:012}", at * 7 + text.len());
                let time = format!("2026-11-16T05:37:0{at}.000Z");
                format!(
                    "{{\"type\":\"user\",\"timestamp\":\"{time}\",\"uuid\":\"{uuid}\",\"text\":\"{text}\"}}\n"
                )
            };
            let stream: String = texts.iter().enumerate().map(line).collect();
            let mut facts = Facts::default();
            let told = Interleave::default().any_order(vec!["user".into()]).to_value();
            facts.other.insert(INTERLEAVE.into(), told);
            let recording = Recording::new(facts, stream.into_bytes(), Vec::new());
            normalise(&recording, &Volatile::default()).unwrap().to_snapshot()
        };
        assert_eq!(answers(["b", "a", "c"]), answers(["c", "b", "a"]));
        assert_ne!(answers(["b", "a", "c"]), answers(["b", "a", "b"]));
        assert!(!answers(["c", "b", "a"]).contains("<time:earlier>"));
    }
}
