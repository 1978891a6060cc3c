//! The end of a worker, of a session and of the log.

use super::super::Rule;
use super::super::peers::PeerId;
use super::super::violation::{Grade, Observer, Violation};
use super::report::{has_room, shown, whole_log};
use super::session::Session;

impl Session {
    /// A worker counts as running, for itself and for its parent.
    pub(super) fn starts_running(&mut self, id: PeerId) {
        self.running += 1;
        if let Some(parent) = self.parent_of(id) {
            let children = &mut self.peers[parent].children;
            children.ever = children.ever.saturating_add(1);
            children.running = children.running.saturating_add(1);
        } else {
            self.orphans = self.orphans.saturating_add(1);
        }
    }

    /// A worker no longer counts as running.
    pub(super) fn stops_running(&mut self, id: PeerId) {
        let worker = &mut self.peers[id].worker;
        if !worker.has_booted() || std::mem::replace(&mut worker.end.counted, true) {
            return;
        }
        self.running = self.running.saturating_sub(1);
        self.costs.running -= worker.heartbeats.cost.unwrap_or_default();
        if let Some(parent) = self.parent_of(id) {
            let children = &mut self.peers[parent].children;
            children.running = children.running.saturating_sub(1);
        } else {
            self.orphans = self.orphans.saturating_sub(1);
        }
    }

    fn parent_of(&self, id: PeerId) -> Option<PeerId> {
        self.peers[id].parent.as_deref().and_then(|parent| self.peers.find(parent))
    }

    /// Reports what could only be known at the end of a worker.
    pub(super) fn end_worker(&mut self, id: PeerId, out: &mut dyn Observer) {
        self.stops_running(id);
        if let Some(held) = self.peers[id].worker.end.after_fatal.take()
            && has_room(&*held, out)
        {
            out.violation(*held);
        }
        let peer = &self.peers[id];
        let worker = &peer.worker;
        if worker.has_booted()
            && worker.end.fatal.is_some()
            && worker.end.complete.is_none()
            && worker.phases.visited.is_empty()
            && !worker.phases.unsure
        {
            let message = format_args!("{} ends without having been in any phase", shown(&peer.name));
            self.report(out, (Rule::PhaseMissing, self.certainty(id)), self.place, Some(id), message);
        }
        if let Some(place) = worker.phases.failed_at
            && worker.end.fatal.is_none()
            && !worker.end.last_will
        {
            let message = "the worker entered FAILED without a fatal ERROR";
            self.report(out, Rule::FailedWithoutFatal, place, Some(id), message);
        }
    }

    /// Ends every worker, and what was still open. The end of a log is no leave: who still runs is noted, not blamed.
    pub(super) fn end_workers(&mut self, is_end_of_log: bool, out: &mut dyn Observer) {
        self.finish_complaints(out);
        self.end_gates(out);
        for id in self.peers.ids() {
            if self.peers[id].left {
                continue;
            }
            self.end_worker(id, out);
            let peer = &self.peers[id];
            if is_end_of_log && peer.is_worker() && peer.worker.owes_heartbeats() {
                let message = format_args!("{} still runs at the end of the log", shown(&peer.name));
                self.report(out, (Rule::LeftUnfinished, Grade::Note), self.place, Some(id), message);
            }
        }
    }

    /// Reports what could only be known at the end of the log.
    pub(crate) fn finish(&mut self, out: &mut dyn Observer) {
        const UNJUDGED: [Rule; 5] =
            [Rule::BootMissing, Rule::JoinedFirst, Rule::LeftLast, Rule::ParentKnown, Rule::Shutdown];
        self.end_workers(true, out);
        let nobody_comes_or_goes = self.log.workers && !self.log.joins && !self.log.leaves;
        if nobody_comes_or_goes && has_room((Rule::LeftUnfinished, Grade::Indeterminate), out) {
            let (line, offset) = (self.place.0.max(1), self.place.1);
            let message =
                "the log has neither joins nor leaves, so that nobody's coming and going can be judged";
            let rule = (Rule::LeftUnfinished, Grade::Indeterminate);
            out.violation(Violation {
                consequences: UNJUDGED.map(|rule| (rule, line)).to_vec(),
                ..whole_log(rule, (line, offset), self.clock, message)
            });
        }
    }
}
