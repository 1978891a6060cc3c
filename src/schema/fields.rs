//! The fields that a schema names, as a tree, to find those that a message has and the schema does not.

use std::collections::HashSet;

use serde_json::Value;

use super::pointer::{Step, render};
use super::schemas::Schemas;

/// The fields of an object, and what is known of their values. `None` inside means: nothing to check there.
#[derive(Debug, Default, Clone)]
pub(crate) struct FieldTree {
    /// In the order of the schema, which is mostly that of the messages: the search for a key starts where the last
    /// one was found.
    fields: Vec<(String, FieldTree)>,
    items: Option<Box<FieldTree>>,
    /// The schema says what other keys hold, or says nothing about keys at all: none is unknown.
    open: bool,
}

/// How deep schemas are followed; recursive ones end here.
const MAX_DEPTH: usize = 12;

impl FieldTree {
    /// The tree of the schema that `reference` names.
    pub(crate) fn of(schemas: &Schemas, reference: &str) -> Self {
        let file = reference.split('#').next().unwrap_or_default();
        let mut tree = Self::default();
        if let Ok(schema) = schemas.part(reference) {
            tree.add(schemas, file, schema, MAX_DEPTH);
        }
        tree
    }

    fn add(&mut self, schemas: &Schemas, file: &str, schema: &Value, depth: usize) {
        if depth == 0 {
            self.open = true;
            return;
        }
        let Some(map) = schema.as_object() else { return };
        if let Some((file, schema)) =
            map.get("$ref").and_then(Value::as_str).and_then(|to| schemas.follow(file, to))
        {
            self.add(schemas, file, schema, depth - 1);
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            for schema in map.get(keyword).and_then(Value::as_array).into_iter().flatten() {
                self.add(schemas, file, schema, depth - 1);
            }
        }
        for keyword in ["then", "else"] {
            if let Some(schema) = map.get(keyword) {
                self.add(schemas, file, schema, depth - 1);
            }
        }
        for (name, schema) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let index = self.fields.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
                self.fields.push((name.clone(), Self::default()));
                self.fields.len() - 1
            });
            self.fields[index].1.add(schemas, file, schema, depth - 1);
        }
        if map.get("additionalProperties").is_some_and(|schema| schema.is_object() || schema == true)
            || map.contains_key("patternProperties")
        {
            self.open = true;
        }
        if let Some(schema) = map.get("items") {
            self.items.get_or_insert_default().add(schemas, file, schema, depth - 1);
        }
    }

    /// Shows each place in `value` that no schema names. A schema without any field says nothing about fields.
    pub(crate) fn unknown<'v>(&self, value: &'v Value, show: &mut dyn FnMut(&[Step<'v>])) {
        self.walk(value, &mut Vec::new(), show);
    }

    fn find(&self, key: &str, cursor: &mut usize) -> Option<&Self> {
        let start = (*cursor).min(self.fields.len());
        let (before, after) = self.fields.split_at(start);
        let place = after.iter().chain(before).position(|(name, _)| name == key)?;
        let index = (start + place) % self.fields.len();
        *cursor = index + 1;
        Some(&self.fields[index].1)
    }

    fn walk<'v>(&self, value: &'v Value, path: &mut Vec<Step<'v>>, show: &mut dyn FnMut(&[Step<'v>])) {
        match value {
            Value::Object(map) if !self.fields.is_empty() => {
                let mut cursor = 0;
                for (key, inner) in map {
                    match self.find(key, &mut cursor) {
                        Some(tree) if inner.is_object() || inner.is_array() => {
                            path.push(Step::Key(key));
                            tree.walk(inner, path, show);
                            path.pop();
                        }
                        Some(_) => {}
                        None if self.open => {}
                        None => {
                            path.push(Step::Key(key));
                            show(path);
                            path.pop();
                        }
                    }
                }
            }
            Value::Array(list) => {
                if let Some(tree) = &self.items {
                    for (index, inner) in list.iter().enumerate() {
                        path.push(Step::Index(index));
                        tree.walk(inner, path, show);
                        path.pop();
                    }
                }
            }
            _ => {}
        }
    }
}

/// Remembers which unknown fields were reported, so that each is reported once for a kind however often it comes.
#[derive(Debug, Default)]
pub(crate) struct Reported(HashSet<(Option<usize>, String)>);

impl Reported {
    /// More distinct names than this are data, not fields.
    const MOST: usize = 1000;

    /// Whether the place is new for this kind. Array positions do not make a place new.
    pub(crate) fn is_new(&mut self, kind: Option<usize>, path: &[Step<'_>]) -> bool {
        let general: Vec<_> =
            path.iter().map(|step| if let Step::Index(_) = step { Step::Key("*") } else { *step }).collect();
        self.0.len() < Self::MOST && self.0.insert((kind, render(&general)))
    }
}
