//! The rules that an event log is held to, by name. What each of them says stands in `schemas/claws-events`.

use std::fmt;

/// Declares the rules once: the variant, its name in contract files, and what breaks it.
macro_rules! rules {
    ($($variant:ident $name:literal $meaning:literal,)*) => {
        /// A rule that an event log can break.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = $meaning] $variant,)*
        }

        impl Rule {
            /// Every rule, in the order of the catalogue.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in contract files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

rules! {
    LineIsObject "line-is-object" "A line is not one JSON object.",
    TopicPresent "topic-present" "A record has no topic.",
    SequenceIncreases "sequence-increases" "A sequence number is none, or does not increase.",
    TimeForward "time-forward" "Server time runs backwards.",
    SessionStart "session-start" "A further session starts in the same log.",
    RecordPresent "record-present" "A log holds no record.",
    EnvelopePresent "envelope-present" "A payload comes without the envelope.",
    EnvelopeVersion "envelope-version" "`v` is not 1.",
    EnvelopeId "envelope-id" "`id` is no UUID.",
    IdUnique "id-unique" "An `id` comes twice.",
    CorrelationType "correlation-type" "`correlation_id` has a wrong type.",
    ParentType "parent-type" "`parent_id` has a wrong type.",
    FromPeer "from-peer" "`from_peer` is missing.",
    FromName "from-name" "`from_name` is missing.",
    TerminalType "terminal-type" "`terminal_id` has a wrong type.",
    PublishedTime "published-time" "`ts_published` is no time.",
    ServerTime "server-time" "No server time is on the record.",
    SchemaName "schema-name" "`schema` is not the name that goes with the topic.",
    DataObject "data-object" "`data` is no object.",
    FromMatches "from-matches" "`from_peer` is not the connection that published.",
    ClockSkew "clock-skew" "The clocks of worker and server differ.",
    TopicSpelling "topic-spelling" "A topic is not dotted, lower-case words.",
    TopicNamespace "topic-namespace" "A namespace nearly spells a known one.",
    WorkerTopic "worker-topic" "A worker's topic nearly spells a known one.",
    CommandVerb "command-verb" "A command is none of the documented ones.",
    RoleTopic "role-topic" "A broadcast does not name a role.",
    SystemTopic "system-topic" "A system topic nearly spells a known one.",
    OwnTopic "own-topic" "A peer publishes on another worker's topic.",
    OwnTask "own-task" "A worker publishes on a task that is not its own.",
    OrchestratorCommands "orchestrator-commands" "Somebody else than an orchestrator sends a command.",
    ServerTopics "server-topics" "A peer publishes on the server's topics.",
    BootFields "boot-fields" "A boot lacks a required field.",
    BootTypes "boot-types" "A field of a boot has a wrong type.",
    BootRole "boot-role" "A boot names a wrong role.",
    BootOnce "boot-once" "A worker boots twice in one life.",
    BootFirst "boot-first" "A worker speaks before its boot.",
    BootPrompt "boot-prompt" "A boot comes late after the hello.",
    BootParent "boot-parent" "A boot names two different parents.",
    BootMissing "boot-missing" "A worker leaves without ever booting.",
    PhaseFields "phase-fields" "A phase lacks a required field.",
    PhaseName "phase-name" "A phase is none of the nine.",
    PrevName "prev-name" "`prev` is neither a phase nor null.",
    PhaseEntry "phase-entry" "The first phase is not PLAN.",
    PrevMatches "prev-matches" "`prev` is not the phase last published.",
    Transition "transition" "A transition is not in the table.",
    AfterTerminal "after-terminal" "A phase comes after REFLECT or FAILED.",
    SelfTransition "self-transition" "A phase is entered from itself.",
    PhasesCompleted "phases-completed" "`phases_completed` tells of phases that were not visited.",
    RecoverExit "recover-exit" "RECOVER is never left.",
    FailedWithoutFatal "failed-without-fatal" "FAILED comes without a fatal ERROR.",
    TransitionReason "transition-reason" "`transition_reason` says nothing.",
    EventFields "event-fields" "An event lacks a required field.",
    EventKind "event-kind" "An event's kind is none of the seven.",
    EventSeverity "event-severity" "An event's severity is none of the four.",
    EventMessage "event-message" "An event's message says nothing.",
    RequestIdPresent "request-id-present" "A request has no `request_id`.",
    RequestIdForm "request-id-form" "A `request_id` is no UUID, or is used again.",
    BlockedDetail "blocked-detail" "A BLOCKED does not say what blocks it.",
    RequestDetail "request-detail" "A REQUEST does not say what it asks.",
    HarvestArtifacts "harvest-artifacts" "The artifacts of a HARVEST are malformed.",
    ErrorDetail "error-detail" "An ERROR does not say its class.",
    DecisionDetail "decision-detail" "A DECISION is not documented, or asks for an answer.",
    ProgressRange "progress-range" "The numbers of a PROGRESS are out of range.",
    AfterFatal "after-fatal" "A worker goes on after a fatal ERROR.",
    HeartbeatFields "heartbeat-fields" "A heartbeat lacks a required field.",
    HeartbeatTypes "heartbeat-types" "A field of a heartbeat has a wrong type or value.",
    HeartbeatPhase "heartbeat-phase" "A heartbeat names another phase than the one published.",
    HeartbeatGap "heartbeat-gap" "A worker gives no heartbeat for more than 30 s.",
    HeartbeatPace "heartbeat-pace" "Heartbeats come more than 15 s apart.",
    HeartbeatAfterEnd "heartbeat-after-end" "A heartbeat comes in a terminal phase or after complete.",
    HeartbeatTotals "heartbeat-totals" "Tokens or cost decrease.",
    HeartbeatLastEvent "heartbeat-last-event" "`last_event_id` is not the worker's latest event.",
    HeartbeatChildren "heartbeat-children" "An active sub-worker is not a child of the worker.",
    HeartbeatPhaseTime "heartbeat-phase-time" "`time_in_phase_ms` does not fit the phase's start.",
    HeartbeatFatal "heartbeat-fatal" "A heartbeat stands in for the last will.",
    CompleteFields "complete-fields" "A complete lacks a required field.",
    CompleteResult "complete-result" "A result is none of the three.",
    CompleteSuccess "complete-success" "A complete tells of a failure.",
    CompleteArtifacts "complete-artifacts" "The artifacts of a complete are malformed.",
    CompleteOnce "complete-once" "A worker completes twice.",
    AfterComplete "after-complete" "A worker goes on after complete.",
    CompleteOrFatal "complete-or-fatal" "A worker has both a complete and a fatal ERROR.",
    LeftUnfinished "left-unfinished" "A worker leaves with neither a complete nor a fatal ERROR.",
    CompleteTerminal "complete-terminal" "A complete comes before a terminal phase.",
    CompletePhases "complete-phases" "A complete tells of phases that were not visited.",
    CompleteFailed "complete-failed" "A complete says ok in FAILED.",
    CompleteTotals "complete-totals" "The totals are negative or below the last heartbeat's.",
    CommandFields "command-fields" "A command lacks a required field.",
    SetPhaseName "set-phase-name" "A `set_phase` names no phase.",
    AnswersRequest "answers-request" "A command answers a request that nobody made.",
    CommandTarget "command-target" "A command goes to a worker that is not there.",
    AnswerInTime "answer-in-time" "A request is not answered in time.",
    AnsweredOnce "answered-once" "A request is answered twice.",
    ResumeAfterPause "resume-after-pause" "A resume comes without a pause.",
    AbortObeyed "abort-obeyed" "A worker goes on after an abort.",
    SetPhaseObeyed "set-phase-obeyed" "A worker does not enter the phase it was set to.",
    SpawnObeyed "spawn-obeyed" "No sub-worker boots after a spawn.",
    CorrelationsAgree "correlations-agree" "The two correlation ids of a command differ.",
    InjectedHeader "injected-header" "The header of an injected command is malformed.",
    SystemFields "system-fields" "A system event lacks a required field.",
    SystemTypes "system-types" "A field of a system event has a wrong type or value.",
    JoinedFirst "joined-first" "A peer publishes before it joined.",
    LeftLast "left-last" "A peer publishes after it left.",
    StaleReported "stale-reported" "The server does not report a silent peer.",
    StaleTrue "stale-true" "The server calls a peer stale that is not silent.",
    LeftReason "left-reason" "The reason of a leave does not fit what came before.",
    MalformedNames "malformed-names" "A malformed.received names no known peer.",
    BudgetExceeded "budget-exceeded" "A budget warning comes below the threshold.",
    JoinedOnce "joined-once" "A peer joins twice.",
    ParentKnown "parent-known" "A parent is no known peer.",
    ParentAcyclic "parent-acyclic" "A peer is its own ancestor.",
    ParentConstant "parent-constant" "A worker's parent changes.",
    RootParent "root-parent" "The root orchestrator names a parent.",
    StaleHandled "stale-handled" "Nobody reacts to a stale worker.",
    Shutdown "shutdown" "An orchestrator leaves its workers running.",
}

impl Rule {
    /// The rule of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rule| rule.name() == name)
    }

    /// The place of the rule in [`ALL`](Self::ALL).
    pub fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lead_back() {
        for rule in Rule::ALL {
            assert_eq!(Rule::from_name(rule.name()), Some(*rule));
            assert_eq!(Rule::ALL[rule.index()], *rule);
        }
    }
}
