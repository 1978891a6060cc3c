//! Commands: who may give them, what they hold, and whether they answer a request.

use std::borrow::Cow;

use crate::json::Node;

use super::super::breach::{Breach, Grade, Happening, Observer};
use super::super::peer::{PeerId, Role, key_of};
use super::super::phase::Phase;
use super::super::record::Record;
use super::super::topic::Verb;
use super::super::uuid::Uuid;
use super::super::{Profile, Rule};
use super::fields::{be, list, missing, said};
use super::{Court, SERVER, Timer, breach, shown};
use crate::time;

/// Answers that are remembered of a worker, to find a second one.
const ANSWERED: usize = 32;

/// Whether a field is there and is something else than a text; an id without a letter is none either.
fn is_no_text(record: &Record<'_>, key: &str) -> bool {
    record.field(key).is_some_and(|node| match key {
        "correlation_id" => said(Some(node)).is_none(),
        _ => node.text().is_none(),
    })
}

impl Court {
    pub(super) fn command(
        &mut self,
        record: &Record<'_>,
        target: &str,
        verb: Option<Verb>,
        rest: &str,
        intact: bool,
        out: &mut impl Observer,
    ) {
        if !self.may_command(record, out) {
            return;
        }
        let documented = verb.is_some_and(|verb| verb != Verb::Unblock);
        if !documented && self.profile == Profile::Strict {
            self.blame(out, Rule::CommandVerb, Grade::Full, record, "/topic", None, || {
                format!("`{}` is none of the documented commands", shown(rest))
            });
        }
        if rest == "ack" {
            // The published server's workers acknowledge commands on this topic.
            return;
        }
        self.root_parent(record, out);
        if let Some(verb) = verb
            && intact
        {
            self.command_fields(record, verb, out);
        }
        let id = self.peers.find(target);
        let is_there = id.is_some_and(|id| !self.peers.get(id).left);
        let correlation = self.correlation_of(record, out);
        let answered = correlation
            .is_some_and(|correlation| self.answer(record, id, is_there, verb, rest, &correlation, out));
        if !is_there && !answered {
            self.absent(record, target, id, out);
        }
        let Some(id) = id.filter(|_| is_there) else { return };
        if !answered {
            let name = &self.peers.get(id).name;
            out.happening(name, record.time, record.line, Happening::Commanded(rest));
        }
        if let Some(verb) = verb {
            self.order(record, id, verb, out);
        }
    }

    /// Whether the publisher may give commands; somebody whose role is not known may.
    fn may_command(&mut self, record: &Record<'_>, out: &mut impl Observer) -> bool {
        if self.profile == Profile::Origin {
            return true;
        }
        let Some(from) = record.publisher() else { return true };
        if from == SERVER {
            return true;
        }
        let Some(id) = self.peers.meet(&from) else { return true };
        let peer = self.peers.get(id);
        match peer.role {
            Role::Orchestrator => true,
            Role::Unknown => {
                if !peer.told.role_unknown {
                    let grade = if self.is_suffix { Grade::Note } else { Grade::Indeterminate };
                    self.blame(out, Rule::OrchestratorCommands, grade, record, "/from", None, || {
                        format!("the log does not tell whether {} is an orchestrator", shown(&from))
                    });
                    self.peers.get_mut(id).told.role_unknown = true;
                }
                true
            }
            Role::Worker | Role::Observer => {
                let what = if peer.role == Role::Worker { "a worker" } else { "an observer" };
                self.blame(out, Rule::OrchestratorCommands, Grade::Full, record, "/from", None, || {
                    format!("{}, {what}, sends a command", shown(&from))
                });
                false
            }
        }
    }

    /// A broadcast to a role.
    pub(super) fn role(&mut self, record: &Record<'_>, role: &str, out: &mut impl Observer) {
        if Role::from_name(role).is_none() {
            self.blame(out, Rule::RoleTopic, Grade::Full, record, "/topic", None, || {
                format!("`{}` is none of the roles orchestrator, worker, observer", shown(role))
            });
        }
        if self.may_command(record, out) {
            self.root_parent(record, out);
        }
    }

    fn command_fields(&self, record: &Record<'_>, verb: Verb, out: &mut impl Observer) {
        let required: &[&str] = match verb {
            Verb::Approve => &["correlation_id"],
            Verb::Reject => &["correlation_id", "reason"],
            Verb::Abort => &["reason"],
            Verb::SetPhase => &["phase", "reason"],
            Verb::Spawn => &["name", "mission"],
            Verb::InjectText => &["text"],
            Verb::Pause | Verb::Resume | Verb::Unblock => &[],
        };
        let mut missing = missing(record, required);
        let in_envelope = record.envelope.and_then(|envelope| said(envelope.correlation_id)).is_some();
        if in_envelope && self.profile != Profile::Origin {
            missing.retain(|key| *key != "correlation_id");
        }
        if !missing.is_empty() {
            self.blame(out, Rule::CommandFields, Grade::Full, record, "", record.data, || {
                format!("{} {} missing from the command", list(&missing), be(&missing))
            });
        } else if let Some(key) = required.iter().find(|key| **key != "phase" && is_no_text(record, key)) {
            self.blame(out, Rule::CommandFields, Grade::Full, record, key, record.field(key), || {
                format!("{key} is no text")
            });
        } else if self.profile == Profile::Origin && required.contains(&"correlation_id") {
            let node = record.field("correlation_id");
            if said(node).is_none_or(|id| Uuid::parse(&id).is_none()) {
                self.blame(out, Rule::CommandFields, Grade::Full, record, "correlation_id", node, || {
                    "correlation_id is no UUID, which the published server asks for".into()
                });
            }
        }
        if verb == Verb::SetPhase {
            let node = record.field("phase");
            if node.is_some_and(|node| node.text().is_none_or(|name| Phase::from_name(&name).is_none())) {
                self.blame(out, Rule::SetPhaseName, Grade::Full, record, "phase", node, || {
                    "phase is none of the nine of the protocol".into()
                });
            }
        }
        if verb == Verb::InjectText {
            self.injected(record, record.field("text"), out);
        }
    }

    /// Text that is meant as a command has a header of a fixed form.
    pub(super) fn injected(&self, record: &Record<'_>, text: Option<Node<'_>>, out: &mut impl Observer) {
        let Some(said) = text.and_then(Node::text) else { return };
        if said.starts_with("[CLAWS_CMD") && !is_header(&said) {
            self.blame(out, Rule::InjectedHeader, Grade::Full, record, "text", text, || {
                "the text is not `[CLAWS_CMD r=<id>] <command>: <json>`".into()
            });
        }
    }

    /// The id that a command answers: in the data or in the envelope; where it is in both, they agree.
    fn correlation_of<'a>(&self, record: &Record<'a>, out: &mut impl Observer) -> Option<Cow<'a, str>> {
        let inner = said(record.field("correlation_id"));
        let outer = record.envelope.and_then(|envelope| said(envelope.correlation_id));
        if let (Some(inner), Some(outer)) = (&inner, &outer)
            && inner != outer
        {
            let seen = record.field("correlation_id");
            self.blame(out, Rule::CorrelationsAgree, Grade::Full, record, "correlation_id", seen, || {
                "the correlation ids of envelope and data differ".into()
            });
        }
        inner.or(outer)
    }

    /// Closes the request that a command answers; answers whether the command was meant as an answer.
    #[expect(clippy::too_many_arguments, reason = "all of it decides")]
    fn answer(
        &mut self,
        record: &Record<'_>,
        id: Option<PeerId>,
        is_there: bool,
        verb: Option<Verb>,
        rest: &str,
        correlation: &str,
        out: &mut impl Observer,
    ) -> bool {
        let is_answer = matches!(verb, Some(Verb::Approve | Verb::Reject | Verb::Unblock));
        if !is_answer && self.profile == Profile::Strict {
            return false;
        }
        let key = key_of(correlation);
        if let Some(id) = id {
            let life = &mut self.peers.get_mut(id).life;
            if let Some(at) = life.requests.iter().position(|open| open.key == key) {
                let request = life.requests.remove(at);
                if life.answered.len() >= ANSWERED {
                    life.answered.pop_front();
                }
                life.answered.push_back(key);
                let after = record.time.zip(request.at).map(|(now, asked)| now.saturating_sub(asked));
                let what = Happening::Answered { id: correlation, verb: rest, after };
                out.happening(&self.peers.get(id).name, record.time, record.line, what);
                return true;
            }
            if life.answered.contains(&key) {
                self.blame(out, Rule::AnsweredOnce, Grade::Full, record, "correlation_id", None, || {
                    "the request was already answered".into()
                });
                return true;
            }
            if life.complete_line.is_some() {
                // Its requests went with it; that the answer comes late is no new mistake.
                return true;
            }
        }
        if !is_answer {
            return false;
        }
        let grade = match id {
            Some(id) => self.sure(id),
            None if self.is_suffix => Grade::Note,
            None if self.lost > 0 || self.peers.forgotten > 0 => Grade::Indeterminate,
            None => Grade::Full,
        };
        let seen = record.field("correlation_id");
        self.push(out, Rule::AnswersRequest, || Breach {
            consequences: if is_there { Vec::new() } else { vec![(Rule::CommandTarget, record.line)] },
            ..breach(Rule::AnswersRequest, grade, record, "correlation_id", seen, {
                "the command answers a request that the worker never made".into()
            })
        });
        true
    }

    fn absent(&self, record: &Record<'_>, target: &str, id: Option<PeerId>, out: &mut impl Observer) {
        // Without joins in the log a peer may be there and silent.
        if id.is_none() && !self.session.joined {
            return;
        }
        let unsure = self.is_suffix || self.lost > 0 || self.peers.forgotten > 0;
        let grade = if id.is_none() && unsure { Grade::Indeterminate } else { Grade::Full };
        self.blame(out, Rule::CommandTarget, grade, record, "/topic", None, || {
            let how = if id.is_some() { "has left" } else { "never joined" };
            format!("the command goes to {}, which {how}", shown(target))
        });
    }

    /// What a worker has to do now.
    fn order(&mut self, record: &Record<'_>, id: PeerId, verb: Verb, out: &mut impl Observer) {
        let phase = record.field("phase").and_then(Node::text).and_then(|name| Phase::from_name(&name));
        let is_worker = self.peers.get(id).is_worker();
        let (line, now) = (record.line, record.time);
        let life = &mut self.peers.get_mut(id).life;
        if matches!(verb, Verb::Abort | Verb::InjectText) {
            life.stale = None;
        }
        let timer = match verb {
            Verb::Pause => {
                life.paused = true;
                return;
            }
            Verb::Resume => {
                let was_paused = std::mem::take(&mut life.paused);
                if !was_paused {
                    let grade = self.sure(id);
                    self.blame(out, Rule::ResumeAfterPause, grade, record, "/topic", None, || {
                        "a resume without a pause before it".into()
                    });
                }
                return;
            }
            Verb::Abort if is_worker && !life.is_over() => {
                life.abort = Some(line);
                (self.limits.order, Timer::Abort(line))
            }
            Verb::SetPhase => {
                let Some(phase) = phase else { return };
                life.forced = Some((phase, line));
                (self.limits.order, Timer::SetPhase(line))
            }
            Verb::Spawn => {
                life.spawn = Some(line);
                (self.limits.reaction, Timer::Spawn(line))
            }
            _ => return,
        };
        if let Some(now) = now {
            self.arm(id, now.saturating_add(timer.0), timer.1);
        }
    }

    /// Fires when an order was not obeyed or a request not answered in time.
    pub(super) fn overdue(&mut self, id: PeerId, timer: Timer, out: &mut impl Observer) {
        let place = (self.line, self.offset);
        let sure = self.sure(id).min(Grade::Full);
        let life = &mut self.peers.get_mut(id).life;
        match timer {
            Timer::Answer(line) if life.requests.iter().any(|open| open.line == line) => {
                let limit = time::span(self.limits.answer);
                self.tell(out, Rule::AnswerInTime, sure, place, Some(id), || {
                    format!("the request on line {line} is still open after {limit}")
                });
            }
            Timer::Abort(line) if life.abort == Some(line) => {
                life.abort = None;
                if !life.is_over() {
                    let limit = time::span(self.limits.order);
                    self.tell(out, Rule::AbortObeyed, sure, place, Some(id), || {
                        format!("the worker goes on {limit} after the abort on line {line}")
                    });
                }
            }
            Timer::SetPhase(line) if life.forced.is_some_and(|(_, ordered)| ordered == line) => {
                let phase = life.forced.take().map_or("", |(phase, _)| phase.name());
                self.tell(out, Rule::SetPhaseObeyed, sure, place, Some(id), || {
                    format!("the worker did not enter {phase}, to which line {line} set it")
                });
            }
            Timer::Spawn(line) if life.spawn == Some(line) => {
                life.spawn = None;
                self.tell(out, Rule::SpawnObeyed, sure, place, Some(id), || {
                    format!("no sub-worker booted after the order on line {line}")
                });
            }
            _ => {}
        }
    }

    /// The root orchestrator has no parent.
    fn root_parent(&mut self, record: &Record<'_>, out: &mut impl Observer) {
        let Some(parent) = record.envelope.and_then(|envelope| said(envelope.parent_id)) else { return };
        let Some(id) = record.publisher().and_then(|from| self.peers.find(&from)) else { return };
        if self.root != Some(id) || self.peers.get(id).told.root_parent {
            return;
        }
        self.peers.get_mut(id).told.root_parent = true;
        let pointer = format!("{}/parent_id", record.envelope_at);
        self.blame(out, Rule::RootParent, Grade::Full, record, &pointer, None, || {
            format!("the root orchestrator names {} as its parent", shown(&parent))
        });
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
    is_word(id) && is_word(command) && serde_json::from_str::<serde::de::IgnoredAny>(json.trim()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::is_header;

    #[test]
    fn the_header_of_an_injected_command() {
        assert!(is_header(r#"[CLAWS_CMD r=req-abc] approve_request: { "approved": true }"#));
        assert!(is_header(r#"[CLAWS_CMD seq=1 r=r1] approve_request: {"chosen":"B"}"#));
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
