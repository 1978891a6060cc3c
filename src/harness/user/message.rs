//! What the user answers: messages on standard output, told by what they hold, and what is said to them.

use std::collections::VecDeque;
use std::fmt;

use serde_json::Value;

use crate::text::glob;

/// A longer line is no message that anybody answers.
const LONGEST_LINE: usize = 8 << 20;
/// So many messages that nobody has answered are kept, the latest ones.
const MOST_OPEN: usize = 4096;

/// Which messages a step waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pattern {
    /// A glob for the name of the message, such as `control_request/can_use_tool`.
    pub name: String,
    /// What stands at pointers into it.
    pub values: Vec<(String, Value)>,
}

impl Pattern {
    fn fits(&self, message: &Value) -> bool {
        glob(&self.name, &name(message))
            && self.values.iter().all(|(at, value)| message.pointer(at) == Some(value))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)?;
        self.values.iter().try_for_each(|(at, value)| write!(out, " with {value} at {at}"))
    }
}

/// What a message is called: its type, and its subtype wherever that stands.
fn name(message: &Value) -> String {
    let kind = message["type"].as_str().unwrap_or_default();
    let subtypes = [&message["subtype"], &message["request"]["subtype"], &message["response"]["subtype"]];
    match subtypes.into_iter().find_map(Value::as_str) {
        Some(subtype) => format!("{kind}/{subtype}"),
        None => kind.to_owned(),
    }
}

/// The messages that were printed and that no step has answered.
#[derive(Debug, Default)]
pub(super) struct Open {
    line: Vec<u8>,
    is_too_long: bool,
    messages: VecDeque<Value>,
}

impl Open {
    /// Reads the next bytes of standard output.
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + part.len() > LONGEST_LINE {
                self.is_too_long = true;
                self.line.clear();
            } else if !self.is_too_long {
                self.line.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                let message = serde_json::from_slice(&self.line).ok().filter(Value::is_object);
                if self.messages.len() == MOST_OPEN {
                    self.messages.pop_front();
                }
                self.messages.extend(message);
                self.line.clear();
                self.is_too_long = false;
            }
        }
    }

    /// Takes the first message that fits.
    pub(super) fn take(&mut self, pattern: &Pattern) -> Option<Value> {
        let at = self.messages.iter().position(|message| pattern.fits(message))?;
        self.messages.remove(at)
    }
}

/// The place in a message that a text such as `{request_id}` or `{/request/input}` names.
fn place(name: &str) -> Option<String> {
    if name.starts_with('/') {
        return Some(name.to_owned());
    }
    let is_member = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_member.then(|| format!("/{name}"))
}

/// The parts of a text: what stands there, and the places that are filled in.
fn parts(text: &str) -> Vec<Result<String, &str>> {
    let (mut parts, mut rest) = (Vec::new(), text);
    let mut from = 0;
    while let Some(open) = rest[from..].find('{').map(|at| from + at) {
        let inside = rest[open + 1..].find('}').map(|end| &rest[open + 1..open + 1 + end]);
        match inside.and_then(|inside| Some((inside, place(inside)?))) {
            Some((inside, place)) => {
                parts.push(Err(&rest[..open]));
                parts.push(Ok(place));
                rest = &rest[open + inside.len() + 2..];
                from = 0;
            }
            None => from = open + 1,
        }
    }
    parts.push(Err(rest));
    parts.retain(|part| *part != Err(""));
    parts
}

/// The places that a message to be sent takes from the one that it answers.
pub(crate) fn places(template: &Value) -> Vec<String> {
    match template {
        Value::String(text) => parts(text).into_iter().filter_map(Result::ok).collect(),
        Value::Array(items) => items.iter().flat_map(places).collect(),
        Value::Object(members) => members.values().flat_map(places).collect(),
        _ => Vec::new(),
    }
}

/// Fills in a message to be sent; the error is a place that the message to be answered does not have.
pub(super) fn filled(template: &Value, from: &Value) -> Result<Value, String> {
    let at = |place: &str| from.pointer(place).cloned().ok_or_else(|| place.to_owned());
    Ok(match template {
        Value::String(text) => match parts(text).as_slice() {
            // Alone it keeps its type.
            [Ok(place)] => at(place)?,
            parts => parts
                .iter()
                .map(|part| match part {
                    Err(text) => Ok((*text).to_owned()),
                    Ok(place) => at(place).map(|value| match value {
                        Value::String(text) => text,
                        other => other.to_string(),
                    }),
                })
                .collect::<Result<String, _>>()?
                .into(),
        },
        Value::Array(items) => items.iter().map(|item| filled(item, from)).collect::<Result<_, _>>()?,
        Value::Object(members) => {
            let filled = |(name, value): (&String, &Value)| Ok((name.clone(), filled(value, from)?));
            Value::Object(members.iter().map(filled).collect::<Result<_, String>>()?)
        }
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_is_filled_from_the_one_that_it_answers() {
        let asked = json!({"request_id": "r-1", "request": {"input": {"command": "ls"}, "n": 3}});
        let template = json!({"id": "{request_id}", "input": "{/request/input}", "text": "n={/request/n} {} {a b}", "all": ["{request_id}", 1]});
        assert_eq!(
            filled(&template, &asked).unwrap(),
            json!({"id": "r-1", "input": {"command": "ls"}, "text": "n=3 {} {a b}", "all": ["r-1", 1]})
        );
        assert_eq!(filled(&json!("{/request/none}"), &asked).unwrap_err(), "/request/none");
        assert_eq!(places(&template), ["/request_id", "/request/input", "/request/n", "/request_id"]);
    }

    #[test]
    fn a_message_is_answered_once_and_in_any_order() {
        let mut open = Open::default();
        open.hear(b"{\"type\":\"control_request\",\"request_id\":1,\"request\":{\"subtype\":\"can_use_tool\"}}\nno json\n[]\n{\"type\":\"sys");
        open.hear(b"tem\",\"subtype\":\"init\"}\n{\"type\":\"control_request\",\"request_id\":2,\"request\":{\"subtype\":\"can_use_tool\"}}\n{\"type\":\"un");
        let pattern = |name: &str, values: &[(&str, Value)]| Pattern {
            name: name.to_owned(),
            values: values.iter().map(|(at, value)| ((*at).to_owned(), value.clone())).collect(),
        };
        let asks = pattern("control_request/*", &[]);
        assert_eq!(
            open.take(&pattern("control_request/can_use_tool", &[("/request_id", json!(2))])).unwrap()["request_id"],
            2
        );
        assert_eq!(open.take(&asks).unwrap()["request_id"], 1);
        assert_eq!(open.take(&asks), None);
        assert!(open.take(&pattern("system/init", &[])).is_some());
        assert_eq!(open.take(&pattern("*", &[])), None, "a line that has not ended is none");
        open.hear(&vec![b'x'; LONGEST_LINE + 1]);
        open.hear(b"\n{\"type\":\"a\"}\n");
        assert!(open.take(&pattern("a", &[])).is_some());
    }
}
