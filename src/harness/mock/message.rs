//! An answer as a client puts it together from what it got of it: in the words of the Messages API, whoever said it.

use serde_json::{Map, Value};

/// What a body says.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Message {
    pub(crate) id: Value,
    pub(crate) model: Value,
    /// The blocks, whole or as far as they came; none when there is no telling.
    pub(crate) content: Option<Vec<Value>>,
    pub(crate) stop_reason: Value,
    pub(crate) usage: Value,
    /// The type and the message of an error.
    pub(crate) error: Value,
    /// Whether it came to its end.
    pub(crate) is_ended: bool,
}

impl Message {
    /// The error that a body tells of.
    pub(crate) fn of_error(kind: Value, message: Value) -> Self {
        let error = Map::from_iter([("type".to_owned(), kind), ("message".to_owned(), message)]);
        Self { error: Value::Object(error), is_ended: true, ..Self::default() }
    }
}

/// A tool call as recordings tell it; input that is no JSON is told as far as it came.
pub(crate) fn tool_use(id: Value, name: Value, input: &str) -> Value {
    let mut block = Map::new();
    let parsed = serde_json::from_str::<Value>(input);
    block.insert("type".into(), "tool_use".into());
    block.insert("id".into(), id);
    block.insert("name".into(), name);
    let is_broken = parsed.is_err();
    block.insert("input".into(), parsed.unwrap_or_default());
    if is_broken {
        // Cut off, or broken on purpose: there is no input, only what there was of it.
        block.insert("partial_json".into(), input.into());
    }
    Value::Object(block)
}

/// The data of an event that is JSON.
pub(crate) fn json_data(data: &[u8]) -> Option<Value> {
    serde_json::from_slice(data).ok()
}

/// The data of each event, read by `read`; none for one that has none, or none that can be read.
pub(crate) fn events(
    body: &[u8],
    is_whole: bool,
    read: impl Fn(&[u8]) -> Option<Value>,
) -> Vec<Option<Value>> {
    let mut found = Vec::new();
    let mut data: Option<Vec<u8>> = None;
    let mut has_lines = false;
    let parse = |data: Option<Vec<u8>>| read(&data?);
    let mut lines = body.split(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let is_last = lines.peek().is_none();
        if line.is_empty() && !is_last {
            if std::mem::take(&mut has_lines) {
                found.push(parse(data.take()));
            }
        } else if let Some(text) = line.strip_prefix(b"data:") {
            has_lines = true;
            let text = text.strip_prefix(b" ").unwrap_or(text);
            match &mut data {
                Some(data) => data.extend([b"\n", text].concat()),
                None => data = Some(text.to_vec()),
            }
        } else {
            // A line that begins with a colon is a comment.
            has_lines |= !line.is_empty() && !line.starts_with(b":");
        }
    }
    if has_lines && is_whole {
        found.push(parse(data));
    }
    found
}
