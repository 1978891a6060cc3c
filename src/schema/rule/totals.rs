//! `totals`: two totals over a whole run that must be the same, such as the tokens that were served and those that the
//! results tell of.

use std::collections::BTreeMap;

use serde_json::Value;

use super::collector::{Collected, Collector, Shown};
use super::picked::{Picked, Place};
use super::told::Told;
use super::values::Values;
use super::{Evidence, Facts, Loaded, Message, Names, Rule, Selector, Sink, Table, Watch};

/// So many bytes of totals are compared at once.
const PART: u64 = 1 << 19;

#[derive(Debug)]
struct Totals {
    left: Values,
    right: Values,
    tolerance: f64,
    /// The left one may be smaller.
    at_most: bool,
}

pub(super) fn load(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    Ok(Box::new(Totals {
        left: Values::load(&fields.need("left")?, names)?.summing(),
        right: Values::load(&fields.need("right")?, names)?.summing(),
        tolerance: fields.get("tolerance").map_or(Ok(0.0), |node| node.number())?,
        at_most: fields.get("at-most").map_or(Ok(false), |node| node.bool())?,
    }))
}

impl Rule for Totals {
    fn watch(&self) -> Box<dyn Watch + '_> {
        let sides = [&self.left, &self.right].map(|side| Collector::new(side, Shown::Places));
        Box::new(Watching { rule: self, sides: Some(sides) })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        self.left.may_take(kind) || self.right.may_take(kind)
    }

    fn speaks_at_end(&self) -> bool {
        self.needs_recording()
    }

    fn needs_recording(&self) -> bool {
        self.left.is_recorded() || self.right.is_recorded()
    }

    fn selectors(&self) -> Option<Vec<&Selector>> {
        Some(self.left.selectors().chain(self.right.selectors()).collect())
    }
}

struct Watching<'r> {
    rule: &'r Totals,
    sides: Option<[Collector<'r>; 2]>,
}

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, _: &mut Sink) {
        self.sides.iter_mut().flatten().for_each(|side| side.message(message));
    }

    fn looked(&self, facts: &Facts) -> bool {
        let printed = self.sides.as_ref().is_some_and(|[left, _]| !left.is_empty());
        printed || self.rule.left.are_told(facts)
    }

    fn finish(&mut self, facts: &Facts, sink: &mut Sink) {
        let Some([left, right]) = self.sides.take() else { return };
        let (Some(left), Some(right)) = (left.finish(facts), right.finish(facts)) else { return };
        let mut told = Told::default();
        if self.rule.compare(left, right, &mut told).is_none() {
            let message = "the values are more than can be added up".into();
            return sink.push(Evidence { message, ..Evidence::default() });
        }
        told.tell(sink);
    }
}

impl Totals {
    /// Compares the totals of each key; none when they cannot be added up.
    fn compare(&self, left: Collected<'_>, right: Collected<'_>, told: &mut Told) -> Option<()> {
        let number = 1 + (left.bytes() + right.bytes()) / PART;
        let by_key = |picked: &Picked| picked.key.unwrap_or_default();
        let right = right.scatter(number, by_key)?;
        for (left, right) in left.scatter(number, by_key)?.into_iter().zip(right) {
            let parts = sums(&right.load()?);
            for (key, (total, place)) in sums(&left.load()?) {
                let sum = parts.get(&key).map_or(0.0, |(sum, _)| *sum);
                let differs = if self.at_most { total - sum } else { (total - sum).abs() };
                if differs > self.tolerance {
                    told.add(place.offset.unwrap_or_default(), || self.evidence(total, sum, place));
                }
            }
        }
        Some(())
    }

    fn evidence(&self, total: f64, sum: f64, place: Place) -> Evidence {
        let (is, _) = self.left.words();
        let (counted, _) = self.right.words();
        let than = if self.at_most { "at most " } else { "" };
        Evidence {
            message: format!("a total of {total} {is}, but what {counted} adds up to {sum}"),
            line: place.line,
            offset: place.offset,
            pointer: place.pointer,
            seen: Some(shown(total)),
            expected: Some(format!("{than}{sum}")),
        }
    }
}

/// A count is shown without a fraction.
fn shown(total: f64) -> Value {
    if total.fract() == 0.0 && total.abs() < 1e15 { Value::from(total as i64) } else { total.into() }
}

/// The total under each key, with the place of the last value in it.
fn sums(values: &[Picked]) -> BTreeMap<Option<u64>, (f64, Place)> {
    let mut sums: BTreeMap<_, (f64, Place)> = BTreeMap::new();
    for value in values {
        let Some(amount) = value.amount else { continue };
        let (sum, place) = sums.entry(value.key).or_default();
        *sum += amount;
        place.clone_from(&value.place);
    }
    sums
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{check_table, recorded};

    #[test]
    fn two_totals_are_the_same() {
        check_table(&[
            (
                r#"{ rule = "totals", left = { on = "b", at = "/n" }, right = { on = "a", at = "/n" } }"#,
                "{\"type\":\"a\",\"n\":1}\n{\"type\":\"a\",\"n\":2}\n{\"type\":\"b\",\"n\":3}\n",
                "{\"type\":\"a\",\"n\":1}\n{\"type\":\"b\",\"n\":3}\n",
                &["2/n: a total of 3 is printed, but what is printed adds up to 1"],
            ),
            (
                r#"{ rule = "totals", at-most = true, left = { on = "b", at = "/n" }, right = { on = "a", at = "/n" } }"#,
                "{\"type\":\"a\",\"n\":4}\n{\"type\":\"b\",\"n\":3}\n",
                "{\"type\":\"a\",\"n\":1}\n{\"type\":\"b\",\"n\":3}\n",
                &["2/n: a total of 3 is printed, but what is printed adds up to 1"],
            ),
            // Counted instead of added up, from two lists.
            (
                r#"{ rule = "totals", left = { on = "b", at = "/n" }, right = [{ on = "a", each = "/l", at = "", count = true }, { on = "b", at = "/n", count = true }] }"#,
                "{\"type\":\"a\",\"l\":[\"x\",\"y\"]}\n{\"type\":\"b\",\"n\":3}\n",
                "{\"type\":\"a\",\"l\":[\"x\"]}\n{\"type\":\"b\",\"n\":3}\n",
                &["2/n: a total of 3 is printed, but what is printed adds up to 2"],
            ),
        ]);
    }

    #[test]
    fn what_was_recorded_is_added_up_as_well() {
        let served = json!({"served": [{"n": 1, "ok": true}, {"n": 2, "ok": true}, {"n": 4, "ok": false}]});
        let check = r#"{ rule = "totals", left = { on = "a", at = "/n" }, right = { from = "served", on = { "/ok" = true }, at = "/n" } }"#;
        assert_eq!(recorded(check, &[], "{\"type\":\"a\",\"n\":3}\n", &served), [""; 0]);
        assert_eq!(
            recorded(check, &[], "{\"type\":\"a\",\"n\":7}\n", &served),
            ["1/n: a total of 7 is printed, but what was served adds up to 3"]
        );
        assert_eq!(recorded(check, &[], "{\"type\":\"a\",\"n\":7}\n", &json!({})), [""; 0]);
        // What a flag says bounds what was served, and no message is about it.
        let check = r#"{ rule = "totals", at-most = true, left = { from = "served", at = "/n", count = true }, right = { from = "flags", at = "/--model" } }"#;
        assert_eq!(recorded(check, &["--model", "3"], "{}\n", &served), [""; 0]);
        assert_eq!(
            recorded(check, &["--model", "2"], "{}\n", &served),
            [": a total of 3 was served, but what was given as a flag adds up to 2"]
        );
    }
}
