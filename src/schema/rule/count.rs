//! `exactly-one`, `at-least-one` and `at-most`: rules about how many messages there are.

use super::super::facts::Facts;
use super::super::finding::{Evidence, Sink};
use super::super::tree::{Fields, FileError};
use super::order::title;
use super::{Message, Names, Rule, Selector, Watch};

#[derive(Debug)]
struct Count {
    on: Selector,
    /// How the rule names what it counts.
    what: String,
    only_one: bool,
}

pub(super) fn load_exactly_one(fields: &Fields<'_>, names: &Names<'_>) -> Result<Box<dyn Rule>, FileError> {
    load(fields, names, true)
}

pub(super) fn load_at_least_one(fields: &Fields<'_>, names: &Names<'_>) -> Result<Box<dyn Rule>, FileError> {
    load(fields, names, false)
}

fn load(fields: &Fields<'_>, names: &Names<'_>, only_one: bool) -> Result<Box<dyn Rule>, FileError> {
    let on = Selector::need(fields, "on", names)?;
    let what = fields.need("on")?.strings().map_or("such".into(), |kinds| kinds.join(" or "));
    Ok(Box::new(Count { on, what, only_one }))
}

impl Rule for Count {
    fn speaks_at_end(&self) -> bool {
        true
    }

    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching { rule: self, seen: false })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        self.on.may_take(kind)
    }
}

struct Watching<'r> {
    rule: &'r Count,
    seen: bool,
}

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        if !self.rule.on.takes(message) {
            return;
        }
        if self.seen && self.rule.only_one {
            sink.add(|| message.evidence(format!("{} comes again", title(message))));
        }
        self.seen = true;
    }

    fn finish(&mut self, _: &Facts, sink: &mut Sink) {
        if !self.seen {
            let message = format!("there is no {} message", self.rule.what);
            sink.push(Evidence { message, ..Evidence::default() });
        }
    }
}

/// Messages of which there are no more than of others. Where there is none of the others, nothing is said.
#[derive(Debug)]
struct AtMost {
    on: Selector,
    per: Selector,
    what: String,
    per_what: String,
}

pub(super) fn load_at_most(fields: &Fields<'_>, names: &Names<'_>) -> Result<Box<dyn Rule>, FileError> {
    let kinds = |key| Ok(fields.need(key)?.strings().map_or("such".into(), |kinds| kinds.join(" or ")));
    Ok(Box::new(AtMost {
        on: Selector::need(fields, "on", names)?,
        per: Selector::need(fields, "per", names)?,
        what: kinds("on")?,
        per_what: kinds("per")?,
    }))
}

impl Rule for AtMost {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Counting { rule: self, seen: 0, others: 0, last: None })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        self.on.may_take(kind) || self.per.may_take(kind)
    }
}

struct Counting<'r> {
    rule: &'r AtMost,
    seen: u64,
    others: u64,
    /// Where the last of the counted ones is.
    last: Option<(u64, u64)>,
}

impl Watch for Counting<'_> {
    fn message(&mut self, message: &Message<'_>, _: &mut Sink) {
        if self.rule.on.takes(message) {
            self.seen += 1;
            self.last = Some((message.line, message.offset));
        }
        self.others += u64::from(self.rule.per.takes(message));
    }

    fn finish(&mut self, _: &Facts, sink: &mut Sink) {
        let AtMost { what, per_what, .. } = self.rule;
        if self.others > 0 && self.seen > self.others {
            sink.push(Evidence {
                message: format!("there are {} {what} messages and {} {per_what}", self.seen, self.others),
                line: self.last.map(|(line, _)| line),
                offset: self.last.map(|(_, offset)| offset),
                expected: Some(format!("at most {}", self.others)),
                ..Evidence::default()
            });
        }
    }
}
