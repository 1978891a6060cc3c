//! Message ids, to find one that comes twice. Only the latest are remembered, whatever the length of the log.

use std::collections::{HashMap, VecDeque};

/// Where an id was seen before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sight {
    pub(crate) line: u64,
    pub(crate) sequence: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Ids {
    seen: HashMap<u128, Sight>,
    order: VecDeque<u128>,
    limit: usize,
}

impl Ids {
    pub(crate) fn new(limit: usize) -> Self {
        Self { seen: HashMap::new(), order: VecDeque::new(), limit }
    }

    pub(crate) fn clear(&mut self) {
        self.seen.clear();
        self.order.clear();
    }

    /// Remembers an id, and says where it was before.
    pub(crate) fn see(&mut self, id: u128, sight: Sight) -> Option<Sight> {
        if let Some(before) = self.seen.get(&id) {
            return Some(*before);
        }
        if self.order.len() >= self.limit
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        self.seen.insert(id, sight);
        self.order.push_back(id);
        None
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
        assert_eq!(ids.see(3, sight(4)), None);
        assert_eq!(ids.see(1, sight(5)), None);
        assert_eq!(ids.seen.len(), 2);
    }
}
