//! Splitting bytes into lines, with a bound on how much of a line is held.

use memchr::memchr2;

/// One line as the splitter found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawLine<'a> {
    /// Counted from 1; `\n`, `\r\n` and a lone `\r` each end a line.
    pub(crate) number: u64,
    /// Where the line starts, in bytes from the start of the stream.
    pub(crate) offset: u64,
    /// The bytes without the line end; only the head of an oversized line.
    pub(crate) bytes: &'a [u8],
    /// The whole length of the line.
    pub(crate) length: u64,
    /// Whether the line has an end; only the last one of a stream may lack it.
    pub(crate) terminated: bool,
}

impl RawLine<'_> {
    pub(crate) fn is_oversized(&self) -> bool {
        self.length > self.bytes.len() as u64
    }
}

/// Of an oversized line this much is kept, enough for the members before the large one.
const HEAD: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct Splitter {
    limit: usize,
    /// The start of a line that goes on in the next chunk.
    carry: Vec<u8>,
    /// Bytes of the current line that were dropped after `carry`.
    dropped: u64,
    number: u64,
    offset: u64,
    /// The last chunk ended in `\r`, so a leading `\n` belongs to that line end.
    after_cr: bool,
    /// The number and the end of the first line that a `\r` alone ended.
    lone_return: Option<(u64, u64)>,
}

impl Splitter {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            carry: Vec::new(),
            dropped: 0,
            number: 1,
            offset: 0,
            after_cr: false,
            lone_return: None,
        }
    }

    /// The number of the line that is being read.
    #[cfg(feature = "contracts")]
    pub(crate) fn next_line(&self) -> u64 {
        self.number
    }

    pub(crate) fn push(&mut self, mut chunk: &[u8], sink: &mut impl FnMut(RawLine<'_>)) {
        if self.after_cr && !chunk.is_empty() {
            self.after_cr = false;
            if chunk[0] == b'\n' {
                chunk = &chunk[1..];
                self.offset += 1;
            } else {
                self.returned();
            }
        }
        while let Some(end) = memchr2(b'\n', b'\r', chunk) {
            let line = &chunk[..end];
            let mut next = end + 1;
            if chunk[end] == b'\r' {
                match chunk.get(next) {
                    Some(b'\n') => next += 1,
                    None => self.after_cr = true,
                    Some(_) => {}
                }
            }
            let is_lone = chunk[end] == b'\r' && chunk.get(end + 1).is_some_and(|byte| *byte != b'\n');
            self.line(line, true, sink);
            self.offset += (next - end) as u64;
            if is_lone {
                self.returned();
            }
            chunk = &chunk[next..];
        }
        self.hold(chunk);
    }

    /// The line before ended in a `\r` alone.
    fn returned(&mut self) {
        self.lone_return.get_or_insert((self.number - 1, self.offset - 1));
    }

    /// The number and the end of the first line that a `\r` alone ended; known when the stream is over.
    pub(crate) fn lone_return(&self) -> Option<(u64, u64)> {
        self.lone_return
    }

    /// Ends the stream; an unterminated last line is delivered.
    pub(crate) fn finish(&mut self, sink: &mut impl FnMut(RawLine<'_>)) {
        if std::mem::take(&mut self.after_cr) {
            self.returned();
        }
        if !self.carry.is_empty() || self.dropped > 0 {
            self.line(&[], false, sink);
        }
    }

    /// Delivers a line whose last part is `tail`.
    fn line(&mut self, tail: &[u8], terminated: bool, sink: &mut impl FnMut(RawLine<'_>)) {
        let joined;
        let bytes = if self.carry.is_empty() && self.dropped == 0 && tail.len() <= self.limit {
            tail
        } else {
            self.hold(tail);
            joined = std::mem::take(&mut self.carry);
            &joined
        };
        let length = bytes.len() as u64 + self.dropped;
        sink(RawLine { number: self.number, offset: self.offset, bytes, length, terminated });
        self.number += 1;
        self.offset += length;
        self.dropped = 0;
    }

    /// Keeps the start of a line for later, within the limit.
    fn hold(&mut self, part: &[u8]) {
        if self.dropped == 0 && self.carry.len() + part.len() <= self.limit {
            self.carry.extend_from_slice(part);
            return;
        }
        if self.dropped == 0 {
            let room = HEAD.min(self.limit).saturating_sub(self.carry.len()).min(part.len());
            self.carry.extend_from_slice(&part[..room]);
            let keep = self.carry.len().min(HEAD);
            self.dropped += (self.carry.len() - keep + part.len() - room) as u64;
            self.carry.truncate(keep);
            self.carry.shrink_to_fit();
        } else {
            self.dropped += part.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Seen = (u64, u64, Vec<u8>, u64, bool);

    fn split(chunks: &[&[u8]], limit: usize) -> Vec<Seen> {
        let mut seen = Vec::new();
        let mut splitter = Splitter::new(limit);
        let mut sink = |line: RawLine<'_>| {
            seen.push((line.number, line.offset, line.bytes.to_vec(), line.length, line.terminated));
        };
        for chunk in chunks {
            splitter.push(chunk, &mut sink);
        }
        splitter.finish(&mut sink);
        seen
    }

    #[test]
    fn all_three_line_ends_count_once() {
        let seen = split(&[b"a\r\nb\rc\n\nd"], 100);
        let lines: Vec<_> = seen.iter().map(|(n, o, b, ..)| (*n, *o, b.as_slice())).collect();
        assert_eq!(lines, [(1, 0, &b"a"[..]), (2, 3, b"b"), (3, 5, b"c"), (4, 7, b""), (5, 8, b"d")]);
        assert!(!seen[4].4);
    }

    #[test]
    fn any_split_gives_the_same_lines() {
        let text = b"one\r\ntwo\rthree\n\r\n\rfour and a long line\nend";
        let whole = split(&[text], 12);
        for cut in 0..=text.len() {
            assert_eq!(split(&[&text[..cut], &text[cut..]], 12), whole, "cut at {cut}");
        }
        let bytes: Vec<_> = text.chunks(1).collect();
        assert_eq!(split(&bytes, 12), whole);
    }

    #[test]
    fn an_oversized_line_keeps_its_head_and_its_length() {
        let long = vec![b'x'; 200_000];
        let seen = split(&[&long, b"y\nnext\n"], 100_000);
        assert_eq!(seen[0].3, 200_001);
        assert_eq!(seen[0].2.len(), HEAD);
        assert_eq!((seen[1].0, seen[1].1, seen[1].2.as_slice()), (2, 200_002, &b"next"[..]));
    }
}
