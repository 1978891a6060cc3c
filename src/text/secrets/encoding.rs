//! The forms in which a value that is known to be secret is printed: as it is, in base64, in hex, and as JSON writes it.

use std::fmt::Write as _;

/// A shorter value is left alone: it would mask ordinary text.
const SHORTEST: usize = 8;

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Every form of a value that is looked for. What is percent-encoded or escaped needlessly is found by reading it.
pub(super) fn forms(value: &str) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    if value.len() >= SHORTEST {
        forms.push(value.as_bytes().to_vec());
        for padding in 0..3 {
            let text = base64_inside(padding, value.as_bytes());
            forms.push(text.iter().map(|byte| url_safe(*byte)).collect());
            forms.push(text);
        }
        let hex = value.bytes().fold(String::new(), |mut hex, byte| {
            // Writing to a string cannot fail.
            _ = write!(hex, "{byte:02x}");
            hex
        });
        forms.push(hex.to_ascii_uppercase().into_bytes());
        forms.push(hex.into_bytes());
    }
    // Lines come one by one; a key in a file of its own has many.
    for line in value.lines().filter(|line| line.len() >= SHORTEST) {
        forms.push(line.as_bytes().to_vec());
        let once = quoted(line);
        forms.push(quoted(&once).into_bytes());
        forms.push(ascii(&once).into_bytes());
        forms.push(once.into_bytes());
    }
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// The part of a base64 text that depends on `bytes` alone, where so many bytes stand before them.
fn base64_inside(padding: usize, bytes: &[u8]) -> Vec<u8> {
    let padded: Vec<u8> = std::iter::repeat_n(0, padding).chain(bytes.iter().copied()).collect();
    let bit = |at: usize| padded[at / 8] >> (7 - at % 8) & 1;
    let sextet = |at: usize| (0..6).fold(0, |sextet, place| sextet << 1 | bit(at * 6 + place));
    let whole = padded.len() * 8 / 6;
    let first = (padding * 8).div_ceil(6);
    (first..whole).map(|at| BASE64[usize::from(sextet(at))]).collect()
}

fn url_safe(byte: u8) -> u8 {
    match byte {
        b'+' => b'-',
        b'/' => b'_',
        other => other,
    }
}

/// A text inside a string of JSON.
fn quoted(text: &str) -> String {
    let mut string = serde_json::Value::from(text).to_string();
    string.pop();
    string.split_off(1)
}

/// JSON in which everything beyond ASCII is escaped.
fn ascii(json: &str) -> String {
    let mut out = String::new();
    for c in json.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}
