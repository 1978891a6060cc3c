//! `limit`: a number that another one bounds, such as a duration by that of the whole run.

use super::super::finding::KEPT;
use super::values::number_of;
use super::{
    Evidence, Facts, FileError, Item, JsonView, Loaded, Message, Names, Pointer, Rule, Selector, Sink,
    Subject, Table, Watch, pointer,
};

#[derive(Debug)]
struct Limit {
    on: Selector,
    at: Pointer,
    most: Bound,
    /// What the number may have on top of its bound.
    plus: f64,
}

#[derive(Debug)]
enum Bound {
    One(Subject),
    /// The sum of what stands at these places.
    Sum(Pointer),
}

pub(super) fn load(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    Ok(Box::new(Limit {
        on: Selector::load(fields, "on", names)?,
        at: pointer(&fields.need("at")?)?,
        most: Bound::load(&fields.need("most")?)?,
        plus: fields.get("plus").map_or(Ok(0.0), |node| node.number())?,
    }))
}

impl Bound {
    fn load(node: &Item<'_>) -> Result<Self, FileError> {
        Ok(match Subject::parse(node.str()?, node)? {
            Subject::Message(pointer) if pointer.is_many() => Self::Sum(pointer),
            subject => Self::One(subject),
        })
    }

    fn name(&self) -> &str {
        match self {
            Self::One(subject) => subject.name(),
            Self::Sum(pointer) => pointer.text(),
        }
    }

    /// What the message says of it; none when the run does, or nobody.
    fn here(&self, message: JsonView<'_>) -> Option<f64> {
        match self {
            Self::One(Subject::Message(pointer)) => number_of(&pointer.get(message)?.to_value()),
            Self::One(Subject::Fact(_)) => None,
            Self::Sum(pointer) => {
                let mut sum = None;
                pointer.visit(message, &mut |value, _| {
                    sum = Some(sum.unwrap_or(0.0) + value.float().unwrap_or(0.0));
                    true
                });
                sum
            }
        }
    }
}

impl Rule for Limit {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching { rule: self, open: Vec::new() })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        self.on.may_take(kind)
    }
}

struct Watching<'r> {
    rule: &'r Limit,
    /// Numbers with what bounds them, if that is known, and where they stand.
    open: Vec<(f64, Option<f64>, Evidence)>,
}

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, _: &mut Sink) {
        let rule = self.rule;
        if self.open.len() >= KEPT || !rule.on.takes(message) {
            return;
        }
        let Some(value) = rule.at.get(message.value) else { return };
        let Some(number) = value.float() else { return };
        let bound = rule.most.here(message.value);
        if matches!(rule.most, Bound::One(Subject::Fact(_))) || bound.is_some() {
            let evidence = message.evidence_at(rule.at.text(), Some(value), String::new());
            self.open.push((number, bound, evidence));
        }
    }

    fn looked(&self, _: &Facts) -> bool {
        !self.open.is_empty()
    }

    fn finish(&mut self, facts: &Facts, sink: &mut Sink) {
        let rule = self.rule;
        let of_run = match &rule.most {
            Bound::One(Subject::Fact(path)) => path.get(facts).and_then(|value| number_of(&value.to_value())),
            _ => None,
        };
        for (number, bound, evidence) in self.open.drain(..) {
            let Some(bound) = bound.or(of_run) else { continue };
            if number <= bound + rule.plus {
                continue;
            }
            let message = format!("{} is {number}, but {} is {bound}", rule.at.text(), rule.most.name());
            sink.push(Evidence { message, expected: Some(format!("at most {}", bound + rule.plus)), ..evidence });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_table;

    #[test]
    fn a_number_is_bounded_by_another() {
        check_table(&[
            (
                r#"{ rule = "limit", at = "/n", most = "/m", plus = 1 }"#,
                "{\"n\":3,\"m\":2}\n{\"n\":9}\n",
                "{\"n\":4,\"m\":2}\n",
                &["1/n: /n is 4, but /m is 2"],
            ),
            (
                r#"{ rule = "limit", at = "/n", most = "/l/*" }"#,
                "{\"n\":3,\"l\":[1,2]}\n",
                "{\"n\":4,\"l\":[1,2]}\n",
                &["1/n: /n is 4, but /l/* is 3"],
            ),
            (
                r#"{ rule = "limit", at = "/n", most = "messages" }"#,
                "{\"n\":1}\n",
                "{\"n\":2}\n",
                &["1/n: /n is 2, but messages is 1"],
            ),
        ]);
    }
}
