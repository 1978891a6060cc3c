//! Which values of a message can be held against something, and what each of them is.

use serde_json::Value;

/// What a value is, which says how it can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// What somebody said.
    Text,
    /// One word of a vocabulary, or a name.
    Word,
    Id,
    Count,
    Money,
    Millis,
    Flag,
    /// Data of the user's own shape: the input of a tool, an output that fits a schema.
    Data,
    /// A list of which something can be missing.
    List,
}

/// What only the program knows: nothing that was asked, served or said elsewhere can tell whether it is true.
/// A member of this name is left alone wherever it is.
const OWN: &[&str] = &[
    // What kind of message it is: another kind is another shape.
    "type",
    "subtype",
    "role",
    "object",
    // Made up for each message.
    "uuid",
    "timestamp",
    "request_id",
    "run_id",
    "end_time",
    "signature",
    "estimated_tokens",
    "estimated_tokens_delta",
    // Settings and inventory of the installation.
    "slash_commands",
    "terminal_slash_commands",
    "agents",
    "skills",
    "plugins",
    "capabilities",
    "mcp_servers",
    "output_style",
    "additional_directories",
    "fast_mode_disabled_reason",
    "messaging_socket_path",
    "per_turn_effort_active",
    "ultrathink_available",
    "ultrathink_typed_raises",
    "view_mode",
    "memory_paths",
    // Its own book-keeping.
    "context_management",
    "inference_geo",
    "iterations",
    "fallback_credit",
    "contextWindow",
    "tool_result_meta",
    "output_file",
    "spawn_depth",
    "retry_delay_ms",
    "max_retries",
    "is_backgrounded",
    "task_type",
    "stop_sequence",
    "stop_details",
    "thinking_display",
    "tasks",
    // Its own words about a failure, and its own details about a tool and a task.
    "errors",
    "canContinueAgent",
    "harnessNoteCount",
    "harnessSectionHash",
    "harnessTailCount",
    "noOutputExpected",
    "totalDurationMs",
    "total_tokens",
    "tool_uses",
];

/// The same of places that only their whole path tells apart.
const OWN_PATHS: &[&[&str]] = &[&["tool_use_result", "status"]];

/// What the value at this path is; none when it is not to be changed. The path has the names of members, and `*` for
/// an element of a list or a member whose name is a value.
pub(super) fn sort(path: &[&str], value: &Value) -> Option<Sort> {
    let name = path.iter().rev().find(|step| **step != "*").copied().unwrap_or_default();
    let is_own_path = OWN_PATHS.iter().any(|own| path.starts_with(own));
    if is_own_path || path.iter().any(|step| OWN.contains(step)) {
        return None;
    }
    if ["input", "tool_input", "structured_output"].contains(&name) {
        return value.as_object().is_some_and(|data| !data.is_empty()).then_some(Sort::Data);
    }
    match value {
        Value::String(text) if text.is_empty() => None,
        Value::String(_) if name == "id" || name.ends_with("_id") => Some(Sort::Id),
        Value::String(text) if text.contains(char::is_whitespace) => Some(Sort::Text),
        Value::String(_) if ["text", "result", "thinking", "content", "partial_json"].contains(&name) => {
            Some(Sort::Text)
        }
        Value::String(_) => Some(Sort::Word),
        Value::Number(_) if name.ends_with("_ms") => Some(Sort::Millis),
        Value::Number(_) if name.ends_with("USD") || name.ends_with("_usd") => Some(Sort::Money),
        Value::Number(_) => Some(Sort::Count),
        Value::Bool(_) => Some(Sort::Flag),
        Value::Array(list) if !list.is_empty() && path.last() != Some(&"*") => Some(Sort::List),
        _ => None,
    }
}
