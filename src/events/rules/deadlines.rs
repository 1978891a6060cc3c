//! What a silence means: a missing heartbeat, an unreported one, an order that was not obeyed.

use super::super::peers::{PeerId, Role};
use super::super::timers::{Due, Timer};
use super::super::violation::{Grade, Observer, Occurrence, Violation};
use super::super::{Profile, Rule};
use super::report::{has_room, shown, whole_log};
use super::session::Session;
use crate::time::{self, Millis};

impl Session {
    /// A deadline has passed.
    pub(super) fn fire(&mut self, due: Due, now: Millis, out: &mut dyn Observer) {
        match due.timer {
            Timer::Heartbeat => self.heartbeat_due(due.peer, now, out),
            Timer::Silence => self.silence_due(due.peer, now, out),
            Timer::Stale(line) => self.stale_due(due.peer, line, out),
            Timer::Gate(line) => self.gate_due(line),
            Timer::Leave(line) => self.leave_due(due.peer, line, out),
            other => self.overdue(due.peer, other, out),
        }
    }

    /// Sets the heartbeat timer unless one is already running that fires soon enough.
    pub(super) fn watch_heartbeat(&mut self, id: PeerId) {
        let limit = self.heartbeat_limit();
        let heartbeats = &mut self.peers[id].worker.heartbeats;
        let Some(due) = heartbeats.last.map(|last| last.saturating_add(limit)) else {
            return;
        };
        if heartbeats.timer.is_none_or(|timer| timer > due) {
            heartbeats.timer = Some(due);
            self.arm(id, due, Timer::Heartbeat);
        }
    }

    fn heartbeat_due(&mut self, id: PeerId, now: Millis, out: &mut dyn Observer) {
        let limit = self.heartbeat_limit();
        let worker = &mut self.peers[id].worker;
        worker.heartbeats.timer = None;
        let Some(last) = worker.heartbeats.last else { return };
        if !worker.owes_heartbeats() || worker.heartbeats.gap_reported || worker.spoken_for {
            return;
        }
        if last.saturating_add(limit) >= now {
            self.watch_heartbeat(id);
            return;
        }
        worker.heartbeats.gap_reported = true;
        let peer = &self.peers[id];
        let silent = peer.last_seen.is_none_or(|seen| now.saturating_sub(seen) > self.silence_limit());
        let unreported = silent && peer.worker.stale.is_none() && self.has_joins;
        let grade = if self.lost_line > peer.last_line { Grade::Indeterminate } else { Grade::Full };
        let line = self.place.0;
        out.occurrence(&peer.name, Some(last), line, Occurrence::Silent(now));
        if has_room((Rule::HeartbeatGap, grade), out) {
            let gap = time::span(now.saturating_sub(last));
            let message = format_args!("{} has given no heartbeat for {gap}", shown(&peer.name));
            let stale =
                (unreported && self.profile != Profile::Origin).then_some((Rule::StaleReported, line));
            out.violation(Violation {
                peer: Some((*peer.name).into()),
                consequences: stale.into_iter().collect(),
                ..whole_log((Rule::HeartbeatGap, grade), self.place, Some(now), message)
            });
        }
    }

    /// How long a worker may give no heartbeat. The published tooling gives one every 30 s for workers that give none, and
    /// looks at the clock every other second.
    fn heartbeat_limit(&self) -> Millis {
        match self.profile {
            Profile::Origin => self.silence_limit(),
            Profile::Strict | Profile::Lenient => self.limits.heartbeat,
        }
    }

    /// A worker that completed has not left for minutes.
    fn leave_due(&mut self, id: PeerId, line: u64, out: &mut dyn Observer) {
        let peer = &self.peers[id];
        if peer.worker.end.complete == Some(line) && peer.worker.end.after_fatal.is_none() {
            let limit = time::span(self.limits.leave);
            let message =
                format_args!("{} completed on line {line} and has not left after {limit}", shown(&peer.name));
            let grade = if self.lost_line > peer.last_line { Grade::Indeterminate } else { Grade::Full };
            self.report(out, (Rule::LeaveAfterComplete, grade), self.place, Some(id), message);
        }
    }

    /// How long a peer may be silent before the server must have reported it.
    fn silence_limit(&self) -> Millis {
        self.limits.heartbeat.saturating_add(self.limits.stale_scan)
    }

    /// Watches a peer that owes no heartbeat, which the server must report all the same when it falls silent.
    pub(super) fn watch_silence(&mut self, id: PeerId) {
        let Some(due) = self.clock.map(|now| now.saturating_add(self.silence_limit())) else { return };
        let heartbeats = &mut self.peers[id].worker.heartbeats;
        if heartbeats.silence_timer.is_none_or(|timer| timer > due) {
            heartbeats.silence_timer = Some(due);
            self.arm(id, due, Timer::Silence);
        }
    }

    fn silence_due(&mut self, id: PeerId, now: Millis, out: &mut dyn Observer) {
        let limit = self.silence_limit();
        let peer = &mut self.peers[id];
        let worker = &mut peer.worker;
        worker.heartbeats.silence_timer = None;
        if peer.role != Some(Role::Worker)
            || worker.owes_heartbeats()
            || worker.end.complete.is_some()
            || worker.heartbeats.silence_reported
        {
            return;
        }
        let Some(seen) = peer.last_seen.or(peer.joined_at) else { return };
        let due = seen.saturating_add(limit);
        if due >= now {
            worker.heartbeats.silence_timer = Some(due);
            self.arm(id, due, Timer::Silence);
            return;
        }
        worker.heartbeats.silence_reported = true;
        if worker.stale.is_none() && self.has_joins {
            let grade = if self.lost_line > 0 { Grade::Indeterminate } else { Grade::Full };
            let silence = time::span(now.saturating_sub(seen));
            let name = shown(&self.peers[id].name);
            let message = format_args!("{name} is silent for {silence}, and the server has not said so");
            self.report(out, (Rule::StaleReported, grade), self.place, Some(id), message);
        }
    }

    fn stale_due(&mut self, id: PeerId, line: u64, out: &mut dyn Observer) {
        let worker = &mut self.peers[id].worker;
        if worker.stale != Some(line) || worker.is_over() {
            return;
        }
        worker.stale = None;
        // A worker that boots after the report is taken for the replacement.
        if self.last_boot.is_none_or(|boot| boot <= line) {
            let message = format_args!(
                "nobody nudged, aborted or replaced the worker that was called stale on line {line}"
            );
            self.report(out, Rule::StaleHandled, self.place, Some(id), message);
        }
    }

    /// Fires when an order was not obeyed or a request not answered in time.
    fn overdue(&mut self, id: PeerId, timer: Timer, out: &mut dyn Observer) {
        let worker = &mut self.peers[id].worker;
        let is_over = worker.is_over();
        let orders = &mut worker.orders;
        let (rule, message) = match timer {
            Timer::Answer(line) if worker.requests.open().iter().any(|open| open.line == line) => {
                let limit = time::span(self.limits.answer);
                (Rule::AnswerInTime, format!("the request on line {line} is still open after {limit}"))
            }
            Timer::Abort(line) if orders.abort == Some(line) => {
                orders.abort = None;
                if is_over {
                    return;
                }
                let limit = time::span(self.limits.order);
                (Rule::AbortObeyed, format!("the worker goes on {limit} after the abort on line {line}"))
            }
            Timer::SetPhase(line) if orders.set_phase.is_some_and(|(_, ordered)| ordered == line) => {
                let phase = orders.set_phase.take().map_or("", |(phase, _)| phase.name());
                let message = format!("the worker did not enter {phase}, to which line {line} set it");
                (Rule::SetPhaseObeyed, message)
            }
            Timer::Spawn(line) if orders.spawn == Some(line) => {
                orders.spawn = None;
                (Rule::SpawnObeyed, format!("no sub-worker booted after the order on line {line}"))
            }
            _ => return,
        };
        // The published server logs neither what it injects nor what a delivered command says.
        let untold = rule == Rule::AnswerInTime && self.profile == Profile::Origin;
        let grade = if untold { Grade::Indeterminate } else { self.certainty(id) };
        self.report(out, (rule, grade), self.place, Some(id), message);
    }
}
