//! What is known of a session, and which rules look at a record of it.

use std::fmt::Display;

use super::super::ids::Ids;
use super::super::peers::{Overflow, PeerId, Peers, key_of};
use super::super::phase::Phase;
use super::super::record::{Record, Shape};
use super::super::timers::{Due, Timer, Timers};
use super::super::topic::{self, Fact, Topic};
use super::super::view::Accepted;
use super::super::violation::{Grade, Observer, Occurrence, Violation, Weighed};
use super::super::worker::{Asks, Boot, Request};
use super::super::{Limits, Profile, Rule};
use super::broadcast::Broadcast;
use super::complaints::Complaints;
use super::fields::nonblank;
use super::gate::Ungated;
use super::report::{Report, has_room, shown, whole_log};
use super::survivors::Survivors;
use crate::json::Node;
use crate::time::{self, Millis};

/// Whether a record's data is of a later version than this protocol's, and so not held to it.
pub(super) fn is_later_version(record: &Record<'_>) -> bool {
    record.envelope.is_some_and(|envelope| envelope.later_version().is_some())
}

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
    /// The session's time, which does not run back.
    pub(crate) clock: Option<Millis>,
    /// The time on the latest record.
    stamped: Option<Millis>,
    /// How far the records' clock was set back.
    set_back: Millis,
    /// The time of the first record.
    pub(crate) began: Option<Millis>,
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
    /// Those of them that name no parent.
    pub(super) orphans: u32,
    /// Orchestrators that joined.
    pub(super) orchestrators: u32,
    /// What all workers cost by their heartbeats, and what those that run do.
    pub(super) costs: Costs,
    /// The line of the latest boot.
    pub(super) last_boot: Option<u64>,
    pub(super) broadcast: Broadcast,
    pub(super) ungated: Ungated,
    pub(super) complaints: Complaints,
    pub(super) log: LogFacts,
    pub(super) survivors: Survivors,
}

/// Which kinds of records the whole log has shown, over all of its sessions.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LogFacts {
    pub(super) joins: bool,
    pub(super) leaves: bool,
    pub(super) workers: bool,
}

/// What workers cost by their latest heartbeats.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Costs {
    pub(super) all: f64,
    pub(super) running: f64,
}

impl Session {
    pub(crate) fn new(profile: Profile, limits: Limits) -> Self {
        Self {
            profile,
            limits,
            peers: Peers::new(limits),
            timers: Timers::new(limits.peers.saturating_mul(4)),
            ids: Ids::new(limits.ids),
            number: 1,
            records: 0,
            clock: None,
            stamped: None,
            set_back: 0,
            began: None,
            place: (0, 0),
            start_is_missing: false,
            lost_line: 0,
            has_joins: false,
            no_server_time_reported: false,
            root: None,
            running: 0,
            orphans: 0,
            orchestrators: 0,
            costs: Costs::default(),
            last_boot: None,
            broadcast: Broadcast::default(),
            ungated: Ungated::default(),
            complaints: Complaints::default(),
            log: LogFacts::default(),
            survivors: Survivors::new(),
        }
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.records > 0
    }

    pub(crate) fn known_peers(&self) -> usize {
        self.peers.len()
    }

    /// Whether the server announces who joins.
    pub(crate) fn announces(&self) -> bool {
        self.has_joins
    }

    /// Whether a worker of this id has booted.
    pub(crate) fn has_booted(&self, name: &str) -> bool {
        self.peers.find(name).is_some_and(|id| self.peers[id].worker.has_booted())
    }

    /// Whether a worker of this id has booted and not ended.
    pub(crate) fn runs(&self, name: &str) -> bool {
        self.peers.find(name).is_some_and(|id| {
            let peer = &self.peers[id];
            !peer.left && peer.worker.has_booted() && peer.worker.end.complete.is_none()
        })
    }

    /// Whether a peer of this id is there.
    pub(crate) fn is_present(&self, name: &str) -> bool {
        self.peers.find(name).is_some_and(|id| !self.peers[id].left)
    }

    /// Whether a record goes on from the phase that a worker is in.
    pub(crate) fn continues(&self, name: &str, record: &Record<'_>) -> bool {
        let Some(id) = self.peers.find(name) else { return false };
        let stated = Phase::of(record.field("prev")).or(Phase::of(record.field("current_phase")));
        stated.is_some() && stated == self.peers[id].worker.phases.current
    }

    /// When the next timer fires.
    pub(crate) fn next_deadline(&self) -> Option<Millis> {
        self.timers.next()
    }

    /// Ends the session and begins another; nothing that was known of a peer holds any longer.
    pub(crate) fn restart(&mut self, place: (u64, u64), why: &str, out: &mut dyn Observer) {
        self.end_workers(false, out);
        out.session_ended();
        for id in self.peers.ids() {
            self.survive(id);
        }
        let number = self.number + 1;
        let survivors = std::mem::take(&mut self.survivors);
        let new = Self::new(self.profile, self.limits);
        *self = Self { number, place: self.place, log: self.log, survivors, ..new };
        out.occurrence("", None, place.0, Occurrence::Session(number));
        let message = format_args!("session {number} starts here: {why}");
        self.report(out, Rule::SessionStart, place, None, message);
    }

    /// Makes peers known by the roles that somebody else than the log gives them.
    pub(crate) fn assign(&mut self, roles: &[(String, crate::events::Role)]) {
        for (name, role) in roles {
            let Some(id) = self.peers.meet(name) else { continue };
            self.peers[id].role = Some(*role);
            if *role == crate::events::Role::Orchestrator && self.root.is_none() {
                self.root = Some(id);
            }
        }
    }

    /// Ends what began before the server was started at this time; whoever came since belongs to the new session.
    pub(crate) fn restarted_at(&mut self, start: Millis, place: (u64, u64), out: &mut dyn Observer) {
        let earlier = |id: &PeerId| self.peers[*id].since.is_none_or(|since| since < start);
        let old: Vec<_> = self.peers.ids().into_iter().filter(earlier).collect();
        for id in old {
            if !self.peers[id].left {
                self.end_worker(id, out);
                out.ended(&self.peers[id].name);
            }
            self.survive(id);
            self.peers.forget(id);
        }
        self.number += 1;
        self.began = Some(start);
        self.start_is_missing = false;
        self.root = self.root.filter(|root| !self.peers[*root].left);
        out.occurrence("", None, place.0, Occurrence::Session(self.number));
        let message = format_args!(
            "session {} starts before here: the server was started anew at {}",
            self.number,
            time::rfc3339(start)
        );
        self.report(out, Rule::SessionStart, place, None, message);
    }

    /// Checks the next record of the session.
    pub(crate) fn record(&mut self, record: &mut Record<'_>, out: &mut dyn Observer) {
        if !self.has_begun() && self.number == 1 {
            out.occurrence("", record.time, record.line, Occurrence::Session(1));
            self.start_is_missing = record.sequence.is_some_and(|number| number > 0);
        }
        self.records += 1;
        self.place = (record.line, record.offset);
        let ran_back = self.advance(record, out);
        let record = &*record;
        let report = &mut Report { record, out, is_broken: false, is_refused: false, ends: None };
        if let Some(by) = ran_back {
            let by = time::span(by);
            report.at(Rule::TimeForward, "/ts_server", None, format_args!("server time runs back by {by}"));
        }
        let names_publisher = record.from.as_ref().is_some_and(|from| !from.is_empty());
        if !names_publisher && matches!(record.shape, Shape::Server | Shape::Sidecar | Shape::Wire) {
            // Who may publish what is judged by it.
            let message = "the record does not say who published it";
            report.at(Rule::PublisherNamed, "/from", None, message);
        }
        if topic::is_well_spelt(&record.topic) {
            let topic = Topic::parse(&record.topic);
            if record.shape == Shape::Delivery {
                self.delivered(record, topic);
                return;
            }
            self.checked(report, topic);
            self.complained(report, topic);
            if !report.is_refused && report.out.wants(&record.topic) {
                self.accepted(report);
            }
            if let Some(peer) = report.ends.take() {
                report.out.ended(&peer);
            }
        } else {
            let topic = shown(&record.topic);
            let message = format_args!("the topic `{topic}` is not dot-separated, lower-case words");
            // The published server makes topics of its own from names that its users give.
            let is_of_names = self.profile == Profile::Origin && topic::is_of_other_namespace(&record.topic);
            let grade = if is_of_names { Grade::Note } else { Grade::Full };
            report.topic((Rule::TopicSpelling, grade), message);
            if grade == Grade::Full {
                self.misdirected(record);
            }
        }
        if let Some(id) = record.publisher().and_then(|from| self.peers.find(&from)) {
            self.peers[id].heard(record);
        }
        self.overflow(out);
    }

    /// Hands on a record that its publisher may publish.
    fn accepted(&self, report: &mut Report<'_>) {
        let role = report.record.publisher().and_then(|from| self.peers[self.peers.find(&from)?].role);
        let is_unsure = self.start_is_missing || self.lost_line > 0 || self.peers.overflow.is_some();
        report.out.record(&Accepted { record: report.record, role, is_unsure });
    }

    /// The server's own note that it delivered a command, or that one was acknowledged. What the command says is not in
    /// the log, so that it is taken for the answer that the worker waits for.
    fn delivered(&mut self, record: &Record<'_>, topic: Topic<'_>) {
        if let Topic::Command { peer, rest, .. } = topic
            && rest != "ack"
            && let Some(id) = self.peers.find(peer)
        {
            self.peers[id].worker.requests.answer_oldest();
            self.peers[id].heard(record);
        }
    }

    /// Says that there is more than can be followed: what is not looked at must not pass for right.
    fn overflow(&mut self, out: &mut dyn Observer) {
        let why = match self.peers.overflow {
            Some(Overflow::Peers) => "there are more peers at once than can be followed",
            Some(Overflow::Name) => "the id of a peer is too long to follow it",
            None if self.timers.overflow => "there are more deadlines at once than can be followed",
            None => return,
        };
        if !std::mem::replace(&mut self.peers.overflow_told, true) {
            let message = format_args!("{why}, and what is not followed is not judged");
            self.report(out, Rule::PeersFollowed, self.place, None, message);
        }
    }

    fn checked(&mut self, report: &mut Report<'_>, topic: Topic<'_>) {
        let has_data = self.envelope(report, topic);
        self.presence(report, topic);
        match topic {
            Topic::Worker { peer, fact, rest } => self.worker(report, peer, fact, rest, has_data),
            Topic::Command { peer, verb, rest } => self.command(report, peer, verb, rest, has_data),
            Topic::Role { role } => self.role(report, role, has_data),
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

    /// Moves the clock and fires what is due; answers by how much the record's own time runs back.
    fn advance(&mut self, record: &mut Record<'_>, out: &mut dyn Observer) -> Option<Millis> {
        let stamped = record.stamped?;
        let before = self.stamped.replace(stamped);
        let by = before.map_or(0, |before| before.saturating_sub(stamped));
        let time = self.steady(record.time.unwrap_or(stamped));
        record.time = Some(time);
        self.began = self.began.or(Some(time));
        self.tick(time, out);
        self.clock = Some(time);
        (by > 1 && record.has_server_time).then_some(by)
    }

    /// A record's time on a clock that does not run back. One record that is stamped back stands where the one before it
    /// does; a clock that was set back goes on from there.
    fn steady(&mut self, time: Millis) -> Millis {
        let Some(clock) = self.clock else { return time };
        if time >= clock {
            self.set_back = 0;
            return time;
        }
        if time.saturating_add(self.set_back) < clock {
            self.set_back = clock.saturating_sub(time);
        }
        time.saturating_add(self.set_back)
    }

    /// Fires every timer that is due before `now`.
    pub(crate) fn tick(&mut self, now: Millis, out: &mut dyn Observer) {
        while let Some(due) = self.timers.pop(now) {
            let peer = &self.peers[due.peer];
            if peer.generation == due.generation && !peer.left {
                self.fire(due, now, out);
            }
        }
        self.broadcast_due(now, out);
        out.passed(now);
    }

    /// Sets a timer for the present generation of a peer.
    pub(super) fn arm(&mut self, peer: PeerId, at: Millis, timer: Timer) {
        if self.timers.is_full() {
            let peers = &self.peers;
            self.timers.retain(|due| peers[due.peer].generation == due.generation && !peers[due.peer].left);
        }
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
        if self.profile == Profile::Origin && report.record.publisher().is_some_and(|from| from != name) {
            self.peers[id].worker.spoken_for = true;
        }
        self.resume(report.record, id, fact);
        if fact != Some(Fact::Boot) {
            if self.peers[id].left {
                return;
            }
            self.before_boot(report, id);
        }
        let peer = &mut self.peers[id];
        if peer.last_line > 0 && self.lost_line > peer.last_line {
            // What it said in between is not known, so that it is taken up again where it stands now.
            peer.worker.missed = true;
            peer.worker.phases.lose_track();
            peer.worker.last_event = None;
        }
        if !has_data || is_later_version(report.record) {
            self.unreadable(report.record, id, fact);
            return;
        }
        match fact {
            Some(Fact::Boot) => self.boot(report, id),
            Some(Fact::Phase) => self.phase(report, id),
            Some(Fact::Event) => self.event(report, id),
            Some(Fact::Heartbeat) => self.heartbeat(report, id),
            Some(Fact::Complete) => self.complete(report, id),
            None => {
                self.after_complete(report, id);
            }
        }
        if fact != Some(Fact::Boot) {
            match report.record.parent() {
                Some(parent) => self.adopt(report, id, &parent),
                None => self.disowned(report, id),
            }
        }
        // Under the published tooling the connection differs from the worker, so the worker is heard here.
        self.peers[id].heard(report.record);
    }

    /// Data that cannot be read, which was said, or of a later version, which is not held to this one: what happened is
    /// known all the same.
    fn unreadable(&mut self, record: &Record<'_>, id: PeerId, fact: Option<Fact>) {
        let limit = self.limits.requests;
        let worker = &mut self.peers[id].worker;
        match fact {
            Some(Fact::Boot) if !worker.has_booted() => {
                worker.boot = Boot::Done;
                worker.heartbeats.last = record.time;
                self.starts_running(id);
                self.watch_heartbeat(id);
            }
            Some(Fact::Phase) => match Phase::of(record.field("phase")) {
                Some(phase) if worker.phases.current == Some(phase) => {}
                _ => worker.phases.lose_track(),
            },
            Some(Fact::Event) => {
                if let Some(request) = nonblank(record.field("request_id")) {
                    let (key, at, line) = (key_of(&request), record.time, record.line);
                    if !worker.requests.knows(key) {
                        worker.requests.ask(Request { key, at, line, asks: Asks::Anything }, limit);
                    }
                }
            }
            Some(Fact::Heartbeat) => worker.heartbeats.last = record.time.or(worker.heartbeats.last),
            Some(Fact::Complete) if worker.end.complete.is_none() => {
                worker.end.complete = Some(record.line);
                self.stops_running(id);
            }
            _ => {}
        }
        self.peers[id].heard(record);
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
        report.is_refused = true;
        report.push(Violation {
            peer: Some((*from).into()),
            consequences: if forged { vec![(Rule::FromMatches, record.line)] } else { Vec::new() },
            ..report.violation(Rule::OwnTopic, "/topic", None, message)
        });
        if !forged {
            self.misdirected(record);
        }
        false
    }

    /// A record of a worker is on a topic where nobody looks for it, which was said: what it tells of its own publisher
    /// must not be missed a second time.
    pub(super) fn misdirected(&mut self, record: &Record<'_>) {
        let (Some(from), Some(envelope)) = (record.publisher(), record.envelope) else { return };
        let Some(id) = self.peers.find(&from) else { return };
        let worker = &mut self.peers[id].worker;
        let schema = envelope.schema.and_then(Node::text).unwrap_or_default();
        match schema
            .strip_prefix("worker-")
            .and_then(|rest| rest.strip_suffix("-v1"))
            .and_then(Fact::from_name)
        {
            Some(Fact::Boot) if worker.boot == Boot::Missing => worker.boot = Boot::SpokeFirst,
            Some(Fact::Phase) => worker.phases.lose_track(),
            Some(Fact::Complete) if worker.end.complete.is_none() => {
                worker.end.complete = Some(record.line);
                worker.requests.close();
                self.stops_running(id);
            }
            _ => {}
        }
    }

    /// How much a finding weighs that depends on what came before: a lost line or a missing start may hold the answer.
    pub(super) fn certainty(&self, id: PeerId) -> Grade {
        let peer = &self.peers[id];
        // Who was not followed for a while may have joined and booted meanwhile.
        let was_lost = self.peers.overflow.is_some() && !peer.joined;
        if self.lost_line > peer.last_line || was_lost {
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
