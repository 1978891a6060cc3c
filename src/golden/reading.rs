//! Reads output piece by piece, as every other reader does: one JSON document, one message a line, or text with documents
//! in it. Blank lines are nothing.
//!
//! What is in memory at a time is one line, or one value that spans lines, and of either no more than [`LARGEST`].

use std::io::{self, Read};
use std::ops::ControlFlow;

use hmac_sha256::Hash as Sha256;

use super::entry::is_of_stream;
use crate::json::{Document, JsonView, Kind, Malformed, Scanner};
use crate::text::hex;

/// The longest line and the largest value that is read whole, in bytes; as much as a document may have that is judged. A
/// longer line is told by its beginning, its length and its digest.
pub(super) const LARGEST: usize = 16 << 20;
/// Of a line that is too long so much is shown.
const SHOWN: usize = 400;
/// So much is read at a time.
const CHUNK: usize = 64 << 10;
/// So many times a value that spans lines is looked for where none is: hostile output would make that quadratic.
const MOST_ATTEMPTS: usize = 16;

/// One thing that a program printed, where it stands in its output.
#[derive(Clone, Copy)]
pub(super) enum Printed<'a> {
    /// A JSON value on lines of its own, with its text.
    Message { value: JsonView<'a>, text: &'a str, line: usize },
    /// A line that is no JSON, without its end.
    Text { text: &'a str, line: usize },
}

/// Whether to read on.
pub(crate) type Go = ControlFlow<()>;

/// Shows everything that an output holds, until `each` has seen enough.
pub(super) fn read_printed(output: impl Read, each: &mut dyn FnMut(Printed<'_>) -> Go) -> io::Result<()> {
    let reader = Reader { input: Input::new(output), scanner: Scanner::default(), line: 1, attempts: 0 };
    reader.run(each)
}

/// Whether an output holds a message.
#[cfg(feature = "cli")]
pub(crate) fn holds_message(output: impl Read) -> io::Result<bool> {
    let mut holds = false;
    read_printed(output, &mut |printed| {
        holds = matches!(printed, Printed::Message { .. });
        if holds { Go::Break(()) } else { Go::Continue(()) }
    })?;
    Ok(holds)
}

/// Shows the message in a text that is known to be one.
pub(super) fn reread(
    scanner: &mut Scanner,
    text: &str,
    line: usize,
    each: &mut dyn FnMut(Printed<'_>) -> Go,
) {
    if let Ok(document) = scanner.scan_first(text) {
        _ = show(&document, text, line, each);
    }
}

struct Reader<R> {
    input: Input<R>,
    scanner: Scanner,
    line: usize,
    attempts: usize,
}

impl<R: Read> Reader<R> {
    fn run(mut self, each: &mut dyn FnMut(Printed<'_>) -> Go) -> io::Result<()> {
        let mut is_first = true;
        loop {
            let has_line = self.input.read_line()?;
            let rest = self.input.rest();
            if rest.is_empty() {
                return Ok(());
            }
            let end = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
            let this = rest[..end].trim_start();
            if this.is_empty() && has_line {
                self.next_line(end);
                continue;
            }
            let may_be_list = std::mem::take(&mut is_first) && this.starts_with('[');
            let go = if !has_line || end > LARGEST {
                self.skip_line(each)?
            } else if let Some(go) = may_be_list.then(|| self.list(each)).transpose()?.flatten() {
                go
            } else {
                self.line(end, each)?
            };
            if go.is_break() {
                return Ok(());
            }
        }
    }

    fn next_line(&mut self, end: usize) {
        self.input.advance(end + 1);
        self.line += 1;
    }

    /// The whole output, where it is one list; `--output-format json --verbose` prints all messages as one.
    fn list(&mut self, each: &mut dyn FnMut(Printed<'_>) -> Go) -> io::Result<Option<Go>> {
        self.input.fill(LARGEST)?;
        let rest = self.input.rest();
        if !self.input.ended {
            return Ok(None);
        }
        let Ok(document) = self.scanner.scan(rest) else { return Ok(None) };
        let root = document.root();
        let is_odd = document.odd_count() > 0;
        let items = || root.items().map(JsonView::Scanned);
        let is_stream = root.kind() == Kind::Array
            && items().all(|item| item.kind() == Kind::Object)
            && items().any(is_of_stream);
        if !is_stream {
            _ = show(&document, rest, self.line, each);
            return Ok(Some(Go::Break(())));
        }
        for item in root.items() {
            let (text, line) = (item.raw(), self.line);
            let built = is_odd.then(|| item.to_value());
            let value = built.as_ref().map_or(JsonView::Scanned(item), JsonView::Built);
            if each(Printed::Message { value, text, line }).is_break() {
                break;
            }
        }
        Ok(Some(Go::Break(())))
    }

    /// The line that ends at `end`: a message, one that begins on it after whatever text and may end on a later one, or text.
    fn line(&mut self, end: usize, each: &mut dyn FnMut(Printed<'_>) -> Go) -> io::Result<Go> {
        let this = &self.input.rest()[..end];
        if let Ok(document) = self.scanner.scan(this) {
            let go = show(&document, this, self.line, each);
            self.next_line(end);
            return Ok(go);
        }
        let start = memchr::memchr(b'{', this.as_bytes()).filter(|_| self.attempts < MOST_ATTEMPTS);
        if let Some(start) = start
            && let Some(length) = self.embedded(start)?
        {
            let rest = self.input.rest();
            let (before, message) = (&rest[..start], &rest[start..start + length]);
            let mut go = show_text(before, self.line, each);
            if go.is_continue()
                && let Ok(document) = self.scanner.scan_first(message)
            {
                go = show(&document, message, self.line, each);
            }
            self.line += memchr::memchr_iter(b'\n', message.as_bytes()).count();
            // There may be another behind it.
            self.input.advance(start + length);
            return Ok(go);
        }
        let go = show_text(&self.input.rest()[..end], self.line, each);
        self.next_line(end);
        Ok(go)
    }

    /// How long the object is that begins there, if one does.
    fn embedded(&mut self, start: usize) -> io::Result<Option<usize>> {
        loop {
            let rest = &self.input.rest()[start..];
            // Whole lines: within one, an end of the text would not mean that more may follow.
            let known = if self.input.ended {
                rest
            } else {
                &rest[..=memchr::memrchr(b'\n', rest.as_bytes()).unwrap_or(rest.len() - 1)]
            };
            let is_cut = |error: &Malformed| error.breaks_off() && !self.input.ended;
            match self.scanner.scan_first(known) {
                // An empty object is no message.
                Ok(document) if document.end() > 2 => return Ok(Some(document.end())),
                Err(error) if is_cut(&error) && known.len() < LARGEST => {
                    let end = start + known.len();
                    self.input.fill(start + (2 * known.len()).min(LARGEST + CHUNK))?;
                    if self.input.read_line_from(end)? {
                        continue;
                    }
                }
                _ => {}
            }
            self.attempts += 1;
            return Ok(None);
        }
    }

    /// A line that is too long is read to its end and told by its beginning, its length and its digest.
    fn skip_line(&mut self, each: &mut dyn FnMut(Printed<'_>) -> Go) -> io::Result<Go> {
        let shown: String = self.input.rest().chars().take(SHOWN).collect();
        let (mut digest, mut length) = (Sha256::new(), 0);
        loop {
            let rest = self.input.rest();
            let end = memchr::memchr(b'\n', rest.as_bytes());
            let part = end.unwrap_or(rest.len());
            digest.update(&rest.as_bytes()[..part]);
            length += part;
            if end.is_some() || (part == 0 && self.input.ended) {
                self.input.advance(part + 1);
                break;
            }
            self.input.advance(part);
            self.input.fill(CHUNK)?;
        }
        let text = format!("{shown}<cut: {length} bytes in all, sha256 {}>", hex(&digest.finalize()[..8]));
        let go = each(Printed::Text { text: &text, line: self.line });
        self.line += 1;
        Ok(go)
    }
}

/// A message as rules look at it: what strict JSON cannot hold is repaired first.
fn show(document: &Document<'_>, text: &str, line: usize, each: &mut dyn FnMut(Printed<'_>) -> Go) -> Go {
    let built = (document.odd_count() > 0).then(|| document.root().to_value());
    let value = built.as_ref().map_or(JsonView::Scanned(document.root()), JsonView::Built);
    each(Printed::Message { value, text, line })
}

fn show_text(text: &str, line: usize, each: &mut dyn FnMut(Printed<'_>) -> Go) -> Go {
    let text = text.trim_end_matches('\r');
    if text.trim().is_empty() { Go::Continue(()) } else { each(Printed::Text { text, line }) }
}

/// The part of an output that is being read, as text.
struct Input<R> {
    source: R,
    text: String,
    /// Where in it what was not looked at yet begins.
    at: usize,
    /// Bytes of a character that is not whole yet.
    partial: Vec<u8>,
    ended: bool,
}

impl<R: Read> Input<R> {
    fn new(source: R) -> Self {
        Self { source, text: String::new(), at: 0, partial: Vec::new(), ended: false }
    }

    /// What was not looked at yet.
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn advance(&mut self, bytes: usize) {
        self.at = (self.at + bytes).min(self.text.len());
    }

    /// Reads on until a line is there, there is no more, or it is too long.
    fn read_line(&mut self) -> io::Result<bool> {
        self.read_line_from(0)
    }

    /// As [`read_line`](Self::read_line), of the line behind so many bytes; whether there is more than those.
    fn read_line_from(&mut self, mut looked: usize) -> io::Result<bool> {
        let most = looked + LARGEST;
        loop {
            let rest = self.rest();
            let has_line = memchr::memchr(b'\n', &rest.as_bytes()[looked.min(rest.len())..]).is_some();
            if has_line || self.ended || rest.len() > most {
                return Ok(has_line || self.ended);
            }
            looked = rest.len();
            self.fill(looked + 1)?;
        }
    }

    /// Reads on until so many bytes wait, or there are no more.
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        while !self.ended && self.rest().len() < wanted {
            if self.at > CHUNK {
                self.text.drain(..self.at);
                self.at = 0;
                // What held a large value is given back.
                if self.text.len() < CHUNK {
                    self.text.shrink_to(4 * CHUNK);
                }
            }
            let kept = self.partial.len();
            self.partial.resize(kept + CHUNK, 0);
            let read = loop {
                match self.source.read(&mut self.partial[kept..]) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    read => break read?,
                }
            };
            self.partial.truncate(kept + read);
            self.ended = read == 0;
            self.decode();
        }
        Ok(())
    }

    /// Appends the characters that are whole; at the end also what will never be one, replaced.
    fn decode(&mut self) {
        let mut bytes = self.partial.as_slice();
        loop {
            let error = match simdutf8::compat::from_utf8(bytes) {
                Ok(text) => {
                    self.text.push_str(text);
                    self.partial.clear();
                    return;
                }
                Err(error) => error,
            };
            let (whole, rest) = bytes.split_at(error.valid_up_to());
            self.text.push_str(std::str::from_utf8(whole).unwrap_or_default());
            match error.error_len() {
                None if !self.ended => {
                    self.partial = rest.to_vec();
                    return;
                }
                length => {
                    self.text.push(char::REPLACEMENT_CHARACTER);
                    bytes = &rest[length.unwrap_or(rest.len())..];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::kind_of;
    use super::*;

    fn read(output: impl Read) -> Vec<(String, usize)> {
        let mut seen = Vec::new();
        read_printed(output, &mut |printed| {
            seen.push(match printed {
                Printed::Message { value, line, .. } => (format!("<{}>", kind_of(value)), line),
                Printed::Text { text, line } => (text.to_owned(), line),
            });
            Go::Continue(())
        })
        .unwrap();
        seen
    }

    fn seen(output: &str) -> Vec<(String, usize)> {
        read(output.as_bytes())
    }

    fn owned(expected: &[(&str, usize)]) -> Vec<(String, usize)> {
        expected.iter().map(|(text, line)| ((*text).to_owned(), *line)).collect()
    }

    #[test]
    fn messages_are_told_from_text() {
        let stream = "{\"type\":\"system\",\"subtype\":\"init\"}\nwarning!\n\n{\"type\":\"later\"}\n";
        assert_eq!(seen(stream), owned(&[("<system/init>", 1), ("warning!", 2), ("<later>", 4)]));
        assert_eq!(seen("{\"error\":1}"), owned(&[("<document>", 1)]));
    }

    #[test]
    fn documents_are_found_behind_text_and_over_lines() {
        assert_eq!(seen("{\"a\":1}{\"b\":1}\n x"), owned(&[("<document>", 1), ("<document>", 1), (" x", 2)]));
        let output = "Enter choice (1-2): {\n \"a\": 1\n}\n{\n \"b\": 2\n} done\nbye {x}";
        let expected =
            [("Enter choice (1-2): ", 1), ("<document>", 1), ("<document>", 4), (" done", 6), ("bye {x}", 7)];
        assert_eq!(seen(output), owned(&expected));
    }

    #[test]
    fn a_flood_of_braces_is_read_in_linear_time() {
        let flood = "{\"a\":\n".repeat(200_000);
        assert_eq!(seen(&flood).len(), 200_000);
    }

    /// Gives its bytes one at a time.
    struct Slowly<'a>(&'a [u8]);

    impl Read for Slowly<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
            (out[0], self.0) = (*first, rest);
            Ok(1)
        }
    }

    #[test]
    fn however_it_is_cut_the_same_is_read() {
        let lists = "\n [{\"type\":\"user\"},\n{\"type\":\"later\"}]\n";
        assert_eq!(seen(lists), owned(&[("<user>", 2), ("<later>", 2)]));
        assert_eq!(seen("[1]\n[2]\n"), owned(&[("<document>", 1), ("<document>", 2)]));
        assert_eq!(seen("[\n1\n]"), owned(&[("<document>", 1)]));
        assert_eq!(seen("[\n1"), owned(&[("[", 1), ("<document>", 2)]));
        for output in [
            &b"one {\n \"a\": \"\xc3\xa9\"\n} two\r\n\xff\xe2\x82{\"b\":1}\xe2\x82"[..],
            b"{\"a\":tru",
            b"{\n\"a\":\n[1,\n2",
            lists.as_bytes(),
        ] {
            assert_eq!(read(Slowly(output)), seen(&String::from_utf8_lossy(output)));
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_told_by_its_length_and_digest() {
        let long = |end: &str| format!("{{\"a\":\"{}{end}\"}}\nnext\n", "x".repeat(LARGEST));
        let (one, other) = (seen(&long("a")), seen(&long("b")));
        assert_eq!(one.len(), 2);
        assert!(one[0].0.starts_with("{\"a\":\"xxx") && one[0].0.len() < 500, "{}", one[0].0);
        assert!(one[0].0.contains(&format!("<cut: {} bytes in all, sha256 ", LARGEST + 9)), "{}", one[0].0);
        assert_eq!(one[1], ("next".to_owned(), 2));
        assert_ne!(one[0], other[0]);
        let short = format!("[\"{}\"]\n", "x".repeat(LARGEST / 2));
        assert_eq!(seen(&short), owned(&[("<document>", 1)]));
    }
}
