//! Judging the records of a session, one after the other. One file a family of rules.

mod boot;
mod command;
mod complete;
mod envelope;
mod event;
mod fields;
mod heartbeat;
mod life;
mod lineage;
mod phase;
mod silence;
mod system;
mod task;

use std::borrow::Cow;

use super::excerpt::excerpt;
use crate::json::Node;

use super::breach::{Breach, Grade, Happening, Observer};
use super::ids::Ids;
use super::peer::{PeerId, Peers};
use super::record::{Record, Shape};
use super::timers::{Due, Timer, Timers};
use super::topic::{self, Fact, Topic};
use super::{Limits, Profile, Rule};
use crate::text::clip;
use crate::time::Millis;

/// The publisher's name of everything that the server says itself.
const SERVER: &str = "server";

/// What is known of a session, and the rules that look at its records.
#[derive(Debug)]
pub(crate) struct Court {
    pub(super) profile: Profile,
    pub(super) limits: Limits,
    pub(super) peers: Peers,
    pub(super) timers: Timers,
    pub(super) ids: Ids,
    /// The time of the latest record.
    pub(super) clock: Option<Millis>,
    /// The line of the latest record, for what a timer finds.
    pub(super) line: u64,
    pub(super) offset: u64,
    /// The session's start is missing: it was rotated away, or the sidecar came late.
    pub(super) is_suffix: bool,
    /// The latest line that could not be read.
    pub(super) lost: u64,
    pub(super) session: Seen,
    /// What the whole log has shown.
    pub(super) log: Seen,
    pub(super) root: Option<PeerId>,
    /// Workers that booted and have not ended.
    pub(super) running: u64,
    /// The line of the latest boot.
    pub(super) last_boot: Option<u64>,
    pub(super) sessions: u64,
}

/// Which kinds of records there were.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct Seen {
    pub(super) joined: bool,
    pub(super) left: bool,
    pub(super) worker: bool,
    pub(super) records: u64,
    pub(super) no_server_time: bool,
}

impl Court {
    pub(crate) fn new(profile: Profile, limits: Limits) -> Self {
        Self {
            profile,
            limits,
            peers: Peers::new(limits),
            timers: Timers::new(limits.peers.saturating_mul(8)),
            ids: Ids::new(limits.ids),
            clock: None,
            line: 0,
            offset: 0,
            is_suffix: false,
            lost: 0,
            session: Seen::default(),
            log: Seen::default(),
            root: None,
            running: 0,
            last_boot: None,
            sessions: 1,
        }
    }

    /// Whether the session has had any record.
    pub(crate) fn has_begun(&self) -> bool {
        self.session.records > 0
    }

    /// How many peers are known now.
    pub(crate) fn peers(&self) -> usize {
        self.peers.len()
    }

    /// The time of the latest record.
    pub(crate) fn clock(&self) -> Option<Millis> {
        self.clock
    }

    /// When the next timer fires.
    pub(crate) fn next_deadline(&self) -> Option<Millis> {
        self.timers.next()
    }

    /// Ends the session and begins another; nothing that was known of a peer holds any longer.
    pub(crate) fn split(&mut self, line: u64, offset: u64, why: &str, out: &mut impl Observer) {
        self.end_lives(false, out);
        self.peers = Peers::new(self.limits);
        self.timers = Timers::new(self.limits.peers.saturating_mul(8));
        self.ids.clear();
        self.clock = None;
        self.is_suffix = false;
        self.session = Seen::default();
        self.root = None;
        self.running = 0;
        self.last_boot = None;
        self.lost = 0;
        self.sessions += 1;
        let number = self.sessions;
        out.happening("", None, line, Happening::Session(number));
        self.tell(out, Rule::SessionStart, Grade::Full, (line, offset), None, || {
            format!("session {number} starts here: {why}")
        });
    }

    /// Notes that a line could not be read, so that what it said is missing.
    pub(crate) fn lose(&mut self, line: u64) {
        self.lost = line;
    }

    /// Judges the next record of the session.
    pub(crate) fn record(&mut self, record: &Record<'_>, out: &mut impl Observer) {
        if self.log.records == 0 {
            out.happening("", record.time, record.line, Happening::Session(1));
        }
        if !self.has_begun() {
            self.is_suffix = record.sequence.is_some_and(|number| number > 0) && self.sessions == 1;
        }
        self.session.records += 1;
        self.log.records += 1;
        self.line = record.line;
        self.offset = record.offset;
        self.advance(record, out);
        if !topic::is_well_spelt(&record.topic) {
            self.blame(out, Rule::TopicSpelling, Grade::Full, record, "/topic", None, || {
                let topic = shown(&record.topic);
                format!("the topic `{topic}` is not dot-separated, lower-case words")
            });
            self.seen(record);
            return;
        }
        let topic = Topic::parse(&record.topic);
        if record.shape == Shape::Delivery {
            // The server's own note that it delivered a command, or that one was acknowledged.
            return;
        }
        let intact = self.envelope(record, topic, out);
        self.presence(record, topic, out);
        match topic {
            Topic::Worker { peer, fact, rest } => self.worker(record, peer, fact, rest, intact, out),
            Topic::Command { peer, verb, rest } => self.command(record, peer, verb, rest, intact, out),
            Topic::Role { role } => self.role(record, role, out),
            Topic::Task { id, rest } => self.task(record, id, rest, out),
            Topic::System { event, rest } => self.system(record, event, rest, out),
            Topic::Other { namespace } => {
                if let Some(known) = topic::near_miss(namespace, topic::NAMESPACES) {
                    self.blame(out, Rule::TopicNamespace, Grade::Full, record, "/topic", None, || {
                        let namespace = shown(namespace);
                        format!(
                            "the namespace `{namespace}` nearly spells `{known}`, and nobody listens there"
                        )
                    });
                }
            }
        }
        self.seen(record);
    }

    /// Moves the clock and fires what is due.
    fn advance(&mut self, record: &Record<'_>, out: &mut impl Observer) {
        let Some(time) = record.time else { return };
        if let Some(before) = self.clock
            && record.has_server_time
            && time + 1 < before
        {
            self.blame(out, Rule::TimeForward, Grade::Full, record, "/ts_server", None, || {
                format!("server time runs back by {}", crate::time::span(before - time))
            });
        }
        self.tick(time, out);
        self.clock = Some(time);
    }

    /// Fires every timer that is due before `now`.
    pub(crate) fn tick(&mut self, now: Millis, out: &mut impl Observer) {
        while let Some(due) = self.timers.pop(now) {
            let peer = self.peers.get(due.peer);
            if peer.lives == due.life && !peer.left {
                self.fire(due, now, out);
            }
        }
    }

    /// Sets a timer for a peer's present life.
    fn arm(&mut self, peer: PeerId, at: Millis, timer: Timer) {
        let life = self.peers.get(peer).lives;
        self.timers.set(Due { at, peer, life, timer });
    }

    /// Remembers when and where a peer was last heard.
    fn seen(&mut self, record: &Record<'_>) {
        let Some(from) = record.publisher() else { return };
        if let Some(id) = self.peers.find(&from) {
            let peer = self.peers.get_mut(id);
            peer.last_seen = record.time.or(peer.last_seen);
            peer.last_line = record.line;
        }
    }

    /// A message on a worker's topic.
    fn worker(
        &mut self,
        record: &Record<'_>,
        name: &str,
        fact: Option<Fact>,
        rest: &str,
        intact: bool,
        out: &mut impl Observer,
    ) {
        self.session.worker = true;
        self.log.worker = true;
        if fact.is_none()
            && let Some(known) = topic::near_miss(rest, topic::FACTS.map(|(name, _)| name))
        {
            self.blame(out, Rule::WorkerTopic, Grade::Full, record, "/topic", None, || {
                format!("`{}` nearly spells `{known}`, and nobody listens there", shown(rest))
            });
        }
        if !self.owns(record, name, out) {
            return;
        }
        let Some(id) = self.peers.meet(name) else { return };
        if self.peers.get(id).left && fact != Some(Fact::Boot) {
            return;
        }
        if fact != Some(Fact::Boot) {
            self.before_boot(record, id, out);
        }
        if !intact {
            // The data cannot be read, and that was said; who spoke is known all the same.
            match fact {
                Some(Fact::Boot) => self.peers.get_mut(id).life.booted = true,
                Some(Fact::Phase) => {
                    let life = &mut self.peers.get_mut(id).life;
                    life.phase_unsure = true;
                    life.phases_tainted = true;
                }
                _ => {}
            }
            return;
        }
        match fact {
            Some(Fact::Boot) => self.boot(record, id, out),
            Some(Fact::Phase) => self.phase(record, id, out),
            Some(Fact::Event) => self.event(record, id, out),
            Some(Fact::Heartbeat) => self.heartbeat(record, id, out),
            Some(Fact::Complete) => self.complete(record, id, out),
            None => {}
        }
        if fact != Some(Fact::Boot) {
            self.parent(record, id, out);
        }
        // Under the published tooling the connection differs from the worker, so the worker is heard here.
        let peer = self.peers.get_mut(id);
        peer.last_seen = record.time.or(peer.last_seen);
        peer.last_line = record.line;
    }

    /// Whether the publisher may speak for a worker.
    fn owns(&mut self, record: &Record<'_>, name: &str, out: &mut impl Observer) -> bool {
        let Some(from) = record.publisher() else { return true };
        if from == name || self.profile == Profile::Origin {
            return true;
        }
        let line = record.line;
        let claimed = record.envelope.and_then(|envelope| envelope.from_peer).and_then(Node::text);
        let forged = record.from.is_some() && claimed.is_some_and(|claimed| *claimed != *from);
        self.push(out, Rule::OwnTopic, || Breach {
            peer: Some((*from).into()),
            consequences: if forged { vec![(Rule::FromMatches, line)] } else { Vec::new() },
            ..breach(Rule::OwnTopic, Grade::Full, record, "/topic", None, {
                format!("{} publishes on the topic of {}", shown(&from), shown(name))
            })
        });
        false
    }

    /// How sure a finding is that depends on what came before: a lost line or a missing start may hold the answer.
    fn sure(&self, peer: PeerId) -> Grade {
        let peer = self.peers.get(peer);
        if self.lost > peer.last_line {
            Grade::Indeterminate
        } else if self.is_suffix && !peer.joined {
            Grade::Note
        } else {
            Grade::Full
        }
    }

    /// Reports a breach at a value of a record.
    #[expect(clippy::too_many_arguments, reason = "a breach has this many parts")]
    fn blame(
        &self,
        out: &mut impl Observer,
        rule: Rule,
        grade: Grade,
        record: &Record<'_>,
        pointer: &str,
        seen: Option<Node<'_>>,
        message: impl FnOnce() -> String,
    ) {
        self.push(out, rule, || breach(rule, grade, record, pointer, seen, message()));
    }

    /// Reports a breach that is no record's own.
    fn tell(
        &self,
        out: &mut impl Observer,
        rule: Rule,
        grade: Grade,
        (line, offset): (u64, u64),
        peer: Option<PeerId>,
        message: impl FnOnce() -> String,
    ) {
        self.push(out, rule, || Breach {
            rule,
            grade,
            message: message(),
            line,
            offset,
            time: self.clock,
            peer: peer.map(|peer| self.peers.get(peer).name.as_ref().into()),
            pointer: None,
            seen: None,
            consequences: Vec::new(),
        });
    }

    #[expect(clippy::unused_self, reason = "reads like the other reports")]
    fn push(&self, out: &mut impl Observer, rule: Rule, breach: impl FnOnce() -> Breach) {
        if out.is_full(rule) { out.count(rule) } else { out.breach(breach()) }
    }
}

/// A breach at a value of a record. A pointer that starts with `/` is the record's own; one that does not stands
/// below the data.
fn breach(
    rule: Rule,
    grade: Grade,
    record: &Record<'_>,
    pointer: &str,
    seen: Option<Node<'_>>,
    message: String,
) -> Breach {
    let pointer =
        if pointer.starts_with('/') { pointer.to_owned() } else { format!("{}/{pointer}", record.data_at) };
    let peer = match Topic::parse(&record.topic) {
        Topic::Worker { peer, .. } => Some(peer.into()),
        _ => record.publisher().map(|from| (*from).into()),
    };
    Breach {
        rule,
        grade,
        message,
        line: record.line,
        offset: record.offset,
        time: record.time,
        peer,
        pointer: Some(pointer),
        seen: seen.map(|node| excerpt(&node)),
        consequences: Vec::new(),
    }
}

/// A name from the log, short enough for a sentence.
fn shown(text: &str) -> Cow<'_, str> {
    const SHOWN: usize = 48;
    clip(text, SHOWN)
}
