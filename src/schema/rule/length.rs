//! `length`: a number that says how long an array is.

use serde_json::Value;

use super::super::finding::{Evidence, Sink};
use super::super::pointer::Pointer;
use super::super::tree::{Fields, FileError};
use super::super::view::Shape;
use super::select::pointer;
use super::{Message, Names, Rule, Selector, Watch};

#[derive(Debug)]
struct Length {
    on: Selector,
    of: Pointer,
    equals: Pointer,
}

pub(super) fn load(fields: &Fields<'_>, names: &Names<'_>) -> Result<Box<dyn Rule>, FileError> {
    Ok(Box::new(Length {
        on: Selector::load(fields, "on", names)?,
        of: pointer(fields.need("of")?)?,
        equals: pointer(fields.need("equals")?)?,
    }))
}

impl Rule for Length {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching(self))
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        self.on.may_take(kind)
    }
}

struct Watching<'r>(&'r Length);

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        let rule = self.0;
        if !rule.on.takes(message) {
            return;
        }
        if let Some(list) = rule.of.get(message.value).filter(|list| list.shape() == Shape::Array)
            && let Some(number) = rule.equals.get(message.value)
            && number.shape() == Shape::Number
            && let length = list.items().count()
            && !number.same(&Value::from(length))
        {
            let text = format!(
                "{} is {}, but {} has {length}",
                rule.equals.text(),
                number.to_value(),
                rule.of.text()
            );
            let evidence = message.evidence_at(rule.equals.text(), Some(number), text);
            sink.push(Evidence { expected: Some(length.to_string()), ..evidence });
        }
    }
}
