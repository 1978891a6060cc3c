//! The scanner: one pass over a text, without recursion, into a flat list of values.

use super::document::{Document, Entry, hash_key};
use super::{Kind, Malformed, Oddity, Problem, text};

/// How deep values are kept. Deeper ones are checked and skipped, so that no later pass can overflow its stack.
pub const MAX_DEPTH: usize = 128;

/// An integer longer than this is beyond any double.
const MAX_DIGITS: usize = 308;

/// Bounds on what one scan keeps, whatever the text contains.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Values kept of one document; of more, the largest member is kept as raw text only.
    pub values: usize,
    /// Oddities kept of one document; the rest are counted.
    pub oddities: usize,
    /// Keys of one document that are compared to find duplicates.
    pub keys: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { values: 1 << 17, oddities: 16, keys: 1 << 16 }
    }
}

/// Reads JSON texts one after the other, reusing its buffers.
#[derive(Debug, Default)]
pub struct Scanner {
    limits: Limits,
    entries: Vec<Entry>,
    open: Vec<Open>,
    nesting: Nesting,
    keys: Vec<Key>,
    oddities: Vec<Oddity>,
    odd_count: usize,
}

/// A container that is being read and kept.
#[derive(Debug, Clone, Copy)]
struct Open {
    entry: u32,
    first_key: u32,
    /// One bit for each key seen, by hash: a clear bit means that the key is new without any comparison.
    seen: u64,
}

#[derive(Debug, Clone, Copy)]
struct Key {
    hash: u32,
    entry: u32,
}

/// Which containers are open, one bit a level, so that 100,000 levels cost 12 KB.
#[derive(Debug, Default)]
struct Nesting {
    depth: usize,
    objects: Vec<u64>,
}

impl Nesting {
    fn push(&mut self, is_object: bool) {
        let (word, bit) = (self.depth / 64, self.depth % 64);
        if word == self.objects.len() {
            self.objects.push(0);
        }
        self.objects[word] = (self.objects[word] & !(1 << bit)) | (u64::from(is_object) << bit);
        self.depth += 1;
    }

    fn in_object(&self) -> bool {
        self.depth > 0 && self.objects[(self.depth - 1) / 64] >> ((self.depth - 1) % 64) & 1 == 1
    }
}

impl Scanner {
    /// A scanner with bounds of your own.
    pub fn with_limits(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Reads a text that holds exactly one JSON value, with white space around it at most.
    pub fn scan<'a>(&'a mut self, text: &'a str) -> Result<Document<'a>, Malformed> {
        let (depth, end) = self.run(text)?;
        let after = skip_space(text.as_bytes(), end);
        if after < text.len() {
            return Err(Malformed { reason: "data after the value", offset: after });
        }
        Ok(self.document(text, depth, end))
    }

    /// Reads one JSON value at the start of a text and ignores what follows it; [`Document::end`] says where that is.
    pub fn scan_first<'a>(&'a mut self, text: &'a str) -> Result<Document<'a>, Malformed> {
        let (depth, end) = self.run(text)?;
        Ok(self.document(text, depth, end))
    }

    fn document<'a>(&'a self, text: &'a str, depth: usize, end: usize) -> Document<'a> {
        Document {
            text,
            entries: &self.entries,
            oddities: &self.oddities,
            odd_count: self.odd_count,
            depth,
            end,
            #[cfg(feature = "contracts")]
            look: super::document::Look::Plain,
        }
    }

    fn run(&mut self, text: &str) -> Result<(usize, usize), Malformed> {
        self.entries.clear();
        self.open.clear();
        self.keys.clear();
        self.oddities.clear();
        self.odd_count = 0;
        self.nesting.depth = 0;
        let bytes = text.as_bytes();
        if u32::try_from(bytes.len()).is_err() {
            return Err(Malformed { reason: "text of 4 GB or more", offset: 0 });
        }
        // Once values are no longer kept, they stay dropped until the nesting is back at this depth.
        let mut kept_to = usize::MAX;
        let mut deepest = 0;
        let mut at = skip_space(bytes, 0);
        'value: loop {
            // A value starts at `at`.
            let start = at;
            let keep = self.nesting.depth < kept_to;
            let Some(&first) = bytes.get(at) else {
                return Err(Malformed { reason: "unexpected end of text", offset: at });
            };
            match first {
                b'"' => {
                    let (end, escaped) = self.string(bytes, at)?;
                    at = end;
                    if keep {
                        self.keep(Kind::String, start, at, escaped);
                    }
                }
                b'{' | b'[' => {
                    let is_object = first == b'{';
                    self.nesting.push(is_object);
                    deepest = deepest.max(self.nesting.depth);
                    if keep {
                        self.open(if is_object { Kind::Object } else { Kind::Array }, start, &mut kept_to);
                    }
                    at = skip_space(bytes, at + 1);
                    let close = if is_object { b'}' } else { b']' };
                    if bytes.get(at) != Some(&close) {
                        if is_object {
                            at = self.key(bytes, at, self.nesting.depth < kept_to)?;
                        }
                        continue 'value;
                    }
                    // An empty container: leave `at` on its closing byte for the loop below.
                }
                b'-' | b'0'..=b'9' => {
                    let (end, kind) = self.number(text, at)?;
                    at = end;
                    if keep {
                        self.keep(kind, start, at, false);
                    }
                }
                _ => {
                    let (end, kind) = self.literal(bytes, at)?;
                    at = end;
                    if keep {
                        self.keep(kind, start, at, false);
                    }
                }
            }
            if keep && self.entries.len() >= self.limits.values && self.nesting.depth < kept_to {
                kept_to = self.collapse(start);
            }

            // After a value: separators and closing brackets until the next value starts or the text is read.
            loop {
                if self.nesting.depth == 0 {
                    return Ok((deepest, at));
                }
                at = skip_space(bytes, at);
                let in_object = self.nesting.in_object();
                match bytes.get(at) {
                    Some(b',') => {
                        at = skip_space(bytes, at + 1);
                        if in_object {
                            at = self.key(bytes, at, self.nesting.depth < kept_to)?;
                        }
                        continue 'value;
                    }
                    Some(b'}') if in_object => {}
                    Some(b']') if !in_object => {}
                    Some(_) => {
                        let reason = if in_object { "expected ',' or '}'" } else { "expected ',' or ']'" };
                        return Err(Malformed { reason, offset: at });
                    }
                    None => return Err(Malformed { reason: "unexpected end of text", offset: at }),
                }
                at += 1;
                self.close(text, at, &mut kept_to);
            }
        }
    }

    /// Starts to keep a container.
    fn open(&mut self, kind: Kind, start: usize, kept_to: &mut usize) {
        let depth = self.nesting.depth;
        self.keep(kind, start, start, false);
        if depth > MAX_DEPTH {
            self.odd(Problem::TooDeep, start);
            *kept_to = depth;
        } else if self.entries.len() >= self.limits.values {
            *kept_to = self.collapse(start);
        }
        let entry = self.entries.len() as u32 - 1;
        if depth < *kept_to || depth > MAX_DEPTH {
            self.open.push(Open { entry, first_key: self.keys.len() as u32, seen: 0 });
        }
    }

    /// Ends the innermost container, whose closing byte stands before `end`.
    fn close(&mut self, text: &str, end: usize, kept_to: &mut usize) {
        let depth = self.nesting.depth;
        self.nesting.depth -= 1;
        // The list of open containers is shorter than the nesting exactly while values are being dropped.
        if self.open.len() < depth {
            return;
        }
        let Some(open) = self.open.pop() else { return };
        let next = self.entries.len() as u32;
        let entry = &mut self.entries[open.entry as usize];
        entry.end = end as u32;
        entry.next = next;
        if *kept_to == depth {
            entry.opaque = true;
            *kept_to = usize::MAX;
        }
        if self.keys.len() - open.first_key as usize > LINEAR_KEYS {
            self.report_duplicates(text, open.first_key as usize);
        }
        self.keys.truncate(open.first_key as usize);
    }

    fn keep(&mut self, kind: Kind, start: usize, end: usize, escaped: bool) {
        let next = self.entries.len() as u32 + 1;
        self.entries.push(Entry { start: start as u32, end: end as u32, next, kind, escaped, opaque: false });
    }

    /// Makes room when too many values were kept: drops the children of the outermost member that is being read, and
    /// returns the depth below which values are kept again.
    fn collapse(&mut self, offset: usize) -> usize {
        self.odd(Problem::TooManyValues, offset);
        // `open[1]` is the member of the root that grew too large; a root that did so itself has no second level.
        let level = usize::from(self.open.len() > 1);
        let Some(open) = self.open.get(level).copied() else { return usize::MAX };
        self.open.truncate(level + 1);
        self.keys.truncate(open.first_key as usize);
        self.entries.truncate(open.entry as usize + 1);
        level + 1
    }

    fn odd(&mut self, kind: Problem, offset: usize) {
        self.odd_count += 1;
        if self.oddities.len() < self.limits.oddities {
            self.oddities.push(Oddity { kind, offset });
        }
    }

    /// Reads a key and its colon; returns where the value starts.
    fn key(&mut self, bytes: &[u8], at: usize, keep: bool) -> Result<usize, Malformed> {
        if bytes.get(at) != Some(&b'"') {
            let reason =
                if at >= bytes.len() { "unexpected end of text" } else { "expected a key in quotes" };
            return Err(Malformed { reason, offset: at });
        }
        let (end, escaped) = self.string(bytes, at)?;
        let colon = skip_space(bytes, end);
        if bytes.get(colon) != Some(&b':') {
            let reason = if colon >= bytes.len() { "unexpected end of text" } else { "expected ':'" };
            return Err(Malformed { reason, offset: colon });
        }
        if keep {
            let inside = &bytes[at + 1..end - 1];
            let hash = if escaped { hash_key(&decoded(bytes, at, end)) } else { hash_key(inside) };
            let (start, end) = (at as u32, end as u32);
            self.entries.push(Entry { start, end, next: hash, kind: Kind::String, escaped, opaque: false });
            self.note_key(bytes, hash);
        }
        Ok(skip_space(bytes, colon + 1))
    }

    /// Remembers the key that was read last and reports it when its object already has it.
    fn note_key(&mut self, bytes: &[u8], hash: u32) {
        if self.keys.len() >= self.limits.keys {
            return;
        }
        let key = Key { hash, entry: self.entries.len() as u32 - 1 };
        let Some(open) = self.open.last_mut() else { return };
        let first = open.first_key as usize;
        let bit = 1 << (hash >> 26);
        let maybe_seen = open.seen & bit != 0;
        open.seen |= bit;
        // Large objects are compared once at their end, by sorting, so that hostile ones stay cheap.
        if maybe_seen && self.keys.len() - first <= LINEAR_KEYS {
            let text_of = |key: &Key| {
                let entry = self.entries[key.entry as usize];
                decoded(bytes, entry.start as usize, entry.end as usize)
            };
            let is_same = |other: &Key| other.hash == hash && text_of(other) == text_of(&key);
            if self.keys[first..].iter().any(is_same) {
                self.odd(Problem::DuplicateKey, self.entries[key.entry as usize].start as usize);
            }
        }
        self.keys.push(key);
    }

    /// Reports duplicate keys of a large object, among those that were not compared when they were read.
    fn report_duplicates(&mut self, text: &str, first: usize) {
        let mut keys = self.keys.split_off(first);
        let compared = keys.get(LINEAR_KEYS).map_or(u32::MAX, |key| key.entry);
        keys.sort_unstable_by_key(|key| (key.hash, key.entry));
        for pair in keys.windows(2) {
            let later = self.entries[pair[1].entry as usize];
            let earlier = self.entries[pair[0].entry as usize];
            if pair[0].hash == pair[1].hash
                && pair[1].entry > compared
                && decoded(text.as_bytes(), earlier.start as usize, earlier.end as usize)
                    == decoded(text.as_bytes(), later.start as usize, later.end as usize)
            {
                self.odd(Problem::DuplicateKey, later.start as usize);
            }
        }
    }

    /// Reads a string whose opening quote stands at `at`; returns where it ends and whether it has escapes.
    fn string(&mut self, bytes: &[u8], at: usize) -> Result<(usize, bool), Malformed> {
        let mut escaped = false;
        let mut i = at + 1;
        loop {
            i = skip_plain(bytes, i);
            match bytes.get(i) {
                Some(b'"') => return Ok((i + 1, escaped)),
                Some(b'\\') => {
                    escaped = true;
                    i = self.escape(bytes, i)?;
                }
                Some(_) => return Err(Malformed { reason: "control character in a string", offset: i }),
                None => return Err(Malformed { reason: "unterminated string", offset: at }),
            }
        }
    }

    /// Checks the escape whose backslash stands at `at`; returns where it ends.
    fn escape(&mut self, bytes: &[u8], at: usize) -> Result<usize, Malformed> {
        match bytes.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
            Some(b'u') => {
                let bad = Malformed { reason: "invalid \\u escape", offset: at };
                let unit = hex4(bytes, at + 2).ok_or(bad)?;
                match unit {
                    0xD800..=0xDBFF => {
                        let low = (bytes.get(at + 6) == Some(&b'\\') && bytes.get(at + 7) == Some(&b'u'))
                            .then(|| hex4(bytes, at + 8))
                            .flatten();
                        if let Some(0xDC00..=0xDFFF) = low {
                            return Ok(at + 12);
                        }
                        self.odd(Problem::LoneSurrogate, at);
                    }
                    0xDC00..=0xDFFF => self.odd(Problem::LoneSurrogate, at),
                    _ => {}
                }
                Ok(at + 6)
            }
            Some(_) => Err(Malformed { reason: "invalid escape", offset: at }),
            None => Err(Malformed { reason: "unterminated string", offset: at }),
        }
    }

    fn number(&mut self, text: &str, at: usize) -> Result<(usize, Kind), Malformed> {
        let bytes = text.as_bytes();
        let mut i = at + usize::from(bytes[at] == b'-');
        match bytes.get(i) {
            Some(b'0') => i += 1,
            Some(b'1'..=b'9') => i = skip_digits(bytes, i),
            Some(b'I') if bytes[i..].starts_with(b"Infinity") => {
                self.odd(Problem::NonFinite, at);
                return Ok((i + 8, Kind::Number));
            }
            _ => return Err(Malformed { reason: "invalid number", offset: at }),
        }
        let mut is_integer = true;
        if bytes.get(i) == Some(&b'.') && bytes.get(i + 1).is_some_and(u8::is_ascii_digit) {
            is_integer = false;
            i = skip_digits(bytes, i + 1);
        }
        if matches!(bytes.get(i), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(i + 1), Some(b'+' | b'-')));
            if bytes.get(i + 1 + sign).is_some_and(u8::is_ascii_digit) {
                is_integer = false;
                i = skip_digits(bytes, i + 1 + sign);
            }
        }
        if is_integer {
            if i - at > MAX_DIGITS {
                self.odd(Problem::HugeInteger, at);
            }
        } else if text[at..i].parse::<f64>().is_ok_and(f64::is_infinite) {
            self.odd(Problem::NumberOverflow, at);
        }
        Ok((i, Kind::Number))
    }

    fn literal(&mut self, bytes: &[u8], at: usize) -> Result<(usize, Kind), Malformed> {
        let rest = &bytes[at..];
        if rest.starts_with(b"null") {
            Ok((at + 4, Kind::Null))
        } else if rest.starts_with(b"true") {
            Ok((at + 4, Kind::Boolean))
        } else if rest.starts_with(b"false") {
            Ok((at + 5, Kind::Boolean))
        } else if rest.starts_with(b"NaN") {
            self.odd(Problem::NonFinite, at);
            Ok((at + 3, Kind::Number))
        } else if rest.starts_with(b"Infinity") {
            self.odd(Problem::NonFinite, at);
            Ok((at + 8, Kind::Number))
        } else if rest.starts_with("\u{feff}".as_bytes()) {
            Err(Malformed { reason: "byte order mark", offset: at })
        } else {
            Err(Malformed { reason: "expected a value", offset: at })
        }
    }
}

/// Up to this many keys, an object's keys are compared as they are read.
const LINEAR_KEYS: usize = 32;

fn decoded(bytes: &[u8], start: usize, end: usize) -> Vec<u8> {
    let inside = std::str::from_utf8(&bytes[start + 1..end - 1]).unwrap_or_default();
    text::unescape(inside).into_owned().into_bytes()
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

fn skip_digits(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    at
}

fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.iter().try_fold(0, |unit, byte| Some(unit << 4 | char::from(*byte).to_digit(16)?))
}

/// Skips to the next quote, backslash or control character, eight bytes at a time.
fn skip_plain(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = ONES << 7;
    while let Some(chunk) = bytes.get(at..at + 8) {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        let word = u64::from_le_bytes(word);
        let quote = word ^ (ONES * 0x22);
        let backslash = word ^ (ONES * 0x5c);
        // The lowest set high bit marks the first byte that is a quote, a backslash or below 0x20.
        let hits = ((quote.wrapping_sub(ONES) & !quote)
            | (backslash.wrapping_sub(ONES) & !backslash)
            | (word.wrapping_sub(ONES * 0x20) & !word))
            & HIGHS;
        if hits != 0 {
            return at + hits.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|&byte| byte != b'"' && byte != b'\\' && byte >= 0x20) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn odd_kinds(text: &str) -> Vec<Problem> {
        Scanner::default().scan(text).unwrap().oddities().iter().map(|odd| odd.kind).collect()
    }

    fn refusal(text: &str) -> String {
        Scanner::default().scan(text).unwrap_err().to_string()
    }

    #[test]
    fn members_items_and_scalars_are_found() {
        let mut scanner = Scanner::default();
        let document = scanner.scan(r#" {"a":[1,-2.5,"x\n"],"b":{"c":true,"d":null},"e":false} "#).unwrap();
        let root = document.root();
        let items: Vec<_> = root.get("a").unwrap().items().collect();
        assert_eq!(items[0].integer(), Some(1));
        assert_eq!(items[1].float(), Some(-2.5));
        assert_eq!(items[2].text().unwrap(), "x\n");
        assert_eq!(root.path(["b", "c"]).unwrap().boolean(), Some(true));
        assert!(root.path(["b", "d"]).unwrap().is_null());
        assert_eq!(root.get("b").unwrap().raw(), r#"{"c":true,"d":null}"#);
        assert_eq!(root.get("e").unwrap().boolean(), Some(false));
        assert_eq!(root.members().count(), 3);
        assert!(root.get("nope").is_none());
        assert_eq!(document.depth(), 2);
    }

    #[test]
    fn every_oddity_is_reported_at_its_byte() {
        use Problem::{DuplicateKey, HugeInteger, LoneSurrogate, NonFinite, NumberOverflow};
        assert_eq!(odd_kinds(r"[NaN,Infinity,-Infinity]"), [NonFinite; 3]);
        assert_eq!(odd_kinds(r#"["\ud800","\udc00","\ud83d\ude00"]"#), [LoneSurrogate; 2]);
        assert_eq!(odd_kinds("[1e400,-1e999,1e308]"), [NumberOverflow; 2]);
        assert_eq!(odd_kinds(&"9".repeat(5000)), [HugeInteger]);
        assert_eq!(odd_kinds(r#"{"a":1,"b":{"a":2},"\u0061":3}"#), [DuplicateKey]);
        let mut scanner = Scanner::default();
        let document = scanner.scan(r#"{"a":1,"a":NaN}"#).unwrap();
        let offsets: Vec<_> = document.oddities().iter().map(|odd| odd.offset).collect();
        assert_eq!(offsets, [7, 11]);
        let nan = document.root().get("a").unwrap();
        assert_eq!((nan.kind(), nan.float(), nan.to_value()), (Kind::Number, None, serde_json::Value::Null));
    }

    #[test]
    fn duplicates_in_a_large_object_are_found_once() {
        let mut members: Vec<_> = (0..500).map(|i| format!("\"k{i}\":{i}")).collect();
        members.push("\"k3\":1".into());
        members.push("\"k400\":1".into());
        assert_eq!(odd_kinds(&format!("{{{}}}", members.join(","))), [Problem::DuplicateKey; 2]);
    }

    #[test]
    fn nesting_is_bounded_without_losing_siblings() {
        let deep = format!(r#"{{"x":{}{},"type":"result"}}"#, "[".repeat(100_000), "]".repeat(100_000));
        let mut scanner = Scanner::default();
        let document = scanner.scan(&deep).unwrap();
        assert_eq!(document.depth(), 100_001);
        assert_eq!(document.oddities().len(), 1);
        assert!(document.root().get("type").unwrap().is_text("result"));
        let kept_depth = std::iter::successors(document.root().get("x"), |node| node.items().next()).count();
        assert_eq!(kept_depth, MAX_DEPTH);
    }

    #[test]
    fn too_many_values_collapse_the_member_that_grew() {
        let many = format!(r#"{{"a":{{"b":[{}1]}},"type":"x","c":[1,2]}}"#, "1,".repeat(1000));
        let mut scanner = Scanner::with_limits(Limits { values: 100, ..Limits::default() });
        let document = scanner.scan(&many).unwrap();
        assert!(document.root().get("a").unwrap().is_opaque());
        assert!(document.root().get("type").unwrap().is_text("x"));
        assert_eq!(document.root().get("c").unwrap().items().count(), 2);
        let wide = format!("[{}1]", "1,".repeat(1000));
        let document = scanner.scan(&wide).unwrap();
        assert!(document.root().is_opaque());
        assert_eq!(document.oddities()[0].kind, Problem::TooManyValues);
    }

    #[test]
    fn malformed_text_is_refused_with_reason_and_place() {
        assert_eq!(refusal(""), "unexpected end of text at byte 0");
        assert_eq!(refusal("{\"a\":1"), "unexpected end of text at byte 6");
        assert_eq!(refusal("{\"a\" 1}"), "expected ':' at byte 5");
        assert_eq!(refusal("{a:1}"), "expected a key in quotes at byte 1");
        assert_eq!(refusal("[1,]"), "expected a value at byte 3");
        assert_eq!(refusal("[1}"), "expected ',' or ']' at byte 2");
        assert_eq!(refusal("01"), "data after the value at byte 1");
        assert_eq!(refusal("1. "), "data after the value at byte 1");
        assert_eq!(refusal("-"), "invalid number at byte 0");
        assert_eq!(refusal("\"\t\""), "control character in a string at byte 1");
        assert_eq!(refusal("\"\0\""), "control character in a string at byte 1");
        assert_eq!(refusal(r#""\x""#), "invalid escape at byte 1");
        assert_eq!(refusal(r#""\u12g4""#), "invalid \\u escape at byte 1");
        assert_eq!(refusal("\"abc"), "unterminated string at byte 0");
        assert_eq!(refusal("\u{feff}{}"), "byte order mark at byte 0");
        assert_eq!(refusal("{}{}"), "data after the value at byte 2");
    }

    #[test]
    fn what_strict_json_accepts_is_read_alike_by_serde_json() {
        for text in [
            r#"{"a":[1,2.5e3,-0],"b":"\u00e9\\","c":{},"d":[],"e":[[]],"f":null}"#,
            "[]",
            "3",
            r#""x""#,
            r#"{"":{"":[{"":0}]}}"#,
        ] {
            let mut scanner = Scanner::default();
            let ours = scanner.scan(text).unwrap().root().to_value();
            assert_eq!(ours, serde_json::from_str::<serde_json::Value>(text).unwrap());
        }
    }
}
