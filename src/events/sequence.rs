//! Sequence numbers: where a session ends and another begins, and which records come twice.

use super::record::Record;

/// What a record's number and the server's uptime say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The session goes on.
    Next,
    /// The same record again.
    Duplicate,
    /// The server was started anew.
    Restart,
    /// The number fell; the next record tells whether that was a restart.
    Fell,
}

#[derive(Debug, Default)]
pub(crate) struct Sequence {
    /// The highest number of the session.
    highest: Option<u64>,
    /// The number and the payload of the latest record.
    latest: Option<(u64, u64)>,
    uptime: Option<i64>,
}

impl Sequence {
    /// Looks at the next record.
    pub(crate) fn step(&mut self, record: &Record<'_>) -> Step {
        if self.restarted(record) {
            return Step::Restart;
        }
        let (Some(number), Some(highest)) = (record.sequence, self.highest) else {
            return Step::Next;
        };
        if number > highest {
            return Step::Next;
        }
        let again = self.latest.is_some_and(|latest| latest == (number, print_of(record)));
        if record.replayed || again { Step::Duplicate } else { Step::Fell }
    }

    /// Whether the server's uptime fell.
    fn restarted(&mut self, record: &Record<'_>) -> bool {
        if !matches!(&*record.topic, "system.heartbeat" | "system.metrics") {
            return false;
        }
        let uptime = record.field("uptimeMs").and_then(crate::json::Node::integer);
        let fell = uptime.zip(self.uptime).is_some_and(|(now, before)| now < before);
        self.uptime = uptime.or(self.uptime);
        fell
    }

    /// Takes over the number of a record that belongs to the session.
    pub(crate) fn accept(&mut self, record: &Record<'_>) {
        if let Some(number) = record.sequence {
            self.highest = Some(self.highest.map_or(number, |highest| highest.max(number)));
            self.latest = Some((number, print_of(record)));
        }
    }

    /// Whether a number that follows one that fell makes that a restart: the lower numbering goes on.
    pub(crate) fn goes_on(&self, fell: u64, next: u64) -> bool {
        next > fell && self.highest.is_some_and(|highest| next <= highest)
    }

    /// Begins a session.
    pub(crate) fn reset(&mut self) {
        let uptime = self.uptime;
        *self = Self { uptime, ..Self::default() };
    }
}

/// A cheap print of a payload: its length and its first bytes, where the id of an envelope stands. A record that is
/// delivered twice has all of it equal.
fn print_of(record: &Record<'_>) -> u64 {
    let raw = record.payload.map_or("", crate::json::Node::raw).as_bytes();
    let mut hash = raw.len() as u64;
    let mut rest = &raw[..raw.len().min(96)];
    while let Some((chunk, after)) = rest.split_first_chunk::<8>() {
        hash = (hash.rotate_left(5) ^ u64::from_le_bytes(*chunk)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        rest = after;
    }
    hash
}
