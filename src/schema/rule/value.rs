//! `one-of` and `matches`: rules about single values.

use super::super::condition::listed;
use super::super::pattern::Pattern;
use super::{
    Evidence, Facts, Item, JsonView, Loaded, Message, Names, Rule, Selector, Sink, Subject, Table, Test,
    Watch, excerpt,
};
use crate::json::Kind;

#[derive(Debug)]
struct ValueRule {
    on: Selector,
    at: Subject,
    test: Test,
}

pub(super) fn load_one_of(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    let values = match (fields.get("values"), fields.get("values-from")) {
        (Some(values), None) => values.list()?.iter().map(Item::json).collect::<Result<Vec<_>, _>>()?,
        (None, Some(from)) => {
            let part = names.schemas.part(from.str()?).map_err(|reason| from.complain(reason))?;
            part.as_array().cloned().ok_or_else(|| from.complain("is no list of values"))?
        }
        _ => return Err(fields.complain("`one-of` needs either `values` or `values-from`")),
    };
    load(fields, names, Test::OneOf(values))
}

pub(super) fn load_matches(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    load(fields, names, Test::Matches(Pattern::load(&fields.need("regex")?)?))
}

fn load(fields: &Table<'_>, names: &Names<'_>, test: Test) -> Loaded {
    let node = fields.need("at")?;
    let at = Subject::parse(node.str()?, &node)?;
    Ok(Box::new(ValueRule { on: Selector::load(fields, "on", names)?, at, test }))
}

impl ValueRule {
    fn holds(&self, value: JsonView<'_>) -> bool {
        match &self.test {
            // That it is a text at all is the schema's business.
            Test::Matches(_) if value.kind() != Kind::String => true,
            test => test.holds(value),
        }
    }

    fn evidence(&self, place: &str, value: JsonView<'_>) -> Evidence {
        let what = match &self.test {
            Test::Matches(_) => "which does not have the promised form".to_owned(),
            Test::OneOf(values) if values.len() == 1 => format!("expected {}", listed(values)),
            _ => "which is not one of the known values".to_owned(),
        };
        Evidence {
            message: format!("{place} is {}, {what}", excerpt(value)),
            seen: Some(excerpt(value)),
            expected: Some(self.test.describe()),
            ..Evidence::default()
        }
    }
}

impl Rule for ValueRule {
    fn speaks_at_end(&self) -> bool {
        matches!(self.at, Subject::Fact(_))
    }

    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(self)
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        matches!(self.at, Subject::Message(_)) && self.on.may_take(kind)
    }

    fn selectors(&self) -> Option<Vec<&Selector>> {
        Some(vec![&self.on])
    }
}

impl Watch for &ValueRule {
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        let Subject::Message(pointer) = &self.at else { return };
        if !self.on.takes(message) {
            return;
        }
        pointer.visit(message.value, &mut |value, path| {
            if !self.holds(value) {
                sink.add(|| {
                    let place = path.render();
                    let named = if place.is_empty() { self.at.name() } else { &place };
                    let evidence = self.evidence(named, value);
                    let (line, offset) = (Some(message.line), Some(message.offset));
                    Evidence { line, offset, pointer: Some(place), ..evidence }
                });
            }
            true
        });
    }

    fn kept(&self) -> Option<u64> {
        Some(0)
    }

    fn finish(&mut self, facts: &Facts, sink: &mut Sink) {
        if let Subject::Fact(path) = &self.at
            && let Some(value) = path.get(facts)
            && !self.holds(value)
        {
            sink.push(self.evidence(self.at.name(), value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_table;

    #[test]
    fn single_values_are_known_or_have_their_form() {
        check_table(&[
            (
                r#"{ rule = "one-of", at = "/n", values = [1, "x"] }"#,
                "{\"n\":1.0}\n{}\n",
                "{\"n\":2}\n",
                &["1/n: /n is 2, which is not one of the known values"],
            ),
            (
                r#"{ rule = "one-of", on = "a", at = "/w", values-from = "s.schema.json#/properties/w/enum" }"#,
                "{\"type\":\"a\",\"w\":\"y\"}\n{\"w\":\"z\"}\n",
                "{\"type\":\"a\",\"w\":\"z\"}\n",
                &["1/w: /w is \"z\", which is not one of the known values"],
            ),
            (
                r#"{ rule = "one-of", at = "messages", values = [1] }"#,
                "{}\n",
                "{}\n{}\n",
                &[": the number of messages is 2, expected 1"],
            ),
            // What is no text has no form.
            (
                r#"{ rule = "matches", at = "/l/*", regex = "^x" }"#,
                "{\"l\":[\"xy\",7]}\n",
                "{\"l\":[\"x\",\"yx\"]}\n",
                &["1/l/1: /l/1 is \"yx\", which does not have the promised form"],
            ),
        ]);
    }
}
