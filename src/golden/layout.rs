//! JSON for reviewers: what fits on a line stands on one, everything else a member a line.

use serde_json::Value;

/// A line is not made longer than this by putting a whole value on it.
const WIDTH: usize = 100;

/// The value over as many lines as it needs, without a line end.
pub(crate) fn lay_out(value: &Value) -> String {
    let mut out = String::new();
    write(value, 0, 0, &mut out);
    out
}

/// Writes a value at this depth; `taken` is what already stands on its first line, and `None` when it does not fit.
fn write(value: &Value, depth: usize, taken: usize, out: &mut String) {
    if let Some(line) = one_line(value, WIDTH.saturating_sub(taken)) {
        out.push_str(&line);
        return;
    }
    let indent = "  ".repeat(depth + 1);
    let end = "  ".repeat(depth);
    match value {
        Value::Object(fields) => {
            out.push_str("{\n");
            for (at, (key, value)) in fields.iter().enumerate() {
                let key = Value::from(key.as_str()).to_string();
                out.push_str(&indent);
                out.push_str(&key);
                out.push_str(": ");
                write(value, depth + 1, indent.len() + key.len() + 3, out);
                out.push_str(if at + 1 < fields.len() { ",\n" } else { "\n" });
            }
            out.push_str(&end);
            out.push('}');
        }
        Value::Array(items) => {
            out.push_str("[\n");
            for (at, item) in items.iter().enumerate() {
                out.push_str(&indent);
                write(item, depth + 1, indent.len() + 1, out);
                out.push_str(if at + 1 < items.len() { ",\n" } else { "\n" });
            }
            out.push_str(&end);
            out.push(']');
        }
        scalar => out.push_str(&escaped(scalar)),
    }
}

/// The value on one line, when it is a scalar or short enough.
fn one_line(value: &Value, room: usize) -> Option<String> {
    let line = match value {
        Value::Object(fields) => {
            let mut line = String::from("{");
            for (at, (key, value)) in fields.iter().enumerate() {
                if at > 0 {
                    line.push_str(", ");
                }
                line.push_str(&Value::from(key.as_str()).to_string());
                line.push_str(": ");
                line.push_str(&one_line(value, room.checked_sub(line.len())?)?);
            }
            line + "}"
        }
        Value::Array(items) => {
            let mut line = String::from("[");
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    line.push_str(", ");
                }
                line.push_str(&one_line(item, room.checked_sub(line.len())?)?);
            }
            line + "]"
        }
        scalar => return Some(escaped(scalar)).filter(|line| line.len() <= room),
    };
    (line.len() <= room).then_some(line)
}

/// A scalar as JSON in which nothing controls a terminal or turns the direction of a text.
fn escaped(scalar: &Value) -> String {
    let plain = scalar.to_string();
    if crate::printable::printable(&plain) == plain {
        return plain;
    }
    let escape = |c: char| {
        if crate::printable::printable(c.encode_utf8(&mut [0; 4])).chars().count() == 1 {
            return c.to_string();
        }
        c.encode_utf16(&mut [0; 2]).iter().fold(String::new(), |text, unit| text + &format!("\\u{unit:04x}"))
    };
    plain.chars().map(escape).collect()
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
