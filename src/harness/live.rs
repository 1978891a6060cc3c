//! The output of a running target: its secrets are masked, it is written to the recording's files, and a listener hears it.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use super::capture::{Seen, Sink};
use super::secrets::Masker;
use crate::recording::{Facts, Recording, STDERR_HEAD};

/// Of standard error this much is recorded; the rest is counted.
const MOST_STDERR: u64 = 16 << 20;

/// Who hears what a target prints, with its secrets masked.
pub(crate) trait Listener {
    /// The next bytes of standard output; answers with what they mean for the timers.
    fn stdout(&mut self, bytes: &[u8]) -> Seen;
    /// Whether what looked like the result is one.
    fn has_result(&mut self) -> bool;
}

/// The output of a running target on its way to the recording's files and to a listener.
pub(super) struct Live<'l> {
    listener: &'l mut dyn Listener,
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

/// What a target printed: the start of both streams, and how much there was.
#[derive(Debug)]
pub(crate) struct Printed {
    pub(crate) stdout_head: Vec<u8>,
    pub(crate) stderr_head: Vec<u8>,
    pub(crate) stderr_bytes: u64,
    /// How many secrets were printed.
    pub(crate) masked: u64,
    /// Whether the heads are all that was recorded.
    is_whole: bool,
}

impl Printed {
    /// The recording that was made at this place, read from memory if all of it is there.
    pub(super) fn recording(&self, facts: Facts, place: &Path) -> Recording {
        if self.is_whole {
            Recording::new(facts, self.stdout_head.clone(), self.stderr_head.clone())
        } else {
            Recording::at(place, facts)
        }
    }
}

impl<'l> Live<'l> {
    pub(super) fn new(listener: &'l mut dyn Listener, masker: &Masker, folder: &Path) -> io::Result<Self> {
        Ok(Self {
            listener,
            out: Channel::new(&folder.join("stdout"), masker.clone(), u64::MAX)?,
            err: Channel::new(&folder.join("stderr"), masker.clone(), MOST_STDERR)?,
        })
    }

    /// The target is gone: what may have been the beginning of a secret was none.
    pub(super) fn finish(mut self) -> io::Result<Printed> {
        let mut rest = Vec::new();
        self.out.finish(&mut rest)?;
        self.listener.stdout(&rest);
        self.err.finish(&mut Vec::new())?;
        Ok(Printed {
            masked: self.out.masker.masked() + self.err.masker.masked(),
            is_whole: self.out.is_whole() && self.err.is_whole(),
            stdout_head: self.out.head,
            stderr_head: self.err.head,
            stderr_bytes: self.err.bytes,
        })
    }
}

impl Sink for Live<'_> {
    fn stdout(&mut self, bytes: &[u8]) -> io::Result<Seen> {
        let clear = self.out.take(bytes)?;
        Ok(self.listener.stdout(&clear))
    }

    fn stderr(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.err.take(bytes).map(drop)
    }

    fn has_result(&mut self) -> bool {
        self.listener.has_result()
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

    /// Whether everything that was written is in memory too.
    fn is_whole(&self) -> bool {
        self.written == self.head.len() as u64
    }

    fn write(&mut self, clear: &[u8]) -> io::Result<()> {
        let room = STDERR_HEAD.saturating_sub(self.head.len()).min(clear.len());
        self.head.extend_from_slice(&clear[..room]);
        let left = usize::try_from(self.most - self.written).unwrap_or(usize::MAX).min(clear.len());
        self.written += left as u64;
        self.file.write_all(&clear[..left])
    }
}
