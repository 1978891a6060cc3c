//! Words that need not be UTF-8, as a scenario writes them.
//!
//! ```toml
//! args = ["show-command", { bytes = 'caf\xe9' }]
//! cwd = { bytes = 'caf\xe9' }
//! ```

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use crate::document::{FileError, Item};

/// A word of a command line or a path: a text, or a table with the bytes.
pub(super) fn word(item: Item<'_>) -> Result<OsString, FileError> {
    if item.is_string() {
        return item.into_string().map(Into::into);
    }
    let mut table = item.into_table()?;
    let item = table.require("bytes", "a text in which `\\xNN` stands for a byte")?;
    let place = item.place();
    let text = item.into_string()?;
    table.finish()?;
    let bytes = unescape(&text).ok_or_else(|| {
        place.complain(
            "expected a text in which `\\xNN` stands for a byte, `\\\\` for a backslash, and no byte is 0",
        )
    })?;
    Ok(OsString::from_vec(bytes))
}

/// A list of them.
pub(super) fn words(item: Item<'_>) -> Result<Vec<OsString>, FileError> {
    item.into_list()?.into_iter().map(word).collect()
}

/// The bytes that the text stands for; none when an escape is none, or a byte is one that no word can have.
fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('\\') {
            bytes.push(b'\\');
            rest = after;
        } else {
            let digits =
                rest.strip_prefix('x')?.get(..2).filter(|two| two.bytes().all(|b| b.is_ascii_hexdigit()))?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[3..];
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    (!bytes.contains(&0)).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_byte_but_zero_can_be_said() {
        assert_eq!(unescape(r"caf\xe9 \\x \xC3\xA9").as_deref(), Some(&b"caf\xe9 \\x \xc3\xa9"[..]));
        for wrong in [r"\x0", r"\x+1", r"\n", r"\", r"\x00", "\0", r"\xé"] {
            assert_eq!(unescape(wrong), None, "{wrong:?}");
        }
    }
}
