//! Counter-examples: the smallest message that shows a change.

use serde_json::{Map, Value, json};

use super::super::fixture::{remove, set};
use super::super::schemas::Schemas;
use super::Change;

/// A message that the new schema allows and the old one refuses because of this change. Whatever is made up is put to
/// the test, so an example that is shown is one.
pub(super) fn witness(
    new: &Schemas,
    name: &str,
    change: &Change,
    proves: &dyn Fn(&Value) -> bool,
) -> Option<Value> {
    let schema = new.part(name).ok()?;
    let plain = example(new, name, schema, &change.pointer, 12);
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
    for value in allowed(new, name, schema, &change.pointer).into_iter().chain(values) {
        let mut with = plain.clone();
        if set(&mut with, &place, value).is_some() {
            candidates.push(with);
        }
    }
    candidates.into_iter().find(|candidate| proves(candidate))
}

/// The values that an enum or a constant at this place allows.
fn allowed(schemas: &Schemas, file: &str, schema: &Value, pointer: &str) -> Vec<Value> {
    let mut at = (file, schema);
    for part in pointer.split('/').skip(1) {
        at = resolve(schemas, at);
        let name = part.replace("~1", "/").replace("~0", "~");
        let next = if name == "*" {
            at.1.get("items")
        } else {
            at.1.get("properties").and_then(|all| all.get(&name))
        };
        let Some(next) = next else { return Vec::new() };
        at.1 = next;
    }
    let schema = resolve(schemas, at).1;
    let one = schema.get("const").cloned();
    one.into_iter().chain(schema.get("enum").and_then(Value::as_array).cloned().unwrap_or_default()).collect()
}

fn resolve<'s>(schemas: &'s Schemas, mut at: (&'s str, &'s Value)) -> (&'s str, &'s Value) {
    for _ in 0..16 {
        let Some(next) = at.1.get("$ref").and_then(Value::as_str).and_then(|to| schemas.follow(at.0, to))
        else {
            break;
        };
        at = next;
    }
    at
}

/// A small value that fits a schema in most cases; objects on the way to `pointer` are filled in.
fn example(schemas: &Schemas, file: &str, schema: &Value, pointer: &str, depth: usize) -> Value {
    let (file, schema) = resolve(schemas, (file, schema));
    let Some(map) = schema.as_object().filter(|_| depth > 0) else { return Value::Null };
    if let Some(value) = map.get("const") {
        return value.clone();
    }
    if let Some(first) = map.get("enum").and_then(|list| list.get(0)) {
        return first.clone();
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(first) = map.get(choice).and_then(Value::as_array).and_then(|list| list.last()) {
            return example(schemas, file, first, pointer, depth - 1);
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
            let fields = map.get("properties").and_then(Value::as_object);
            let required = map.get("required").and_then(Value::as_array);
            let required = required.into_iter().flatten().filter_map(Value::as_str);
            for name in required.chain(step.as_deref()) {
                let any = Value::Bool(true);
                let schema = fields.and_then(|fields| fields.get(name)).unwrap_or(&any);
                let inner = if Some(name) == step.as_deref() { rest } else { "" };
                object.insert(name.to_string(), example(schemas, file, schema, inner, depth - 1));
            }
            Value::Object(object)
        }
        "array" => match (&step, map.get("items")) {
            (Some(_), Some(items)) => Value::Array(vec![example(schemas, file, items, rest, depth - 1)]),
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
    (Some(inside[..end].replace("~1", "/").replace("~0", "~")), &inside[end..])
}
