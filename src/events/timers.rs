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
    /// The illegal transition on this line, which the server has to report.
    Gate(u64),
    /// The complete on this line, after which the worker leaves.
    Leave(u64),
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
    /// Whether a deadline could not be kept.
    pub(crate) overflow: bool,
}

impl Timers {
    pub(crate) fn new(limit: usize) -> Self {
        Self { heap: BinaryHeap::new(), limit, overflow: false }
    }

    pub(crate) fn set(&mut self, due: Due) {
        // A log that opens requests without end gets no more deadlines than this.
        if self.heap.len() < self.limit {
            self.heap.push(Reverse(due));
        } else {
            self.overflow = true;
        }
    }

    /// Whether there is no room for another.
    pub(crate) fn is_full(&self) -> bool {
        self.heap.len() >= self.limit && !self.overflow
    }

    /// Drops deadlines that concern nobody any more.
    pub(crate) fn retain(&mut self, keep: impl Fn(&Due) -> bool) {
        self.heap.retain(|Reverse(due)| keep(due));
        // Where nearly all of them are still to come, looking through them again and again would help nobody.
        self.overflow |= self.heap.len() > self.limit - self.limit / 8;
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
