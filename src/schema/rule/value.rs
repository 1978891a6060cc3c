//! `one-of` and `matches`: rules about single values.

use regex::Regex;
use serde_json::Value;

use super::super::condition::regex;
use super::super::facts::{Fact, Facts};
use super::super::finding::{Evidence, Sink, excerpt};
use super::super::pointer::Pointer;
use super::super::tree::{Fields, FileError, Node, suggestion};
use super::super::view::JsonView;
use super::{Message, Names, Rule, Selector, Watch};

#[derive(Debug)]
struct ValueRule {
    on: Selector,
    at: At,
    test: Test,
}

#[derive(Debug)]
enum At {
    Pointer(Pointer),
    Fact(Fact),
}

#[derive(Debug)]
enum Test {
    OneOf(Vec<Value>),
    Matches(Regex),
}

pub(super) fn load_one_of(fields: &Fields<'_>, names: &Names<'_>) -> Result<Box<dyn Rule>, FileError> {
    let values = match (fields.get("values"), fields.get("values-from")) {
        (Some(values), None) => values.list()?.iter().map(Node::json).collect::<Result<Vec<_>, _>>()?,
        (None, Some(from)) => {
            let part = names.schemas.part(from.str()?).map_err(|reason| from.error(reason))?;
            part.as_array().cloned().ok_or_else(|| from.error("is no list of values"))?
        }
        _ => return Err(fields.error("`one-of` needs either `values` or `values-from`")),
    };
    load(fields, names, Test::OneOf(values))
}

pub(super) fn load_matches(fields: &Fields<'_>, names: &Names<'_>) -> Result<Box<dyn Rule>, FileError> {
    load(fields, names, Test::Matches(regex(fields.need("regex")?)?))
}

fn load(fields: &Fields<'_>, names: &Names<'_>, test: Test) -> Result<Box<dyn Rule>, FileError> {
    let node = fields.need("at")?;
    let text = node.str()?;
    let at = if text.starts_with('/') {
        At::Pointer(Pointer::parse(text).map_err(|reason| node.error(reason))?)
    } else {
        let fact = Fact::from_name(text).ok_or_else(|| {
            let hint = suggestion(text, &Fact::names());
            node.error(format_args!("`{text}` is neither a pointer nor a fact{hint}"))
        })?;
        At::Fact(fact)
    };
    Ok(Box::new(ValueRule { on: Selector::load(fields, "on", names)?, at, test }))
}

impl ValueRule {
    fn holds(&self, value: JsonView<'_>) -> bool {
        match &self.test {
            Test::OneOf(values) => values.iter().any(|known| value.same(known)),
            // Another type is the schema's business.
            Test::Matches(regex) => value.text().is_none_or(|text| regex.is_match(&text)),
        }
    }

    fn expected(&self) -> String {
        match &self.test {
            Test::OneOf(values) => {
                let list: Vec<_> = values.iter().map(ToString::to_string).collect();
                format!("one of {}", list.join(", "))
            }
            Test::Matches(regex) => format!("a text that matches {regex}"),
        }
    }

    fn evidence(&self, place: &str, value: JsonView<'_>) -> Evidence {
        let what = match self.test {
            Test::OneOf(_) => "which is not among the known values",
            Test::Matches(_) => "which does not have the promised form",
        };
        Evidence {
            message: format!("{place} is {}, {what}", excerpt(value)),
            seen: Some(excerpt(value)),
            expected: Some(self.expected()),
            ..Evidence::default()
        }
    }
}

impl Rule for ValueRule {
    fn speaks_at_end(&self) -> bool {
        matches!(self.at, At::Fact(_))
    }

    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching(self))
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        matches!(self.at, At::Pointer(_)) && self.on.may_take(kind)
    }
}

struct Watching<'r>(&'r ValueRule);

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        let At::Pointer(pointer) = &self.0.at else { return };
        if !self.0.on.takes(message) {
            return;
        }
        pointer.visit(message.value, &mut |value, path| {
            if !self.0.holds(value) {
                sink.add(|| {
                    let place = path.render();
                    let evidence = self.0.evidence(&place, value);
                    let pointer = Some(place);
                    Evidence { line: Some(message.line), offset: Some(message.offset), pointer, ..evidence }
                });
            }
            true
        });
    }

    fn finish(&mut self, facts: &Facts, sink: &mut Sink) {
        if let At::Fact(fact) = self.0.at
            && let Some(value) = facts.get(fact).map(JsonView::Built)
            && !self.0.holds(value)
        {
            sink.push(self.0.evidence(fact.name(), value));
        }
    }
}
