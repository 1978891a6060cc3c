//! What is known of a worker, from its boot to its complete or leave.

use std::collections::VecDeque;

use super::Phase;
use super::phase::Visited;
use super::violation::Violation;
use crate::time::Millis;

/// A worker's state, in one generation of its id.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    pub(crate) boot: Boot,
    pub(crate) phases: Phases,
    pub(crate) end: End,
    pub(crate) heartbeats: Heartbeats,
    pub(crate) requests: Requests,
    pub(crate) orders: Orders,
    /// The hash of the id of the latest event.
    pub(crate) last_event: Option<u64>,
    /// The line on which the server called it stale, until somebody reacts.
    pub(crate) stale: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Boot {
    #[default]
    Missing,
    /// The worker spoke before its boot, which was reported.
    SpokeFirst,
    Done,
}

/// The phases of a worker.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    pub(crate) current: Option<Phase>,
    pub(crate) entered: Option<Millis>,
    pub(crate) visited: Visited,
    /// A phase message could not be used, so that what follows may refer to it.
    pub(crate) unsure: bool,
    /// Something about the phases was already reported, so that their lists cannot be right.
    pub(crate) tainted: bool,
    pub(crate) recovering_from: Option<Phase>,
    /// The line and the offset at which FAILED was entered.
    pub(crate) failed_at: Option<(u64, u64)>,
}

impl Phases {
    /// Notes that a phase message could not be used.
    pub(crate) fn lose_track(&mut self) {
        self.unsure = true;
        self.tainted = true;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.current.is_some_and(Phase::is_terminal)
    }
}

/// How a worker ends.
#[derive(Debug, Default)]
pub(crate) struct End {
    /// The line of its complete.
    pub(crate) complete: Option<u64>,
    /// The line of its first fatal ERROR.
    pub(crate) fatal: Option<u64>,
    /// A heartbeat stood in for the fatal ERROR.
    pub(crate) last_will: bool,
    /// That it went on after its complete was reported.
    pub(crate) reported: bool,
    /// No longer counted as running.
    pub(crate) counted: bool,
    /// What came after a fatal ERROR; a complete that follows is the graver sign of the same mistake.
    pub(crate) after_fatal: Option<Box<Violation>>,
}

/// The heartbeats of a worker, and what was in the last one.
#[derive(Debug, Default)]
pub(crate) struct Heartbeats {
    pub(crate) last: Option<Millis>,
    /// Whether the gap since then was reported.
    pub(crate) gap_reported: bool,
    pub(crate) silence_reported: bool,
    pub(crate) tokens: Option<f64>,
    pub(crate) cost: Option<f64>,
    /// When the timer for the next heartbeat fires.
    pub(crate) timer: Option<Millis>,
    /// When the timer for a silence fires.
    pub(crate) silence_timer: Option<Millis>,
}

/// A request that waits for its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) key: u64,
    pub(crate) at: Option<Millis>,
    pub(crate) line: u64,
}

/// Answers that are remembered of a worker, to find a second one.
const ANSWERED: usize = 32;

/// The requests of a worker: those that are open, and the latest that were answered.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    pub(crate) open: Vec<Request>,
    pub(crate) answered: VecDeque<u64>,
}

impl Requests {
    pub(crate) fn knows(&self, key: u64) -> bool {
        self.open.iter().any(|open| open.key == key) || self.answered.contains(&key)
    }

    /// Opens a request. The oldest of too many is given up: whoever asks this often does not wait for it.
    pub(crate) fn open(&mut self, request: Request, limit: usize) {
        if self.open.len() >= limit {
            self.open.remove(0);
        }
        self.open.push(request);
    }

    /// Closes the open request with this key.
    pub(crate) fn answer(&mut self, key: u64) -> Option<Request> {
        let at = self.open.iter().position(|open| open.key == key)?;
        if self.answered.len() >= ANSWERED {
            self.answered.pop_front();
        }
        self.answered.push_back(key);
        Some(self.open.remove(at))
    }
}

/// The orders that a worker has not obeyed yet, each with its line.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    pub(crate) paused: bool,
    pub(crate) set_phase: Option<(Phase, u64)>,
    pub(crate) abort: Option<u64>,
    pub(crate) spawn: Option<u64>,
}

impl Orders {
    /// Whether the orchestrator ordered the worker into this phase.
    pub(crate) fn force(&self, phase: Phase) -> bool {
        self.set_phase.is_some_and(|(forced, _)| forced == phase)
    }
}

impl Worker {
    pub(crate) fn has_booted(&self) -> bool {
        self.boot == Boot::Done
    }

    /// Whether the worker has said its last word.
    pub(crate) fn is_over(&self) -> bool {
        self.end.complete.is_some() || self.phases.has_ended()
    }

    pub(crate) fn owes_heartbeats(&self) -> bool {
        self.has_booted() && !self.is_over()
    }
}
