//! `unique` and `same`: rules about values that name things.

use serde_json::Value;

use super::hash::{ByHash, hash_bytes};
use super::{
    Evidence, JsonView, Loaded, Message, Names, Rule, Selector, Sink, Source, Table, Watch, excerpt,
};

#[derive(Debug)]
struct Unique(Source);

#[derive(Debug)]
struct Same {
    source: Source,
    /// After such a message the value may be another.
    until: Option<Selector>,
}

pub(super) fn load_unique(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    Ok(Box::new(Unique(Source::load(fields, names)?)))
}

pub(super) fn load_same(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    let until = fields.get("until").map(|_| Selector::need(fields, "until", names)).transpose()?;
    Ok(Box::new(Same { source: Source::load(fields, names)?, until }))
}

impl Rule for Unique {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(UniqueWatching { source: &self.0, seen: ByHash::default() })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        self.0.may_take(kind)
    }

    fn selectors(&self) -> Option<Vec<&Selector>> {
        Some(vec![self.0.gate()])
    }
}

impl Rule for Same {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(SameWatching { rule: self, first: None })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        self.source.may_take(kind)
    }

    fn selectors(&self) -> Option<Vec<&Selector>> {
        Some([self.source.gate()].into_iter().chain(&self.until).collect())
    }
}

/// How many values are remembered, by hash: 4 million take 100 MB, and a stream has to be several gigabytes for it.
const MOST: usize = 4 << 20;

struct UniqueWatching<'r> {
    source: &'r Source,
    seen: ByHash<u64>,
}

impl Watch for UniqueWatching<'_> {
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        let Self { source, seen } = self;
        source.visit(message, &mut |value, pointer| {
            let hash = match value.text() {
                Some(text) => hash_bytes(text.as_bytes()),
                None => match value {
                    JsonView::Scanned(node) => !hash_bytes(node.raw().as_bytes()),
                    JsonView::Built(value) => !hash_bytes(value.to_string().as_bytes()),
                },
            };
            if seen.len() >= MOST && !seen.contains_key(&hash) {
                return;
            }
            if let Some(line) = seen.insert(hash, message.line) {
                sink.add(|| {
                    let text = format!("{} was already used on line {line}", excerpt(value));
                    message.evidence_at(&pointer(), Some(value), text)
                });
            }
        });
    }
}

struct SameWatching<'r> {
    rule: &'r Same,
    first: Option<(Value, u64)>,
}

impl Watch for SameWatching<'_> {
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        let Self { rule, first } = self;
        rule.source.visit(message, &mut |value, pointer| match first {
            None => *first = Some((value.to_value().into_owned(), message.line)),
            Some((known, line)) if !value.same(known) => {
                sink.add(|| {
                    let text = format!("{} differs from {} on line {line}", excerpt(value), excerpt(&*known));
                    let expected = Some(excerpt(&*known).to_string());
                    Evidence { expected, ..message.evidence_at(&pointer(), Some(value), text) }
                });
            }
            Some(_) => {}
        });
        if rule.until.as_ref().is_some_and(|until| until.takes(message)) {
            *first = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_table;

    #[test]
    fn values_name_one_thing_each_or_all_the_same() {
        let (twice, other) = ("{\"n\":1}\n{\"n\":1}\n", "{\"n\":1}\n{\"n\":2}\n");
        check_table(&[
            (r#"{ rule = "unique", at = "/n" }"#, other, twice, &["2/n: 1 was already used on line 1"]),
            (r#"{ rule = "same", at = "/n" }"#, twice, other, &["2/n: 2 differs from 1 on line 1"]),
            (
                r#"{ rule = "same", at = "/n", until = { "/type" = "a" } }"#,
                "{\"type\":\"a\",\"n\":1}\n{\"n\":2}\n{\"n\":2}\n",
                "{\"n\":1}\n{\"type\":\"a\",\"n\":2}\n",
                &["2/n: 2 differs from 1 on line 1"],
            ),
            (
                r#"{ rule = "same", each = "/l", where = { "/k" = 1 }, at = "/n" }"#,
                "{\"l\":[{\"k\":1,\"n\":1},{\"k\":2,\"n\":2}]}\n",
                "{\"l\":[{\"k\":1,\"n\":1},{\"k\":1,\"n\":2}]}\n",
                &["1/l/1/n: 2 differs from 1 on line 1"],
            ),
        ]);
    }
}
