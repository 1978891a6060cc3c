//! A worker's complete.

use crate::json::Node;

use super::super::peers::PeerId;
use super::super::phase::Phase;
use super::super::timers::Timer;
use super::super::topic::Fact;
use super::super::violation::{Occurrence, Violation};
use super::super::worker::{Asks, Request};
use super::super::{Profile, Rule};
use super::fields::amount;
use super::report::Report;
use super::session::Session;
use super::shape::Shape;

impl Session {
    pub(super) fn complete(&mut self, report: &mut Report<'_>, id: PeerId) {
        if let Some(line) = self.peers[id].worker.end.complete {
            report.topic(Rule::CompleteOnce, format_args!("the worker already completed on line {line}"));
            return;
        }
        report.is_broken |= !Shape::of_fact(Fact::Complete).check(report, self.profile, &[]);
        let result = report.value("result");
        self.complete_state(report, id);
        self.complete_totals(report, id);
        self.unanswered(report, id);
        let worker = &mut self.peers[id].worker;
        worker.end.complete = Some(report.record.line);
        worker.requests.close();
        worker.orders.abort = None;
        worker.orders.set_phase = None;
        self.stops_running(id);
        if !self.log.leaves && !self.has_joins {
            self.peers.complete(id);
        }
        if let Some(now) = report.record.time.filter(|_| self.peers[id].joined) {
            self.arm(id, now.saturating_add(self.limits.leave), Timer::Leave(report.record.line));
        }
        let result = result.and_then(Node::text).unwrap_or_default();
        report.occurred(&self.peers[id].name, Occurrence::Completed(&result));
    }

    /// What a worker asked shortly before it completed had an answer; what it asked long before was told when it was due.
    fn unanswered(&self, report: &mut Report<'_>, id: PeerId) {
        let asks = |request: &&Request| request.asks != Asks::Anything;
        let Some(request) = self.peers[id].worker.requests.open().iter().find(asks) else { return };
        let waited = report.record.time.zip(request.at).map(|(now, asked)| now.saturating_sub(asked));
        if self.profile != Profile::Origin && waited.is_none_or(|waited| waited <= self.limits.answer) {
            let message = format_args!("the request on line {} was never answered", request.line);
            report.topic((Rule::AnswerInTime, self.certainty(id)), message);
        }
    }

    fn complete_state(&mut self, report: &mut Report<'_>, id: PeerId) {
        let certainty = self.certainty(id);
        let after_fatal = self.peers[id].worker.end.after_fatal.take();
        let worker = &self.peers[id].worker;
        let line = report.record.line;
        if let Some(fatal) = worker.end.fatal {
            let message = format_args!("a complete after the fatal ERROR on line {fatal}");
            report.push(Violation {
                consequences: after_fatal.iter().map(|held| (held.rule, held.line)).collect(),
                ..report.violation(Rule::CompleteOrFatal, "/topic", None, message)
            });
        }
        let phases = &worker.phases;
        if phases.unsure {
            return;
        }
        let ended = phases.visited.has(Phase::Reflect) || phases.visited.has(Phase::Failed);
        // The published tooling completes for terminals whose phases nobody publishes.
        if !ended && !worker.spoken_for {
            let recovering = phases.current == Some(Phase::Recover);
            let phase = phases.current.map_or("any phase", Phase::name);
            let message = format_args!("the worker completes in {phase}, before REFLECT or FAILED");
            report.push(Violation {
                consequences: if recovering { vec![(Rule::RecoverExit, line)] } else { Vec::new() },
                ..report.violation((Rule::CompleteTerminal, certainty), "/topic", None, message)
            });
        }
        if phases.current == Some(Phase::Failed)
            && report.value("result").is_some_and(|result| result.is_text("ok"))
        {
            let message = "the result is ok, and the worker is in FAILED";
            report.at(Rule::CompleteFailed, "result", None, message);
        }
        if let Some(current) = phases.current
            && ended
            && !phases.tainted
        {
            self.completed_list(report, id, current, Rule::CompletePhases);
        }
    }

    fn complete_totals(&self, report: &mut Report<'_>, id: PeerId) {
        let last = &self.peers[id].worker.heartbeats;
        for (key, before) in [("total_tokens", last.tokens), ("total_cost_usd", last.cost)] {
            let total = amount(report.value(key));
            if total.zip(before).is_some_and(|(total, before)| total < before)
                && !self.peers[id].worker.spoken_for
            {
                let message = format_args!("{key} is less than in the last heartbeat");
                report.field(Rule::CompleteTotals, key, message);
                return;
            }
        }
    }
}
