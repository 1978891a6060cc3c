//! Checking a log while it is read: bytes in, violations and occurrences out.

use crate::json::{Node, Problem, RawLine, Scanner, Splitter};

use super::record::{Entry, Record};
use super::rules::{Session, has_room, whole_log};
use super::sequence::{Fall, Sequence, Step};
use super::violation::{Grade, Observer, Weighed};
use super::{Limits, Profile, Rule};
use crate::time::Millis;

/// Checks the rules of the protocol on one log, or on the segments of one in their order.
///
/// ```
/// use clawgate::internals::events::{Limits, LogChecker, Observer, Profile, Violation};
///
/// struct Print(Vec<String>);
/// impl Observer for Print {
///     fn violation(&mut self, found: Violation) {
///         self.0.push(format!("line {}: {}", found.line, found.message));
///     }
/// }
/// let mut print = Print(Vec::new());
/// let mut checker = LogChecker::new(Profile::Strict, Limits::default());
/// checker.push(b"{\"topic\":\"worker.p1.Boot\",\"from\":\"p1\",\"ts_server\":\"2026-06-01T09:00:00Z\",\"payload\":{}}\n", &mut print);
/// checker.finish(&mut print);
/// assert_eq!(print.0, ["line 1: the topic `worker.p1.Boot` is not dot-separated, lower-case words"]);
/// ```
#[derive(Debug)]
pub struct LogChecker {
    splitter: Splitter,
    lines: LineChecker,
}

/// What the reading of a log amounts to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Bytes that were read.
    pub bytes: u64,
    /// Lines with something on them.
    pub lines: u64,
    /// Records that were checked.
    pub records: u64,
    /// Records that came twice and count once.
    pub duplicates: u64,
    /// Sessions that were told apart.
    pub sessions: u64,
    /// The most peers that were known at once.
    pub peers: usize,
}

/// Everything behind the splitter, apart from it because a line borrows from the splitter.
#[derive(Debug)]
struct LineChecker {
    scanner: Scanner,
    session: Session,
    sequence: Sequence,
    /// A record whose number fell; the next one tells what it means.
    held: Option<Held>,
    /// Whether there was a line that is no record, which has its own finding.
    unread: bool,
    summary: Summary,
}

#[derive(Debug)]
struct Held {
    text: String,
    place: Place,
    number: u64,
}

/// The number of a line and its offset in bytes.
type Place = (u64, u64);

impl LogChecker {
    /// A checker that reads the protocol in this way.
    pub fn new(profile: Profile, limits: Limits) -> Self {
        let lines = LineChecker {
            scanner: Scanner::default(),
            session: Session::new(profile, limits),
            sequence: Sequence::default(),
            held: None,
            unread: false,
            summary: Summary { sessions: 1, ..Summary::default() },
        };
        Self { splitter: Splitter::new(limits.line), lines }
    }

    /// Reads the next bytes.
    pub fn push(&mut self, chunk: &[u8], out: &mut dyn Observer) {
        self.lines.summary.bytes += chunk.len() as u64;
        self.splitter.push(chunk, &mut |raw| self.lines.line(raw, out));
    }

    /// Ends a segment: what was not terminated is checked as it is, and the next segment starts on a new line.
    pub fn end_segment(&mut self, out: &mut dyn Observer) {
        self.splitter.finish(&mut |raw| self.lines.line(raw, out));
    }

    /// The number of the line that comes next.
    pub fn next_line(&self) -> u64 {
        self.splitter.next_line()
    }

    /// Lets time pass on the log's clock without a record, so that timers fire on silence.
    pub fn tick(&mut self, now: Millis, out: &mut dyn Observer) {
        self.lines.session.tick(now, out);
    }

    /// The time of the latest record by the server's clock, and when the next timer fires on it.
    pub fn clock(&self) -> (Option<Millis>, Option<Millis>) {
        (self.lines.session.clock, self.lines.session.next_deadline())
    }

    /// How the reading stands.
    pub fn summary(&self) -> Summary {
        self.lines.summary
    }

    /// Ends the log: reports what only its end can tell, and sums up.
    pub fn finish(mut self, out: &mut dyn Observer) -> Summary {
        self.end_segment(out);
        let Self { mut lines, .. } = self;
        if let Some(held) = lines.held.take() {
            // Nothing follows that would tell a restart from a slip.
            lines.release(&held, None, out);
        }
        if lines.summary.records == 0 && !lines.unread {
            // Every other rule holds of a log in which there is nothing.
            lines.report(Rule::RecordPresent, (1, 0), "the log holds no record", out);
        }
        lines.session.finish(out);
        lines.summary
    }
}

/// Where a record starts inside a line that two of them were glued into.
const STARTS: [&str; 2] = ["{\"topic\":", "{\"type\":"];
/// How many places are tried.
const TRIES: usize = 8;

impl LineChecker {
    fn line(&mut self, raw: RawLine<'_>, out: &mut dyn Observer) {
        let place = (raw.number, raw.offset);
        if raw.is_oversized() {
            self.summary.lines += 1;
            let what = format!("a line of {} bytes is more than can be judged", raw.length);
            self.lost(place, &what, out);
            return;
        }
        let lossy;
        let text = if let Ok(text) = simdutf8::basic::from_utf8(raw.bytes) {
            text
        } else {
            lossy = String::from_utf8_lossy(raw.bytes);
            self.broken(place, "the line is not UTF-8", out);
            &lossy
        };
        let text = text.trim_ascii();
        if text.is_empty() {
            return;
        }
        self.summary.lines += 1;
        // Taken, because what it finds borrows from it while `self` changes.
        let mut scanner = std::mem::take(&mut self.scanner);
        match scanner.scan(text) {
            Ok(document) if document.root().is_object() => {
                if document.oddities().iter().any(|oddity| oddity.kind == Problem::NonFinite) {
                    let what = "the line holds NaN or Infinity, which JSON does not have";
                    self.broken(place, what, out);
                }
                self.entry(document.root(), place, text, out);
            }
            Ok(_) => self.lost(place, "the line is JSON, but no object", out),
            Err(error) => {
                let what = if raw.terminated { "line is not JSON" } else { "last line is not whole" };
                self.lost(place, &format!("the {what}: {error}"), out);
                self.salvage(text, place, out);
            }
        }
        self.scanner = scanner;
    }

    /// Reads the whole records in a line that is none: a torn write leaves half a record with the next one glued to it.
    fn salvage(&mut self, text: &str, place: Place, out: &mut dyn Observer) {
        let mut scanner = Scanner::default();
        // Whole records from the left, for a line end that is missing.
        if let Ok(document) = scanner.scan_first(text)
            && document.root().is_object()
        {
            let end = document.end();
            self.entry(document.root(), place, &text[..end], out);
            let start = text.len() - text[end..].trim_ascii_start().len();
            self.salvage_from(text, start, place, out);
            return;
        }
        let mut starts: Vec<usize> = STARTS
            .iter()
            .flat_map(|start| text.rmatch_indices(start).take(TRIES).map(|(at, _)| at))
            .filter(|at| *at > 0)
            .collect();
        // The longest whole object wins: a later start may be a value inside it.
        starts.sort_unstable();
        for start in starts {
            if self.salvage_from(text, start, place, out) {
                return;
            }
        }
    }

    /// Reads the rest of a line as one record; answers whether it is an object.
    fn salvage_from(
        &mut self,
        text: &str,
        start: usize,
        (line, offset): Place,
        out: &mut dyn Observer,
    ) -> bool {
        let mut scanner = Scanner::default();
        let Ok(document) = scanner.scan(&text[start..]) else { return false };
        let is_object = document.root().is_object();
        if is_object {
            self.entry(document.root(), (line, offset + start as u64), &text[start..], out);
        }
        is_object
    }

    /// Reports a line that is not one JSON object.
    fn broken(&mut self, place: Place, what: &str, out: &mut dyn Observer) {
        self.unread = true;
        self.report(Rule::LineIsObject, place, what, out);
    }

    /// Reports a line that could not be read, so that what it said is missing.
    fn lost(&mut self, place: Place, what: &str, out: &mut dyn Observer) {
        self.session.lost_line = place.0;
        self.broken(place, what, out);
    }

    fn report(&self, rule: impl Into<Weighed>, place: Place, what: &str, out: &mut dyn Observer) {
        let weighed = rule.into();
        if has_room(weighed, out) {
            out.violation(whole_log(weighed, place, self.session.clock, what));
        }
    }

    /// Reads the object on a line.
    fn entry(&mut self, root: Node<'_>, place: Place, text: &str, out: &mut dyn Observer) {
        match Entry::of(root, place.0, place.1) {
            Entry::Control => {}
            Entry::Connected => {
                self.settle(None, out);
                if self.session.has_begun() {
                    self.restart(place, "a sidecar connected", out);
                }
            }
            Entry::NoTopic => {
                self.unread = true;
                self.report(Rule::TopicPresent, place, "the record has no topic", out);
            }
            Entry::Record(record) => {
                if record.odd_sequence {
                    let what = "the sequence number is no whole number from 0 up";
                    self.report(Rule::SequenceIncreases, place, what, out);
                }
                self.settle(record.sequence, out);
                match self.sequence.step(&record) {
                    Step::Next => self.record(&record, out),
                    Step::Duplicate => self.summary.duplicates += 1,
                    Step::Restart => {
                        self.restart(place, "the server was started anew", out);
                        self.record(&record, out);
                    }
                    Step::Fell => {
                        let number = record.sequence.unwrap_or_default();
                        self.held = Some(Held { text: text.into(), place, number });
                    }
                }
            }
        }
    }

    /// Decides about a record that was held back, now that the number of the next one is known.
    fn settle(&mut self, next: Option<u64>, out: &mut dyn Observer) {
        let Some(held) = self.held.take() else { return };
        let fall = self.sequence.fall(held.number, next);
        self.release(&held, Some(fall), out);
    }

    /// Checks a record that was held back; `fall` is what its number means, if that can be told.
    fn release(&mut self, held: &Held, fall: Option<Fall>, out: &mut dyn Observer) {
        match fall {
            Some(Fall::Slip) | None => {
                let grade = if fall.is_some() { Grade::Full } else { Grade::Indeterminate };
                let what = format!("the sequence number falls back to {}", held.number);
                self.report((Rule::SequenceIncreases, grade), held.place, &what, out);
            }
            Some(Fall::Restart) => self.restart(held.place, "the server counts from a lower number", out),
            Some(Fall::Jump(jump)) => {
                let what = format!(
                    "the sequence number jumps ahead to {} and goes on with {}",
                    jump.number, held.number
                );
                self.report(Rule::SequenceIncreases, (jump.line, jump.offset), &what, out);
                self.sequence.step_back(jump);
            }
        }
        let mut scanner = Scanner::default();
        if let Ok(document) = scanner.scan(&held.text)
            && let Entry::Record(record) = Entry::of(document.root(), held.place.0, held.place.1)
        {
            self.record(&record, out);
        }
    }

    fn restart(&mut self, place: Place, why: &str, out: &mut dyn Observer) {
        self.sequence.reset();
        self.summary.sessions += 1;
        self.session.restart(place, why, out);
    }

    fn record(&mut self, record: &Record<'_>, out: &mut dyn Observer) {
        self.sequence.accept(record);
        self.summary.records += 1;
        self.session.record(record, out);
        self.summary.peers = self.summary.peers.max(self.session.known_peers());
    }
}
