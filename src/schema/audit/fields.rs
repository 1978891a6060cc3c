//! Mutants of fields: what the schema of a message's kind promises is broken, one promise at a time.

use serde_json::{Value, json};

use super::super::contract::Contract;
use super::super::fixture::{Sample, remove, set};
use super::super::schemas::SchemaNode;
use super::Broken;
use crate::json::pointer::join;

/// Breaks each promise that a schema makes about the messages of a run.
pub(super) fn mutants(contract: &Contract, base: &Sample) -> Vec<Broken> {
    let mut mutants = Vec::new();
    let lines: Vec<&[u8]> = base.stdout.split_inclusive(|byte| *byte == b'\n').collect();
    for (number, line) in lines.iter().enumerate() {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { continue };
        let Some((kind, reference)) = contract.kind_schema(&message, &base.run(), base.exit.as_ref()) else {
            continue;
        };
        let mut promises = Promises { message: &message, broken: Vec::new() };
        if let Some(schema) = contract.schemas.node(reference) {
            promises.of(schema, &message, "", 8);
        }
        promises.broken.dedup_by(|a, b| a.0 == b.0);
        for (what, broken) in promises.broken {
            let kind_now =
                contract.kind_schema(&broken, &base.run(), base.exit.as_ref()).map(|(kind, _)| kind);
            let mut sample = base.clone();
            let text = format!("{broken}\n").into_bytes();
            sample.stdout = lines
                .iter()
                .enumerate()
                .flat_map(|(index, line)| if index == number { text.clone() } else { line.to_vec() })
                .collect();
            let other_kind = kind_now != Some(kind);
            mutants.push(Broken { what: format!("line {}, {kind}: {what}", number + 1), sample, other_kind });
        }
    }
    mutants
}

/// The promises that the schema of a message makes: what was done to it, and what came of that.
struct Promises<'p> {
    message: &'p Value,
    broken: Vec<(String, Value)>,
}

impl Promises<'_> {
    fn of(&mut self, schema: SchemaNode<'_>, value: &Value, pointer: &str, depth: usize) {
        if schema.map().is_none() || depth == 0 {
            return;
        }
        // A choice between schemas may allow what one of them forbids; only what all ask for is a promise.
        for part in schema.parts(&["allOf"]) {
            self.of(part, value, pointer, depth - 1);
        }
        self.of_value(schema, value, pointer);
        let Some(members) = value.as_object() else {
            if let (Some(items), Some(first)) = (schema.inner("items"), value.get(0)) {
                self.of(items, first, &format!("{pointer}/0"), depth - 1);
            }
            return;
        };
        for name in schema.names("required").filter(|name| members.contains_key(*name)) {
            let place = join(pointer, name);
            let mut broken = self.message.clone();
            if remove(&mut broken, &place).is_some() {
                self.broken.push((format!("{place} dropped"), broken));
            }
        }
        for (name, field) in schema.properties() {
            if let Some(inner) = members.get(name) {
                self.of(field, inner, &join(pointer, name), depth - 1);
            }
        }
    }

    /// Breaks what the schema says about the value itself.
    fn of_value(&mut self, schema: SchemaNode<'_>, value: &Value, pointer: &str) {
        if pointer.is_empty() {
            return;
        }
        if let Some(types) = schema.get("type") {
            let allows = |name: &str| {
                types == name || types.as_array().is_some_and(|list| list.contains(&json!(name)))
            };
            let other = if value.is_string() { json!(7) } else { json!("seven") };
            let other_type = if other.is_string() { "string" } else { "integer" };
            let is_allowed = allows(other_type) || (other_type == "integer" && allows("number"));
            if !is_allowed {
                self.replace(pointer, other, "of another type");
            }
            if !allows("null") && !value.is_null() {
                self.replace(pointer, Value::Null, "null");
            }
        }
        if schema.get("enum").or(schema.get("const")).is_some() {
            let renamed = match value {
                Value::String(text) => json!(format!("{text}-renamed")),
                Value::Bool(flag) => json!(!flag),
                Value::Number(_) => json!(99),
                _ => json!("renamed"),
            };
            self.replace(pointer, renamed, "renamed");
        }
        if let Some(minimum) = schema.get("minimum").and_then(Value::as_i64) {
            self.replace(pointer, json!(minimum - 1), "below its minimum");
        }
    }

    fn replace(&mut self, pointer: &str, new: Value, what: &str) {
        let mut broken = self.message.clone();
        if set(&mut broken, pointer, new).is_some() {
            self.broken.push((format!("{pointer} {what}"), broken));
        }
    }
}
