//! The rules that an event log is held to, by name. What each of them says stands in `schemas/claws-events`.

#[cfg(feature = "cli")]
use super::features::Feature;
use super::named::named;

/// Declares the rules once: the variant, its name in contract files, the features that a log must have for the rule to
/// be put to the test, and what breaks it.
macro_rules! rules {
    ($($variant:ident $name:literal [$($feature:ident),*] $meaning:literal,)*) => {
        named! {
            /// A rule that an event log can break.
            #[non_exhaustive]
            pub enum Rule {
                $(#[doc = $meaning] $variant $name,)*
            }
        }

        impl Rule {
            /// What the rule is about: a log with all of these puts it to the test.
            #[cfg(feature = "cli")]
            pub(crate) fn features(self) -> &'static [Feature] {
                match self {
                    $(Self::$variant => &[$(Feature::$feature),*],)*
                }
            }
        }
    };
}

rules! {
    LineIsObject "line-is-object" [Line] "A line is not one JSON object.",
    TopicPresent "topic-present" [Object] "A record has no topic.",
    SequenceIncreases "sequence-increases" [SecondNumber] "A sequence number is none, or does not increase.",
    TimeForward "time-forward" [SecondTime] "Server time runs backwards.",
    SessionStart "session-start" [Record] "A further session starts in the same log.",
    RecordPresent "record-present" [] "A log holds no record.",
    EnvelopePresent "envelope-present" [Record] "A payload comes without the envelope.",
    EnvelopeVersion "envelope-version" [Envelope] "`v` is not 1.",
    EnvelopeId "envelope-id" [Envelope] "`id` is no UUID.",
    IdUnique "id-unique" [SecondEnvelope] "An `id` comes twice.",
    CorrelationType "correlation-type" [Correlation] "`correlation_id` has a wrong type.",
    ParentType "parent-type" [NamedParent] "`parent_id` has a wrong type.",
    FromPeer "from-peer" [Envelope] "`from_peer` is missing.",
    FromName "from-name" [Envelope] "`from_name` is missing.",
    TerminalType "terminal-type" [NamedTerminal] "`terminal_id` has a wrong type.",
    PublishedTime "published-time" [Envelope] "`ts_published` is no time.",
    ServerTime "server-time" [Record] "No server time is on the record.",
    SchemaName "schema-name" [NamedSchema] "`schema` is not the name that goes with the topic.",
    DataObject "data-object" [Envelope] "`data` is no object.",
    FromMatches "from-matches" [Claim] "`from_peer` is not the connection that published.",
    ClockSkew "clock-skew" [BothClocks] "The clocks of worker and server differ.",
    TopicSpelling "topic-spelling" [Record] "A topic is not dotted, lower-case words.",
    TopicNamespace "topic-namespace" [Record] "A namespace nearly spells a known one.",
    WorkerTopic "worker-topic" [Worker] "A worker's topic nearly spells a known one.",
    CommandVerb "command-verb" [Command] "A command is none of the documented ones.",
    RoleTopic "role-topic" [Role] "A broadcast does not name a role.",
    SystemTopic "system-topic" [System] "A system topic nearly spells a known one.",
    OwnTopic "own-topic" [Worker] "A peer publishes on another worker's topic.",
    OwnTask "own-task" [Task] "A worker publishes on a task that is not its own.",
    OrchestratorCommands "orchestrator-commands" [Command] "Somebody else than an orchestrator sends a command.",
    ServerTopics "server-topics" [System] "A peer publishes on the server's topics.",
    BootFields "boot-fields" [Boot] "A boot lacks a required field.",
    BootTypes "boot-types" [Boot] "A field of a boot has a wrong type.",
    BootRole "boot-role" [Boot] "A boot names a wrong role.",
    BootOnce "boot-once" [Boot] "A worker boots twice in one life.",
    BootFirst "boot-first" [Worker] "A worker speaks before its boot.",
    BootPrompt "boot-prompt" [Joined, Boot] "A boot comes late after the hello.",
    BootParent "boot-parent" [Boot, NamedParent] "A boot names two different parents.",
    BootMissing "boot-missing" [Left] "A worker leaves without ever booting.",
    PhaseFields "phase-fields" [Phase] "A phase lacks a required field.",
    PhaseName "phase-name" [Phase] "A phase is none of the nine.",
    PrevName "prev-name" [Phase] "`prev` is neither a phase nor null.",
    PhaseEntry "phase-entry" [Phase] "The first phase is not PLAN.",
    PrevMatches "prev-matches" [Phase] "`prev` is not the phase last published.",
    Transition "transition" [SecondPhase] "A transition is not in the table.",
    AfterTerminal "after-terminal" [TerminalPhase] "A phase comes after REFLECT or FAILED.",
    SelfTransition "self-transition" [SecondPhase] "A phase is entered from itself.",
    PhasesCompleted "phases-completed" [Phase] "`phases_completed` tells of phases that were not visited.",
    RecoverExit "recover-exit" [RecoverPhase] "RECOVER is never left.",
    FailedWithoutFatal "failed-without-fatal" [FailedPhase] "FAILED comes without a fatal ERROR.",
    TransitionReason "transition-reason" [Phase] "`transition_reason` says nothing.",
    EventFields "event-fields" [Event] "An event lacks a required field.",
    EventKind "event-kind" [Event] "An event's kind is none of the seven.",
    EventSeverity "event-severity" [Event] "An event's severity is none of the four.",
    EventMessage "event-message" [Event] "An event's message says nothing.",
    RequestIdPresent "request-id-present" [Question] "A request has no `request_id`.",
    RequestIdForm "request-id-form" [Question] "A `request_id` is no UUID, or is used again.",
    BlockedDetail "blocked-detail" [Blocked] "A BLOCKED does not say what blocks it.",
    RequestDetail "request-detail" [Request] "A REQUEST does not say what it asks.",
    HarvestArtifacts "harvest-artifacts" [Harvest] "The artifacts of a HARVEST are malformed.",
    ErrorDetail "error-detail" [Error] "An ERROR does not say its class.",
    DecisionDetail "decision-detail" [Decision] "A DECISION is not documented, or asks for an answer.",
    ProgressRange "progress-range" [Progress] "The numbers of a PROGRESS are out of range.",
    AfterFatal "after-fatal" [Fatal] "A worker goes on after a fatal ERROR.",
    HeartbeatFields "heartbeat-fields" [Heartbeat] "A heartbeat lacks a required field.",
    HeartbeatTypes "heartbeat-types" [Heartbeat] "A field of a heartbeat has a wrong type or value.",
    HeartbeatPhase "heartbeat-phase" [Heartbeat, Phase] "A heartbeat names another phase than the one published.",
    HeartbeatGap "heartbeat-gap" [Boot] "A worker gives no heartbeat for more than 30 s.",
    HeartbeatPace "heartbeat-pace" [SecondHeartbeat] "Heartbeats come more than 15 s apart.",
    HeartbeatAfterEnd "heartbeat-after-end" [End] "A heartbeat comes in a terminal phase or after complete.",
    HeartbeatTotals "heartbeat-totals" [SecondHeartbeat] "Tokens or cost decrease.",
    HeartbeatLastEvent "heartbeat-last-event" [NamedLastEvent] "`last_event_id` is not the worker's latest event.",
    HeartbeatChildren "heartbeat-children" [NamedChildren] "An active sub-worker is not a child of the worker.",
    HeartbeatPhaseTime "heartbeat-phase-time" [Heartbeat, Phase] "`time_in_phase_ms` does not fit the phase's start.",
    HeartbeatFatal "heartbeat-fatal" [Heartbeat] "A heartbeat stands in for the last will.",
    CompleteFields "complete-fields" [Complete] "A complete lacks a required field.",
    CompleteResult "complete-result" [Complete] "A result is none of the three.",
    CompleteSuccess "complete-success" [Complete] "A complete tells of a failure.",
    CompleteArtifacts "complete-artifacts" [Complete] "The artifacts of a complete are malformed.",
    CompleteOnce "complete-once" [Complete] "A worker completes twice.",
    AfterComplete "after-complete" [Complete] "A worker goes on after complete.",
    CompleteOrFatal "complete-or-fatal" [End] "A worker has both a complete and a fatal ERROR.",
    LeftUnfinished "left-unfinished" [Left] "A worker leaves with neither a complete nor a fatal ERROR.",
    CompleteTerminal "complete-terminal" [Complete] "A complete comes before a terminal phase.",
    CompletePhases "complete-phases" [Complete] "A complete tells of phases that were not visited.",
    CompleteFailed "complete-failed" [Complete, FailedPhase] "A complete says ok in FAILED.",
    CompleteTotals "complete-totals" [Complete] "The totals are negative or below the last heartbeat's.",
    CommandFields "command-fields" [Command] "A command lacks a required field.",
    SetPhaseName "set-phase-name" [SetPhase] "A `set_phase` names no phase.",
    AnswersRequest "answers-request" [Answer] "A command answers a request that nobody made.",
    CommandTarget "command-target" [Command] "A command goes to a worker that is not there.",
    AnswerInTime "answer-in-time" [Question] "A request is not answered in time.",
    AnsweredOnce "answered-once" [Answer] "A request is answered twice.",
    ResumeAfterPause "resume-after-pause" [Resume] "A resume comes without a pause.",
    AbortObeyed "abort-obeyed" [Abort] "A worker goes on after an abort.",
    SetPhaseObeyed "set-phase-obeyed" [SetPhase] "A worker does not enter the phase it was set to.",
    SpawnObeyed "spawn-obeyed" [Spawn] "No sub-worker boots after a spawn.",
    CorrelationsAgree "correlations-agree" [Command] "The two correlation ids of a command differ.",
    InjectedHeader "injected-header" [Inject] "The header of an injected command is malformed.",
    SystemFields "system-fields" [System] "A system event lacks a required field.",
    SystemTypes "system-types" [System] "A field of a system event has a wrong type or value.",
    JoinedFirst "joined-first" [Joined] "A peer publishes before it joined.",
    LeftLast "left-last" [Left] "A peer publishes after it left.",
    StaleReported "stale-reported" [Joined, Worker] "The server does not report a silent peer.",
    StaleTrue "stale-true" [Stale] "The server calls a peer stale that is not silent.",
    LeftReason "left-reason" [Left] "The reason of a leave does not fit what came before.",
    MalformedNames "malformed-names" [Malformed] "A malformed.received names no known peer.",
    BudgetExceeded "budget-exceeded" [Budget] "A budget warning comes below the threshold.",
    JoinedOnce "joined-once" [Joined] "A peer joins twice.",
    ParentKnown "parent-known" [NamedParent] "A parent is no known peer.",
    ParentAcyclic "parent-acyclic" [NamedParent] "A peer is its own ancestor.",
    ParentConstant "parent-constant" [NamedParent] "A worker's parent changes.",
    RootParent "root-parent" [Orchestrator] "The root orchestrator names a parent.",
    StaleHandled "stale-handled" [Stale] "Nobody reacts to a stale worker.",
    Shutdown "shutdown" [Orchestrator, Left] "An orchestrator leaves its workers running.",
}

impl Rule {
    /// The index of the rule in [`ALL`](Self::ALL).
    pub fn index(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lead_back() {
        for rule in Rule::ALL {
            assert_eq!(Rule::from_name(rule.name()), Some(rule));
            assert_eq!(Rule::ALL[rule.index()], rule);
        }
    }
}
