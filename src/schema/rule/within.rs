//! `within`: every one of some values is among others, in the same order if need be. What was printed was served, and
//! what was served was printed.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value;

use super::collector::{Collected, Collector, Shown};
use super::picked::Picked;
use super::told::Told;
use super::values::{Values, Which};
use super::{Evidence, Facts, Loaded, Message, Names, Rule, Selector, Sink, Table, Watch, choice, excerpt};

#[derive(Debug)]
struct Within {
    values: Values,
    of: Values,
    by: By,
    relation: Relation,
    /// The side that comes first in a run: without it the other is not even looked at.
    first: Option<Side>,
    reach: Reach,
    /// Where there is nothing to look in for others, nothing is judged.
    none_is_fine: bool,
    /// A value that belongs to what the others know nothing of is not judged.
    other_keys_are_fine: bool,
}

/// Among which others a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    All,
    /// Those of each entry that was recorded.
    EachEntry,
    /// Those of its own message.
    Message,
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
    let in_message = switch("in-message")?;
    if in_message && !(values.are_of_one_message() && of.are_of_one_message()) {
        return Err(fields.complain("`in-message` compares what one message says: it has no `from`, no `literal`, no `pick`, no `until` and no key of another message"));
    }
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
        reach: match (switch("in-each")?, in_message) {
            (_, true) => Reach::Message,
            (true, false) => Reach::EachEntry,
            (false, false) => Reach::All,
        },
        none_is_fine: fields.get("none").map_or(Ok(false), |node| choice(&node, &fine))?,
        other_keys_are_fine: fields.get("other-keys").map_or(Ok(false), |node| choice(&node, &fine))?,
    }))
}

/// So many bytes of values are compared at once.
const PART: u64 = 1 << 19;

impl Within {
    fn values(&self) -> Collector<'_> {
        Collector::new(&self.values, Shown::Places)
    }

    fn of(&self) -> Collector<'_> {
        let is_first_shown =
            self.is_set() && self.of.parts.iter().all(|part| part.key.is_none() && part.pick == Which::Every);
        Collector::new(&self.of, if is_first_shown { Shown::First } else { Shown::Values })
    }

    /// Whether a value only has to be equal to any of the others.
    fn is_set(&self) -> bool {
        self.by == By::Equal && self.relation != Relation::Ordered && self.reach != Reach::EachEntry
    }

    /// Whether which others a value is compared with is told by the value alone: it has no key, and comes in one piece.
    fn is_told_by_hash(&self) -> bool {
        let mut parts = self.values.parts.iter().chain(&self.of.parts);
        self.is_set() && parts.all(|part| part.key.is_none() && part.join.is_none() && !part.open)
    }

    /// Compares all values with all others; none when they are too many.
    fn compare(&self, values: Collected<'_>, of: Collected<'_>, told: &mut Told) -> Option<()> {
        let number = 1 + (values.bytes() + of.bytes()) / PART;
        if self.reach == Reach::EachEntry {
            let others = of.load()?;
            if self.none_is_fine && others.is_empty() && of.entries.is_empty() {
                return Some(());
            }
            for values in values.scatter(number, |value| value.joined.unwrap_or(value.number))? {
                in_each(self, &values.load()?, &others, &of.entries, told);
            }
            return Some(());
        }
        let is_told_by_hash = self.is_told_by_hash();
        let by = |value: &Picked| if is_told_by_hash { value.hash } else { value.key.unwrap_or_default() };
        let first = of.first().ok()?;
        // An entry that was looked in and holds nothing is not the same as no entry.
        if self.none_is_fine && first.is_none() && of.entries.is_empty() {
            return Some(());
        }
        let first = first.filter(|_| is_told_by_hash);
        let of = of.scatter(number, by)?;
        for (values, of) in values.scatter(number, by)?.into_iter().zip(of) {
            Comparison::new(self, &of.load()?, first.as_ref()).judge(&values.load()?, told);
        }
        Some(())
    }
}

impl Rule for Within {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching { rule: self, values: Some(self.values()), of: Some(self.of()), looked: false })
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
    /// A message had something to compare with what it says itself.
    looked: bool,
}

impl Watching<'_> {
    /// Compares what one message says.
    fn in_message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        let rule = self.rule;
        let Some(values) = &mut self.values else { return };
        values.message(message);
        if values.is_empty() {
            return;
        }
        self.looked = true;
        let mut of = rule.of();
        of.message(message);
        let values = std::mem::replace(values, rule.values());
        self.rule.tell(values.printed(), of.printed(), sink);
    }
}

impl Within {
    fn tell(&self, values: Collected<'_>, of: Collected<'_>, sink: &mut Sink) {
        let mut told = Told::default();
        if !values.is_empty() && self.compare(values, of, &mut told).is_none() {
            let message = "the values are more than can be compared".into();
            return sink.push(Evidence { message, ..Evidence::default() });
        }
        told.tell(sink);
    }
}

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        if self.rule.reach == Reach::Message {
            return self.in_message(message, sink);
        }
        let (Some(values), Some(of)) = (&mut self.values, &mut self.of) else { return };
        if self.rule.first != Some(Side::Of) || !of.is_empty() {
            values.message(message);
        }
        if self.rule.first != Some(Side::Values) || !values.is_empty() {
            of.message(message);
        }
    }

    fn looked(&self, facts: &Facts) -> bool {
        let printed = self.values.as_ref().is_some_and(|values| !values.is_empty());
        self.looked || printed || self.rule.values.are_told(facts)
    }

    fn finish(&mut self, facts: &Facts, sink: &mut Sink) {
        let (Some(values), Some(of)) = (self.values.take(), self.of.take()) else { return };
        let (Some(values), Some(of)) = (values.finish(facts), of.finish(facts)) else { return };
        self.rule.tell(values, of, sink);
    }
}

/// Looks for each value in every entry.
fn in_each(rule: &Within, values: &[Picked], of: &[Picked], entries: &BTreeSet<usize>, told: &mut Told) {
    for value in values {
        let is_in = |entry: &usize| {
            let others = of.iter().filter(|other| other.index == *entry && other.key == value.key);
            others.into_iter().any(|other| fits(rule.by, value, other))
        };
        if let Some(missing) = entries.iter().find(|entry| !is_in(entry)) {
            told.add(value.number, || {
                let evidence = evidence(rule, value, None);
                let message = format!("{} {}", evidence.message, missing + 1);
                Evidence { message, ..evidence }
            });
        }
    }
}

/// The other values by their keys, and how far each key has been used.
struct Comparison<'r> {
    rule: &'r Within,
    by_key: HashMap<Option<u64>, Group<'r>>,
    /// Where any other with its key will do: the hashes of all.
    known: HashSet<(Option<u64>, u64)>,
}

#[derive(Default)]
struct Group<'r> {
    first: Option<&'r Picked>,
    others: Vec<&'r Picked>,
    next: usize,
    /// One of them stands for anything.
    is_open: bool,
}

impl<'r> Comparison<'r> {
    /// `first` is the first of all others, where these are only some of those that have no key.
    fn new(rule: &'r Within, of: &'r [Picked], first: Option<&'r Picked>) -> Self {
        let (mut by_key, mut known) = (HashMap::<_, Group<'r>>::new(), HashSet::new());
        for other in first.into_iter().chain(of) {
            let group = by_key.entry(other.key).or_default();
            group.first.get_or_insert(other);
            if rule.is_set() {
                known.insert((other.key, other.hash));
                group.is_open |= other.is_open;
            } else {
                group.others.push(other);
            }
        }
        Self { rule, by_key, known }
    }

    fn judge(&mut self, values: &[Picked], told: &mut Told) {
        let rule = self.rule;
        for value in values {
            let Some(group) = self.by_key.get_mut(&value.key) else {
                if rule.relation != Relation::Never && !rule.other_keys_are_fine {
                    told.add(value.number, || evidence(rule, value, None));
                }
                continue;
            };
            let other = match rule.relation {
                Relation::Never => None,
                Relation::Among => group.first,
                Relation::Ordered => group.others.get(group.next).copied(),
            };
            let has = if rule.is_set() {
                group.is_open || self.known.contains(&(value.key, value.hash))
            } else {
                group.has(rule, value)
            };
            if has == (rule.relation == Relation::Never) {
                told.add(value.number, || evidence(rule, value, other));
            }
        }
    }
}

impl Group<'_> {
    /// Whether one of them fits a value; in their order, those before it are used up.
    fn has(&mut self, rule: &Within, value: &Picked) -> bool {
        let from = if rule.relation == Relation::Ordered { self.next } else { 0 };
        let Some(place) = self.others[from..].iter().position(|other| fits(rule.by, value, other)) else {
            return false;
        };
        if !self.others[from + place].is_open {
            self.next = from + place + 1;
        }
        true
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
        By::Equal => value.hash == other.hash,
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
    } else if rule.reach == Reach::EachEntry {
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

    use super::super::tests::{check_table, findings, recorded};

    /// Many lines of a type, with a text of 200 characters that their number begins.
    fn many(kind: &str, numbers: impl Iterator<Item = u64>) -> String {
        let line = |number| format!("{{\"type\":\"{kind}\",\"k\":{number},\"n\":\"{number:0200}\"}}\n");
        numbers.map(line).collect()
    }

    #[test]
    fn a_value_finds_its_other_however_far_apart_the_two_are() {
        let others = many("a", 0..30_000);
        for key in ["", ", key = \"/k\""] {
            for (relation, good) in [("", true), (", ordered = true", true), (", never = true", false)] {
                let check = format!(
                    r#"{{ rule = "within", values = {{ on = "b", at = "/n"{key} }}, of = {{ on = "a", at = "/n"{key} }}{relation} }}"#
                );
                let values = many("b", 0..30_000);
                let found = findings(&check, &[others.as_str(), &values].concat(), 0, "");
                if good {
                    assert_eq!(found, [""; 0], "{check}");
                } else {
                    assert_eq!(
                        (found.len(), found[20].as_str()),
                        (21, ": and 29980 more of the same"),
                        "{check}"
                    );
                }
                // One that is not there is found among all that are, and those after it are still compared.
                let values = many("b", [0, 30_001, 29_999, 30_002].into_iter());
                let found = findings(&check, &[others.as_str(), &values].concat(), 0, "");
                let lines: Vec<_> = found.iter().filter_map(|found| found.split('/').next()).collect();
                assert_eq!(lines, if good { ["30002", "30004"] } else { ["30001", "30003"] }, "{check}");
            }
        }
    }

    #[test]
    fn texts_are_put_together_however_far_apart_their_pieces_are() {
        let check = r#"{ rule = "within", values = { on = "b", at = "/n", join = "/k", key = "/k" }, of = { on = "a", at = "/n", key = "/k" } }"#;
        let pieces = |numbers: &[u64]| -> String {
            let piece = |number: &u64| format!("{{\"type\":\"b\",\"k\":{number},\"n\":\"x{number}\"}}\n");
            numbers.iter().map(piece).collect()
        };
        let all: Vec<u64> = (0..40_000).collect();
        let whole = |number: u64| format!("{{\"type\":\"a\",\"k\":{number},\"n\":\"x{number}x{number}\"}}\n");
        let others: String = all.iter().copied().map(whole).collect();
        let stream = [pieces(&all), pieces(&all), others].concat();
        assert_eq!(findings(check, &stream, 0, ""), [""; 0]);
        let stream = [stream, pieces(&[7])].concat();
        assert_eq!(findings(check, &stream, 0, ""), ["8/n: \"x7x7x7\" is printed, expected \"x7x7\""]);
    }

    #[test]
    fn what_a_message_says_is_among_what_it_says_elsewhere() {
        let check = r#"{ rule = "within", in-message = true, by = "part", values = { on = "a", at = "/n" }, of = { on = "a", each = "/l", at = "" } }"#;
        let message = |n: &str, l: &str| format!("{{\"type\":\"a\",\"n\":\"{n}\",\"l\":[\"{l}\"]}}\n");
        check_table(&[(
            check,
            &[message("b", "abc"), message("x", "x")].concat(),
            // What another message says is no help.
            &[message("b", "x"), message("x", "abc")].concat(),
            &["1/n: \"b\" is printed, expected \"x\"", "2/n: \"x\" is printed, expected \"abc\""],
        )]);
    }

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
