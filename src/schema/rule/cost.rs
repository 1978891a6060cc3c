//! `cost`: what the usage of each model costs by the prices in the target's file.

use super::super::finding::KEPT;
use super::{
    Evidence, Fact, Facts, JsonView, Loaded, Message, Names, Pointer, Rule, Selector, Sink, Table, Watch,
    pointer,
};
use crate::json::pointer::join;

/// What is paid for, by its name in prices, and the members that count it.
const PARTS: [&str; 4] = ["input", "output", "cache_read", "cache_creation"];

#[derive(Debug)]
struct Cost {
    on: Selector,
    /// An object with the usage of each model, by its name.
    models: Pointer,
    /// The member of a model's usage that says its cost.
    amount: String,
    /// The members that count tokens, in the order of [`PARTS`].
    counts: [String; 4],
}

pub(super) fn load(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    let node = fields.need("counts")?;
    let counts = node.strings()?.try_into().map_err(|_| {
        node.complain("expected four members: input, output, read from and written to the cache")
    })?;
    Ok(Box::new(Cost {
        on: Selector::load(fields, "on", names)?,
        models: pointer(&fields.need("models")?)?,
        amount: fields.need("cost")?.text()?,
        counts,
    }))
}

impl Rule for Cost {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching { rule: self, open: Vec::new() })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        self.on.may_take(kind)
    }

    fn selectors(&self) -> Option<Vec<&Selector>> {
        Some(vec![&self.on])
    }
}

/// What one model costs, and where that stands.
struct Told {
    model: String,
    cost: f64,
    counts: [f64; 4],
    evidence: Evidence,
}

struct Watching<'r> {
    rule: &'r Cost,
    open: Vec<Told>,
}

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, _: &mut Sink) {
        let rule = self.rule;
        if self.open.len() >= KEPT || !rule.on.takes(message) {
            return;
        }
        let Some(models) = rule.models.get(message.value) else { return };
        for (model, usage) in models.members() {
            let number = |name: &String| usage.get(name).and_then(JsonView::float);
            let Some(cost) = number(&rule.amount) else { continue };
            let place = join(&join(rule.models.text(), &model), &rule.amount);
            let evidence = message.evidence_at(&place, usage.get(&rule.amount), String::new());
            let counts = rule.counts.each_ref().map(|name| number(name).unwrap_or_default());
            self.open.push(Told { model: model.into_owned(), cost, counts, evidence });
        }
    }

    fn looked(&self, facts: &Facts) -> bool {
        !self.open.is_empty() && facts.get(Fact::Prices).is_some()
    }

    fn finish(&mut self, facts: &Facts, sink: &mut Sink) {
        let Some(prices) = facts.get(Fact::Prices) else { return };
        for Told { model, cost, counts, evidence } in self.open.drain(..) {
            // A model or a part without a price costs nobody knows what.
            let price = |part: &str| prices["models"][&model][part].as_f64();
            let parts = PARTS.iter().zip(counts).map(|(part, count)| match price(part) {
                Some(price) => Some(price * count / 1e6),
                None => (count == 0.0).then_some(0.0),
            });
            let Some(expected) = parts.sum::<Option<f64>>() else { continue };
            if prices["models"][&model].is_null() || (cost - expected).abs() <= 1e-9 + expected * 1e-6 {
                continue;
            }
            let day = prices["date"].as_str().unwrap_or_default();
            let message = format!("{model} costs {cost}, but by the prices of {day} it is {expected}");
            sink.push(Evidence { message, expected: Some(expected.to_string()), ..evidence });
        }
    }
}
