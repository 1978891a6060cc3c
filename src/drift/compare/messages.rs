//! Messages by their kinds, and requests by what they ask.

use std::collections::BTreeMap;

use serde_json::json;

use super::super::side::{Groups, Messages, Side};
use super::{Comparison, Place, Sides};
use crate::golden::DOCUMENT;
use crate::schema::policy::Kind;

impl<'r> Comparison<'r> {
    pub(super) fn messages(&mut self, old: &'r Groups, new: &'r Groups) {
        self.order(&old.orders, &new.orders);
        for (kind, was) in &old.all {
            self.rows.note_count(kind, was.most);
        }
        self.groups(&old.all, &new.all);
    }

    pub(super) fn requests(&mut self, old: &'r Side, new: &'r Side) {
        self.place.is_request = true;
        self.groups(&old.requests.all, &new.requests.all);
    }

    /// Compares messages of the same kind, or requests of the same endpoint.
    fn groups(&mut self, before: &'r BTreeMap<String, Messages>, after: &'r BTreeMap<String, Messages>) {
        let is_request = self.place.is_request;
        let enter = |place: &mut Place<'r>, name: &str, sample| {
            place.message = Some(if is_request { format!("request {name}") } else { name.to_owned() });
            // No contract has schemas of requests.
            place.sample = if is_request { None } else { sample };
        };
        for (name, was) in before {
            enter(&mut self.place, name, Some(&was.first));
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
    fn count(&mut self, name: &str, was: &Messages, is: &Messages) {
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
    fn order(&mut self, before: &[Vec<String>], after: &[Vec<String>]) {
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
