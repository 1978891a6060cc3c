//! Judging a log while it is read: bytes in, breaches and happenings out.

use crate::json::{OddityKind, Scanner};
use crate::stream_json::{RawLine, Splitter};

use super::breach::{Breach, Grade, Observer};
use super::court::Court;
use super::record::{Entry, Record};
use super::sequence::{Fall, Sequence, Step};
use super::{Limits, Profile, Rule};
use crate::time::Millis;

/// Judges one log, or the segments of one in their order.
///
/// ```
/// use clawgate::events::{Breach, LogJudge, Limits, Observer, Profile};
///
/// struct Print(Vec<String>);
/// impl Observer for Print {
///     fn breach(&mut self, breach: Breach) {
///         self.0.push(format!("line {}: {}", breach.line, breach.message));
///     }
/// }
/// let mut print = Print(Vec::new());
/// let mut judge = LogJudge::new(Profile::Strict, Limits::default());
/// judge.push(b"{\"topic\":\"worker.p1.Boot\",\"from\":\"p1\",\"ts_server\":\"2026-06-01T09:00:00Z\",\"payload\":{}}\n", &mut print);
/// judge.finish(&mut print);
/// assert_eq!(print.0, ["line 1: the topic `worker.p1.Boot` is not dot-separated, lower-case words"]);
/// ```
#[derive(Debug)]
pub struct LogJudge {
    splitter: Splitter,
    scanner: Scanner,
    /// Lines with invalid UTF-8, made readable.
    lossy: String,
    bench: Bench,
}

/// What the reading of a log amounts to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Bytes read.
    pub bytes: u64,
    /// Lines with something on them.
    pub lines: u64,
    /// Records that were judged.
    pub records: u64,
    /// Records that came twice and count once.
    pub duplicates: u64,
    /// Sessions that were told apart.
    pub sessions: u64,
    /// The most peers that were known at once.
    pub peers: usize,
}

/// Everything behind the scanner, apart from it because a record borrows from the scanner.
#[derive(Debug)]
struct Bench {
    court: Court,
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
    line: u64,
    offset: u64,
    number: u64,
}

impl LogJudge {
    /// A judge that reads the protocol in this way.
    pub fn new(profile: Profile, limits: Limits) -> Self {
        Self {
            splitter: Splitter::new(limits.line),
            scanner: Scanner::default(),
            lossy: String::new(),
            bench: Bench {
                court: Court::new(profile, limits),
                sequence: Sequence::default(),
                held: None,
                unread: false,
                summary: Summary { sessions: 1, ..Summary::default() },
            },
        }
    }

    /// Reads the next bytes.
    pub fn push(&mut self, chunk: &[u8], out: &mut impl Observer) {
        let Self { splitter, scanner, lossy, bench } = self;
        bench.summary.bytes += chunk.len() as u64;
        splitter.push(chunk, &mut |raw| line(raw, scanner, lossy, bench, out));
    }

    /// Ends a segment: what was not terminated is judged as it is, and the next segment starts on a new line.
    pub fn end_segment(&mut self, out: &mut impl Observer) {
        let Self { splitter, scanner, lossy, bench } = self;
        splitter.finish(&mut |raw| line(raw, scanner, lossy, bench, out));
    }

    /// The number of the line that comes next.
    pub fn next_line(&self) -> u64 {
        self.splitter.next_line()
    }

    /// Lets time pass on the log's clock without a record, so that timers fire on silence.
    pub fn tick(&mut self, now: Millis, out: &mut impl Observer) {
        self.bench.court.tick(now, out);
    }

    /// The time of the latest record, by the server's clock.
    pub fn clock(&self) -> Option<Millis> {
        self.bench.court.clock()
    }

    /// When the next timer fires on that clock, if nothing happens before.
    pub fn next_deadline(&self) -> Option<Millis> {
        self.bench.court.next_deadline()
    }

    /// How the reading stands.
    pub fn summary(&self) -> Summary {
        self.bench.summary
    }

    /// Ends the log.
    pub fn finish(mut self, out: &mut impl Observer) -> Summary {
        self.end_segment(out);
        if let Some(held) = self.bench.held.take() {
            // Nothing follows that would tell a restart from a slip.
            self.bench.replay(&held, Verdict::Unsure, out);
        }
        self.bench.something(out);
        self.bench.court.finish(out);
        self.bench.summary
    }
}

/// What became of a record whose number fell.
#[derive(Clone, Copy)]
enum Verdict {
    Known(Fall),
    Unsure,
}

/// Reads one line.
fn line(
    raw: RawLine<'_>,
    scanner: &mut Scanner,
    lossy: &mut String,
    bench: &mut Bench,
    out: &mut impl Observer,
) {
    let (number, offset) = (raw.number, raw.offset);
    let text = match simdutf8::basic::from_utf8(raw.bytes) {
        Ok(text) => text,
        Err(_) if raw.is_oversized() => "",
        Err(_) => {
            *lossy = String::from_utf8_lossy(raw.bytes).into_owned();
            bench.broken(number, offset, "the line is not UTF-8", out);
            lossy
        }
    };
    let text = text.trim_ascii();
    if raw.is_oversized() {
        bench.summary.lines += 1;
        bench.court.lose(number);
        let what = format!("a line of {} bytes is more than can be judged", raw.length);
        bench.broken(number, offset, &what, out);
        return;
    }
    if text.is_empty() {
        return;
    }
    bench.summary.lines += 1;
    match scanner.scan(text) {
        Ok(document) if document.root().is_object() => {
            if document.oddities().iter().any(|oddity| oddity.kind == OddityKind::NonFinite) {
                bench.broken(number, offset, "the line holds NaN or Infinity, which JSON does not have", out);
            }
            bench.entry(Entry::of(document.root(), number, offset), (number, offset), text, out);
        }
        Ok(_) => {
            bench.court.lose(number);
            bench.broken(number, offset, "the line is JSON, but no object", out);
        }
        Err(error) => {
            let what = if raw.terminated {
                format!("the line is not JSON: {error}")
            } else {
                format!("the last line is not whole: {error}")
            };
            bench.broken(number, offset, &what, out);
            bench.court.lose(number);
            salvage(text, number, offset, bench, out);
        }
    }
}

/// Where a record starts inside a line that two of them were glued into.
const STARTS: [&str; 2] = ["{\"topic\":", "{\"type\":"];
/// How many places are tried.
const TRIES: usize = 8;

/// Reads the whole records in a line that is none: a torn write leaves half a record with the next one glued to it.
fn salvage(text: &str, number: u64, offset: u64, bench: &mut Bench, out: &mut impl Observer) {
    let mut scanner = Scanner::default();
    // Whole records from the left, for a line end that is missing.
    if let Ok(document) = scanner.scan_first(text)
        && document.root().is_object()
    {
        let end = document.end();
        bench.entry(Entry::of(document.root(), number, offset), (number, offset), &text[..end], out);
        let rest = text[end..].trim_ascii_start();
        let mut scanner = Scanner::default();
        if let Ok(document) = scanner.scan(rest)
            && document.root().is_object()
        {
            let offset = offset + (text.len() - rest.len()) as u64;
            bench.entry(Entry::of(document.root(), number, offset), (number, offset), rest, out);
        }
        return;
    }
    let mut starts: Vec<usize> =
        STARTS.iter().flat_map(|start| text.rmatch_indices(start).take(TRIES).map(|(at, _)| at)).collect();
    // The longest whole object wins: a later start may be a value inside it.
    starts.sort_unstable();
    for at in starts.into_iter().filter(|at| *at > 0) {
        let rest = &text[at..];
        if let Ok(document) = scanner.scan(rest)
            && document.root().is_object()
        {
            let offset = offset + at as u64;
            bench.entry(Entry::of(document.root(), number, offset), (number, offset), rest, out);
            return;
        }
    }
}

impl Bench {
    /// Reports a line that is not one JSON object.
    fn broken(&mut self, line: u64, offset: u64, what: &str, out: &mut impl Observer) {
        self.unread = true;
        self.at_line(Rule::LineIsObject, Grade::Full, line, offset, what, out);
    }

    /// Reports a log in which there is nothing: every other rule holds of it.
    fn something(&self, out: &mut impl Observer) {
        if self.summary.records == 0 && !self.unread {
            let what = "the log holds no record";
            self.at_line(Rule::RecordPresent, Grade::Full, 1, 0, what, out);
        }
    }

    fn at_line(&self, rule: Rule, grade: Grade, line: u64, offset: u64, what: &str, out: &mut impl Observer) {
        if out.is_full(rule) {
            out.count(rule);
            return;
        }
        out.breach(Breach {
            rule,
            grade,
            message: what.to_owned(),
            line,
            offset,
            time: self.court.clock(),
            peer: None,
            pointer: None,
            seen: None,
            consequences: Vec::new(),
        });
    }

    fn entry(&mut self, entry: Entry<'_>, (line, offset): (u64, u64), text: &str, out: &mut impl Observer) {
        match entry {
            Entry::Control => {}
            Entry::Connected => {
                self.settle(None, out);
                if self.court.has_begun() {
                    self.split(line, offset, "a sidecar connected", out);
                }
            }
            Entry::NoTopic => {
                self.unread = true;
                let what = "the record has no topic";
                self.at_line(Rule::TopicPresent, Grade::Full, line, offset, what, out);
            }
            Entry::Record(record) => {
                if record.odd_sequence {
                    let what = "the sequence number is no whole number from 0 up";
                    self.at_line(Rule::SequenceIncreases, Grade::Full, line, offset, what, out);
                }
                self.settle(record.sequence, out);
                match self.sequence.step(&record) {
                    Step::Next => self.judge(&record, out),
                    Step::Duplicate => self.summary.duplicates += 1,
                    Step::Restart => {
                        self.split(record.line, record.offset, "the server was started anew", out);
                        self.judge(&record, out);
                    }
                    Step::Fell => {
                        let number = record.sequence.unwrap_or_default();
                        self.held = Some(Held {
                            text: text.into(),
                            line: record.line,
                            offset: record.offset,
                            number,
                        });
                    }
                }
            }
        }
    }

    /// Decides about a record that was held back, now that the number of the next one is known.
    fn settle(&mut self, next: Option<u64>, out: &mut impl Observer) {
        let Some(held) = self.held.take() else { return };
        let fall = self.sequence.fall(held.number, next);
        self.replay(&held, Verdict::Known(fall), out);
    }

    fn replay(&mut self, held: &Held, verdict: Verdict, out: &mut impl Observer) {
        let (line, offset) = (held.line, held.offset);
        let slips = |grade, out: &mut _| {
            let what = format!("the sequence number falls back to {}", held.number);
            self.at_line(Rule::SequenceIncreases, grade, line, offset, &what, out);
        };
        match verdict {
            Verdict::Known(Fall::Slip) => slips(Grade::Full, out),
            Verdict::Unsure => slips(Grade::Indeterminate, out),
            Verdict::Known(Fall::Restart) => {
                self.split(line, offset, "the server counts from a lower number", out);
            }
            Verdict::Known(Fall::Jump(jump)) => {
                let what = format!(
                    "the sequence number jumps ahead to {} and goes on with {}",
                    jump.number, held.number
                );
                self.at_line(Rule::SequenceIncreases, Grade::Full, jump.line, jump.offset, &what, out);
                self.sequence.step_back(jump);
            }
        }
        let mut scanner = Scanner::default();
        if let Ok(document) = scanner.scan(&held.text)
            && let Entry::Record(record) = Entry::of(document.root(), line, offset)
        {
            self.judge(&record, out);
        }
    }

    fn split(&mut self, line: u64, offset: u64, why: &str, out: &mut impl Observer) {
        self.sequence.reset();
        self.summary.sessions += 1;
        self.court.split(line, offset, why, out);
    }

    fn judge(&mut self, record: &Record<'_>, out: &mut impl Observer) {
        self.sequence.accept(record);
        self.summary.records += 1;
        self.court.record(record, out);
        self.summary.peers = self.summary.peers.max(self.court.peers());
    }
}
