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
        let open = self.pairs.iter().map(|_| Vec::new()).collect();
        Box::new(Watching { rule: self, open, looked: false, done: false })
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
    /// For each pair the numbers of which the run says what bounds them: those that are the most likely to be broken.
    open: Vec<Vec<(f64, Evidence)>>,
    looked: bool,
    done: bool,
}

impl Limit {
    /// What is wrong with a number.
    fn broken(&self, pair: usize, number: f64, bound: f64, evidence: Evidence) -> Option<Evidence> {
        let (at, most) = &self.pairs[pair];
        let (fits, word, end) = if self.at_least {
            (number >= bound - self.plus, "at least", bound - self.plus)
        } else {
            (number <= bound + self.plus, "at most", bound + self.plus)
        };
        let message = format!("{} is {number}, but {} is {bound}", at.text(), most.name());
        (!fits).then(|| Evidence { message, expected: Some(format!("{word} {end}")), ..evidence })
    }
}

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        let rule = self.rule;
        if self.done || !rule.on.takes(message) {
            return;
        }
        self.done = rule.first_only;
        for (pair, (at, most)) in rule.pairs.iter().enumerate() {
            let Some(value) = at.get(message.value) else { continue };
            let Some(number) = value.float() else { continue };
            let evidence = || message.evidence_at(at.text(), Some(value), String::new());
            if let Some(bound) = most.here(message.value) {
                self.looked = true;
                rule.broken(pair, number, bound, evidence()).into_iter().for_each(|broken| sink.push(broken));
            } else if matches!(most, Bound::One(Subject::Fact(_))) {
                self.looked = true;
                let open = &mut self.open[pair];
                let worse = |known: &(f64, Evidence)| {
                    if rule.at_least { known.0 <= number } else { known.0 >= number }
                };
                let place = open.iter().position(|known| !worse(known)).unwrap_or(open.len());
                if place < KEPT {
                    open.insert(place, (number, evidence()));
                    open.truncate(KEPT);
                }
            }
        }
    }

    fn looked(&self, _: &Facts) -> bool {
        self.looked
    }

    fn finish(&mut self, facts: &Facts, sink: &mut Sink) {
        let rule = self.rule;
        for (pair, open) in self.open.iter_mut().enumerate() {
            let Bound::One(Subject::Fact(path)) = &rule.pairs[pair].1 else { continue };
            let Some(bound) = path.get(facts).and_then(|bound| number_of(&bound.to_value())) else {
                continue;
            };
            let broken =
                open.drain(..).filter_map(|(number, evidence)| rule.broken(pair, number, bound, evidence));
            broken.for_each(|broken| sink.push(broken));
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
            // However many there were before it.
            (
                r#"{ rule = "limit", at = "/n", most = "/m" }"#,
                "{\"n\":1,\"m\":1}\n",
                &["{\"n\":1,\"m\":1}\n".repeat(30).as_str(), "{\"n\":2,\"m\":1}\n"].concat(),
                &["31/n: /n is 2, but /m is 1"],
            ),
            (
                r#"{ rule = "limit", at = "/n", most = "messages" }"#,
                &"{\"n\":1}\n".repeat(30),
                &["{\"n\":1}\n".repeat(30).as_str(), "{\"n\":32}\n"].concat(),
                &["31/n: /n is 32, but the number of messages is 31"],
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
