//! What the server calls malformed, against what the log shows to be.

use super::super::Rule;
use super::super::peers::key_of;
use super::super::topic::Topic;
use super::super::violation::Observer;
use super::fields::nonblank;
use super::report::{Report, shown};
use super::session::{SERVER, Session};

/// How many complaints, and how many malformed records, wait for each other at once.
const KEPT: usize = 64;
/// How many records later a complaint may come than the record it is about, or the record after the complaint.
const APART: u64 = 64;

/// Complaints of the server and malformed records that have not found each other yet.
#[derive(Debug, Default)]
pub(super) struct Complaints {
    /// Whether the server complains at all; one that never does is no worse for one more.
    has_any: bool,
    said: Vec<Waiting>,
    broken: Vec<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    /// Of the peer and the topic.
    key: u64,
    place: (u64, u64),
    peer: Box<str>,
}

impl Session {
    /// The server says that it received something malformed: either the record is in the log, or it was refused and
    /// counts against whoever sent it.
    pub(super) fn complaint(&mut self, report: &Report<'_>) {
        self.complaints.has_any = true;
        let (Some(from), Some(topic)) = (nonblank(report.value("from")), nonblank(report.value("topic")))
        else {
            return;
        };
        let key = key_of(&format!("{from} {topic}"));
        let complaints = &mut self.complaints;
        if let Some(at) = complaints.broken.iter().position(|broken| broken.key == key) {
            complaints.broken.remove(at);
        } else if complaints.said.len() < KEPT {
            let place = (report.record.line, report.record.offset);
            complaints.said.push(Waiting { key, place, peer: (*from).into() });
        }
    }

    /// A record was checked: one that is malformed meets the server's complaint of it.
    pub(super) fn complained(&mut self, report: &mut Report<'_>, topic: Topic<'_>) {
        let record = report.record;
        if report.is_broken
            && !matches!(topic, Topic::System { .. })
            && let Some(from) = record.publisher().filter(|from| from != SERVER)
        {
            let key = key_of(&format!("{from} {}", record.topic));
            let complaints = &mut self.complaints;
            if let Some(at) = complaints.said.iter().position(|said| said.key == key) {
                complaints.said.remove(at);
            } else if complaints.broken.len() < KEPT {
                let place = (record.line, record.offset);
                complaints.broken.push(Waiting { key, place, peer: (*from).into() });
            }
        }
        if !self.complaints.said.is_empty() {
            let line = record.line;
            self.end_complaints(line, report.out);
        }
    }

    /// Reports complaints that no record before this line answers to, and at the end what was not complained of.
    fn end_complaints(&mut self, line: u64, out: &mut dyn Observer) {
        let is_late = |waiting: &mut Waiting| waiting.place.0.saturating_add(APART) < line;
        for said in self.complaints.said.extract_if(.., is_late).collect::<Vec<_>>() {
            let message = format_args!("the server received something malformed from {}", shown(&said.peer));
            let peer = self.peers.find(&said.peer);
            self.report(out, Rule::MalformedReceived, said.place, peer, message);
        }
    }

    pub(super) fn finish_complaints(&mut self, out: &mut dyn Observer) {
        self.end_complaints(u64::MAX, out);
        let broken = std::mem::take(&mut self.complaints.broken);
        if self.complaints.has_any {
            for broken in broken {
                let peer = self.peers.find(&broken.peer);
                let message = "the event is malformed, and the server has not said so";
                self.report(out, Rule::InvalidReported, broken.place, peer, message);
            }
        }
    }
}
