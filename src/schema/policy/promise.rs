//! Which fields the schemas of a contract promise.

use serde_json::Value;

use super::super::contract::{Clause, Contract};
use super::super::facts::{End, Facts, Run};
use super::super::finding::Level;
use super::super::schemas::SchemaNode;
use super::Kind;
use crate::json::pointer::keys;

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
            let steps: Vec<String> = keys(below).collect();
            let (Some(schema), Some((last, way))) = (self.schemas.node(reference), steps.split_last()) else {
                return false;
            };
            let mut places = vec![schema];
            for step in way {
                places = places.into_iter().flat_map(|schema| members(schema, step)).collect();
            }
            let mut parents = places.into_iter().flat_map(|schema| parts(schema, DEEPEST));
            parents.any(|schema| {
                if wants_presence {
                    schema.names("required").any(|name| name == last)
                } else {
                    members(schema, last).next().is_some()
                }
            })
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
            let text = |key| clause.check().get(key).and_then(Value::as_str);
            Some((text("schema")?, text("at").unwrap_or_default()))
        });
        own.into_iter().chain(checked).collect()
    }
}

/// The schemas of what stands one step below.
fn members<'s>(schema: SchemaNode<'s>, step: &str) -> impl Iterator<Item = SchemaNode<'s>> {
    let is_element = step == "*" || step.starts_with("*:");
    let below = move |part: SchemaNode<'s>| {
        let elements = ["items", "additionalProperties"].into_iter().filter(move |_| is_element);
        part.property(step).into_iter().chain(elements.filter_map(move |key| part.inner(key)))
    };
    parts(schema, DEEPEST).into_iter().flat_map(below)
}

/// A schema, those that it refers to, and those that it is put together from.
fn parts(schema: SchemaNode<'_>, depth: usize) -> Vec<SchemaNode<'_>> {
    if schema.map().is_none() || depth == 0 {
        return Vec::new();
    }
    let inner = schema.parts(&["allOf", "anyOf", "oneOf"]).flat_map(|part| parts(part, depth - 1));
    std::iter::once(schema).chain(inner).collect()
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
