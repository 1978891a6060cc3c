//! Sequence numbers: where a session ends and another begins, and which records come twice.

use super::record::{Record, Shape};
use crate::time::Millis;

/// What a record's number and the server's uptime say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The session goes on.
    Next,
    /// The same record again.
    Duplicate,
    /// The server was started anew at this time, by the uptime that it tells.
    Restart(Millis),
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
    /// How many it left out that no line accounts for.
    pub(crate) missing: u64,
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
    /// Lines since the highest number that have none of their own to show.
    unnumbered: u64,
    /// When the server was started, by the uptime that it told last.
    started: Option<Millis>,
}

/// Two times of the server's start that are this near are one.
const START_SLACK: Millis = 2_000;

impl Sequence {
    /// Looks at the next record; `began` is when its session did.
    pub(crate) fn step(&mut self, record: &Record<'_>, began: Option<Millis>) -> Step {
        if let Some(start) = self.restarted(record, began) {
            return Step::Restart(start);
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

    /// When the server was started, if that is later than what is known of the session.
    fn restarted(&mut self, record: &Record<'_>, began: Option<Millis>) -> Option<Millis> {
        let start = start_of(record)?;
        let known = self.started.replace(start);
        let earliest = known.or(began)?;
        (start > earliest.saturating_add(START_SLACK)).then_some(start)
    }

    /// How many numbers a record leaves out that no line accounts for.
    pub(crate) fn gap(&self, record: &Record<'_>) -> u64 {
        let is_numbered = matches!(record.shape, Shape::Server | Shape::Delivery);
        let (Some(number), Some(highest)) = (record.sequence.filter(|_| is_numbered), self.highest) else {
            return 0;
        };
        number.saturating_sub(highest.saturating_add(1)).saturating_sub(self.unnumbered)
    }

    /// A line came that may be what a number belongs to.
    pub(crate) fn unnumbered(&mut self) {
        self.unnumbered += 1;
    }

    /// Takes over the number of a record that belongs to the session; answers with a gap that is now sure to be one.
    pub(crate) fn accept(&mut self, record: &Record<'_>) -> Option<Jump> {
        let Some(number) = record.sequence else {
            self.unnumbered();
            return None;
        };
        let missing = self.gap(record);
        let sure = self.jump.take().filter(|jump| jump.missing > 0 && number > jump.number);
        self.jump = self.highest.filter(|highest| number > highest.saturating_add(1)).map(|below| Jump {
            below,
            number,
            missing,
            line: record.line,
            offset: record.offset,
        });
        if self.highest.is_none_or(|highest| number > highest) {
            self.highest = Some(number);
            self.unnumbered = 0;
        } else {
            self.unnumbered();
        }
        self.latest = Some((number, print_of(record)));
        sure
    }

    /// The gap before the latest record, at the end of a log.
    pub(crate) fn last_gap(&mut self) -> Option<Jump> {
        self.jump.take().filter(|jump| jump.missing > 0)
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

    /// What a number that fell means that nothing follows: the one before it was odd if this one goes on as if it were not.
    pub(crate) fn fall_at_end(&self, fell: u64) -> Option<Fall> {
        self.jump.filter(|jump| jump.missing > 0 && fell == jump.below.saturating_add(2)).map(Fall::Jump)
    }

    /// Forgets a number that was far ahead.
    pub(crate) fn step_back(&mut self, jump: Jump) {
        self.highest = Some(jump.below);
        self.jump = None;
        self.unnumbered = 1;
    }

    /// Forgets the numbers of a session that ended, where its successor counts anew.
    pub(crate) fn begin_again(&mut self, record: &Record<'_>) {
        if record.sequence.is_some_and(|number| self.highest.is_some_and(|highest| number <= highest)) {
            *self = Self { started: self.started, ..Self::default() };
        }
    }

    /// Forgets the numbers of a session that ended.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }
}

/// When the server was started, if the record tells its uptime.
pub(crate) fn start_of(record: &Record<'_>) -> Option<Millis> {
    if record.replayed || !matches!(&*record.topic, "system.heartbeat" | "system.metrics") {
        return None;
    }
    let uptime =
        record.field("uptimeMs").and_then(crate::json::Node::integer).filter(|uptime| *uptime >= 0)?;
    Some(record.stamped?.saturating_sub(uptime))
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
