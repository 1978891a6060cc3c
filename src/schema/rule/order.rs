//! `first`, `last`, `before`, `never-after` and `nothing-after`: rules about the order of messages.

use super::super::facts::Facts;
use super::super::finding::{Evidence, Sink};
use super::super::tree::{Fields, FileError};
use super::super::view::JsonView;
use super::{Message, Names, Rule, Selector, Watch};

#[derive(Debug)]
enum Order {
    First { on: Selector, ignore: Option<Selector> },
    Last { on: Selector, ignore: Option<Selector> },
    Before { first: Selector, then: Selector },
    NeverAfter { first: Selector, then: Selector },
    NothingAfter { on: Selector, except: Option<Selector> },
}

fn optional(
    fields: &Fields<'_>,
    key: &'static str,
    names: &Names<'_>,
) -> Result<Option<Selector>, FileError> {
    if fields.get(key).is_none() {
        return Ok(None);
    }
    Selector::need(fields, key, names).map(Some)
}

pub(super) fn load_first(fields: &Fields<'_>, names: &Names<'_>) -> Result<Box<dyn Rule>, FileError> {
    let on = Selector::need(fields, "on", names)?;
    Ok(Box::new(Order::First { on, ignore: optional(fields, "ignore", names)? }))
}

pub(super) fn load_last(fields: &Fields<'_>, names: &Names<'_>) -> Result<Box<dyn Rule>, FileError> {
    let on = Selector::need(fields, "on", names)?;
    Ok(Box::new(Order::Last { on, ignore: optional(fields, "ignore", names)? }))
}

pub(super) fn load_before(fields: &Fields<'_>, names: &Names<'_>) -> Result<Box<dyn Rule>, FileError> {
    let first = Selector::need(fields, "first", names)?;
    Ok(Box::new(Order::Before { first, then: Selector::need(fields, "then", names)? }))
}

pub(super) fn load_never_after(fields: &Fields<'_>, names: &Names<'_>) -> Result<Box<dyn Rule>, FileError> {
    let first = Selector::need(fields, "first", names)?;
    Ok(Box::new(Order::NeverAfter { first, then: Selector::need(fields, "then", names)? }))
}

pub(super) fn load_nothing_after(fields: &Fields<'_>, names: &Names<'_>) -> Result<Box<dyn Rule>, FileError> {
    let on = Selector::need(fields, "on", names)?;
    Ok(Box::new(Order::NothingAfter { on, except: optional(fields, "except", names)? }))
}

impl Rule for Order {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching { order: self, begun: false, open: Sink::default(), last: None })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        match self {
            Self::Before { first, then } | Self::NeverAfter { first, then } => {
                first.may_take(kind) || then.may_take(kind)
            }
            _ => true,
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

impl Last {
    /// Takes the place of the one before, and its memory: this happens at nearly every message.
    fn replace(last: &mut Option<Self>, message: &Message<'_>) {
        let Self { line, offset, names } = last.get_or_insert_default();
        (*line, *offset) = (message.line, message.offset);
        for (name, key) in names.iter_mut().zip(["type", "subtype"]) {
            let field = message.value.get(key).and_then(JsonView::text);
            *name = field.map(|text| {
                let mut name = name.take().unwrap_or_default();
                name.clear();
                name.push_str(&text);
                name
            });
        }
    }

    fn evidence(self) -> Evidence {
        let [kind, subtype] = self.names;
        Evidence {
            message: format!("{} comes last", titled(kind.as_deref(), subtype.as_deref())),
            line: Some(self.line),
            offset: Some(self.offset),
            ..Evidence::default()
        }
    }
}

fn ignored(ignore: Option<&Selector>, message: &Message<'_>) -> bool {
    ignore.is_some_and(|ignore| ignore.takes(message))
}

/// What a message is, for people.
pub(super) fn title(message: &Message<'_>) -> String {
    let field = |key| message.value.get(key)?.text();
    titled(field("type").as_deref(), field("subtype").as_deref())
}

fn titled(kind: Option<&str>, subtype: Option<&str>) -> String {
    match (kind, subtype) {
        (Some(kind), Some(subtype)) => format!("a {kind}/{subtype} message"),
        (Some(kind), None) => format!("a {kind} message"),
        _ => "a message without a type".into(),
    }
}

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        match self.order {
            Order::First { on, ignore } => {
                if !self.begun && !ignored(ignore.as_ref(), message) {
                    self.begun = true;
                    if !on.takes(message) {
                        sink.push(message.evidence(format!("{} comes first", title(message))));
                    }
                }
            }
            Order::Last { on, ignore } => {
                let counts = !ignored(ignore.as_ref(), message);
                if counts && on.takes(message) {
                    self.last = None;
                } else if counts {
                    Last::replace(&mut self.last, message);
                }
            }
            Order::Before { first, then } => {
                if !self.begun && then.takes(message) {
                    sink.add(|| message.evidence(format!("{} comes too early", title(message))));
                }
                self.begun = self.begun || first.takes(message);
            }
            Order::NeverAfter { first, then } => {
                if self.begun && then.takes(message) {
                    sink.add(|| message.evidence(format!("{} comes too late", title(message))));
                }
                self.begun = self.begun || first.takes(message);
            }
            Order::NothingAfter { on, except } => {
                if on.takes(message) {
                    self.begun = true;
                    self.open = Sink::default();
                } else if self.begun && !ignored(except.as_ref(), message) {
                    self.open.add(|| message.evidence(format!("{} comes after the end", title(message))));
                }
            }
        }
    }

    fn finish(&mut self, _: &Facts, sink: &mut Sink) {
        sink.append(std::mem::take(&mut self.open));
        self.last.take().into_iter().for_each(|last| sink.push(last.evidence()));
    }
}
