//! `cost`: what the usage of each model costs by the prices in the target's file.

use serde_json::{Value, json};

use super::picked::{Picked, Place};
use super::spool::{Spool, UNREADABLE};
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
    rule: &'r Cost,
    /// What each model costs, and where that stands: the prices are known at the end.
    open: Spool,
}

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, _: &mut Sink) {
        let rule = self.rule;
        if !rule.on.takes(message) {
            return;
        }
        let Some(models) = rule.models.get(message.value) else { return };
        for (model, usage) in models.members() {
            let number = |name: &String| usage.get(name).and_then(JsonView::float);
            let Some(cost) = number(&rule.amount) else { continue };
            let counts = rule.counts.each_ref().map(|name| number(name).unwrap_or_default());
            let mut record = Vec::new();
            Picked::of_message(message, json!([model, cost, counts])).write(&mut record);
            self.open.push(&record);
        }
    }

    fn looked(&self, facts: &Facts) -> bool {
        !self.open.is_empty() && facts.get(Fact::Prices).is_some()
    }

    fn finish(&mut self, facts: &Facts, sink: &mut Sink) {
        let Some(prices) = facts.get(Fact::Prices) else { return };
        let read = self.open.each(&mut |record| {
            if let Some(Picked { value, place, .. }) = Picked::read(record)
                && let Some(expected) = expected(&value, prices)
            {
                sink.add(|| self.rule.evidence(&value, expected, prices, &place));
            }
            true
        });
        if read.is_err() {
            sink.push(Evidence { message: UNREADABLE.into(), ..Evidence::default() });
        }
    }
}

/// What a model should have cost, where it did not.
fn expected(told: &Value, prices: &Value) -> Option<f64> {
    let prices = &prices["models"][told[0].as_str()?];
    let cost = told[1].as_f64()?;
    // A model or a part without a price costs nobody knows what.
    let parts = PARTS.iter().enumerate().map(|(index, part)| {
        let count = told[2][index].as_f64()?;
        match prices[part].as_f64() {
            Some(price) => Some(price * count / 1e6),
            None => (count == 0.0).then_some(0.0),
        }
    });
    let expected = parts.sum::<Option<f64>>()?;
    let differs = (cost - expected).abs() > 1e-9 + expected * 1e-6;
    (differs && !prices.is_null()).then_some(expected)
}

impl Cost {
    fn evidence(&self, told: &Value, expected: f64, prices: &Value, place: &Place) -> Evidence {
        let model = told[0].as_str().unwrap_or_default();
        let day = prices["date"].as_str().unwrap_or_default();
        Evidence {
            message: format!("{model} costs {}, but by the prices of {day} it is {expected}", told[1]),
            pointer: Some(join(&join(self.models.text(), model), &self.amount)),
            seen: Some(told[1].clone()),
            expected: Some(expected.to_string()),
            ..place.evidence()
        }
    }
}
