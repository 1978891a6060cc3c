//! `pairs`: what is opened must be closed, and nothing else.

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
}

pub(super) fn load(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    let words = [("broken", true), ("fine", false)];
    let broken = |key| fields.get(key).map_or(Ok(true), |node| choice(&node, &words));
    Ok(Box::new(Pairs {
        open: Source::from_node(&fields.need("open")?, names)?,
        close: Source::from_node(&fields.need("close")?, names)?,
        unclosed_is_broken: broken("unclosed")?,
        unopened_is_broken: broken("unopened")?,
    }))
}

impl Rule for Pairs {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching { rule: self, open: HashMap::new(), dropped: false })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        self.open.may_take(kind) || self.close.may_take(kind)
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

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        let Self { rule, open, dropped } = self;
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
                    let text = format!("{} answers nothing that is open", excerpt(value));
                    message.evidence_at(&pointer(), Some(value), text)
                });
            }
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
            (&pairs(""), &both, close, &["1/n: \"1\" answers nothing that is open"]),
            (&pairs(", unclosed = \"fine\""), open, close, &["1/n: \"1\" answers nothing that is open"]),
            (&pairs(", unopened = \"fine\""), close, open, &["1/n: `1` is never answered"]),
            // A number is another name than the text of its digits.
            (
                &pairs(", unclosed = \"fine\""),
                &both,
                &[open, "{\"type\":\"b\",\"n\":1}\n"].concat(),
                &["2/n: 1 answers nothing that is open"],
            ),
        ]);
    }
}
