//! `within`: every one of some values is among others, in the same order if need be. What was printed was served, and
//! what was served was printed.

use std::collections::HashMap;

use serde_json::Value;

use super::collector::{Collected, Collector, Picked};
use super::values::Values;
use super::{Evidence, Facts, Loaded, Message, Names, Rule, Selector, Sink, Table, Watch, choice, excerpt};

#[derive(Debug)]
struct Within {
    values: Values,
    of: Values,
    by: By,
    relation: Relation,
    /// The side that comes first in a run: without it the other is not even looked at.
    first: Option<Side>,
    /// A value is among the others of each entry that was recorded, not of any.
    in_each: bool,
    /// Where there is nothing to look in for others, nothing is judged.
    none_is_fine: bool,
    /// A value that belongs to what the others know nothing of is not judged.
    other_keys_are_fine: bool,
}

/// How the values stand to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// Each is one of them.
    Among,
    /// Each is one of them, in their order, and none is used twice.
    Ordered,
    /// None is one of them.
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Values,
    Of,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// The two are equal.
    Equal,
    /// The value is a text that stands inside the other.
    Part,
    /// The other is a text that stands inside the value.
    Whole,
}

pub(super) fn load(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    let words = [("equal", By::Equal), ("part", By::Part), ("whole", By::Whole)];
    let by = fields.get("by").map_or(Ok(By::Equal), |node| choice(&node, &words))?;
    let switch = |key| fields.get(key).map_or(Ok(false), |node| node.bool());
    let values = Values::load(&fields.need("values")?, names)?;
    let of = Values::load(&fields.need("of")?, names)?;
    let (values, of) =
        if by == By::Equal { (values, of) } else { (values.keeping_text(), of.keeping_text()) };
    let fine = [("fine", true), ("broken", false)];
    Ok(Box::new(Within {
        values,
        of,
        by,
        relation: match (switch("ordered")?, switch("never")?) {
            (false, false) => Relation::Among,
            (true, false) => Relation::Ordered,
            (false, true) => Relation::Never,
            (true, true) => return Err(fields.complain("what never is has no order: `ordered` or `never`")),
        },
        first: fields
            .get("first")
            .map(|node| choice(&node, &[("values", Side::Values), ("of", Side::Of)]))
            .transpose()?,
        in_each: switch("in-each")?,
        none_is_fine: fields.get("none").map_or(Ok(false), |node| choice(&node, &fine))?,
        other_keys_are_fine: fields.get("other-keys").map_or(Ok(false), |node| choice(&node, &fine))?,
    }))
}

impl Rule for Within {
    fn watch(&self) -> Box<dyn Watch + '_> {
        let (values, of) = (Collector::new(&self.values), Collector::of_others(&self.of));
        Box::new(Watching { rule: self, values: Some(values), of: Some(of) })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        self.values.may_take(kind) || self.of.may_take(kind)
    }

    fn speaks_at_end(&self) -> bool {
        self.needs_recording()
    }

    fn needs_recording(&self) -> bool {
        self.values.is_recorded() || self.of.is_recorded()
    }

    fn selectors(&self) -> Option<Vec<&Selector>> {
        Some(self.values.selectors().chain(self.of.selectors()).collect())
    }
}

struct Watching<'r> {
    rule: &'r Within,
    values: Option<Collector<'r>>,
    of: Option<Collector<'r>>,
}

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, _: &mut Sink) {
        let (Some(values), Some(of)) = (&mut self.values, &mut self.of) else { return };
        if self.rule.first != Some(Side::Of) || !of.is_empty() {
            values.message(message);
        }
        if self.rule.first != Some(Side::Values) || !values.is_empty() {
            of.message(message);
        }
    }

    fn looked(&self, facts: &Facts) -> bool {
        self.values.as_ref().is_some_and(|values| !values.is_empty()) || self.rule.values.are_told(facts)
    }

    fn finish(&mut self, facts: &Facts, sink: &mut Sink) {
        let (Some(values), Some(of)) = (self.values.take(), self.of.take()) else { return };
        let (Some(values), Some(of)) = (values.finish(facts), of.finish(facts)) else { return };
        // An entry that was looked in and holds nothing is not the same as no entry.
        if self.rule.none_is_fine && of.values.is_empty() && of.entries.is_empty() {
            return;
        }
        if values.lost + of.lost > 0 {
            let message = format!("{} values are more than can be compared", values.lost + of.lost);
            sink.push(Evidence { message, ..Evidence::default() });
            return;
        }
        if self.rule.in_each {
            in_each(self.rule, &values.values, &of, sink);
        } else {
            Comparison::new(self.rule, &of.values).judge(&values.values, sink);
        }
    }
}

/// Looks for each value in every entry.
fn in_each(rule: &Within, values: &[Picked], of: &Collected, sink: &mut Sink) {
    for value in values {
        let is_in = |entry: &usize| {
            let others = of.values.iter().filter(|other| other.index == *entry && other.key == value.key);
            others.into_iter().any(|other| fits(rule.by, value, other))
        };
        if let Some(missing) = of.entries.iter().find(|entry| !is_in(entry)) {
            let evidence = evidence(rule, value, None);
            let message = format!("{} {}", evidence.message, missing + 1);
            sink.push(Evidence { message, ..evidence });
        }
    }
}

/// The other values by their keys, and how far each key has been used.
struct Comparison<'r> {
    rule: &'r Within,
    by_key: HashMap<Option<u64>, Group<'r>>,
}

#[derive(Default)]
struct Group<'r> {
    others: Vec<&'r Picked>,
    next: usize,
}

impl<'r> Comparison<'r> {
    fn new(rule: &'r Within, of: &'r [Picked]) -> Self {
        let mut by_key: HashMap<_, Group<'r>> = HashMap::new();
        for other in of {
            by_key.entry(other.key).or_default().others.push(other);
        }
        Self { rule, by_key }
    }

    fn judge(&mut self, values: &[Picked], sink: &mut Sink) {
        let rule = self.rule;
        for value in values {
            let Some(group) = self.by_key.get_mut(&value.key) else {
                if rule.relation != Relation::Never && !rule.other_keys_are_fine {
                    sink.push(evidence(rule, value, None));
                }
                continue;
            };
            let from = if rule.relation == Relation::Ordered { group.next } else { 0 };
            let place = group.others[from..].iter().position(|other| fits(rule.by, value, other));
            match place {
                Some(_) if rule.relation == Relation::Never => sink.push(evidence(rule, value, None)),
                Some(place) if group.others[from + place].is_open => {}
                Some(place) => group.next = from + place + 1,
                None if rule.relation == Relation::Never => {}
                None => sink.push(evidence(rule, value, group.others.get(from).copied())),
            }
        }
    }
}

fn fits(by: By, value: &Picked, other: &Picked) -> bool {
    let holds = |outer: &Value, inner: &Value| match (outer, inner) {
        (Value::String(outer), Value::String(inner)) => {
            memchr::memmem::find(outer.as_bytes(), inner.as_bytes()).is_some()
        }
        _ => false,
    };
    match by {
        _ if other.is_open => true,
        By::Equal => value.equals(other),
        By::Part => holds(&other.value, &value.value),
        By::Whole => holds(&value.value, &other.value),
    }
}

/// What is wrong with a value; `other` is what could have been there instead.
fn evidence(rule: &Within, value: &Picked, other: Option<&Picked>) -> Evidence {
    let shown = excerpt(&value.value);
    let (is, _) = rule.values.words();
    let (among, not_among) = rule.of.words();
    let message = if rule.relation == Relation::Never {
        format!("{shown} {is}, and {among}")
    } else if rule.in_each {
        format!("{shown} {is}, but is not in {}", rule.of.entry())
    } else if let Some(other) = other.filter(|_| is == among) {
        format!("{shown} {is}, expected {}", excerpt(&other.value))
    } else if is == among {
        format!("{shown} {is}, but nothing that goes with it")
    } else {
        format!("{shown} {is}, but {not_among}")
    };
    Evidence {
        message,
        line: value.place.line,
        offset: value.place.offset,
        pointer: value.place.pointer.clone(),
        seen: Some(shown),
        expected: other.map(|other| excerpt(&other.value).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{check_table, recorded};

    #[test]
    fn every_value_is_among_the_others() {
        check_table(&[
            (
                r#"{ rule = "within", values = { on = "b", at = "/n" }, of = { on = "a", at = "/n" } }"#,
                "{\"type\":\"a\",\"n\":1}\n{\"type\":\"b\",\"n\":1.0}\n{\"type\":\"b\",\"n\":1}\n",
                "{\"type\":\"a\",\"n\":1}\n{\"type\":\"b\",\"n\":2}\n",
                &["2/n: 2 is printed, expected 1"],
            ),
            // Under its own key, and in order.
            (
                r#"{ rule = "within", ordered = true, values = { on = "b", at = "/n", key = "/id" }, of = { on = "a", at = "/n", key = "/id" } }"#,
                "{\"type\":\"a\",\"n\":1,\"id\":\"x\"}\n{\"type\":\"a\",\"n\":2,\"id\":\"x\"}\n{\"type\":\"b\",\"n\":1,\"id\":\"x\"}\n{\"type\":\"b\",\"n\":2,\"id\":\"x\"}\n",
                "{\"type\":\"a\",\"n\":1,\"id\":\"x\"}\n{\"type\":\"a\",\"n\":2,\"id\":\"x\"}\n{\"type\":\"b\",\"n\":2,\"id\":\"x\"}\n{\"type\":\"b\",\"n\":1,\"id\":\"x\"}\n{\"type\":\"b\",\"n\":1,\"id\":\"y\"}\n",
                &[
                    "4/n: 1 is printed, but nothing that goes with it",
                    "5/n: 1 is printed, but nothing that goes with it",
                ],
            ),
            (
                r#"{ rule = "within", by = "part", values = { on = "b", at = "/w" }, of = { on = "a", at = "/w" } }"#,
                "{\"type\":\"a\",\"w\":\"a long text\"}\n{\"type\":\"b\",\"w\":\"long\"}\n",
                "{\"type\":\"a\",\"w\":\"a long text\"}\n{\"type\":\"b\",\"w\":\"short\"}\n",
                &["2/w: \"short\" is printed, expected \"a long text\""],
            ),
            (
                r#"{ rule = "within", never = true, values = { on = "b", at = "/n" }, of = { on = "a", each = "/l", at = "" } }"#,
                "{\"type\":\"a\",\"l\":[1,2]}\n{\"type\":\"b\",\"n\":3}\n",
                "{\"type\":\"a\",\"l\":[1,2]}\n{\"type\":\"b\",\"n\":2}\n",
                &["2/n: 2 is printed, and is printed"],
            ),
            // Parts of one text, under the key that an earlier message named.
            (
                r#"{ rule = "within", values = { on = { "/d" = { is = "string" } }, at = "/d", join = "/i", key = { on = "a", at = "/id" } }, of = { on = "b", at = "/t", key = "/id" } }"#,
                "{\"type\":\"a\",\"id\":\"x\"}\n{\"d\":\"He\",\"i\":0}\n{\"d\":\"llo\",\"i\":0}\n{\"type\":\"b\",\"id\":\"x\",\"t\":\"Hello\"}\n",
                "{\"type\":\"a\",\"id\":\"x\"}\n{\"d\":\"He\",\"i\":0}\n{\"d\":\"lo\",\"i\":0}\n{\"type\":\"b\",\"id\":\"x\",\"t\":\"Hello\"}\n",
                &["2/d: \"Helo\" is printed, expected \"Hello\""],
            ),
            // A call ends such a text.
            (
                r#"{ rule = "within", ordered = true, values = { on = { "/d" = { is = "string" } }, at = "/d", join = "/i", until = "a" }, of = { on = "b", at = "/t" } }"#,
                "{\"d\":\"He\",\"i\":0}\n{\"d\":\"llo\",\"i\":0}\n{\"type\":\"a\"}\n{\"d\":\"Bye\",\"i\":0}\n{\"type\":\"b\",\"t\":\"Hello\"}\n{\"type\":\"b\",\"t\":\"Bye\"}\n",
                "{\"d\":\"He\",\"i\":0}\n{\"type\":\"a\"}\n{\"d\":\"llo\",\"i\":0}\n{\"d\":\"Bye\",\"i\":0}\n{\"type\":\"b\",\"t\":\"Hello\"}\n{\"type\":\"b\",\"t\":\"Bye\"}\n",
                &[
                    "1/d: \"He\" is printed, expected \"Hello\"",
                    "3/d: \"lloBye\" is printed, expected \"Hello\"",
                ],
            ),
        ]);
    }

    #[test]
    fn an_element_ends_a_text_that_is_joined() {
        let check = r#"{ rule = "within", ordered = true, values = { on = "a", at = "/w" }, of = { from = "served", each = "/l", at = "/t", join = "/id", until = { "/call" = true } } }"#;
        let said = |first: &str, second: &str| {
            format!("{{\"type\":\"a\",\"w\":\"{first}\"}}\n{{\"type\":\"a\",\"w\":\"{second}\"}}\n")
        };
        let served = json!({"served": [{"l": [{"t": "He"}, {"t": "llo"}, {"call": true}, {"t": "Bye"}]}]});
        assert_eq!(recorded(check, &[], &said("Hello", "Bye"), &served), [""; 0]);
        assert_eq!(recorded(check, &[], &said("Bye", "Hello"), &served).len(), 1);
        assert_eq!(recorded(check, &[], &said("HelloBye", "Bye"), &served).len(), 1);
    }

    #[test]
    fn what_was_recorded_is_compared_as_well() {
        let served = |texts: super::Value| json!({"served": texts});
        let check = r#"{ rule = "within", ordered = true, values = { on = "a", at = "/w", key = "/k" }, of = [{ from = "served", on = { "/ok" = true }, each = "/l", at = "/t", key = "/id" }, { from = "served", on = { "/ok" = false }, at = "/id", key = "/id", open = true }] }"#;
        let said = "{\"type\":\"a\",\"w\":\"y\",\"k\":\"1\"}\n";
        let of = |list| recorded(check, &[], said, &served(list));
        assert_eq!(of(json!([{"id": "1", "ok": true, "l": [{"t": "x"}, {"t": "y"}]}])), [""; 0]);
        assert_eq!(
            of(json!([{"id": "1", "ok": true, "l": [{"t": "x"}]}])),
            ["1/w: \"y\" is printed, but was not served"]
        );
        assert_eq!(
            of(json!([{"id": "2", "ok": true, "l": [{"t": "y"}]}])),
            ["1/w: \"y\" is printed, but was not served"]
        );
        assert_eq!(of(json!([{"id": "1", "ok": false}])), [""; 0], "nobody knows what it said");
        assert_eq!(recorded(check, &[], said, &json!({})), [""; 0], "nobody knows what was served");
        // The other way round there need not be a message at all.
        let check = r#"{ rule = "within", values = { from = "served", each = "/l", at = "/t" }, of = { on = "a", at = "/w" } }"#;
        assert_eq!(
            recorded(check, &[], "{}\n", &served(json!([{"l": [{"t": "y"}]}]))),
            [": \"y\" was served, but is not printed"]
        );
    }
}
