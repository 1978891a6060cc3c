//! What the checking of a log tells its listener: broken rules, and what happened.

use serde_json::Value;

use super::view::Accepted;
use super::{Phase, Rule};
use crate::time::Millis;

/// How much one violation weighs at most. The contract gives a rule its level; a single case may weigh less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Grade {
    /// Worth knowing, whatever the contract says.
    Note,
    /// The log cannot tell whether the rule was broken.
    Indeterminate,
    /// Expected of a good peer, but not promised.
    Should,
    /// As much as the contract says.
    Full,
}

/// A rule and how much breaking it weighs in this case; a rule alone weighs as much as the contract says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weighed {
    pub(crate) rule: Rule,
    pub(crate) grade: Grade,
}

impl From<Rule> for Weighed {
    fn from(rule: Rule) -> Self {
        Self { rule, grade: Grade::Full }
    }
}

impl From<&Violation> for Weighed {
    fn from(violation: &Violation) -> Self {
        Self { rule: violation.rule, grade: violation.grade }
    }
}

impl From<(Rule, Grade)> for Weighed {
    fn from((rule, grade): (Rule, Grade)) -> Self {
        Self { rule, grade }
    }
}

/// A broken rule with its evidence.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Violation {
    /// The rule that is broken.
    pub rule: Rule,
    /// How much this case weighs at most.
    pub grade: Grade,
    /// What happened, in one sentence.
    pub message: String,
    /// The line of the log, counted from 1.
    pub line: u64,
    /// Where the line starts, in bytes.
    pub offset: u64,
    /// When it happened, by the record's clock.
    pub time: Option<Millis>,
    /// The peer that broke it, if one did.
    pub peer: Option<Box<str>>,
    /// The place in the record, as a JSON pointer.
    pub pointer: Option<String>,
    /// The value found there, shortened.
    pub seen: Option<Value>,
    /// What else is broken only because of this, each with its line.
    pub consequences: Vec<(Rule, u64)>,
}

/// Something that happened, for a timeline. Texts are the log's own and hostile.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Occurrence<'a> {
    /// A session begins; the first is number 1.
    Session(u64),
    /// A peer said hello, with the role and the name that it announced.
    Joined { role: &'a str, name: &'a str },
    /// A worker is up.
    Booted { parent: Option<&'a str>, mission: &'a str, name: &'a str },
    /// A worker entered a phase.
    Entered(Phase),
    /// A sign of life; how long ago the last one was.
    Heartbeat(Option<Millis>),
    /// An event that asks for nothing, with its headline.
    Noted { kind: &'a str, message: &'a str },
    /// A request was made; `blocked` says whether the worker waits for the answer.
    Asked { id: &'a str, blocked: bool, message: &'a str },
    /// The request with this id was answered by a command, after this long.
    Answered { id: &'a str, verb: &'a str, after: Option<Millis> },
    /// A command that answers nothing.
    Commanded(&'a str),
    /// No heartbeat since then.
    Silent(Millis),
    /// The mission is done, with this result.
    Completed(&'a str),
    /// The peer is gone, for this reason.
    Left(&'a str),
}

/// Who listens while the rules are checked.
pub trait Observer {
    /// A rule is broken.
    fn violation(&mut self, violation: Violation);

    /// Whether further violations of a rule, of this grade, would only be counted, so that they need not be worked out.
    fn is_full(&self, _rule: Rule, _grade: Grade) -> bool {
        false
    }

    /// A violation that was not worked out.
    fn count(&mut self, _rule: Rule, _grade: Grade) {}

    /// Whether occurrences are wanted, so that their texts need not be decoded for nobody.
    fn listens(&self) -> bool {
        true
    }

    /// Whether a record of this topic is wanted one by one.
    fn wants(&self, _topic: &str) -> bool {
        false
    }

    /// A record that its publisher may publish, in the order of its session.
    fn record(&mut self, _record: &Accepted<'_>) {}

    /// The log's clock has come so far.
    fn passed(&mut self, _now: Millis) {}

    /// The life of a peer is over: what comes under its name later is another's.
    fn ended(&mut self, _peer: &str) {}

    /// A session is over, and everything that was known of it.
    fn session_ended(&mut self) {}

    /// Something happened to a peer, or with an empty name to the log.
    fn occurrence(&mut self, _peer: &str, _time: Option<Millis>, _line: u64, _what: Occurrence<'_>) {}
}
