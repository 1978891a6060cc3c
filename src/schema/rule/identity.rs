//! `unique` and `same`: rules about values that name things.

use std::collections::hash_map::Entry;

use serde_json::Value;

use super::hash::{ByHash, hash_wide};
use super::spool::{Fields, Spool, put_number};
use super::told::Told;
use super::{
    Evidence, Facts, JsonView, Loaded, Message, Names, Rule, Selector, Sink, Source, Table, Watch, excerpt,
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
        Box::new(UniqueWatching { source: &self.0, recent: ByHash::default(), older: Spool::default() })
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

/// So many values are kept in memory; what came before them is put away, and compared at the end.
const RECENT: usize = 28_000;
/// So many bytes of what was put away are compared at once.
const PART: u64 = 1 << 19;

struct UniqueWatching<'r> {
    source: &'r Source,
    recent: ByHash<Seen, u128>,
    /// One record for each value of those before, and before those.
    older: Spool,
}

/// Where a value was seen among the recent ones.
#[derive(Debug, PartialEq)]
struct Seen {
    first: u64,
    /// The byte at which the first line begins.
    offset: u64,
    last: u64,
}

impl UniqueWatching<'_> {
    fn put_away(&mut self) {
        let mut record = Vec::new();
        for (hash, seen) in self.recent.drain() {
            record.clear();
            record.extend_from_slice(&hash.to_le_bytes());
            for number in [seen.first, seen.offset, seen.last] {
                put_number(&mut record, number);
            }
            self.older.push(&record);
        }
    }

    /// Compares the values that were too far from each other; none when they cannot be read again.
    fn compare(&self, told: &mut Told) -> Option<()> {
        let number = 1 + self.older.bytes() / PART;
        let by_hash = |record: &[u8]| hash_of(record) as u64;
        for part in self.older.scatter(number, by_hash).ok()? {
            let mut lines = ByHash::<u64, u128>::default();
            let read = part.each(&mut |record| {
                let Some((hash, seen)) = Seen::read(record) else { return false };
                if let Some(line) = lines.insert(hash, seen.last) {
                    told.add(seen.offset, || Evidence {
                        message: format!("the same value was already used on line {line}"),
                        line: Some(seen.first),
                        offset: Some(seen.offset),
                        pointer: self.source.place().map(Into::into),
                        ..Evidence::default()
                    });
                }
                true
            });
            read.ok()?;
        }
        Some(())
    }
}

fn hash_of(record: &[u8]) -> u128 {
    record.first_chunk().map_or(0, |hash| u128::from_le_bytes(*hash))
}

impl Seen {
    fn read(record: &[u8]) -> Option<(u128, Self)> {
        let mut fields = Fields(record.get(16..)?);
        let [first, offset, last] = [fields.number()?, fields.number()?, fields.number()?];
        Some((hash_of(record), Self { first, offset, last }))
    }
}

impl Watch for UniqueWatching<'_> {
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        let Self { source, recent, .. } = self;
        source.visit(message, &mut |value, pointer| {
            let hash = match value.text() {
                Some(text) => hash_wide(text.as_bytes()),
                None => match value {
                    JsonView::Scanned(node) => !hash_wide(node.raw().as_bytes()),
                    JsonView::Built(value) => !hash_wide(value.to_string().as_bytes()),
                },
            };
            let (first, offset) = (message.line, message.offset);
            let line = match recent.entry(hash) {
                Entry::Vacant(place) => {
                    place.insert(Seen { first, offset, last: first });
                    return;
                }
                Entry::Occupied(mut place) => std::mem::replace(&mut place.get_mut().last, first),
            };
            sink.add(|| {
                let text = format!("{} was already used on line {line}", excerpt(value));
                message.evidence_at(&pointer(), Some(value), text)
            });
        });
        if self.recent.len() >= RECENT {
            self.put_away();
        }
    }

    fn finish(&mut self, _: &Facts, sink: &mut Sink) {
        if self.older.is_empty() {
            return;
        }
        self.put_away();
        let mut told = Told::default();
        if self.compare(&mut told).is_none() {
            let message = "the values are more than can be compared".into();
            return sink.push(Evidence { message, ..Evidence::default() });
        }
        told.tell(sink);
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
    use std::fmt::Write as _;

    use super::super::tests::{check_table, findings};

    #[test]
    fn a_value_that_comes_again_is_found_however_far_apart_the_two_are() {
        let check = r#"{ rule = "unique", at = "/n" }"#;
        let stream = |again: &[u64]| {
            let mut stream = String::new();
            for number in (0..100_000).chain(again.iter().copied()) {
                writeln!(stream, "{{\"n\":{number}}}").unwrap();
            }
            stream
        };
        assert_eq!(findings(check, &stream(&[]), 0, ""), [""; 0], "no two are taken for the same");
        let found = findings(check, &stream(&[0, 99_999, 40_000, 0]), 0, "");
        let expected = [
            "100001/n: the same value was already used on line 1",
            "100002/n: 99999 was already used on line 100000",
            "100003/n: the same value was already used on line 40001",
            "100004/n: 0 was already used on line 100001",
        ];
        assert_eq!(found, expected);
        // Each of many that come again is counted.
        let all: Vec<u64> = (0..100_000).collect();
        let found = findings(check, &stream(&all), 0, "");
        assert_eq!((found.len(), found[20].as_str()), (21, ": and 99980 more of the same"));
        assert_eq!(found[0], "100001/n: the same value was already used on line 1");
    }

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
