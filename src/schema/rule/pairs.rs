//! `pairs`: what is opened must be closed, and nothing else; in time, and with what belongs between the two in between.

use std::collections::VecDeque;

use serde_json::Value;

use super::hash::{ByHash, hash_bytes, hash_text};
use super::{
    Evidence, Facts, JsonView, Loaded, Message, Names, Rule, Selector, Sink, Source, Table, Watch, choice,
    excerpt, shorten,
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
    /// Within how many milliseconds it has to be closed.
    within: Option<i64>,
    /// Whether it is said when more is open than can be kept.
    tells_overflow: bool,
}

pub(super) fn load(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    let words = [("broken", true), ("fine", false)];
    let within = fields.get("within-ms");
    if let Some(node) = within.as_ref().filter(|_| !names.is_log) {
        return Err(node.complain("only the records of an event log say when they came"));
    }
    let broken = |key| fields.get(key).map_or(Ok(true), |node| choice(&node, &words));
    Ok(Box::new(Pairs {
        open: Source::from_node(&fields.need("open")?, names)?,
        close: Source::from_node(&fields.need("close")?, names)?,
        unclosed_is_broken: broken("unclosed")?,
        unopened_is_broken: broken("unopened")?,
        inside: fields.get("inside").map(|node| Source::from_node(&node, names)).transpose()?,
        until: fields.get("until").map(|node| Source::from_node(&node, names)).transpose()?,
        within: within.map(|node| node.integer()).transpose()?.map(|within| within.max(0)),
        tells_overflow: names.is_log,
    }))
}

impl Rule for Pairs {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching {
            rule: self,
            open: ByHash::default(),
            dropped: false,
            latest: None,
            due: VecDeque::new(),
        })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        let others = self.inside.iter().chain(&self.until);
        [&self.open, &self.close].into_iter().chain(others).any(|source| source.may_take(kind))
    }

    fn selectors(&self) -> Option<Vec<&Selector>> {
        let others = self.inside.iter().chain(&self.until);
        Some([&self.open, &self.close].into_iter().chain(others).map(Source::gate).collect())
    }
}

/// How many may be open at a time. A target that opens more is broken in ways this rule need not explain.
const MOST: usize = 100_000;

struct Place {
    line: u64,
    offset: u64,
    pointer: String,
    /// That it was not closed in time was said.
    is_late: bool,
}

struct Watching<'r> {
    rule: &'r Pairs,
    /// What is open, by the hash of its id.
    open: ByHash<(String, Place)>,
    dropped: bool,
    /// The latest value that `until` told.
    latest: Option<u64>,
    /// What has to be closed until when, with the line that opened it; the earliest first.
    due: VecDeque<(i64, u64, u64)>,
}

/// Tells ids apart, by their type as well: 1 does not answer "1".
fn id(value: JsonView<'_>) -> u64 {
    match value.text() {
        Some(text) => hash_text(&text),
        None => match value {
            // A small number is written in one way.
            JsonView::Scanned(node) if is_small(node.raw()) => !hash_bytes(node.raw().as_bytes()),
            _ => !hash_bytes(shown(value).as_bytes()),
        },
    }
}

fn is_small(raw: &str) -> bool {
    raw.len() < 18 && raw.bytes().all(|byte| byte.is_ascii_digit())
}

/// An id as it is shown.
fn shown(value: JsonView<'_>) -> String {
    value.text().map_or_else(|| value.to_value().to_string(), std::borrow::Cow::into_owned)
}

impl Watching<'_> {
    /// Says what is still open when the next one begins.
    fn until(&mut self, message: &Message<'_>, sink: &mut Sink) {
        let Some(until) = &self.rule.until else { return };
        let mut now = None;
        until.visit(message, &mut |value, _| now = Some(id(value)));
        if now.is_none() || now == self.latest {
            return;
        }
        self.latest = now;
        let mut late: Vec<_> = self.open.drain().map(|(_, (id, _))| id).collect();
        late.sort();
        for id in late {
            sink.add(|| message.evidence_at("", None, format!("`{}` is still open here", shorten(&id))));
        }
    }
}

impl Watching<'_> {
    fn open(&mut self, message: &Message<'_>, sink: &mut Sink) {
        let Self { rule, open, dropped, due, .. } = self;
        rule.open.visit(message, &mut |value, pointer| {
            if open.len() >= MOST {
                if !std::mem::replace(dropped, true) && rule.tells_overflow {
                    let text = format!("more than {MOST} are open at once, and the rest is not judged");
                    sink.push(message.evidence_at(&pointer(), Some(value), text));
                }
                return;
            }
            let id = id(value);
            let limit = rule.within.zip(message.time).map(|(within, now)| now.saturating_add(within));
            if let Some(limit) = limit {
                if open.contains_key(&id) {
                    // Who asks again waits since the first time.
                    return;
                }
                due.push_back((limit, id, message.line));
            }
            let (line, offset, pointer) = (message.line, message.offset, pointer());
            open.insert(id, (shown(value), Place { line, offset, pointer, is_late: false }));
        });
    }

    fn close(&mut self, message: &Message<'_>, sink: &mut Sink) {
        let Self { rule, open, dropped, .. } = self;
        rule.close.visit(message, &mut |value, pointer| {
            if open.remove(&id(value)).is_none() && rule.unopened_is_broken && !*dropped {
                sink.add(|| {
                    let text = format!("{} belongs to nothing that was begun before it", excerpt(value));
                    message.evidence_at(&pointer(), Some(value), text)
                });
            }
        });
    }
}

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        self.until(message, sink);
        // What has a time may close the one before and open the next, as a sign of life does.
        let closes_first = self.rule.within.is_some();
        if closes_first {
            self.close(message, sink);
        }
        self.open(message, sink);
        if !closes_first {
            self.close(message, sink);
        }
        let Self { rule, open, dropped, .. } = self;
        let inside = rule.inside.iter();
        inside.for_each(|inside| {
            inside.visit(message, &mut |value, pointer| {
                if !open.contains_key(&id(value)) && !*dropped {
                    sink.add(|| {
                        let text =
                            format!("{} comes before it was begun or after it has ended", excerpt(value));
                        message.evidence_at(&pointer(), Some(value), text)
                    });
                }
            });
        });
    }

    fn passed(&mut self, now: i64, sink: &mut Sink) {
        while let Some((due, id, line)) = self.due.front().copied()
            && due < now
        {
            self.due.pop_front();
            let Some((value, place)) = self.open.get_mut(&id) else { continue };
            if place.line == line && !place.is_late {
                place.is_late = true;
                let limit = self.rule.within.unwrap_or_default();
                sink.add(|| Evidence {
                    message: format!("nothing answered `{}` within {limit} ms", shorten(value)),
                    line: Some(place.line),
                    offset: Some(place.offset),
                    pointer: Some(place.pointer.clone()),
                    seen: Some(Value::String(shorten(value))),
                    expected: None,
                });
            }
        }
    }

    fn deadline(&self) -> Option<i64> {
        self.due.front().map(|(due, ..)| *due)
    }

    fn finish(&mut self, _: &Facts, sink: &mut Sink) {
        if !self.rule.unclosed_is_broken {
            return;
        }
        let mut left: Vec<_> =
            self.open.drain().map(|(_, open)| open).filter(|(_, place)| !place.is_late).collect();
        // Several may stand on one line, and the order must not depend on how they were hashed; a shorter pointer has
        // the smaller index.
        left.sort_by_cached_key(|(value, place)| {
            (place.offset, place.pointer.len(), place.pointer.clone(), value.clone())
        });
        for (value, place) in left {
            sink.push(Evidence {
                message: format!("`{}` is never answered", shorten(&value)),
                line: Some(place.line),
                offset: Some(place.offset),
                pointer: Some(place.pointer),
                seen: Some(Value::String(shorten(&value))),
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
