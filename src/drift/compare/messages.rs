//! Messages by their kinds, and requests by what they ask.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::shape::Shape;
use super::{Comparison, Place, Run, Sides};
use crate::golden::{DOCUMENT, Entry};
use crate::schema::policy::Kind;

/// One kind of message in all runs of a side.
#[derive(Default)]
struct Messages<'v> {
    shape: Shape,
    first: Option<&'v Value>,
    least: usize,
    most: usize,
}

impl<'r> Comparison<'r> {
    pub(super) fn messages(&mut self, old: &[Vec<&'r Entry>], new: &[Vec<&'r Entry>]) {
        self.order(old, new);
        let (before, after) = (by_kind(old), by_kind(new));
        for (kind, was) in &before {
            self.rows.note_count(kind, was.most);
            (self.place.message, self.place.sample) = (Some(kind.clone()), was.first);
            match after.get(kind) {
                Some(is) => {
                    if is.least > was.most || is.most < was.least {
                        let direction = if is.least > was.most { "more" } else { "fewer" };
                        let summary = format!("{} `{kind}` become {}", was.most, is.most);
                        let sides = Sides::values(was.most.into(), is.most.into());
                        // Whoever reads a document reads one.
                        let twice = kind == DOCUMENT && was.most == 1 && is.least > 1;
                        let kind = if twice { Kind::MessageRepeated } else { Kind::MessageCount };
                        self.tell(kind, None, direction, sides, summary);
                    }
                    self.shapes(&was.shape, &is.shape, "");
                }
                None if was.least > 0 => {
                    let sides = Sides::shapes(Some(&was.shape), None);
                    self.tell(Kind::MessageRemoved, None, "", sides, format!("`{kind}` is no longer sent"));
                }
                None => {}
            }
        }
        for (kind, is) in after.iter().filter(|(kind, _)| !before.contains_key(*kind)) {
            (self.place.message, self.place.sample) = (Some(kind.clone()), None);
            let sides = Sides::shapes(None, Some(&is.shape));
            self.tell(Kind::MessageAdded, None, "", sides, format!("`{kind}` is new"));
        }
        self.place = Place::default();
    }

    /// The order in which kinds that both sides have appear for the first time.
    fn order(&mut self, old: &[Vec<&Entry>], new: &[Vec<&Entry>]) {
        let kinds = |run: &Vec<&Entry>| {
            let mut kinds: Vec<String> = Vec::new();
            for kind in run.iter().filter_map(|entry| entry.kind()) {
                if kinds.iter().all(|known| known != kind) {
                    kinds.push(kind.to_owned());
                }
            }
            kinds
        };
        let (before, after): (Vec<_>, Vec<_>) =
            (old.iter().map(kinds).collect(), new.iter().map(kinds).collect());
        let (Some(is), Some(first)) = (after.first(), before.first()) else { return };
        let shared = |run: &Vec<String>, other: &Vec<String>| -> Vec<String> {
            run.iter().filter(|kind| other.contains(kind)).cloned().collect()
        };
        let known = before.iter().any(|was| shared(was, is) == shared(is, was));
        if !known {
            let (was, is) = (shared(first, is), shared(is, first));
            let identity = format!("{was:?} {is:?}");
            let summary = format!("{} become {}", was.join(", "), is.join(", "));
            self.tell(Kind::Order, None, &identity, Sides::values(json!(was), json!(is)), summary);
        }
    }

    pub(super) fn requests(&mut self, old: &'r [Run], new: &'r [Run]) {
        let (before, after) = (by_endpoint(old), by_endpoint(new));
        self.place.is_request = true;
        for (name, was) in &before {
            self.place.message = Some(format!("request {name}"));
            match after.get(name) {
                Some(is) => {
                    if is.least > was.most || is.most < was.least {
                        let direction = if is.least > was.most { "more" } else { "fewer" };
                        let summary = format!("{direction} requests {name}");
                        let sides = Sides::values(was.most.into(), is.most.into());
                        self.tell(Kind::RequestCount, None, direction, sides, summary);
                    }
                    self.shapes(&was.shape, &is.shape, "");
                }
                None if was.least > 0 => {
                    let sides = Sides::shapes(Some(&was.shape), None);
                    self.tell(Kind::RequestRemoved, None, "", sides, format!("{name} is no longer asked"));
                }
                None => {}
            }
        }
        for (name, is) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
            self.place.message = Some(format!("request {name}"));
            let sides = Sides::shapes(None, Some(&is.shape));
            self.tell(Kind::RequestAdded, None, "", sides, format!("{name} is asked"));
        }
        self.place = Place::default();
    }
}

fn by_kind<'v>(runs: &[Vec<&'v Entry>]) -> BTreeMap<String, Messages<'v>> {
    let values = runs.iter().map(|run| {
        run.iter().filter_map(|entry| match entry {
            Entry::Message { kind, value, line } => Some((kind.clone(), value, *line)),
            Entry::Text { .. } => None,
        })
    });
    gathered(values)
}

fn by_endpoint(side: &[Run]) -> BTreeMap<String, Messages<'_>> {
    let name = |request: &Value| {
        let text = |key: &str| request.get(key).and_then(Value::as_str).unwrap_or("?");
        let path = text("path").split('?').next().unwrap_or_default();
        format!("{} {path}", text("method"))
    };
    let values = side.iter().map(|(_, normal)| {
        normal.requests.iter().enumerate().map(|(at, request)| (name(request), request, at + 1))
    });
    gathered(values)
}

/// Values by their names, with how many of each a run had at least and at most.
fn gathered<'v, R>(runs: impl Iterator<Item = R>) -> BTreeMap<String, Messages<'v>>
where
    R: Iterator<Item = (String, &'v Value, usize)>,
{
    let mut all: BTreeMap<String, Messages<'v>> = BTreeMap::new();
    for (number, run) in runs.enumerate() {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for (name, value, line) in run {
            *counts.entry(name.clone()).or_default() += 1;
            let messages = all.entry(name).or_insert_with(|| Messages {
                // A run before this one had none.
                least: if number == 0 { usize::MAX } else { 0 },
                first: Some(value),
                ..Messages::default()
            });
            messages.shape.add(value, line);
        }
        for (name, messages) in &mut all {
            let count = counts.get(name).copied().unwrap_or(0);
            messages.least = messages.least.min(count);
            messages.most = messages.most.max(count);
        }
    }
    all
}
