//! `contract diff`: each kind of change with its effect, and an example that proves it.

use std::path::Path;

use serde_json::{Value, json};

use crate::command::{ROOT, clawgate, said};
use crate::files;

/// The error envelope that every case starts from.
fn envelope() -> Value {
    json!({
        "type": "object",
        "required": ["type", "kind", "error"],
        "properties": {
            "type": {"const": "error"},
            "kind": {"enum": ["parse", "session"]},
            "error": {"type": "string"},
            "hint": {"type": ["string", "null"]},
            "when": {"type": "string", "format": "date-time"},
            "origin": {"type": "string", "x-extensible-enum": ["cli"]},
            "usage": {"$ref": "usage.schema.json"},
        }
    })
}

fn usage() -> Value {
    json!({"type": "object", "required": ["tokens"], "properties": {"tokens": {"type": "integer", "minimum": 0}}})
}

fn write(directory: &Path, envelope: &Value, usage: &Value) {
    files::write(directory, "error.schema.json", envelope.to_string());
    files::write(directory, "usage.schema.json", usage.to_string());
}

/// The exit code and the lines of a comparison.
fn diff(change: impl Fn(&mut Value, &mut Value)) -> (Option<i32>, Vec<Value>) {
    let directory = tempfile::tempdir().unwrap();
    let (mut new, mut new_usage) = (envelope(), usage());
    change(&mut new, &mut new_usage);
    write(&directory.path().join("old"), &envelope(), &usage());
    write(&directory.path().join("new"), &new, &new_usage);
    said(clawgate(directory.path()).args(["contract", "diff", "old", "new", "--format", "json"]))
}

/// Whether a change was found with this effect, and whether it is proven by an example.
fn found(lines: &[Value], kind: &str, effect: &str) -> Option<Value> {
    lines.iter().find(|line| line["kind"] == kind && line["effect"] == effect).cloned()
}

#[test]
fn the_same_contract_has_no_changes() {
    let (code, lines) = diff(|_, _| {});
    assert_eq!((code, lines.len()), (Some(0), 1), "{lines:?}");
}

#[test]
fn what_a_reader_cannot_read_is_breaking_and_shown() {
    type Edit = fn(&mut Value, &mut Value);
    let cases: [(&str, &str, Edit); 8] = [
        ("enum-value-added", "/kind", |new, _| {
            new["properties"]["kind"]["enum"] = json!(["parse", "session", "mcp"]);
        }),
        ("required-field-dropped", "/error", |new, _| new["required"] = json!(["type", "kind"])),
        ("type-widened", "/error", |new, _| new["properties"]["error"] = json!({"type": "object"})),
        ("limit-loosened", "/usage/tokens", |_, usage| {
            usage["properties"]["tokens"] = json!({"type": "integer"});
        }),
        ("type-widened", "/usage/tokens", |_, usage| usage["properties"]["tokens"]["type"] = json!("number")),
        ("format-dropped", "/when", |new, _| new["properties"]["when"] = json!({"type": "string"})),
        ("enum-dropped", "/type", |new, _| new["properties"]["type"] = json!({"type": "string"})),
        ("required-field-removed", "/error", |new, _| {
            new["required"] = json!(["type", "kind"]);
            new["properties"].as_object_mut().unwrap().remove("error");
        }),
    ];
    for (kind, pointer, edit) in cases {
        let (code, lines) = diff(edit);
        let change = found(&lines, kind, "breaking").unwrap_or_else(|| panic!("{kind} is not in {lines:?}"));
        assert_eq!(change["pointer"], pointer, "{kind}");
        assert!(!change["counter_example"].is_null(), "{kind} has no example: {change}");
        assert_eq!(code, Some(100), "{kind}");
    }
}

#[test]
fn what_every_reader_can_read_is_additive() {
    type Edit = fn(&mut Value, &mut Value);
    let cases: [(&str, Edit); 5] = [
        ("field-added", |new, _| new["properties"]["retryable"] = json!({"type": "boolean"})),
        ("enum-value-removed", |new, _| new["properties"]["kind"]["enum"] = json!(["parse"])),
        ("type-narrowed", |new, _| new["properties"]["hint"]["type"] = json!("string")),
        ("field-promised", |new, _| new["required"] = json!(["type", "kind", "error", "hint"])),
        ("open-enum-value-added", |new, _| {
            new["properties"]["origin"]["x-extensible-enum"] = json!(["cli", "mcp"]);
        }),
    ];
    for (kind, edit) in cases {
        let (code, lines) = diff(edit);
        assert!(found(&lines, kind, "additive").is_some(), "{kind} is not in {lines:?}");
        assert_eq!(code, Some(0), "{kind}: {lines:?}");
    }
}

#[test]
fn the_policy_of_the_contract_names_the_bump() {
    let (code, lines) =
        said(clawgate(ROOT).args(["contract", "diff", "claw-1.0", "claw-2.0", "--format", "json"]));
    let summary = lines.last().unwrap();
    assert_eq!(summary["bump"], "major");
    assert_eq!(summary["version_at"], "/schema_version");
    assert_eq!(code, Some(100));
}
