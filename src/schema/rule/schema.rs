//! `schema`: the messages, or values in them, must be valid against a JSON Schema.

use std::sync::OnceLock;

use super::super::quick::QuickSchema;
use super::super::schemas::LateValidator;
use super::{
    Evidence, JsonView, Loaded, Message, Names, Pointer, Rule, Selector, Sink, Table, Watch, pointer,
};
use crate::json::pointer::Place;

#[derive(Debug)]
struct SchemaRule {
    on: Selector,
    at: Option<Pointer>,
    quick: OnceLock<QuickSchema>,
    validator: LateValidator,
}

pub(super) fn load(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    let reference = fields.need("schema")?;
    let name = reference.text()?;
    if !reference.is_built_in() {
        names.schemas.part(&name).map_err(|reason| reference.complain(reason))?;
    }
    Ok(Box::new(SchemaRule {
        on: Selector::load(fields, "on", names)?,
        at: fields.get("at").as_ref().map(pointer).transpose()?,
        quick: OnceLock::new(),
        validator: LateValidator::new(names.schemas, name),
    }))
}

impl Rule for SchemaRule {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(self)
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        self.on.may_take(kind)
    }

    fn schema_of(&self, kind: Option<usize>) -> Option<&QuickSchema> {
        (self.at.is_none() && self.on.takes_all(kind)).then(|| self.quick())
    }

    fn selectors(&self) -> Option<Vec<&Selector>> {
        Some(vec![&self.on])
    }
}

impl SchemaRule {
    fn quick(&self) -> &QuickSchema {
        self.quick.get_or_init(|| self.validator.quick())
    }

    fn judge(&self, value: JsonView<'_>, base: Place<'_>, message: &Message<'_>, sink: &mut Sink) {
        // Whether it is valid is far cheaper to ask than why it is not.
        if self.quick().is_valid(value).unwrap_or_else(|| self.validator.is_valid(value)) {
            return;
        }
        if sink.is_full() {
            sink.count(1);
            return;
        }
        for evidence in self.validator.evidence(value, &base.render()) {
            sink.push(Evidence { line: Some(message.line), offset: Some(message.offset), ..evidence });
        }
    }
}

impl Watch for &SchemaRule {
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        if !self.on.takes(message) {
            return;
        }
        match &self.at {
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

#[cfg(test)]
mod tests {
    use super::super::tests::check_table;

    #[test]
    fn messages_and_values_in_them_are_valid() {
        check_table(&[
            (
                r#"{ schema = "s.schema.json", on = "a" }"#,
                "{\"type\":\"a\",\"n\":1}\n{\"type\":\"b\",\"n\":\"x\"}\n",
                "{\"type\":\"a\",\"n\":\"x\"}\n",
                &["1/n: /n is a string, expected an integer"],
            ),
            (
                r#"{ schema = "s.schema.json#/properties/w", at = "/l/*" }"#,
                "{\"l\":[\"x\",\"y\"]}\n",
                "{\"l\":[\"x\",\"z\"]}\n",
                &["1/l/1: /l/1 is \"z\", which is none of the allowed values"],
            ),
        ]);
    }
}
