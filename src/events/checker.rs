//! Checking a log while it is read: bytes in, violations and occurrences out.

use crate::json::{Problem, RawLine, Scanner, Splitter};

use super::intake::{Intake, Place};
use super::peers::Role;
use super::rules::Session;
use super::violation::Observer;
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
    /// A last line that is not whole is still being written.
    grows: bool,
    scanner: Scanner,
    intake: Intake,
}

impl LogChecker {
    /// A checker that reads the protocol in this way.
    pub fn new(profile: Profile, limits: Limits) -> Self {
        let lines = LineChecker {
            grows: false,
            scanner: Scanner::default(),
            intake: Intake::new(Session::new(profile, limits)),
        };
        Self { splitter: Splitter::new(limits.line), lines }
    }

    /// Says which role peers have that the log does not tell of; what the log tells counts more.
    pub(crate) fn assign(&mut self, roles: &[(String, Role)]) {
        self.lines.intake.assign(roles);
    }

    /// Says that the log goes on, so that a last line that is not whole is no fault.
    #[cfg(feature = "cli")]
    pub(crate) fn may_grow(&mut self) {
        self.lines.grows = true;
    }

    /// Reads the next bytes.
    pub fn push(&mut self, chunk: &[u8], out: &mut dyn Observer) {
        self.lines.intake.summary.bytes += chunk.len() as u64;
        self.splitter.push(chunk, &mut |raw| self.lines.line(raw, out));
    }

    /// Ends a segment: what was not terminated is checked as it is, and the next segment starts on a new line.
    pub fn end_segment(&mut self, out: &mut dyn Observer) {
        self.splitter.finish(&mut |raw| self.lines.line(raw, out));
        self.lines.intake.end_segment();
    }

    /// The number of the line that comes next.
    pub fn next_line(&self) -> u64 {
        self.splitter.next_line()
    }

    /// Lets time pass on the log's clock without a record, so that timers fire on silence.
    pub fn tick(&mut self, now: Millis, out: &mut dyn Observer) {
        self.lines.intake.tick(now, out);
    }

    /// The time of the latest record by the server's clock, and when the next timer fires on it.
    pub fn clock(&self) -> (Option<Millis>, Option<Millis>) {
        self.lines.intake.clock()
    }

    /// How the reading stands.
    pub fn summary(&self) -> Summary {
        self.lines.intake.summary
    }

    /// Ends the log: reports what only its end can tell, and sums up.
    pub fn finish(mut self, out: &mut dyn Observer) -> Summary {
        self.end_segment(out);
        self.lines.intake.finish(out)
    }
}

/// Bytes of records that are held back at most until it is known which session they belong to.
pub(crate) const HELD: usize = 4 << 20;

/// Where a record starts inside a line that two of them were glued into.
const STARTS: [&str; 2] = ["{\"topic\":", "{\"type\":"];
/// How many places are tried.
const TRIES: usize = 8;

impl LineChecker {
    fn line(&mut self, raw: RawLine<'_>, out: &mut dyn Observer) {
        let place = (raw.number, raw.offset);
        if raw.is_oversized() {
            self.intake.summary.lines += 1;
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
        self.intake.summary.lines += 1;
        // Taken, because what it finds borrows from it while `self` changes.
        let mut scanner = std::mem::take(&mut self.scanner);
        match scanner.scan(text) {
            Ok(document) if document.root().is_object() => {
                if document.oddities().iter().any(|oddity| oddity.kind == Problem::NonFinite) {
                    let what = "the line holds NaN or Infinity, which JSON does not have";
                    self.broken(place, what, out);
                }
                self.intake.entry(document.root(), place, text, out);
            }
            Ok(_) => self.lost(place, "the line is JSON, but no object", out),
            Err(_) if self.grows && !raw.terminated => {}
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
            self.intake.entry(document.root(), place, &text[..end], out);
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
            self.intake.entry(document.root(), (line, offset + start as u64), &text[start..], out);
        }
        is_object
    }

    /// Reports a line that is not one JSON object.
    fn broken(&mut self, place: Place, what: &str, out: &mut dyn Observer) {
        self.intake.unread = true;
        self.intake.report(Rule::LineIsObject, place, what, out);
    }

    /// Reports a line that could not be read, so that what it said is missing.
    fn lost(&mut self, place: Place, what: &str, out: &mut dyn Observer) {
        self.intake.lost(place);
        self.broken(place, what, out);
    }
}
