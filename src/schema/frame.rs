//! The bytes of stdout taken apart: which document they hold, and what is odd about how they hold it.

use serde_json::Value;

use super::finding::shorten;
use crate::json::{Malformed, OddityKind, Scanner};

/// What can be odd about the bytes of a document or of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum OddityName {
    Empty,
    EnvelopeOnStderr,
    Bom,
    Prefix,
    Suffix,
    SecondDocument,
    NotUtf8,
    NotANumber,
    LoneSurrogate,
    DuplicateKey,
    NumberRange,
    RootType,
    Syntax,
    Truncated,
    TooDeep,
    NoNewline,
}

impl OddityName {
    const ALL: [(&'static str, Self); 16] = [
        ("empty", Self::Empty),
        ("envelope-on-stderr", Self::EnvelopeOnStderr),
        ("bom", Self::Bom),
        ("prefix", Self::Prefix),
        ("suffix", Self::Suffix),
        ("second-document", Self::SecondDocument),
        ("not-utf8", Self::NotUtf8),
        ("not-a-number", Self::NotANumber),
        ("lone-surrogate", Self::LoneSurrogate),
        ("duplicate-key", Self::DuplicateKey),
        ("number-range", Self::NumberRange),
        ("root-type", Self::RootType),
        ("syntax", Self::Syntax),
        ("truncated", Self::Truncated),
        ("too-deep", Self::TooDeep),
        ("no-newline", Self::NoNewline),
    ];

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, oddity)| *oddity)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, oddity)| *oddity == self).map_or("", |(name, _)| name)
    }

    pub(crate) fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|(name, _)| *name).collect()
    }

    fn of(kind: OddityKind) -> Option<Self> {
        Some(match kind {
            OddityKind::NonFinite => Self::NotANumber,
            OddityKind::LoneSurrogate => Self::LoneSurrogate,
            OddityKind::NumberOverflow | OddityKind::HugeInteger => Self::NumberRange,
            OddityKind::TooDeep => Self::TooDeep,
            OddityKind::DuplicateKey => Self::DuplicateKey,
            OddityKind::TooManyValues => return None,
        })
    }
}

/// One odd thing about the bytes.
#[derive(Debug, Clone)]
pub(crate) struct FrameOddity {
    pub(crate) name: OddityName,
    pub(crate) line: u64,
    pub(crate) offset: u64,
    pub(crate) message: String,
    pub(crate) seen: Option<String>,
}

/// What type the outermost value must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Root {
    #[default]
    Object,
    Array,
    Any,
}

impl Root {
    fn accepts(self, value: &Value) -> bool {
        match self {
            Self::Object => value.is_object(),
            Self::Array => value.is_array(),
            Self::Any => true,
        }
    }
}

/// A document found on stdout.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    pub(crate) value: Option<Value>,
    pub(crate) line: u64,
    pub(crate) offset: u64,
    pub(crate) oddities: Vec<FrameOddity>,
}

/// Takes a whole stdout apart. With a prefix or a suffix the document is still found, so that its content can be
/// judged too.
pub(crate) fn document(stdout: &[u8], stderr: Option<&[u8]>, root: Root) -> Frame {
    let mut reading = Reading { bytes: stdout, frame: Frame { line: 1, ..Frame::default() } };
    reading.read(stderr, root);
    reading.frame
}

struct Reading<'b> {
    bytes: &'b [u8],
    frame: Frame,
}

impl Reading<'_> {
    fn odd(&mut self, name: OddityName, offset: usize, message: String) {
        let line = 1 + memchr::memchr_iter(b'\n', &self.bytes[..offset.min(self.bytes.len())]).count() as u64;
        let rest = &self.bytes[offset.min(self.bytes.len())..];
        let seen = String::from_utf8_lossy(&rest[..rest.len().min(400)]);
        let seen = (!seen.is_empty()).then(|| shorten(seen.lines().next().unwrap_or_default()));
        self.frame.oddities.push(FrameOddity { name, line, offset: offset as u64, message, seen });
    }

    fn read(&mut self, stderr: Option<&[u8]>, root: Root) {
        if self.bytes.trim_ascii().is_empty() {
            match stderr.map(String::from_utf8_lossy).as_deref().and_then(json_object_in) {
                Some(_) => {
                    self.odd(OddityName::EnvelopeOnStderr, 0, "stdout is empty, the JSON is on stderr".into())
                }
                None => self.odd(OddityName::Empty, 0, "stdout is empty".into()),
            }
            return;
        }
        let text = self.text();
        let mut start = 0;
        if text.starts_with('\u{feff}') {
            start = '\u{feff}'.len_utf8();
            self.odd(OddityName::Bom, 0, "stdout starts with a byte order mark".into());
        }
        let Some((start, end, value)) = self.find_document(&text, start) else { return };
        self.frame.offset = start as u64;
        self.frame.line = 1 + memchr::memchr_iter(b'\n', &self.bytes[..start]).count() as u64;
        if !root.accepts(&value) {
            let wanted = if root == Root::Array { "array" } else { "object" };
            self.odd(OddityName::RootType, start, format!("the document on stdout is no JSON {wanted}"));
        }
        self.frame.value = Some(value);
        self.after_document(&text, end);
    }

    /// The bytes as text of the same length, so that offsets hold: every invalid byte becomes a question mark.
    fn text(&mut self) -> String {
        let mut text = String::with_capacity(self.bytes.len());
        let mut first_bad = None;
        for chunk in self.bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                first_bad.get_or_insert(text.len());
                text.extend(chunk.invalid().iter().map(|_| '?'));
            }
        }
        if let Some(offset) = first_bad {
            self.odd(OddityName::NotUtf8, offset, format!("byte {offset} is not UTF-8"));
        }
        text
    }

    /// The first JSON value, at `start` or after the prose before it.
    fn find_document(&mut self, text: &str, start: usize) -> Option<(usize, usize, Value)> {
        let rest = &text[start..];
        let blank = rest.len() - rest.trim_start().len();
        match self.scan(rest, start) {
            Ok(found)
                if found.2.is_object() || found.2.is_array() || rest[found.1 - start..].trim().is_empty() =>
            {
                if blank > 0 {
                    self.odd(OddityName::Prefix, start, "white space stands before the JSON".into());
                }
                self.take_oddities(rest, start);
                Some(found)
            }
            outcome => {
                if let Some(found) = self.after_prose(text, start) {
                    self.odd(OddityName::Prefix, start, "something stands before the JSON".into());
                    self.take_oddities(&text[found.0..], found.0);
                    return Some(found);
                }
                let Malformed { reason, offset } =
                    outcome.err().unwrap_or(Malformed { reason: "no JSON", offset: 0 });
                let offset = start + offset;
                let opens = rest[blank..].starts_with(['{', '[']);
                if opens && (reason == "unterminated string" || text[offset.min(text.len())..].trim().is_empty()) {
                    self.odd(OddityName::Truncated, offset, "the JSON on stdout breaks off".into());
                } else {
                    self.odd(OddityName::Syntax, offset, format!("stdout is not JSON: {reason}"));
                }
                None
            }
        }
    }

    #[expect(clippy::unused_self, reason = "one of the reading's steps")]
    fn scan(&self, text: &str, base: usize) -> Result<(usize, usize, Value), Malformed> {
        let mut scanner = Scanner::default();
        let document = scanner.scan_first(text)?;
        Ok((base + document.root().offset(), base + document.end(), document.root().to_value()))
    }

    /// The first object after other text that is followed by nothing that spoils it. Only so many candidates are
    /// tried: prose has few braces.
    fn after_prose(&self, text: &str, start: usize) -> Option<(usize, usize, Value)> {
        let braces = memchr::memchr_iter(b'{', &text.as_bytes()[start..]).take(64);
        braces.map(|brace| start + brace).filter(|brace| *brace > start).find_map(|brace| {
            let found = self.scan(&text[brace..], brace).ok()?;
            let is_envelope = found.2.as_object().is_some_and(|map| !map.is_empty());
            is_envelope.then_some(found)
        })
    }

    fn take_oddities(&mut self, text: &str, base: usize) {
        let mut scanner = Scanner::default();
        let Ok(document) = scanner.scan_first(text) else { return };
        let found: Vec<_> = document.oddities().to_vec();
        for oddity in found {
            if let Some(name) = OddityName::of(oddity.kind) {
                let offset = base + oddity.offset;
                self.odd(name, offset, format!("{} at byte {offset}", oddity.kind.describe()));
            }
        }
    }

    fn after_document(&mut self, text: &str, end: usize) {
        match &text[end..] {
            "\n" | "\r\n" => {}
            "" => self.odd(OddityName::NoNewline, end, "no newline ends the document".into()),
            rest if rest.trim().is_empty() => {
                self.odd(OddityName::Suffix, end, "more than one newline follows the JSON".into());
            }
            rest => {
                let at = end + rest.len() - rest.trim_start().len();
                let second = rest.trim_start().starts_with(['{', '[']) && self.scan(&text[at..], at).is_ok();
                if second {
                    self.odd(
                        OddityName::SecondDocument,
                        at,
                        "a second JSON document follows the first".into(),
                    );
                } else {
                    self.odd(OddityName::Suffix, at, "something follows the JSON".into());
                }
            }
        }
    }
}

/// The first JSON object that a channel for people holds: all of it, or one of its lines.
pub(crate) fn json_object_in(text: &str) -> Option<&str> {
    let is_object = |text: &str| {
        let text = text.trim();
        text.starts_with('{') && Scanner::default().scan_first(text).is_ok_and(|document| document.end() > 2)
    };
    if is_object(text) {
        return Some(text.trim());
    }
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('{') && is_object(&text[start..]) {
            return Some(text[start..].trim());
        }
        start += line.len();
    }
    None
}

/// The oddities of one line of a stream, as its reader met them.
pub(crate) fn of_line(line: u64, offset: u64, oddities: &[crate::json::Oddity]) -> Vec<FrameOddity> {
    let named = oddities.iter().filter_map(|oddity| Some((OddityName::of(oddity.kind)?, oddity)));
    named
        .map(|(name, oddity)| FrameOddity {
            name,
            line,
            offset: offset + oddity.offset as u64,
            message: format!("{} at byte {} of line {line}", oddity.kind.describe(), oddity.offset),
            seen: None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oddities(stdout: &[u8], stderr: &str) -> Vec<(&'static str, u64)> {
        let frame = document(stdout, Some(stderr.as_bytes()), Root::Object);
        frame.oddities.iter().map(|oddity| (oddity.name.name(), oddity.offset)).collect()
    }

    #[test]
    fn each_way_to_spoil_a_document_is_told_apart_at_its_byte() {
        let cases: [(&[u8], &str, &[(&str, u64)]); 17] = [
            (b"{\"a\":1}\n", "", &[]),
            (b"{\n \"a\": 1\n}\r\n", "", &[]),
            (b"", "", &[("empty", 0)]),
            (b"\n", "{\"type\":\"error\"}\n", &[("envelope-on-stderr", 0)]),
            (b"", "warning: x\n{\"type\":\"error\"}\n", &[("envelope-on-stderr", 0)]),
            (b"\xef\xbb\xbf{\"a\":1}\n", "", &[("bom", 0)]),
            (b"Allow? {\"a\":1}\n", "", &[("prefix", 0)]),
            (b" {\"a\":1}\n", "", &[("prefix", 0)]),
            (b"{\"a\":1}\nbye\n", "", &[("suffix", 8)]),
            (b"{\"a\":1}\n\n", "", &[("suffix", 7)]),
            (b"{\"a\":1}\n{\"b\":2}\n", "", &[("second-document", 8)]),
            (b"{\"a\":\"\xff\"}\n", "", &[("not-utf8", 6)]),
            (b"{\"a\":NaN}\n", "", &[("not-a-number", 5)]),
            (b"{\"a\":1,\"a\":2}\n", "", &[("duplicate-key", 7)]),
            (b"[1]\n", "", &[("root-type", 0)]),
            (b"{\"a\":1,\"b", "", &[("truncated", 7)]),
            (b"error: no\n", "", &[("syntax", 0)]),
        ];
        for (stdout, stderr, expected) in cases {
            assert_eq!(oddities(stdout, stderr), expected, "{}", String::from_utf8_lossy(stdout));
        }
        assert_eq!(oddities(b"{\"a\":1}", ""), [("no-newline", 7)]);
        assert_eq!(oddities(br#"{"a":"\ud800"}"#, "")[0].0, "lone-surrogate");
    }
}
