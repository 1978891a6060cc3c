//! Counter-examples: the smallest message that shows a change.

use serde_json::{Map, Value, json};

use super::super::fixture::{remove, set};
use super::super::schemas::{SchemaNode, Schemas};
use super::Change;
use crate::json::pointer::{keys, unescape};

/// A message that the new schema allows and the old one refuses because of this change. Whatever is made up is put to
/// the test, so an example that is shown is one.
pub(super) fn witness(
    new: &Schemas,
    name: &str,
    change: &Change,
    proves: &dyn Fn(&Value) -> bool,
) -> Option<Value> {
    let schema = new.node(name)?;
    let plain = example(schema, &change.pointer, 12);
    let place = change.pointer.replace('*', "0");
    let mut candidates = vec![plain.clone()];
    let mut without = plain.clone();
    if remove(&mut without, &place).is_some() {
        candidates.push(without);
    }
    let values = [
        json!(null),
        json!("text"),
        json!(""),
        json!(7),
        json!(-1),
        json!(1.5),
        json!(false),
        json!([]),
        json!({}),
    ];
    for value in allowed(schema, &change.pointer).into_iter().chain(values) {
        let mut with = plain.clone();
        if set(&mut with, &place, value).is_some() {
            candidates.push(with);
        }
    }
    candidates.into_iter().find(|candidate| proves(candidate))
}

/// The values that an enum or a constant at this place allows.
fn allowed(schema: SchemaNode<'_>, pointer: &str) -> Vec<Value> {
    let there = keys(pointer).try_fold(schema.resolved(), |schema, step| {
        let below = if step == "*" { schema.inner("items") } else { schema.property(&step) };
        below.map(SchemaNode::resolved)
    });
    let Some(schema) = there else { return Vec::new() };
    let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    schema.get("const").into_iter().chain(listed).cloned().collect()
}

/// A small value that fits a schema in most cases; objects on the way to `pointer` are filled in.
fn example(schema: SchemaNode<'_>, pointer: &str, depth: usize) -> Value {
    let schema = schema.resolved();
    let Some(map) = schema.map().filter(|_| depth > 0) else { return Value::Null };
    if let Some(value) = map.get("const") {
        return value.clone();
    }
    if let Some(first) = map.get("enum").and_then(|list| list.get(0)) {
        return first.clone();
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(last) = schema.list(choice).last() {
            return example(last, pointer, depth - 1);
        }
    }
    let kind = match map.get("type") {
        Some(Value::String(one)) => one.as_str(),
        Some(Value::Array(several)) => several.first().and_then(Value::as_str).unwrap_or("null"),
        _ if map.contains_key("properties") || map.contains_key("required") => "object",
        _ => "null",
    };
    let (step, rest) = split(pointer);
    match kind {
        "object" => {
            let mut object = Map::new();
            for name in schema.names("required").chain(step.as_deref()) {
                let inner = if Some(name) == step.as_deref() { rest } else { "" };
                let value = schema.property(name).map(|field| example(field, inner, depth - 1));
                object.insert(name.to_string(), value.unwrap_or_default());
            }
            Value::Object(object)
        }
        "array" => match (&step, schema.inner("items")) {
            (Some(_), Some(items)) => json!([example(items, rest, depth - 1)]),
            _ => json!([]),
        },
        "string" => match map.get("format").and_then(Value::as_str) {
            Some("date-time") => json!("2026-01-01T00:00:00Z"),
            Some("uuid") => json!("00000000-0000-4000-8000-000000000000"),
            _ => json!(
                "x".repeat(map.get("minLength").and_then(Value::as_u64).unwrap_or(1).clamp(1, 64) as usize)
            ),
        },
        "integer" | "number" => map.get("minimum").cloned().unwrap_or(json!(0)),
        "boolean" => json!(true),
        _ => Value::Null,
    }
}

/// The first step of a pointer, and the rest of it.
fn split(pointer: &str) -> (Option<String>, &str) {
    let Some(inside) = pointer.strip_prefix('/') else { return (None, "") };
    let end = inside.find('/').unwrap_or(inside.len());
    (Some(unescape(&inside[..end])), &inside[end..])
}
