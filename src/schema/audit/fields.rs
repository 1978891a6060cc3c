//! Mutants of fields: what the schema of a message's kind promises is broken, one promise at a time.

use serde_json::{Value, json};

use super::super::contract::Contract;
use super::super::fixture::{Sample, remove, set};
use super::super::schemas::Schemas;
use super::Broken;

/// Breaks each promise that a schema makes about the messages of a run.
pub(super) fn mutants(contract: &Contract, base: &Sample) -> Vec<Broken> {
    let mut mutants = Vec::new();
    let lines: Vec<&[u8]> = base.stdout.split_inclusive(|byte| *byte == b'\n').collect();
    for (number, line) in lines.iter().enumerate() {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { continue };
        let Some((kind, reference)) = contract.kind_schema(&message, &base.run(), base.exit.as_ref()) else {
            continue;
        };
        let mut breaks = Vec::new();
        let file = reference.split('#').next().unwrap_or_default();
        if let Ok(schema) = contract.schemas.part(reference) {
            Promises { schemas: &contract.schemas, message: &message, breaks: &mut breaks }.of(
                file,
                schema,
                &message,
                &mut String::new(),
                8,
            );
        }
        breaks.dedup_by(|a, b| a.0 == b.0);
        for (what, broken) in breaks {
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

struct Promises<'p> {
    schemas: &'p Schemas,
    message: &'p Value,
    breaks: &'p mut Vec<(String, Value)>,
}

impl<'p> Promises<'p> {
    fn of(&mut self, file: &'p str, schema: &'p Value, value: &Value, pointer: &mut String, depth: usize) {
        let Some(map) = schema.as_object().filter(|_| depth > 0) else { return };
        if let Some((file, schema)) =
            map.get("$ref").and_then(Value::as_str).and_then(|to| self.schemas.follow(file, to))
        {
            self.of(file, schema, value, pointer, depth - 1);
        }
        // A choice between schemas may allow what one of them forbids; only what all ask for is a promise.
        for schema in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.of(file, schema, value, pointer, depth - 1);
        }
        self.of_value(map, value, pointer);
        let Some(members) = value.as_object() else {
            if let (Some(items), Some(first)) = (map.get("items"), value.get(0)) {
                let length = pointer.len();
                pointer.push_str("/0");
                self.of(file, items, first, pointer, depth - 1);
                pointer.truncate(length);
            }
            return;
        };
        for name in
            map.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
        {
            if members.contains_key(name) {
                let place = format!("{pointer}/{}", escape(name));
                let mut broken = self.message.clone();
                if remove(&mut broken, &place).is_some() {
                    self.breaks.push((format!("{place} dropped"), broken));
                }
            }
        }
        for (name, schema) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if let Some(inner) = members.get(name) {
                let length = pointer.len();
                pointer.push('/');
                pointer.push_str(&escape(name));
                self.of(file, schema, inner, pointer, depth - 1);
                pointer.truncate(length);
            }
        }
    }

    /// Breaks what the schema says about the value itself.
    fn of_value(&mut self, schema: &serde_json::Map<String, Value>, value: &Value, pointer: &str) {
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
        if schema.contains_key("enum") || schema.contains_key("const") {
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
            self.breaks.push((format!("{pointer} {what}"), broken));
        }
    }
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
