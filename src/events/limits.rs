//! Bounds on memory and on patience while a log is judged.

use crate::time::Millis;

/// How much of a log is remembered at once, and how long things may take.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Limits {
    /// The longest line that is read whole.
    pub line: usize,
    /// Peers that are tracked at once.
    pub peers: usize,
    /// Peers that left and are still remembered.
    pub gone: usize,
    /// Workers that completed and are still remembered, where nobody tells of leaves.
    pub done: usize,
    /// The longest peer id that is tracked.
    pub name: usize,
    /// Open requests of one worker.
    pub requests: usize,
    /// Message ids that are remembered to find one that comes twice.
    pub ids: usize,
    /// From hello to boot.
    pub boot: Millis,
    /// The longest time between two heartbeats of a worker.
    pub heartbeat: Millis,
    /// Between heartbeats before it is worth a note.
    pub heartbeat_pace: Millis,
    /// From silence to the server's report of it, after [`heartbeat`](Self::heartbeat).
    pub stale_scan: Millis,
    /// From a request to its answer.
    pub answer: Millis,
    /// From an order to its effect.
    pub order: Millis,
    /// From an illegal transition to the server's report of it.
    pub gate: Millis,
    /// From a complete to the leave.
    pub leave: Millis,
    /// From a stale worker, or an order to spawn, to a reaction.
    pub reaction: Millis,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            line: 8 << 20,
            peers: 1 << 18,
            gone: 4096,
            done: 1 << 14,
            name: 256,
            requests: 256,
            ids: 1 << 16,
            boot: 5_000,
            heartbeat: 30_000,
            heartbeat_pace: 15_000,
            stale_scan: 5_000,
            answer: 60_000,
            order: 30_000,
            gate: 5_000,
            leave: 120_000,
            reaction: 60_000,
        }
    }
}
