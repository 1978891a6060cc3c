//! `schema`: the messages, or values in them, must be valid against a JSON Schema.

use std::sync::Arc;

use super::super::finding::{Evidence, Sink};
use super::super::instance::Validator;
use super::super::pointer::{Place, Pointer};
use super::super::schemas;
use super::super::tree::{Fields, FileError};
use super::super::view::JsonView;
use super::select::pointer;
use super::{Message, Names, Rule, Selector, Watch};

#[derive(Debug)]
struct SchemaRule {
    on: Selector,
    at: Option<Pointer>,
    validator: Arc<Validator>,
}

pub(super) fn load(fields: &Fields<'_>, names: &Names<'_>) -> Result<Box<dyn Rule>, FileError> {
    let reference = fields.need("schema")?;
    let validator = names.validators.get(reference.str()?).cloned();
    Ok(Box::new(SchemaRule {
        on: Selector::load(fields, "on", names)?,
        at: fields.get("at").map(pointer).transpose()?,
        validator: validator.ok_or_else(|| reference.error("was not compiled"))?,
    }))
}

impl Rule for SchemaRule {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching(self))
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        self.on.may_take(kind)
    }
}

struct Watching<'r>(&'r SchemaRule);

impl Watching<'_> {
    fn judge(&self, value: JsonView<'_>, base: Place<'_>, message: &Message<'_>, sink: &mut Sink) {
        // Whether it is valid is far cheaper to ask than why it is not.
        if self.0.validator.is_valid(value) {
            return;
        }
        if sink.is_full() {
            sink.count(1);
            return;
        }
        for evidence in schemas::evidence(&self.0.validator, value, &base.render()) {
            sink.push(Evidence { line: Some(message.line), offset: Some(message.offset), ..evidence });
        }
    }
}

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        if !self.0.on.takes(message) {
            return;
        }
        match &self.0.at {
            None => self.judge(message.value, Place::Written(""), message, sink),
            Some(at) => {
                at.visit(message.value, &mut |value, path| {
                    self.judge(value, path, message, sink);
                    true
                });
            }
        }
    }
}
