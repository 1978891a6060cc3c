//! Which fields the schemas of a contract promise.

use serde_json::{Map, Value};

use super::super::contract::{Clause, Contract};
use super::super::facts::{End, Facts, Run};
use super::super::finding::Level;
use super::super::schemas::Schemas;
use super::Kind;

/// Deeper schemas than this are recursive.
const DEEPEST: usize = 32;

impl Contract {
    /// Whether a schema for this message's kind promises what a change takes away: that a field is there, or, where it is
    /// still there, that it has its type. In doubt it does: a message of no kind and a kind without a schema promise
    /// everything. `pointer` may hold `*` for any element, and `*:text` for those of a type.
    pub fn promises(&self, message: &Value, pointer: &str, kind: Kind) -> bool {
        let schemas = self.schemas_of(message);
        if schemas.is_empty() {
            return true;
        }
        let wants_presence = matches!(kind, Kind::FieldRemoved | Kind::FieldOptional);
        schemas.into_iter().any(|(reference, at)| {
            let Some(below) = pointer.strip_prefix(at).filter(|below| below.starts_with('/')) else {
                return false;
            };
            let Ok(schema) = self.schemas.part(reference) else { return false };
            let file = reference.split('#').next().unwrap_or_default();
            let steps: Vec<String> =
                below.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
            let Some((last, way)) = steps.split_last() else { return false };
            let mut places = vec![(file, schema)];
            for step in way {
                places = places.into_iter().flat_map(|at| members(&self.schemas, at, step)).collect();
            }
            let mut parents = places.into_iter().flat_map(|at| parts(&self.schemas, at, DEEPEST));
            parents.any(
                |(_, schema)| if wants_presence { requires(schema, last) } else { describes(schema, last) },
            )
        })
    }

    /// The schemas that a message has to fit, each with where in it: that of its kind, and those of clauses about it.
    fn schemas_of(&self, message: &Value) -> Vec<(&str, &str)> {
        let mut facts = Facts::at_start(&Run::default(), &self.invocation);
        facts.at_end(&End::new(None, None, None));
        let Some(kind) = self.kinds.of(message.into(), &facts) else { return Vec::new() };
        let own = self.kinds.schemas[kind].as_deref().map(|reference| (reference, ""));
        let promise = |clause: &Clause| matches!(clause.level, Level::Must | Level::Should);
        let clauses =
            self.by_kind[kind].iter().map(|index| &self.clauses[*index]).filter(|clause| promise(clause));
        let checked = clauses.filter_map(|clause| {
            let text = |key| clause.check_value.get(key).and_then(Value::as_str);
            Some((text("schema")?, text("at").unwrap_or_default()))
        });
        own.into_iter().chain(checked).collect()
    }
}

type At<'s> = (&'s str, &'s Value);

fn requires(schema: &Map<String, Value>, name: &str) -> bool {
    let list = schema.get("required").and_then(Value::as_array);
    list.into_iter().flatten().any(|required| required.as_str() == Some(name))
}

fn describes(schema: &Map<String, Value>, name: &str) -> bool {
    let is_element = name == "*" || name.starts_with("*:");
    let fields = schema.get("properties").and_then(Value::as_object);
    fields.is_some_and(|fields| fields.contains_key(name))
        || (is_element && (schema.contains_key("items") || schema.contains_key("additionalProperties")))
}

/// The schemas of what stands one step below.
fn members<'s>(schemas: &'s Schemas, at: At<'s>, step: &str) -> Vec<At<'s>> {
    let mut found = Vec::new();
    let is_element = step == "*" || step.starts_with("*:");
    for (file, schema) in parts(schemas, at, DEEPEST) {
        let named = schema.get("properties").and_then(|fields| fields.get(step));
        let elements = ["items", "additionalProperties"].into_iter().filter_map(|key| schema.get(key));
        found.extend(named.into_iter().map(|schema| (file, schema)));
        if is_element {
            found.extend(elements.map(|schema| (file, schema)));
        }
    }
    found
}

/// A schema, those that it refers to, and those that it is put together from.
fn parts<'s>(
    schemas: &'s Schemas,
    (file, schema): At<'s>,
    depth: usize,
) -> Vec<(&'s str, &'s Map<String, Value>)> {
    let (Some(map), true) = (schema.as_object(), depth > 0) else { return Vec::new() };
    let mut all = vec![(file, map)];
    let reference = map.get("$ref").and_then(Value::as_str);
    if let Some(at) = reference.and_then(|reference| schemas.follow(file, reference)) {
        all.extend(parts(schemas, at, depth - 1));
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for schema in map.get(keyword).and_then(Value::as_array).into_iter().flatten() {
            all.extend(parts(schemas, (file, schema), depth - 1));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_schema_requires_is_promised() {
        let bundle = crate::schema::bundle("claw-1.0").unwrap();
        let contract = Contract::load(&bundle).unwrap();
        let message = json!({
            "timestamp": "2026-04-22T10:10:00Z", "command": "list-sessions", "exit_code": 0, "output_format": "json",
            "schema_version": "1.0", "directory": "d", "sessions_count": 0, "sessions": [],
        });
        let promises = |pointer: &str, kind| contract.promises(&message, pointer, kind);
        assert!(promises("/schema_version", Kind::FieldRemoved));
        assert!(promises("/sessions", Kind::FieldRemoved));
        assert!(promises("/sessions/*/session_id", Kind::FieldRemoved));
        assert!(!promises("/sessions/*/colour", Kind::FieldRemoved));
        assert!(!promises("/colour", Kind::FieldRetyped));
        assert!(promises("/sessions_count", Kind::FieldRetyped));
        // Nobody knows what this is, so nobody can say that it was not promised.
        assert!(contract.promises(&json!({"x": 1}), "/x", Kind::FieldRemoved));
    }
}
