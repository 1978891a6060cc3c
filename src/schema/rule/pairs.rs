//! `pairs`: what is opened must be closed, and nothing else; in time, and with what belongs between the two in between.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    Evidence, Facts, JsonView, Loaded, Message, Names, Rule, Sink, Source, Table, Watch, choice, excerpt,
    shorten,
};

#[derive(Debug)]
struct Pairs {
    open: Source,
    close: Source,
    unclosed_is_broken: bool,
    unopened_is_broken: bool,
    /// What comes only while it is open.
    inside: Option<Source>,
    /// A message that tells another value here than the one before comes only when nothing is open.
    until: Option<Source>,
}

pub(super) fn load(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    let words = [("broken", true), ("fine", false)];
    let broken = |key| fields.get(key).map_or(Ok(true), |node| choice(&node, &words));
    Ok(Box::new(Pairs {
        open: Source::from_node(&fields.need("open")?, names)?,
        close: Source::from_node(&fields.need("close")?, names)?,
        unclosed_is_broken: broken("unclosed")?,
        unopened_is_broken: broken("unopened")?,
        inside: fields.get("inside").map(|node| Source::from_node(&node, names)).transpose()?,
        until: fields.get("until").map(|node| Source::from_node(&node, names)).transpose()?,
    }))
}

impl Rule for Pairs {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching { rule: self, open: HashMap::new(), dropped: false, latest: None })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        let others = self.inside.iter().chain(&self.until);
        [&self.open, &self.close].into_iter().chain(others).any(|source| source.may_take(kind))
    }
}

/// How many may be open at a time. A target that opens more is broken in ways this rule need not explain.
const MOST: usize = 100_000;

struct Place {
    line: u64,
    offset: u64,
    pointer: String,
}

struct Watching<'r> {
    rule: &'r Pairs,
    open: HashMap<Id, Place>,
    dropped: bool,
    /// The latest value that `until` told.
    latest: Option<Id>,
}

/// An id, told apart by its type as well: 1 does not answer "1".
#[derive(PartialEq, Eq, Hash)]
struct Id {
    is_text: bool,
    text: String,
}

impl Id {
    fn of(value: JsonView<'_>) -> Self {
        match value.text() {
            Some(text) => Self { is_text: true, text: text.into_owned() },
            None => Self { is_text: false, text: value.to_value().to_string() },
        }
    }
}

impl Watching<'_> {
    /// Says what is still open when the next one begins.
    fn until(&mut self, message: &Message<'_>, sink: &mut Sink) {
        let Some(until) = &self.rule.until else { return };
        let mut now = None;
        until.visit(message, &mut |value, _| now = Some(Id::of(value)));
        if now.is_none() || now == self.latest {
            return;
        }
        self.latest = now;
        let mut late: Vec<_> = self.open.drain().map(|(id, _)| id.text).collect();
        late.sort();
        for id in late {
            sink.add(|| message.evidence_at("", None, format!("`{}` is still open here", shorten(&id))));
        }
    }
}

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        self.until(message, sink);
        let Self { rule, open, dropped, .. } = self;
        rule.open.visit(message, &mut |value, pointer| {
            if open.len() < MOST {
                let place = Place { line: message.line, offset: message.offset, pointer: pointer() };
                open.insert(Id::of(value), place);
            } else {
                *dropped = true;
            }
        });
        rule.close.visit(message, &mut |value, pointer| {
            if open.remove(&Id::of(value)).is_none() && rule.unopened_is_broken && !*dropped {
                sink.add(|| {
                    let text = format!("{} belongs to nothing that was begun before it", excerpt(value));
                    message.evidence_at(&pointer(), Some(value), text)
                });
            }
        });
        let inside = rule.inside.iter();
        inside.for_each(|inside| {
            inside.visit(message, &mut |value, pointer| {
                if !open.contains_key(&Id::of(value)) && !*dropped {
                    sink.add(|| {
                        let text =
                            format!("{} comes before it was begun or after it has ended", excerpt(value));
                        message.evidence_at(&pointer(), Some(value), text)
                    });
                }
            });
        });
    }

    fn finish(&mut self, _: &Facts, sink: &mut Sink) {
        if !self.rule.unclosed_is_broken {
            return;
        }
        let mut left: Vec<_> = self.open.drain().collect();
        // Several may stand on one line, and the order must not depend on how they were hashed; a shorter pointer has
        // the smaller index.
        left.sort_by_cached_key(|(value, place)| {
            (place.offset, place.pointer.len(), place.pointer.clone(), value.text.clone())
        });
        for (value, place) in left {
            sink.push(Evidence {
                message: format!("`{}` is never answered", shorten(&value.text)),
                line: Some(place.line),
                offset: Some(place.offset),
                pointer: Some(place.pointer),
                seen: Some(Value::String(shorten(&value.text))),
                expected: None,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_table;

    #[test]
    fn it_is_closed_in_time_and_holds_what_belongs_inside() {
        let line = |kind: &str, n: u64| format!("{{\"type\":\"{kind}\",\"n\":{n}}}\n");
        let told = |lines: &[(&str, u64)]| lines.iter().map(|(kind, n)| line(kind, *n)).collect::<String>();
        let pairs = r#"{ rule = "pairs", open = { on = "a", at = "/n" }, close = { on = "b", at = "/n" }, "#;
        check_table(&[
            (
                &format!(r#"{pairs}inside = {{ on = "c", at = "/n" }} }}"#),
                &told(&[("a", 1), ("c", 1), ("b", 1)]),
                &told(&[("c", 1), ("a", 1), ("b", 1)]),
                &["1/n: 1 comes before it was begun or after it has ended"],
            ),
            (
                &format!(r#"{pairs}unopened = "fine", until = {{ on = "c", at = "/n" }} }}"#),
                &told(&[("c", 1), ("a", 7), ("c", 1), ("b", 7), ("c", 2)]),
                &told(&[("c", 1), ("a", 7), ("c", 2), ("b", 7)]),
                &["3: `7` is still open here"],
            ),
        ]);
    }

    #[test]
    fn what_is_opened_is_closed() {
        let pairs = |more: &str| {
            format!(
                r#"{{ rule = "pairs", open = {{ on = "a", at = "/n" }}, close = {{ on = "b", at = "/n" }}{more} }}"#
            )
        };
        let (open, close) = ("{\"type\":\"a\",\"n\":\"1\"}\n", "{\"type\":\"b\",\"n\":\"1\"}\n");
        let both = [open, close].concat();
        check_table(&[
            (&pairs(""), &both, open, &["1/n: `1` is never answered"]),
            (&pairs(""), &both, close, &["1/n: \"1\" belongs to nothing that was begun before it"]),
            (
                &pairs(", unclosed = \"fine\""),
                open,
                close,
                &["1/n: \"1\" belongs to nothing that was begun before it"],
            ),
            (&pairs(", unopened = \"fine\""), close, open, &["1/n: `1` is never answered"]),
            // A number is another name than the text of its digits.
            (
                &pairs(", unclosed = \"fine\""),
                &both,
                &[open, "{\"type\":\"b\",\"n\":1}\n"].concat(),
                &["2/n: 1 belongs to nothing that was begun before it"],
            ),
        ]);
    }
}
