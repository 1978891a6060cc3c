//! What listens to a running target: masks secrets, writes the recording's files, and judges on the way.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use crate::harness::capture::{Seen, Sink};
use crate::harness::secrets::Masker;
use crate::judge::Judge;
use crate::recording::STDERR_HEAD;
use crate::stream_json::{Line, Message};

/// Of standard error this much is recorded; the rest is counted.
const MOST_STDERR: u64 = 16 << 20;

/// Listens to one run.
pub(super) struct Live<'s> {
    judge: Judge<'s>,
    out: Channel,
    err: Channel,
}

/// One stream on its way to a file.
struct Channel {
    file: BufWriter<File>,
    masker: Masker,
    head: Vec<u8>,
    bytes: u64,
    written: u64,
    most: u64,
}

/// What is left of a run once it is over.
pub(super) struct Heard<'s> {
    pub(super) judge: Judge<'s>,
    pub(super) stdout_head: Vec<u8>,
    pub(super) stderr_head: Vec<u8>,
    pub(super) stderr_bytes: u64,
    pub(super) masked: u64,
}

impl<'s> Live<'s> {
    pub(super) fn new(judge: Judge<'s>, masker: &Masker, folder: &Path) -> io::Result<Self> {
        Ok(Self {
            judge,
            out: Channel::new(&folder.join("stdout"), masker.clone(), u64::MAX)?,
            err: Channel::new(&folder.join("stderr"), masker.clone(), MOST_STDERR)?,
        })
    }

    /// The target is gone: what may have been the beginning of a secret was none.
    pub(super) fn finish(mut self) -> io::Result<Heard<'s>> {
        let mut rest = Vec::new();
        self.out.finish(&mut rest)?;
        self.judge.push(&rest, &mut |_| {});
        self.err.finish(&mut Vec::new())?;
        Ok(Heard {
            judge: self.judge,
            masked: self.out.masker.masked() + self.err.masker.masked(),
            stdout_head: self.out.head,
            stderr_head: self.err.head,
            stderr_bytes: self.err.bytes,
        })
    }
}

impl Sink for Live<'_> {
    fn stdout(&mut self, bytes: &[u8]) -> io::Result<Seen> {
        let clear = self.out.take(bytes)?;
        let mut seen = Seen::Output;
        self.judge.push(&clear, &mut |line| seen = meaning(line).unwrap_or(seen));
        if self.judge.is_document() {
            let ends = clear.trim_ascii_end().last().is_some_and(|byte| matches!(byte, b'}' | b']'));
            seen = if ends { Seen::Result } else { Seen::GoesOn };
        }
        Ok(seen)
    }

    fn stderr(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.err.take(bytes).map(drop)
    }

    fn has_result(&mut self) -> bool {
        if !self.judge.is_document() {
            return true;
        }
        // Asked once, when the target has long been silent.
        self.judge.has_document()
    }
}

/// What a line means for the timers.
fn meaning(line: &Line<'_>) -> Option<Seen> {
    match line.message()?.view() {
        Message::Result(_) => Some(Seen::Result),
        Message::Init(_) | Message::Assistant(_) | Message::User(_) => Some(Seen::GoesOn),
        _ => None,
    }
}

impl Channel {
    fn new(path: &Path, masker: Masker, most: u64) -> io::Result<Self> {
        let file = BufWriter::with_capacity(64 << 10, File::create(path)?);
        Ok(Self { file, masker, head: Vec::new(), bytes: 0, written: 0, most })
    }

    fn take(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        self.bytes += bytes.len() as u64;
        if self.written >= self.most {
            // What is not kept needs no mask, only to be counted.
            return Ok(Vec::new());
        }
        let mut clear = Vec::with_capacity(bytes.len());
        self.masker.push(bytes, &mut clear);
        self.write(&clear)?;
        Ok(clear)
    }

    fn finish(&mut self, rest: &mut Vec<u8>) -> io::Result<()> {
        self.masker.finish(rest);
        self.write(rest)?;
        self.file.flush()
    }

    fn write(&mut self, clear: &[u8]) -> io::Result<()> {
        let room = STDERR_HEAD.saturating_sub(self.head.len()).min(clear.len());
        self.head.extend_from_slice(&clear[..room]);
        let left = usize::try_from(self.most - self.written).unwrap_or(usize::MAX).min(clear.len());
        self.written += left as u64;
        self.file.write_all(&clear[..left])
    }
}
