//! What a log speaks of: which rules it puts to the test, whether it keeps them or not.
//!
//! A rule is put to the test when there is something that it is about: no log without a heartbeat says anything about
//! heartbeats. Unlike judging this needs no state but a few counts, so it is a pass of its own.

use std::collections::BTreeSet;

use crate::json::{Kind, Node, Scanner};

use super::Rule;
use super::phase::Phase;
use super::record::{Entry, Record};
use super::topic::{Fact, System, Topic, Verb};

/// What a rule can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
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
    Budget,
    Malformed,
    /// A peer that is an orchestrator.
    Orchestrator,
}

/// What all a log must have for a rule to be put to the test.
fn subjects(rule: Rule) -> &'static [Subject] {
    use Subject as S;
    match rule {
        // Even a log without a line puts it to the test.
        Rule::RecordPresent => &[],
        Rule::LineIsObject => &[S::Line],
        Rule::TopicPresent => &[S::Object],
        Rule::SequenceIncreases => &[S::SecondNumber],
        Rule::TimeForward => &[S::SecondTime],
        Rule::SessionStart
        | Rule::EnvelopePresent
        | Rule::ServerTime
        | Rule::TopicSpelling
        | Rule::TopicNamespace => &[S::Record],
        Rule::EnvelopeVersion
        | Rule::EnvelopeId
        | Rule::FromPeer
        | Rule::FromName
        | Rule::PublishedTime
        | Rule::DataObject => &[S::Envelope],
        Rule::IdUnique => &[S::SecondEnvelope],
        Rule::CorrelationType => &[S::Correlation],
        Rule::ParentType | Rule::ParentKnown | Rule::ParentAcyclic | Rule::ParentConstant => {
            &[S::NamedParent]
        }
        Rule::TerminalType => &[S::NamedTerminal],
        Rule::SchemaName => &[S::NamedSchema],
        Rule::FromMatches => &[S::Claim],
        Rule::ClockSkew => &[S::BothClocks],
        Rule::WorkerTopic | Rule::OwnTopic | Rule::BootFirst => &[S::Worker],
        Rule::CommandVerb
        | Rule::OrchestratorCommands
        | Rule::CommandFields
        | Rule::CommandTarget
        | Rule::CorrelationsAgree => &[S::Command],
        Rule::RoleTopic => &[S::Role],
        Rule::SystemTopic | Rule::ServerTopics | Rule::SystemFields | Rule::SystemTypes => &[S::System],
        Rule::OwnTask => &[S::Task],
        Rule::BootFields | Rule::BootTypes | Rule::BootRole | Rule::BootOnce | Rule::HeartbeatGap => {
            &[S::Boot]
        }
        Rule::BootParent => &[S::Boot, S::NamedParent],
        Rule::BootPrompt => &[S::Joined, S::Boot],
        Rule::BootMissing | Rule::LeftUnfinished | Rule::LeftLast | Rule::LeftReason => &[S::Left],
        Rule::PhaseFields
        | Rule::PhaseName
        | Rule::PrevName
        | Rule::PhaseEntry
        | Rule::PrevMatches
        | Rule::PhasesCompleted
        | Rule::TransitionReason => &[S::Phase],
        Rule::Transition | Rule::SelfTransition => &[S::SecondPhase],
        Rule::AfterTerminal => &[S::TerminalPhase],
        Rule::RecoverExit => &[S::RecoverPhase],
        Rule::FailedWithoutFatal => &[S::FailedPhase],
        Rule::EventFields | Rule::EventKind | Rule::EventSeverity | Rule::EventMessage => &[S::Event],
        Rule::RequestIdPresent | Rule::RequestIdForm | Rule::AnswerInTime => &[S::Question],
        Rule::BlockedDetail => &[S::Blocked],
        Rule::RequestDetail => &[S::Request],
        Rule::HarvestArtifacts => &[S::Harvest],
        Rule::ErrorDetail => &[S::Error],
        Rule::DecisionDetail => &[S::Decision],
        Rule::ProgressRange => &[S::Progress],
        Rule::AfterFatal => &[S::Fatal],
        Rule::HeartbeatFields | Rule::HeartbeatTypes | Rule::HeartbeatFatal => &[S::Heartbeat],
        Rule::HeartbeatPhase | Rule::HeartbeatPhaseTime => &[S::Heartbeat, S::Phase],
        Rule::HeartbeatPace | Rule::HeartbeatTotals => &[S::SecondHeartbeat],
        Rule::HeartbeatAfterEnd | Rule::CompleteOrFatal => &[S::End],
        Rule::HeartbeatLastEvent => &[S::NamedLastEvent],
        Rule::HeartbeatChildren => &[S::NamedChildren],
        Rule::CompleteFields
        | Rule::CompleteResult
        | Rule::CompleteSuccess
        | Rule::CompleteArtifacts
        | Rule::CompleteOnce
        | Rule::AfterComplete
        | Rule::CompleteTerminal
        | Rule::CompletePhases
        | Rule::CompleteTotals => &[S::Complete],
        Rule::CompleteFailed => &[S::Complete, S::FailedPhase],
        Rule::SetPhaseName | Rule::SetPhaseObeyed => &[S::SetPhase],
        Rule::AnswersRequest | Rule::AnsweredOnce => &[S::Answer],
        Rule::ResumeAfterPause => &[S::Resume],
        Rule::AbortObeyed => &[S::Abort],
        Rule::SpawnObeyed => &[S::Spawn],
        Rule::InjectedHeader => &[S::Inject],
        Rule::JoinedFirst | Rule::JoinedOnce => &[S::Joined],
        Rule::StaleReported => &[S::Joined, S::Worker],
        Rule::StaleTrue | Rule::StaleHandled => &[S::Stale],
        Rule::MalformedNames => &[S::Malformed],
        Rule::BudgetExceeded => &[S::Budget],
        Rule::RootParent => &[S::Orchestrator],
        Rule::Shutdown => &[S::Orchestrator, S::Left],
    }
}

/// The values that the protocol lists, by the kind of record and the field that holds them.
const LISTED: [(&str, &str, &[&str]); 4] = [
    (
        "worker.phase",
        "/phase",
        &["PLAN", "SPAWN", "DEPLOY", "OBSERVE", "RECOVER", "HARVEST", "CLEANUP", "REFLECT", "FAILED"],
    ),
    ("worker.event", "/kind", &["BLOCKED", "REQUEST", "HARVEST", "ERROR", "DECISION", "PROGRESS", "LOG"]),
    ("worker.event", "/severity", &["info", "warn", "error", "fatal"]),
    ("worker.complete", "/result", &["ok", "failed", "cancelled"]),
];

/// What a log speaks of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spoken {
    seen: BTreeSet<Subject>,
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
pub(crate) fn kinds() -> impl Iterator<Item = String> {
    use super::topic::{FACTS, SYSTEM, VERBS};
    let facts = FACTS.iter().map(|(name, _)| format!("worker.{name}"));
    let verbs = VERBS.iter().map(|(name, _)| format!("cmd.{name}"));
    let system = SYSTEM.iter().map(|(name, _)| format!("system.{name}"));
    facts.chain(verbs).chain(["cmd.role".to_owned(), "task".to_owned()]).chain(system)
}

/// Every value that the protocol lists: the kind of record, the field, the value.
pub(crate) fn listed() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    LISTED.iter().flat_map(|(kind, field, values)| values.iter().map(move |value| (*kind, *field, *value)))
}

impl Spoken {
    /// Reads a log that is in memory.
    pub(crate) fn of(log: &[u8]) -> Self {
        let mut spoken = Self::default();
        let mut scanner = Scanner::default();
        for line in log.split(|byte| *byte == b'\n') {
            let text = String::from_utf8_lossy(line);
            let text = text.trim();
            if text.is_empty() {
                continue;
            }
            spoken.seen.insert(Subject::Line);
            let Ok(document) = scanner.scan(text) else { continue };
            if !document.root().is_object() {
                continue;
            }
            spoken.seen.insert(Subject::Object);
            if let Entry::Record(record) = Entry::of(document.root(), 0, 0) {
                spoken.record(&record);
            }
        }
        spoken
    }

    /// Whether there is something that a rule is about.
    pub(crate) fn tests(&self, rule: Rule) -> bool {
        subjects(rule).iter().all(|subject| self.seen.contains(subject))
    }

    fn see(&mut self, when: bool, subject: Subject) {
        if when {
            self.seen.insert(subject);
        }
    }

    fn record(&mut self, record: &Record<'_>) {
        self.see(true, Subject::Record);
        self.numbers += u64::from(record.sequence.is_some());
        self.times += u64::from(record.has_server_time);
        self.see(self.numbers > 1, Subject::SecondNumber);
        self.see(self.times > 1, Subject::SecondTime);
        let topic = Topic::parse(&record.topic);
        if let Some(envelope) = &record.envelope {
            self.envelopes += 1;
            self.see(true, Subject::Envelope);
            self.see(self.envelopes > 1, Subject::SecondEnvelope);
            self.see(envelope.correlation_id.is_some(), Subject::Correlation);
            self.see(says(envelope.parent_id), Subject::NamedParent);
            self.see(envelope.terminal_id.is_some(), Subject::NamedTerminal);
            self.see(topic.schema().is_some(), Subject::NamedSchema);
            self.see(record.from.is_some() && envelope.from_peer.is_some(), Subject::Claim);
            self.see(record.has_server_time && envelope.ts_published.is_some(), Subject::BothClocks);
        }
        self.see(says(record.field("parent_peer_id")), Subject::NamedParent);
        self.topic(record, topic);
    }

    fn topic(&mut self, record: &Record<'_>, topic: Topic<'_>) {
        let kind = match topic {
            Topic::Worker { fact, rest, .. } => {
                self.see(true, Subject::Worker);
                let Some(fact) = fact else { return };
                self.fact(record, fact);
                format!("worker.{rest}")
            }
            Topic::Command { verb, rest, .. } => {
                self.see(true, Subject::Command);
                let Some(verb) = verb else { return };
                self.verb(verb);
                format!("cmd.{rest}")
            }
            Topic::Role { .. } => {
                self.see(true, Subject::Role);
                "cmd.role".to_owned()
            }
            Topic::Task { .. } => {
                self.see(true, Subject::Task);
                "task".to_owned()
            }
            Topic::System { event, rest } => {
                self.see(true, Subject::System);
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

    fn fact(&mut self, record: &Record<'_>, fact: Fact) {
        let is = |field: &str, text: &str| record.field(field).is_some_and(|node| node.is_text(text));
        match fact {
            Fact::Boot => {
                self.see(true, Subject::Boot);
                self.see(is("role", "orchestrator"), Subject::Orchestrator);
            }
            Fact::Phase => {
                self.phases += 1;
                self.see(true, Subject::Phase);
                self.see(self.phases > 1, Subject::SecondPhase);
                for phase in Phase::ALL.into_iter().filter(|phase| is("phase", phase.name())) {
                    self.see(phase.is_terminal(), Subject::TerminalPhase);
                    self.see(phase.is_terminal(), Subject::End);
                    self.see(phase == Phase::Recover, Subject::RecoverPhase);
                    self.see(phase == Phase::Failed, Subject::FailedPhase);
                }
            }
            Fact::Event => {
                self.see(true, Subject::Event);
                self.see(is("kind", "BLOCKED"), Subject::Blocked);
                self.see(is("kind", "REQUEST"), Subject::Request);
                self.see(is("kind", "BLOCKED") || is("kind", "REQUEST"), Subject::Question);
                self.see(is("kind", "HARVEST"), Subject::Harvest);
                self.see(is("kind", "ERROR"), Subject::Error);
                let fatal = is("kind", "ERROR") && is("severity", "fatal");
                self.see(fatal, Subject::Fatal);
                self.see(fatal, Subject::End);
                self.see(is("kind", "DECISION"), Subject::Decision);
                self.see(is("kind", "PROGRESS"), Subject::Progress);
            }
            Fact::Heartbeat => {
                self.heartbeats += 1;
                self.see(true, Subject::Heartbeat);
                self.see(self.heartbeats > 1, Subject::SecondHeartbeat);
                self.see(says(record.field("last_event_id")), Subject::NamedLastEvent);
                let children = record.field("active_sub_workers");
                self.see(children.is_some_and(|list| list.items().next().is_some()), Subject::NamedChildren);
            }
            Fact::Complete => {
                self.see(true, Subject::Complete);
                self.see(true, Subject::End);
            }
        }
    }

    fn verb(&mut self, verb: Verb) {
        let subject = match verb {
            Verb::Approve | Verb::Reject | Verb::Unblock => Subject::Answer,
            Verb::Abort => Subject::Abort,
            Verb::Pause => return,
            Verb::Resume => Subject::Resume,
            Verb::SetPhase => Subject::SetPhase,
            Verb::Spawn => Subject::Spawn,
            Verb::InjectText => Subject::Inject,
        };
        self.see(true, subject);
    }

    fn system(&mut self, record: &Record<'_>, event: System) {
        let is_orchestrator = record.field("role").is_some_and(|role| role.is_text("orchestrator"));
        let subject = match event {
            System::Joined => {
                self.see(is_orchestrator, Subject::Orchestrator);
                Subject::Joined
            }
            System::Left => Subject::Left,
            System::Stale => Subject::Stale,
            System::Gate => return,
            System::Budget => Subject::Budget,
            System::Malformed => Subject::Malformed,
        };
        self.see(true, subject);
    }
}

/// Whether a value is there and not null.
fn says(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|node| node.kind() != Kind::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_put_to_the_test_by_what_it_is_about() {
        let boot =
            br#"{"topic":"worker.p1.boot","from":"p1","ts_server":"2026-06-01T09:00:00Z","payload":{}}"#;
        let spoken = Spoken::of(boot);
        assert!(spoken.tests(Rule::BootFields) && spoken.tests(Rule::LineIsObject));
        assert!(!spoken.tests(Rule::HeartbeatFields) && !spoken.tests(Rule::Transition));
        assert_eq!(spoken.kinds.iter().collect::<Vec<_>>(), ["worker.boot"]);
        assert!(Spoken::of(b"").seen.is_empty());
        assert!(!Spoken::of(b"torn {").tests(Rule::TopicPresent));
    }
}
