//! What a silence means: a missing heartbeat, an unreported one, an order that was not obeyed.

use super::super::breach::{Breach, Grade, Happening, Observer};
use super::super::peer::{PeerId, Role};
use super::super::timers::{Due, Timer};
use super::super::{Profile, Rule};
use super::{Court, shown};
use crate::time::{self, Millis};

impl Court {
    /// A deadline has passed.
    pub(super) fn fire(&mut self, due: Due, now: Millis, out: &mut impl Observer) {
        match due.timer {
            Timer::Heartbeat => self.heartbeat_due(due.peer, now, out),
            Timer::Silence => self.silence_due(due.peer, now, out),
            Timer::Stale(line) => self.stale_due(due.peer, line, out),
            other => self.overdue(due.peer, other, out),
        }
    }

    fn heartbeat_due(&mut self, id: PeerId, now: Millis, out: &mut impl Observer) {
        let limit = self.limits.heartbeat;
        let peer = self.peers.get_mut(id);
        peer.life.heartbeat_armed = None;
        let Some(last) = peer.life.heartbeat else { return };
        if !peer.life.must_beat() || peer.life.gap_told {
            return;
        }
        if last.saturating_add(limit) >= now {
            self.watch_heartbeat(id);
            return;
        }
        peer.life.gap_told = true;
        let silent = peer
            .last_seen
            .is_none_or(|seen| now.saturating_sub(seen) > limit.saturating_add(self.limits.stale_scan));
        let unreported = silent && peer.life.stale.is_none() && self.session.joined;
        let peer = self.peers.get(id);
        let grade = if self.lost > peer.last_line { Grade::Indeterminate } else { Grade::Full };
        out.happening(&peer.name, Some(last), self.line, Happening::Silent(now));
        self.push(out, Rule::HeartbeatGap, || Breach {
            rule: Rule::HeartbeatGap,
            grade,
            message: format!(
                "{} has given no heartbeat for {}",
                shown(&peer.name),
                time::span(now.saturating_sub(last))
            ),
            line: self.line,
            offset: self.offset,
            time: Some(now),
            peer: Some((*peer.name).into()),
            pointer: None,
            seen: None,
            consequences: if unreported && self.profile != Profile::Origin {
                vec![(Rule::StaleReported, self.line)]
            } else {
                Vec::new()
            },
        });
    }

    /// Watches a peer that owes no heartbeat, which the server must report all the same when it falls silent.
    pub(super) fn watch_silence(&mut self, id: PeerId) {
        let wait = self.limits.heartbeat.saturating_add(self.limits.stale_scan);
        let clock = self.clock;
        let life = &mut self.peers.get_mut(id).life;
        let Some(due) = clock.map(|now| now.saturating_add(wait)) else { return };
        if life.silence_armed.is_none_or(|armed| armed > due) {
            life.silence_armed = Some(due);
            self.arm(id, due, Timer::Silence);
        }
    }

    fn silence_due(&mut self, id: PeerId, now: Millis, out: &mut impl Observer) {
        let wait = self.limits.heartbeat.saturating_add(self.limits.stale_scan);
        let peer = self.peers.get_mut(id);
        peer.life.silence_armed = None;
        let beats = peer.life.must_beat();
        if peer.role != Role::Worker || beats || peer.life.complete_line.is_some() || peer.life.silence_told {
            return;
        }
        let Some(seen) = peer.last_seen.or(peer.joined_at) else { return };
        if seen.saturating_add(wait) >= now {
            let due = seen.saturating_add(wait);
            peer.life.silence_armed = Some(due);
            self.arm(id, due, Timer::Silence);
            return;
        }
        peer.life.silence_told = true;
        if peer.life.stale.is_none() && self.session.joined {
            let grade = if self.lost > 0 { Grade::Indeterminate } else { Grade::Full };
            self.tell(out, Rule::StaleReported, grade, (self.line, self.offset), Some(id), || {
                let silence = time::span(now.saturating_sub(seen));
                format!("{} is silent for {silence}, and the server has not said so", {
                    shown(&self.peers.get(id).name)
                })
            });
        }
    }

    fn stale_due(&mut self, id: PeerId, line: u64, out: &mut impl Observer) {
        let life = &mut self.peers.get_mut(id).life;
        if life.stale != Some(line) || life.is_over() {
            return;
        }
        life.stale = None;
        // A worker that boots after the report is taken for the replacement.
        if self.last_boot.is_some_and(|boot| boot > line) {
            return;
        }
        self.tell(out, Rule::StaleHandled, Grade::Full, (self.line, self.offset), Some(id), || {
            format!("nobody nudged, aborted or replaced the worker that was called stale on line {line}")
        });
    }
}
