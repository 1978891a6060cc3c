//! Lines that were read, kept to be looked at on another thread.

use crate::json::{Documents, KeptDocument, Malformed};

use super::line::Place;
use super::{Line, RawMessage};

/// A batch is handed on when it has so many bytes of text.
const FULL: usize = 64 << 10;
/// The room of a larger one is given back.
const MOST_ROOM: usize = 8 * FULL;

/// Some lines of a stream, in their order.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    documents: Documents,
    lines: Vec<KeptLine>,
}

#[derive(Debug)]
enum KeptLine {
    Message(KeptMessage),
    NotAnObject { number: u64, offset: u64 },
    Malformed { number: u64, offset: u64, error: Malformed, terminated: bool },
    Oversized { number: u64, offset: u64, length: u64, head: Option<KeptMessage> },
}

#[derive(Debug)]
struct KeptMessage {
    place: Place,
    document: KeptDocument,
    partial: bool,
}

impl Batch {
    /// Adds the next line.
    pub(crate) fn push(&mut self, line: &Line<'_>) {
        let documents = &mut self.documents;
        let mut keep = |message: &RawMessage<'_>| KeptMessage {
            place: Place {
                line: message.line,
                offset: message.offset,
                invalid_utf8: message.invalid_utf8,
                terminated: message.terminated,
            },
            document: documents.keep(message.document),
            partial: message.partial,
        };
        self.lines.push(match *line {
            Line::Message(ref message) => KeptLine::Message(keep(message)),
            Line::NotAnObject { number, offset } => KeptLine::NotAnObject { number, offset },
            Line::Malformed { number, offset, error, terminated } => {
                KeptLine::Malformed { number, offset, error, terminated }
            }
            Line::Oversized { number, offset, length, ref head } => {
                KeptLine::Oversized { number, offset, length, head: head.as_ref().map(keep) }
            }
        });
    }

    /// Whether it is time to hand it on.
    pub(crate) fn is_full(&self) -> bool {
        self.documents.bytes() >= FULL
    }

    /// Shows the lines as they were read.
    pub(crate) fn replay(&self, sink: &mut impl FnMut(&Line<'_>)) {
        for line in &self.lines {
            match *line {
                KeptLine::Message(ref message) => {
                    let document = self.documents.get(&message.document);
                    sink(&Line::Message(RawMessage::new(
                        message.place,
                        &document,
                        document.text(),
                        message.partial,
                    )));
                }
                KeptLine::NotAnObject { number, offset } => sink(&Line::NotAnObject { number, offset }),
                KeptLine::Malformed { number, offset, error, terminated } => {
                    sink(&Line::Malformed { number, offset, error, terminated });
                }
                KeptLine::Oversized { number, offset, length, ref head } => {
                    let document = head.as_ref().map(|head| self.documents.get(&head.document));
                    let head = head.as_ref().zip(document.as_ref()).map(|(head, document)| {
                        RawMessage::new(head.place, document, document.text(), head.partial)
                    });
                    sink(&Line::Oversized { number, offset, length, head });
                }
            }
        }
    }

    /// The same room without lines.
    pub(crate) fn emptied(mut self) -> Self {
        if self.documents.bytes() > MOST_ROOM {
            return Self::default();
        }
        self.documents.clear();
        self.lines.clear();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream_json::{Limits, StreamReader};

    #[test]
    fn lines_are_shown_as_they_were_read() {
        let long = format!("{{\"type\":\"result\",\"x\":\"{}\"}}", "y".repeat(100_000));
        let stream = [
            b"{\"type\":\"a\",\"n\":[1,{\"b\":null}]}\n[1]\n\n{\"a\":NaN,\"a\":\"\\ud800\"}\nx\n{\"a\":\"\xff\"}\r\n".as_slice(),
            long.as_bytes(),
            b"\n{\"last\":",
        ]
        .concat();
        let (mut seen, mut batch) = (Vec::new(), Batch::default());
        let mut reader = StreamReader::new(Limits { line: 80_000, ..Limits::default() });
        let mut hear = |line: &Line<'_>| {
            seen.push(format!("{line:?}"));
            batch.push(line);
        };
        reader.push(&stream, &mut hear);
        reader.finish(&mut hear);
        assert_eq!(seen.len(), 7);
        // The same room is used again.
        let lines = std::mem::take(&mut batch);
        let mut replayed = Vec::new();
        lines.replay(&mut |line| {
            replayed.push(format!("{line:?}"));
            batch.push(line);
        });
        assert_eq!(replayed, seen);
        let emptied = lines.emptied();
        assert!(emptied.lines.is_empty() && emptied.documents.bytes() == 0);
    }
}
