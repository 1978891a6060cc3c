//! Files of this binary, read when it was built: their trees stand beside their texts, and each table and list is taken out
//! when somebody asks for it.
//!
//! A tree is the place of the whole file, and its table:
//!
//! | | |
//! |---|---|
//! | table | how many entries; each is the place of its key, the key as a string, and an item; sorted by key |
//! | item | its place, and a value |
//! | value | `s` and a string; `l` and `t`, the length in bytes and a list or table; `v` for what the text says at its place |
//! | list | how many items, and the items |
//! | string | `=` as the text at its place; `"` as the text within the quotes there; `+`, its length and its bytes |
//! | place | where it begins in the text, and its length |
//!
//! Numbers have seven bits a byte, the lowest first. `build/packed.rs` writes it.

use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

use toml::Spanned;
use toml::de::DeValue;

use super::node::{Entry, Items, Node};

/// A file, or a table or a list in one that was not taken out yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packed {
    /// The text of the whole file.
    pub(crate) text: &'static str,
    pub(crate) bytes: &'static [u8],
}

impl Packed {
    /// The place of a whole file, and its table.
    pub(super) fn root(mut self) -> (Range<usize>, Self) {
        (self.place(), self)
    }

    /// The entries of a table.
    pub(super) fn entries(mut self) -> Rc<[Entry<'static>]> {
        let count = self.number();
        let entry = |_| {
            let key_span = self.place();
            let key = self.string(&key_span);
            let span = self.place();
            Entry { key, key_span, value: self.value(&span), span }
        };
        (0..count).map(entry).collect()
    }

    /// The items of a list.
    pub(super) fn items(mut self) -> Items<'static> {
        let count = self.number();
        let item = |_| {
            let span = self.place();
            let value = self.value(&span);
            (span, value)
        };
        (0..count).map(item).collect()
    }

    fn value(&mut self, span: &Range<usize>) -> Node<'static> {
        match self.byte() {
            b's' => Node::Scalar(DeValue::String(self.string(span))),
            b'l' => Node::PackedList(self.inside()),
            b't' => Node::PackedTable(self.inside()),
            _ => {
                let value = DeValue::parse(self.at(span)).map(Spanned::into_inner);
                Node::Scalar(value.unwrap_or(DeValue::Boolean(false)))
            }
        }
    }

    fn inside(&mut self) -> Self {
        let length = self.number();
        Self { bytes: self.take(length), ..*self }
    }

    fn string(&mut self, span: &Range<usize>) -> Cow<'static, str> {
        Cow::Borrowed(match self.byte() {
            b'=' => self.at(span),
            b'"' => self.at(&(span.start + 1..span.end.saturating_sub(1))),
            _ => {
                let length = self.number();
                str::from_utf8(self.take(length)).unwrap_or_default()
            }
        })
    }

    fn at(&self, span: &Range<usize>) -> &'static str {
        self.text.get(span.clone()).unwrap_or_default()
    }

    fn place(&mut self) -> Range<usize> {
        let start = self.number();
        start..start + self.number()
    }

    fn number(&mut self) -> usize {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            number |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return number;
            }
        }
    }

    fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or_default()
    }

    fn take(&mut self, length: usize) -> &'static [u8] {
        let (taken, rest) = self.bytes.split_at_checked(length).unwrap_or_default();
        self.bytes = rest;
        taken
    }
}
