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
    /// Another connection speaks for it, as the published tooling does; only `origin` allows that.
    pub(crate) spoken_for: bool,
    /// It booted a second time, which was reported; what it says next may be of either life.
    pub(crate) rebooted: bool,
    /// Something of this life is missing from the log.
    pub(crate) missed: bool,
    /// The line of its boot.
    pub(crate) boot_line: u64,
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
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct Phases {
    pub(crate) current: Option<Phase>,
    pub(crate) entered: Option<Millis>,
    pub(crate) visited: Visited,
    /// A phase message could not be used, so that what follows may refer to it.
    pub(crate) unsure: bool,
    /// Something about the phases was already reported, so that their lists cannot be right.
    pub(crate) tainted: bool,
    pub(crate) recovering_from: Option<Phase>,
    /// It entered the current phase by a step that was reported, so that the next one may go on from where it says.
    pub(crate) strayed: bool,
    /// That it went on after a terminal phase was reported.
    pub(crate) goes_on: bool,
    /// That it advanced while blocked or paused was reported.
    pub(crate) advance_reported: bool,
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
    /// That one came after the end was reported.
    pub(crate) after_end: bool,
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
    pub(crate) asks: Asks,
}

/// What a request asks of the orchestrator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asks {
    /// To be unblocked: the worker stands still until then.
    Unblock,
    /// A decision.
    Decision,
    /// Nothing that it must have, such as an ERROR with a `request_id`.
    Anything,
}

/// Answers that are remembered of a worker, to find a second one.
const ANSWERED: usize = 32;

/// The requests of a worker: those that are open, and the latest that were answered.
///
/// Most workers ask nothing, so that what they asked stands apart.
#[derive(Debug, Default)]
pub(crate) struct Requests(Option<Box<AskedRequests>>);

#[derive(Debug, Default)]
struct AskedRequests {
    open: Vec<Request>,
    answered: VecDeque<u64>,
}

impl Requests {
    pub(crate) fn knows(&self, key: u64) -> bool {
        self.open().iter().any(|open| open.key == key) || self.was_answered(key)
    }

    pub(crate) fn open(&self) -> &[Request] {
        self.0.as_deref().map_or(&[], |asked| &asked.open)
    }

    pub(crate) fn was_answered(&self, key: u64) -> bool {
        self.0.as_deref().is_some_and(|asked| asked.answered.contains(&key))
    }

    /// The open request on which the worker waits.
    pub(crate) fn blocking(&self) -> Option<Request> {
        self.open().iter().copied().find(|request| request.asks == Asks::Unblock)
    }

    /// Forgets the open ones: their worker has ended.
    pub(crate) fn close(&mut self) {
        if let Some(asked) = &mut self.0 {
            asked.open.clear();
        }
    }

    /// Opens a request. The oldest of too many is given up: whoever asks this often does not wait for it.
    pub(crate) fn ask(&mut self, request: Request, limit: usize) {
        let asked = self.0.get_or_insert_default();
        if asked.open.len() >= limit {
            asked.open.remove(0);
        }
        asked.open.push(request);
    }

    /// Closes the open request with this key.
    pub(crate) fn answer(&mut self, key: u64) -> Option<Request> {
        let asked = self.0.as_deref_mut()?;
        let at = asked.open.iter().position(|open| open.key == key)?;
        if asked.answered.len() >= ANSWERED {
            asked.answered.pop_front();
        }
        asked.answered.push_back(key);
        Some(asked.open.remove(at))
    }

    /// Closes the oldest open request: a command was delivered that the log does not hold.
    pub(crate) fn answer_oldest(&mut self) -> Option<Request> {
        let key = self.open().first()?.key;
        self.answer(key)
    }
}

/// The orders that a worker has not obeyed yet, each with its line.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    /// The line of the pause that no resume has ended.
    pub(crate) paused: Option<u64>,
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
