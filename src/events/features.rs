//! What there is in a log: which rules it puts to the test, whether it keeps them or not.
//!
//! A rule is put to the test when there is something that it is about: no log without a heartbeat says anything about
//! heartbeats. Unlike judging this needs no state but a few counts, so it is a pass of its own.

#[cfg(feature = "cli")]
use std::collections::BTreeSet;

#[cfg(feature = "cli")]
use crate::json::{Node, Scanner};

#[cfg(feature = "cli")]
use super::Rule;
#[cfg(feature = "cli")]
use super::phase::Phase;
#[cfg(feature = "cli")]
use super::record::{Entry, Record};
#[cfg(feature = "cli")]
use super::topic::{Fact, System, Topic, Verb};

/// Something in a log that a rule can be about.
#[cfg(feature = "cli")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Feature {
    Line,
    Object,
    Record,
    /// Two records with what the rule compares.
    SecondNumber,
    SecondTime,
    Envelope,
    SecondEnvelope,
    Correlation,
    NamedParent,
    NamedTerminal,
    NamedSchema,
    NamedServerTime,
    /// A record that says who published it, and claims it too.
    Claim,
    /// Both clocks on one record.
    BothClocks,
    Worker,
    Boot,
    Phase,
    SecondPhase,
    TerminalPhase,
    RecoverPhase,
    FailedPhase,
    Event,
    Blocked,
    Request,
    /// Either of them: it waits for an answer.
    Question,
    Harvest,
    Error,
    Fatal,
    Decision,
    Progress,
    Heartbeat,
    SecondHeartbeat,
    NamedLastEvent,
    NamedChildren,
    Complete,
    /// A terminal phase, a complete or a fatal error.
    End,
    Command,
    Role,
    Answer,
    Pause,
    Resume,
    Abort,
    SetPhase,
    Spawn,
    Inject,
    Task,
    System,
    Joined,
    Left,
    Stale,
    Gate,
    /// A server event that names a peer besides those that come and go.
    Naming,
    Budget,
    Malformed,
    /// A peer that is an orchestrator.
    Orchestrator,
    /// What a visit to a live server found out.
    Probe,
}

/// The kinds of a worker's event.
pub(crate) const EVENT_KINDS: &[&str] =
    &["BLOCKED", "REQUEST", "HARVEST", "ERROR", "DECISION", "PROGRESS", "LOG"];
/// The severities of a worker's event.
pub(crate) const SEVERITIES: &[&str] = &["info", "warn", "error", "fatal"];
/// The results of a worker's complete.
pub(crate) const RESULTS: &[&str] = &["ok", "failed", "cancelled"];

/// The values that the protocol lists, by the kind of record and the field that holds them.
#[cfg(feature = "cli")]
const LISTED: [(&str, &str, &[&str]); 4] = [
    ("worker.phase", "/phase", Phase::NAMES),
    ("worker.event", "/kind", EVENT_KINDS),
    ("worker.event", "/severity", SEVERITIES),
    ("worker.complete", "/result", RESULTS),
];

/// What there is in a log.
#[cfg(feature = "cli")]
#[derive(Debug, Clone, Default)]
pub(crate) struct LogFeatures {
    seen: BTreeSet<Feature>,
    /// The kinds of records, as [`kinds`] names them.
    pub(crate) kinds: BTreeSet<String>,
    /// Listed values: the kind of record, the field, the value.
    pub(crate) values: BTreeSet<(&'static str, &'static str, &'static str)>,
    numbers: u64,
    times: u64,
    envelopes: u64,
    phases: u64,
    heartbeats: u64,
}

/// Every kind of record that the protocol has.
#[cfg(feature = "cli")]
pub(crate) fn kinds() -> impl Iterator<Item = String> {
    let named =
        |namespace, names: &'static [&str]| names.iter().map(move |name| format!("{namespace}.{name}"));
    named("worker", Fact::NAMES)
        .chain(named("cmd", Verb::NAMES))
        .chain(["cmd.role".to_owned(), "task".to_owned()])
        .chain(named("system", System::NAMES))
}

/// Every value that the protocol lists: the kind of record, the field, the value.
#[cfg(feature = "cli")]
pub(crate) fn listed() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    LISTED.iter().flat_map(|(kind, field, values)| values.iter().map(move |value| (*kind, *field, *value)))
}

#[cfg(feature = "cli")]
impl LogFeatures {
    /// Reads a log that is in memory.
    #[cfg(feature = "cli")]
    pub(crate) fn of(log: &[u8]) -> Self {
        let mut features = Self::default();
        let mut scanner = Scanner::default();
        for line in log.split(|byte| *byte == b'\n') {
            let text = String::from_utf8_lossy(line);
            let text = text.trim();
            if text.is_empty() {
                continue;
            }
            features.seen.insert(Feature::Line);
            let Ok(document) = scanner.scan(text) else { continue };
            if !document.root().is_object() {
                continue;
            }
            features.seen.insert(Feature::Object);
            match Entry::of(document.root(), 0, 0) {
                Entry::Record(record) => features.record(&record),
                Entry::Probe => features.see(Feature::Probe),
                _ => {}
            }
        }
        features
    }

    /// Whether there is something in the log that a rule is about.
    #[cfg(feature = "cli")]
    pub(crate) fn tests(&self, rule: Rule) -> bool {
        rule.features().iter().all(|feature| self.seen.contains(feature))
    }

    #[cfg(feature = "cli")]
    fn see(&mut self, feature: Feature) {
        self.seen.insert(feature);
    }

    #[cfg(feature = "cli")]
    fn see_if(&mut self, features: &[(bool, Feature)]) {
        self.seen.extend(features.iter().filter(|(there, _)| *there).map(|(_, feature)| *feature));
    }

    #[cfg(feature = "cli")]
    fn record(&mut self, record: &Record<'_>) {
        self.numbers += u64::from(record.sequence.is_some());
        self.times += u64::from(record.has_server_time);
        self.see_if(&[
            (true, Feature::Record),
            (self.numbers > 1, Feature::SecondNumber),
            (self.times > 1, Feature::SecondTime),
            (says(record.field("parent_peer_id")), Feature::NamedParent),
        ]);
        let topic = Topic::parse(&record.topic);
        if let Some(envelope) = &record.envelope {
            self.envelopes += 1;
            self.see_if(&[
                (true, Feature::Envelope),
                (self.envelopes > 1, Feature::SecondEnvelope),
                (envelope.correlation_id.is_some(), Feature::Correlation),
                (says(envelope.parent_id), Feature::NamedParent),
                (envelope.terminal_id.is_some(), Feature::NamedTerminal),
                (topic.schema().is_some(), Feature::NamedSchema),
                (envelope.ts_server.is_some(), Feature::NamedServerTime),
                (record.from.is_some() && envelope.from_peer.is_some(), Feature::Claim),
                (record.has_server_time && envelope.ts_published.is_some(), Feature::BothClocks),
            ]);
        }
        self.topic(record, topic);
    }

    #[cfg(feature = "cli")]
    fn topic(&mut self, record: &Record<'_>, topic: Topic<'_>) {
        let kind = match topic {
            Topic::Worker { fact, rest, .. } => {
                self.see(Feature::Worker);
                let Some(fact) = fact else { return };
                self.fact(record, fact);
                format!("worker.{rest}")
            }
            Topic::Command { verb, rest, .. } => {
                self.see(Feature::Command);
                let Some(verb) = verb else { return };
                self.verb(verb);
                format!("cmd.{rest}")
            }
            Topic::Role { .. } => {
                self.see(Feature::Role);
                "cmd.role".to_owned()
            }
            Topic::Task { .. } => {
                self.see(Feature::Task);
                "task".to_owned()
            }
            Topic::System { event, rest } => {
                self.see(Feature::System);
                let Some(event) = event else { return };
                self.system(record, event);
                format!("system.{rest}")
            }
            Topic::Other { .. } => return,
        };
        for (of, field, value) in listed() {
            let name = field.trim_start_matches('/');
            if of == kind && record.field(name).is_some_and(|node| node.is_text(value)) {
                self.values.insert((of, field, value));
            }
        }
        self.kinds.insert(kind);
    }

    #[cfg(feature = "cli")]
    fn fact(&mut self, record: &Record<'_>, fact: Fact) {
        let is = |field: &str, text: &str| record.field(field).is_some_and(|node| node.is_text(text));
        match fact {
            Fact::Boot => {
                self.see_if(&[(true, Feature::Boot), (is("role", "orchestrator"), Feature::Orchestrator)]);
            }
            Fact::Phase => {
                self.phases += 1;
                let phase = Phase::of(record.field("phase"));
                let terminal = phase.is_some_and(Phase::is_terminal);
                self.see_if(&[
                    (true, Feature::Phase),
                    (self.phases > 1, Feature::SecondPhase),
                    (terminal, Feature::TerminalPhase),
                    (terminal, Feature::End),
                    (phase == Some(Phase::Recover), Feature::RecoverPhase),
                    (phase == Some(Phase::Failed), Feature::FailedPhase),
                ]);
            }
            Fact::Event => {
                let (blocked, request) = (is("kind", "BLOCKED"), is("kind", "REQUEST"));
                let error = is("kind", "ERROR");
                let fatal = error && is("severity", "fatal");
                self.see_if(&[
                    (true, Feature::Event),
                    (blocked, Feature::Blocked),
                    (request, Feature::Request),
                    (blocked || request, Feature::Question),
                    (is("kind", "HARVEST"), Feature::Harvest),
                    (error, Feature::Error),
                    (fatal, Feature::Fatal),
                    (fatal, Feature::End),
                    (is("kind", "DECISION"), Feature::Decision),
                    (is("kind", "PROGRESS"), Feature::Progress),
                ]);
            }
            Fact::Heartbeat => {
                self.heartbeats += 1;
                let children = record.field("active_sub_workers");
                self.see_if(&[
                    (true, Feature::Heartbeat),
                    (self.heartbeats > 1, Feature::SecondHeartbeat),
                    (says(record.field("last_event_id")), Feature::NamedLastEvent),
                    (children.is_some_and(|list| list.items().next().is_some()), Feature::NamedChildren),
                ]);
            }
            Fact::Complete => self.see_if(&[(true, Feature::Complete), (true, Feature::End)]),
        }
    }

    #[cfg(feature = "cli")]
    fn verb(&mut self, verb: Verb) {
        let feature = match verb {
            Verb::Approve | Verb::Reject | Verb::Unblock => Feature::Answer,
            Verb::Abort => Feature::Abort,
            Verb::Pause => Feature::Pause,
            Verb::Resume => Feature::Resume,
            Verb::SetPhase => Feature::SetPhase,
            Verb::Spawn => Feature::Spawn,
            Verb::InjectText => Feature::Inject,
        };
        self.see(feature);
    }

    #[cfg(feature = "cli")]
    fn system(&mut self, record: &Record<'_>, event: System) {
        let is_orchestrator = record.field("role").is_some_and(|role| role.is_text("orchestrator"));
        let feature = match event {
            System::Joined => {
                self.see_if(&[(is_orchestrator, Feature::Orchestrator)]);
                Feature::Joined
            }
            System::Left => Feature::Left,
            System::Stale => {
                self.see(Feature::Naming);
                Feature::Stale
            }
            System::Gate => {
                self.see(Feature::Naming);
                Feature::Gate
            }
            System::Budget => Feature::Budget,
            System::Malformed => Feature::Malformed,
        };
        self.see(feature);
    }
}

/// Whether a value is there and not null.
#[cfg(feature = "cli")]
fn says(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|node| !node.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_put_to_the_test_by_what_it_is_about() {
        let boot =
            br#"{"topic":"worker.p1.boot","from":"p1","ts_server":"2026-06-01T09:00:00Z","payload":{}}"#;
        let features = LogFeatures::of(boot);
        assert!(features.tests(Rule::BootFields) && features.tests(Rule::LineIsObject));
        assert!(!features.tests(Rule::HeartbeatFields) && !features.tests(Rule::Transition));
        assert_eq!(features.kinds.iter().collect::<Vec<_>>(), ["worker.boot"]);
        assert!(LogFeatures::of(b"").seen.is_empty());
        assert!(!LogFeatures::of(b"torn {").tests(Rule::TopicPresent));
    }
}
