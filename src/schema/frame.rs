//! The bytes of stdout taken apart: which document they hold, and what is odd about how they hold it.

use super::finding::shorten;
use crate::envelope::Envelope;
use crate::json::{JsonView, Oddity, Problem, Scanner};

/// The words that contracts have for problems.
pub(crate) const WORDS: [(&str, &[Problem]); 20] = [
    ("empty", &[Problem::Empty]),
    ("envelope-on-stderr", &[Problem::OnStderr]),
    ("bom", &[Problem::ByteOrderMark]),
    ("prefix", &[Problem::Prefix]),
    ("suffix", &[Problem::Suffix]),
    ("space-before", &[Problem::SpaceBefore]),
    ("space-after", &[Problem::SpaceAfter]),
    ("second-document", &[Problem::SecondDocument]),
    ("not-utf8", &[Problem::InvalidUtf8]),
    ("not-a-number", &[Problem::NonFinite]),
    ("lone-surrogate", &[Problem::LoneSurrogate]),
    ("duplicate-key", &[Problem::DuplicateKey]),
    ("number-range", &[Problem::NumberOverflow, Problem::HugeInteger]),
    ("root-type", &[Problem::NotAnObject]),
    ("syntax", &[Problem::NotJson, Problem::NoJson, Problem::Nul, Problem::LineTooLong]),
    ("truncated", &[Problem::Truncated]),
    ("too-deep", &[Problem::TooDeep]),
    ("too-large", &[Problem::TooLarge]),
    ("no-newline", &[Problem::NoFinalNewline]),
    ("lone-return", &[Problem::LoneReturn]),
];

/// What contracts call a problem, if they can speak of it.
pub(crate) fn word(problem: Problem) -> Option<&'static str> {
    WORDS.iter().find(|(_, problems)| problems.contains(&problem)).map(|(word, _)| *word)
}

/// One odd thing about the bytes.
#[derive(Debug, Clone)]
pub(crate) struct FramingProblem {
    pub(crate) problem: Problem,
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
pub(crate) struct FramedDocument {
    pub(crate) line: u64,
    pub(crate) offset: u64,
    pub(crate) oddities: Vec<FramingProblem>,
}

/// Shows the document that was found on stdout, where it stands; what strict JSON cannot hold is repaired first.
pub(crate) fn see_document(envelope: &Envelope, stdout: &[u8], see: &mut dyn FnMut(JsonView<'_>)) {
    if envelope.value.is_none() {
        return;
    }
    let text = String::from_utf8_lossy(stdout);
    let mut scanner = Scanner::default();
    let Ok(document) = scanner.scan_first(text.get(envelope.offset..).unwrap_or_default()) else { return };
    if document.odd_count() == 0 {
        see(JsonView::Scanned(document.root()));
    } else {
        see((&document.root().to_value()).into());
    }
}

/// Takes a whole stdout apart. With a prefix or a suffix the document is still found, so that its content can be
/// judged too.
pub(crate) fn document(
    envelope: &Envelope,
    stdout: &[u8],
    stderr: Option<&[u8]>,
    root: Root,
) -> FramedDocument {
    let line_at =
        |offset: usize| 1 + memchr::memchr_iter(b'\n', &stdout[..offset.min(stdout.len())]).count() as u64;
    let on_stderr = || stderr.map(String::from_utf8_lossy).as_deref().and_then(json_object_in).is_some();
    let mut oddities = Vec::new();
    for flaw in &envelope.flaws {
        let problem = match flaw.kind {
            Problem::Empty if on_stderr() => Problem::OnStderr,
            Problem::NotAnObject if root != Root::Object => continue,
            problem => problem,
        };
        let rest = &stdout[flaw.offset.min(stdout.len())..];
        let seen = String::from_utf8_lossy(&rest[..rest.len().min(400)]);
        let seen = seen.lines().next().filter(|line| !line.is_empty()).map(shorten);
        oddities.push(FramingProblem {
            problem,
            line: line_at(flaw.offset),
            offset: flaw.offset as u64,
            message: of_document(problem, flaw),
            seen,
        });
    }
    if root == Root::Array
        && let Some(value) = &envelope.value
        && !value.is_array()
    {
        let message = "the document on stdout is no JSON array".into();
        let (line, offset) = (line_at(envelope.offset), envelope.offset as u64);
        oddities.push(FramingProblem { problem: Problem::NotAnObject, line, offset, message, seen: None });
    }
    FramedDocument { line: line_at(envelope.offset), offset: envelope.offset as u64, oddities }
}

/// What findings say of a problem of a document.
fn of_document(problem: Problem, flaw: &Oddity) -> String {
    let message = match problem {
        Problem::Empty => "stdout is empty",
        Problem::OnStderr => "stdout is empty, the JSON is on stderr",
        Problem::NoJson => "stdout is not JSON",
        Problem::Prefix => "something stands before the JSON",
        Problem::SpaceBefore => "white space stands before the JSON",
        Problem::SpaceAfter => "more than one newline follows the JSON",
        Problem::Suffix => "something follows the JSON",
        Problem::SecondDocument => "a second JSON document follows the first",
        Problem::NotAnObject => "the document on stdout is no JSON object",
        Problem::Truncated => "the JSON on stdout breaks off",
        Problem::TooLarge => "stdout is too large to be one document",
        Problem::ByteOrderMark => "stdout starts with a byte order mark",
        Problem::NoFinalNewline => "no newline ends the document",
        Problem::InvalidUtf8 => return format!("byte {} is not UTF-8", flaw.offset),
        _ => return flaw.to_string(),
    };
    message.to_owned()
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
pub(crate) fn of_line(
    line: u64,
    offset: u64,
    oddities: &[Oddity],
) -> impl Iterator<Item = FramingProblem> + use<'_> {
    oddities.iter().map(move |oddity| FramingProblem {
        problem: oddity.kind,
        line,
        offset: offset + oddity.offset as u64,
        message: format!("{oddity} of line {line}"),
        seen: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oddities(stdout: &[u8], stderr: &str) -> Vec<(&'static str, u64)> {
        let envelope = Envelope::read(stdout);
        let frame = document(&envelope, stdout, Some(stderr.as_bytes()), Root::Object);
        frame.oddities.iter().map(|oddity| (word(oddity.problem).unwrap(), oddity.offset)).collect()
    }

    #[test]
    fn contracts_have_one_word_for_every_problem_but_our_own_bound() {
        for problem in Problem::ALL {
            let words = WORDS.iter().filter(|(_, problems)| problems.contains(problem)).count();
            assert_eq!(words, usize::from(*problem != Problem::TooManyValues), "{problem:?}");
        }
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
            (b" {\"a\":1}\n", "", &[("space-before", 0)]),
            (b"{\"a\":1}\nbye\n", "", &[("suffix", 8)]),
            (b"{\"a\":1}\n\n", "", &[("space-after", 7)]),
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
