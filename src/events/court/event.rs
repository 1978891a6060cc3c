//! The events that a worker publishes within a phase.

use crate::json::{Key, Kind, Node};

use super::super::breach::{Grade, Happening, Observer};
use super::super::peer::{PeerId, Request, key_of};
use super::super::record::Record;
use super::super::uuid::Uuid;
use super::super::{Profile, Rule};
use super::fields::{bad_artifact, be, is_one_of, list, said, speaks};
use super::{Court, Timer, shown};

const REQUIRED: [&str; 3] = ["kind", "severity", "message"];
const KINDS: [&str; 7] = ["BLOCKED", "REQUEST", "HARVEST", "ERROR", "DECISION", "PROGRESS", "LOG"];
const SEVERITIES: [&str; 4] = ["info", "warn", "error", "fatal"];

impl Court {
    pub(super) fn event(&mut self, record: &Record<'_>, id: PeerId, out: &mut impl Observer) {
        const KEYS: [Key; 3] = [Key::new("kind"), Key::new("severity"), Key::new("message")];
        let fields = record.data.map(|data| data.pick(KEYS)).unwrap_or_default();
        let [kind, severity, message] = fields;
        let is_fatal = kind.is_some_and(|kind| kind.is_text("ERROR"))
            && severity.is_some_and(|severity| severity.is_text("fatal"));
        let complete = self.peers.get(id).life.complete_line;
        if let Some(line) = complete
            && is_fatal
        {
            self.blame(out, Rule::CompleteOrFatal, Grade::Full, record, "severity", None, || {
                format!("a fatal ERROR after the complete on line {line}")
            });
            return;
        }
        if self.after_complete(record, id, out) {
            return;
        }
        self.after_fatal(record, id);
        let missing: Vec<_> =
            REQUIRED.iter().zip(fields).filter(|(_, node)| node.is_none()).map(|(key, _)| *key).collect();
        if !missing.is_empty() {
            self.blame(out, Rule::EventFields, Grade::Full, record, "", record.data, || {
                format!("{} {} missing from the event", list(&missing), be(&missing))
            });
        }
        let known = kind.is_some_and(|kind| is_one_of(kind, &KINDS));
        // The document tells consumers to ignore kinds that they do not know.
        if !known && kind.is_some() && self.profile != Profile::Lenient {
            self.blame(out, Rule::EventKind, Grade::Full, record, "kind", kind, || {
                "kind is none of the seven of the protocol".into()
            });
        }
        if severity.is_some_and(|severity| !is_one_of(severity, &SEVERITIES)) {
            self.blame(out, Rule::EventSeverity, Grade::Full, record, "severity", severity, || {
                "severity is none of info, warn, error, fatal".into()
            });
        }
        if message.is_some_and(|message| !speaks(message)) {
            self.blame(out, Rule::EventMessage, Grade::Full, record, "message", message, || {
                "message says nothing".into()
            });
        }
        if let Some(name) = kind.and_then(Node::text) {
            self.kind(record, id, &name, out);
        }
        let life = &mut self.peers.get_mut(id).life;
        let event = record.envelope.and_then(|envelope| envelope.id).and_then(Node::text);
        life.last_event = event.map(|event| key_of(&event));
        if is_fatal {
            life.fatal_line = life.fatal_line.or(Some(record.line));
        }
    }

    fn kind(&mut self, record: &Record<'_>, id: PeerId, kind: &str, out: &mut impl Observer) {
        // Most events have a long text, and most listeners do not ask for it.
        let message =
            if out.listens() { said(record.field("message")).unwrap_or_default() } else { "".into() };
        let mut asked = false;
        match kind {
            "BLOCKED" | "REQUEST" => asked = self.request(record, id, kind == "BLOCKED", &message, out),
            "HARVEST" => self.harvest(record, out),
            "ERROR" => {
                let has = detail(record, "error_class").is_some_and(|class| class.text().is_some())
                    && detail(record, "retryable").is_some_and(|flag| flag.boolean().is_some());
                if !has {
                    self.blame(out, Rule::ErrorDetail, Grade::Full, record, "", None, || {
                        "the ERROR does not say its error_class and whether it is retryable".into()
                    });
                }
            }
            "DECISION" => {
                let lacks = ["decision_id", "option_chosen", "reasoning"]
                    .into_iter()
                    .any(|key| said(detail(record, key)).is_none());
                if lacks || record.field("request_id").is_some_and(|node| !node.is_null()) {
                    self.blame(out, Rule::DecisionDetail, Grade::Full, record, "", None, || {
                        if lacks {
                            "the DECISION lacks decision_id, option_chosen or reasoning".into()
                        } else {
                            "a DECISION asks for no answer, and this one has a request_id".into()
                        }
                    });
                }
            }
            "PROGRESS" => self.progress(record, out),
            _ => {}
        }
        if !asked {
            let what = Happening::Noted { kind, message: &message };
            out.happening(&self.peers.get(id).name, record.time, record.line, what);
        }
    }

    /// A BLOCKED or REQUEST opens a request; answers whether it did.
    fn request(
        &mut self,
        record: &Record<'_>,
        id: PeerId,
        blocked: bool,
        message: &str,
        out: &mut impl Observer,
    ) -> bool {
        let node = record.field("request_id").filter(|node| !node.is_null());
        let Some(request) = said(node) else {
            self.blame(out, Rule::RequestIdPresent, Grade::Full, record, "request_id", node, || {
                let kind = if blocked { "BLOCKED" } else { "REQUEST" };
                format!("a {kind} without a request_id cannot be answered")
            });
            return false;
        };
        if Uuid::parse(&request).is_none() && self.profile != Profile::Lenient {
            let grade = if self.profile == Profile::Origin { Grade::Full } else { Grade::Note };
            self.blame(out, Rule::RequestIdForm, grade, record, "request_id", node, || {
                "request_id is no UUID".into()
            });
        }
        self.request_detail(record, blocked, out);
        let key = key_of(&request);
        let limit = self.limits.requests;
        let life = &mut self.peers.get_mut(id).life;
        let known = life.requests.iter().any(|open| open.key == key) || life.answered.contains(&key);
        if known {
            self.blame(out, Rule::RequestIdForm, Grade::Should, record, "request_id", node, || {
                "request_id was used before".into()
            });
            return false;
        }
        if life.requests.len() >= limit {
            // The oldest is given up: whoever asks this often does not wait for it.
            life.requests.remove(0);
        }
        life.requests.push(Request { key, at: record.time, line: record.line });
        if let Some(now) = record.time {
            self.arm(id, now.saturating_add(self.limits.answer), Timer::Answer(record.line));
        }
        let what = Happening::Asked { id: &request, blocked, message };
        out.happening(&self.peers.get(id).name, record.time, record.line, what);
        true
    }

    fn request_detail(&self, record: &Record<'_>, blocked: bool, out: &mut impl Observer) {
        if blocked {
            let has = said(detail(record, "blocking_resource")).is_some()
                && detail(record, "retryable").is_some_and(|flag| flag.boolean().is_some());
            if !has {
                self.blame(out, Rule::BlockedDetail, Grade::Full, record, "", None, || {
                    "the BLOCKED does not say its blocking_resource and whether it is retryable".into()
                });
            }
            return;
        }
        let options = detail(record, "options");
        let sound = options.is_some_and(|options| {
            options.kind() == Kind::Array
                && options
                    .items()
                    .all(|option| said(option.get("id")).is_some() && said(option.get("label")).is_some())
        });
        if !sound || said(detail(record, "request_type")).is_none() {
            self.blame(out, Rule::RequestDetail, Grade::Full, record, "", None, || {
                "the REQUEST does not say its request_type and options with id and label".into()
            });
        }
    }

    fn harvest(&self, record: &Record<'_>, out: &mut impl Observer) {
        let wrong = match detail(record, "artifacts") {
            None => Some((Grade::Note, "a HARVEST without artifacts".to_owned())),
            Some(artifacts) => bad_artifact(artifacts).map(|wrong| (Grade::Full, wrong)),
        };
        if let Some((grade, wrong)) = wrong {
            let seen = detail(record, "artifacts");
            self.blame(out, Rule::HarvestArtifacts, grade, record, "", seen, || wrong);
        }
    }

    fn progress(&self, record: &Record<'_>, out: &mut impl Observer) {
        let number = |key| detail(record, key).map(Node::float);
        let whole = if self.profile == Profile::Lenient { 100.0 } else { 1.0 };
        let wrong = match number("percent") {
            Some(percent) if !percent.is_some_and(|percent| (0.0..=whole).contains(&percent)) => {
                Some(format!("percent is not between 0 and {whole}"))
            }
            _ => None,
        };
        let wrong = wrong.or_else(|| match (number("current_step"), number("total_steps")) {
            (Some(Some(current)), Some(Some(total))) if current > total => {
                Some("current_step is beyond total_steps".into())
            }
            _ => None,
        });
        let wrong = wrong.or_else(|| match number("eta_ms") {
            Some(Some(eta)) if eta < 0.0 => Some("eta_ms is negative".into()),
            _ => None,
        });
        if let Some(wrong) = wrong {
            self.blame(out, Rule::ProgressRange, Grade::Full, record, "", record.data, || wrong);
        }
    }

    /// Reports what comes after a complete; answers whether it did.
    pub(super) fn after_complete(
        &mut self,
        record: &Record<'_>,
        id: PeerId,
        out: &mut impl Observer,
    ) -> bool {
        let peer = self.peers.get(id);
        let Some(line) = peer.life.complete_line else { return false };
        if peer.life.afterlife_told {
            return true;
        }
        self.blame(out, Rule::AfterComplete, Grade::Full, record, "/topic", None, || {
            format!("{} goes on after its complete on line {line}", shown(&peer.name))
        });
        // One worker that does not stop is one mistake, however long it goes on.
        self.peers.get_mut(id).life.afterlife_told = true;
        true
    }
}

/// A kind's own field: under `data.data`, as the sections write it, or beside `kind`, as the dialogue does.
fn detail<'a>(record: &Record<'a>, key: &str) -> Option<Node<'a>> {
    let data = record.data?;
    data.get("data").and_then(|inner| inner.get(key)).or_else(|| data.get(key))
}
