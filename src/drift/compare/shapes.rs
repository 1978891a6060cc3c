//! The values at one place and below it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Comparison, Sides, plain};
use crate::json::pointer::{escape, join};
use crate::json::shape::{Scalars, Shape, Types, is_data};
use crate::schema::policy::Kind;

impl Comparison<'_> {
    pub(super) fn shapes(&mut self, old: &Shape, new: &Shape, pointer: &str) {
        self.types(old, new, pointer);
        self.words(old, new, pointer);
        if old.objects > 0 && new.objects > 0 {
            self.members(old, new, pointer);
        }
        self.items(old, new, pointer);
    }

    fn types(&mut self, old: &Shape, new: &Shape, pointer: &str) {
        let gained = new.types.without(old.types);
        if gained.is_empty() {
            return;
        }
        let (kind, summary) = if old.types == Types::NULL {
            (
                Kind::FieldFilled,
                format!("{} was always null, and now is {}", named(pointer), gained.names(" or ")),
            )
        } else if gained == Types::NULL {
            (Kind::FieldNull, format!("{} was {}, and now is null", named(pointer), old.types.names(" or ")))
        } else {
            let gained = gained.without(Types::NULL);
            (
                Kind::FieldRetyped,
                format!(
                    "{} was {}, and now is {}",
                    named(pointer),
                    old.types.names(" or "),
                    gained.names(" or ")
                ),
            )
        };
        let identity = format!("{} {}", old.types.names(" or "), new.types.names(" or "));
        self.add(kind, Some(pointer), &identity, Sides::shapes(Some(old), Some(new)), summary);
    }

    fn words(&mut self, old: &Shape, new: &Shape, pointer: &str) {
        let (was, is) = (&old.scalars, &new.scalars);
        let value = |set: &BTreeSet<String>| match set.len() {
            1 => set.first().map_or(Value::Null, |word| word.as_str().into()),
            _ => json!(set),
        };
        let at = Some(pointer);
        if !was.booleans.is_empty() && !is.booleans.is_empty() && was.booleans.is_disjoint(&is.booleans) {
            let (a, b) = (was.booleans.contains(&true), is.booleans.contains(&true));
            let summary = format!("{} was {a}, and now is {b}", named(pointer));
            self.add(Kind::ValueChanged, at, "boolean", Sides::values(a.into(), b.into()), summary);
        }
        if !was.numbers.is_empty() && !is.numbers.is_empty() && was.numbers.is_disjoint(&is.numbers) {
            let summary = format!("{} is another number", named(pointer));
            self.add(Kind::ValueChanged, at, "number", Sides::shapes(Some(old), Some(new)), summary);
        }
        let says = |scalars: &Scalars| scalars.text.is_some() || !scalars.words.is_empty();
        if was.text != is.text && says(was) && says(is) {
            // A word that became a text is no longer the word that readers know.
            let kind = if was.text.is_none() && is.words.is_disjoint(&was.words) {
                Kind::ValueChanged
            } else {
                Kind::TextChanged
            };
            let summary = format!("{} is another text", named(pointer));
            self.add(kind, at, "", Sides::shapes(Some(old), Some(new)), summary);
            return;
        }
        if was.overflow || is.overflow || was.text.is_some() || was.words.is_empty() || is.words.is_empty() {
            return;
        }
        let gone: BTreeSet<String> = was.words.difference(&is.words).cloned().collect();
        let come: BTreeSet<String> = is.words.difference(&was.words).cloned().collect();
        if was.words.len() == 1 && is.words.len() == 1 && !gone.is_empty() {
            let (gone, come) = (value(&gone), value(&come));
            let summary = format!("{} was {}, and now is {}", named(pointer), plain(&gone), plain(&come));
            self.add(Kind::ValueChanged, at, &format!("{gone} {come}"), Sides::values(gone, come), summary);
            return;
        }
        for (kind, set, summary) in [
            (Kind::EnumValueRemoved, gone, "no longer holds"),
            (Kind::EnumValueAdded, come, "holds for the first time"),
        ] {
            if set.is_empty() {
                continue;
            }
            let listed = set.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            let sides = match kind {
                Kind::EnumValueAdded => Sides::values(Value::Null, value(&set)),
                _ => Sides::values(value(&set), Value::Null),
            };
            self.add(kind, at, &listed, sides, format!("{pointer} {summary}: {listed}"));
        }
    }

    /// Fields by their names, and the entries of a map as if they were one.
    fn members(&mut self, old: &Shape, new: &Shape, pointer: &str) {
        // What a message itself holds are fields, however odd their names are.
        let has_entries = !pointer.is_empty() && (old.keys().next().is_some() || new.keys().next().is_some());
        let whole = has_entries && old.holds_objects() && new.holds_objects();
        let is_entry = |key: &str| whole || (has_entries && is_data(key));
        self.fields(old, new, pointer, &is_entry);
        if !has_entries {
            return;
        }
        let keys =
            |shape: &Shape| shape.fields.keys().filter(|key| is_entry(key)).cloned().collect::<Vec<_>>();
        let (was, is) = (keys(old), keys(new));
        if was != is {
            let identity = format!("{was:?} {is:?}");
            let sides = Sides::values(json!(was), json!(is));
            self.add(
                Kind::ValueChanged,
                Some(pointer),
                &identity,
                sides,
                format!("{pointer} has other keys"),
            );
        }
        let (was, is) = (old.entries(is_entry), new.entries(is_entry));
        // An empty map says nothing about its entries.
        if was.count > 0 && is.count > 0 {
            self.shapes(&was, &is, &format!("{pointer}/*"));
        }
    }

    fn fields(&mut self, old: &Shape, new: &Shape, pointer: &str, is_entry: &dyn Fn(&str) -> bool) {
        for (name, was) in old.fields.iter().filter(|(name, _)| !is_entry(name)) {
            let at = join(pointer, name);
            match new.fields.get(name) {
                None => {
                    let sides = Sides::shapes(Some(was), None);
                    self.add(Kind::FieldRemoved, Some(&at), "", sides, format!("{at} is gone"));
                }
                Some(is) => {
                    if was.count == old.objects && is.count < new.objects {
                        let summary = format!("{at} was always there, and now sometimes is not");
                        let sides = Sides::shapes(Some(was), Some(is));
                        self.add(Kind::FieldOptional, Some(&at), "", sides, summary);
                    }
                    self.shapes(was, is, &at);
                }
            }
        }
        let is_new = |name: &str| !is_entry(name) && !old.fields.contains_key(name);
        for (name, is) in new.fields.iter().filter(|(name, _)| is_new(name)) {
            let at = join(pointer, name);
            let sides = Sides::shapes(None, Some(is));
            self.add(Kind::FieldAdded, Some(&at), "", sides, format!("{at} is new"));
        }
    }

    fn items(&mut self, old: &Shape, new: &Shape, pointer: &str) {
        let at = |kind: &str| match kind {
            "" => format!("{pointer}/*"),
            kind => format!("{pointer}/*:{}", escape(kind)),
        };
        for (kind, was) in &old.items {
            if let Some(is) = new.items.get(kind) {
                self.shapes(was, is, &at(kind));
            } else {
                let sides = Sides::shapes(Some(was), None);
                let summary = format!("{} no longer holds what {} was", named(pointer), at(kind));
                self.add(Kind::ElementRemoved, Some(&at(kind)), "", sides, summary);
            }
        }
        for (kind, is) in new.items.iter().filter(|(kind, _)| !old.items.contains_key(*kind)) {
            let sides = Sides::shapes(None, Some(is));
            let summary = format!("{} holds {} for the first time", named(pointer), at(kind));
            self.add(Kind::ElementAdded, Some(&at(kind)), "", sides, summary);
        }
    }
}

/// A place as it stands in a sentence.
fn named(pointer: &str) -> &str {
    if pointer.is_empty() { "it" } else { pointer }
}
