//! What a program printed, as messages and lines of text.

use serde_json::Value;

use crate::json::Scanner;

/// So many times a value that spans lines is looked for where none is: hostile output would make that quadratic.
const MOST_ATTEMPTS: usize = 16;

/// One thing that a program printed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Entry {
    /// A JSON value on lines of its own.
    Message {
        /// What kind of message it is: `system/init`, `result/success`, the topic of an event, or [`DOCUMENT`].
        kind: String,
        value: Value,
        /// The line on which it begins, from 1; in a snapshot its position.
        line: usize,
    },
    /// A line that is no JSON.
    Text {
        /// The line, without its end.
        text: String,
        /// Its number, from 1.
        line: usize,
    },
}

/// The kind of a message that names none.
pub(crate) const DOCUMENT: &str = "document";

impl Entry {
    /// The kind of a message; none for text.
    pub(crate) fn kind(&self) -> Option<&str> {
        match self {
            Self::Message { kind, .. } => Some(kind),
            Self::Text { .. } => None,
        }
    }

    /// The line on which it begins.
    pub(crate) fn line(&self) -> usize {
        match self {
            Self::Message { line, .. } | Self::Text { line, .. } => *line,
        }
    }
}

/// Reads output as every other reader does: one JSON document, one message a line, or text with documents in it. Blank
/// lines are nothing.
pub(crate) fn read_entries(bytes: &[u8]) -> Vec<Entry> {
    let mut entries = Vec::new();
    let text = String::from_utf8_lossy(bytes);
    let mut scanner = Scanner::default();
    if let Some(value) = whole(&mut scanner, &text) {
        let start = text.len() - text.trim_start().len();
        let line = 1 + memchr::memchr_iter(b'\n', &text.as_bytes()[..start]).count();
        match value {
            // `--output-format json --verbose` prints all messages as one list.
            Value::Array(items) if items.iter().all(Value::is_object) && items.iter().any(is_of_stream) => {
                entries.extend(items.into_iter().map(|value| message(value, line)));
            }
            value => entries.push(message(value, line)),
        }
        return named(entries);
    }
    let (mut at, mut line, mut attempts) = (0, 1, 0);
    while at < text.len() {
        let end = memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |length| at + length);
        let this = &text[at..end];
        if let Some(value) = whole(&mut scanner, this) {
            entries.push(message(value, line));
        } else if let Some((start, length, value)) =
            embedded(&mut scanner, &text[at..], end - at, &mut attempts)
        {
            push_text(&mut entries, &text[at..at + start], line);
            entries.push(message(value, line));
            line += memchr::memchr_iter(b'\n', &text.as_bytes()[at + start..at + start + length]).count();
            // There may be another behind it.
            at += start + length;
            continue;
        } else {
            push_text(&mut entries, this, line);
        }
        (at, line) = (end + 1, line + 1);
    }
    named(entries)
}

/// The one JSON value that a text is.
fn whole(scanner: &mut Scanner, text: &str) -> Option<Value> {
    scanner.scan(text).ok().map(|document| document.root().to_value())
}

fn message(value: Value, line: usize) -> Entry {
    Entry::Message { kind: DOCUMENT.into(), value, line }
}

fn push_text(entries: &mut Vec<Entry>, text: &str, line: usize) {
    let text = text.trim_end_matches('\r');
    if !text.trim().is_empty() {
        entries.push(Entry::Text { text: text.to_owned(), line });
    }
}

/// An object that begins on this line, after whatever text, and ends on this or a later one: where, how long, which.
fn embedded(
    scanner: &mut Scanner,
    rest: &str,
    line_length: usize,
    attempts: &mut usize,
) -> Option<(usize, usize, Value)> {
    let start = memchr::memchr(b'{', &rest.as_bytes()[..line_length])?;
    if *attempts >= MOST_ATTEMPTS {
        return None;
    }
    match scanner.scan_first(&rest[start..]) {
        // An empty object is no message.
        Ok(document) if document.end() > 2 => Some((start, document.end(), document.root().to_value())),
        _ => {
            *attempts += 1;
            None
        }
    }
}

/// Whether a message is one of a stream of the Claude CLI.
fn is_of_stream(value: &Value) -> bool {
    matches!(text(value, "type"), Some("system" | "assistant" | "user" | "result" | "stream_event"))
}

/// Gives the messages of streams and event logs their kinds; other documents are all of one kind.
fn named(mut entries: Vec<Entry>) -> Vec<Entry> {
    let has_kinds = |entry: &Entry| match entry {
        Entry::Message { value, .. } => is_of_stream(value) || text(value, "topic").is_some(),
        Entry::Text { .. } => false,
    };
    if entries.iter().any(has_kinds) {
        for entry in &mut entries {
            if let Entry::Message { kind, value, .. } = entry {
                *kind = kind_of(value);
            }
        }
    }
    entries
}

fn kind_of(value: &Value) -> String {
    if let Some(topic) = text(value, "topic") {
        // A part with a number is the name of a peer or a session, which differs from run to run.
        let parts = topic.split('.').filter(|part| !part.contains(|c: char| c.is_ascii_digit()));
        return plain_word(&parts.collect::<Vec<_>>().join("."));
    }
    let Some(kind) = text(value, "type") else { return DOCUMENT.into() };
    let part = text(value, "subtype").or_else(|| {
        (kind == "stream_event").then(|| value.get("event").and_then(|event| text(event, "type"))).flatten()
    });
    let whole = part.map_or_else(|| kind.to_owned(), |part| format!("{kind}/{part}"));
    plain_word(&whole)
}

/// A kind stands in headings and in rows of a table.
fn plain_word(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !c.is_control()).take(80).collect()
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(output: &str) -> Vec<(String, usize)> {
        let shown = |entry: &Entry| match entry {
            Entry::Message { kind, line, .. } => (format!("<{kind}>"), *line),
            Entry::Text { text, line } => (text.clone(), *line),
        };
        read_entries(output.as_bytes()).iter().map(shown).collect()
    }

    fn owned(expected: &[(&str, usize)]) -> Vec<(String, usize)> {
        expected.iter().map(|(text, line)| ((*text).to_owned(), *line)).collect()
    }

    #[test]
    fn messages_have_kinds_and_text_stays_text() {
        let stream = "{\"type\":\"system\",\"subtype\":\"init\"}\nwarning!\n\n{\"type\":\"later\"}\n";
        assert_eq!(seen(stream), owned(&[("<system/init>", 1), ("warning!", 2), ("<later>", 4)]));
        assert_eq!(seen("{\"type\":\"error\"}"), owned(&[("<document>", 1)]));
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
        assert_eq!(read_entries(flood.as_bytes()).len(), 200_000);
    }
}
