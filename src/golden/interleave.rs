//! Messages that may come in any order between each other, as a scenario says it.
//!
//! ```toml
//! [golden]
//! interleave = [["system/task_*"], ["result/*", "assistant"]]
//! any_order = ["user"]
//! ```
//!
//! Messages of a kind in `any_order` are put into the order of their content where they stand next to each other, as the
//! answers of tools do that ran at the same time.
//!
//! Each list is a group, and within a group order matters. Where messages of several groups stand next to each other
//! those of the first group are put first; a message of no group stays where it is, and nothing moves across it.

use serde_json::Value;

use super::entry::Entry;
use super::placeholder::Placeholders;
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

    fn group(&self, entry: &Entry) -> Option<usize> {
        let kind = entry.kind()?;
        self.groups.iter().position(|group| group.iter().any(|pattern| glob(pattern, kind)))
    }

    /// Puts messages of different groups that stand next to each other into the order of their groups.
    pub(super) fn sort(&self, mut entries: Vec<Entry>) -> Vec<Entry> {
        if self.is_empty() {
            return entries;
        }
        let runs = entries.chunk_by_mut(|a, b| self.group(a).is_some() && self.group(b).is_some());
        for run in runs {
            run.sort_by_key(|entry| self.group(entry));
        }
        let moves = |entry: &Entry| {
            entry.kind().is_some_and(|kind| self.any_order.iter().any(|pattern| glob(pattern, kind)))
        };
        for run in entries.chunk_by_mut(|a, b| moves(a) && moves(b)).filter(|run| run.len() > 1) {
            let times: Vec<_> = run.iter_mut().map(|entry| timestamp(entry).map(Value::take)).collect();
            run.sort_by_cached_key(|entry| match entry {
                // Ids say nothing about which is which.
                Entry::Message { value, .. } => Placeholders::default().text(&value.to_string()),
                Entry::Text { text, .. } => text.clone(),
            });
            // When one came is not when the other came that now stands in its place: time does not go back by sorting.
            for (entry, time) in run.iter_mut().zip(times) {
                if let (Some(place), Some(time)) = (timestamp(entry), time) {
                    *place = time;
                }
            }
        }
        entries
    }
}

fn timestamp(entry: &mut Entry) -> Option<&mut Value> {
    match entry {
        Entry::Message { value, .. } => value.get_mut("timestamp"),
        Entry::Text { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::read_entries;
    use super::*;

    #[test]
    fn groups_interleave_and_nothing_else_moves() {
        let groups = Interleave::new(vec![vec!["system/task_*".into()], vec!["result".into()]]);
        let sorted = |kinds: &[&str]| {
            let line = |kind: &&str| match kind.split_once('/') {
                Some((kind, part)) => format!("{{\"type\":\"{kind}\",\"subtype\":\"{part}\"}}\n"),
                None => format!("{{\"type\":\"{kind}\"}}\n"),
            };
            let stream: String = kinds.iter().map(line).collect();
            let entries = groups.sort(read_entries(stream.as_bytes()));
            entries.iter().map(|entry| entry.kind().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let a = sorted(&["result", "system/task_a", "user", "system/task_b", "result"]);
        assert_eq!(a, ["system/task_a", "result", "user", "system/task_b", "result"]);
        assert_ne!(sorted(&["user", "result"]), sorted(&["result", "user"]));
        assert_ne!(sorted(&["system/task_a", "system/task_b"]), sorted(&["system/task_b", "system/task_a"]));
    }

    #[test]
    fn answers_that_come_in_any_order_are_put_into_one() {
        let mut facts = Facts::default();
        let told = Interleave::default().any_order(vec!["user".into()]).to_value();
        facts.other.insert(INTERLEAVE.into(), told);
        let kept = Interleave::of_recording(&facts);
        let texts = |uuids: [u8; 3], texts: [&str; 3]| {
            let line = |(uuid, text): (&u8, &&str)| {
                let uuid = format!("0000c1a0-0000-4000-8000-00000000000{uuid}");
                format!(
                    "{{\"type\":\"user\",\"timestamp\":{},\"uuid\":\"{uuid}\",\"text\":\"{text}\"}}\n",
                    texts.iter().position(|other| other == text).unwrap()
                )
            };
            let stream: String = uuids.iter().zip(&texts).map(line).collect();
            let entries = kept.sort(read_entries(stream.as_bytes())).into_iter();
            let text = |entry| match entry {
                Entry::Message { value, .. } => value["text"].to_string(),
                Entry::Text { text, .. } => text,
            };
            entries.map(text).collect::<Vec<_>>()
        };
        assert_eq!(texts([1, 2, 3], ["b", "a", "c"]), texts([3, 2, 1], ["c", "b", "a"]));
        assert_ne!(texts([1, 2, 3], ["b", "a", "c"]), texts([1, 2, 3], ["b", "a", "b"]));
    }
}
