//! The fields that a schema names, as a tree, to find those that a message has and the schema does not.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{BuildHasher as _, Hash as _, Hasher as _, RandomState};

use super::schemas::{SchemaNode, Schemas};
use crate::json::pointer::{Step, Trail};
use crate::json::{JsonView, Kind, Name, Node};

/// The fields of an object, and what is known of their values. `None` inside means: nothing to check there.
#[derive(Debug, Default, Clone)]
pub(crate) struct FieldTree {
    /// In the order of the schema, which is mostly that of the messages: the search for a key starts where the last
    /// one was found.
    fields: Vec<(Name, FieldTree)>,
    items: Option<Box<FieldTree>>,
    /// The schema says what other keys hold, or says nothing about keys at all: none is unknown.
    open: bool,
}

/// How deep schemas are followed; recursive ones end here.
const MAX_DEPTH: usize = 12;

impl FieldTree {
    /// The tree of the schema that `reference` names.
    pub(crate) fn of(schemas: &Schemas, reference: &str) -> Self {
        let mut tree = Self::default();
        if let Some(schema) = schemas.node(reference) {
            tree.add(schema, MAX_DEPTH);
        }
        tree
    }

    fn add(&mut self, schema: SchemaNode<'_>, depth: usize) {
        if depth == 0 {
            self.open = true;
            return;
        }
        let conditional = ["then", "else"].into_iter().filter_map(|keyword| schema.inner(keyword));
        for part in schema.parts(&["allOf", "anyOf", "oneOf"]).chain(conditional) {
            self.add(part, depth - 1);
        }
        for (name, field) in schema.properties() {
            let index =
                self.fields.iter().position(|(known, _)| known.as_str() == name).unwrap_or_else(|| {
                    self.fields.push((Name::new(name), Self::default()));
                    self.fields.len() - 1
                });
            self.fields[index].1.add(field, depth - 1);
        }
        let others = schema.get("additionalProperties");
        self.open |= others.is_some_and(|schema| schema.is_object() || schema == true)
            || schema.get("patternProperties").is_some();
        if let Some(items) = schema.inner("items") {
            self.items.get_or_insert_default().add(items, depth - 1);
        }
    }

    /// Shows each place in `value` that no schema names. A schema without any field says nothing about fields.
    pub(crate) fn unknown(&self, value: JsonView<'_>, show: &mut dyn FnMut(&Trail<'_>, JsonView<'_>)) {
        self.walk(value, None, show);
    }

    fn walk(
        &self,
        value: JsonView<'_>,
        trail: Option<&Trail<'_>>,
        show: &mut dyn FnMut(&Trail<'_>, JsonView<'_>),
    ) {
        if value.kind() == Kind::Array {
            let Some(tree) = &self.items else { return };
            for (index, inner) in value.items().enumerate().filter(|(_, inner)| inner.is_container()) {
                tree.walk(inner, Some(&Trail::new(trail, Step::Index(index))), show);
            }
            return;
        }
        if self.fields.is_empty() {
            return;
        }
        let mut cursor = 0;
        match value {
            // The scanner knows the hashes of its keys.
            JsonView::Scanned(node) => {
                for (key, inner) in node.members() {
                    let place = key.place_in(&self.fields, cursor, |(name, _)| name);
                    cursor = place.map_or(cursor, |place| place + 1);
                    let known = place.map(|place| &self.fields[place].1);
                    self.member(known, || key_text(key), JsonView::Scanned(inner), trail, show);
                }
            }
            JsonView::Built(_) => {
                for (key, inner) in value.members() {
                    let known =
                        self.fields.iter().find(|(name, _)| name.as_str() == key).map(|(_, known)| known);
                    self.member(known, || key.clone(), inner, trail, show);
                }
            }
        }
    }

    /// Looks into a member whose tree was found, and shows one whose tree was not.
    fn member<'k>(
        &self,
        known: Option<&Self>,
        key: impl Fn() -> Cow<'k, str>,
        inner: JsonView<'_>,
        trail: Option<&Trail<'_>>,
        show: &mut dyn FnMut(&Trail<'_>, JsonView<'_>),
    ) {
        match known {
            Some(tree) if inner.is_container() => {
                tree.walk(inner, Some(&Trail::new(trail, Step::Key(&key()))), show);
            }
            Some(_) => {}
            None if self.open => {}
            None => show(&Trail::new(trail, Step::Key(&key())), inner),
        }
    }
}

fn key_text(key: Node<'_>) -> Cow<'_, str> {
    key.text().unwrap_or_default()
}

/// Remembers which unknown fields were reported, so that each is reported once for a kind however often it comes.
#[derive(Debug, Default)]
pub(crate) struct Reported {
    /// Hashes, since most unknown fields come with every message.
    places: HashSet<u64>,
    hasher: RandomState,
}

impl Reported {
    /// More distinct names than this are data, not fields.
    const MOST: usize = 1000;

    /// Whether the place is new for this kind. Array positions do not make a place new.
    pub(crate) fn is_new(&mut self, kind: Option<usize>, trail: &Trail<'_>) -> bool {
        if self.places.len() >= Self::MOST {
            return false;
        }
        let mut hasher = self.hasher.build_hasher();
        kind.hash(&mut hasher);
        trail.hash_general(&mut hasher);
        self.places.insert(hasher.finish())
    }
}
