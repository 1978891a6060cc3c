//! The structural rules: which keyword changed, and what that means for a reader.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::super::schemas::Schemas;
use super::{Change, Effect};

/// The changes of one schema file, rule by rule.
pub(super) fn changes(name: &str, old: &Schemas, new: &Schemas) -> Vec<Change> {
    let mut walk = Walk { file: name, old, new, changes: Vec::new() };
    if let (Ok(a), Ok(b)) = (old.part(name), new.part(name)) {
        walk.compare((name, a), (name, b), &mut String::new(), 16);
    }
    walk.changes
}

struct Walk<'w> {
    file: &'w str,
    old: &'w Schemas,
    new: &'w Schemas,
    changes: Vec<Change>,
}

type At<'w> = (&'w str, &'w Value);

/// Follows references until there is none.
fn resolve<'w>(schemas: &'w Schemas, mut at: At<'w>) -> At<'w> {
    for _ in 0..16 {
        let Some(next) = at.1.get("$ref").and_then(Value::as_str).and_then(|to| schemas.follow(at.0, to))
        else {
            break;
        };
        at = next;
    }
    at
}

fn names(schema: &Map<String, Value>, keyword: &str) -> BTreeSet<String> {
    let list = schema.get(keyword).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_string).collect()
}

/// The types that a schema allows; none means any.
fn types(schema: &Map<String, Value>) -> Option<BTreeSet<String>> {
    match schema.get("type")? {
        Value::String(one) => Some(BTreeSet::from([one.clone()])),
        _ => Some(names(schema, "type")),
    }
}

impl<'w> Walk<'w> {
    fn push(&mut self, kind: &'static str, effect: Effect, pointer: &str, message: String) {
        let place = self.file.to_string();
        self.changes.push(Change {
            kind,
            effect,
            place,
            pointer: pointer.to_string(),
            message,
            counter_example: None,
        });
    }

    fn compare(&mut self, old: At<'w>, new: At<'w>, pointer: &mut String, depth: usize) {
        let (old, new) = (resolve(self.old, old), resolve(self.new, new));
        let (Some(a), Some(b)) = (old.1.as_object(), new.1.as_object()) else { return };
        if depth == 0 || a == b && !old.1.to_string().contains("$ref") {
            return;
        }
        self.compare_types(a, b, pointer);
        self.compare_values(a, b, pointer);
        self.compare_limits(a, b, pointer);
        self.compare_fields((old.0, a), (new.0, b), pointer, depth);
        if let (Some(x), Some(y)) = (a.get("items"), b.get("items")) {
            let length = pointer.len();
            pointer.push_str("/*");
            self.compare((old.0, x), (new.0, y), pointer, depth - 1);
            pointer.truncate(length);
        }
    }

    fn compare_types(&mut self, a: &Map<String, Value>, b: &Map<String, Value>, pointer: &str) {
        let shown = |types: &Option<BTreeSet<String>>| {
            types
                .as_ref()
                .map_or("any type".into(), |types| types.iter().cloned().collect::<Vec<_>>().join(" or "))
        };
        let (old, new) = (types(a), types(b));
        if old == new {
            return;
        }
        let inside = |new: &BTreeSet<String>, old: &BTreeSet<String>| {
            new.iter().all(|name| old.contains(name) || (name == "integer" && old.contains("number")))
        };
        // What an enum or a constant allows needs no type.
        let narrow = b.contains_key("enum") || b.contains_key("const");
        let widened = match (&old, &new) {
            (Some(old), Some(new)) => !inside(new, old),
            (Some(_), None) => !narrow,
            _ => false,
        };
        let text = format!("{} becomes {}", shown(&old), shown(&new));
        if widened {
            self.push("type-widened", Effect::Breaking, pointer, text);
        } else {
            self.push("type-narrowed", Effect::Additive, pointer, text);
        }
    }

    fn compare_values(&mut self, a: &Map<String, Value>, b: &Map<String, Value>, pointer: &str) {
        let list = |schema: &Map<String, Value>| match (schema.get("const"), schema.get("enum")) {
            (Some(value), _) => Some(vec![value.clone()]),
            (None, Some(Value::Array(values))) => Some(values.clone()),
            _ => None,
        };
        match (list(a), list(b)) {
            (Some(old), Some(new)) => {
                for value in new.iter().filter(|value| !old.contains(value)) {
                    let text = format!("{value} is allowed now, which no reader expects");
                    self.push("enum-value-added", Effect::Breaking, pointer, text);
                }
                for value in old.iter().filter(|value| !new.contains(value)) {
                    self.push(
                        "enum-value-removed",
                        Effect::Additive,
                        pointer,
                        format!("{value} is not used any more"),
                    );
                }
            }
            (Some(_), None) => {
                self.push("enum-dropped", Effect::Breaking, pointer, "any value is allowed now".into());
            }
            (None, Some(_)) => {
                self.push("enum-introduced", Effect::Additive, pointer, "only some values are left".into());
            }
            (None, None) => {}
        }
        let (old, new) = (names(a, "x-extensible-enum"), names(b, "x-extensible-enum"));
        for value in new.difference(&old) {
            let text = format!("`{value}` joins an open set, whose readers must expect new values");
            self.push("open-enum-value-added", Effect::Additive, pointer, text);
        }
        for value in old.difference(&new) {
            self.push(
                "open-enum-value-removed",
                Effect::Additive,
                pointer,
                format!("`{value}` leaves an open set"),
            );
        }
    }

    fn compare_limits(&mut self, a: &Map<String, Value>, b: &Map<String, Value>, pointer: &str) {
        for keyword in ["minimum", "minLength", "minItems", "maximum", "maxLength", "maxItems"] {
            let (old, new) = (a.get(keyword).and_then(Value::as_f64), b.get(keyword).and_then(Value::as_f64));
            let looser = match (old, new) {
                (Some(old), Some(new)) if keyword.starts_with("min") => new < old,
                (Some(old), Some(new)) => new > old,
                (Some(_), None) => true,
                _ => false,
            };
            if looser {
                self.push("limit-loosened", Effect::Breaking, pointer, format!("`{keyword}` is looser now"));
            } else if old != new {
                self.push(
                    "limit-tightened",
                    Effect::Additive,
                    pointer,
                    format!("`{keyword}` is tighter now"),
                );
            }
        }
        // To the algebra a format is only a comment, so this rule is the only one that speaks for it.
        match (a.get("format"), b.get("format")) {
            (Some(old), new) if new != Some(old) => {
                self.push(
                    "format-dropped",
                    Effect::Breaking,
                    pointer,
                    format!("the format {old} is not promised any more"),
                );
            }
            (None, Some(new)) => {
                self.push(
                    "format-introduced",
                    Effect::Additive,
                    pointer,
                    format!("the format {new} is promised now"),
                );
            }
            _ => {}
        }
        match (a.get("pattern"), b.get("pattern")) {
            (Some(_), None) => {
                self.push("pattern-dropped", Effect::Breaking, pointer, "any text is allowed now".into());
            }
            (Some(old), Some(new)) if old != new => {
                self.push("pattern-changed", Effect::Undecided, pointer, format!("{old} becomes {new}"));
            }
            (None, Some(_)) => {
                self.push("pattern-introduced", Effect::Additive, pointer, "the text has a form now".into());
            }
            _ => {}
        }
    }

    fn compare_fields(
        &mut self,
        old: (&'w str, &'w Map<String, Value>),
        new: (&'w str, &'w Map<String, Value>),
        pointer: &mut String,
        depth: usize,
    ) {
        fn fields(schema: &Map<String, Value>) -> Option<&Map<String, Value>> {
            schema.get("properties").and_then(Value::as_object)
        }
        let (old_required, new_required) = (names(old.1, "required"), names(new.1, "required"));
        let new_fields = fields(new.1);
        let new_field = |name: &str| new_fields.and_then(|fields| fields.get(name));
        let at =
            |pointer: &str, name: &str| format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
        for name in old_required.difference(&new_required) {
            let gone = new_field(name).is_none();
            let text = if gone { "is gone" } else { "may be missing now" };
            let kind = if gone { "required-field-removed" } else { "required-field-dropped" };
            self.push(kind, Effect::Breaking, &at(pointer, name), format!("`{name}` {text}"));
        }
        for (name, schema) in fields(old.1).into_iter().flatten() {
            let place = at(pointer, name);
            match new_field(name) {
                Some(other) => {
                    let length = pointer.len();
                    *pointer = place;
                    self.compare((old.0, schema), (new.0, other), pointer, depth - 1);
                    pointer.truncate(length);
                }
                None if !old_required.contains(name) => {
                    let text = format!("the optional field `{name}` is not described any more");
                    self.push("optional-field-removed", Effect::Undecided, &place, text);
                }
                None => {}
            }
        }
        let added = new_fields.into_iter().flat_map(Map::keys);
        for name in added.filter(|name| fields(old.1).is_none_or(|fields| !fields.contains_key(*name))) {
            let closed = old.1.get("additionalProperties") == Some(&Value::Bool(false));
            let effect = if closed { Effect::Breaking } else { Effect::Additive };
            let kind = if closed { "field-added-to-closed-object" } else { "field-added" };
            self.push(kind, effect, &at(pointer, name), format!("`{name}` is new"));
        }
        for name in new_required
            .difference(&old_required)
            .filter(|name| fields(old.1).is_some_and(|f| f.contains_key(*name)))
        {
            self.push(
                "field-promised",
                Effect::Additive,
                &at(pointer, name),
                format!("`{name}` is always there now"),
            );
        }
        let closed =
            |schema: &Map<String, Value>| schema.get("additionalProperties") == Some(&Value::Bool(false));
        if closed(old.1) && !closed(new.1) {
            self.push("object-opened", Effect::Breaking, pointer, "unknown fields are allowed now".into());
        }
    }
}
