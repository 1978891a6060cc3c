//! Taking the records of a log in: which session each belongs to, which come twice, and which are missing.

use crate::json::{Node, Scanner};

use super::Rule;
use super::checker::Summary;
use super::live::Probes;
use super::peers::Role;
use super::record::{Entry, Record, Shape};
use super::restart::{Candidate, Verdict};
use super::rules::{Session, has_room, whole_log};
use super::sequence::{Fall, Jump, Sequence, Step};
use super::violation::{Grade, Observer, Violation, Weighed};
use crate::time::Millis;

/// The number of a line and its offset in bytes.
pub(crate) type Place = (u64, u64);

/// So many missing records may be one slip; more than that is a part of the log that is not there.
const SLIP: u64 = 16;
/// A record this far ahead of the one before it is believed when the next one says so too.
const AHEAD: Millis = 30_000;

/// The session that records go to, and what stands between it and them.
#[derive(Debug)]
pub(crate) struct Intake {
    session: Session,
    sequence: Sequence,
    /// A record that the next one tells the meaning of.
    held: Option<Held>,
    /// A place where the server may have been started anew, and the records since.
    candidate: Option<Candidate>,
    /// A file ended since the latest record.
    segment_ended: bool,
    /// Whether there was a line that is no record, which has its own finding.
    pub(crate) unread: bool,
    /// What a visit to a live server found out.
    probes: Probes,
    /// What somebody else than the log says of peers.
    roles: Vec<(String, Role)>,
    pub(crate) summary: Summary,
}

/// A record that is held back until the next one is known.
#[derive(Debug)]
struct Held {
    text: String,
    place: Place,
    why: Doubt,
}

/// What comes after a record that is held back.
#[derive(Clone, Copy)]
enum Following<'f> {
    Record(&'f Record<'f>),
    /// Nothing that tells.
    Unknown,
    /// The end of the log.
    End,
}

/// What is doubtful about a record.
#[derive(Debug, Clone, Copy)]
enum Doubt {
    /// Its number fell to this.
    Number(u64),
    /// Its time is far ahead.
    Time(Millis),
}

impl Intake {
    pub(crate) fn new(session: Session) -> Self {
        Self {
            session,
            sequence: Sequence::default(),
            held: None,
            candidate: None,
            segment_ended: false,
            unread: false,
            probes: Probes::default(),
            roles: Vec::new(),
            summary: Summary { sessions: 1, ..Summary::default() },
        }
    }

    /// Says which role peers have that the log does not tell of.
    pub(crate) fn assign(&mut self, roles: &[(String, Role)]) {
        self.roles = roles.to_vec();
        self.session.assign(roles);
    }

    /// The time of the latest record, and when the next timer fires on it.
    pub(crate) fn clock(&self) -> (Option<Millis>, Option<Millis>) {
        (self.session.clock, self.session.next_deadline())
    }

    /// A file of the log has ended; what is missing between it and the next is a part of the log.
    pub(crate) fn end_segment(&mut self) {
        self.segment_ended = true;
    }

    /// Lets time pass without a record.
    pub(crate) fn tick(&mut self, now: Millis, out: &mut dyn Observer) {
        self.settle(None, out);
        if self.candidate.as_ref().is_some_and(|candidate| candidate.is_overdue(now)) {
            self.decide(None, out);
        }
        if self.candidate.is_none() {
            self.session.tick(now, out);
        }
    }

    /// Ends the log: reports what only its end can tell, and sums up.
    pub(crate) fn finish(mut self, out: &mut dyn Observer) -> Summary {
        self.decide(None, out);
        if let Some(held) = self.held.take() {
            // Nothing follows that would tell a restart from a slip.
            self.release(&held, Following::End, out);
        }
        if let Some(jump) = self.sequence.last_gap() {
            self.missing(jump, out);
        }
        if self.summary.records == 0 && !self.unread {
            // Every other rule holds of a log in which there is nothing.
            self.report(Rule::RecordPresent, (1, 0), "the log holds no record", out);
        }
        for (rule, why) in self.probes.missing() {
            self.report(rule, (self.summary.lines.max(1), 0), &why, out);
        }
        self.session.finish(out);
        self.summary
    }

    /// A line could not be read, so that what it said is missing.
    pub(crate) fn lost(&mut self, place: Place) {
        self.sequence.unnumbered();
        self.session.lost_line = place.0;
    }

    pub(crate) fn report(&self, rule: impl Into<Weighed>, place: Place, what: &str, out: &mut dyn Observer) {
        let weighed = rule.into();
        if has_room(weighed, out) {
            out.violation(whole_log(weighed, place, self.session.clock, what));
        }
    }

    /// Reads the object on a line.
    pub(crate) fn entry(&mut self, root: Node<'_>, place: Place, text: &str, out: &mut dyn Observer) {
        match Entry::of(root, place.0, place.1) {
            Entry::Control => {}
            Entry::Probe => {
                let Some((rule, wrong)) = self.probes.line(text) else { return };
                if has_room(rule, out) {
                    let found = whole_log(rule, place, self.session.clock, wrong.message);
                    out.violation(Violation { pointer: wrong.pointer, seen: wrong.seen, ..found });
                }
            }
            Entry::Connected => {
                self.settle(None, out);
                if self.session.has_begun() && self.candidate.is_none() {
                    // A sidecar that connects again has missed what came between, and the server may be another.
                    self.session.lost_line = place.0;
                    self.candidate = Some(Candidate::reconnect(place));
                }
            }
            Entry::NoTopic => {
                self.unread = true;
                self.sequence.unnumbered();
                self.report(Rule::TopicPresent, place, "the record has no topic", out);
            }
            Entry::Record(mut record) => {
                if record.odd_sequence {
                    let what = "the sequence number is no whole number from 0 up";
                    self.report(Rule::SequenceIncreases, place, what, out);
                }
                if self.candidate.is_none() && self.held.is_none() {
                    self.candidate = Candidate::at(&record, self.sequence.gap(&record), &self.session);
                }
                match &mut self.candidate {
                    None => self.take(&mut record, place, text, out),
                    Some(candidate) => {
                        let verdict = candidate.see(&record, &self.session);
                        candidate.hold(text, place);
                        if verdict.is_some() || candidate.is_full(&record) {
                            self.decide(verdict, out);
                        }
                    }
                }
            }
        }
    }

    /// Decides whether the server was started anew where it may have been, and takes the records since.
    fn decide(&mut self, verdict: Option<Verdict>, out: &mut dyn Observer) {
        let Some(candidate) = self.candidate.take() else { return };
        if verdict.unwrap_or(candidate.by_default()) == Verdict::Restart {
            self.restart(candidate.place(), candidate.why(), out);
        }
        let mut scanner = Scanner::default();
        for (text, place) in candidate.into_records() {
            if let Ok(document) = scanner.scan(&text)
                && let Entry::Record(mut record) = Entry::of(document.root(), place.0, place.1)
            {
                self.take(&mut record, place, &text, out);
            }
        }
    }

    /// Takes a record whose session is known, unless it is doubtful in itself.
    fn take(&mut self, record: &mut Record<'_>, place: Place, text: &str, out: &mut dyn Observer) {
        self.settle(Some(record), out);
        match self.sequence.step(record, self.session.began) {
            Step::Next => {
                let is_ahead =
                    |time: Millis| self.session.clock.is_some_and(|clock| time > clock.saturating_add(AHEAD));
                match record.stamped.filter(|time| is_ahead(*time)) {
                    Some(time) => {
                        self.held = Some(Held { text: text.into(), place, why: Doubt::Time(time) });
                    }
                    None => self.record(record, out),
                }
            }
            Step::Duplicate => self.summary.duplicates += 1,
            Step::Restart(start) => {
                self.sequence.begin_again(record);
                self.summary.sessions += 1;
                self.session.restarted_at(start, place, out);
                self.session.assign(&self.roles);
                self.record(record, out);
            }
            Step::Fell => {
                let number = record.sequence.unwrap_or_default();
                self.held = Some(Held { text: text.into(), place, why: Doubt::Number(number) });
            }
        }
    }

    /// Decides about a record that was held back, now that the next one is known.
    fn settle(&mut self, next: Option<&Record<'_>>, out: &mut dyn Observer) {
        let Some(held) = self.held.take() else { return };
        self.release(&held, next.map_or(Following::Unknown, Following::Record), out);
    }

    /// Takes a record that was held back; `next` is what comes after it.
    fn release(&mut self, held: &Held, next: Following<'_>, out: &mut dyn Observer) {
        let mut time = None;
        match held.why {
            Doubt::Number(number) => {
                let fall = match next {
                    Following::Record(next) => Some(self.sequence.fall(number, next.sequence)),
                    Following::Unknown => Some(Fall::Slip),
                    Following::End => self.sequence.fall_at_end(number),
                };
                self.fell(held.place, number, fall, out);
            }
            Doubt::Time(ahead) => {
                // The one after it is back where the one before it was: only this one is stamped ahead.
                if let Following::Record(next) = next
                    && next.stamped.is_some_and(|after| after.saturating_add(1_000) < ahead)
                {
                    time = self.session.clock;
                }
            }
        }
        let mut scanner = Scanner::default();
        if let Ok(document) = scanner.scan(&held.text)
            && let Entry::Record(mut record) = Entry::of(document.root(), held.place.0, held.place.1)
        {
            record.time = time.or(record.time);
            self.record(&mut record, out);
        }
    }

    /// What the fall of a number means.
    fn fell(&mut self, place: Place, number: u64, fall: Option<Fall>, out: &mut dyn Observer) {
        match fall {
            Some(Fall::Slip) | None => {
                let grade = if fall.is_some() { Grade::Full } else { Grade::Indeterminate };
                let what = format!("the sequence number falls back to {number}");
                self.report((Rule::SequenceIncreases, grade), place, &what, out);
            }
            Some(Fall::Restart) => self.restart(place, "the server counts from a lower number", out),
            Some(Fall::Jump(jump)) => {
                let what =
                    format!("the sequence number jumps ahead to {} and goes on with {number}", jump.number);
                self.report(Rule::SequenceIncreases, (jump.line, jump.offset), &what, out);
                self.sequence.step_back(jump);
                if self.session.lost_line == jump.line {
                    self.session.lost_line = 0;
                }
            }
        }
    }

    fn restart(&mut self, place: Place, why: &str, out: &mut dyn Observer) {
        self.sequence.reset();
        self.summary.sessions += 1;
        self.session.restart(place, why, out);
        self.session.assign(&self.roles);
    }

    /// Numbers were left out, so that records are missing.
    fn missing(&self, jump: Jump, out: &mut dyn Observer) {
        let records = if jump.missing == 1 { "record is" } else { "records are" };
        let what = format!("{} {records} missing before number {}", jump.missing, jump.number);
        self.report((Rule::SequenceGap, Grade::Indeterminate), (jump.line, jump.offset), &what, out);
    }

    fn record(&mut self, record: &mut Record<'_>, out: &mut dyn Observer) {
        let gap = self.sequence.gap(record);
        let is_whole_log = matches!(record.shape, Shape::Server | Shape::Delivery);
        if is_whole_log && (gap > SLIP || (gap > 1 && self.segment_ended)) {
            self.session.lost_line = record.line;
        }
        self.segment_ended = false;
        if let Some(jump) = self.sequence.accept(record) {
            self.missing(jump, out);
        }
        self.summary.records += 1;
        self.session.record(record, out);
        self.summary.peers = self.summary.peers.max(self.session.known_peers());
    }
}
