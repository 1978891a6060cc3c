//! Assertions about JSON in a text: a value at a path, or a schema that has to hold.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::{Found, Pattern, clip};
use crate::json::Pointer;
use crate::json::pointer::join;

/// What has to hold for the JSON of a text.
#[derive(Debug, Clone)]
pub(crate) enum JsonCheck {
    Path { path: String, pointer: Pointer, value: Wanted },
    Schema(Schema),
}

/// What a value has to be.
#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    Present,
    Equals(Value),
    Matches(Pattern),
    Count(u64),
}

/// A compiled JSON Schema.
#[derive(Clone)]
pub(crate) struct Schema(Arc<jsonschema::Validator>);

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Schema")
    }
}

impl Schema {
    pub(super) fn compile(schema: &Value) -> Result<Self, String> {
        jsonschema::validator_for(schema)
            .map(|validator| Self(Arc::new(validator)))
            .map_err(|error| format!("not a JSON Schema: {error}"))
    }

    pub(super) fn holds(&self, value: &Value) -> bool {
        self.0.is_valid(value)
    }
}

/// A path in either spelling: a JSON pointer with `*`, or `$.a.b[0]` and `$.a[*]`.
pub(super) fn pointer(path: &str) -> Result<Pointer, String> {
    let Some(rest) = path.strip_prefix('$') else { return Pointer::parse(path) };
    let mut text = String::new();
    let mut rest = rest;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let end = inner.find(']').ok_or_else(|| format!("`{path}` has a bracket that does not end"))?;
            text = join(&text, inner[..end].trim_matches(['\'', '"']));
            rest = &inner[end + 1..];
        } else if let Some(inner) = rest.strip_prefix('.') {
            let end = inner.find(['.', '[']).unwrap_or(inner.len());
            if end == 0 {
                return Err(format!("`{path}` has an empty step; `..` and filters are not known"));
            }
            text = join(&text, &inner[..end]);
            rest = &inner[end..];
        } else {
            return Err(format!("`{path}`: expected `.` or `[` after `$`"));
        }
    }
    Pointer::parse(&text)
}

/// The JSON of a text: all of it, or else what stands in its first fence that holds JSON.
fn parse(text: &str) -> Option<Value> {
    if let Ok(value) = serde_json::from_str(text.trim()) {
        return Some(value);
    }
    let mut parts = text.split("```");
    parts.next();
    parts.step_by(2).find_map(|block| {
        let body = block.split_once('\n').map_or(block, |(_, body)| body);
        serde_json::from_str(body.trim()).ok()
    })
}

impl JsonCheck {
    pub(super) fn find(&self, text: &str) -> Found {
        let Some(document) = parse(text) else {
            return Found::when(false, format!("no JSON in {}", clip(text)));
        };
        match self {
            Self::Schema(Schema(validator)) => match validator.iter_errors(&document).next() {
                None => Found::when(true, "valid"),
                Some(error) => {
                    let place = error.instance_path().to_string();
                    let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
                    Found::when(false, format!("{place}{error}"))
                }
            },
            Self::Path { pointer, value: wanted, .. } => {
                let mut values = Vec::new();
                pointer.visit((&document).into(), &mut |value, _| {
                    values.push(value.to_value().into_owned());
                    true
                });
                let branches = if pointer.is_many() { branches(&document, pointer.text()) } else { 1 };
                wanted.find(&values, branches)
            }
        }
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Self::Schema(_) => "its JSON fits the schema".into(),
            Self::Path { path, value, .. } => match value {
                Wanted::Present => format!("its JSON has {path}"),
                Wanted::Equals(value) => format!("{path} of its JSON is {value}"),
                Wanted::Matches(pattern) => format!("{path} of its JSON matches /{}/", pattern.text()),
                Wanted::Count(count) => format!("its JSON has at least {count} of {path}"),
            },
        }
    }
}

impl Wanted {
    /// Holds it against the values that are there; `branches` says how many there could be. What is asked is asked of all of
    /// them, and of one at least.
    fn find(&self, values: &[Value], branches: usize) -> Found {
        let holds = |value: &Value| match self {
            Self::Present | Self::Count(_) => true,
            Self::Equals(wanted) => value == wanted,
            Self::Matches(pattern) => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                pattern.find(&text).is_ok_and(|found| found.is_some())
            }
        };
        if let Self::Count(least) = self {
            return Found::when(values.len() as u64 >= *least, format!("{} found", values.len()));
        }
        let Some(first) = values.first() else { return Found::when(false, "nothing there") };
        if values.len() < branches {
            return Found::when(false, format!("{} of {branches} have it", values.len()));
        }
        let wrong = values.iter().find(|value| !holds(value));
        Found::when(wrong.is_none(), clip(&wrong.unwrap_or(first).to_string()))
    }
}

/// In how many places a path with `*` could lead somewhere: so many members do those have that its stars stand for.
fn branches(value: &Value, path: &str) -> usize {
    let star = path.split_once("/*").filter(|(_, after)| after.is_empty() || after.starts_with('/'));
    let Some((before, after)) = star else { return 1 };
    let Some(many) = value.pointer(before) else { return 1 };
    match many {
        Value::Array(items) => items.iter().map(|item| branches(item, after)).sum(),
        Value::Object(members) => members.values().map(|item| branches(item, after)).sum(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::assertion::Answer;
    use serde_json::json;

    #[test]
    fn json_is_found_in_a_text_and_by_either_kind_of_path() {
        let text = "Here it is:\n```json\n{\"a\": [{\"b\": 1}, {\"b\": 2}]}\n```\nDone.";
        let check = |path: &str, value| {
            JsonCheck::Path { path: path.into(), pointer: pointer(path).unwrap(), value }.find(text)
        };
        assert_eq!(check("$.a[1].b", Wanted::Equals(json!(2))), Found::when(true, "\"2\""));
        assert_eq!(check("/a/*/b", Wanted::Count(2)), Found::when(true, "2 found"));
        assert_eq!(check("$.a[*].c", Wanted::Present), Found::when(false, "nothing there"));
        assert!(pointer("$..a").is_err() && pointer("a").is_err());
        // A star stands for all of them, and there has to be one.
        for (text, path, value, expected) in [
            (r#"[{"b": 1}, {"b": 1}]"#, "$[*].b", Wanted::Equals(json!(1)), true),
            (r#"[{"b": 1}, {"b": 2}]"#, "$[*].b", Wanted::Equals(json!(1)), false),
            (r#"[{"b": "x"}, {"b": "y"}]"#, "$[*].b", Wanted::Matches(Pattern::parse("^x$").unwrap()), false),
            (r#"[{"b": 1}, {"c": 1}]"#, "$[*].b", Wanted::Present, false),
            (r#"[{"b": 1}, {"c": 1}]"#, "$[*].b", Wanted::Count(1), true),
            (r#"{"a": [{"b": [1, 1]}, {"b": []}]}"#, "$.a[*].b[*]", Wanted::Equals(json!(1)), true),
            (r#"{"a": []}"#, "$.a[*].b", Wanted::Present, false),
            (r#"{"a": {"x": {"b": 1}, "y": 2}}"#, "/a/*/b", Wanted::Present, false),
        ] {
            let check = JsonCheck::Path { path: path.into(), pointer: pointer(path).unwrap(), value };
            assert_eq!(
                check.find(text),
                Found { status: if expected { Answer::Pass } else { Answer::Fail }, ..check.find(text) },
                "{text} {path}"
            );
        }
    }
}
