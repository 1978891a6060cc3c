//! A text as whoever reads it will see it: escapes of JSON and of addresses resolved, with the place of each byte.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// Escapes are resolved as often as this: JSON in JSON in JSON.
pub(super) const MOST_LEVELS: usize = 3;

/// A text of which parts were written in another way.
#[derive(Debug, Default)]
pub(super) struct Unescaped {
    pub(super) bytes: Vec<u8>,
    /// Where each byte was written, and where the last of them ends.
    places: Vec<usize>,
}

impl Unescaped {
    /// A text as it stands at that place.
    pub(super) fn plain(text: &[u8], at: usize) -> Self {
        Self { bytes: text.to_vec(), places: (at..=at + text.len()).collect() }
    }

    /// Adds a further part, which stands somewhere behind.
    pub(super) fn add(&mut self, part: &[u8], at: usize) {
        self.places.pop();
        self.bytes.extend_from_slice(part);
        self.places.extend(at..=at + part.len());
    }

    /// Where the byte of that number was written.
    pub(super) fn place(&self, at: usize) -> usize {
        self.places.get(at).copied().unwrap_or_default()
    }

    /// The same text with the escapes of JSON resolved.
    pub(super) fn json(&self) -> Self {
        self.resolved(b'\\', |rest, out| {
            let plain = match rest.first()? {
                b'u' => {
                    let digits = std::str::from_utf8(rest.get(1..5)?).ok()?;
                    let c = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    return Some(5);
                }
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'b' => 8,
                b'f' => 12,
                letter @ (b'"' | b'\\' | b'/') => *letter,
                _ => return None,
            };
            out.push(plain);
            Some(1)
        })
    }

    /// The same text with `%2B` and the like resolved.
    pub(super) fn percent(&self) -> Self {
        self.resolved(b'%', |rest, out| {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            out.push(u8::from_str_radix(digits, 16).ok()?);
            Some(2)
        })
    }

    /// Reads what follows each mark: `read` writes what it stands for, and says how long it was.
    fn resolved(&self, mark: u8, read: impl Fn(&[u8], &mut Vec<u8>) -> Option<usize>) -> Self {
        let mut text = Self {
            bytes: Vec::with_capacity(self.bytes.len()),
            places: Vec::with_capacity(self.places.len()),
        };
        let mut at = 0;
        while at < self.bytes.len() {
            let next = memchr::memchr(mark, &self.bytes[at..]).map_or(self.bytes.len(), |next| at + next);
            text.bytes.extend_from_slice(&self.bytes[at..next]);
            text.places.extend_from_slice(&self.places[at..next]);
            at = next;
            if let Some(rest) = self.bytes.get(next + 1..) {
                let length = read(rest, &mut text.bytes);
                if length.is_none() {
                    text.bytes.push(mark);
                }
                text.places.resize(text.bytes.len(), self.places[next]);
                at += 1 + length.unwrap_or_default();
            }
        }
        text.places.push(self.place(self.bytes.len()));
        text
    }
}

/// Where JSON writes a character of ASCII in another way than it has to.
pub(super) fn needless_escape(text: &[u8]) -> Option<usize> {
    static CODE: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\\u00"));
    static SLASH: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\\/"));
    let is_printable = |at: &usize| matches!(text.get(at + 4), Some(b'2'..=b'7'));
    let code = CODE.find_iter(text).find(is_printable);
    let before = code.unwrap_or(text.len());
    SLASH.find(&text[..before]).or(code)
}

/// Whether something may be percent-encoded.
pub(super) fn has_percent(text: &[u8]) -> bool {
    memchr::memchr_iter(b'%', text)
        .any(|at| text.get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)))
}
