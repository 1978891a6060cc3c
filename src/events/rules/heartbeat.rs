//! Heartbeats: what they hold. Their absence is found in `deadlines`.

use crate::json::{Kind, Node, members};

use super::super::peers::{PeerId, key_of};
use super::super::phase::Phase;
use super::super::violation::Occurrence;
use super::super::{Profile, Rule};
use super::fields::{amount, list_is};
use super::report::{Report, shown};
use super::session::Session;
use crate::time;

/// How far `time_in_phase_ms` may be off.
const PHASE_TIME_SLACK: f64 = 2_000.0;

members! {
    /// The fields of a heartbeat, looked up once: most records of a log are heartbeats.
    struct Heartbeat {
        current_phase "current_phase",
        time_in_phase_ms "time_in_phase_ms",
        tokens_used "tokens_used",
        cost_usd "cost_usd",
        last_event_id "last_event_id",
        active_sub_workers "active_sub_workers",
        severity "severity",
    }
}

impl<'a> Heartbeat<'a> {
    fn amounts(&self) -> [(&'static str, Option<Node<'a>>); 3] {
        [
            ("time_in_phase_ms", self.time_in_phase_ms),
            ("tokens_used", self.tokens_used),
            ("cost_usd", self.cost_usd),
        ]
    }

    /// Reports required fields that are not there.
    fn check_presence(&self, report: &mut Report<'_>) {
        let required = [("current_phase", self.current_phase)].into_iter().chain(self.amounts());
        let missing: Vec<_> = required.filter(|(_, node)| node.is_none()).map(|(key, _)| key).collect();
        report.missing(Rule::HeartbeatFields, &missing, "heartbeat");
    }

    /// Reports fields that are not what they should be.
    fn check_types(&self, report: &mut Report<'_>) {
        let is_wrong = |node: Option<Node<'_>>| node.is_some() && amount(node).is_none();
        let amounts = self.amounts().into_iter().filter(|(_, node)| is_wrong(*node)).map(|(key, _)| key);
        let bad_phase = self.current_phase.is_some() && Phase::of(self.current_phase).is_none();
        let wrong: Vec<_> = amounts.chain(bad_phase.then_some("current_phase")).collect();
        if let Some(first) = wrong.first() {
            let message = format_args!("{} of the wrong type or value", list_is(&wrong));
            report.field(Rule::HeartbeatTypes, first, message);
        }
    }
}

impl Session {
    pub(super) fn heartbeat(&mut self, report: &mut Report<'_>, id: PeerId) {
        let beat = report.record.data.map(Heartbeat::of).unwrap_or_default();
        if self.profile != Profile::Origin {
            beat.check_presence(report);
        }
        beat.check_types(report);
        if beat.severity.is_some_and(|severity| severity.is_text("fatal")) {
            self.peers[id].worker.end.last_will = true;
            if self.profile != Profile::Lenient {
                let message = "a heartbeat with severity fatal; the last will is a fatal ERROR event";
                report.at(Rule::HeartbeatFatal, "severity", None, message);
            }
        }
        let worker = &self.peers[id].worker;
        if worker.is_over() {
            let completed = worker.end.complete.is_some();
            let when = if completed { "after complete" } else { "in a terminal phase" };
            report.topic(Rule::HeartbeatAfterEnd, format_args!("a heartbeat {when}"));
        } else {
            self.after_fatal(report, id);
            self.heartbeat_phase(report, &beat, id);
            self.heartbeat_facts(report, &beat, id);
            self.children(report, &beat, id);
        }
        self.pace(report, id);
    }

    fn heartbeat_phase(&self, report: &mut Report<'_>, beat: &Heartbeat<'_>, id: PeerId) {
        let phases = &self.peers[id].worker.phases;
        let Some(phase) = phases.current.filter(|_| !phases.unsure) else { return };
        let certainty = self.certainty(id);
        if Phase::of(beat.current_phase).is_some_and(|current| current != phase) {
            let message = format_args!("current_phase is not {phase}, the phase last published");
            report.field((Rule::HeartbeatPhase, certainty), "current_phase", message);
            return;
        }
        let since = |(now, entered): (i64, i64)| now.saturating_sub(entered) as f64;
        let elapsed = report.record.time.zip(phases.entered).map(since);
        if let (Some(stated), Some(elapsed)) = (amount(beat.time_in_phase_ms), elapsed)
            && (stated - elapsed).abs() > PHASE_TIME_SLACK
        {
            let elapsed = time::span(elapsed as i64);
            let message = format_args!("the phase was published {elapsed} ago");
            report.field((Rule::HeartbeatPhaseTime, certainty), "time_in_phase_ms", message);
        }
    }

    fn heartbeat_facts(&mut self, report: &mut Report<'_>, beat: &Heartbeat<'_>, id: PeerId) {
        let (tokens, cost) = (amount(beat.tokens_used), amount(beat.cost_usd));
        let worker = &mut self.peers[id].worker;
        let last = &mut worker.heartbeats;
        let fell =
            |now: Option<f64>, before: Option<f64>| now.zip(before).is_some_and(|(now, before)| now < before);
        if fell(tokens, last.tokens) || fell(cost, last.cost) {
            let message = "tokens_used or cost_usd is less than in the heartbeat before";
            report.at(Rule::HeartbeatTotals, "tokens_used", None, message);
        }
        last.tokens = tokens.or(last.tokens);
        last.cost = cost.or(last.cost);
        if let Some(event) = beat.last_event_id.and_then(Node::text)
            && worker.last_event.is_some_and(|known| known != key_of(&event))
        {
            let message = "last_event_id is not the id of the worker's latest event";
            report.field(Rule::HeartbeatLastEvent, "last_event_id", message);
        }
    }

    fn children(&self, report: &mut Report<'_>, beat: &Heartbeat<'_>, id: PeerId) {
        let Some(node) = beat.active_sub_workers.filter(|node| node.kind() == Kind::Array) else { return };
        let name = &self.peers[id].name;
        for child in node.items().filter_map(Node::text) {
            let found = self.peers.find(&child).map(|child| &self.peers[child]);
            // A child that is known but never named a parent may well be one.
            if found.is_none_or(|child| child.parent.as_ref().is_some_and(|parent| parent != name)) {
                let message = format_args!("{} is not a known child of {name}", shown(&child));
                let rule = (Rule::HeartbeatChildren, self.certainty_among_peers(id));
                report.field(rule, "active_sub_workers", message);
                return;
            }
        }
    }

    /// How long the last heartbeat was ago.
    fn pace(&mut self, report: &mut Report<'_>, id: PeerId) {
        let Some(now) = report.record.time else { return };
        let worker = &mut self.peers[id].worker;
        let last = &mut worker.heartbeats;
        let gap = last.last.replace(now).map(|last| now.saturating_sub(last));
        let reported = std::mem::take(&mut last.gap_reported);
        worker.stale = None;
        if worker.owes_heartbeats() {
            if let Some(gap) = gap
                && !reported
                && gap > self.limits.heartbeat_pace
                && gap <= self.limits.heartbeat
            {
                let gap = time::span(gap);
                let message = format_args!("{gap} since the last heartbeat; ten seconds are usual");
                report.topic(Rule::HeartbeatPace, message);
            }
            self.watch_heartbeat(id);
        }
        report.occurred(&self.peers[id].name, Occurrence::Heartbeat(gap));
    }
}
