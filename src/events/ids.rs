//! Message ids, to find one that comes twice. Only the latest are remembered, whatever the length of the log.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Where an id was seen before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sight {
    pub(crate) line: u64,
    pub(crate) sequence: Option<u64>,
}

/// Two generations of ids. When the young one is full it becomes the old one, so that nothing is ever removed by
/// itself, which would cost more than all the rest.
#[derive(Debug)]
pub(crate) struct Ids {
    young: HashMap<u128, Sight, Seed>,
    old: HashMap<u128, Sight, Seed>,
    limit: usize,
}

impl Ids {
    /// Remembers at least this many.
    pub(crate) fn new(limit: usize) -> Self {
        let seed = Seed(RandomState::new().hash_one(limit));
        Self { young: HashMap::with_hasher(seed), old: HashMap::with_hasher(seed), limit }
    }

    pub(crate) fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
    }

    /// Remembers an id, and says where it was before.
    pub(crate) fn see(&mut self, id: u128, sight: Sight) -> Option<Sight> {
        if let Some(before) = self.young.get(&id).or_else(|| self.old.get(&id)) {
            return Some(*before);
        }
        if self.young.len() >= self.limit {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        self.young.insert(id, sight);
        None
    }
}

/// A quick hash for numbers, keyed at random so that no log can be written to make ids collide.
#[derive(Debug, Clone, Copy)]
struct Seed(u64);

struct Mixer(u64);

impl BuildHasher for Seed {
    type Hasher = Mixer;

    fn build_hasher(&self) -> Mixer {
        Mixer(self.0)
    }
}

impl Mixer {
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(self.0 | 1);
        self.0 = (product >> 64) as u64 ^ product as u64 ^ 0x9E37_79B9_7F4A_7C15;
    }
}

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.mix(u64::from(*byte));
        }
    }

    fn write_u128(&mut self, number: u128) {
        self.mix(number as u64);
        self.mix((number >> 64) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten() {
        let mut ids = Ids::new(2);
        let sight = |line| Sight { line, sequence: None };
        assert_eq!(ids.see(1, sight(1)), None);
        assert_eq!(ids.see(2, sight(2)), None);
        assert_eq!(ids.see(1, sight(3)), Some(sight(1)));
        for id in 3..=6 {
            assert_eq!(ids.see(id, sight(9)), None);
        }
        assert_eq!(ids.see(1, sight(5)), None, "four others came between");
        assert!(ids.young.len() + ids.old.len() <= 4);
    }
}
