//! Evidence that is found in any order: that of the first places is kept, and the rest is counted.

use std::collections::BTreeMap;

use super::super::finding::KEPT;
use super::{Evidence, Sink};

#[derive(Debug, Default)]
pub(super) struct Told {
    /// By its place, and for one place by the order of its coming.
    kept: BTreeMap<(u64, u64), Evidence>,
    count: u64,
}

impl Told {
    /// Adds evidence, which is only worked out if it may be kept.
    pub(super) fn add(&mut self, place: u64, evidence: impl FnOnce() -> Evidence) {
        let key = (place, self.count);
        self.count += 1;
        let is_late = self.kept.last_key_value().is_some_and(|(last, _)| *last < key);
        if self.kept.len() >= KEPT && is_late {
            return;
        }
        self.kept.insert(key, evidence());
        if self.kept.len() > KEPT {
            self.kept.pop_last();
        }
    }

    /// Hands all of it over.
    pub(super) fn tell(self, sink: &mut Sink) {
        let more = self.count - self.kept.len() as u64;
        self.kept.into_values().for_each(|evidence| sink.push(evidence));
        sink.count(more);
    }
}
