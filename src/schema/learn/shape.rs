//! The shape that values have in common, and the schema that says so.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// Distinct texts that are remembered of one field; more are no enum.
const MAX_TEXTS: usize = 8;

/// How deep values are looked into.
const MAX_DEPTH: usize = 8;

/// More fields than this, seen rarely each, are data and not fields.
const MAX_FIELDS: usize = 64;

/// What a number of values have in common.
#[derive(Debug, Default)]
pub(super) struct Shape {
    seen: usize,
    types: BTreeSet<&'static str>,
    fields: BTreeMap<String, Shape>,
    objects: usize,
    items: Option<Box<Shape>>,
    texts: BTreeMap<String, usize>,
    /// There were more texts, or texts that are no tokens.
    free_text: bool,
}

impl Shape {
    pub(super) fn see(&mut self, value: &Value) {
        self.see_at(value, 0);
    }

    fn see_at(&mut self, value: &Value, depth: usize) {
        self.seen += 1;
        self.types.insert(type_of(value));
        match value {
            Value::String(text) => self.see_text(text),
            Value::Object(map) => {
                self.objects += 1;
                if depth < MAX_DEPTH {
                    for (key, inner) in map {
                        self.fields.entry(key.clone()).or_default().see_at(inner, depth + 1);
                    }
                }
            }
            Value::Array(list) if depth < MAX_DEPTH => {
                let items = self.items.get_or_insert_default();
                for inner in list {
                    items.see_at(inner, depth + 1);
                }
            }
            _ => {}
        }
    }

    fn see_text(&mut self, text: &str) {
        let is_token = text.len() <= 40
            && text.starts_with(|c: char| c.is_ascii_lowercase())
            && text
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte));
        if is_token && (self.texts.len() < MAX_TEXTS || self.texts.contains_key(text)) {
            *self.texts.entry(text.to_string()).or_default() += 1;
        } else {
            self.free_text = true;
        }
    }

    /// The fields that were always there.
    pub(super) fn required(&self) -> Vec<&str> {
        let always = self.fields.iter().filter(|(_, shape)| shape.seen == self.objects);
        always.map(|(name, _)| name.as_str()).collect()
    }

    /// The schema that all values seen are valid against.
    pub(super) fn schema(&self) -> Value {
        let mut schema = Map::new();
        let mut types: Vec<_> = self.types.iter().copied().collect();
        if types.contains(&"number") {
            types.retain(|name| *name != "integer");
        }
        match types.as_slice() {
            [] => {}
            [one] => {
                schema.insert("type".into(), json!(one));
            }
            several => {
                schema.insert("type".into(), json!(several));
            }
        }
        if self.is_enum() {
            let mut values: Vec<Value> = self.texts.keys().map(|text| json!(text)).collect();
            if self.types.contains("null") {
                values.push(Value::Null);
            }
            schema.insert("enum".into(), Value::Array(values));
        }
        // An object whose keys are names of things has too many fields to be described by them.
        if !self.fields.is_empty() && self.fields.len() <= MAX_FIELDS {
            let required = self.required();
            if !required.is_empty() {
                schema.insert("required".into(), json!(required));
            }
            let fields = self.fields.iter().map(|(name, shape)| (name.clone(), shape.schema()));
            schema.insert("properties".into(), Value::Object(fields.collect()));
        }
        if let Some(items) = self.items.as_ref().filter(|items| items.seen > 0) {
            schema.insert("items".into(), items.schema());
        }
        Value::Object(schema)
    }

    /// Few tokens, each seen several times: probably all there are.
    fn is_enum(&self) -> bool {
        let only_texts = self.types.iter().all(|name| matches!(*name, "string" | "null"));
        let times: usize = self.texts.values().sum();
        only_texts && !self.free_text && self.texts.len() > 1 && times >= 4 * self.texts.len()
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn always_there_is_required_and_few_tokens_are_an_enum() {
        let mut shape = Shape::default();
        for turn in 0..8 {
            let mut value =
                json!({"state": if turn % 2 == 0 { "on" } else { "off" }, "n": turn, "list": [{"a": 1}]});
            if turn == 3 {
                value["extra"] = json!("Some text");
                value["n"] = json!(1.5);
            }
            shape.see(&value);
        }
        assert_eq!(
            shape.schema(),
            json!({
                "type": "object",
                "required": ["list", "n", "state"],
                "properties": {
                    "extra": {"type": "string"},
                    "list": {"type": "array", "items": {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}},
                    "n": {"type": "number"},
                    "state": {"type": "string", "enum": ["off", "on"]},
                }
            })
        );
    }
}
