//! Keeps credentials out of everything that is written or shown: masked by a mask of the same length, so that every
//! offset into a text holds.
//!
//! Values that are known to be secret are found also in base64 and hex, and everything also where JSON or an address
//! writes it in another way. A secret in the pieces of a streamed answer is found over the seams.

#[cfg(feature = "testing")]
mod encoding;
mod pieces;
mod reader;
mod shape;
mod unescaped;

#[cfg(feature = "testing")]
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, LazyLock};
#[cfg(feature = "testing")]
use std::sync::{Mutex, PoisonError};

use aho_corasick::{AhoCorasick, MatchKind};
#[cfg(feature = "testing")]
use serde_json::Value;

use pieces::Pieces;
#[cfg(feature = "testing")]
use shape::is_aws_secret;
use shape::{Letters, Met, SHAPES, Shape, goes_on};
use unescaped::{MOST_LEVELS, Unescaped, has_percent, needless_escape};

pub(crate) use reader::Masked;

const MASK: u8 = b'*';
/// A line of JSON is held back until it is whole, up to this length.
const MOST_LINE: usize = 64 << 10;
/// What was given out is remembered so far, to know what a word begins after.
const CONTEXT: usize = 16;

/// Masks one stream, however it is cut into chunks.
#[derive(Debug, Clone)]
pub(crate) struct Masker {
    known: Arc<Known>,
    /// The end of what was seen, which is not given out yet.
    held: Vec<u8>,
    /// How much at the beginning of `held` is given out already.
    given: usize,
    /// What belongs to a secret that began before.
    running: Option<Letters>,
    /// Lines that hold pieces of one text.
    pieces: Pieces,
    masked: u64,
}

impl Default for Masker {
    fn default() -> Self {
        static LOOKS: LazyLock<Arc<Known>> = LazyLock::new(|| Arc::new(Known::new(Vec::new(), Vec::new())));
        Self::knowing(Arc::clone(&LOOKS))
    }
}

impl Masker {
    /// A masker that also knows these values. Short ones are left alone: they would mask ordinary text.
    #[cfg(feature = "testing")]
    pub(crate) fn new<'v>(values: impl IntoIterator<Item = &'v str>) -> Self {
        let (mut forms, mut parts) = (Vec::new(), Vec::new());
        for value in values {
            forms.extend(encoding::forms(value));
            parts.extend(encoding::parts(value));
        }
        if forms.is_empty() { Self::default() } else { Self::knowing(known(forms, parts)) }
    }

    fn knowing(known: Arc<Known>) -> Self {
        Self { known, held: Vec::new(), given: 0, running: None, pieces: Pieces::default(), masked: 0 }
    }

    /// Takes the next bytes; `out` gets all but those that may still turn out to be secret.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        // A line is not looked at again and again while it grows.
        let Some(end) = memchr::memrchr(b'\n', bytes) else {
            self.held.extend_from_slice(bytes);
            return self.part_of_line(out);
        };
        let (lines, rest) = bytes.split_at(end + 1);
        if self.held.is_empty() {
            self.lines(lines, 0, out);
        } else {
            self.held.extend_from_slice(lines);
            let held = std::mem::take(&mut self.held);
            self.lines(&held, self.given, out);
        }
        self.given = 0;
        self.held.extend_from_slice(rest);
        self.part_of_line(out);
    }

    /// The stream is over: `out` gets the rest.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        let held = std::mem::take(&mut self.held);
        self.lines(&held, self.given, out);
        self.give_pieces(out);
        self.given = 0;
    }

    /// Masks a whole text.
    #[cfg(feature = "testing")]
    pub(crate) fn mask(&self, text: &str) -> String {
        let mut masked = self.mask_bytes(text.as_bytes().to_vec());
        self.known.mask_cut(&mut masked);
        // Only whole runs of ASCII and whole values are replaced, so it stays text.
        String::from_utf8_lossy(&masked).into_owned()
    }

    /// Masks a whole text, whatever its bytes are.
    pub(crate) fn mask_bytes(&self, mut text: Vec<u8>) -> Vec<u8> {
        if text.len() > MOST_LINE {
            let (mut masker, mut masked) = (self.clone(), Vec::with_capacity(text.len()));
            text.chunks(MOST_LINE).for_each(|chunk| masker.push(chunk, &mut masked));
            masker.finish(&mut masked);
            return masked;
        }
        for secret in self.known.secrets(&text, true).found {
            blot(&mut text[secret.hidden]);
        }
        text
    }

    /// Masks what is secret in a text of which the pieces stand at these places of a larger one, as strings of JSON.
    #[cfg(feature = "testing")]
    pub(crate) fn mask_pieces(&self, whole: &mut [u8], pieces: &[Range<usize>]) {
        let mut text = Unescaped::default();
        for piece in pieces {
            text.add(&whole[piece.clone()], piece.start);
        }
        if text.bytes.contains(&b'\\') {
            text = text.json();
        }
        for secret in self.known.secrets(&text.bytes, true).found {
            let (from, to) = (text.place(secret.hidden.start), text.place(secret.hidden.end));
            // What stands between two pieces is none of the text.
            for piece in pieces {
                let (from, to) = (from.max(piece.start), to.min(piece.end));
                if from < to {
                    blot(&mut whole[from..to]);
                }
            }
        }
    }

    /// Masks every text in a value, and the names of members.
    #[cfg(feature = "testing")]
    pub(crate) fn mask_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.mask(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_value(item)),
            Value::Object(members) => {
                let masked = std::mem::take(members).into_iter().map(|(name, mut value)| {
                    if value.as_str().is_some_and(|text| is_aws_secret(&name, text)) {
                        value = "*".repeat(value.as_str().map_or(0, str::len)).into();
                    }
                    self.mask_value(&mut value);
                    (self.mask(&name), value)
                });
                *members = masked.collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// How many secrets were masked.
    #[cfg(feature = "testing")]
    pub(crate) fn masked(&self) -> u64 {
        self.masked
    }

    /// Whole lines come, of which so many bytes are given out already.
    fn lines(&mut self, lines: &[u8], given: usize, out: &mut Vec<u8>) {
        let line_end =
            |from: usize| memchr::memchr(b'\n', &lines[from..]).map_or(lines.len(), |end| from + end + 1);
        // A line that is partly given out holds no piece that could be masked.
        let mut at = if given > 0 { line_end(0) } else { 0 };
        let (mut from, mut given) = (0, given);
        while from < lines.len() {
            if self.pieces.is_empty() || at > from {
                let open = pieces::open(&self.known, &lines[at..]);
                let end = open.map_or(lines.len(), |start| at + start);
                self.give_pieces(out);
                self.give(&lines[from..end], std::mem::take(&mut given), true, out);
                from = end;
                if from == lines.len() {
                    return;
                }
            }
            let end = line_end(from);
            if self.pieces.take(&lines[from..end]) {
                self.masked += self.pieces.settle(&self.known, out);
                (from, at) = (end, end);
            } else {
                // It ends the pieces, and goes out with the lines after it.
                self.give_pieces(out);
                at = end;
            }
        }
    }

    /// No more pieces come.
    fn give_pieces(&mut self, out: &mut Vec<u8>) {
        self.masked += self.pieces.finish(&self.known, out);
    }

    /// The beginning of a line has come, or more of it. One of JSON may hold a piece of a text and waits for its end.
    fn part_of_line(&mut self, out: &mut Vec<u8>) {
        // Whether it parts two pieces shows with its end.
        let may_matter = self.held.first() == Some(&b'{') || !self.pieces.is_empty();
        let may_wait = self.given == 0 && may_matter && self.held.len() < MOST_LINE;
        if self.held.is_empty() || may_wait {
            return;
        }
        self.give_pieces(out);
        let mut held = std::mem::take(&mut self.held);
        let end = self.give(&held, self.given, false, out);
        let kept = end.saturating_sub(CONTEXT);
        held.drain(..kept);
        self.given = end - kept;
        self.held = held;
    }

    /// Gives out as much as can be decided, and says where that ends; so many bytes of it are given out already.
    fn give(&mut self, text: &[u8], given: usize, is_whole: bool, out: &mut Vec<u8>) -> usize {
        let mut start = given;
        if let Some(letters) = self.running {
            let (length, is_open) = goes_on(&text[start..], letters, is_whole);
            out.extend_from_slice(&text[start..start + length]);
            let from = out.len() - length;
            blot(&mut out[from..]);
            start += length;
            if is_open {
                return start;
            }
            self.running = None;
        }
        let found = self.known.secrets(text, is_whole);
        let undecided = found.undecided.filter(|_| found.running.is_none()).unwrap_or(text.len());
        // A secret is given out whole, or what is left of it would not be known.
        let cut = found.found.iter().find(|secret| secret.hidden.contains(&undecided));
        let end = cut.map_or(undecided, |secret| secret.begins).max(start);
        self.running = found.running;
        let base = out.len();
        out.extend_from_slice(&text[start..end]);
        for Secret { hidden, .. } in found.found {
            let (from, to) = (hidden.start.max(start), hidden.end.min(end));
            if from < to {
                self.masked += u64::from(hidden.start >= start);
                blot(&mut out[base + from - start..base + to - start]);
            }
        }
        end
    }
}

/// What knows these forms of values. The cases of a run have the same few secrets, and it costs more to make than many a
/// case: the last ones are kept.
#[cfg(feature = "testing")]
fn known(forms: Vec<Vec<u8>>, parts: Vec<Vec<u8>>) -> Arc<Known> {
    type ByForms = (Vec<Vec<u8>>, Arc<Known>);
    const MOST: usize = 8;
    static LAST: Mutex<VecDeque<ByForms>> = Mutex::new(VecDeque::new());
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, known)) = last.iter().find(|(known, _)| *known == forms) {
        return Arc::clone(known);
    }
    let known = Arc::new(Known::new(forms.clone(), parts));
    last.truncate(MOST - 1);
    last.push_front((forms, Arc::clone(&known)));
    known
}

/// Masks bytes, but not where lines end.
fn blot(secret: &mut [u8]) {
    for byte in secret.iter_mut().filter(|byte| !matches!(byte, b'\n' | b'\r')) {
        *byte = MASK;
    }
}

/// What secrets look like.
#[derive(Debug)]
struct Known {
    beginnings: Option<AhoCorasick>,
    /// What stands after each beginning.
    shapes: Vec<Shape>,
    /// Beginnings by their first byte.
    by_first: Vec<Vec<(Vec<u8>, Shape)>>,
    /// For each byte the lengths, one bit each, of the parts of beginnings that end with it; the highest stands for all
    /// that are longer.
    ends: Vec<u64>,
    has_values: bool,
    longest: usize,
}

/// A secret in a text.
#[derive(Debug, Clone)]
struct Secret {
    /// Where that begins by which it is known.
    begins: usize,
    /// What has to be masked.
    hidden: Range<usize>,
}

/// The secrets of a text.
#[derive(Debug, Default)]
struct Secrets {
    /// In their order; they do not overlap.
    found: Vec<Secret>,
    /// Where something begins that what comes next decides.
    undecided: Option<usize>,
    /// What follows and still belongs to the last of them.
    running: Option<Letters>,
}

impl Known {
    fn new(values: Vec<Vec<u8>>, parts: Vec<Vec<u8>>) -> Self {
        let has_values = !values.is_empty();
        let mut shapes = vec![Shape::Known; values.len()];
        shapes.resize(values.len() + parts.len(), Shape::Part);
        shapes.extend(SHAPES.iter().map(|(_, shape)| *shape));
        let looks = SHAPES.iter().map(|(begins, _)| begins.as_bytes().to_vec());
        let beginnings: Vec<Vec<u8>> = values.into_iter().chain(parts).chain(looks).collect();
        // It cannot fail but for more patterns than memory holds.
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&beginnings).ok();
        let longest = beginnings.iter().map(Vec::len).max().unwrap_or_default();
        let (mut by_first, mut ends) = (vec![Vec::new(); 256], vec![0; 256]);
        for (beginning, shape) in beginnings.into_iter().zip(&shapes) {
            for (length, last) in (1..beginning.len()).zip(&beginning) {
                ends[usize::from(*last)] |= length_bit(length);
            }
            if let Some(first) = beginning.first() {
                by_first[usize::from(*first)].push((beginning, *shape));
            }
        }
        Self { beginnings: automaton, shapes, by_first, ends, has_values, longest }
    }

    /// The secrets of a text, also where they are written in another way. Where it `is_whole`, nothing comes after it.
    fn secrets(&self, text: &[u8], is_whole: bool) -> Secrets {
        // What an escape stands for may belong to a secret.
        let escape = if is_whole { None } else { unfinished_escape(text) };
        let text = &text[..escape.unwrap_or(text.len())];
        let mut found = self.plain_secrets(text, is_whole);
        self.escaped_secrets(text, is_whole, &mut found);
        if self.has_values && has_percent(text) {
            self.add(&Unescaped::plain(text, 0).percent(), is_whole, &mut found);
        }
        found.undecided = found.undecided.or(escape);
        if found.found.len() > 1 {
            found.found.sort_unstable_by_key(|secret| (secret.hidden.start, secret.hidden.end));
            found.found.dedup_by(|next, before| {
                let overlaps = next.hidden.start < before.hidden.end;
                if overlaps {
                    before.begins = before.begins.min(next.begins);
                    before.hidden.end = before.hidden.end.max(next.hidden.end);
                }
                overlaps
            });
        }
        found
    }

    /// Looks at each line that writes something in another way than it has to.
    fn escaped_secrets(&self, text: &[u8], is_whole: bool, found: &mut Secrets) {
        let mut from = 0;
        while let Some(at) = needless_escape(&text[from..]).map(|at| from + at) {
            let start = memchr::memrchr(b'\n', &text[from..at]).map_or(from, |start| from + start + 1);
            let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end + 1);
            let mut line = Unescaped::plain(&text[start..end], start);
            for _ in 0..MOST_LEVELS {
                line = line.json();
                self.add(&line, is_whole || end < text.len(), found);
                if needless_escape(&line.bytes).is_none() {
                    break;
                }
            }
            from = end;
        }
    }

    /// Masks the beginnings of known values that stand where somebody has cut a text short, as `clip` does.
    #[cfg(feature = "testing")]
    fn mask_cut(&self, text: &mut [u8]) {
        /// Less of a value says nothing.
        const LEAST: usize = 4;
        const CUT: &[u8] = "…".as_bytes();
        if !self.has_values {
            return;
        }
        let cuts: Vec<usize> = memchr::memmem::find_iter(text, CUT).collect();
        for cut in cuts {
            let is_value =
                |_: usize, length: usize, shape: Shape| length >= LEAST && matches!(shape, Shape::Known);
            if let Some(from) = self.beginning(&text[..cut], 0, is_value) {
                blot(&mut text[from..cut]);
            }
        }
    }

    fn add(&self, text: &Unescaped, is_whole: bool, found: &mut Secrets) {
        let secrets = self.plain_secrets(&text.bytes, is_whole);
        found.found.extend(secrets.found.iter().map(|secret| Secret {
            begins: text.place(secret.begins),
            hidden: text.place(secret.hidden.start)..text.place(secret.hidden.end),
        }));
        if let Some(at) = secrets.undecided.map(|at| text.place(at)) {
            found.undecided = Some(found.undecided.map_or(at, |undecided| undecided.min(at)));
        }
        found.running = found.running.or(secrets.running);
    }

    /// The secrets of a text as it is written.
    fn plain_secrets(&self, text: &[u8], is_whole: bool) -> Secrets {
        let mut found = Secrets::default();
        let mut from = 0;
        let next = |from: usize| {
            let input = aho_corasick::Input::new(text).range(from..);
            self.beginnings.as_ref().and_then(|beginnings| beginnings.find(input))
        };
        while let Some(begins) = next(from) {
            let shape = self.shapes[begins.pattern().as_usize()];
            from = begins.start() + 1;
            match shape.meet(text, begins.range(), is_whole) {
                Met::Nothing => {}
                Met::Secret(hidden, running) => {
                    from = hidden.end.max(from);
                    found.running = running;
                    found.found.push(Secret { begins: begins.start(), hidden });
                }
                Met::Undecided => {
                    found.undecided = Some(begins.start());
                    return found;
                }
            }
        }
        if !is_whole {
            found.undecided = self.undecided(text, from);
        }
        found
    }

    /// Whether what comes after a piece may make a secret of its end. A credential that is glued to a word and torn at
    /// its very beginning is not looked for: words end with its first letters all the time.
    fn is_open(&self, piece: &[u8]) -> bool {
        // The escapes of a piece are whole, but not those of what it is a piece of.
        let mut tail = piece[piece.len().saturating_sub(12)..].windows(2);
        if tail.any(|pair| matches!(pair, [b'\\', b'\\' | b'u' | b'/']) || pair[0] == b'%') {
            return true;
        }
        let starts_word = |at: usize| at == 0 || !piece[at - 1].is_ascii_alphanumeric();
        let may = |at: usize, _: usize, shape: Shape| match shape {
            Shape::Known => true,
            // Every word might begin one.
            Shape::Part => false,
            _ => starts_word(at),
        };
        self.beginning(piece, 0, may).is_some()
            || self.plain_secrets(piece, false).undecided.is_some_and(|at| piece.len() - at >= 3)
    }

    /// Where the part begins that may be the beginning of a secret.
    fn undecided(&self, text: &[u8], from: usize) -> Option<usize> {
        self.beginning(text, from, |_, _, _| true)
    }

    /// Where the text ends with the beginning of a secret that may begin there.
    fn beginning(
        &self,
        text: &[u8],
        from: usize,
        may: impl Fn(usize, usize, Shape) -> bool,
    ) -> Option<usize> {
        let from = from.max(text.len().saturating_sub(self.longest.saturating_sub(1)));
        // Hardly any text ends with what a beginning goes on after.
        let lengths = self.ends[usize::from(*text.last()?)];
        (from..text.len()).find(|at| {
            let tail = &text[*at..];
            if lengths & length_bit(tail.len()) == 0 {
                return false;
            }
            let beginnings = &self.by_first[usize::from(tail[0])];
            beginnings.iter().any(|(begins, shape)| {
                tail.len() < begins.len() && begins.starts_with(tail) && may(*at, tail.len(), *shape)
            })
        })
    }
}

/// The bit of a length that is not 0.
fn length_bit(length: usize) -> u64 {
    1 << (length - 1).min(63)
}

/// Where an escape begins that may go on after the text; one in JSON in JSON has many backslashes.
fn unfinished_escape(text: &[u8]) -> Option<usize> {
    let tail = text.len().saturating_sub(12);
    let at = tail + memchr::memchr2(b'\\', b'%', &text[tail..])?;
    Some(at - text[..at].iter().rev().take_while(|byte| **byte == b'\\').count())
}

#[cfg(all(test, feature = "testing"))]
mod tests;
