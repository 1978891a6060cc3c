//! The bytes of stdout taken apart: which document they hold, and what is odd about how they hold it.

use serde_json::Value;

use super::finding::shorten;
use crate::envelope::{Envelope, Flaw, FlawKind};
use crate::json::{OddityKind, Scanner};

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
    TooLarge,
    NoNewline,
}

impl OddityName {
    const ALL: [(&'static str, Self); 17] = [
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
        ("too-large", Self::TooLarge),
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

/// A document found on stdout.
#[derive(Debug, Default)]
pub(crate) struct Frame<'e> {
    pub(crate) value: Option<&'e Value>,
    pub(crate) line: u64,
    pub(crate) offset: u64,
    pub(crate) oddities: Vec<FrameOddity>,
}

/// Takes a whole stdout apart. With a prefix or a suffix the document is still found, so that its content can be
/// judged too.
pub(crate) fn document<'e>(
    envelope: &'e Envelope,
    stdout: &[u8],
    stderr: Option<&[u8]>,
    root: Root,
) -> Frame<'e> {
    let line_at =
        |offset: usize| 1 + memchr::memchr_iter(b'\n', &stdout[..offset.min(stdout.len())]).count() as u64;
    let on_stderr = || stderr.map(String::from_utf8_lossy).as_deref().and_then(json_object_in).is_some();
    let mut oddities = Vec::new();
    for flaw in &envelope.flaws {
        let Some((name, message)) = named(flaw, root, &on_stderr) else { continue };
        let rest = &stdout[flaw.offset.min(stdout.len())..];
        let seen = String::from_utf8_lossy(&rest[..rest.len().min(400)]);
        let seen = seen.lines().next().filter(|line| !line.is_empty()).map(shorten);
        oddities.push(FrameOddity {
            name,
            line: line_at(flaw.offset),
            offset: flaw.offset as u64,
            message,
            seen,
        });
    }
    if root == Root::Array
        && let Some(value) = &envelope.value
        && !value.is_array()
    {
        let message = "the document on stdout is no JSON array".into();
        let (line, offset) = (line_at(envelope.offset), envelope.offset as u64);
        oddities.push(FrameOddity { name: OddityName::RootType, line, offset, message, seen: None });
    }
    Frame {
        line: line_at(envelope.offset),
        offset: envelope.offset as u64,
        value: envelope.value.as_ref(),
        oddities,
    }
}

/// The name that contracts have for a flaw, and the flaw in words.
fn named(flaw: &Flaw, root: Root, on_stderr: &dyn Fn() -> bool) -> Option<(OddityName, String)> {
    let (name, message) = match flaw.kind {
        FlawKind::Empty if on_stderr() => {
            (OddityName::EnvelopeOnStderr, "stdout is empty, the JSON is on stderr".to_string())
        }
        FlawKind::Empty => (OddityName::Empty, "stdout is empty".into()),
        FlawKind::NotJson => (OddityName::Syntax, "stdout is not JSON".into()),
        FlawKind::Prefix => (OddityName::Prefix, "something stands before the JSON".into()),
        FlawKind::StrayWhitespace if flaw.offset == 0 => {
            (OddityName::Prefix, "white space stands before the JSON".into())
        }
        FlawKind::StrayWhitespace => (OddityName::Suffix, "more than one newline follows the JSON".into()),
        FlawKind::Suffix => (OddityName::Suffix, "something follows the JSON".into()),
        FlawKind::SecondDocument => {
            (OddityName::SecondDocument, "a second JSON document follows the first".into())
        }
        FlawKind::NotAnObject if root == Root::Object => {
            (OddityName::RootType, "the document on stdout is no JSON object".into())
        }
        FlawKind::NotAnObject => return None,
        FlawKind::Truncated => (OddityName::Truncated, "the JSON on stdout breaks off".into()),
        FlawKind::TooLarge => (OddityName::TooLarge, "stdout is too large to be one document".into()),
        FlawKind::InvalidUtf8 => (OddityName::NotUtf8, format!("byte {} is not UTF-8", flaw.offset)),
        FlawKind::ByteOrderMark => (OddityName::Bom, "stdout starts with a byte order mark".into()),
        FlawKind::NoFinalNewline => (OddityName::NoNewline, "no newline ends the document".into()),
        FlawKind::Oddity(kind) => {
            (OddityName::of(kind)?, format!("{} at byte {}", kind.describe(), flaw.offset))
        }
    };
    Some((name, message))
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
        let envelope = Envelope::read(stdout);
        let frame = document(&envelope, stdout, Some(stderr.as_bytes()), Root::Object);
        frame.oddities.iter().map(|oddity| (oddity.name.name(), oddity.offset)).collect()
    }

    #[test]
    fn each_way_to_spoil_a_document_is_told_apart_at_its_byte() {
        type Case<'c> = (&'c [u8], &'c str, &'c [(&'c str, u64)]);
        let cases: [Case<'_>; 17] = [
            (b"{\"a\":1}\n", "", &[]),
            (b"{\n \"a\": 1\n}\n", "", &[]),
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
            (b"{\"a\":1,\"b", "", &[("truncated", 0)]),
            (b"error: no\n", "", &[("syntax", 0)]),
        ];
        for (stdout, stderr, expected) in cases {
            assert_eq!(oddities(stdout, stderr), expected, "{}", String::from_utf8_lossy(stdout));
        }
        assert_eq!(oddities(b"{\"a\":1}", ""), [("no-newline", 7)]);
        assert_eq!(oddities(br#"{"a":"\ud800"}"#, "")[0].0, "lone-surrogate");
    }
}
