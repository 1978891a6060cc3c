//! `sum`: a total that must be the sum of its parts, in one message or over many.

use super::hash::{ByHash, hash_bytes};
use super::{
    Evidence, Facts, Loaded, Message, Names, Pick, Pointer, Rule, Selector, Sink, Source, Table, Watch,
    choice, pointer,
};

#[derive(Debug)]
struct Sum {
    on: Selector,
    pick: Pick,
    total: Pointer,
    parts: Parts,
    dedupe: Option<Pointer>,
    since_previous: bool,
    tolerance: f64,
    /// The total may be larger.
    at_least: bool,
}

#[derive(Debug)]
enum Parts {
    Here(Vec<Pointer>),
    Before(Source),
}

pub(super) fn load(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    let of = fields.need("of")?;
    let parts = if of.is_table() {
        Parts::Before(Source::from_node(&of, names)?)
    } else {
        Parts::Here(of.list()?.iter().map(pointer).collect::<Result<_, _>>()?)
    };
    let since = [("start", false), ("previous", true)];
    Ok(Box::new(Sum {
        on: Selector::load(fields, "on", names)?,
        pick: Pick::load(fields)?,
        total: pointer(&fields.need("total")?)?,
        parts,
        dedupe: fields.get("dedupe").as_ref().map(pointer).transpose()?,
        since_previous: fields.get("since").map_or(Ok(false), |node| choice(&node, &since))?,
        tolerance: fields.get("tolerance").map_or(Ok(0.0), |node| node.number())?,
        at_least: fields.get("at-least").map_or(Ok(false), |node| node.bool())?,
    }))
}

impl Rule for Sum {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching { rule: self, sum: 0.0, latest: ByHash::default(), open: None, done: false })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        self.on.may_take(kind) || matches!(&self.parts, Parts::Before(source) if source.may_take(kind))
    }

    fn selectors(&self) -> Option<Vec<&Selector>> {
        let before = match &self.parts {
            Parts::Before(source) => Some(source.selector()),
            Parts::Here(_) => None,
        };
        Some([&self.on].into_iter().chain(before).collect())
    }
}

/// How many distinct messages are told apart; beyond it every one counts.
const MOST: usize = 1 << 20;

struct Watching<'r> {
    rule: &'r Sum,
    sum: f64,
    /// What each message contributed, so that a repetition replaces it.
    latest: ByHash<f64>,
    open: Option<Evidence>,
    done: bool,
}

impl Watching<'_> {
    fn add(&mut self, source: &Source, message: &Message<'_>) {
        let mut part = 0.0;
        source.visit(message, &mut |value, _| part += value.float().unwrap_or(0.0));
        let id = self.rule.dedupe.as_ref().and_then(|id| id.get(message.value)?.text());
        let id = id.map(|id| hash_bytes(id.as_bytes()));
        self.sum += part;
        if let Some(id) = id
            && (self.latest.len() < MOST || self.latest.contains_key(&id))
            && let Some(earlier) = self.latest.insert(id, part)
        {
            self.sum -= earlier;
        }
    }

    fn compare(&mut self, message: &Message<'_>) -> Option<Evidence> {
        let rule = self.rule;
        let sum = match &rule.parts {
            Parts::Here(pointers) => {
                pointers.iter().filter_map(|pointer| pointer.get(message.value)?.float()).sum()
            }
            Parts::Before(_) => self.sum,
        };
        if rule.since_previous {
            self.sum = 0.0;
            self.latest.clear();
        }
        let seen = rule.total.get(message.value)?;
        let total = seen.float()?;
        let differs = if rule.at_least { sum - total } else { (total - sum).abs() };
        if differs <= rule.tolerance {
            return None;
        }
        // What adding up leaves behind the twelfth digit says nothing.
        let sum = (sum * 1e12).round() / 1e12;
        let text = format!("{} is {}, but its parts add up to {sum}", rule.total.text(), seen.to_value());
        Some(Evidence {
            expected: Some(sum.to_string()),
            ..message.evidence_at(rule.total.text(), Some(seen), text)
        })
    }
}

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        let rule = self.rule;
        if let Parts::Before(source) = &rule.parts
            && source.takes(message)
        {
            self.add(source, message);
        }
        if self.done || !rule.on.takes(message) {
            return;
        }
        let broken = self.compare(message);
        match rule.pick {
            Pick::Last => self.open = broken,
            Pick::First | Pick::Every => {
                self.done = rule.pick == Pick::First;
                if let Some(evidence) = broken {
                    sink.push(evidence);
                }
            }
        }
    }

    fn finish(&mut self, _: &Facts, sink: &mut Sink) {
        self.open.take().into_iter().for_each(|evidence| sink.push(evidence));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_table;

    #[test]
    fn a_total_is_the_sum_of_its_parts() {
        check_table(&[
            (
                r#"{ rule = "sum", total = "/t", of = ["/x", "/y"], tolerance = 0.5 }"#,
                "{\"t\":3.4,\"x\":1,\"y\":2}\n{\"x\":1}\n",
                "{\"t\":4,\"x\":1,\"y\":2}\n",
                &["1/t: /t is 4, but its parts add up to 3"],
            ),
            (
                r#"{ rule = "sum", total = "/t", of = ["/x", "/y"], at-least = true }"#,
                "{\"t\":4,\"x\":1,\"y\":2}\n",
                "{\"t\":2,\"x\":1,\"y\":2}\n",
                &["1/t: /t is 2, but its parts add up to 3"],
            ),
            // A repetition of a part replaces it.
            (
                r#"{ rule = "sum", on = "b", total = "/n", of = { on = "a", at = "/n" }, dedupe = "/id" }"#,
                "{\"type\":\"a\",\"n\":1,\"id\":\"x\"}\n{\"type\":\"a\",\"n\":2,\"id\":\"x\"}\n{\"type\":\"b\",\"n\":2}\n",
                "{\"type\":\"a\",\"n\":1}\n{\"type\":\"a\",\"n\":2}\n{\"type\":\"b\",\"n\":2}\n",
                &["3/n: /n is 2, but its parts add up to 3"],
            ),
            (
                r#"{ rule = "sum", on = "b", total = "/n", of = { on = "a", at = "/n" }, since = "previous" }"#,
                "{\"type\":\"a\",\"n\":1}\n{\"type\":\"b\",\"n\":1}\n{\"type\":\"b\",\"n\":0}\n",
                "{\"type\":\"a\",\"n\":1}\n{\"type\":\"b\",\"n\":1}\n{\"type\":\"b\",\"n\":1}\n",
                &["3/n: /n is 1, but its parts add up to 0"],
            ),
        ]);
    }
}
