//! A line of the stream after scanning.

use crate::json::{Document, Malformed, Node, Problem};

use super::Message;

/// What one line of a stream turned out to be. Blank lines are not delivered.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Line<'a> {
    /// A JSON object, which is a message.
    Message(RawMessage<'a>),
    /// JSON of another type.
    NotAnObject {
        /// The line's number, counted from 1.
        number: u64,
        /// Where it starts in the stream.
        offset: u64,
    },
    /// Something that is not JSON.
    Malformed {
        /// The line's number, counted from 1.
        number: u64,
        /// Where it starts in the stream.
        offset: u64,
        /// Why, and where in the line.
        error: Malformed,
        /// Whether a line end follows; where none does, the stream was probably cut.
        terminated: bool,
    },
    /// A line beyond the limit. What could be read of its head is in `head`.
    Oversized {
        /// The line's number, counted from 1.
        number: u64,
        /// Where it starts in the stream.
        offset: u64,
        /// Its length in bytes.
        length: u64,
        /// The members that stand before the one that was cut.
        head: Option<RawMessage<'a>>,
    },
}

impl<'a> Line<'a> {
    /// The line's number, counted from 1.
    pub fn number(&self) -> u64 {
        match self {
            Self::Message(message) => message.line,
            Self::NotAnObject { number, .. }
            | Self::Malformed { number, .. }
            | Self::Oversized { number, .. } => *number,
        }
    }

    /// Why this line is not a whole message, if it is not.
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::Message(_) => None,
            Self::NotAnObject { .. } => Some(Problem::NotAnObject.describe().into()),
            Self::Malformed { error, .. } => Some(error.to_string()),
            Self::Oversized { length, .. } => Some(format!("line of {length} bytes is over the limit")),
        }
    }

    /// The message, also when only the head of it could be read.
    pub fn message(&self) -> Option<RawMessage<'a>> {
        match self {
            Self::Message(message) => Some(*message),
            Self::Oversized { head, .. } => *head,
            _ => None,
        }
    }
}

/// A message with everything that is known of its line.
#[derive(Debug, Clone, Copy)]
pub struct RawMessage<'a> {
    /// The line's number, counted from 1.
    pub line: u64,
    /// Where the line starts, in bytes from the start of the stream.
    pub offset: u64,
    /// The line as the scanner read it.
    pub document: &'a Document<'a>,
    view: Message<'a>,
    /// The text of the line without white space around it. Invalid UTF-8 has become U+FFFD.
    pub text: &'a str,
    /// Where the line has invalid UTF-8, in bytes from the start of the stream.
    pub invalid_utf8: Option<u64>,
    /// Whether a line end follows; only the last line may lack it.
    pub terminated: bool,
    /// Whether the line was oversized, so that later members are missing.
    pub partial: bool,
}

/// Where a message stands, and what is known of its bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) offset: u64,
    pub(super) invalid_utf8: Option<u64>,
    pub(super) terminated: bool,
}

impl<'a> RawMessage<'a> {
    pub(super) fn new(place: Place, document: &'a Document<'a>, text: &'a str, partial: bool) -> Self {
        let Place { line, offset, invalid_utf8, terminated } = place;
        let view = Message::of(document.root());
        Self { line, offset, document, view, text, invalid_utf8, terminated, partial }
    }

    /// The object that the message is.
    pub fn root(&self) -> Node<'a> {
        self.document.root()
    }

    /// The typed view of the message.
    pub fn view(&self) -> Message<'a> {
        self.view
    }
}
