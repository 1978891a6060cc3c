//! The events that a worker publishes within a phase.

use crate::json::{Node, members};

use super::super::peers::{PeerId, key_of};
use super::super::record::Record;
use super::super::timers::Timer;
use super::super::topic::Fact;
use super::super::uuid::Uuid;
use super::super::violation::{Grade, Occurrence};
use super::super::worker::{Asks, Request};
use super::super::{Profile, Rule};
use super::fields::{amount, bad_artifact, nonblank};
use super::report::{Report, shown};
use super::session::Session;
use super::shape::Shape;

members! {
    /// The fields that every event has.
    struct Event {
        kind "kind",
        severity "severity",
    }
}

impl Session {
    pub(super) fn event(&mut self, report: &mut Report<'_>, id: PeerId) {
        let Event { kind, severity } = report.record.data.map(Event::of).unwrap_or_default();
        let is = |node: Option<Node<'_>>, text| node.is_some_and(|node| node.is_text(text));
        let is_fatal = is(kind, "ERROR") && is(severity, "fatal");
        if let Some(line) = self.peers[id].worker.end.complete
            && is_fatal
        {
            let message = format_args!("a fatal ERROR after the complete on line {line}");
            report.at(Rule::CompleteOrFatal, "severity", None, message);
            return;
        }
        if self.after_complete(report, id) {
            return;
        }
        self.after_fatal(report, id);
        // The document tells consumers to ignore kinds that they do not know, which `lenient` does.
        report.is_broken |= !Shape::of_fact(Fact::Event).check(report, self.profile, &[]);
        if let Some(name) = kind.and_then(Node::text) {
            self.kind(report, id, &name);
        }
        let worker = &mut self.peers[id].worker;
        let event = report.record.envelope.and_then(|envelope| envelope.id).and_then(Node::text);
        worker.last_event = event.map(|event| key_of(&event));
        if is_fatal {
            worker.end.fatal = worker.end.fatal.or(Some(report.record.line));
        }
    }

    fn kind(&mut self, report: &mut Report<'_>, id: PeerId, kind: &str) {
        // Most events have a long text, and most listeners do not ask for it.
        let message = if report.out.listens() { nonblank(report.value("message")) } else { None };
        let message = message.unwrap_or_default();
        match kind {
            "BLOCKED" | "REQUEST" if self.request(report, id, kind == "BLOCKED", &message) => return,
            "HARVEST" => harvest(report),
            "PROGRESS" => self.progress(report),
            _ => {}
        }
        if !matches!(kind, "BLOCKED" | "REQUEST" | "DECISION")
            && let Some(request) = nonblank(report.value("request_id"))
        {
            // It expects a response, and nobody must give one.
            self.open(report, id, &request, Asks::Anything);
        }
        report.occurred(&self.peers[id].name, Occurrence::Noted { kind, message: &message });
    }

    /// A BLOCKED or REQUEST opens a request; answers whether it did.
    fn request(&mut self, report: &mut Report<'_>, id: PeerId, blocked: bool, message: &str) -> bool {
        let node = report.value("request_id").filter(|node| !node.is_null());
        let Some(request) = nonblank(node) else {
            let kind = if blocked { "BLOCKED" } else { "REQUEST" };
            let message = format_args!("a {kind} without a request_id cannot be answered");
            report.at(Rule::RequestIdPresent, "request_id", node, message);
            return false;
        };
        if Uuid::parse(&request).is_none() && self.profile == Profile::Strict {
            report.field((Rule::RequestIdForm, Grade::Note), "request_id", "request_id is no UUID");
        }
        let asks = if blocked { Asks::Unblock } else { Asks::Decision };
        if !self.open(report, id, &request, asks) {
            return false;
        }
        if let Some(now) = report.record.time {
            let line = report.record.line;
            self.arm(id, now.saturating_add(self.limits.answer), Timer::Answer(line));
        }
        report.occurred(&self.peers[id].name, Occurrence::Asked { id: &request, blocked, message });
        true
    }

    /// Opens a request; answers whether its id is a new one.
    fn open(&mut self, report: &mut Report<'_>, id: PeerId, request: &str, asks: Asks) -> bool {
        let key = key_of(request);
        let requests = &mut self.peers[id].worker.requests;
        if requests.knows(key) {
            let rule = (Rule::RequestIdForm, Grade::Should);
            report.field(rule, "request_id", "request_id was used before");
            return false;
        }
        let (at, line) = (report.record.time, report.record.line);
        requests.ask(Request { key, at, line, asks }, self.limits.requests);
        true
    }

    fn progress(&self, report: &mut Report<'_>) {
        let number = |key| detail(report.record, key).map(Node::float);
        let whole = if self.profile == Profile::Lenient { 100.0 } else { 1.0 };
        let in_range = |percent: Option<f64>| percent.is_some_and(|percent| (0.0..=whole).contains(&percent));
        if number("percent").is_some_and(|percent| !in_range(percent)) {
            report.data(Rule::ProgressRange, format_args!("percent is not between 0 and {whole}"));
        } else if let (Some(Some(current)), Some(Some(total))) =
            (number("current_step"), number("total_steps"))
            && current > total
        {
            report.data(Rule::ProgressRange, "current_step is beyond total_steps");
        } else {
            let is_wrong = |node: Node<'_>| !node.is_null() && amount(Some(node)).is_none();
            let wrong = ["current_step", "total_steps", "eta_ms"]
                .into_iter()
                .find(|key| detail(report.record, key).is_some_and(is_wrong));
            if let Some(key) = wrong {
                report.data(Rule::ProgressRange, format_args!("{key} is no number from 0 up"));
            }
        }
    }

    /// Reports what comes after a complete; answers whether it did.
    pub(super) fn after_complete(&mut self, report: &mut Report<'_>, id: PeerId) -> bool {
        let Some(line) = self.peers[id].worker.end.complete else { return false };
        // One worker that does not stop is one mistake, however long it goes on.
        if !std::mem::replace(&mut self.peers[id].worker.end.reported, true) {
            let name = shown(&self.peers[id].name);
            let message = format_args!("{name} goes on after its complete on line {line}");
            report.topic(Rule::AfterComplete, message);
        }
        true
    }
}

fn harvest(report: &mut Report<'_>) {
    let artifacts = detail(report.record, "artifacts");
    let wrong = match artifacts {
        None => Some((Grade::Note, "a HARVEST without artifacts".to_owned())),
        Some(artifacts) => bad_artifact(artifacts).map(|wrong| (Grade::Full, wrong)),
    };
    if let Some((grade, wrong)) = wrong {
        report.at((Rule::HarvestArtifacts, grade), "", artifacts, wrong);
    }
}

/// A kind's own field: under `data.data`, as the sections write it, or beside `kind`, as the dialogue does.
fn detail<'a>(record: &Record<'a>, key: &str) -> Option<Node<'a>> {
    let data = record.data?;
    data.get("data").and_then(|inner| inner.get(key)).or_else(|| data.get(key))
}
