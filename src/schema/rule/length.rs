//! `length`: a number that says how long an array is.

use serde_json::Value;

use super::{Evidence, Loaded, Message, Names, Pointer, Rule, Selector, Sink, Table, Watch, pointer};
use crate::json::Kind;

#[derive(Debug)]
struct Length {
    on: Selector,
    of: Pointer,
    equals: Pointer,
}

pub(super) fn load(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    Ok(Box::new(Length {
        on: Selector::load(fields, "on", names)?,
        of: pointer(&fields.need("of")?)?,
        equals: pointer(&fields.need("equals")?)?,
    }))
}

impl Rule for Length {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(self)
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        self.on.may_take(kind)
    }

    fn selectors(&self) -> Option<Vec<&Selector>> {
        Some(vec![&self.on])
    }
}

impl Watch for &Length {
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        let Length { on, of, equals } = self;
        if !on.takes(message) {
            return;
        }
        if let Some(list) = of.get(message.value).filter(|list| list.kind() == Kind::Array)
            && let Some(number) = equals.get(message.value)
            && number.kind() == Kind::Number
            && let length = list.items().count()
            && !number.same(&Value::from(length))
        {
            let (place, list) = (equals.text(), of.text());
            let text = format!("{place} is {}, but {list} has {length}", number.to_value());
            let evidence = message.evidence_at(place, Some(number), text);
            sink.push(Evidence { expected: Some(length.to_string()), ..evidence });
        }
    }

    fn kept(&self) -> Option<u64> {
        Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_table;

    #[test]
    fn a_number_says_how_long_a_list_is() {
        check_table(&[(
            r#"{ rule = "length", of = "/l", equals = "/n" }"#,
            "{\"l\":[1,2],\"n\":2.0}\n{\"n\":9}\n",
            "{\"l\":[1,2],\"n\":3}\n",
            &["1/n: /n is 3, but /l has 2"],
        )]);
    }
}
