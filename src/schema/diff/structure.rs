//! The structural rules: which keyword changed, and what that means for a reader.

use std::collections::BTreeSet;
use std::fmt::Display;

use serde_json::Value;

use super::super::schemas::{SchemaNode, Schemas};
use super::{Change, Effect};
use crate::json::pointer::join;

/// The changes of one schema file, rule by rule.
pub(super) fn changes(name: &str, old: &Schemas, new: &Schemas) -> Vec<Change> {
    let mut walk = Walk { file: name, changes: Vec::new() };
    if let (Some(old), Some(new)) = (old.node(name), new.node(name)) {
        walk.compare(old, new, "", 16);
    }
    walk.changes
}

struct Walk<'w> {
    file: &'w str,
    changes: Vec<Change>,
}

fn names(schema: SchemaNode<'_>, keyword: &str) -> BTreeSet<String> {
    schema.names(keyword).map(str::to_string).collect()
}

/// The types that a schema allows; none means any.
fn types(schema: SchemaNode<'_>) -> Option<BTreeSet<String>> {
    match schema.get("type")? {
        Value::String(one) => Some(BTreeSet::from([one.clone()])),
        _ => Some(names(schema, "type")),
    }
}

/// The values that a constant or an enum allows; none means any.
fn values(schema: SchemaNode<'_>) -> Option<&[Value]> {
    let list = || schema.get("enum").and_then(Value::as_array).map(Vec::as_slice);
    schema.get("const").map(std::slice::from_ref).or_else(list)
}

impl Walk<'_> {
    fn push(&mut self, kind: &'static str, effect: Effect, pointer: &str, message: impl Display) {
        self.changes.push(Change::new(kind, effect, self.file, pointer, message));
    }

    fn breaking(&mut self, kind: &'static str, pointer: &str, message: impl Display) {
        self.push(kind, Effect::Breaking, pointer, message);
    }

    fn additive(&mut self, kind: &'static str, pointer: &str, message: impl Display) {
        self.push(kind, Effect::Additive, pointer, message);
    }

    fn compare(&mut self, old: SchemaNode<'_>, new: SchemaNode<'_>, pointer: &str, depth: usize) {
        let (old, new) = (old.resolved(), new.resolved());
        let (Some(a), Some(b)) = (old.map(), new.map()) else { return };
        // What is written the same is the same, unless it refers to something.
        if depth == 0 || a == b && !a.values().any(|value| value.to_string().contains("$ref")) {
            return;
        }
        self.compare_types(old, new, pointer);
        self.compare_values(old, new, pointer);
        self.compare_limits(old, new, pointer);
        self.compare_fields(old, new, pointer, depth);
        if let (Some(old), Some(new)) = (old.inner("items"), new.inner("items")) {
            self.compare(old, new, &format!("{pointer}/*"), depth - 1);
        }
    }

    fn compare_types(&mut self, a: SchemaNode<'_>, b: SchemaNode<'_>, pointer: &str) {
        let shown = |types: &Option<BTreeSet<String>>| match types {
            Some(types) => types.iter().map(String::as_str).collect::<Vec<_>>().join(" or "),
            None => "any type".into(),
        };
        let (old, new) = (types(a), types(b));
        if old == new {
            return;
        }
        let inside = |new: &BTreeSet<String>, old: &BTreeSet<String>| {
            new.iter().all(|name| old.contains(name) || (name == "integer" && old.contains("number")))
        };
        let widened = match (&old, &new) {
            (Some(old), Some(new)) => !inside(new, old),
            // What an enum or a constant allows needs no type.
            (Some(_), None) => b.get("enum").or(b.get("const")).is_none(),
            _ => false,
        };
        let text = format!("{} becomes {}", shown(&old), shown(&new));
        if widened {
            self.breaking("type-widened", pointer, text);
        } else {
            self.additive("type-narrowed", pointer, text);
        }
    }

    fn compare_values(&mut self, a: SchemaNode<'_>, b: SchemaNode<'_>, pointer: &str) {
        match (values(a), values(b)) {
            (Some(old), Some(new)) => {
                for value in new.iter().filter(|value| !old.contains(value)) {
                    let text = format!("{value} is allowed now, which no reader expects");
                    self.breaking("enum-value-added", pointer, text);
                }
                for value in old.iter().filter(|value| !new.contains(value)) {
                    self.additive("enum-value-removed", pointer, format!("{value} is not used any more"));
                }
            }
            (Some(_), None) => self.breaking("enum-dropped", pointer, "any value is allowed now"),
            (None, Some(_)) => self.additive("enum-introduced", pointer, "only some values are left"),
            (None, None) => {}
        }
        let (old, new) = (names(a, "x-extensible-enum"), names(b, "x-extensible-enum"));
        for value in new.difference(&old) {
            let text = format!("`{value}` joins an open set, whose readers must expect new values");
            self.additive("open-enum-value-added", pointer, text);
        }
        for value in old.difference(&new) {
            self.additive("open-enum-value-removed", pointer, format!("`{value}` leaves an open set"));
        }
    }

    fn compare_limits(&mut self, a: SchemaNode<'_>, b: SchemaNode<'_>, pointer: &str) {
        for keyword in ["minimum", "minLength", "minItems", "maximum", "maxLength", "maxItems"] {
            let limit = |schema: SchemaNode<'_>| schema.get(keyword).and_then(Value::as_f64);
            let (old, new) = (limit(a), limit(b));
            let looser = match (old, new) {
                (Some(old), Some(new)) if keyword.starts_with("min") => new < old,
                (Some(old), Some(new)) => new > old,
                (Some(_), None) => true,
                _ => false,
            };
            if looser {
                self.breaking("limit-loosened", pointer, format!("`{keyword}` is looser now"));
            } else if old != new {
                self.additive("limit-tightened", pointer, format!("`{keyword}` is tighter now"));
            }
        }
        // To the algebra a format is only a comment, so this rule is the only one that speaks for it.
        match (a.get("format"), b.get("format")) {
            (Some(old), new) if new != Some(old) => {
                self.breaking(
                    "format-dropped",
                    pointer,
                    format!("the format {old} is not promised any more"),
                );
            }
            (None, Some(new)) => {
                self.additive("format-introduced", pointer, format!("the format {new} is promised now"));
            }
            _ => {}
        }
        match (a.get("pattern"), b.get("pattern")) {
            (Some(_), None) => self.breaking("pattern-dropped", pointer, "any text is allowed now"),
            (Some(old), Some(new)) if old != new => {
                self.push("pattern-changed", Effect::Undecided, pointer, format!("{old} becomes {new}"));
            }
            (None, Some(_)) => self.additive("pattern-introduced", pointer, "the text has a form now"),
            _ => {}
        }
    }

    fn compare_fields(&mut self, old: SchemaNode<'_>, new: SchemaNode<'_>, pointer: &str, depth: usize) {
        let (was_required, is_required) = (names(old, "required"), names(new, "required"));
        let is_closed =
            |schema: SchemaNode<'_>| schema.get("additionalProperties") == Some(&Value::Bool(false));
        for name in was_required.difference(&is_required) {
            let (kind, text) = match new.property(name) {
                Some(_) => ("required-field-dropped", "may be missing now"),
                None => ("required-field-removed", "is gone"),
            };
            self.breaking(kind, &join(pointer, name), format!("`{name}` {text}"));
        }
        for (name, schema) in old.properties() {
            let place = join(pointer, name);
            match new.property(name) {
                Some(other) => self.compare(schema, other, &place, depth - 1),
                None if !was_required.contains(name) => {
                    let text = format!("the optional field `{name}` is not described any more");
                    self.push("optional-field-removed", Effect::Undecided, &place, text);
                }
                None => {}
            }
        }
        for (name, _) in new.properties().filter(|(name, _)| old.property(name).is_none()) {
            let (place, text) = (join(pointer, name), format!("`{name}` is new"));
            if is_closed(old) {
                self.breaking("field-added-to-closed-object", &place, text);
            } else {
                self.additive("field-added", &place, text);
            }
        }
        for name in is_required.difference(&was_required).filter(|name| old.property(name).is_some()) {
            self.additive("field-promised", &join(pointer, name), format!("`{name}` is always there now"));
        }
        if is_closed(old) && !is_closed(new) {
            self.breaking("object-opened", pointer, "unknown fields are allowed now");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What the rules say of a change from one schema to the other: kind, effect and place.
    fn told(old: &Value, new: &Value) -> Vec<String> {
        let read =
            |schema: &Value| Schemas::read([("s".to_owned(), "s".to_owned(), schema.to_string())]).unwrap();
        let line = |change: Change| format!("{:?} {} {}", change.effect, change.kind, change.pointer);
        changes("s", &read(old), &read(new)).into_iter().map(line).collect()
    }

    #[test]
    fn each_rule_names_its_change_in_both_directions() {
        let field = |schema: Value| json!({"properties": {"a": schema}});
        for (old, new, there, back) in [
            (
                json!({"type": "integer"}),
                json!({"type": "number"}),
                "Breaking type-widened /a",
                "Additive type-narrowed /a",
            ),
            (json!({"type": "string"}), json!({}), "Breaking type-widened /a", "Additive type-narrowed /a"),
            (
                json!({"enum": [1]}),
                json!({"enum": [1, 2]}),
                "Breaking enum-value-added /a",
                "Additive enum-value-removed /a",
            ),
            (json!({"const": 1}), json!({}), "Breaking enum-dropped /a", "Additive enum-introduced /a"),
            (
                json!({"x-extensible-enum": []}),
                json!({"x-extensible-enum": ["x"]}),
                "Additive open-enum-value-added /a",
                "Additive open-enum-value-removed /a",
            ),
            (
                json!({"minimum": 1}),
                json!({"minimum": 0}),
                "Breaking limit-loosened /a",
                "Additive limit-tightened /a",
            ),
            (json!({"maxItems": 1}), json!({}), "Breaking limit-loosened /a", "Additive limit-tightened /a"),
            (
                json!({"format": "uuid"}),
                json!({}),
                "Breaking format-dropped /a",
                "Additive format-introduced /a",
            ),
            (
                json!({"pattern": "x"}),
                json!({}),
                "Breaking pattern-dropped /a",
                "Additive pattern-introduced /a",
            ),
            (
                json!({"pattern": "x"}),
                json!({"pattern": "y"}),
                "Undecided pattern-changed /a",
                "Undecided pattern-changed /a",
            ),
            (
                json!({"items": {"type": "null"}}),
                json!({"items": {}}),
                "Breaking type-widened /a/*",
                "Additive type-narrowed /a/*",
            ),
            (
                json!({"properties": {"b/c": {}}}),
                json!({}),
                "Undecided optional-field-removed /a/b~1c",
                "Additive field-added /a/b~1c",
            ),
            (json!({"additionalProperties": false}), json!({}), "Breaking object-opened /a", ""),
        ] {
            let (old, new) = (field(old), field(new));
            assert_eq!(told(&old, &new), [there], "{old} {new}");
            assert_eq!(told(&new, &old).join(", "), back, "{new} {old}");
            assert_eq!(told(&old, &old), [""; 0]);
        }
    }

    #[test]
    fn a_promised_field_may_be_lost_in_two_ways() {
        let old = json!({"required": ["a"], "properties": {"a": {}}});
        assert_eq!(told(&old, &json!({})), ["Breaking required-field-removed /a"]);
        let optional = json!({"properties": {"a": {}}});
        assert_eq!(told(&old, &optional), ["Breaking required-field-dropped /a"]);
        assert_eq!(told(&optional, &old), ["Additive field-promised /a"]);
        let closed = json!({"additionalProperties": false});
        let more = json!({"additionalProperties": false, "properties": {"a": {}}});
        assert_eq!(told(&closed, &more), ["Breaking field-added-to-closed-object /a"]);
    }

    #[test]
    fn what_a_reference_leads_to_is_compared() {
        let with = |part: Value| json!({"$defs": {"x": part}, "properties": {"a": {"$ref": "#/$defs/x"}}});
        let changes = told(&with(json!({"type": "null"})), &with(json!({"type": "string"})));
        assert_eq!(changes, ["Breaking type-widened /a"]);
    }
}
