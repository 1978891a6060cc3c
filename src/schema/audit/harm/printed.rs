//! The messages of an output, to be changed and written again in the same layout.

use serde_json::Value;

use super::super::super::fixture::Sample;

/// What was printed, as values.
#[derive(Debug, Clone)]
pub(super) struct Printed {
    pub(super) messages: Vec<Value>,
    /// One array holds them all.
    is_array: bool,
}

impl Printed {
    /// Reads an output; none when it is no JSON.
    pub(super) fn read(stdout: &[u8]) -> Option<Self> {
        if let Ok(Value::Array(messages)) = serde_json::from_slice(stdout) {
            return Some(Self { messages, is_array: true });
        }
        let lines = stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let messages = lines.map(|line| serde_json::from_slice(line).ok());
        let messages: Vec<Value> = messages.collect::<Option<_>>()?;
        let has_objects = !messages.is_empty() && messages.iter().all(Value::is_object);
        has_objects.then_some(Self { messages, is_array: false })
    }

    /// The run with other messages.
    pub(super) fn with(&self, base: &Sample, messages: &[Value]) -> Sample {
        let mut lines: Vec<String> = if self.is_array {
            vec![Value::from(messages.to_vec()).to_string()]
        } else {
            messages.iter().map(Value::to_string).collect()
        };
        lines.push(String::new());
        let text = lines.join("\n");
        Sample { stdout: text.into_bytes(), ..base.clone() }
    }

    /// The run with one message changed.
    pub(super) fn with_one(&self, base: &Sample, index: usize, message: Value) -> Sample {
        let mut messages = self.messages.clone();
        messages[index] = message;
        self.with(base, &messages)
    }
}

/// What kind of message it is, for people.
pub(super) fn kind(message: &Value) -> String {
    let word = |pointer| message.pointer(pointer).and_then(Value::as_str);
    let kind = word("/type").unwrap_or("message");
    let more = if kind == "system" { word("/subtype") } else { word("/event/type") };
    let of_agent = if message["parent_tool_use_id"].is_string() { " of a sub-agent" } else { "" };
    more.map_or_else(|| format!("{kind}{of_agent}"), |more| format!("{kind} {more}{of_agent}"))
}
