//! What is known of a session, and which rules look at a record of it.

use std::fmt::Display;

use super::super::ids::Ids;
use super::super::peers::{PeerId, Peers};
use super::super::record::{Record, Shape};
use super::super::timers::{Due, Timer, Timers};
use super::super::topic::{self, Fact, Topic};
use super::super::violation::{Grade, Observer, Occurrence, Violation, Weighed};
use super::super::worker::Boot;
use super::super::{Limits, Profile, Rule};
use super::report::{Report, has_room, shown, whole_log};
use crate::time::{self, Millis};

/// The publisher's name of everything that the server says itself.
pub(super) const SERVER: &str = "server";

/// Everything that is remembered of a session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(super) profile: Profile,
    pub(super) limits: Limits,
    pub(super) peers: Peers,
    pub(super) timers: Timers,
    pub(super) ids: Ids,
    /// The first session of a log is number 1.
    number: u64,
    records: u64,
    /// The time of the latest record.
    pub(crate) clock: Option<Millis>,
    /// The line and the offset of the latest record, for what a timer finds.
    pub(super) place: (u64, u64),
    /// The session's start is missing: it was rotated away, or the sidecar came late.
    pub(super) start_is_missing: bool,
    /// The latest line that could not be read, so that what it said is missing.
    pub(crate) lost_line: u64,
    /// Whether the server announces who joins.
    pub(super) has_joins: bool,
    pub(super) no_server_time_reported: bool,
    pub(super) root: Option<PeerId>,
    /// Workers that booted and have not ended.
    pub(super) running: u64,
    /// The line of the latest boot.
    pub(super) last_boot: Option<u64>,
    pub(super) log: LogFacts,
}

/// Which kinds of records the whole log has shown, over all of its sessions.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LogFacts {
    pub(super) joins: bool,
    pub(super) leaves: bool,
    pub(super) workers: bool,
}

impl Session {
    pub(crate) fn new(profile: Profile, limits: Limits) -> Self {
        Self {
            profile,
            limits,
            peers: Peers::new(limits),
            timers: Timers::new(limits.peers.saturating_mul(8)),
            ids: Ids::new(limits.ids),
            number: 1,
            records: 0,
            clock: None,
            place: (0, 0),
            start_is_missing: false,
            lost_line: 0,
            has_joins: false,
            no_server_time_reported: false,
            root: None,
            running: 0,
            last_boot: None,
            log: LogFacts::default(),
        }
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.records > 0
    }

    pub(crate) fn known_peers(&self) -> usize {
        self.peers.len()
    }

    /// When the next timer fires.
    pub(crate) fn next_deadline(&self) -> Option<Millis> {
        self.timers.next()
    }

    /// Ends the session and begins another; nothing that was known of a peer holds any longer.
    pub(crate) fn restart(&mut self, place: (u64, u64), why: &str, out: &mut dyn Observer) {
        self.end_workers(false, out);
        let number = self.number + 1;
        *self = Self { number, place: self.place, log: self.log, ..Self::new(self.profile, self.limits) };
        out.occurrence("", None, place.0, Occurrence::Session(number));
        let message = format_args!("session {number} starts here: {why}");
        self.report(out, Rule::SessionStart, place, None, message);
    }

    /// Checks the next record of the session.
    pub(crate) fn record(&mut self, record: &Record<'_>, out: &mut dyn Observer) {
        if !self.has_begun() && self.number == 1 {
            out.occurrence("", record.time, record.line, Occurrence::Session(1));
            self.start_is_missing = record.sequence.is_some_and(|number| number > 0);
        }
        self.records += 1;
        self.place = (record.line, record.offset);
        let report = &mut Report { record, out };
        self.advance(report);
        if topic::is_well_spelt(&record.topic) {
            let topic = Topic::parse(&record.topic);
            if record.shape == Shape::Delivery {
                // The server's own note that it delivered a command, or that one was acknowledged.
                return;
            }
            self.checked(report, topic);
        } else {
            let topic = shown(&record.topic);
            let message = format_args!("the topic `{topic}` is not dot-separated, lower-case words");
            report.topic(Rule::TopicSpelling, message);
        }
        if let Some(id) = record.publisher().and_then(|from| self.peers.find(&from)) {
            self.peers[id].heard(record);
        }
    }

    fn checked(&mut self, report: &mut Report<'_>, topic: Topic<'_>) {
        let has_data = self.envelope(report, topic);
        self.presence(report, topic);
        match topic {
            Topic::Worker { peer, fact, rest } => self.worker(report, peer, fact, rest, has_data),
            Topic::Command { peer, verb, rest } => self.command(report, peer, verb, rest, has_data),
            Topic::Role { role } => self.role(report, role),
            Topic::Task { id, rest } => self.task(report, id, rest),
            Topic::System { event, rest } => self.system(report, event, rest),
            Topic::Other { namespace } => {
                if let Some(known) = topic::near_miss(namespace, &topic::NAMESPACES) {
                    let namespace = shown(namespace);
                    report.topic(
                        Rule::TopicNamespace,
                        format_args!(
                            "the namespace `{namespace}` nearly spells `{known}`, and nobody listens there"
                        ),
                    );
                }
            }
        }
    }

    /// Moves the clock and fires what is due.
    fn advance(&mut self, report: &mut Report<'_>) {
        let Some(time) = report.record.time else { return };
        if let Some(before) = self.clock
            && report.record.has_server_time
            && time + 1 < before
        {
            let by = time::span(before - time);
            report.at(Rule::TimeForward, "/ts_server", None, format_args!("server time runs back by {by}"));
        }
        self.tick(time, report.out);
        self.clock = Some(time);
    }

    /// Fires every timer that is due before `now`.
    pub(crate) fn tick(&mut self, now: Millis, out: &mut dyn Observer) {
        while let Some(due) = self.timers.pop(now) {
            let peer = &self.peers[due.peer];
            if peer.generation == due.generation && !peer.left {
                self.fire(due, now, out);
            }
        }
    }

    /// Sets a timer for the present generation of a peer.
    pub(super) fn arm(&mut self, peer: PeerId, at: Millis, timer: Timer) {
        let generation = self.peers[peer].generation;
        self.timers.set(Due { at, peer, generation, timer });
    }

    /// A message on a worker's topic.
    fn worker(
        &mut self,
        report: &mut Report<'_>,
        name: &str,
        fact: Option<Fact>,
        rest: &str,
        has_data: bool,
    ) {
        self.log.workers = true;
        if fact.is_none()
            && let Some(known) = topic::near_miss(rest, Fact::NAMES)
        {
            let rest = shown(rest);
            let message = format_args!("`{rest}` nearly spells `{known}`, and nobody listens there");
            report.topic(Rule::WorkerTopic, message);
        }
        if !self.owns(report, name) {
            return;
        }
        let Some(id) = self.peers.meet(name) else { return };
        if fact != Some(Fact::Boot) {
            if self.peers[id].left {
                return;
            }
            self.before_boot(report, id);
        }
        if !has_data {
            // The data cannot be read, and that was said; who spoke is known all the same.
            let worker = &mut self.peers[id].worker;
            match fact {
                Some(Fact::Boot) => worker.boot = Boot::Done,
                Some(Fact::Phase) => worker.phases.lose_track(),
                _ => {}
            }
            return;
        }
        match fact {
            Some(Fact::Boot) => self.boot(report, id),
            Some(Fact::Phase) => self.phase(report, id),
            Some(Fact::Event) => self.event(report, id),
            Some(Fact::Heartbeat) => self.heartbeat(report, id),
            Some(Fact::Complete) => self.complete(report, id),
            None => {}
        }
        if fact != Some(Fact::Boot)
            && let Some(parent) = report.record.parent()
        {
            self.adopt(report, id, &parent);
        }
        // Under the published tooling the connection differs from the worker, so the worker is heard here.
        self.peers[id].heard(report.record);
    }

    /// Whether the publisher may speak for a worker.
    fn owns(&mut self, report: &mut Report<'_>, name: &str) -> bool {
        let record = report.record;
        let Some(from) = record.publisher() else { return true };
        if from == name || self.profile == Profile::Origin {
            return true;
        }
        let claimed = record.claimed_publisher();
        let forged = record.from.is_some() && claimed.is_some_and(|claimed| *claimed != *from);
        let message = format!("{} publishes on the topic of {}", shown(&from), shown(name));
        report.push(Violation {
            peer: Some((*from).into()),
            consequences: if forged { vec![(Rule::FromMatches, record.line)] } else { Vec::new() },
            ..report.violation(Rule::OwnTopic, "/topic", None, message)
        });
        false
    }

    /// How much a finding weighs that depends on what came before: a lost line or a missing start may hold the answer.
    pub(super) fn certainty(&self, id: PeerId) -> Grade {
        let peer = &self.peers[id];
        if self.lost_line > peer.last_line {
            Grade::Indeterminate
        } else if self.start_is_missing && !peer.joined {
            Grade::Note
        } else {
            Grade::Full
        }
    }

    /// As [`certainty`](Self::certainty), for what depends on peers that may have been forgotten.
    pub(super) fn certainty_among_peers(&self, id: PeerId) -> Grade {
        if self.peers.forgotten > 0 { Grade::Indeterminate } else { self.certainty(id) }
    }

    /// Reports a violation that is no record's own.
    pub(super) fn report(
        &self,
        out: &mut dyn Observer,
        rule: impl Into<Weighed>,
        place: (u64, u64),
        peer: Option<PeerId>,
        message: impl Display,
    ) {
        let weighed = rule.into();
        if has_room(weighed, out) {
            let peer = peer.map(|peer| self.peers[peer].name.as_ref().into());
            out.violation(Violation { peer, ..whole_log(weighed, place, self.clock, message) });
        }
    }
}
