//! Heartbeats: what they hold. Their absence is found in `deadlines`.

use crate::json::{Kind, Node, members};

use super::super::peers::{PeerId, Role, key_of};
use super::super::phase::Phase;
use super::super::topic::Fact;
use super::super::violation::Occurrence;
use super::super::{Profile, Rule};
use super::fields::amount;
use super::report::{Report, shown};
use super::session::Session;
use super::shape::Shape;
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

impl Session {
    pub(super) fn heartbeat(&mut self, report: &mut Report<'_>, id: PeerId) {
        let beat = report.record.data.map(Heartbeat::of).unwrap_or_default();
        report.is_broken |= !Shape::of_fact(Fact::Heartbeat).check(report, self.profile, &[]);
        if beat.severity.is_some_and(|severity| severity.is_text("fatal")) {
            self.peers[id].worker.end.last_will = true;
            if self.profile != Profile::Lenient {
                let message = "a heartbeat with severity fatal; the last will is a fatal ERROR event";
                report.at(Rule::HeartbeatFatal, "severity", None, message);
            }
        }
        let worker = &mut self.peers[id].worker;
        if worker.is_over() {
            let completed = worker.end.complete.is_some();
            let when = if completed { "after complete" } else { "in a terminal phase" };
            let was_told = worker.phases.goes_on || std::mem::replace(&mut worker.heartbeats.after_end, true);
            if !was_told {
                report.topic(Rule::HeartbeatAfterEnd, format_args!("a heartbeat {when}"));
            }
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
        let certainty = self.certainty(id);
        let stated = Phase::of(beat.current_phase);
        let is_first = phases.current.is_none() && !phases.unsure && !self.peers[id].worker.spoken_for;
        if is_first && stated.is_some_and(|stated| stated != Phase::Plan) {
            let message = "current_phase is a phase that was never published";
            report.field((Rule::HeartbeatPhase, certainty), "current_phase", message);
        }
        let is_sure = !phases.unsure && !phases.strayed;
        let Some(phase) = phases.current.filter(|_| is_sure) else { return };
        if stated.is_some_and(|current| current != phase) {
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
        if let Some(cost) = cost {
            let more = cost - last.cost.unwrap_or_default();
            last.cost = Some(cost);
            self.costs.all += more;
            self.costs.running += more;
        }
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
            let wrong = match found {
                None => "is not a known child of",
                Some(child) if child.parent.as_ref().is_some_and(|parent| parent != name) => {
                    "is not a known child of"
                }
                Some(child) if matches!(child.role, Some(Role::Orchestrator | Role::Observer)) => {
                    "is no worker, and so no child of"
                }
                Some(child) if child.left || child.worker.end.complete.is_some() => {
                    "has ended, and is no longer active under"
                }
                Some(_) => continue,
            };
            {
                let message = format_args!("{} {wrong} {}", shown(&child), shown(name));
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
