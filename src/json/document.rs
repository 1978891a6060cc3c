//! The result of a scan: a flat list of values with views into the text.

use std::borrow::Cow;
#[cfg(feature = "contracts")]
use std::num::NonZeroU32;

#[cfg(feature = "contracts")]
use super::JsonView;
#[cfg(feature = "contracts")]
use super::layout::{Reads, Slots};
use super::{Kind, Oddity, text};

/// One value of the flat list. Members of an object stand as key, value, key, value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) start: u32,
    pub(super) end: u32,
    /// Of a value: the index of the first entry that is no longer inside it. Of a key: its hash.
    pub(super) next: u32,
    pub(super) kind: Kind,
    pub(super) escaped: bool,
    /// The children were too many or too deep to keep: only the raw text is there.
    pub(super) opaque: bool,
}

/// A scanned JSON text. Lives as long as the scanner is not used again.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    pub(super) text: &'a str,
    pub(super) entries: &'a [Entry],
    pub(super) oddities: &'a [Oddity],
    pub(super) odd_count: usize,
    pub(super) depth: usize,
    pub(super) end: usize,
    #[cfg(feature = "contracts")]
    pub(super) look: Look<'a>,
}

/// How a document is looked at.
#[cfg(feature = "contracts")]
#[derive(Debug, Clone, Copy)]
pub(super) enum Look<'a> {
    Plain,
    /// It is noted what is read of its values.
    Noting(&'a Reads),
    /// It is known where pointers lead to.
    Knowing(&'a Slots),
}

impl<'a> Document<'a> {
    /// The outermost value of the text.
    pub fn root(&self) -> Node<'_> {
        Node { document: self, index: 0 }
    }

    /// The oddities found; of very many only the first are kept (see [`odd_count`](Self::odd_count)).
    pub fn oddities(self) -> &'a [Oddity] {
        self.oddities
    }

    /// How many oddities there were in all.
    pub fn odd_count(self) -> usize {
        self.odd_count
    }

    /// How deep the nesting goes: 0 for a scalar, 1 for a flat object.
    pub fn depth(self) -> usize {
        self.depth
    }

    /// The text that was scanned.
    #[cfg(feature = "contracts")]
    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// Where the value ends in the text, in bytes.
    pub fn end(self) -> usize {
        self.end
    }
}

/// The name of a member, with its hash made ready; see [`Node::pick`].
#[derive(Debug, Clone, Copy)]
pub struct Key {
    text: &'static str,
    hash: u32,
}

impl Key {
    /// A key of this name.
    pub const fn new(text: &'static str) -> Self {
        Self { text, hash: hash_key(text.as_bytes()) }
    }
}

/// The name of a member that is only known at run time, with its hash made ready; see [`Node::find`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    text: String,
    hash: u32,
}

impl Name {
    /// A name with this text.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { hash: hash_key(text.as_bytes()), text }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// A quick hash of a key; equal hashes are confirmed by comparing the keys.
pub(super) const fn hash_key(key: &[u8]) -> u32 {
    const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut hash = key.len() as u64;
    let mut rest = key;
    while let Some((chunk, after)) = rest.split_first_chunk::<8>() {
        hash = (hash.rotate_left(5) ^ u64::from_le_bytes(*chunk)).wrapping_mul(MIX);
        rest = after;
    }
    let mut tail = 0;
    while let Some((byte, after)) = rest.split_first() {
        tail = tail << 8 | *byte as u64;
        rest = after;
    }
    ((hash.rotate_left(5) ^ tail).wrapping_mul(MIX) >> 32) as u32
}

/// Whether two short texts are equal: names and words are, and a call would cost more than it compares.
#[inline]
fn are_equal(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    match one.len() {
        0 => true,
        8..=16 => {
            one.first_chunk::<8>() == other.first_chunk::<8>()
                && one.last_chunk::<8>() == other.last_chunk::<8>()
        }
        4..=7 => {
            one.first_chunk::<4>() == other.first_chunk::<4>()
                && one.last_chunk::<4>() == other.last_chunk::<4>()
        }
        2..=3 => one[..2] == other[..2] && one.last() == other.last(),
        1 => one[0] == other[0],
        _ => one == other,
    }
}

/// One value of a [`Document`].
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    document: &'a Document<'a>,
    index: u32,
}

impl<'a> Node<'a> {
    #[inline]
    fn entry(self) -> &'a Entry {
        &self.document.entries[self.index as usize]
    }

    #[inline]
    fn at(self, index: u32) -> Self {
        Self { index, ..self }
    }

    /// What kind of value this is.
    pub fn kind(self) -> Kind {
        self.entry().kind
    }

    /// Where the value starts, in bytes from the start of the text.
    pub fn offset(self) -> usize {
        self.entry().start as usize
    }

    /// The value as it stands in the text; a string with its quotes.
    #[inline]
    pub fn raw(self) -> &'a str {
        self.note_text();
        self.written()
    }

    /// Notes that the text is read, where that is noted.
    #[cfg_attr(
        not(feature = "contracts"),
        expect(clippy::unused_self, reason = "without contracts nothing is concluded of messages")
    )]
    #[inline]
    fn note_text(self) {
        #[cfg(feature = "contracts")]
        if let Look::Noting(reads) = self.document.look {
            reads.text(self.index, self.written());
        }
    }

    /// As [`raw`](Self::raw), without a note.
    #[inline]
    pub(super) fn written(self) -> &'a str {
        let entry = self.entry();
        self.document.text.get(entry.start as usize..entry.end as usize).unwrap_or_default()
    }

    /// The decoded string, if this is one.
    pub fn text(self) -> Option<Cow<'a, str>> {
        self.note_text();
        self.decoded()
    }

    /// As [`text`](Self::text), without a note.
    fn decoded(self) -> Option<Cow<'a, str>> {
        let entry = self.entry();
        if entry.kind != Kind::String {
            return None;
        }
        let inside =
            self.document.text.get(entry.start as usize + 1..entry.end as usize - 1).unwrap_or_default();
        Some(if entry.escaped { text::unescape(inside) } else { Cow::Borrowed(inside) })
    }

    /// Whether this is a string that equals `expected`.
    #[inline]
    pub fn is_text(self, expected: &str) -> bool {
        let holds = self.has_text(expected);
        #[cfg(feature = "contracts")]
        if let Look::Noting(reads) = self.document.look {
            if holds { reads.text(self.index, self.written()) } else { reads.not(self.index, expected) }
        }
        holds
    }

    /// As [`is_text`](Self::is_text), without a note.
    #[inline]
    pub(super) fn has_text(self, expected: &str) -> bool {
        let entry = self.entry();
        if entry.kind != Kind::String {
            return false;
        }
        if entry.escaped {
            return self.is_decoded(expected);
        }
        // Between the quotes; most texts that are not the same have another length.
        if (entry.end - entry.start) as usize != expected.len() + 2 {
            return false;
        }
        let inside = self.document.text.as_bytes().get(entry.start as usize + 1..entry.end as usize - 1);
        inside.is_some_and(|inside| are_equal(inside, expected.as_bytes()))
    }

    #[cold]
    fn is_decoded(self, expected: &str) -> bool {
        self.decoded().is_some_and(|text| text == expected)
    }

    /// The boolean, if this is one.
    pub fn boolean(self) -> Option<bool> {
        (self.kind() == Kind::Boolean).then(|| self.raw() == "true")
    }

    /// The number as a double, if this is one that a double can hold.
    pub fn float(self) -> Option<f64> {
        if self.kind() != Kind::Number {
            return None;
        }
        self.raw().parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// The number, if it is an integer that fits.
    pub fn integer(self) -> Option<i64> {
        if self.kind() == Kind::Number { self.raw().parse().ok() } else { None }
    }

    /// The number, if it is whole and fits, however it is written: `429.0` is 429.
    pub fn whole(self) -> Option<i64> {
        /// Beyond this a double skips integers.
        const MOST: f64 = 9_007_199_254_740_992.0;
        self.integer().or_else(|| {
            let number = self.float().filter(|number| number.fract() == 0.0 && number.abs() <= MOST)?;
            Some(number as i64)
        })
    }

    /// Whether this is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// Whether this is an object.
    pub fn is_object(self) -> bool {
        self.kind() == Kind::Object
    }

    /// Whether the children were not kept, because they were too many or too deep.
    pub fn is_opaque(self) -> bool {
        self.entry().opaque
    }

    /// The elements, if this is an array; otherwise nothing.
    #[inline]
    pub fn items(self) -> Items<'a> {
        let next = self.index + 1;
        let end = if self.kind() == Kind::Array { self.entry().next } else { next };
        Items { node: self.at(next), end }
    }

    /// The members in their order, duplicates included, if this is an object; otherwise nothing.
    #[inline]
    pub fn members(self) -> Members<'a> {
        let next = self.index + 1;
        let end = if self.kind() == Kind::Object { self.entry().next } else { next };
        Members { node: self.at(next), end }
    }

    /// The member with this key; of duplicates the last.
    pub fn get(self, key: &str) -> Option<Node<'a>> {
        let hash = hash_key(key.as_bytes());
        self.members().filter(|(name, _)| name.is_key(key, hash)).last().map(|(_, value)| value)
    }

    /// The member with this name; of duplicates the first.
    #[inline]
    pub fn find(self, name: &Name) -> Option<Node<'a>> {
        self.members().find(|(key, _)| key.is_key(&name.text, name.hash)).map(|(_, value)| value)
    }

    /// The place of this key in a list of names. It is looked for from `cursor` on, because lists mostly have the order of
    /// the members.
    #[cfg(feature = "contracts")]
    #[inline]
    pub(crate) fn place_in<T>(self, list: &[T], cursor: usize, name: impl Fn(&T) -> &Name) -> Option<usize> {
        let hash = self.entry().next;
        let is_it = |item: &T| {
            let name = name(item);
            name.hash == hash && self.has_text(&name.text)
        };
        let (before, after) = list.split_at(cursor.min(list.len()));
        match after.first() {
            Some(next) if is_it(next) => Some(cursor),
            _ => match after.iter().skip(1).position(&is_it) {
                Some(place) => Some(cursor + 1 + place),
                None => before.iter().position(is_it),
            },
        }
    }

    /// Lets a value be looked at while it is noted what is read of its document.
    #[cfg(feature = "contracts")]
    pub(crate) fn noting<T>(self, reads: &Reads, look: impl FnOnce(Node<'_>) -> T) -> T {
        let document = Document { look: Look::Noting(reads), ..*self.document };
        look(Node { document: &document, index: self.index })
    }

    /// Lets a value be looked at of whose document it is known where pointers lead to.
    #[cfg(feature = "contracts")]
    pub(crate) fn knowing<T>(self, slots: &Slots, look: impl FnOnce(Node<'_>) -> T) -> T {
        let document = Document { look: Look::Knowing(slots), ..*self.document };
        look(Node { document: &document, index: self.index })
    }

    /// What a pointer leads to from here; `find` follows it.
    #[cfg(feature = "contracts")]
    #[inline]
    pub(super) fn led(self, pointer: NonZeroU32, find: impl FnOnce() -> Option<Self>) -> Option<Self> {
        match self.document.look {
            Look::Knowing(slots) => {
                slots.get(pointer, self.index, || find().map(|found| found.index)).map(|index| self.at(index))
            }
            Look::Plain | Look::Noting(_) => find(),
        }
    }

    /// What a test says of this value; it is noted as that, and not what the test reads.
    #[cfg(feature = "contracts")]
    #[inline]
    pub(crate) fn tested<T: Clone + 'static>(self, with: &T, test: fn(&T, JsonView<'_>) -> bool) -> bool {
        match self.document.look {
            Look::Noting(reads) => self.tested_noting(reads, with, test),
            Look::Plain | Look::Knowing(_) => test(with, JsonView::Scanned(self)),
        }
    }

    #[cfg(feature = "contracts")]
    #[cold]
    fn tested_noting<T: Clone + 'static>(
        self,
        reads: &Reads,
        with: &T,
        test: fn(&T, JsonView<'_>) -> bool,
    ) -> bool {
        let document = Document { look: Look::Plain, ..*self.document };
        let holds = test(with, JsonView::Scanned(Node { document: &document, index: self.index }));
        let with = with.clone();
        reads.tested(self.index, Box::new(move |value| test(&with, value)), holds);
        holds
    }

    /// What the values of the whole document are, without their texts: of every value its type and where it ends, of every
    /// key the hash.
    #[cfg(feature = "contracts")]
    #[inline]
    pub(super) fn forms(self) -> impl ExactSizeIterator<Item = u64> + 'a {
        self.document.entries.iter().map(|entry| {
            u64::from(entry.next) | u64::from(entry.kind as u8) << 32 | u64::from(entry.opaque) << 40
        })
    }

    /// Which value of the document this is.
    #[cfg(feature = "contracts")]
    #[inline]
    pub(super) fn place(self) -> u32 {
        self.index
    }

    /// Another value or key of the document.
    #[cfg(feature = "contracts")]
    #[inline]
    pub(super) fn entry_at(self, index: u32) -> Self {
        self.at(index)
    }

    /// Whether it stands in the text like this.
    #[cfg(feature = "contracts")]
    #[inline]
    pub(super) fn is_written(self, expected: &[u8]) -> bool {
        are_equal(self.written().as_bytes(), expected)
    }

    /// Shows all keys inside, as they stand in the text, in their order.
    #[cfg(feature = "contracts")]
    pub(super) fn each_key(self, show: &mut impl FnMut(u32, &str)) {
        for (key, value) in self.members() {
            show(key.index, key.written());
            value.each_key(show);
        }
        self.items().for_each(|item| item.each_key(show));
    }

    /// Tells this value from every other of the same document.
    #[cfg(feature = "contracts")]
    pub(crate) fn identity(self) -> (usize, u32) {
        (self.document.entries.as_ptr().addr(), self.index)
    }

    /// The members with these keys, found in one pass; of duplicates the last.
    pub fn pick<const N: usize>(self, keys: [Key; N]) -> [Option<Node<'a>>; N] {
        let mut found = [None; N];
        for (name, value) in self.members() {
            for (key, slot) in keys.iter().zip(&mut found) {
                if name.is_key(key.text, key.hash) {
                    *slot = Some(value);
                }
            }
        }
        found
    }

    #[inline]
    fn is_key(self, text: &str, hash: u32) -> bool {
        self.entry().next == hash && self.has_text(text)
    }

    /// The value that a chain of keys leads to.
    pub fn path<const N: usize>(self, keys: [&str; N]) -> Option<Node<'a>> {
        keys.into_iter().try_fold(self, Node::get)
    }

    /// The value as a `serde_json` value. What strict JSON cannot hold is replaced: non-finite numbers and opaque
    /// containers by null, lone surrogates by U+FFFD.
    pub fn to_value(self) -> serde_json::Value {
        use serde_json::Value;
        match self.kind() {
            Kind::Null => Value::Null,
            Kind::Boolean => Value::Bool(self.raw() == "true"),
            Kind::Integer | Kind::Number => serde_json::from_str(self.raw()).unwrap_or(Value::Null),
            Kind::String => Value::String(self.text().unwrap_or_default().into_owned()),
            Kind::Array | Kind::Object if self.is_opaque() => Value::Null,
            Kind::Array => Value::Array(self.items().map(Node::to_value).collect()),
            Kind::Object => Value::Object(
                self.members()
                    .map(|(key, value)| (key.text().unwrap_or_default().into_owned(), value.to_value()))
                    .collect(),
            ),
        }
    }
}

/// The elements of an array; see [`Node::items`].
#[derive(Debug, Clone)]
pub struct Items<'a> {
    /// The next element, unless it is at the end.
    node: Node<'a>,
    end: u32,
}

impl<'a> Iterator for Items<'a> {
    type Item = Node<'a>;

    #[inline]
    fn next(&mut self) -> Option<Node<'a>> {
        let node = (self.node.index < self.end).then_some(self.node)?;
        self.node = node.at(node.entry().next);
        Some(node)
    }
}

/// The members of an object, each as its key and its value; see [`Node::members`].
#[derive(Debug, Clone)]
pub struct Members<'a> {
    /// The next key, unless it is at the end.
    node: Node<'a>,
    end: u32,
}

impl<'a> Iterator for Members<'a> {
    type Item = (Node<'a>, Node<'a>);

    #[inline]
    fn next(&mut self) -> Option<(Node<'a>, Node<'a>)> {
        let key = (self.node.index < self.end).then_some(self.node)?;
        let value = key.at(key.index + 1);
        self.node = key.at(value.entry().next);
        Some((key, value))
    }
}
