//! `first`, `last`, `before`, `never-after` and `nothing-after`: rules about the order of messages.

use std::sync::LazyLock;

use super::{Evidence, Facts, JsonView, Loaded, Message, Names, Rule, Selector, Sink, Table, Watch, titled};
use crate::json::Name;

#[derive(Debug)]
struct Order {
    when: When,
    on: Selector,
    /// What comes after `on`, or what does not count; see [`load`].
    other: Option<Selector>,
    /// What a message that comes at the wrong time does, after "comes".
    wrong: String,
}

/// When messages may come.
#[derive(Debug, Clone, Copy)]
pub(super) enum When {
    First,
    Last,
    Before,
    NeverAfter,
    NothingAfter,
}

pub(super) fn load(fields: &Table<'_>, names: &Names<'_>, when: When) -> Loaded {
    let (on, other) = match when {
        When::First | When::Last => ("on", fields.get("ignore").map(|_| "ignore")),
        When::Before | When::NeverAfter => ("first", Some("then")),
        When::NothingAfter => ("on", fields.get("except").map(|_| "except")),
    };
    let on = Selector::need(fields, on, names)?;
    let other = other.map(|key| Selector::need(fields, key, names)).transpose()?;
    let wrong = match (when, on.named(names)) {
        (When::First, Some(on)) => format!("first, expected {on}"),
        (When::First, None) => "first".into(),
        (When::Last, Some(on)) => format!("last, expected {on}"),
        (When::Last, None) => "last".into(),
        (When::Before, Some(on)) => format!("before the {on} message"),
        (When::Before, None) => "too early".into(),
        (When::NeverAfter, Some(on)) => format!("after the {on} message"),
        (When::NeverAfter, None) => "too late".into(),
        (When::NothingAfter, Some(on)) => format!("after the last {on} message"),
        (When::NothingAfter, None) => "after the end".into(),
    };
    Ok(Box::new(Order { when, on, other, wrong }))
}

impl Rule for Order {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching { order: self, begun: false, open: Sink::default(), last: None })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        match (self.when, &self.other) {
            (When::Before | When::NeverAfter, Some(then)) => self.on.may_take(kind) || then.may_take(kind),
            _ => true,
        }
    }

    fn selectors(&self) -> Option<Vec<&Selector>> {
        match (self.when, &self.other) {
            (When::Before | When::NeverAfter, Some(then)) => Some(vec![&self.on, then]),
            _ => None,
        }
    }
}

struct Watching<'r> {
    order: &'r Order,
    /// The first message, or the one that opens the forbidden part, has come.
    begun: bool,
    /// What is broken unless a later message makes it good.
    open: Sink,
    last: Option<Last>,
}

/// The latest message that could turn out to be a wrong last one. Most do not, so it is put into words at the end.
#[derive(Default)]
struct Last {
    line: u64,
    offset: u64,
    names: [Option<String>; 2],
}

/// What a message is called by.
static KEYS: LazyLock<[Name; 2]> = LazyLock::new(|| ["type", "subtype"].map(Name::new));

impl Last {
    /// Takes the place of the one before, and its memory: this happens at nearly every message.
    fn replace(last: &mut Option<Self>, message: &Message<'_>) {
        let Self { line, offset, names } = last.get_or_insert_default();
        (*line, *offset) = (message.line, message.offset);
        for (name, key) in names.iter_mut().zip(&*KEYS) {
            let field = message.value.member(key).and_then(JsonView::text);
            *name = field.map(|text| {
                let mut name = name.take().unwrap_or_default();
                name.clear();
                name.push_str(&text);
                name
            });
        }
    }

    fn evidence(self, wrong: &str) -> Evidence {
        let [kind, subtype] = self.names;
        Evidence {
            message: format!("{} comes {wrong}", titled(kind.as_deref(), subtype.as_deref())),
            line: Some(self.line),
            offset: Some(self.offset),
            ..Evidence::default()
        }
    }
}

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        let Order { when, on, other, wrong } = self.order;
        let is_on = || on.takes(message);
        let is_other = || other.as_ref().is_some_and(|other| other.takes(message));
        let comes = || message.evidence(format!("{} comes {wrong}", message.title()));
        match when {
            When::First if self.begun || is_other() => {}
            When::First => {
                self.begun = true;
                if !is_on() {
                    sink.push(comes());
                }
            }
            When::Last if is_other() => {}
            When::Last if is_on() => self.last = None,
            When::Last => Last::replace(&mut self.last, message),
            When::Before => {
                if !self.begun && is_other() {
                    sink.add(comes);
                }
                self.begun = self.begun || is_on();
            }
            When::NeverAfter => {
                if self.begun && is_other() {
                    sink.add(comes);
                }
                self.begun = self.begun || is_on();
            }
            When::NothingAfter if is_on() => {
                self.begun = true;
                self.open = Sink::default();
            }
            When::NothingAfter if !self.begun || is_other() => {}
            When::NothingAfter => self.open.add(comes),
        }
    }

    fn finish(&mut self, _: &Facts, sink: &mut Sink) {
        sink.append(std::mem::take(&mut self.open));
        self.last.take().into_iter().for_each(|last| sink.push(last.evidence(&self.order.wrong)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_table;

    const A: &str = "{\"type\":\"a\"}\n";
    const B: &str = "{\"type\":\"b\",\"subtype\":\"s\"}\n";
    const C: &str = "{\"type\":\"c\"}\n";

    #[test]
    fn messages_come_in_their_order() {
        let joined = |parts: &[&str]| parts.concat();
        check_table(&[
            (
                r#"{ rule = "first", on = "a", ignore = "c" }"#,
                &joined(&[C, A, B]),
                &joined(&[C, B, A]),
                &["2: a b/s message comes first, expected a"],
            ),
            (
                r#"{ rule = "last", on = "a", ignore = "c" }"#,
                &joined(&[B, A, C]),
                &joined(&[A, B, C]),
                &["2: a b/s message comes last, expected a"],
            ),
            (
                r#"{ rule = "before", first = "a", then = "b" }"#,
                &joined(&[A, B]),
                &joined(&[B, A, B]),
                &["1: a b/s message comes before the a message"],
            ),
            (
                r#"{ rule = "never-after", first = "a", then = "b" }"#,
                &joined(&[B, A]),
                &joined(&[A, C, B]),
                &["3: a b/s message comes after the a message"],
            ),
            // What came after an end is good again when there is another end.
            (
                r#"{ rule = "nothing-after", on = "a", except = "c" }"#,
                &joined(&[A, B, A, C]),
                &joined(&[A, B]),
                &["2: a b/s message comes after the last a message"],
            ),
        ]);
    }
}
