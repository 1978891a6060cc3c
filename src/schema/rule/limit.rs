//! `limit`: a number that another one bounds, such as a duration by that of the whole run.

use super::super::finding::KEPT;
use super::collector::number_of;
use super::{
    Evidence, Facts, FileError, Item, JsonView, Loaded, Message, Names, Pick, Pointer, Rule, Selector, Sink,
    Subject, Table, Watch, pointer,
};

#[derive(Debug)]
struct Limit {
    on: Selector,
    first_only: bool,
    /// Each number with what bounds it.
    pairs: Vec<(Pointer, Bound)>,
    /// What the number may have on top of its bound, or lack.
    plus: f64,
    /// The bound is the least that it may be.
    at_least: bool,
}

#[derive(Debug)]
enum Bound {
    One(Subject),
    /// The sum of what stands at these places.
    Sum(Pointer),
}

pub(super) fn load(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    let listed = |key| {
        let node = fields.need(key)?;
        if node.is_list() { node.list() } else { Ok(vec![node]) }
    };
    let at_least = fields.get("least").is_some();
    let (numbers, bounds) = (listed("at")?, listed(if at_least { "least" } else { "most" })?);
    if numbers.len() != bounds.len() {
        return Err(fields.complain("`at` and its bounds have the same length"));
    }
    let pair = |(at, most): (&Item<'_>, &Item<'_>)| Ok((pointer(at)?, Bound::load(most)?));
    Ok(Box::new(Limit {
        on: Selector::load(fields, "on", names)?,
        first_only: Pick::load(fields)? == Pick::First,
        pairs: numbers.iter().zip(&bounds).map(pair).collect::<Result<_, FileError>>()?,
        plus: fields.get("plus").map_or(Ok(0.0), |node| node.number())?,
        at_least,
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
        Box::new(Watching { rule: self, open: Vec::new(), done: false })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        self.on.may_take(kind)
    }

    fn selectors(&self) -> Option<Vec<&Selector>> {
        Some(vec![&self.on])
    }
}

struct Watching<'r> {
    rule: &'r Limit,
    /// Numbers with their pair, what bounds them, if that is known, and where they stand.
    open: Vec<(f64, usize, Option<f64>, Evidence)>,
    done: bool,
}

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, _: &mut Sink) {
        let rule = self.rule;
        if self.done || self.open.len() >= KEPT || !rule.on.takes(message) {
            return;
        }
        self.done = rule.first_only;
        for (pair, (at, most)) in rule.pairs.iter().enumerate() {
            let Some(value) = at.get(message.value) else { continue };
            let Some(number) = value.float() else { continue };
            let bound = most.here(message.value);
            if matches!(most, Bound::One(Subject::Fact(_))) || bound.is_some() {
                let evidence = message.evidence_at(at.text(), Some(value), String::new());
                self.open.push((number, pair, bound, evidence));
            }
        }
    }

    fn looked(&self, _: &Facts) -> bool {
        !self.open.is_empty()
    }

    fn finish(&mut self, facts: &Facts, sink: &mut Sink) {
        let rule = self.rule;
        for (number, pair, bound, evidence) in self.open.drain(..) {
            let (at, most) = &rule.pairs[pair];
            let of_run = || match most {
                Bound::One(Subject::Fact(path)) => number_of(&path.get(facts)?.to_value()),
                _ => None,
            };
            let Some(bound) = bound.or_else(of_run) else { continue };
            let (fits, word, end) = if rule.at_least {
                (number >= bound - rule.plus, "at least", bound - rule.plus)
            } else {
                (number <= bound + rule.plus, "at most", bound + rule.plus)
            };
            if fits {
                continue;
            }
            let message = format!("{} is {number}, but {} is {bound}", at.text(), most.name());
            sink.push(Evidence { message, expected: Some(format!("{word} {end}")), ..evidence });
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
                r#"{ rule = "limit", pick = "first", at = ["/n", "/m"], most = ["/x", "/y"] }"#,
                "{\"n\":1,\"x\":1,\"m\":1,\"y\":2}\n{\"n\":2,\"x\":1}\n",
                "{\"n\":1,\"x\":1,\"m\":3,\"y\":2}\n",
                &["1/m: /m is 3, but /y is 2"],
            ),
            (
                r#"{ rule = "limit", at = "/n", least = "/m", plus = 1 }"#,
                "{\"n\":1,\"m\":2}\n",
                "{\"n\":1,\"m\":3}\n",
                &["1/n: /n is 1, but /m is 3"],
            ),
            (
                r#"{ rule = "limit", at = "/n", most = "messages" }"#,
                "{\"n\":1}\n",
                "{\"n\":2}\n",
                &["1/n: /n is 2, but the number of messages is 1"],
            ),
        ]);
    }
}
