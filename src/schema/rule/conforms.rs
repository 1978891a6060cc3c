//! `conforms`: a value that is valid under the JSON Schema that the command line gave.

use serde_json::Value;

use super::picked::Picked;
use super::spool::{Spool, UNREADABLE};
use super::{
    Evidence, Facts, Loaded, Message, Names, Pointer, Rule, Selector, Sink, Subject, Table, Watch, excerpt,
    pointer,
};

#[derive(Debug)]
struct Conforms {
    on: Selector,
    at: Pointer,
    /// Where the schema stands, as JSON or as its text.
    schema: Subject,
}

pub(super) fn load(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    let schema = fields.need("to")?;
    Ok(Box::new(Conforms {
        on: Selector::load(fields, "on", names)?,
        at: pointer(&fields.need("at")?)?,
        schema: match Subject::parse(schema.str()?, &schema)? {
            Subject::Message(_) => return Err(schema.complain("the schema is a fact of the run")),
            fact @ Subject::Fact(_) => fact,
        },
    }))
}

impl Rule for Conforms {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching { rule: self, open: Spool::default() })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        self.on.may_take(kind)
    }

    fn selectors(&self) -> Option<Vec<&Selector>> {
        Some(vec![&self.on])
    }
}

struct Watching<'r> {
    rule: &'r Conforms,
    /// The values and where they stand: what they have to be like is known at the end.
    open: Spool,
}

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, _: &mut Sink) {
        if self.rule.on.takes(message)
            && let Some(value) = self.rule.at.get(message.value)
        {
            let mut record = Vec::new();
            Picked::of_message(message, value.to_value().into_owned()).write(&mut record);
            self.open.push(&record);
        }
    }

    fn looked(&self, facts: &Facts) -> bool {
        !self.open.is_empty() && schema(self.rule, facts).is_some()
    }

    fn finish(&mut self, facts: &Facts, sink: &mut Sink) {
        // A schema that is none is the user's mistake, which the target has to refuse.
        let Some(validator) = schema(self.rule, facts) else { return };
        let at = self.rule.at.text();
        let read = self.open.each(&mut |record| {
            let Some(Picked { value, place, .. }) = Picked::read(record) else { return true };
            if let Some(error) = validator.iter_errors(&value).next() {
                sink.add(|| Evidence {
                    message: format!("{at} is not as the schema asks: {error}"),
                    expected: Some(self.rule.schema.name().into()),
                    pointer: Some(at.into()),
                    seen: Some(excerpt(&value)),
                    ..place.evidence()
                });
            }
            true
        });
        if read.is_err() {
            sink.push(Evidence { message: UNREADABLE.into(), ..Evidence::default() });
        }
    }
}

fn schema(rule: &Conforms, facts: &Facts) -> Option<jsonschema::Validator> {
    let Subject::Fact(path) = &rule.schema else { return None };
    let given = path.get(facts)?.to_value().into_owned();
    let schema = match &given {
        Value::String(text) => serde_json::from_str(text).ok()?,
        _ => given,
    };
    jsonschema::validator_for(&schema).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::recorded;

    #[test]
    fn a_value_is_as_the_schema_of_the_command_line_asks() {
        let check = r#"{ rule = "conforms", on = "a", at = "/n", to = "flags/--schema" }"#;
        let schema = r#"{"type":"object","required":["x"]}"#;
        let of = |argv: &[&str], stdout| recorded(check, argv, stdout, &json!({}));
        assert_eq!(of(&["--schema", schema], "{\"type\":\"a\",\"n\":{\"x\":1}}\n"), [""; 0]);
        assert_eq!(
            of(&["--schema", schema], "{\"type\":\"a\",\"n\":{}}\n"),
            ["1/n: /n is not as the schema asks: \"x\" is a required property"]
        );
        let many = "{\"type\":\"a\",\"n\":{\"x\":1}}\n".repeat(30) + "{\"type\":\"a\",\"n\":{}}\n";
        assert_eq!(
            of(&["--schema", schema], &many),
            ["31/n: /n is not as the schema asks: \"x\" is a required property"]
        );
        // Of another kind, without the value, without a schema, and with one that is none.
        assert_eq!(of(&["--schema", schema], "{\"type\":\"b\",\"n\":{}}\n{\"type\":\"a\"}\n"), [""; 0]);
        assert_eq!(of(&[], "{\"type\":\"a\",\"n\":{}}\n"), [""; 0]);
        assert_eq!(of(&["--schema", "{\"type\":7}"], "{\"type\":\"a\",\"n\":{}}\n"), [""; 0]);
    }
}
