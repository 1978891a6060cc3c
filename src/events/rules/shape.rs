//! What the data of each kind of record holds: the fields of the document's tables, and those that the published server
//! asks for under `origin`.

use crate::json::{Kind, Node};

use super::super::features::{EVENT_KINDS, RESULTS, SEVERITIES};
use super::super::peers::Role;
use super::super::phase::Phase;
use super::super::topic::{Fact, System, Verb};
use super::super::uuid::Uuid;
use super::super::{Profile, Rule};
use super::fields::{amount, bad_artifact, is_nonblank, list_is};
use super::report::Report;
use crate::time;

/// What a value has to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Type {
    Anything,
    Text,
    /// A text that says something.
    Words,
    /// A text with at least one character, which may be blank.
    NotEmpty,
    TextOrNull,
    Uuid,
    UuidOrNull,
    OneOf(&'static [&'static str]),
    PhaseOrNull,
    /// A number from 0 up.
    Amount,
    Boolean,
    Object,
    Texts,
    Phases,
    Artifacts,
    Time,
    /// A time in UTC.
    TimeUtc,
    /// A reason for a complaint in whichever form.
    Complaint,
}

impl Type {
    fn allows(self, node: Node<'_>) -> bool {
        let text = || node.text();
        let is_list = || node.kind() == Kind::Array;
        match self {
            Self::Anything => true,
            Self::Text => node.kind() == Kind::String,
            Self::Words => is_nonblank(node),
            Self::NotEmpty => node.kind() == Kind::String && !node.is_text(""),
            Self::TextOrNull => node.is_null() || node.kind() == Kind::String,
            Self::Uuid => text().is_some_and(|text| Uuid::parse(&text).is_some()),
            Self::UuidOrNull => node.is_null() || Self::Uuid.allows(node),
            Self::OneOf(names) => names.iter().any(|name| node.is_text(name)),
            Self::PhaseOrNull => node.is_null() || Phase::of(Some(node)).is_some(),
            Self::Amount => amount(Some(node)).is_some(),
            Self::Boolean => node.boolean().is_some(),
            Self::Object => node.is_object(),
            Self::Texts => is_list() && node.items().all(|item| item.kind() == Kind::String),
            Self::Phases => is_list() && node.items().all(|item| Phase::of(Some(item)).is_some()),
            Self::Artifacts => bad_artifact(node).is_none(),
            Self::Time => text().is_some_and(|text| time::parse(&text).is_some()),
            Self::TimeUtc => text().is_some_and(|text| time::parse_utc(&text).is_some()),
            Self::Complaint => matches!(node.kind(), Kind::String | Kind::Array | Kind::Object),
        }
    }

    /// What a value that is not allowed is, after the field's name and `is`.
    fn otherwise(self, node: Node<'_>) -> String {
        match self {
            Self::Anything => "odd".into(),
            Self::Words | Self::NotEmpty if node.kind() == Kind::String => "empty".into(),
            Self::Text | Self::Words | Self::NotEmpty => "no string".into(),
            Self::TextOrNull => "neither a string nor null".into(),
            Self::Uuid => "no UUID".into(),
            Self::UuidOrNull => "neither a UUID nor null".into(),
            Self::OneOf(names) if names.len() == Phase::NAMES.len() => "none of the nine phases".into(),
            Self::OneOf(names) => format!("none of {}", names.join(", ")),
            Self::PhaseOrNull => "neither a phase nor null".into(),
            Self::Amount => "no number from 0 up".into(),
            Self::Boolean => "neither true nor false".into(),
            Self::Object => "no object".into(),
            Self::Texts => "no list of strings".into(),
            Self::Phases => "no list of phases".into(),
            Self::Artifacts => bad_artifact(node).map_or("odd".into(), |wrong| format!("malformed: {wrong}")),
            Self::Time => "no RFC 3339 time".into(),
            Self::TimeUtc => "no time in UTC".into(),
            Self::Complaint => "no complaint".into(),
        }
    }
}

/// A field of a record's data.
pub(super) struct Field {
    pub(super) key: &'static str,
    /// Whether the document requires it, and whether the published server does.
    required: (bool, bool),
    /// What it is by the document, and by the published server.
    types: (Type, Type),
    /// The rule that a value of another type breaks.
    wrong: Rule,
}

impl Field {
    fn by(&self, profile: Profile) -> (bool, Type) {
        match profile {
            Profile::Origin => (self.required.1, self.types.1),
            Profile::Strict | Profile::Lenient => (self.required.0, self.types.0),
        }
    }
}

/// The fields of one kind of record.
pub(super) struct Shape {
    /// What the record is called in a sentence.
    name: &'static str,
    /// The rule that a missing field breaks.
    missing: Rule,
    fields: &'static [Field],
}

/// A field that document and server ask for alike.
const fn both(key: &'static str, kind: Type, wrong: Rule) -> Field {
    Field { key, required: (true, true), types: (kind, kind), wrong }
}

/// A field that may be left out.
const fn may(key: &'static str, kind: Type, wrong: Rule) -> Field {
    Field { key, required: (false, false), types: (kind, kind), wrong }
}

/// A field that the document requires and the server does not.
const fn documented(key: &'static str, kind: Type, wrong: Rule) -> Field {
    Field { key, required: (true, false), types: (kind, kind), wrong }
}

/// A field that only the published server looks at, and that may be left out.
const fn published(key: &'static str, kind: Type, wrong: Rule) -> Field {
    Field { key, required: (false, false), types: (Type::Anything, kind), wrong }
}

impl Field {
    /// The same, with another type under `origin`.
    const fn origin(mut self, kind: Type) -> Self {
        self.types.1 = kind;
        self
    }

    /// The same, required by the published server.
    const fn required_by_origin(mut self) -> Self {
        self.required.1 = true;
        self
    }
}

const PHASE: Type = Type::OneOf(Phase::NAMES);
const ROLE: Type = Type::OneOf(Role::NAMES);
const HEARTBEAT_KINDS: &[&str] =
    &["progress", "heartbeat", "approach", "error", "mission_complete", "mission_failed"];

const BOOT: Shape = Shape {
    name: "boot",
    missing: Rule::BootFields,
    fields: &[
        both("model", Type::Words, Rule::BootTypes).origin(Type::NotEmpty),
        both("role", ROLE, Rule::BootRole),
        both("mission_summary", Type::Words, Rule::BootTypes).origin(Type::NotEmpty),
        both("cwd", Type::Words, Rule::BootTypes).origin(Type::NotEmpty),
        both("terminal_id", Type::Text, Rule::BootTypes),
        may("parent_peer_id", Type::TextOrNull, Rule::BootTypes).required_by_origin(),
        may("capabilities", Type::Texts, Rule::BootTypes).required_by_origin(),
    ],
};

const PHASE_CHANGE: Shape = Shape {
    name: "phase",
    missing: Rule::PhaseFields,
    fields: &[
        both("phase", PHASE, Rule::PhaseName),
        both("prev", Type::PhaseOrNull, Rule::PrevName),
        both("transition_reason", Type::Words, Rule::TransitionReason).origin(Type::NotEmpty),
        both("phases_completed", Type::Texts, Rule::PhaseTypes).origin(Type::Phases),
        may("metadata", Type::Object, Rule::PhaseTypes),
    ],
};

const EVENT: Shape = Shape {
    name: "event",
    missing: Rule::EventFields,
    fields: &[
        both("kind", Type::OneOf(EVENT_KINDS), Rule::EventKind),
        both("severity", Type::OneOf(SEVERITIES), Rule::EventSeverity),
        both("message", Type::Words, Rule::EventMessage).origin(Type::NotEmpty),
        published("request_id", Type::Uuid, Rule::RequestIdForm),
        may("data", Type::Object, Rule::EventData),
    ],
};

const HEARTBEAT: Shape = Shape {
    name: "heartbeat",
    missing: Rule::HeartbeatFields,
    fields: &[
        documented("current_phase", PHASE, Rule::HeartbeatTypes),
        documented("time_in_phase_ms", Type::Amount, Rule::HeartbeatTypes),
        documented("tokens_used", Type::Amount, Rule::HeartbeatTypes),
        documented("cost_usd", Type::Amount, Rule::HeartbeatTypes),
        may("last_event_id", Type::TextOrNull, Rule::HeartbeatTypes).origin(Type::UuidOrNull),
        may("active_sub_workers", Type::Texts, Rule::HeartbeatTypes),
        published("kind", Type::OneOf(HEARTBEAT_KINDS), Rule::HeartbeatTypes),
        published("summary", Type::Text, Rule::HeartbeatTypes),
        published("current_action", Type::Text, Rule::HeartbeatTypes),
        published("duration_ms", Type::Amount, Rule::HeartbeatTypes),
        published("tokens_in", Type::Amount, Rule::HeartbeatTypes),
        published("tokens_out", Type::Amount, Rule::HeartbeatTypes),
        published("total_cost_usd", Type::Amount, Rule::HeartbeatTypes),
        published("total_duration_ms", Type::Amount, Rule::HeartbeatTypes),
        published("total_tool_calls", Type::Amount, Rule::HeartbeatTypes),
        published("captured_at", Type::TimeUtc, Rule::HeartbeatTypes),
        published("correlation_id", Type::Text, Rule::HeartbeatTypes),
        published("error_detail", Type::Text, Rule::HeartbeatTypes),
        published("approach_detail", Type::Texts, Rule::HeartbeatTypes),
    ],
};
/// How many of a heartbeat's fields the document knows.
const HEARTBEAT_DOCUMENTED: usize = 6;

const COMPLETE: Shape = Shape {
    name: "complete",
    missing: Rule::CompleteFields,
    fields: &[
        both("result", Type::OneOf(RESULTS), Rule::CompleteResult),
        documented("summary", Type::Words, Rule::CompleteTypes).origin(Type::NotEmpty),
        documented("artifacts", Type::Artifacts, Rule::CompleteArtifacts),
        documented("phases_completed", Type::Texts, Rule::CompleteTypes).origin(Type::Phases),
        may("total_tokens", Type::Amount, Rule::CompleteTypes),
        may("total_cost_usd", Type::Amount, Rule::CompleteTypes),
        may("duration_ms", Type::Amount, Rule::CompleteTypes),
    ],
};

const fn command(fields: &'static [Field]) -> Shape {
    Shape { name: "command", missing: Rule::CommandFields, fields }
}

const CORRELATION: Field = both("correlation_id", Type::Words, Rule::CommandFields).origin(Type::Uuid);
const REASON: Field = both("reason", Type::Words, Rule::CommandFields).origin(Type::NotEmpty);
const APPROVE: Shape = command(&[CORRELATION, may("payload", Type::Object, Rule::CommandFields)]);
const REJECT: Shape = command(&[CORRELATION, REASON]);
const ABORT: Shape = command(&[REASON]);
const SET_PHASE: Shape = command(&[both("phase", PHASE, Rule::SetPhaseName), REASON]);
const SPAWN: Shape = command(&[
    both("name", Type::Words, Rule::CommandFields).origin(Type::NotEmpty),
    both("mission", Type::Words, Rule::CommandFields).origin(Type::NotEmpty),
    may("model", Type::Text, Rule::CommandFields),
]);
const INJECT_TEXT: Shape = command(&[
    both("text", Type::Text, Rule::CommandFields),
    may("paste", Type::Boolean, Rule::CommandFields),
]);
const NOTHING: Shape = command(&[]);

const fn server_event(fields: &'static [Field]) -> Shape {
    Shape { name: "event", missing: Rule::SystemFields, fields }
}

const fn named(key: &'static str) -> Field {
    both(key, Type::Words, Rule::SystemTypes).origin(Type::NotEmpty)
}

const JOINED: Shape = server_event(&[
    named("peerId"),
    both("role", ROLE, Rule::SystemTypes),
    named("peerName"),
    both("ts", Type::Time, Rule::SystemTypes).origin(Type::TimeUtc),
]);
const LEFT: Shape = server_event(&[
    named("peerId"),
    both("role", ROLE, Rule::SystemTypes),
    both("reason", Type::OneOf(&["clean", "crash", "timeout"]), Rule::SystemTypes),
]);
const STALE: Shape = server_event(&[
    named("peerId"),
    both("last_seen", Type::Amount, Rule::SystemTypes),
    both("missed_heartbeats", Type::Amount, Rule::SystemTypes),
]);
const GATE: Shape = server_event(&[named("tool"), named("reason"), named("peerId")]);
const BUDGET: Shape = server_event(&[
    both("current_usd", Type::Amount, Rule::SystemTypes),
    both("threshold_usd", Type::Amount, Rule::SystemTypes),
]);
const MALFORMED: Shape = server_event(&[
    named("from"),
    named("topic"),
    // The published server sends the list of a validator's complaints, and takes anything.
    documented("error", Type::Complaint, Rule::SystemTypes).origin(Type::Anything),
]);

impl Shape {
    pub(super) fn of_fact(fact: Fact) -> &'static Self {
        match fact {
            Fact::Boot => &BOOT,
            Fact::Phase => &PHASE_CHANGE,
            Fact::Event => &EVENT,
            Fact::Heartbeat => &HEARTBEAT,
            Fact::Complete => &COMPLETE,
        }
    }

    pub(super) fn of_command(verb: Verb) -> &'static Self {
        match verb {
            Verb::Approve => &APPROVE,
            Verb::Reject => &REJECT,
            Verb::Abort => &ABORT,
            Verb::SetPhase => &SET_PHASE,
            Verb::Spawn => &SPAWN,
            Verb::InjectText => &INJECT_TEXT,
            Verb::Pause | Verb::Resume | Verb::Unblock => &NOTHING,
        }
    }

    pub(super) fn of_system(event: System) -> &'static Self {
        match event {
            System::Joined => &JOINED,
            System::Left => &LEFT,
            System::Stale => &STALE,
            System::Gate => &GATE,
            System::Budget => &BUDGET,
            System::Malformed => &MALFORMED,
        }
    }

    /// Reports the fields that are missing or of another type, one finding a rule; `excused` are keys that may be
    /// missing this time. Answers whether all was well.
    pub(super) fn check(&self, report: &mut Report<'_>, profile: Profile, excused: &[&str]) -> bool {
        let is_heartbeat = std::ptr::eq(self.fields, HEARTBEAT.fields);
        let fields = match profile {
            // Most records are heartbeats, so that fields of no concern are not looked up.
            Profile::Strict | Profile::Lenient if is_heartbeat => &self.fields[..HEARTBEAT_DOCUMENTED],
            _ => self.fields,
        };
        let mut missing: Vec<&str> = Vec::new();
        let mut wrong: Vec<(&Field, Type, Node<'_>)> = Vec::new();
        for field in fields {
            let (required, kind) = field.by(profile);
            match report.value(field.key) {
                Some(node) if !kind.allows(node) => wrong.push((field, kind, node)),
                None if required && !excused.contains(&field.key) => missing.push(field.key),
                _ => {}
            }
        }
        report.missing(self.missing, &missing, self.name);
        let is_sound = missing.is_empty() && wrong.is_empty();
        while let Some((first, ..)) = wrong.first() {
            let rule = first.wrong;
            let (same, other) = wrong.into_iter().partition(|(field, ..)| field.wrong == rule);
            wrong = other;
            report_wrong(report, rule, &same);
        }
        is_sound
    }
}

fn report_wrong(report: &mut Report<'_>, rule: Rule, wrong: &[(&Field, Type, Node<'_>)]) {
    match wrong {
        [] => {}
        [(field, kind, node)] => {
            report.field(rule, field.key, format_args!("{} is {}", field.key, kind.otherwise(*node)));
        }
        [(first, ..), ..] => {
            let names: Vec<_> = wrong.iter().map(|(field, ..)| field.key).collect();
            let message = format_args!("{} of the wrong type or value", list_is(&names));
            report.field(rule, first.key, message);
        }
    }
}
