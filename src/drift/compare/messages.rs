//! Messages by their kinds, and requests by what they ask.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Comparison, Place, Run, Sides};
use crate::golden::{DOCUMENT, Entry};
use crate::json::shape::Shape;
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
        }
        self.groups(&before, &after);
    }

    pub(super) fn requests(&mut self, old: &'r [Run], new: &'r [Run]) {
        self.place.is_request = true;
        self.groups(&by_endpoint(old), &by_endpoint(new));
    }

    /// Compares messages of the same kind, or requests of the same endpoint.
    fn groups(&mut self, before: &BTreeMap<String, Messages<'r>>, after: &BTreeMap<String, Messages<'r>>) {
        let is_request = self.place.is_request;
        let enter = |place: &mut Place<'r>, name: &str, sample| {
            place.message = Some(if is_request { format!("request {name}") } else { name.to_owned() });
            // No contract has schemas of requests.
            place.sample = if is_request { None } else { sample };
        };
        for (name, was) in before {
            enter(&mut self.place, name, was.first);
            match after.get(name) {
                Some(is) => {
                    if is.least > was.most || is.most < was.least {
                        self.count(name, was, is);
                    }
                    self.shapes(&was.shape, &is.shape, "");
                }
                None if was.least > 0 => {
                    let sides = Sides::shapes(Some(&was.shape), None);
                    let (kind, summary) = if is_request {
                        (Kind::RequestRemoved, format!("{name} is no longer asked"))
                    } else {
                        (Kind::MessageRemoved, format!("`{name}` is no longer sent"))
                    };
                    self.add(kind, None, "", sides, summary);
                }
                None => {}
            }
        }
        for (name, is) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
            enter(&mut self.place, name, None);
            let sides = Sides::shapes(None, Some(&is.shape));
            let (kind, summary) = if is_request {
                (Kind::RequestAdded, format!("{name} is asked"))
            } else {
                (Kind::MessageAdded, format!("`{name}` is new"))
            };
            self.add(kind, None, "", sides, summary);
        }
        self.place = Place::default();
    }

    /// There are more or fewer of them than there ever were.
    fn count(&mut self, name: &str, was: &Messages<'_>, is: &Messages<'_>) {
        let direction = if is.least > was.most { "more" } else { "fewer" };
        let sides = Sides::values(was.most.into(), is.most.into());
        // Whoever reads a document reads one.
        let twice = name == DOCUMENT && was.most == 1 && is.least > 1;
        let (kind, summary) = if self.place.is_request {
            (Kind::RequestCount, format!("{direction} requests {name}"))
        } else {
            let kind = if twice { Kind::MessageRepeated } else { Kind::MessageCount };
            (kind, format!("{} `{name}` become {}", was.most, is.most))
        };
        self.add(kind, None, direction, sides, summary);
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
            self.add(Kind::Order, None, &identity, Sides::values(json!(was), json!(is)), summary);
        }
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
