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
        // Longer ones are found by their parts.
        forms.extend(encoded(value.as_bytes()).into_iter().filter(|text| text.len() < PART));
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

/// Long values are broken into lines where they are written in base64 or hex, and hex is written with a space after each
/// byte: a part of so many letters is enough to know such a line.
const PART: usize = 16;
/// Parts begin at every so many letters.
const STEP: usize = 4;
/// Of hex with spaces so many bytes are a part, and one begins with each byte.
const SPACED_PART: usize = 8;
/// A longer value is known by the parts of its beginning.
const MOST_IN_PARTS: usize = 2 << 10;

/// The parts by which a line is known that holds some of a value in base64 or hex.
pub(super) fn parts(value: &str) -> Vec<Vec<u8>> {
    let value = &value.as_bytes()[..value.len().min(MOST_IN_PARTS)];
    if value.len() < SHORTEST {
        return Vec::new();
    }
    let mut parts = Vec::new();
    for text in encoded(value) {
        parts.extend(text.windows(PART).step_by(STEP).map(<[u8]>::to_vec));
    }
    for bytes in value.windows(SPACED_PART) {
        let text = hex(bytes, " ");
        parts.push(text.to_ascii_uppercase().into_bytes());
        parts.push(text.into_bytes());
    }
    parts.sort_unstable();
    parts.dedup();
    parts
}

/// A value in base64, wherever in it, and in hex.
fn encoded(value: &[u8]) -> Vec<Vec<u8>> {
    let base64 = (0..3).flat_map(|padding| {
        let text = base64_inside(padding, value);
        [text.iter().map(|byte| url_safe(*byte)).collect(), text]
    });
    let digits = hex(value, "");
    base64.chain([digits.to_ascii_uppercase().into_bytes(), digits.into_bytes()]).collect()
}

fn hex(bytes: &[u8], between: &str) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.join(between)
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
