//! Deadlines on the log's own clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::peers::PeerId;
use crate::time::Millis;

/// What a deadline is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    Heartbeat,
    Silence,
    /// The request made on this line.
    Answer(u64),
    /// The order given on this line.
    Abort(u64),
    SetPhase(u64),
    Spawn(u64),
    /// The report of a stale worker on this line.
    Stale(u64),
}

/// A deadline: when it is, and of which generation of which peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due {
    pub(crate) at: Millis,
    pub(crate) peer: PeerId,
    pub(crate) generation: u32,
    pub(crate) timer: Timer,
}

/// Deadlines in their order. A timer that is put off is not moved but looked at again when it is due, so that a
/// heartbeat costs nothing here.
#[derive(Debug)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<Due>>,
    limit: usize,
}

impl Timers {
    pub(crate) fn new(limit: usize) -> Self {
        Self { heap: BinaryHeap::new(), limit }
    }

    pub(crate) fn set(&mut self, due: Due) {
        // A log that opens requests without end gets no more deadlines than this.
        if self.heap.len() < self.limit {
            self.heap.push(Reverse(due));
        }
    }

    /// The next deadline before now.
    pub(crate) fn pop(&mut self, now: Millis) -> Option<Due> {
        if self.heap.peek()?.0.at >= now {
            return None;
        }
        self.heap.pop().map(|Reverse(due)| due)
    }

    /// When the next deadline is.
    pub(crate) fn next(&self) -> Option<Millis> {
        self.heap.peek().map(|Reverse(due)| due.at)
    }
}
