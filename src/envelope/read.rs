//! Finding the document and everything around it.

use std::fmt;

use serde_json::Value;

use crate::json::{Kind, Malformed, Node, OddityKind, Scanner};

/// A larger output is not read as a document.
pub const MAX_BYTES: usize = 16 << 20;

/// A way in which an output is not exactly one strict JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flaw {
    /// What is wrong.
    pub kind: FlawKind,
    /// Where, in bytes from the start of the output.
    pub offset: usize,
}

/// The kinds of [`Flaw`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FlawKind {
    /// There is no output at all, or only white space.
    Empty,
    /// There is output, but no JSON value in it.
    NotJson,
    /// Something stands before the document.
    Prefix,
    /// Something that is not JSON follows the document.
    Suffix,
    /// Another document follows the first.
    SecondDocument,
    /// The document is not an object.
    NotAnObject,
    /// The document breaks off.
    Truncated,
    /// The output is not UTF-8.
    InvalidUtf8,
    /// A byte order mark stands before the document.
    ByteOrderMark,
    /// White space other than one newline stands around the document.
    StrayWhitespace,
    /// No newline ends the document.
    NoFinalNewline,
    /// The document has something that strict JSON does not allow, or readers disagree about.
    Oddity(OddityKind),
    /// The output is larger than [`MAX_BYTES`].
    TooLarge,
}

impl FlawKind {
    /// Whether a lenient reader stumbles over it too.
    pub fn is_substantial(self) -> bool {
        !matches!(self, Self::StrayWhitespace | Self::NoFinalNewline | Self::Oddity(_))
    }

    /// The flaw in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Empty => "no output",
            Self::NotJson => "no JSON in the output",
            Self::Prefix => "something before the document",
            Self::Suffix => "something after the document",
            Self::SecondDocument => "a second document",
            Self::NotAnObject => "a document that is not an object",
            Self::Truncated => "a document that breaks off",
            Self::InvalidUtf8 => "invalid UTF-8",
            Self::ByteOrderMark => "a byte order mark",
            Self::StrayWhitespace => "stray white space",
            Self::NoFinalNewline => "no newline at the end",
            Self::Oddity(kind) => kind.describe(),
            Self::TooLarge => "more output than a document may have",
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.kind.describe(), self.offset)
    }
}

/// An output and the document in it.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Envelope {
    /// The first JSON object of the output, or its first JSON value if there is no object.
    pub value: Option<Value>,
    /// Where that value starts, in bytes from the start of the output.
    pub offset: usize,
    /// How many JSON documents follow each other.
    pub documents: usize,
    /// Every flaw, in the order of the bytes.
    pub flaws: Vec<Flaw>,
}

impl Envelope {
    /// Reads the output of a process.
    pub fn read(output: &[u8]) -> Self {
        Self::read_with(output, &mut |_| {})
    }

    /// As [`read`](Self::read); `see` is shown the document as it stands in the output, if there is one.
    pub fn read_with(output: &[u8], see: &mut dyn FnMut(Node<'_>)) -> Self {
        if output.len() > MAX_BYTES {
            return Self::only(FlawKind::TooLarge, MAX_BYTES);
        }
        let mut envelope = Self::default();
        let text = match std::str::from_utf8(output) {
            Ok(text) => std::borrow::Cow::Borrowed(text),
            Err(error) => {
                envelope.flaw(FlawKind::InvalidUtf8, error.valid_up_to());
                String::from_utf8_lossy(output)
            }
        };
        let start = text.len() - text.trim_start_matches(is_json_space).len();
        if start == text.len() {
            envelope.flaw(FlawKind::Empty, 0);
            return envelope;
        }
        envelope.document(&text, start, see);
        envelope.flaws.sort_by_key(|flaw| flaw.offset);
        envelope
    }

    fn only(kind: FlawKind, offset: usize) -> Self {
        Self { flaws: vec![Flaw { kind, offset }], ..Self::default() }
    }

    fn flaw(&mut self, kind: FlawKind, offset: usize) {
        self.flaws.push(Flaw { kind, offset });
    }

    /// Whether the output is one JSON object with nothing of substance around it, so that a lenient reader gets it.
    pub fn is_one_object(&self) -> bool {
        self.value.as_ref().is_some_and(Value::is_object)
            && !self.flaws.iter().any(|flaw| flaw.kind.is_substantial())
    }

    fn document(&mut self, text: &str, start: usize, see: &mut dyn FnMut(Node<'_>)) {
        let mut scanner = Scanner::default();
        let mut at = start;
        if let Some(rest) = text[start..].strip_prefix('\u{feff}') {
            self.flaw(FlawKind::ByteOrderMark, start);
            at = text.len() - rest.trim_start_matches(is_json_space).len();
        } else if start > 0 {
            self.flaw(FlawKind::StrayWhitespace, 0);
        }
        if let Err(error) = scanner.scan_first(&text[at..]) {
            // What is inside of a document that was cut is no document.
            if breaks_off(&text[at..], error) {
                self.flaw(FlawKind::Truncated, at);
                return;
            }
            let Some(found) = first_object(&mut scanner, text, at) else {
                self.flaw(FlawKind::NotJson, at);
                return;
            };
            self.flaw(FlawKind::Prefix, at);
            at = found;
        }
        let Ok(document) = scanner.scan_first(&text[at..]) else { return };
        for odd in document.oddities() {
            self.flaws.push(Flaw { kind: FlawKind::Oddity(odd.kind), offset: at + odd.offset });
        }
        if document.root().kind() != Kind::Object {
            self.flaws.push(Flaw { kind: FlawKind::NotAnObject, offset: at });
        }
        see(document.root());
        self.value = Some(document.root().to_value());
        self.offset = at;
        self.documents = 1;
        let end = at + document.end();
        self.after(&mut scanner, text, end);
    }

    fn after(&mut self, scanner: &mut Scanner, text: &str, end: usize) {
        let mut at = end;
        loop {
            let rest = text[at..].trim_start_matches(is_json_space);
            if rest.is_empty() {
                break;
            }
            let here = text.len() - rest.len();
            match scanner.scan_first(rest) {
                Ok(next) if rest.starts_with(['{', '[']) => {
                    if self.documents == 1 {
                        self.flaw(FlawKind::SecondDocument, here);
                    }
                    self.documents += 1;
                    at = here + next.end();
                }
                _ => {
                    self.flaw(FlawKind::Suffix, here);
                    return;
                }
            }
        }
        match &text[at..] {
            "\n" => {}
            "" => self.flaw(FlawKind::NoFinalNewline, text.len()),
            _ => self.flaw(FlawKind::StrayWhitespace, at),
        }
    }
}

/// Where the first JSON object starts that can be read after a prefix. Only a few candidates are tried.
fn first_object(scanner: &mut Scanner, text: &str, from: usize) -> Option<usize> {
    const CANDIDATES: usize = 64;
    let braces = memchr::memchr_iter(b'{', &text.as_bytes()[from..]).map(|at| from + at);
    braces.take(CANDIDATES).find(|at| scanner.scan_first(&text[*at..]).is_ok_and(|object| object.end() > 2))
}

/// Whether the text is the beginning of a document, which may end in the middle of a word, a number or an escape.
fn breaks_off(text: &str, error: Malformed) -> bool {
    let rest = &text[error.offset.min(text.len())..];
    let is_number = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    let is_cut = match error.reason {
        "expected a value" => ["true", "false", "null"].iter().any(|word| word.starts_with(rest)),
        "invalid number" => rest.chars().all(is_number),
        // After a number that may go on.
        "expected ',' or '}'" | "expected ',' or ']'" => rest.len() <= 2 && rest.chars().all(is_number),
        "invalid \\u escape" => rest.len() < 12 && !rest.contains('"'),
        _ => error.breaks_off(),
    };
    is_cut && text.starts_with(['{', '['])
}

fn is_json_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flaws(output: &str) -> Vec<(FlawKind, usize)> {
        Envelope::read(output.as_bytes()).flaws.iter().map(|flaw| (flaw.kind, flaw.offset)).collect()
    }

    #[test]
    fn one_object_and_a_newline_has_no_flaw() {
        let envelope = Envelope::read(b"{\"a\":1}\n");
        assert!(envelope.flaws.is_empty() && envelope.is_one_object());
        assert_eq!(envelope.value.unwrap()["a"], 1);
    }

    #[test]
    fn each_flaw_is_told_apart_and_placed() {
        use FlawKind::*;
        assert_eq!(flaws(""), [(Empty, 0)]);
        assert_eq!(flaws("usage: claw\n"), [(NotJson, 0)]);
        assert_eq!(flaws("Allow? {\"a\":1}\n"), [(Prefix, 0)]);
        assert_eq!(flaws("{\"a\":1} done\n"), [(Suffix, 8)]);
        assert_eq!(flaws("{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n"), [(SecondDocument, 8)]);
        assert_eq!(flaws("[1]\n"), [(NotAnObject, 0)]);
        assert_eq!(flaws("{\"a\":\"x"), [(Truncated, 0)]);
        assert_eq!(flaws("\u{feff}{\"a\":1}\n"), [(ByteOrderMark, 0)]);
        assert_eq!(flaws(" {\"a\":1}\n\n"), [(StrayWhitespace, 0), (StrayWhitespace, 8)]);
        assert_eq!(flaws("{\"a\":1}"), [(NoFinalNewline, 7)]);
        assert_eq!(flaws("{\"a\":NaN}\n"), [(Oddity(OddityKind::NonFinite), 5)]);
        assert_eq!(flaws("{\"a\":1,\"a\":\"\\ud800\"}\n").len(), 2);
        let bad = Envelope::read(b"{\"a\":\"\xff\"}\n");
        assert_eq!(bad.flaws, [Flaw { kind: InvalidUtf8, offset: 6 }]);
        assert!(bad.value.is_some() && !bad.is_one_object());
        assert_eq!(Envelope::read(&vec![b' '; MAX_BYTES + 1]).flaws[0].kind, TooLarge);
    }

    #[test]
    fn a_document_that_was_cut_anywhere_is_said_to_be_cut() {
        let whole = r#"{"type":"result","n":-12.5e3,"flag":true,"none":null,"text":"a \u00fc \" b","usage":{"in":[1,{"x":2}]}}"#;
        for at in 1..whole.len() {
            assert_eq!(flaws(&whole[..at]), [(FlawKind::Truncated, 0)], "{}", &whole[..at]);
        }
        assert_eq!(flaws("[Question] go on? {\"a\":1}\n"), [(FlawKind::Prefix, 0)]);
    }

    #[test]
    fn documents_are_counted() {
        assert_eq!(Envelope::read(b"{\"a\":1}{\"b\":2} {\"c\":3}").documents, 3);
    }
}
