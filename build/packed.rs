//! Writes a TOML file in the form in which it is read at once; `src/document/packed.rs` reads it and says what it is.

use std::ops::Range;

use toml::de::{DeTable, DeValue, Error};

/// The tree of a text.
pub(crate) fn pack(text: &str) -> Result<Vec<u8>, Error> {
    let root = DeTable::parse(text)?;
    let mut out = Vec::new();
    place(&root.span(), &mut out);
    table(text, root.get_ref(), &mut out);
    Ok(out)
}

/// The entries, sorted by their keys.
fn table(text: &str, entries: &DeTable<'_>, out: &mut Vec<u8>) {
    let mut entries: Vec<_> = entries.iter().collect();
    entries.sort_by(|one, other| one.0.get_ref().cmp(other.0.get_ref()));
    number(entries.len(), out);
    for (key, item) in entries {
        place(&key.span(), out);
        string(text, &key.span(), key.get_ref(), out);
        place(&item.span(), out);
        value(text, &item.span(), item.get_ref(), out);
    }
}

fn value(text: &str, span: &Range<usize>, value: &DeValue<'_>, out: &mut Vec<u8>) {
    match value {
        DeValue::String(inside) => {
            out.push(b's');
            string(text, span, inside, out);
        }
        DeValue::Array(items) => {
            let mut inside = Vec::new();
            number(items.len(), &mut inside);
            for item in items {
                place(&item.span(), &mut inside);
                self::value(text, &item.span(), item.get_ref(), &mut inside);
            }
            sized(b'l', &inside, out);
        }
        DeValue::Table(entries) => {
            let mut inside = Vec::new();
            table(text, entries, &mut inside);
            sized(b't', &inside, out);
        }
        DeValue::Boolean(_) | DeValue::Integer(_) | DeValue::Float(_) | DeValue::Datetime(_) => {
            out.push(b'v');
        }
    }
}

fn sized(tag: u8, inside: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    number(inside.len(), out);
    out.extend_from_slice(inside);
}

/// A string that stands at a place: as it stands there, within quotes, or written otherwise.
fn string(text: &str, span: &Range<usize>, string: &str, out: &mut Vec<u8>) {
    if text.get(span.clone()) == Some(string) {
        out.push(b'=');
    } else if text.get(span.start + 1..span.end.saturating_sub(1)) == Some(string) {
        out.push(b'"');
    } else {
        out.push(b'+');
        number(string.len(), out);
        out.extend_from_slice(string.as_bytes());
    }
}

fn place(span: &Range<usize>, out: &mut Vec<u8>) {
    number(span.start, out);
    number(span.len(), out);
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
fn number(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
