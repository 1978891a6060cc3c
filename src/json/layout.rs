//! Documents of the same form, of which what was concluded of one holds for all: those with the same members, and with the
//! same answers wherever a value was looked at.
//!
//! The messages of a stream have few forms, and what a contract asks of them depends on few of their values. So while a
//! message is looked at for the first time it is noted what is read of its values; of the next one with that form, only
//! these values are looked at.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::num::NonZeroU32;

use super::{JsonView, Node};

/// Forms that are told apart, documents of one form whose values differ, and values of one document.
const MOST_FORMS: usize = 1024;
const MOST_ALIKE: usize = 12;
const MOST_VALUES: usize = 512;
/// Values and reads of all documents that are kept.
const MOST_KEPT: usize = 1 << 15;
/// A text that is longer is no word that anything depends on.
const LONGEST_WORD: usize = 128;
/// What was looked up so often in vain is not looked up any more.
const MOST_MISSES: u32 = 256;

/// What was read of the values of a document.
#[derive(Debug, Default)]
pub(crate) struct Reads(RefCell<Vec<Read>>);

#[derive(Debug)]
struct Read {
    entry: u32,
    seen: Seen,
}

/// What was seen of a value.
enum Seen {
    /// All of its text.
    Text(Box<str>),
    /// That it is not this string.
    Not(Box<str>),
    /// What a test said.
    Tested(Box<dyn Fn(JsonView<'_>) -> bool>, bool),
    /// More than is kept.
    Much,
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "is {text}"),
            Self::Not(text) => write!(f, "is not {text}"),
            Self::Tested(_, holds) => write!(f, "tested {holds}"),
            Self::Much => f.write_str("much"),
        }
    }
}

impl Reads {
    fn note(&self, entry: u32, seen: Seen) {
        let mut reads = self.0.borrow_mut();
        if reads.len() < MOST_VALUES {
            reads.push(Read { entry, seen });
        } else {
            reads[0].seen = Seen::Much;
        }
    }

    /// Adds what was read besides, unless it is too much.
    pub(crate) fn add(&self, other: Self) -> bool {
        let (mut reads, other) = (self.0.borrow_mut(), other.0.into_inner());
        let fits = reads.len() + other.len() < MOST_VALUES
            && !other.iter().any(|read| matches!(read.seen, Seen::Much));
        if fits {
            reads.extend(other);
        }
        fits
    }

    /// The text of a value was read.
    #[cold]
    pub(super) fn text(&self, entry: u32, text: &str) {
        let seen = if text.len() > LONGEST_WORD { Seen::Much } else { Seen::Text(text.into()) };
        self.note(entry, seen);
    }

    /// A value was compared, and is not this string.
    #[cold]
    pub(super) fn not(&self, entry: u32, text: &str) {
        self.note(entry, Seen::Not(text.into()));
    }

    /// A value was tested.
    #[cold]
    pub(super) fn tested(&self, entry: u32, test: Box<dyn Fn(JsonView<'_>) -> bool>, holds: bool) {
        self.note(entry, Seen::Tested(test, holds));
    }
}

impl Read {
    fn is_text(&self) -> bool {
        matches!(self.seen, Seen::Text(_))
    }

    /// Whether another says no more.
    fn is_same(&self, other: &Self) -> bool {
        self.entry == other.entry
            && match (&self.seen, &other.seen) {
                (Seen::Text(_), Seen::Text(_)) => true,
                (Seen::Not(one), Seen::Not(other)) => one == other,
                _ => false,
            }
    }

    /// Whether the same would be seen of this value.
    fn is_as(&self, node: Node<'_>) -> bool {
        match &self.seen {
            Seen::Text(text) => node.written() == &**text,
            Seen::Not(text) => !node.has_text(text),
            Seen::Tested(test, holds) => test(JsonView::Scanned(node)) == *holds,
            Seen::Much => false,
        }
    }
}

/// What was concluded of documents, by what they look like.
#[derive(Debug)]
pub(crate) struct Layouts<T> {
    /// Values and reads that are kept.
    kept: usize,
    by_form: HashMap<u64, Alike<T>, BuildHasherDefault<Ready>>,
}

/// Documents of one form.
#[derive(Debug)]
struct Alike<T> {
    all: Vec<Layout<T>>,
    misses: u32,
    /// Too many differed: no more is kept of them than what has to be.
    is_plain: bool,
}

/// Where pointers lead to in documents of one form.
#[derive(Debug, Default)]
pub(crate) struct Slots(OnceCell<Box<[Cell<Slot>; SLOTS]>>);

/// A pointer and the value that it starts at, and what it leads to.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    pointer: u32,
    from: u32,
    to: Option<u32>,
}

/// Places of pointers that are remembered; one that has no place of its own takes that of another.
const SLOTS: usize = 64;

impl Slots {
    /// Where a pointer leads to from a value of the document; `find` looks.
    #[inline]
    pub(super) fn get(
        &self,
        pointer: NonZeroU32,
        from: u32,
        find: impl FnOnce() -> Option<u32>,
    ) -> Option<u32> {
        let slots = self
            .0
            .get_or_init(|| Box::new([const { Cell::new(Slot { pointer: 0, from: 0, to: None }) }; SLOTS]));
        let pointer = pointer.get();
        let cell = &slots[(pointer.wrapping_mul(7) ^ from.wrapping_mul(0x9E37)) as usize % SLOTS];
        let slot = cell.get();
        if slot.pointer == pointer && slot.from == from {
            return slot.to;
        }
        let to = find();
        cell.set(Slot { pointer, from, to });
        to
    }
}

#[derive(Debug)]
struct Layout<T> {
    /// Which value of the document is looked at.
    place: u32,
    /// Of every value the type and where it ends, of every key the hash.
    form: Box<[u64]>,
    /// The keys: which entries they are, and how long.
    keys: Box<[(u32, u32)]>,
    key_texts: Box<str>,
    reads: Box<[Read]>,
    slots: Slots,
    concluded: T,
}

/// The form of documents.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    hash: u64,
    /// What depends on many of its values had better be left out.
    pub(crate) is_plain: bool,
}

/// What is known of a document.
#[derive(Debug)]
pub(crate) enum Found<'l, T> {
    /// This was concluded of one like it, and there pointers lead to.
    Known(&'l T, &'l Slots),
    /// There was none like it; what is concluded of it can be kept, for this form.
    New(Form),
    /// None is kept that is like it.
    Unkept,
}

impl<T> Default for Layouts<T> {
    fn default() -> Self {
        Self { kept: 0, by_form: HashMap::default() }
    }
}

impl<T> Layouts<T> {
    /// Looks for what was concluded of a document like this one.
    pub(crate) fn find(&mut self, root: Node<'_>) -> Found<'_, T> {
        let entries = root.forms();
        if entries.len() > MOST_VALUES {
            return Found::Unkept;
        }
        let hash = entries.fold(u64::from(root.place()), |hash: u64, entry| {
            (hash.rotate_left(5) ^ entry).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        });
        let has_room = self.by_form.len() < MOST_FORMS;
        let alike = match self.by_form.entry(hash) {
            Entry::Occupied(known) => known.into_mut(),
            // What comes once only is not worth a note.
            Entry::Vacant(place) => {
                if has_room {
                    place.insert(Alike { all: Vec::new(), misses: 0, is_plain: false });
                }
                return Found::Unkept;
            }
        };
        if alike.misses >= MOST_MISSES {
            return Found::Unkept;
        }
        let Some(place) = alike.all.iter().position(|layout| layout.fits(root)) else {
            alike.misses += 1;
            if alike.all.len() >= MOST_ALIKE {
                if alike.is_plain {
                    return Found::Unkept;
                }
                alike.is_plain = true;
                alike.all.clear();
            }
            return Found::New(Form { hash, is_plain: alike.is_plain });
        };
        alike.misses = alike.misses.saturating_sub(1);
        let layout = &alike.all[place];
        Found::Known(&layout.concluded, &layout.slots)
    }

    /// Keeps what was concluded of a document for those that are like it.
    pub(crate) fn keep(&mut self, form: Form, root: Node<'_>, reads: Reads, concluded: T) {
        let Some(alike) = self.by_form.get_mut(&form.hash) else { return };
        if let Some(layout) = Layout::new(root, reads, concluded) {
            self.kept += layout.form.len() + layout.reads.len();
            if self.kept <= MOST_KEPT {
                alike.all.push(layout);
            } else {
                alike.misses = MOST_MISSES;
            }
        } else {
            // Much of it depends on texts that are never the same.
            alike.misses += MOST_MISSES / 8;
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.kept = 0;
        self.by_form.clear();
    }
}

impl<T> Layout<T> {
    fn new(root: Node<'_>, reads: Reads, concluded: T) -> Option<Self> {
        let (mut keys, mut key_texts) = (Vec::new(), String::new());
        root.each_key(&mut |entry, text| {
            keys.push((entry, text.len() as u32));
            key_texts.push_str(text);
        });
        let mut kept: Vec<Read> = Vec::new();
        let reads = reads.0.into_inner();
        let texts: HashSet<u32> = reads.iter().filter(|read| read.is_text()).map(|read| read.entry).collect();
        for read in reads {
            if matches!(read.seen, Seen::Much) {
                return None;
            }
            // Keys are compared anyway, and from the text of a value follows what else was seen of it.
            let is_key = keys.binary_search_by_key(&read.entry, |(key, _)| *key).is_ok();
            let follows = !read.is_text() && texts.contains(&read.entry);
            if !is_key && !follows && !kept.iter().any(|known| known.is_same(&read)) {
                kept.push(read);
            }
        }
        Some(Self {
            place: root.place(),
            form: root.forms().collect(),
            keys: keys.into(),
            key_texts: key_texts.into(),
            reads: kept.into(),
            slots: Slots::default(),
            concluded,
        })
    }

    /// Whether what was concluded holds of this document as well.
    fn fits(&self, root: Node<'_>) -> bool {
        root.place() == self.place
            && root.forms().eq(self.form.iter().copied())
            && self.has_keys(root)
            && self.reads.iter().all(|read| read.is_as(root.entry_at(read.entry)))
    }

    fn has_keys(&self, root: Node<'_>) -> bool {
        let mut texts = self.key_texts.as_bytes();
        self.keys.iter().all(|(entry, length)| {
            let (text, rest) = texts.split_at(*length as usize);
            texts = rest;
            root.entry_at(*entry).is_written(text)
        })
    }
}

/// The hasher of what is a hash already.
#[derive(Default)]
struct Ready(u64);

impl Hasher for Ready {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| hash.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Scanner;

    /// What is concluded of texts one after the other: the word at `/t`, of which nothing else is read; and how often it was
    /// read anew.
    fn concluded(texts: &[&str]) -> (Vec<String>, usize) {
        let (mut layouts, mut scanner, mut anew) = (Layouts::<String>::default(), Scanner::default(), 0);
        let all = texts.iter().map(|text| {
            let document = scanner.scan(text).unwrap();
            let root = document.root();
            let read = |root: Node<'_>| root.get("t").and_then(Node::text).unwrap_or_default().into_owned();
            let form = match layouts.find(root) {
                Found::Known(word, _) => return word.clone(),
                Found::New(form) => Some(form),
                Found::Unkept => None,
            };
            anew += 1;
            let reads = Reads::default();
            let word = root.noting(&reads, read);
            if let Some(form) = form {
                layouts.keep(form, root, reads, word.clone());
            }
            word
        });
        (all.collect(), anew)
    }

    #[test]
    fn what_differs_where_nobody_looked_makes_no_difference() {
        let texts =
            [r#"{"t":"a","n":1}"#, r#"{"t":"a","n":2}"#, r#"{"t":"a","n":30}"#, r#" { "t":"a", "n" : 4}"#];
        assert_eq!(concluded(&texts), (vec!["a".to_owned(); 4], 2));
    }

    #[test]
    fn what_differs_where_somebody_looked_is_looked_at() {
        let texts = [
            r#"{"t":"a"}"#,
            r#"{"t":"a"}"#,
            r#"{"t":"b"}"#,
            r#"{"t":"\u0061"}"#,
            r#"{"u":"a"}"#,
            r#"{"t":"a","t2":1}"#,
            r#"{"t":"b"}"#,
            r#"{"t":"a"}"#,
            r#"["t","a"]"#,
        ];
        let (words, anew) = concluded(&texts);
        assert_eq!(words, ["a", "a", "b", "a", "", "a", "b", "a", ""]);
        assert_eq!(anew, 7);
    }

    #[test]
    fn texts_that_are_never_the_same_are_not_kept_without_end() {
        let texts: Vec<_> = (0..1000).map(|number| format!("{{\"t\":\"{number}\"}}")).collect();
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        let (words, anew) = concluded(&texts);
        assert_eq!((words[999].as_str(), anew), ("999", 1000));
    }
}
