//! `length`: a number that says how long an array is.

use serde_json::Value;

use super::super::finding::{Evidence, Sink};
use super::super::pointer::Pointer;
use super::super::tree::{Fields, FileError};
use super::super::value::same;
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
        if let Some(list) = rule.of.get(message.value).and_then(Value::as_array)
            && let Some(number) = rule.equals.get(message.value)
            && number.is_number()
            && !same(number, &Value::from(list.len()))
        {
            let text =
                format!("{} is {number}, but {} has {}", rule.equals.text(), rule.of.text(), list.len());
            let evidence = message.evidence_at(rule.equals.text(), Some(number), text);
            sink.push(Evidence { expected: Some(list.len().to_string()), ..evidence });
        }
    }
}
