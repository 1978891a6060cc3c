//! Assertions about tool calls.

use serde_json::Value;

use super::{Found, Pattern};
use crate::eval::observed::{CallAnswer, Observed, ToolCall};
use crate::text::glob;

/// What has to hold for the tool calls of a trial.
#[derive(Debug, Clone)]
pub(crate) enum ToolCheck {
    /// Calls of a tool, between so many and so many.
    Calls { which: Which, least: u64, most: Option<u64> },
    /// These tools, in this order, whatever stands between them.
    Order(Vec<String>),
}

/// Which calls are meant.
#[derive(Debug, Clone)]
pub(crate) struct Which {
    /// The tool; any without it. A `*` at the end stands for anything.
    pub(super) tool: Option<String>,
    /// What its arguments hold at least.
    pub(super) input: Option<Value>,
    /// What its arguments match, as JSON text.
    pub(super) pattern: Option<Pattern>,
}

impl Which {
    fn holds(&self, call: &ToolCall) -> bool {
        self.tool.as_ref().is_none_or(|tool| glob(tool, &call.tool))
            && self.input.as_ref().is_none_or(|wanted| is_part(wanted, &call.input))
            && self.pattern.as_ref().is_none_or(|pattern| {
                let holds = |text: &str| pattern.find(text).is_ok_and(|found| found.is_some());
                holds(&call.input.to_string()) || any_text(&call.input, &holds)
            })
    }

    fn describe(&self) -> String {
        let mut text = self.tool.clone().unwrap_or_else(|| "any tool".into());
        if let Some(input) = &self.input {
            text = format!("{text} with {input}");
        }
        if let Some(pattern) = &self.pattern {
            text = format!("{text} with arguments like /{}/", pattern.text());
        }
        text
    }
}

/// Whether one of the texts in some arguments is such a one. An author who writes `^rm ` thinks of the command, and not of the
/// JSON around it.
fn any_text(value: &Value, holds: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => holds(text),
        Value::Array(items) => items.iter().any(|item| any_text(item, holds)),
        Value::Object(members) => members.values().any(|member| any_text(member, holds)),
        _ => false,
    }
}

/// Why no tool can have this name; none where one may.
pub(super) fn no_tool(name: &str) -> Option<String> {
    if let Some((tool, _)) = name.split_once('(') {
        let tool = tool.trim();
        return Some(format!(
            "`{name}` is a rule of permissions, and no tool: write `{tool}`, and what its arguments hold as `input_pattern`"
        ));
    }
    let is_name = |c: char| c.is_alphanumeric() || "_-.:/*".contains(c);
    (name.is_empty() || !name.chars().all(is_name)).then(|| format!("no tool is called {name:?}"))
}

/// The tool that a name may stand for, where there is none of that name.
fn other_spelling<'o>(tool: &str, offered: &'o [String]) -> Option<&'o String> {
    if tool.contains('*') || offered.iter().any(|known| known == tool) {
        return None;
    }
    offered.iter().find(|known| known.eq_ignore_ascii_case(tool))
}

/// Whether everything in `wanted` is in `found`: members of objects, and other values as they are.
fn is_part(wanted: &Value, found: &Value) -> bool {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => {
            wanted.iter().all(|(key, value)| found.get(key).is_some_and(|found| is_part(value, found)))
        }
        (Value::Number(wanted), Value::Number(found)) => wanted.as_f64() == found.as_f64(),
        (wanted, found) => wanted == found,
    }
}

impl ToolCheck {
    pub(super) fn find(&self, observed: &Observed) -> Found {
        let is_whole = observed.call_count == observed.calls.len() as u64;
        let names = || {
            let mut names: Vec<&str> = observed.calls.iter().map(|call| call.tool.as_str()).collect();
            let more = names.len().saturating_sub(12);
            names.truncate(12);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            if names.is_empty() {
                "no tool was called".into()
            } else {
                format!("called: {}{more}", names.join(", "))
            }
        };
        match self {
            Self::Calls { which, least, most } => {
                let such = || observed.calls.iter().filter(|call| which.holds(call));
                // Used is what was done; tried is too much already where it must not be.
                let count = match most {
                    None => such().filter(|call| call.answer == CallAnswer::Done).count(),
                    Some(_) => such().filter(|call| call.answer != CallAnswer::Denied).count(),
                } as u64;
                // A name that the target has never heard of is never called.
                if let (0, Some(tool)) = (count, which.tool.as_ref().filter(|_| most.is_some()))
                    && let Some(meant) = other_spelling(tool, &observed.offered)
                {
                    return Found::unchecked(format!(
                        "the target has no tool `{tool}`, did you mean `{meant}`?"
                    ));
                }
                let too_many = most.is_some_and(|most| count > most);
                if !is_whole && !too_many && (count < *least || most.is_some()) {
                    return Found::unchecked(format!(
                        "{} calls are more than are looked at",
                        observed.call_count
                    ));
                }
                let undone = such().filter(|call| call.answer != CallAnswer::Done).count();
                let undone = match undone {
                    0 => String::new(),
                    undone => format!(", {undone} that failed, were denied or got no answer"),
                };
                Found::when(count >= *least && !too_many, format!("{count} such calls{undone}; {}", names()))
            }
            Self::Order(tools) => {
                let mut calls = observed.calls.iter().filter(|call| call.answer == CallAnswer::Done);
                let missing = tools.iter().find(|tool| !calls.any(|call| glob(tool, &call.tool)));
                match missing {
                    None => Found::when(true, names()),
                    Some(_) if !is_whole => Found::unchecked("more calls than are looked at"),
                    Some(tool) => Found::when(false, format!("no {tool} at its place; {}", names())),
                }
            }
        }
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Self::Calls { which, least: 0, most: Some(0) } => format!("does not call {}", which.describe()),
            Self::Calls { which, least: 0, most: Some(most) } => {
                format!("calls {} at most {most} times", which.describe())
            }
            Self::Calls { which, least, most: None } if *least <= 1 => format!("calls {}", which.describe()),
            Self::Calls { which, least, most: None } => {
                format!("calls {} at least {least} times", which.describe())
            }
            Self::Calls { which, least, most: Some(most) } => {
                format!("calls {} {least} to {most} times", which.describe())
            }
            Self::Order(tools) => format!("calls {} in this order", tools.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_are_compared_in_part() {
        let found = json!({"command": "ls -l", "options": {"a": 1, "b": [1, 2]}});
        assert!(is_part(&json!({"options": {"a": 1.0}}), &found));
        assert!(is_part(&json!({"options": {"b": [1, 2]}}), &found));
        assert!(!is_part(&json!({"options": {"b": [1]}}), &found));
        assert!(!is_part(&json!({"missing": null}), &found));
        assert!(glob("mcp__*", "mcp__server__tool") && !glob("Bash", "BashOutput"));
    }
}
