//! Commands: who may give them, what they hold, and whether they answer a request.

use std::borrow::Cow;

use crate::json::Node;

use super::super::peers::{PeerId, Role, key_of};
use super::super::phase::Phase;
use super::super::record::Record;
use super::super::timers::Timer;
use super::super::topic::Verb;
use super::super::violation::{Grade, Occurrence, Violation};
use super::super::{Profile, Rule};
use super::fields::nonblank;
use super::report::{Report, shown};
use super::session::{SERVER, Session, is_later_version};
use super::shape::Shape;

impl Session {
    pub(super) fn command(
        &mut self,
        report: &mut Report<'_>,
        target: &str,
        verb: Option<Verb>,
        rest: &str,
        has_data: bool,
    ) {
        if !self.may_command(report) {
            return;
        }
        let documented = verb.is_some_and(|verb| verb != Verb::Unblock);
        if !documented && self.profile == Profile::Strict {
            let message = format_args!("`{}` is none of the documented commands", shown(rest));
            report.topic(Rule::CommandVerb, message);
        }
        if rest == "ack" {
            // The published server's workers acknowledge commands on this topic.
            return;
        }
        self.root_parent(report);
        if let Some(verb) = verb
            && has_data
            && !is_later_version(report.record)
        {
            self.command_fields(report, verb);
        }
        let id = self.peers.find(target);
        let present = id.filter(|id| !self.peers[*id].left);
        let correlation = correlation_of(report).or_else(|| header_of(report).map(Cow::Owned));
        let answered = correlation
            .is_some_and(|correlation| self.answer(report, (id, present), verb, rest, &correlation));
        if present.is_none() && !answered {
            self.absent(report, target, id);
        }
        let Some(id) = present else { return };
        if !answered {
            report.occurred(&self.peers[id].name, Occurrence::Commanded(rest));
        }
        if let Some(verb) = verb {
            self.order(report, id, verb);
        }
    }

    /// Whether the publisher may give commands; somebody whose role is not known may.
    pub(super) fn may_command(&mut self, report: &mut Report<'_>) -> bool {
        if self.profile == Profile::Origin {
            return true;
        }
        let Some(from) = report.record.publisher().filter(|from| from != SERVER) else { return true };
        let Some(id) = self.peers.meet(&from) else { return true };
        let what = match self.peers[id].role {
            Some(Role::Orchestrator) => return true,
            Some(Role::Worker) => "a worker",
            Some(Role::Observer) => "an observer",
            None => {
                if !std::mem::replace(&mut self.peers[id].reported.role_unknown, true) {
                    let grade = if self.start_is_missing { Grade::Note } else { Grade::Indeterminate };
                    let from = shown(&from);
                    let message = format_args!("the log does not tell whether {from} is an orchestrator");
                    report.publisher((Rule::OrchestratorCommands, grade), message);
                }
                return true;
            }
        };
        let message = format_args!("{}, {what}, sends a command", shown(&from));
        report.publisher(Rule::OrchestratorCommands, message);
        report.is_refused = true;
        false
    }

    fn command_fields(&self, report: &mut Report<'_>, verb: Verb) {
        let in_envelope = self.profile != Profile::Origin && outer_correlation(report.record).is_some();
        let excused: &[&str] = if in_envelope { &["correlation_id"] } else { &[] };
        report.is_broken |= !Shape::of_command(verb).check(report, self.profile, excused);
        if verb == Verb::InjectText {
            injected(report);
        }
    }

    /// Closes the request that a command answers; answers whether the command was meant as an answer.
    fn answer(
        &mut self,
        report: &mut Report<'_>,
        (id, present): (Option<PeerId>, Option<PeerId>),
        verb: Option<Verb>,
        rest: &str,
        correlation: &str,
    ) -> bool {
        let record = report.record;
        // Any command with the right id answers; only these have no other purpose.
        let is_answer = matches!(verb, Some(Verb::Approve | Verb::Reject | Verb::Unblock));
        let key = key_of(correlation);
        if let Some(id) = id {
            let worker = &mut self.peers[id].worker;
            if let Some(request) = worker.requests.answer(key) {
                let after = record.time.zip(request.at).map(|(now, asked)| now.saturating_sub(asked));
                let what = Occurrence::Answered { id: correlation, verb: rest, after };
                report.occurred(&self.peers[id].name, what);
                return true;
            }
            if worker.requests.was_answered(key) {
                report.at(Rule::AnsweredOnce, "correlation_id", None, "the request was already answered");
                return true;
            }
            if worker.end.complete.is_some() {
                // Its requests went with it; that the answer comes late is no new mistake.
                return true;
            }
        }
        if !is_answer {
            return false;
        }
        let grade = match id {
            Some(id) if self.peers[id].worker.missed => Grade::Indeterminate,
            Some(id) => self.certainty(id),
            None if self.start_is_missing => Grade::Note,
            None if self.lost_line > 0 || self.peers.forgotten > 0 => Grade::Indeterminate,
            None => Grade::Full,
        };
        let target_missing = (Rule::CommandTarget, record.line);
        let message = "the command answers a request that the worker never made";
        let seen = record.field("correlation_id");
        report.push(Violation {
            consequences: if present.is_some() { Vec::new() } else { vec![target_missing] },
            ..report.violation((Rule::AnswersRequest, grade), "correlation_id", seen, message)
        });
        true
    }

    fn absent(&self, report: &mut Report<'_>, target: &str, id: Option<PeerId>) {
        // Without joins in the log a peer may be there and silent.
        if id.is_none() && !self.has_joins {
            return;
        }
        let unsure = self.start_is_missing || self.lost_line > 0 || self.peers.forgotten > 0;
        let grade = if id.is_none() && unsure { Grade::Indeterminate } else { Grade::Full };
        let how = if id.is_some() { "has left" } else { "never joined" };
        let message = format_args!("the command goes to {}, which {how}", shown(target));
        report.topic((Rule::CommandTarget, grade), message);
    }

    /// What a worker has to do now.
    fn order(&mut self, report: &mut Report<'_>, id: PeerId, verb: Verb) {
        let line = report.record.line;
        let is_worker = self.peers[id].is_worker();
        let worker = &mut self.peers[id].worker;
        if matches!(verb, Verb::Abort | Verb::InjectText) {
            worker.stale = None;
        }
        let is_over = worker.is_over();
        let orders = &mut worker.orders;
        let (wait, timer) = match verb {
            Verb::Pause => {
                orders.paused = Some(line);
                return;
            }
            Verb::Resume => {
                orders.paused = None;
                return;
            }
            Verb::Abort if is_worker && !is_over => {
                orders.abort = Some(line);
                (self.limits.order, Timer::Abort(line))
            }
            Verb::SetPhase => {
                let Some(phase) = Phase::of(report.value("phase")) else { return };
                orders.set_phase = Some((phase, line));
                (self.limits.order, Timer::SetPhase(line))
            }
            Verb::Spawn => {
                orders.spawn = Some(line);
                (self.limits.reaction, Timer::Spawn(line))
            }
            _ => return,
        };
        if let Some(now) = report.record.time {
            self.arm(id, now.saturating_add(wait), timer);
        }
    }

    /// The root orchestrator has no parent.
    pub(super) fn root_parent(&mut self, report: &mut Report<'_>) {
        let Some(parent) = report.record.parent() else { return };
        let Some(id) = report.record.publisher().and_then(|from| self.peers.find(&from)) else { return };
        if self.root == Some(id) && !std::mem::replace(&mut self.peers[id].reported.root_parent, true) {
            let message = format_args!("the root orchestrator names {} as its parent", shown(&parent));
            report.envelope(Rule::RootParent, "parent_id", None, message);
        }
    }
}

/// The correlation id of the envelope.
fn outer_correlation<'a>(record: &Record<'a>) -> Option<Cow<'a, str>> {
    record.envelope.and_then(|envelope| nonblank(envelope.correlation_id))
}

/// The id that a command answers: in the data or in the envelope; where it is in both, they agree.
fn correlation_of<'r>(report: &mut Report<'r>) -> Option<Cow<'r, str>> {
    let inner = nonblank(report.value("correlation_id"));
    let outer = outer_correlation(report.record);
    if inner.is_some() && outer.is_some() && inner != outer {
        let message = "the correlation ids of envelope and data differ";
        report.field(Rule::CorrelationsAgree, "correlation_id", message);
    }
    inner.or(outer)
}

/// The id in the header of an injected command.
fn header_of(report: &Report<'_>) -> Option<String> {
    let text = report.value("text").and_then(Node::text)?;
    header_id(&text).map(ToOwned::to_owned)
}

/// The id that `[CLAWS_CMD r=<id>]` names.
pub(super) fn header_id(text: &str) -> Option<&str> {
    let (header, _) = text.strip_prefix("[CLAWS_CMD ")?.split_once(']')?;
    header.split(' ').find_map(|word| word.strip_prefix("r=")).filter(|id| !id.is_empty())
}

/// Text that is meant as a command has a header of a fixed form.
pub(super) fn injected(report: &mut Report<'_>) {
    let Some(text) = report.value("text").and_then(Node::text) else { return };
    if text.starts_with("[CLAWS_CMD") && !is_header(&text) {
        let message = "the text is not `[CLAWS_CMD r=<id>] <command>: <json>`";
        report.field(Rule::InjectedHeader, "text", message);
    }
}

/// Whether a text is `[CLAWS_CMD r=<id>] <command>: <json>`, with the `seq=<n>` that the published server puts in.
fn is_header(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("[CLAWS_CMD ") else { return false };
    let rest = match rest.strip_prefix("seq=") {
        Some(after) => {
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            match after[digits..].strip_prefix(' ') {
                Some(after) if digits > 0 => after,
                _ => return false,
            }
        }
        None => rest,
    };
    let Some((id, rest)) = rest.strip_prefix("r=").and_then(|rest| rest.split_once("] ")) else {
        return false;
    };
    let Some((command, json)) = rest.split_once(':') else { return false };
    let is_word = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    let is_id = !id.is_empty() && !id.contains(char::is_whitespace) && !id.contains([']', '[']);
    is_id && is_word(command) && serde_json::from_str::<serde::de::IgnoredAny>(json.trim()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{header_id, is_header};

    #[test]
    fn the_header_of_an_injected_command() {
        assert!(is_header(r#"[CLAWS_CMD r=req-abc] approve_request: { "approved": true }"#));
        assert!(is_header(r#"[CLAWS_CMD seq=1 r=r1] approve_request: {"chosen":"B"}"#));
        assert!(is_header("[CLAWS_CMD r=gull:7.b/2] approve_request: {}"));
        assert_eq!(header_id("[CLAWS_CMD seq=1 r=gull:7.b] x: {}"), Some("gull:7.b"));
        assert_eq!(header_id("[CLAWS_CMD seq=1] x: {}"), None);
        for bad in [
            "[CLAWS_CMD] approve: {}",
            "[CLAWS_CMD r=] approve: {}",
            "[CLAWS_CMD r=a] approve",
            "[CLAWS_CMD r=a] approve: {",
            "[CLAWS_CMD seq= r=a] approve: {}",
        ] {
            assert!(!is_header(bad), "{bad}");
        }
    }
}
