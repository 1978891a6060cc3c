//! JSON for reviewers: what fits on a line stands on one, everything else a member a line.

use std::fmt;

use serde_json::Value;

use crate::text::needs_escape;

/// A line is not made longer than this by putting a whole value on it.
const WIDTH: usize = 100;

/// The value over as many lines as it needs, without a line end.
pub(crate) fn lay_out(value: &Value) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    _ = write(value, 0, 0, &mut out);
    out
}

/// Writes a value at this depth; `taken` is what already stands on its first line.
pub(super) fn write(value: &Value, depth: usize, taken: usize, out: &mut dyn fmt::Write) -> fmt::Result {
    if let Some(line) = one_line(value, WIDTH.saturating_sub(taken)) {
        return out.write_str(&line);
    }
    let Some(([open, close], members)) = members(value) else { return out.write_str(&escaped(value)) };
    let indent = "  ".repeat(depth + 1);
    out.write_char(open)?;
    for (at, (key, value)) in members.enumerate() {
        out.write_str(if at > 0 { ",\n" } else { "\n" })?;
        out.write_str(&indent)?;
        out.write_str(&key)?;
        write(value, depth + 1, indent.len() + key.len() + 1, out)?;
    }
    out.write_char('\n')?;
    out.write_str(&"  ".repeat(depth))?;
    out.write_char(close)
}

/// The value on one line, when it is a scalar or short enough.
fn one_line(value: &Value, room: usize) -> Option<String> {
    let Some(([open, close], members)) = members(value) else {
        return Some(escaped(value)).filter(|line| line.len() <= room);
    };
    let mut line = String::from(open);
    for (at, (key, value)) in members.enumerate() {
        line.push_str(if at > 0 { ", " } else { "" });
        line.push_str(&key);
        line.push_str(&one_line(value, room.checked_sub(line.len())?)?);
    }
    line.push(close);
    (line.len() <= room).then_some(line)
}

/// The values inside an object or a list, each after its key if it has one.
type Members<'v> = Box<dyn Iterator<Item = (String, &'v Value)> + 'v>;

/// The brackets of an object or a list, and what stands in them.
fn members(value: &Value) -> Option<([char; 2], Members<'_>)> {
    let named = |(key, value)| (format!("{}: ", Value::String(String::clone(key))), value);
    match value {
        Value::Object(fields) => Some((['{', '}'], Box::new(fields.iter().map(named)))),
        Value::Array(items) => Some((['[', ']'], Box::new(items.iter().map(|item| (String::new(), item))))),
        _ => None,
    }
}

/// A scalar as JSON in which nothing controls a terminal or turns the direction of a text.
fn escaped(scalar: &Value) -> String {
    let mut out = String::new();
    for c in scalar.to_string().chars() {
        if needs_escape(c) {
            out.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_fits_stands_on_a_line_and_everything_reads_back() {
        let value = json!({
            "small": {"a": [1, 2, 3], "b": null},
            "hostile": "\u{1b}[31m\u{202e}\u{e0041} ü",
            "large": [{"text": "x".repeat(60)}, {"text": "y".repeat(60)}],
        });
        let text = lay_out(&value);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert!(text.contains("  \"small\": {\"a\": [1, 2, 3], \"b\": null},\n"));
        assert!(text.contains("\\u001b[31m\\u202e\\udb40\\udc41 ü"), "{text}");
        assert!(!text.contains('\u{1b}'));
        assert_eq!(lay_out(&json!({})), "{}");
    }
}
