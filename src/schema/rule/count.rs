//! `exactly-one` and `at-least-one`: rules about how many messages there are.

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
