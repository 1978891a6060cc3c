//! `equals`: two values that must be the same.

use serde_json::Value;

use super::super::finding::KEPT;
use super::{
    Evidence, Facts, FileError, Item, JsonView, Loaded, Message, Names, Pick, Rule, Selector, Sink, Source,
    Subject, Table, Watch, choice, excerpt,
};

#[derive(Debug)]
struct Equals {
    on: Selector,
    pick: Pick,
    /// The left and the right one.
    sides: [Side; 2],
    missing_is_broken: bool,
}

#[derive(Debug)]
enum Side {
    Now(Subject),
    /// The latest value of a source, from the messages before.
    Latest(Source),
}

pub(super) fn load(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    let missing = fields.get("missing");
    Ok(Box::new(Equals {
        on: Selector::load(fields, "on", names)?,
        pick: Pick::load(fields)?,
        sides: [Side::load(&fields.need("left")?, names)?, Side::load(&fields.need("right")?, names)?],
        missing_is_broken: missing
            .map_or(Ok(false), |node| choice(&node, &[("broken", true), ("fine", false)]))?,
    }))
}

impl Side {
    fn load(node: &Item<'_>, names: &Names<'_>) -> Result<Self, FileError> {
        if !node.is_table() {
            return Subject::parse(node.str()?, node).map(Self::Now);
        }
        let fields = node.table()?;
        if Pick::load(&fields)? != Pick::Last {
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
        }
    }
}

impl Rule for Equals {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching { rule: self, latest: [None, None], open: Vec::new(), more: 0, done: false })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        let from = |side: &Side| matches!(side, Side::Latest(source) if source.may_take(kind));
        self.on.may_take(kind) || self.sides.iter().any(from)
    }
}

/// Two values that differ, or of which one is a fact that is not known yet.
struct Open {
    values: [Option<Value>; 2],
    line: u64,
    offset: u64,
}

struct Watching<'r> {
    rule: &'r Equals,
    latest: [Option<Value>; 2],
    open: Vec<Open>,
    more: u64,
    done: bool,
}

impl Watching<'_> {
    fn compare(&mut self, message: &Message<'_>) {
        let mut late = false;
        let mut values = [None, None];
        for (index, side) in self.rule.sides.iter().enumerate() {
            values[index] = match side {
                Side::Now(Subject::Message(pointer)) => pointer.get(message.value),
                Side::Latest(_) => self.latest[index].as_ref().map(JsonView::Built),
                Side::Now(Subject::Fact(_)) => {
                    late = true;
                    None
                }
            };
        }
        if !late && !self.differ(values) {
            return;
        }
        if self.open.len() < KEPT {
            let values = values.map(|value| value.map(|value: JsonView<'_>| value.to_value().into_owned()));
            self.open.push(Open { values, line: message.line, offset: message.offset });
        } else {
            self.more += 1;
        }
    }

    fn differ(&self, values: [Option<JsonView<'_>>; 2]) -> bool {
        match values {
            [Some(left), Some(right)] => !left.equals(right),
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
                    *latest = Some(value.to_value().into_owned());
                }
            }
        }
    }

    fn finish(&mut self, facts: &Facts, sink: &mut Sink) {
        let [left, right] = &self.rule.sides;
        for Open { values, line, offset } in std::mem::take(&mut self.open) {
            let mut known = values.each_ref().map(|value| value.as_ref().map(JsonView::Built));
            for (value, side) in known.iter_mut().zip([left, right]) {
                if let Side::Now(Subject::Fact(fact)) = side {
                    *value = facts.get(*fact).map(JsonView::Built);
                    if value.is_none() {
                        return;
                    }
                }
            }
            if self.differ(known) {
                let shown =
                    known.map(|value| value.map_or("missing".into(), |value| excerpt(value).to_string()));
                let [is, expected] = shown;
                sink.push(Evidence {
                    message: format!("{} is {is}, but {} is {expected}", left.name(), right.name()),
                    line: Some(line),
                    offset: Some(offset),
                    pointer: match left {
                        Side::Now(subject) => subject.pointer(),
                        Side::Latest(_) => None,
                    },
                    seen: known[0].map(excerpt),
                    expected: Some(expected),
                });
            }
        }
        sink.count(self.more);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_table;

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
                &["2: exit is 0, but /n is 7"],
            ),
            (
                r#"{ rule = "equals", on = "b", left = "/n", right = { on = "a", at = "/n", pick = "last" } }"#,
                "{\"type\":\"a\",\"n\":1}\n{\"type\":\"a\",\"n\":2}\n{\"type\":\"b\",\"n\":2}\n",
                "{\"type\":\"a\",\"n\":1}\n{\"type\":\"b\",\"n\":2}\n",
                &["2/n: /n is 2, but the latest value is 1"],
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
}
