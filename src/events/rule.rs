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
    SequenceGap "sequence-gap" [SecondNumber] "Sequence numbers leave some out: records are missing.",
    PublisherNamed "publisher-named" [Record] "A record does not say who published it.",
    PeersFollowed "peers-followed" [Record] "There is more at once than can be followed.",
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
    EnvelopeServerTime "envelope-server-time" [NamedServerTime] "`ts_server` of an envelope is no time, or not the server's.",
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
    GateFired "gate-fired" [SecondPhase, Gate] "The server does not report an illegal transition.",
    PhaseMissing "phase-missing" [End] "A worker ends without having been in any phase.",
    PhaseTypes "phase-types" [Phase] "A field of a phase has a wrong type.",
    EventFields "event-fields" [Event] "An event lacks a required field.",
    EventKind "event-kind" [Event] "An event's kind is none of the seven.",
    EventSeverity "event-severity" [Event] "An event's severity is none of the four.",
    EventMessage "event-message" [Event] "An event's message says nothing.",
    RequestIdPresent "request-id-present" [Question] "A request has no `request_id`.",
    RequestIdForm "request-id-form" [Question] "A `request_id` is no UUID, or is used again.",
    HarvestArtifacts "harvest-artifacts" [Harvest] "The artifacts of a HARVEST are malformed.",
    ProgressRange "progress-range" [Progress] "The numbers of a PROGRESS are out of range.",
    AfterFatal "after-fatal" [Fatal] "A worker goes on after a fatal ERROR.",
    BlockedAdvance "blocked-advance" [Blocked, SecondPhase] "A blocked worker goes on to another phase.",
    EventData "event-data" [Event] "The details of an event are no object.",
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
    CompleteArtifacts "complete-artifacts" [Complete] "The artifacts of a complete are malformed.",
    CompleteOnce "complete-once" [Complete] "A worker completes twice.",
    AfterComplete "after-complete" [Complete] "A worker goes on after complete.",
    CompleteOrFatal "complete-or-fatal" [End] "A worker has both a complete and a fatal ERROR.",
    LeftUnfinished "left-unfinished" [Left] "A worker leaves with neither a complete nor a fatal ERROR.",
    CompleteTerminal "complete-terminal" [Complete] "A complete comes before a terminal phase.",
    CompletePhases "complete-phases" [Complete] "A complete tells of phases that were not visited.",
    CompleteFailed "complete-failed" [Complete, FailedPhase] "A complete says ok in FAILED.",
    CompleteTotals "complete-totals" [Complete] "The totals are negative or below the last heartbeat's.",
    CompleteTypes "complete-types" [Complete] "A field of a complete has a wrong type.",
    LeaveAfterComplete "leave-after-complete" [Complete, Joined] "A worker completes and does not leave.",
    CommandFields "command-fields" [Command] "A command lacks a required field.",
    SetPhaseName "set-phase-name" [SetPhase] "A `set_phase` names no phase.",
    AnswersRequest "answers-request" [Answer] "A command answers a request that nobody made.",
    CommandTarget "command-target" [Command] "A command goes to a worker that is not there.",
    AnswerInTime "answer-in-time" [Question] "A request is not answered in time.",
    AnsweredOnce "answered-once" [Answer] "A request is answered twice.",
    AbortObeyed "abort-obeyed" [Abort] "A worker goes on after an abort.",
    SetPhaseObeyed "set-phase-obeyed" [SetPhase] "A worker does not enter the phase it was set to.",
    SpawnObeyed "spawn-obeyed" [Spawn] "No sub-worker boots after a spawn.",
    CorrelationsAgree "correlations-agree" [Command] "The two correlation ids of a command differ.",
    InjectedHeader "injected-header" [Inject] "The header of an injected command is malformed.",
    PausedAdvance "paused-advance" [Pause, SecondPhase] "A paused worker goes on to another phase.",
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
    LeftKnown "left-known" [Left] "The leave is of a peer that is not there, or of another role.",
    NamesKnown "names-known" [Naming] "A server event names a peer that never joined.",
    BudgetCost "budget-cost" [Budget, Heartbeat] "A budget warning tells another cost than the heartbeats.",
    InvalidReported "invalid-reported" [Malformed] "The server does not report a malformed event.",
    MalformedReceived "malformed-received" [Malformed] "The server received a malformed event.",
    ParentKnown "parent-known" [NamedParent] "A parent is no known peer.",
    ParentAcyclic "parent-acyclic" [NamedParent] "A peer is its own ancestor.",
    ParentConstant "parent-constant" [NamedParent] "A worker's parent changes.",
    RootParent "root-parent" [Orchestrator] "The root orchestrator names a parent.",
    ParentRole "parent-role" [NamedParent] "A parent is an observer.",
    StaleHandled "stale-handled" [Stale] "Nobody reacts to a stale worker.",
    Shutdown "shutdown" [Orchestrator, Left] "An orchestrator leaves its workers running.",
    ProbeFrames "probe-frames" [Probe] "A server sends a line that is no JSON object.",
    ProbeSubscribeAnything "probe-subscribe-anything" [Probe] "A server refuses a subscription.",
    ProbeBeforeHello "probe-before-hello" [Probe] "A server lets a connection publish that has not said hello.",
    ProbeForeignTopic "probe-foreign-topic" [Probe] "A server lets a peer publish on another worker's topic.",
    ProbeRefusalText "probe-refusal-text" [Probe] "A server refuses in other words than the document's.",
    ProbeWorkerCommands "probe-worker-commands" [Probe] "A server lets a worker send commands.",
    ProbeObserverCommands "probe-observer-commands" [Probe] "A server lets an observer send commands.",
    ProbeWorkerSystem "probe-worker-system" [Probe] "A server lets a worker publish on `system.*`.",
    ProbeOrchestratorSystem "probe-orchestrator-system" [Probe] "A server lets an orchestrator publish on `system.*`.",
    ProbeSpoofedSender "probe-spoofed-sender" [Probe] "A server fans out a message whose `from_peer` is somebody else.",
    ProbeForeignTask "probe-foreign-task" [Probe] "A server lets a worker publish on a task that is not its own.",
    ProbeSenderAdded "probe-sender-added" [Probe] "A server does not add `from_peer`.",
    ProbeServerTimeAdded "probe-server-time-added" [Probe] "A server does not add `ts_server`.",
    ProbeServerTimeOwn "probe-server-time-own" [Probe] "A server keeps a `ts_server` that a client wrote.",
    ProbeZeroWords "probe-zero-words" [Probe] "`**` does not match zero words.",
    ProbeOneWord "probe-one-word" [Probe] "`*` does not match exactly one word.",
    ProbeFanOut "probe-fan-out" [Probe] "A subscriber does not get a message, or gets it twice.",
    ProbeLatency "probe-latency" [Probe] "A message takes long to its subscribers.",
    ProbeJoined "probe-joined" [Probe] "A server does not say that a peer joined.",
    ProbeLeft "probe-left" [Probe] "A server does not say at once that a peer left.",
    ProbeLeftReason "probe-left-reason" [Probe] "A server calls a crash a clean leave.",
    ProbeStale "probe-stale" [Probe] "A server does not say in time that a worker is silent.",
    ProbeStaleTrue "probe-stale-true" [Probe] "A server calls a worker silent that sends frames.",
    ProbeGate "probe-gate" [Probe] "A server does not say that it stopped an illegal transition.",
    ProbeMalformedEvent "probe-malformed-event" [Probe] "A server does not say that it received a malformed event.",
    ProbeMalformedLine "probe-malformed-line" [Probe] "A server serves no longer who sent a line that is no JSON.",
    ProbeCommandDelivered "probe-command-delivered" [Probe] "A command does not reach its worker.",
    ProbeRoleDelivered "probe-role-delivered" [Probe] "A command to a role does not reach its workers.",
    ShutdownBroadcast "shutdown-broadcast" [Orchestrator, Left] "An orchestrator leaves without having told its workers to stop.",
    BroadcastData "broadcast-data" [Role] "A broadcast says nothing.",
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
