//! `equals`: two values that must be the same.

use serde_json::Value;

use super::super::facts::{Fact, Facts};
use super::super::finding::{Evidence, Sink, excerpt};
use super::super::pointer::Pointer;
use super::super::tree::{Fields, FileError, Node, suggestion};
use super::super::view::JsonView;
use super::{Message, Names, Pick, Rule, Selector, Source, Watch};

#[derive(Debug)]
struct Equals {
    on: Selector,
    pick: Pick,
    left: Side,
    right: Side,
    missing_is_broken: bool,
}

#[derive(Debug)]
enum Side {
    Pointer(Pointer),
    Fact(Fact),
    /// The latest value of a source, from the messages before.
    Latest(Source),
}

pub(super) fn load(fields: &Fields<'_>, names: &Names<'_>) -> Result<Box<dyn Rule>, FileError> {
    let missing_is_broken = match fields.get("missing") {
        Some(node) if node.str()? == "broken" => true,
        Some(node) if node.str()? != "fine" => return Err(node.error("`missing` is `broken` or `fine`")),
        _ => false,
    };
    Ok(Box::new(Equals {
        on: Selector::load(fields, "on", names)?,
        pick: Pick::load(fields)?,
        left: Side::load(fields.need("left")?, names)?,
        right: Side::load(fields.need("right")?, names)?,
        missing_is_broken,
    }))
}

impl Side {
    fn load(node: Node<'_>, names: &Names<'_>) -> Result<Self, FileError> {
        if node.is_table() {
            let fields = node.fields()?;
            if Pick::load(&fields)? != Pick::Last {
                return Err(node.error("a source in `equals` needs `pick = \"last\"`"));
            }
            let source = Source::load(&fields, names)?;
            fields.done()?;
            return Ok(Self::Latest(source));
        }
        let text = node.str()?;
        if text.starts_with('/') {
            return Pointer::parse(text).map(Self::Pointer).map_err(|reason| node.error(reason));
        }
        Fact::from_name(text).map(Self::Fact).ok_or_else(|| {
            let hint = suggestion(text, &Fact::names());
            node.error(format_args!("`{text}` is neither a pointer nor a fact{hint}"))
        })
    }

    fn describe(&self) -> &str {
        match self {
            Self::Pointer(pointer) => pointer.text(),
            Self::Fact(fact) => fact.name(),
            Self::Latest(_) => "the latest value",
        }
    }
}

impl Rule for Equals {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching { rule: self, latest: [None, None], open: Vec::new(), more: 0, done: false })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        let from = |side: &Side| matches!(side, Side::Latest(source) if source.may_take(kind));
        self.on.may_take(kind) || from(&self.left) || from(&self.right)
    }
}

/// Two values that differ, or of which one is a fact that is not known yet.
struct Open {
    values: [Option<Value>; 2],
    line: u64,
    offset: u64,
}

struct Watching<'r> {
    rule: &'r Equals,
    latest: [Option<Value>; 2],
    open: Vec<Open>,
    more: u64,
    done: bool,
}

impl Watching<'_> {
    fn sides(&self) -> [&Side; 2] {
        [&self.rule.left, &self.rule.right]
    }

    fn compare(&mut self, message: &Message<'_>) {
        let mut late = false;
        let mut values = [None, None];
        for (index, side) in self.sides().into_iter().enumerate() {
            values[index] = match side {
                Side::Pointer(pointer) => pointer.get(message.value),
                Side::Latest(_) => self.latest[index].as_ref().map(JsonView::Built),
                Side::Fact(_) => {
                    late = true;
                    None
                }
            };
        }
        if !late && !self.differ(values) {
            return;
        }
        if self.open.len() < 20 {
            let values = values.map(|value| value.map(|value: JsonView<'_>| value.to_value().into_owned()));
            self.open.push(Open { values, line: message.line, offset: message.offset });
        } else {
            self.more += 1;
        }
    }

    fn differ(&self, values: [Option<JsonView<'_>>; 2]) -> bool {
        match values {
            [Some(left), Some(right)] => !left.equals(right),
            _ => self.rule.missing_is_broken,
        }
    }
}

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, _: &mut Sink) {
        let rule = self.rule;
        if !self.done && rule.on.takes(message) {
            match rule.pick {
                Pick::Every => {}
                Pick::First => self.done = true,
                Pick::Last => self.open.clear(),
            }
            self.compare(message);
        }
        for (index, side) in [&rule.left, &rule.right].into_iter().enumerate() {
            if let Side::Latest(source) = side {
                let mut newest = None;
                source.visit(message, &mut |value, _| newest = Some(value));
                if let Some(value) = newest {
                    self.latest[index] = Some(value.to_value().into_owned());
                }
            }
        }
    }

    fn finish(&mut self, facts: &Facts, sink: &mut Sink) {
        let open = std::mem::take(&mut self.open);
        for Open { values, line, offset } in open {
            let mut known = [&values[0], &values[1]].map(|value| value.as_ref().map(JsonView::Built));
            for (value, side) in known.iter_mut().zip(self.sides()) {
                if let Side::Fact(fact) = side {
                    *value = facts.get(*fact).map(JsonView::Built);
                    if value.is_none() {
                        return;
                    }
                }
            }
            if self.differ(known) {
                let [left, right] = self.sides();
                let show = |value: Option<JsonView<'_>>| {
                    value.map_or("missing".into(), |value| excerpt(value).to_string())
                };
                sink.push(Evidence {
                    message: format!(
                        "{} is {}, but {} is {}",
                        left.describe(),
                        show(known[0]),
                        right.describe(),
                        show(known[1])
                    ),
                    line: Some(line),
                    offset: Some(offset),
                    pointer: match left {
                        Side::Pointer(pointer) => Some(pointer.text().to_string()),
                        _ => None,
                    },
                    seen: known[0].map(excerpt),
                    expected: Some(show(known[1])),
                });
            }
        }
        sink.count(self.more);
    }
}
