//! `equals`: two values that must be the same.

use serde_json::Value;

use super::super::finding::KEPT;
use super::collector::{Collector, Shown};
use super::values::Values;
use super::{
    Evidence, Facts, FileError, Item, JsonView, Loaded, Message, Names, Pick, Rule, Selector, Sink, Source,
    Subject, Table, Watch, choice, excerpt,
};
use crate::json::Kind;

#[derive(Debug)]
struct Equals {
    on: Selector,
    pick: Pick,
    /// The left and the right one.
    sides: [Side; 2],
    missing_is_broken: bool,
    /// The two have to differ.
    differ: bool,
}

#[derive(Debug)]
enum Side {
    Now(Subject),
    /// The latest value of a source, from the messages before.
    Latest(Source),
    /// The last of what was recorded, as far as it says which.
    Recorded(Values),
}

pub(super) fn load(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    let missing = fields.get("missing");
    Ok(Box::new(Equals {
        on: Selector::load(fields, "on", names)?,
        pick: Pick::load(fields)?,
        sides: [Side::load(&fields.need("left")?, names)?, Side::load(&fields.need("right")?, names)?],
        missing_is_broken: missing
            .map_or(Ok(false), |node| choice(&node, &[("broken", true), ("fine", false)]))?,
        differ: fields.get("differ").map_or(Ok(false), |node| node.bool())?,
    }))
}

impl Side {
    fn load(node: &Item<'_>, names: &Names<'_>) -> Result<Self, FileError> {
        if !node.is_table() {
            return Subject::parse(node.str()?, node).map(Self::Now);
        }
        let fields = node.table()?;
        let pick = Pick::load(&fields)?;
        if fields.get("from").is_some() && pick != Pick::Every {
            return Values::load(node, names).map(|values| Self::Recorded(values.keeping_text()));
        }
        if pick != Pick::Last {
            return Err(node.complain("a source in `equals` needs `pick = \"last\"`"));
        }
        let source = Source::load(&fields, names)?;
        fields.finish()?;
        Ok(Self::Latest(source))
    }

    fn name(&self) -> &str {
        match self {
            Self::Now(subject) => subject.name(),
            Self::Latest(_) => "the latest value",
            Self::Recorded(_) => "what was served",
        }
    }

    /// What is wrong when the other side has a value and this side has another.
    fn but(&self, value: &str) -> String {
        match self {
            Self::Recorded(_) => format!("but {value} was served"),
            _ => format!("but {} is {value}", self.name()),
        }
    }
}

impl Rule for Equals {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching { rule: self, latest: Default::default(), open: Vec::new(), more: 0, done: false })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        let from = |side: &Side| matches!(side, Side::Latest(source) if source.may_take(kind));
        self.on.may_take(kind) || self.sides.iter().any(from)
    }

    fn needs_recording(&self) -> bool {
        self.sides.iter().any(|side| matches!(side, Side::Recorded(_)))
    }

    fn selectors(&self) -> Option<Vec<&Selector>> {
        let latest = self.sides.iter().filter_map(|side| match side {
            Side::Latest(source) => Some(source.selector()),
            Side::Now(_) | Side::Recorded(_) => None,
        });
        Some([&self.on].into_iter().chain(latest).collect())
    }
}

/// Two values that differ, or of which one is a fact that is not known yet.
struct Open {
    values: [Option<Value>; 2],
    line: u64,
    offset: u64,
    /// How many more there are like it.
    more: u64,
}

/// The latest value of a source. Nearly every one is followed by another before anybody looks at it, so that a text is
/// kept as it was written.
#[derive(Default)]
struct Latest {
    /// A string with its quotes and escapes; empty when the value is none.
    raw: String,
    value: Option<Value>,
}

impl Latest {
    fn set(&mut self, value: JsonView<'_>) {
        self.raw.clear();
        self.value = None;
        match value {
            JsonView::Scanned(node) if node.kind() == Kind::String => self.raw.push_str(node.raw()),
            _ => self.value = Some(value.to_value().into_owned()),
        }
    }

    fn get(&self) -> Option<Value> {
        self.value.clone().or_else(|| serde_json::from_str(&self.raw).ok())
    }
}

struct Watching<'r> {
    rule: &'r Equals,
    latest: [Latest; 2],
    open: Vec<Open>,
    more: u64,
    done: bool,
}

impl Watching<'_> {
    fn compare(&mut self, message: &Message<'_>) {
        let mut late = false;
        let mut values = [None, None];
        let latest = self.latest.each_ref().map(Latest::get);
        for (index, side) in self.rule.sides.iter().enumerate() {
            values[index] = match side {
                Side::Now(Subject::Message(pointer)) => pointer.get(message.value),
                Side::Latest(_) => latest[index].as_ref().map(JsonView::Built),
                Side::Now(Subject::Fact(_)) | Side::Recorded(_) => {
                    late = true;
                    None
                }
            };
        }
        if !late && !self.is_broken(values) {
            return;
        }
        let is_full = self.open.len() >= KEPT;
        if is_full && !late {
            self.more += 1;
            return;
        }
        let values = values.map(|value| value.map(|value: JsonView<'_>| value.to_value().into_owned()));
        if is_full && !self.makes_room(&values) {
            return;
        }
        self.open.push(Open { values, line: message.line, offset: message.offset, more: 0 });
    }

    /// Makes room for one more that is compared with what is known at the end. Of two that are alike one says as much.
    fn makes_room(&mut self, values: &[Option<Value>; 2]) -> bool {
        if let Some(known) = self.open.iter_mut().find(|known| known.values == *values) {
            known.more += 1;
            return false;
        }
        for later in (1..self.open.len()).rev() {
            let (before, after) = self.open.split_at_mut(later);
            if let Some(known) = before.iter_mut().find(|known| known.values == after[0].values) {
                known.more += 1 + after[0].more;
                self.open.remove(later);
                return true;
            }
        }
        // Of so many that are all different one at most is the same as what is known at the end.
        self.more += u64::from(!self.rule.differ);
        self.rule.differ
    }

    fn is_broken(&self, values: [Option<JsonView<'_>>; 2]) -> bool {
        match values {
            [Some(left), Some(right)] => left.equals(right) == self.rule.differ,
            _ => self.rule.missing_is_broken,
        }
    }
}

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, _: &mut Sink) {
        let rule = self.rule;
        if !self.done && rule.on.takes(message) {
            match rule.pick {
                Pick::Every => {}
                Pick::First => self.done = true,
                Pick::Last => self.open.clear(),
            }
            self.compare(message);
        }
        for (side, latest) in rule.sides.iter().zip(&mut self.latest) {
            if let Side::Latest(source) = side {
                let mut newest = None;
                source.visit(message, &mut |value, _| newest = Some(value));
                if let Some(value) = newest {
                    latest.set(value);
                }
            }
        }
    }

    fn kept(&self) -> Option<u64> {
        let is_here = self.rule.sides.iter().all(|side| matches!(side, Side::Now(Subject::Message(_))));
        (is_here && self.rule.pick == Pick::Every).then_some(self.open.len() as u64 + self.more)
    }

    fn finish(&mut self, facts: &Facts, sink: &mut Sink) {
        let [left, right] = &self.rule.sides;
        let recorded = [left, right].map(|side| side.recorded(facts));
        for Open { values, line, offset, more } in std::mem::take(&mut self.open) {
            let mut known = values.each_ref().map(|value| value.as_ref().map(JsonView::Built));
            for ((value, side), recorded) in known.iter_mut().zip([left, right]).zip(&recorded) {
                match side {
                    Side::Now(Subject::Fact(path)) => *value = path.get(facts),
                    Side::Recorded(_) => *value = recorded.as_ref().map(JsonView::Built),
                    Side::Now(Subject::Message(_)) | Side::Latest(_) => continue,
                }
                if value.is_none() {
                    return;
                }
            }
            if self.is_broken(known) {
                sink.count(more);
                let [is, expected] = known.map(excerpted);
                let but = if self.rule.differ {
                    format!("the same as {}", right.name())
                } else {
                    right.but(&expected)
                };
                let expected =
                    if self.rule.differ { format!("another value than {expected}") } else { expected };
                sink.push(Evidence {
                    message: format!("{} is {is}, {but}", left.name()),
                    line: Some(line),
                    offset: Some(offset),
                    pointer: match left {
                        Side::Now(subject) => subject.pointer(),
                        Side::Latest(_) | Side::Recorded(_) => None,
                    },
                    seen: known[0].map(excerpt),
                    expected: Some(expected),
                });
            }
        }
        sink.count(self.more);
    }
}

fn excerpted(value: Option<JsonView<'_>>) -> String {
    value.map_or("missing".into(), |value| excerpt(value).to_string())
}

impl Side {
    /// The value that was recorded, if this side is one.
    fn recorded(&self, facts: &Facts) -> Option<Value> {
        let Self::Recorded(values) = self else { return None };
        let mut collected = Collector::new(values, Shown::Values).finish(facts)?.load()?;
        collected.pop().map(|value| value.value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{check_table, recorded};

    #[test]
    fn two_values_are_the_same() {
        check_table(&[
            (
                r#"{ rule = "equals", on = "a", left = "/n", right = "/m" }"#,
                "{\"type\":\"a\",\"n\":1,\"m\":1.0}\n{\"type\":\"a\",\"n\":1}\n",
                "{\"type\":\"a\",\"n\":1,\"m\":2}\n",
                &["1/n: /n is 1, but /m is 2"],
            ),
            (
                r#"{ rule = "equals", left = "/n", right = "/m", missing = "broken" }"#,
                "{\"n\":1,\"m\":1}\n",
                "{\"n\":1}\n",
                &["1/n: /n is 1, but /m is missing"],
            ),
            (
                r#"{ rule = "equals", pick = "last", left = "exit", right = "/n" }"#,
                "{\"n\":7}\n{\"n\":0}\n",
                "{\"n\":0}\n{\"n\":7}\n",
                &["2: the exit code is 0, but /n is 7"],
            ),
            (
                r#"{ rule = "equals", on = "b", left = "/n", right = { on = "a", at = "/n", pick = "last" } }"#,
                "{\"type\":\"a\",\"n\":1}\n{\"type\":\"a\",\"n\":2}\n{\"type\":\"b\",\"n\":2}\n",
                "{\"type\":\"a\",\"n\":1}\n{\"type\":\"b\",\"n\":2}\n",
                &["2/n: /n is 2, but the latest value is 1"],
            ),
            (
                r#"{ rule = "equals", left = "/n", right = "/m", differ = true }"#,
                "{\"n\":1,\"m\":2}\n",
                "{\"n\":1,\"m\":1}\n",
                &["1/n: /n is 1, the same as /m"],
            ),
            // As in a condition, the empty pointer is the message.
            (
                r#"{ rule = "equals", on = "b", left = "", right = { on = "a", at = "/b", pick = "last" } }"#,
                "{\"type\":\"a\",\"b\":{\"type\":\"b\"}}\n{\"type\":\"b\"}\n",
                "{\"type\":\"a\",\"b\":1}\n{\"type\":\"b\"}\n",
                &["2: the message is {\"type\":\"b\"}, but the latest value is 1"],
            ),
        ]);
    }

    #[test]
    fn what_was_recorded_last_counts() {
        let check = r#"{ rule = "equals", on = "a", pick = "last", left = "/w", right = { from = "served", on = { "/ok" = true }, pick = "last", at = "/t" } }"#;
        let said =
            |text: &str| format!("{{\"type\":\"a\",\"w\":\"x\"}}\n{{\"type\":\"a\",\"w\":\"{text}\"}}\n");
        let served =
            json!({"served": [{"t": "x", "ok": true}, {"t": "y", "ok": true}, {"t": "z", "ok": false}]});
        assert_eq!(recorded(check, &[], &said("y"), &served), [""; 0]);
        assert_eq!(recorded(check, &[], &said("z"), &served), ["2/w: /w is \"z\", but \"y\" was served"]);
        assert_eq!(recorded(check, &[], &said("z"), &json!({"served": []})), [""; 0]);
        let check = r#"{ rule = "equals", on = "a", left = "/w", right = "flags/--model" }"#;
        assert_eq!(
            recorded(check, &["--model", "x"], &said("y"), &json!({})),
            ["2/w: /w is \"y\", but --model is \"x\""]
        );
        // However many there were before it.
        let many = "{\"type\":\"a\",\"w\":\"x\"}\n".repeat(50);
        let last = |text: &str| [many.as_str(), &said(text)].concat();
        assert_eq!(recorded(check, &["--model", "x"], &last("x"), &json!({})), [""; 0]);
        assert_eq!(
            recorded(check, &["--model", "x"], &last("y"), &json!({})),
            ["52/w: /w is \"y\", but --model is \"x\""]
        );
        assert_eq!(
            recorded(check, &["--model", "y"], &last("y"), &json!({})).last().unwrap(),
            ": and 32 more of the same"
        );
    }
}
