//! The push reader: bytes in, scanned lines out.

use std::fmt::Write as _;

use crate::json::{Malformed, Problem, RawLine, Scanner, Splitter};

use super::line::Place;
use super::{Limits, Line, RawMessage, Tally};

/// Reads a stream in chunks of any size; the same bytes give the same lines however they are cut.
#[derive(Debug)]
pub struct StreamReader {
    splitter: Splitter,
    decoder: Decoder,
}

impl Default for StreamReader {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

/// What the reading of a whole stream amounts to.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Summary {
    /// How many bytes were read.
    pub bytes: u64,
    /// Lines with something on them.
    pub lines: u64,
    /// Lines that are JSON objects.
    pub messages: u64,
    /// What was irregular, and how often.
    pub tally: Tally,
}

impl StreamReader {
    /// A reader with these bounds.
    pub fn new(limits: Limits) -> Self {
        let summary = Summary { tally: Tally::new(limits.samples), ..Summary::default() };
        Self {
            splitter: Splitter::new(limits.line),
            decoder: Decoder {
                limit: limits.line,
                scanner: Scanner::default(),
                lossy: String::new(),
                summary,
            },
        }
    }

    /// Reads the next bytes and delivers every line that ends in them.
    pub fn push(&mut self, chunk: &[u8], sink: &mut impl FnMut(&Line<'_>)) {
        self.decoder.summary.bytes += chunk.len() as u64;
        self.splitter.push(chunk, &mut |raw| self.decoder.line(raw, sink));
    }

    /// Ends the stream, delivering an unterminated last line.
    pub fn finish(mut self, sink: &mut impl FnMut(&Line<'_>)) -> Summary {
        self.splitter.finish(&mut |raw| self.decoder.line(raw, sink));
        if let Some((line, offset)) = self.splitter.lone_return() {
            self.decoder.summary.tally.note(Problem::LoneReturn, line, offset, None);
        }
        self.decoder.summary
    }

    /// What has been read so far.
    pub fn summary(&self) -> &Summary {
        &self.decoder.summary
    }
}

#[derive(Debug)]
struct Decoder {
    limit: usize,
    scanner: Scanner,
    lossy: String,
    summary: Summary,
}

impl Decoder {
    fn line(&mut self, raw: RawLine<'_>, sink: &mut impl FnMut(&Line<'_>)) {
        let tally = &mut self.summary.tally;
        let mut fits = true;
        let mut invalid_utf8 = None;
        let text = match simdutf8::compat::from_utf8(raw.bytes) {
            Ok(text) => text,
            // The head of an oversized line may be cut inside a character.
            Err(error) if raw.is_oversized() && error.error_len().is_none() => {
                std::str::from_utf8(&raw.bytes[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(error) => {
                let at = raw.offset + error.valid_up_to() as u64;
                tally.note(Problem::InvalidUtf8, raw.number, at, None);
                invalid_utf8 = Some(at);
                fits = replace_invalid(raw.bytes, &mut self.lossy, self.limit);
                &self.lossy
            }
        };
        let trimmed_start = text.trim_start_matches(is_space);
        let offset = raw.offset + (text.len() - trimmed_start.len()) as u64;
        let text = trimmed_start.trim_end_matches(is_space);
        let place = Place { line: raw.number, offset, invalid_utf8, terminated: raw.terminated };
        if text.is_empty() && !raw.is_oversized() {
            return;
        }
        self.summary.lines += 1;
        if !raw.terminated {
            tally.note(Problem::NoFinalNewline, raw.number, raw.offset, None);
        }
        if raw.is_oversized() {
            let detail = format!("{} bytes", raw.length);
            tally.note(Problem::LineTooLong, raw.number, raw.offset, Some(&detail));
            let closed = close_head(text);
            let document = closed.as_deref().and_then(|text| self.scanner.scan(text).ok());
            let head = document
                .as_ref()
                .zip(closed.as_deref())
                .map(|(document, text)| RawMessage::new(place, document, text, true));
            sink(&Line::Oversized { number: raw.number, offset, length: raw.length, head });
            return;
        }
        let scanned = if fits {
            self.scanner.scan(text)
        } else {
            Err(Malformed { reason: "mostly invalid UTF-8", offset: 0 })
        };
        let document = match scanned {
            Ok(document) => document,
            Err(error) => {
                let kind = match error.reason {
                    "byte order mark" => Problem::ByteOrderMark,
                    _ if text.as_bytes().get(error.offset) == Some(&0) => Problem::Nul,
                    _ => Problem::NotJson,
                };
                tally.note(kind, raw.number, offset + error.offset as u64, Some(error.reason));
                let terminated = raw.terminated;
                sink(&Line::Malformed { number: raw.number, offset, error, terminated });
                return;
            }
        };
        for odd in document.oddities() {
            tally.note(odd.kind, raw.number, offset + odd.offset as u64, None);
        }
        if document.odd_count() > document.oddities().len() {
            // Only the first of very many are kept apart; the rest are most likely more of the last kind.
            let kind = document.oddities().last().map_or(Problem::TooManyValues, |odd| odd.kind);
            tally.note_more(kind, (document.odd_count() - document.oddities().len()) as u64);
        }
        if !document.root().is_object() {
            tally.note(Problem::NotAnObject, raw.number, offset, None);
            sink(&Line::NotAnObject { number: raw.number, offset });
            return;
        }
        self.summary.messages += 1;
        sink(&Line::Message(RawMessage::new(place, &document, text, false)));
    }
}

/// White space as Python's `str.strip` sees it, which the documented reader uses.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// Decodes with U+FFFD for what is not UTF-8; gives up when the text would grow far beyond the limit.
fn replace_invalid(bytes: &[u8], out: &mut String, limit: usize) -> bool {
    out.clear();
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            out.push(char::REPLACEMENT_CHARACTER);
        }
        if out.len() > limit + limit / 4 {
            return false;
        }
    }
    true
}

/// Turns the head of an object that was cut into an object with the members that are whole.
fn close_head(head: &str) -> Option<String> {
    let bytes = head.as_bytes();
    if bytes.first() != Some(&b'{') {
        return None;
    }
    let (mut depth, mut in_string, mut escaped, mut last_comma) = (0_usize, false, false, None);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' if depth == 1 => last_comma = Some(at),
            _ => {}
        }
    }
    let mut closed = head.get(..last_comma?)?.to_owned();
    let _ = closed.write_char('}');
    Some(closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], limits: Limits) -> (Vec<String>, Summary) {
        let mut seen = Vec::new();
        let mut sink = |line: &Line<'_>| {
            seen.push(match line {
                Line::Message(message) => format!("{}+{} {}", message.line, message.offset, message.text),
                Line::Oversized { head: Some(head), length, .. } => {
                    format!("head of {length}: {}", head.text)
                }
                other => format!("{} {}", other.number(), other.problem().unwrap()),
            });
        };
        let mut reader = StreamReader::new(limits);
        reader.push(bytes, &mut sink);
        let summary = reader.finish(&mut sink);
        (seen, summary)
    }

    #[test]
    fn lines_are_stripped_like_the_documented_reader_strips_them() {
        let (seen, summary) = read("\u{1c} {} \u{3000}\n\u{85}\n  \n{}".as_bytes(), Limits::default());
        assert_eq!(seen, ["1+2 {}", "4+15 {}"]);
        assert_eq!(summary.tally.count(Problem::NoFinalNewline), 1);
    }

    #[test]
    fn an_oversized_result_still_says_what_stood_before_the_large_member() {
        let line =
            format!(r#"{{"type":"result","is_error":false,"result":"{}","x":1}}"#, "y".repeat(100_000));
        let (seen, summary) = read(line.as_bytes(), Limits { line: 80_000, ..Limits::default() });
        assert_eq!(seen, [format!("head of {}: {{\"type\":\"result\",\"is_error\":false}}", line.len())]);
        assert_eq!(summary.tally.count(Problem::LineTooLong), 1);
    }

    #[test]
    fn every_irregularity_is_tallied_at_its_place() {
        let stream = b"{\"a\":NaN}\n\xef\xbb\xbf{}\n[1]\n\0{}\n{\"a\":\"\xff\"}\nx\n";
        let (seen, summary) = read(stream, Limits::default());
        assert_eq!(seen[2], "3 a document that is not an object");
        let places: Vec<_> = summary.tally.samples().iter().map(|s| (s.kind, s.line, s.offset)).collect();
        assert_eq!(
            places,
            [
                (Problem::NonFinite, 1, 5),
                (Problem::ByteOrderMark, 2, 10),
                (Problem::NotAnObject, 3, 16),
                (Problem::Nul, 4, 20),
                (Problem::InvalidUtf8, 5, 30),
                (Problem::NotJson, 6, 34),
            ]
        );
    }

    #[test]
    fn a_line_of_nothing_but_invalid_bytes_stays_small() {
        let (seen, _) = read(&[0xff; 5000], Limits { line: 5000, ..Limits::default() });
        assert_eq!(seen, ["1 mostly invalid UTF-8 at byte 0"]);
    }
}
