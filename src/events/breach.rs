//! What the judging of a log tells its listener: broken rules, and what happened.

use serde_json::Value;

use super::{Phase, Rule};
use crate::time::Millis;

/// How sure and how grave one breach is, at most. The contract gives a rule its level; a single case may weigh less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Grade {
    /// Worth knowing.
    Note,
    /// The log cannot tell.
    Indeterminate,
    /// Expected, not promised.
    Should,
    /// As the contract says.
    Full,
}

/// A broken rule with its evidence.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Breach {
    /// The rule.
    pub rule: Rule,
    /// How much this case weighs at most.
    pub grade: Grade,
    /// What happened, in one sentence.
    pub message: String,
    /// The line of the log, counted from 1.
    pub line: u64,
    /// Where the line starts, in bytes.
    pub offset: u64,
    /// When, by the record's clock.
    pub time: Option<Millis>,
    /// The peer it is about.
    pub peer: Option<Box<str>>,
    /// Where in the record, as a JSON pointer.
    pub pointer: Option<String>,
    /// The value found there, shortened.
    pub seen: Option<Value>,
    /// What else is broken only because of this, each with its line.
    pub consequences: Vec<(Rule, u64)>,
}

/// Something that happened, for a timeline. Texts are the log's own and hostile.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Happening<'a> {
    /// A session begins; the first is number 1.
    Session(u64),
    /// A peer said hello.
    Joined {
        /// Its role, as announced.
        role: &'a str,
        /// Its name.
        name: &'a str,
    },
    /// A worker is up.
    Booted {
        /// Its parent, if named.
        parent: Option<&'a str>,
        /// What it is to do.
        mission: &'a str,
        /// Its name.
        name: &'a str,
    },
    /// A phase was entered.
    Entered(Phase),
    /// A sign of life; how long ago the last one was.
    Heartbeat(Option<Millis>),
    /// An event that asks for nothing.
    Noted {
        /// Its kind.
        kind: &'a str,
        /// Its headline.
        message: &'a str,
    },
    /// A request was made.
    Asked {
        /// Its id.
        id: &'a str,
        /// Whether the worker waits.
        blocked: bool,
        /// Its headline.
        message: &'a str,
    },
    /// A request was answered after this long.
    Answered {
        /// The id of the request.
        id: &'a str,
        /// The command that answered it.
        verb: &'a str,
        /// How long it took.
        after: Option<Millis>,
    },
    /// A command that answers nothing.
    Commanded(&'a str),
    /// No heartbeat since then.
    Silent(Millis),
    /// The mission is done.
    Completed(&'a str),
    /// The peer is gone.
    Left(&'a str),
}

/// Who listens to the judging of a log.
pub trait Observer {
    /// A rule is broken.
    fn breach(&mut self, breach: Breach);

    /// Whether further breaches of a rule would only be counted, so that they need not be worked out.
    fn is_full(&self, rule: Rule) -> bool {
        let _ = rule;
        false
    }

    /// A breach that was not worked out.
    fn count(&mut self, rule: Rule) {
        let _ = rule;
    }

    /// Whether happenings are wanted, so that their texts need not be decoded for nobody.
    fn listens(&self) -> bool {
        true
    }

    /// Something happened to a peer, or with an empty name to the log.
    fn happening(&mut self, peer: &str, time: Option<Millis>, line: u64, what: Happening<'_>) {
        let _ = (peer, time, line, what);
    }
}
