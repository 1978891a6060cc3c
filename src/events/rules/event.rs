//! The events that a worker publishes within a phase.

use crate::json::{Kind, Node, members};

use super::super::features::{EVENT_KINDS, SEVERITIES};
use super::super::peers::{PeerId, key_of};
use super::super::record::Record;
use super::super::timers::Timer;
use super::super::uuid::Uuid;
use super::super::violation::{Grade, Occurrence};
use super::super::worker::Request;
use super::super::{Profile, Rule};
use super::fields::{bad_artifact, is_nonblank, is_one_of, nonblank};
use super::report::{Report, shown};
use super::session::Session;

members! {
    /// The fields that every event has.
    struct Event {
        kind "kind",
        severity "severity",
        message "message",
    }
}

impl Session {
    pub(super) fn event(&mut self, report: &mut Report<'_>, id: PeerId) {
        let Event { kind, severity, message } = report.record.data.map(Event::of).unwrap_or_default();
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
        let required = [("kind", kind), ("severity", severity), ("message", message)];
        let missing: Vec<_> =
            required.into_iter().filter(|(_, node)| node.is_none()).map(|(key, _)| key).collect();
        report.missing(Rule::EventFields, &missing, "event");
        let known = kind.is_some_and(|kind| is_one_of(kind, EVENT_KINDS));
        // The document tells consumers to ignore kinds that they do not know.
        if !known && kind.is_some() && self.profile != Profile::Lenient {
            report.field(Rule::EventKind, "kind", "kind is none of the seven of the protocol");
        }
        if severity.is_some_and(|severity| !is_one_of(severity, SEVERITIES)) {
            report.field(Rule::EventSeverity, "severity", "severity is none of info, warn, error, fatal");
        }
        if message.is_some_and(|message| !is_nonblank(message)) {
            report.field(Rule::EventMessage, "message", "message says nothing");
        }
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
        let has_text = |key| nonblank(detail(report.record, key)).is_some();
        let has_flag = |key| detail(report.record, key).is_some_and(|flag| flag.boolean().is_some());
        match kind {
            "BLOCKED" | "REQUEST" if self.request(report, id, kind == "BLOCKED", &message) => return,
            "HARVEST" => harvest(report),
            "ERROR" => {
                let class = detail(report.record, "error_class");
                if class.is_none_or(|class| class.text().is_none()) || !has_flag("retryable") {
                    let message = "the ERROR does not say its error_class and whether it is retryable";
                    report.at(Rule::ErrorDetail, "", None, message);
                }
            }
            "DECISION" => {
                if !["decision_id", "option_chosen", "reasoning"].into_iter().all(has_text) {
                    let message = "the DECISION lacks decision_id, option_chosen or reasoning";
                    report.at(Rule::DecisionDetail, "", None, message);
                } else if report.value("request_id").is_some_and(|node| !node.is_null()) {
                    let message = "a DECISION asks for no answer, and this one has a request_id";
                    report.at(Rule::DecisionDetail, "", None, message);
                }
            }
            "PROGRESS" => self.progress(report),
            _ => {}
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
        if Uuid::parse(&request).is_none() && self.profile != Profile::Lenient {
            let grade = if self.profile == Profile::Origin { Grade::Full } else { Grade::Note };
            report.field((Rule::RequestIdForm, grade), "request_id", "request_id is no UUID");
        }
        request_detail(report, blocked);
        let key = key_of(&request);
        let requests = &mut self.peers[id].worker.requests;
        if requests.knows(key) {
            let rule = (Rule::RequestIdForm, Grade::Should);
            report.field(rule, "request_id", "request_id was used before");
            return false;
        }
        let (at, line) = (report.record.time, report.record.line);
        requests.open(Request { key, at, line }, self.limits.requests);
        if let Some(now) = at {
            self.arm(id, now.saturating_add(self.limits.answer), Timer::Answer(line));
        }
        report.occurred(&self.peers[id].name, Occurrence::Asked { id: &request, blocked, message });
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
        } else if number("eta_ms").flatten().is_some_and(|eta| eta < 0.0) {
            report.data(Rule::ProgressRange, "eta_ms is negative");
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

fn request_detail(report: &mut Report<'_>, blocked: bool) {
    let has_text = |key| nonblank(detail(report.record, key)).is_some();
    if blocked {
        let retryable = detail(report.record, "retryable").and_then(Node::boolean);
        if !has_text("blocking_resource") || retryable.is_none() {
            let message = "the BLOCKED does not say its blocking_resource and whether it is retryable";
            report.at(Rule::BlockedDetail, "", None, message);
        }
        return;
    }
    let is_sound = |option: Node<'_>| ["id", "label"].iter().all(|key| nonblank(option.get(key)).is_some());
    let options = detail(report.record, "options").filter(|options| options.kind() == Kind::Array);
    if !options.is_some_and(|options| options.items().all(is_sound)) || !has_text("request_type") {
        let message = "the REQUEST does not say its request_type and options with id and label";
        report.at(Rule::RequestDetail, "", None, message);
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
