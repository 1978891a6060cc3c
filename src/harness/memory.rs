//! How much memory this process may use, which what is kept in memory has to fit into.

use super::platform;

/// A room takes no more than this, however much memory there is.
const MOST_BYTES: u64 = 1 << 30;
/// Nor more than this part of it.
const PART: u64 = 4;
/// Below this, a room would not hold what a target needs to start.
const LEAST_BYTES: u64 = 16 << 20;

/// How much a target may write into its room and around it, unless somebody says otherwise.
pub(crate) fn bytes_for_a_room() -> u64 {
    platform::memory_limit().map_or(MOST_BYTES, |limit| (limit / PART).clamp(LEAST_BYTES, MOST_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_smaller_than_the_memory() {
        assert!((LEAST_BYTES..=MOST_BYTES).contains(&bytes_for_a_room()));
    }
}
