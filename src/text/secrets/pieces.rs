//! A streamed answer comes in pieces, each in a line of its own: a secret may lie over the seam of two.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::{self, Finder};

use super::unescaped::Unescaped;
use super::{Known, Secret, Secrets, blot};

/// Lines are held back up to this length.
const MOST_HELD: usize = 256 << 10;
/// What every line says that holds a piece.
static DELTA: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"delta\""));
/// The members that hold a piece of a text.
static MEMBERS: LazyLock<[Finder<'_>; 5]> = LazyLock::new(|| {
    [r#""text""#, r#""partial_json""#, r#""thinking""#, r#""content""#, r#""delta""#].map(Finder::new)
});

/// Lines that hold pieces of one text, of which the end is not decided.
#[derive(Debug, Clone, Default)]
pub(super) struct Pieces {
    lines: Vec<u8>,
    /// Where in them the pieces are, and of which text.
    texts: Vec<(TextKey, Range<usize>)>,
    /// What of them is secret.
    secret: Vec<(TextKey, Range<usize>)>,
}

/// Tells texts apart whose pieces come by turns: blocks of one answer, and answers of agents that work at the same time.
type TextKey = Vec<u8>;

/// The members that say which text a piece is of.
static NAMES: LazyLock<[Finder<'_>; 5]> = LazyLock::new(|| {
    [r#""index""#, r#""output_index""#, r#""content_index""#, r#""item_id""#, r#""parent_tool_use_id""#]
        .map(Finder::new)
});

/// Where the first line begins that holds a piece of which the end is not decided.
pub(super) fn open(known: &Known, lines: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = DELTA.find(&lines[from..]).map(|at| from + at) {
        let start = memchr::memrchr(b'\n', &lines[from..at]).map_or(from, |start| from + start + 1);
        let end = memchr::memchr(b'\n', &lines[at..]).map_or(lines.len(), |end| at + end + 1);
        let line = &lines[start..end];
        if piece(line).is_some_and(|piece| known.is_open(&line[piece])) {
            return Some(start);
        }
        from = end;
    }
    None
}

impl Pieces {
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Takes a line that holds a piece, or stands between two. Whether it did.
    pub(super) fn take(&mut self, line: &[u8]) -> bool {
        let start = self.lines.len();
        if start + line.len() > MOST_HELD {
            return false;
        }
        match piece(line) {
            Some(piece) => {
                let key = text_key(line, &piece);
                self.texts.push((key, start + piece.start..start + piece.end));
            }
            None if !self.is_empty() && stands_between(line) => {}
            None => return false,
        }
        self.lines.extend_from_slice(line);
        true
    }

    /// Gives out the lines of which everything is decided, and says how many secrets were masked.
    pub(super) fn settle(&mut self, known: &Known, out: &mut Vec<u8>) -> u64 {
        let undecided = self.look(known, false);
        let end = match undecided {
            Some(at) => memchr::memrchr(b'\n', &self.lines[..at]).map_or(0, |end| end + 1),
            None => self.lines.len(),
        };
        self.give(end, known, out)
    }

    /// Gives out all lines: no more pieces come.
    pub(super) fn finish(&mut self, known: &Known, out: &mut Vec<u8>) -> u64 {
        if self.is_empty() {
            return 0;
        }
        self.look(known, true);
        self.give(self.lines.len(), known, out)
    }

    /// Looks for secrets in the texts that the pieces are of; where the first thing begins that is not decided.
    fn look(&mut self, known: &Known, is_whole: bool) -> Option<usize> {
        let keys: BTreeSet<&TextKey> = self.texts.iter().map(|(key, _)| key).collect();
        let mut secret = Vec::new();
        let mut first = None;
        for key in keys {
            let mut text = Unescaped::default();
            for (_, piece) in self.texts.iter().filter(|(of, _)| of == key) {
                text.add(&self.lines[piece.clone()], piece.start);
            }
            if text.bytes.contains(&b'\\') {
                text = text.json();
            }
            let Secrets { found, undecided, .. } = known.secrets(&text.bytes, is_whole);
            let found =
                found.iter().map(|Secret { hidden, .. }| text.place(hidden.start)..text.place(hidden.end));
            secret.extend(found.filter(|secret| !secret.is_empty()).map(|secret| (key.clone(), secret)));
            let undecided = undecided.map(|at| text.place(at));
            first = [first, undecided].into_iter().flatten().min();
        }
        self.secret = secret;
        first
    }

    /// Gives out lines up to a place where one ends.
    fn give(&mut self, end: usize, known: &Known, out: &mut Vec<u8>) -> u64 {
        let mut masked = 0;
        for (of, secret) in std::mem::take(&mut self.secret) {
            if secret.start >= end {
                continue;
            }
            masked += 1;
            // Only the pieces are the text; what stands between them is not.
            for (_, piece) in self.texts.iter().filter(|(key, _)| *key == of) {
                let (from, to) = (secret.start.max(piece.start), secret.end.min(piece.end));
                if from < to {
                    blot(&mut self.lines[from..to]);
                }
            }
        }
        let base = out.len();
        out.extend(self.lines.drain(..end));
        for Secret { hidden, .. } in known.secrets(&out[base..], true).found {
            masked += u64::from(!hidden.is_empty());
            blot(&mut out[base + hidden.start..base + hidden.end]);
        }
        self.texts.retain_mut(|(_, piece)| {
            let stays = piece.start >= end;
            if stays {
                *piece = piece.start - end..piece.end - end;
            }
            stays
        });
        masked
    }
}

/// Whether a line stands between two pieces and does not part them: a sign of life, a word about the state of the program,
/// nothing at all, or what is no JSON.
fn stands_between(line: &[u8]) -> bool {
    line.trim_ascii().first() != Some(&b'{')
        || [br#""ping""#.as_slice(), br#""system""#].iter().any(|word| memmem::find(line, word).is_some())
}

/// Which text the piece in a line is of.
fn text_key(line: &[u8], piece: &Range<usize>) -> TextKey {
    let mut key = TextKey::new();
    for name in &*NAMES {
        let outside = [&line[..piece.start], &line[piece.end..]];
        let value = outside.into_iter().find_map(|part| {
            let value = &part[name.find(part)? + name.needle().len()..];
            Some(&value[..value.iter().position(|byte| b",}".contains(byte)).unwrap_or(value.len())])
        });
        key.extend_from_slice(value.unwrap_or_default());
        key.push(b'\n');
    }
    key
}

/// Where in a line the piece of a text is, without its quotes.
fn piece(line: &[u8]) -> Option<Range<usize>> {
    let delta = DELTA.find(line)?;
    let member = |from: usize| {
        let after = |name: &Finder<'_>, at: usize| string(line, from + at + name.needle().len());
        MEMBERS.iter().find_map(|name| name.find_iter(&line[from..]).find_map(|at| after(name, at)))
    };
    // Mostly it stands behind the word.
    member(delta).or_else(|| member(0))
}

/// The string after a colon.
fn string(line: &[u8], from: usize) -> Option<Range<usize>> {
    let blank = |from: usize| super::shape::run(line, from, |byte| byte == b' ' || byte == b'\t');
    let colon = blank(from);
    line.get(colon).filter(|byte| **byte == b':')?;
    let quote = blank(colon + 1);
    line.get(quote).filter(|byte| **byte == b'"')?;
    let start = quote + 1;
    let mut at = start;
    loop {
        at += memchr::memchr2(b'"', b'\\', line.get(at..)?)?;
        if line[at] == b'"' {
            return Some(start..at);
        }
        at += 2;
    }
}
