//! Reporting what is wrong with a record, and where in it.

use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;

use crate::json::Node;
use crate::text::clip;

use super::super::Rule;
use super::super::excerpt::excerpt;
use super::super::record::Record;
use super::super::topic::Topic;
use super::super::violation::{Grade, Observer, Occurrence, Violation, Weighed};
use super::fields::list_is;
use crate::time::Millis;

/// A record that is checked, and who is told what is wrong with it.
pub(super) struct Report<'r> {
    pub(super) record: &'r Record<'r>,
    pub(super) out: &'r mut dyn Observer,
    /// Whether its envelope or its data was found to be malformed.
    pub(super) is_broken: bool,
    /// Whether its publisher may not publish it.
    pub(super) is_refused: bool,
    /// The peer whose life it ends.
    pub(super) ends: Option<Arc<str>>,
}

impl<'r> Report<'r> {
    /// The field of the record's data with this name.
    pub(super) fn value(&self, key: &str) -> Option<Node<'r>> {
        self.record.field(key)
    }

    /// Reports a violation by the topic alone.
    pub(super) fn topic(&mut self, rule: impl Into<Weighed>, message: impl Display) {
        self.at(rule, "/topic", None, message);
    }

    /// Reports that the publisher had no business with this record.
    pub(super) fn publisher(&mut self, rule: impl Into<Weighed>, message: impl Display) {
        self.at(rule, "/from", None, message);
    }

    /// Reports a violation by a field of the data, with its value.
    pub(super) fn field(&mut self, rule: impl Into<Weighed>, key: &str, message: impl Display) {
        self.at(rule, key, self.record.field(key), message);
    }

    /// Reports a violation by the data as a whole.
    pub(super) fn data(&mut self, rule: impl Into<Weighed>, message: impl Display) {
        self.at(rule, "", self.record.data, message);
    }

    /// Reports a violation by a field of the envelope.
    pub(super) fn envelope(
        &mut self,
        rule: impl Into<Weighed>,
        key: &str,
        seen: Option<Node<'_>>,
        message: impl Display,
    ) {
        let weighed = rule.into();
        self.is_broken |= weighed.grade == Grade::Full;
        if has_room(weighed, self.out) {
            self.at(weighed, &format!("{}/{key}", self.record.envelope_at), seen, message);
        }
    }

    /// Reports fields that the data of this kind of record must have.
    pub(super) fn missing(&mut self, rule: Rule, keys: &[&str], kind: &str) {
        if !keys.is_empty() {
            self.data(rule, format_args!("{} missing from the {kind}", list_is(keys)));
        }
    }

    /// Reports a violation at a value. A pointer that starts with `/` is the record's own; one that does not stands
    /// below the data.
    pub(super) fn at(
        &mut self,
        rule: impl Into<Weighed>,
        pointer: &str,
        seen: Option<Node<'_>>,
        message: impl Display,
    ) {
        let weighed = rule.into();
        if has_room(weighed, self.out) {
            let violation = self.violation(weighed, pointer, seen, message);
            self.out.violation(violation);
        }
    }

    /// Reports a violation that was put together before.
    pub(super) fn push(&mut self, violation: Violation) {
        if has_room(&violation, self.out) {
            self.out.violation(violation);
        }
    }

    /// Puts a violation together without reporting it.
    pub(super) fn violation(
        &self,
        rule: impl Into<Weighed>,
        pointer: &str,
        seen: Option<Node<'_>>,
        message: impl Display,
    ) -> Violation {
        let record = self.record;
        let peer = match Topic::parse(&record.topic) {
            Topic::Worker { peer, .. } => Some(peer.into()),
            _ => record.publisher().map(|from| (*from).into()),
        };
        let pointer = if pointer.starts_with('/') {
            pointer.to_owned()
        } else {
            format!("{}/{pointer}", record.data_at)
        };
        Violation {
            peer,
            pointer: Some(pointer),
            seen: seen.map(|node| excerpt(&node)),
            ..whole_log(rule, (record.line, record.offset), record.time, message)
        }
    }

    /// Tells of something that happened to a peer.
    pub(super) fn occurred(&mut self, peer: &str, what: Occurrence<'_>) {
        self.out.occurrence(peer, self.record.time, self.record.line, what);
    }
}

/// Whether a violation of the rule is to be worked out; else it is counted.
pub(crate) fn has_room(rule: impl Into<Weighed>, out: &mut dyn Observer) -> bool {
    let Weighed { rule, grade } = rule.into();
    if out.is_full(rule, grade) {
        out.count(rule, grade);
        return false;
    }
    true
}

/// A violation that is no record's own, at a line and an offset.
pub(crate) fn whole_log(
    rule: impl Into<Weighed>,
    (line, offset): (u64, u64),
    time: Option<Millis>,
    message: impl Display,
) -> Violation {
    let Weighed { rule, grade } = rule.into();
    Violation {
        rule,
        grade,
        message: message.to_string(),
        line,
        offset,
        time,
        peer: None,
        pointer: None,
        seen: None,
        consequences: Vec::new(),
    }
}

/// A name from the log, short enough for a sentence.
pub(super) fn shown(text: &str) -> Cow<'_, str> {
    const SHOWN: usize = 48;
    clip(text, SHOWN)
}
