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

/// What a number that fell turns out to mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fall {
    /// The server was started anew: the lower numbering goes on.
    Restart,
    /// The number itself is odd: the old numbering goes on after it.
    Slip,
    /// The number before it is odd: that one was far ahead, and the old numbering goes on with this one.
    Jump(Jump),
}

/// A record whose number left some out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Jump {
    /// The highest number before it.
    below: u64,
    /// The number that left some out.
    pub(crate) number: u64,
    pub(crate) line: u64,
    pub(crate) offset: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Sequence {
    /// The highest number of the session.
    highest: Option<u64>,
    /// The number and the payload of the latest record.
    latest: Option<(u64, u64)>,
    /// The latest record, if its number left some out.
    jump: Option<Jump>,
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
            self.jump = self.highest.filter(|highest| number > highest.saturating_add(1)).map(|below| Jump {
                below,
                number,
                line: record.line,
                offset: record.offset,
            });
            self.highest = Some(self.highest.map_or(number, |highest| highest.max(number)));
            self.latest = Some((number, print_of(record)));
        }
    }

    /// What a number that fell means, by the one that follows it.
    pub(crate) fn fall(&self, fell: u64, next: Option<u64>) -> Fall {
        let (Some(next), Some(highest)) = (next, self.highest) else { return Fall::Slip };
        if next <= fell || next > highest {
            return Fall::Slip;
        }
        match self.jump {
            // A number that is given out again is no odd one.
            Some(jump) if fell > jump.below && next < jump.number => Fall::Jump(jump),
            _ => Fall::Restart,
        }
    }

    /// Forgets a number that was far ahead.
    pub(crate) fn step_back(&mut self, jump: Jump) {
        self.highest = Some(jump.below);
        self.jump = None;
    }

    /// Forgets the numbers of a session that ended.
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
