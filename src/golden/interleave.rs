//! Messages that may come in any order between each other, as a scenario says it.
//!
//! ```toml
//! [golden]
//! interleave = [["system/task_*"], ["result/*", "assistant"]]
//! ```
//!
//! Each list is a group, and within a group order matters. Where messages of several groups stand next to each other
//! those of the first group are put first; a message of no group stays where it is, and nothing moves across it.

use serde_json::Value;

use super::reading::LARGEST;
use crate::recording::Facts;
use crate::text::glob;

/// The field of a recording that holds the groups.
pub(crate) const INTERLEAVE: &str = "interleave";

/// Groups of kinds that may interleave.
#[derive(Debug, Clone, Default)]
pub struct Interleave {
    groups: Vec<Vec<String>>,
}

impl Interleave {
    /// Groups of patterns over kinds, in which a `*` at the end stands for anything.
    pub fn new(groups: Vec<Vec<String>>) -> Self {
        Self { groups }
    }

    /// The groups that a recording names.
    pub(super) fn of_recording(facts: &Facts) -> Self {
        let strings = |group: &Value| {
            let items = group.as_array()?;
            items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        };
        let groups = facts.other.get(INTERLEAVE).and_then(Value::as_array);
        Self::new(groups.map(|groups| groups.iter().filter_map(strings).collect()).unwrap_or_default())
    }

    /// As a field of a recording.
    pub fn to_value(&self) -> Value {
        serde_json::json!(self.groups)
    }

    /// Whether every message has its place.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The group of a kind of message.
    pub(super) fn group(&self, kind: &str) -> Option<usize> {
        self.groups.iter().position(|group| group.iter().any(|pattern| glob(pattern, kind)))
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
    text: String,
    line: usize,
}

impl Neighbours {
    /// Takes the next one; whether they are to be released now.
    pub(super) fn hold(&mut self, group: usize, text: &str, line: usize) -> bool {
        self.bytes += text.len();
        self.held.push(Held { group, text: text.to_owned(), line });
        self.bytes > LARGEST
    }

    /// All of them, as text with its line.
    pub(super) fn release(&mut self) -> impl Iterator<Item = (String, usize)> + use<> {
        self.bytes = 0;
        let mut held = std::mem::take(&mut self.held);
        held.sort_by_key(|held| held.group);
        held.into_iter().map(|held| (held.text, held.line))
    }
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
}
