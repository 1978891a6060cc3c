//! Python's `int(value or 0)`, which the documented reader applies to token counts.

use crate::json::{Kind, Node};
use crate::stream_json::Count;
use crate::stream_json::reader::is_space;

/// Python refuses to convert strings and JSON integers with more digits than this.
pub(super) const MAX_DIGITS: usize = 4300;

/// Why a value has no count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Infinite;

/// The integer that a token count stands for: 0 where Python raises an error that the reader catches.
pub(super) fn token_count(value: Option<Node<'_>>) -> Result<Count, Infinite> {
    let Some(value) = value else { return Ok(Count::default()) };
    Ok(match value.kind() {
        Kind::Boolean => Count::from(i64::from(value.boolean() == Some(true))),
        Kind::Number if value.raw() == "NaN" => Count::default(),
        Kind::Integer | Kind::Number => return number(value.raw()),
        Kind::String => value.text().and_then(|text| from_string(&text)).unwrap_or_default(),
        Kind::Null | Kind::Array | Kind::Object => Count::default(),
    })
}

/// The value of a JSON integer, or of a boolean, which Python counts as an integer too.
pub(super) fn exact_integer(value: Node<'_>) -> Option<Count> {
    match value.kind() {
        Kind::Boolean => value.boolean().map(|flag| Count::from(i64::from(flag))),
        Kind::Number => Count::parse(value.raw()),
        _ => None,
    }
}

fn number(raw: &str) -> Result<Count, Infinite> {
    if let Some(integer) = Count::parse(raw) {
        return Ok(integer);
    }
    match raw.parse::<f64>() {
        Ok(float) if float.is_finite() => {
            Ok(Count::parse(&format!("{:.0}", float.trunc())).unwrap_or_default())
        }
        _ => Err(Infinite),
    }
}

/// Digits of any script, with an optional sign, single underscores between digits, and white space around.
fn from_string(text: &str) -> Option<Count> {
    let text = text.trim_matches(is_space);
    let (sign, digits) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (if text.starts_with('-') { "-" } else { "" }, rest),
        None => ("", text),
    };
    let mut plain = String::from(sign);
    let mut after_digit = false;
    for c in digits.chars() {
        match c {
            '_' if after_digit => after_digit = false,
            '_' => return None,
            _ => {
                plain.push(char::from_digit(decimal_digit(c)?, 10)?);
                after_digit = true;
            }
        }
    }
    if !after_digit || plain.len() - sign.len() > MAX_DIGITS {
        return None;
    }
    Count::parse(&plain)
}

/// The value of a decimal digit (Unicode category Nd); each script has its ten in a row.
fn decimal_digit(c: char) -> Option<u32> {
    const ZEROS: &[u32] = &[
        0x0030, 0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6,
        0x0D66, 0x0DE6, 0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80,
        0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0,
        0xFF10, 0x1_04A0, 0x1_0D30, 0x1_1066, 0x1_10F0, 0x1_1136, 0x1_11D0, 0x1_12F0, 0x1_1450, 0x1_14D0,
        0x1_1650, 0x1_16C0, 0x1_1730, 0x1_18E0, 0x1_1950, 0x1_1C50, 0x1_1D50, 0x1_1DA0, 0x1_6A60, 0x1_6AC0,
        0x1_6B50, 0x1_D7CE, 0x1_D7D8, 0x1_D7E2, 0x1_D7EC, 0x1_D7F6, 0x1_E140, 0x1_E2F0, 0x1_E950, 0x1_FBF0,
    ];
    let at = ZEROS.partition_point(|zero| *zero <= c as u32).checked_sub(1)?;
    let digit = c as u32 - ZEROS[at];
    (digit < 10).then_some(digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Scanner;

    fn count(json: &str) -> String {
        let mut scanner = Scanner::default();
        let document = scanner.scan(json).unwrap();
        token_count(Some(document.root())).map_or_else(|_| "infinite".into(), |count| count.to_string())
    }

    #[test]
    fn values_become_integers_as_in_python() {
        for (json, expected) in [
            ("12", "12"),
            ("-3", "-3"),
            ("1.9", "1"),
            ("-1.9", "-1"),
            ("1e20", "100000000000000000000"),
            ("true", "1"),
            ("false", "0"),
            ("null", "0"),
            ("[1]", "0"),
            ("NaN", "0"),
            ("1e400", "infinite"),
            ("-Infinity", "infinite"),
            (r#"" 1_000 ""#, "1000"),
            (r#""1__0""#, "0"),
            (r#""_1""#, "0"),
            (r#""1_""#, "0"),
            (r#""+7""#, "7"),
            (r#""٣٤""#, "34"),
            (r#""𝟗""#, "9"),
            (r#""1.5""#, "0"),
            (r#""bogus""#, "0"),
            (r#""²""#, "0"),
        ] {
            assert_eq!(count(json), expected, "{json}");
        }
        assert_eq!(count(&format!("\"{}\"", "9".repeat(4301))), "0");
    }
}
