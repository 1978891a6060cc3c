//! The schema that says what samples have in common.

use serde_json::{Map, Value, json};

use crate::json::Kind;
use crate::json::shape::{Scalars, Shape};

/// Distinct texts that an enum has at most.
const MAX_TEXTS: usize = 8;

/// How deep values are described.
const MAX_DEPTH: usize = 8;

/// More fields than this, seen rarely each, are data and not fields.
const MAX_FIELDS: usize = 64;

/// The fields that were always there.
pub(super) fn required(shape: &Shape) -> Vec<&str> {
    let always = shape.fields.iter().filter(|(_, field)| field.count == shape.objects);
    always.map(|(name, _)| name.as_str()).collect()
}

/// The schema that all values seen are valid against.
pub(super) fn schema(shape: &Shape) -> Map<String, Value> {
    schema_at(shape, 0)
}

fn schema_at(shape: &Shape, depth: usize) -> Map<String, Value> {
    let mut schema = Map::new();
    let Scalars { words, numbers, strings, fraction, .. } = &shape.scalars;
    let is_null = shape.types.has(Kind::Null);
    let types = [
        (Kind::Array, shape.types.has(Kind::Array)),
        (Kind::Boolean, shape.types.has(Kind::Boolean)),
        (Kind::Integer, !numbers.is_empty() && !fraction),
        (Kind::Null, is_null),
        (Kind::Number, *fraction),
        (Kind::Object, shape.objects > 0),
        (Kind::String, *strings > 0),
    ];
    let types: Vec<&str> = types.iter().filter(|(_, seen)| *seen).map(|(kind, _)| kind.name()).collect();
    match types.as_slice() {
        [] => {}
        [one] => _ = schema.insert("type".into(), json!(one)),
        several => _ = schema.insert("type".into(), json!(several)),
    }
    if types.iter().all(|name| matches!(*name, "string" | "null")) && is_enum(&shape.scalars) {
        let mut values: Vec<Value> = words.iter().map(|text| json!(text)).collect();
        values.extend(is_null.then_some(Value::Null));
        schema.insert("enum".into(), Value::Array(values));
    }
    if depth == MAX_DEPTH {
        return schema;
    }
    // An object whose keys are names of things has too many fields to be described by them.
    if !shape.fields.is_empty() && shape.fields.len() <= MAX_FIELDS {
        let required = required(shape);
        if !required.is_empty() {
            schema.insert("required".into(), json!(required));
        }
        let fields =
            shape.fields.iter().map(|(name, field)| (name.clone(), schema_at(field, depth + 1).into()));
        schema.insert("properties".into(), Value::Object(fields.collect()));
    }
    if !shape.items.is_empty() {
        schema.insert("items".into(), schema_at(&shape.elements(), depth + 1).into());
    }
    schema
}

/// Few tokens, each seen several times: probably all there are.
fn is_enum(scalars: &Scalars) -> bool {
    let is_token = |text: &String| {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
        text.len() <= 40 && text.starts_with(|c: char| c.is_ascii_lowercase()) && text.bytes().all(is_plain)
    };
    let Scalars { words, strings, text, placeholder, .. } = scalars;
    text.is_none()
        && !placeholder
        && (2..=MAX_TEXTS).contains(&words.len())
        && words.iter().all(is_token)
        && *strings >= 4 * words.len()
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
            shape.add(&value, 0);
        }
        assert_eq!(
            Value::from(schema(&shape)),
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
