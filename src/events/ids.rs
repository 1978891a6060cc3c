//! Message ids, to find one that comes twice. Only the latest are remembered, whatever the length of the log.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Two generations of ids, each with the line that it was seen on. When the young one is full it becomes the old one, so
/// that nothing is ever removed by itself, which would cost more than all the rest. An id is kept as a print of 64 bits:
/// that two of a million share one is less likely than a flaw in the machine.
#[derive(Debug)]
pub(crate) struct Ids {
    young: HashMap<u64, u64, AsIs>,
    old: HashMap<u64, u64, AsIs>,
    limit: usize,
    seed: u64,
}

impl Ids {
    /// Remembers at least this many.
    pub(crate) fn new(limit: usize) -> Self {
        // Keyed at random, so that no log can be written to make ids collide.
        let seed = RandomState::new().hash_one(limit);
        Self { young: HashMap::default(), old: HashMap::default(), limit, seed }
    }

    /// Remembers an id, and says on which line it was before.
    pub(crate) fn see(&mut self, id: u128, line: u64) -> Option<u64> {
        let print = mix(mix(self.seed, id as u64), (id >> 64) as u64);
        if let Some(before) = self.old.get(&print) {
            return Some(*before);
        }
        if self.young.len() >= self.limit && !self.young.contains_key(&print) {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        match self.young.entry(print) {
            Entry::Occupied(before) => Some(*before.get()),
            Entry::Vacant(free) => {
                free.insert(line);
                None
            }
        }
    }
}

fn mix(state: u64, word: u64) -> u64 {
    let product = u128::from(state ^ word) * u128::from(state | 1);
    (product >> 64) as u64 ^ product as u64 ^ 0x9E37_79B9_7F4A_7C15
}

/// A print is its own hash.
#[derive(Debug, Clone, Copy, Default)]
struct AsIs(u64);

impl BuildHasher for AsIs {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        *self
    }
}

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = mix(self.0, u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten() {
        let mut ids = Ids::new(2);
        assert_eq!(ids.see(1, 1), None);
        assert_eq!(ids.see(2, 2), None);
        assert_eq!(ids.see(1, 3), Some(1));
        for id in 3..=6 {
            assert_eq!(ids.see(id, 9), None);
        }
        assert_eq!(ids.see(1, 5), None, "four others came between");
        assert!(ids.young.len() + ids.old.len() <= 4);
    }
}
