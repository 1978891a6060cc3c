//! Finding the document and everything around it.

use serde_json::Value;

use crate::json::{Kind, Malformed, Node, Oddity, Problem, Scanner};

/// A larger output is not read as a document.
pub const MAX_BYTES: usize = 16 << 20;

/// A larger document is not copied as a whole.
#[cfg(feature = "contracts")]
const LARGE: usize = 1 << 20;
/// So many elements stay at either end of a list in a large document.
#[cfg(feature = "contracts")]
const ENDS: usize = 32;

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
    /// What keeps the output from being exactly one strict JSON object, in the order of the bytes.
    pub flaws: Vec<Oddity>,
}

impl Envelope {
    /// Reads the output of a process.
    pub fn read(output: &[u8]) -> Self {
        Self::read_with(output, &mut |_| {})
    }

    /// As [`read`](Self::read); `see` is shown the document as it stands in the output, if there is one.
    pub fn read_with(output: &[u8], see: &mut dyn FnMut(Node<'_>)) -> Self {
        Self::read_as(output, &mut |root| {
            see(root);
            root.to_value()
        })
    }

    /// As [`read_with`](Self::read_with), but of a large document the middle of long lists and texts of more than so many
    /// bytes are left out of `value`: whoever judges all of it does so where it stands.
    #[cfg(feature = "contracts")]
    pub(crate) fn outline(output: &[u8], longest: usize, see: &mut dyn FnMut(Node<'_>)) -> Self {
        Self::read_as(output, &mut |root| {
            see(root);
            if root.raw().len() > LARGE { outline(root, longest) } else { root.to_value() }
        })
    }

    fn read_as(output: &[u8], build: &mut dyn FnMut(Node<'_>) -> Value) -> Self {
        if output.len() > MAX_BYTES {
            return Self::only(Problem::TooLarge, MAX_BYTES);
        }
        let mut envelope = Self::default();
        let text = match std::str::from_utf8(output) {
            Ok(text) => std::borrow::Cow::Borrowed(text),
            Err(error) => {
                envelope.flaw(Problem::InvalidUtf8, error.valid_up_to());
                String::from_utf8_lossy(output)
            }
        };
        let start = text.len() - text.trim_start_matches(is_json_space).len();
        if start == text.len() {
            envelope.flaw(Problem::Empty, 0);
            return envelope;
        }
        envelope.document(&text, start, build);
        envelope.flaws.sort_by_key(|flaw| flaw.offset);
        envelope
    }

    fn only(kind: Problem, offset: usize) -> Self {
        Self { flaws: vec![Oddity { kind, offset }], ..Self::default() }
    }

    fn flaw(&mut self, kind: Problem, offset: usize) {
        self.flaws.push(Oddity { kind, offset });
    }

    /// Whether the output is one JSON object with nothing of substance around it, so that a lenient reader gets it.
    pub fn is_one_object(&self) -> bool {
        self.value.as_ref().is_some_and(Value::is_object)
            && !self.flaws.iter().any(|flaw| flaw.kind.is_substantial())
    }

    fn document(&mut self, text: &str, start: usize, build: &mut dyn FnMut(Node<'_>) -> Value) {
        let mut scanner = Scanner::default();
        let mut at = start;
        if let Some(rest) = text[start..].strip_prefix('\u{feff}') {
            self.flaw(Problem::ByteOrderMark, start);
            at = text.len() - rest.trim_start_matches(is_json_space).len();
        } else if start > 0 {
            self.flaw(Problem::SpaceBefore, 0);
        }
        if let Err(error) = scanner.scan_first(&text[at..]) {
            // What is inside of a document that was cut is no document.
            if breaks_off(&text[at..], error) {
                self.flaw(Problem::Truncated, at);
                return;
            }
            let Some(found) = first_object(&mut scanner, text, at) else {
                self.flaw(Problem::NoJson, at);
                return;
            };
            self.flaw(Problem::Prefix, at);
            at = found;
        }
        let Ok(document) = scanner.scan_first(&text[at..]) else { return };
        for odd in document.oddities() {
            self.flaw(odd.kind, at + odd.offset);
        }
        if document.root().kind() != Kind::Object {
            self.flaw(Problem::NotAnObject, at);
        }
        self.value = Some(build(document.root()));
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
                        self.flaw(Problem::SecondDocument, here);
                    }
                    self.documents += 1;
                    at = here + next.end();
                }
                _ => {
                    self.flaw(Problem::Suffix, here);
                    return;
                }
            }
        }
        match &text[at..] {
            "\n" => {}
            "" => self.flaw(Problem::NoFinalNewline, text.len()),
            _ => self.flaw(Problem::SpaceAfter, at),
        }
    }
}

/// A value without the middle of its long lists, and without long texts.
#[cfg(feature = "contracts")]
fn outline(node: Node<'_>, longest: usize) -> Value {
    match node.kind() {
        Kind::String if node.raw().len() > longest => Value::String(String::new()),
        Kind::Array if !node.is_opaque() => {
            let count = node.items().count();
            let is_end = |at: usize| at < ENDS || at + ENDS >= count;
            let kept = node.items().enumerate().filter(|(at, _)| is_end(*at));
            Value::Array(kept.map(|(_, item)| outline(item, longest)).collect())
        }
        Kind::Object if !node.is_opaque() => {
            let member = |(key, value): (Node<'_>, Node<'_>)| {
                (key.text().unwrap_or_default().into_owned(), outline(value, longest))
            };
            Value::Object(node.members().map(member).collect())
        }
        _ => node.to_value(),
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

    fn flaws(output: &str) -> Vec<(Problem, usize)> {
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
        use Problem::*;
        assert_eq!(flaws(""), [(Empty, 0)]);
        assert_eq!(flaws("usage: claw\n"), [(NoJson, 0)]);
        assert_eq!(flaws("Allow? {\"a\":1}\n"), [(Prefix, 0)]);
        assert_eq!(flaws("{\"a\":1} done\n"), [(Suffix, 8)]);
        assert_eq!(flaws("{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n"), [(SecondDocument, 8)]);
        assert_eq!(flaws("[1]\n"), [(NotAnObject, 0)]);
        assert_eq!(flaws("{\"a\":\"x"), [(Truncated, 0)]);
        assert_eq!(flaws("\u{feff}{\"a\":1}\n"), [(ByteOrderMark, 0)]);
        assert_eq!(flaws(" {\"a\":1}\n\n"), [(SpaceBefore, 0), (SpaceAfter, 8)]);
        assert_eq!(flaws("{\"a\":1}"), [(NoFinalNewline, 7)]);
        assert_eq!(flaws("{\"a\":NaN}\n"), [(NonFinite, 5)]);
        assert_eq!(flaws("{\"a\":1,\"a\":\"\\ud800\"}\n").len(), 2);
        let bad = Envelope::read(b"{\"a\":\"\xff\"}\n");
        assert_eq!(bad.flaws, [Oddity { kind: InvalidUtf8, offset: 6 }]);
        assert!(bad.value.is_some() && !bad.is_one_object());
        assert_eq!(Envelope::read(&vec![b' '; MAX_BYTES + 1]).flaws[0].kind, TooLarge);
    }

    #[test]
    fn a_document_that_was_cut_anywhere_is_said_to_be_cut() {
        let whole = r#"{"type":"result","n":-12.5e3,"flag":true,"none":null,"text":"a \u00fc \" b","usage":{"in":[1,{"x":2}]}}"#;
        for at in 1..whole.len() {
            assert_eq!(flaws(&whole[..at]), [(Problem::Truncated, 0)], "{}", &whole[..at]);
        }
        assert_eq!(flaws("[Question] go on? {\"a\":1}\n"), [(Problem::Prefix, 0)]);
    }

    #[test]
    fn documents_are_counted() {
        assert_eq!(Envelope::read(b"{\"a\":1}{\"b\":2} {\"c\":3}").documents, 3);
    }

    #[cfg(feature = "contracts")]
    #[test]
    fn of_a_large_document_the_ends_of_lists_are_kept() {
        let list = |length: usize| {
            let items: Vec<String> = (0..length).map(|at| format!("{{\"n\":{at}}}")).collect();
            format!("{{\"list\":[{}],\"text\":\"{}\"}}\n", items.join(","), "x".repeat(LARGE))
        };
        let (short, long) = (list(2 * ENDS), list(5000));
        let value =
            |output: &str| Envelope::outline(output.as_bytes(), usize::MAX, &mut |_| {}).value.unwrap();
        assert_eq!(value(&short), Envelope::read(short.as_bytes()).value.unwrap());
        let value = value(&long);
        assert_eq!(value["list"].as_array().unwrap().len(), 2 * ENDS);
        assert_eq!((&value["list"][0]["n"], &value["list"][2 * ENDS - 1]["n"]), (&0.into(), &4999.into()));
        assert_eq!(value["text"].as_str().unwrap().len(), LARGE);
    }
}
