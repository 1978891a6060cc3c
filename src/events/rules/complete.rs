//! A worker's complete.

use crate::json::Node;

use super::super::features::RESULTS;
use super::super::peers::PeerId;
use super::super::phase::Phase;
use super::super::violation::{Occurrence, Violation};
use super::super::{Profile, Rule};
use super::fields::{amount, bad_artifact, is_one_of, missing};
use super::report::Report;
use super::session::Session;

const REQUIRED: [&str; 4] = ["result", "summary", "artifacts", "phases_completed"];

impl Session {
    pub(super) fn complete(&mut self, report: &mut Report<'_>, id: PeerId) {
        if let Some(line) = self.peers[id].worker.end.complete {
            report.topic(Rule::CompleteOnce, format_args!("the worker already completed on line {line}"));
            return;
        }
        let required = if self.profile == Profile::Origin { &REQUIRED[..1] } else { &REQUIRED[..] };
        report.missing(Rule::CompleteFields, &missing(report.record, required), "complete");
        let result = report.value("result");
        if let Some(result) = result {
            if !is_one_of(result, RESULTS) {
                report.field(Rule::CompleteResult, "result", "result is none of ok, failed, cancelled");
            } else if !result.is_text("ok") && self.profile == Profile::Strict {
                let message = "a complete means success, and this one tells of none";
                report.field(Rule::CompleteSuccess, "result", message);
            }
        }
        if let Some(wrong) = report.value("artifacts").and_then(bad_artifact) {
            report.field(Rule::CompleteArtifacts, "artifacts", wrong);
        }
        self.complete_state(report, id);
        self.complete_totals(report, id);
        let worker = &mut self.peers[id].worker;
        worker.end.complete = Some(report.record.line);
        worker.requests.open.clear();
        worker.orders.abort = None;
        worker.orders.set_phase = None;
        self.stops_running(id);
        let result = result.and_then(Node::text).unwrap_or_default();
        report.occurred(&self.peers[id].name, Occurrence::Completed(&result));
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
        if !ended {
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
        for (key, before) in
            [("total_tokens", last.tokens), ("total_cost_usd", last.cost), ("duration_ms", None)]
        {
            let Some(node) = report.value(key) else { continue };
            let wrong = match (amount(Some(node)), before) {
                (None, _) => "is no number from 0 up",
                (Some(total), Some(before)) if total < before => "is less than in the last heartbeat",
                _ => continue,
            };
            report.field(Rule::CompleteTotals, key, format_args!("{key} {wrong}"));
            return;
        }
    }
}
