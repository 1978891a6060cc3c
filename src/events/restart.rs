//! Telling a server that was started anew from one that goes on.
//!
//! After a clean restart the published server goes on counting, leaves out one number, gives out its peer ids again and
//! tells its uptime only a heartbeat later. So records are held back from a place where that may have happened until one
//! of them tells: the uptime, an id that boots again, or a worker that simply goes on.

use super::Phase;
use super::checker::HELD;
use super::intake::Place;
use super::record::{Record, Shape};
use super::rules::Session;
use super::sequence::start_of;
use super::topic::{Fact, System, Topic};
use crate::time::Millis;

/// How long a place stays open on the log's clock.
const PATIENCE: Millis = 180_000;

/// What a place turns out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The server was started anew.
    Restart,
    /// It goes on.
    SameServer,
}

/// Why the server may have been started anew.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reason {
    /// One number was left out.
    Gap,
    /// A sidecar connected again.
    Reconnect,
    /// A worker that runs boots.
    Reboot(Box<str>),
}

/// A place where the server may have been started anew, and the records since.
#[derive(Debug)]
pub(crate) struct Candidate {
    reason: Reason,
    place: Place,
    records: Vec<(String, Place)>,
    bytes: usize,
    opened: Option<Millis>,
    /// A worker that booted again has begun with its first phase, so that what it refers to since is of that life.
    is_fresh: bool,
}

impl Candidate {
    /// A sidecar connected again on this line.
    pub(crate) fn reconnect(place: Place) -> Self {
        Self::new(Reason::Reconnect, place)
    }

    /// A candidate at a record, if it looks like one. A server that announces who joins would announce it.
    pub(crate) fn at(record: &Record<'_>, gap: u64, session: &Session) -> Option<Self> {
        if session.announces() || !session.has_begun() {
            return None;
        }
        let place = (record.line, record.offset);
        if gap == 1 && matches!(record.shape, Shape::Server | Shape::Delivery) {
            return Some(Self::new(Reason::Gap, place));
        }
        match Topic::parse(&record.topic) {
            Topic::Worker { peer, fact: Some(Fact::Boot), .. } if session.runs(peer) => {
                Some(Self::new(Reason::Reboot(peer.into()), place))
            }
            _ => None,
        }
    }

    fn new(reason: Reason, place: Place) -> Self {
        Self { reason, place, records: Vec::new(), bytes: 0, opened: None, is_fresh: false }
    }

    pub(crate) fn place(&self) -> Place {
        self.place
    }

    pub(crate) fn why(&self) -> &'static str {
        match self.reason {
            Reason::Gap => "the server was started anew, and left out a number",
            Reason::Reconnect => "a sidecar connected, and the server is another",
            Reason::Reboot(_) => "the server was started anew, and gave out an id again",
        }
    }

    /// What it is taken for where nothing tells.
    pub(crate) fn by_default(&self) -> Verdict {
        if self.reason == Reason::Gap { Verdict::Restart } else { Verdict::SameServer }
    }

    /// Looks at the next record; answers if it tells.
    pub(crate) fn see(&mut self, record: &Record<'_>, session: &Session) -> Option<Verdict> {
        self.opened = self.opened.or(record.stamped);
        if let Some(start) = start_of(record) {
            let is_later = session.clock.is_none_or(|clock| start > clock);
            return Some(if is_later { Verdict::Restart } else { Verdict::SameServer });
        }
        match Topic::parse(&record.topic) {
            Topic::Worker { peer, fact: Some(Fact::Boot), .. } => {
                let is_first = matches!(&self.reason, Reason::Reboot(name) if **name == *peer);
                (!is_first && session.has_booted(peer)).then_some(Verdict::Restart)
            }
            Topic::Worker { peer, .. } if session.runs(peer) => match &self.reason {
                // It booted again, so that only what it refers to tells which life it goes on with.
                Reason::Reboot(name) if **name == *peer => {
                    self.is_fresh |= Phase::of(record.field("phase")) == Some(Phase::Plan);
                    (!self.is_fresh && session.continues(peer, record)).then_some(Verdict::SameServer)
                }
                _ => Some(Verdict::SameServer),
            },
            Topic::System { event: Some(System::Joined), .. } => {
                let name = record.field("peerId")?.text()?;
                session.is_present(&name).then_some(Verdict::Restart)
            }
            Topic::System { event: Some(System::Left), .. } => {
                let name = record.field("peerId")?.text()?;
                session.is_present(&name).then_some(Verdict::SameServer)
            }
            _ => None,
        }
    }

    pub(crate) fn hold(&mut self, text: &str, place: Place) {
        self.bytes += text.len();
        self.records.push((text.into(), place));
    }

    /// Whether too much is held back, or for too long.
    pub(crate) fn is_full(&self, record: &Record<'_>) -> bool {
        self.bytes > HELD || record.stamped.is_some_and(|now| self.is_overdue(now))
    }

    /// Whether nothing has told for too long.
    pub(crate) fn is_overdue(&self, now: Millis) -> bool {
        self.opened.is_none_or(|opened| now > opened.saturating_add(PATIENCE))
    }

    pub(crate) fn into_records(self) -> Vec<(String, Place)> {
        self.records
    }
}
