//! The output of a running target: one thread drains it, masks its secrets and writes it to the recording's files; another
//! reads what stands in the file and lets a listener hear it, however long that takes.

use std::fs::File;
use std::io::{self, BufWriter, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustix::fs::OFlags;

use super::capture::{Meaning, Sink};
use crate::recording::{Facts, Recording, STDERR_HEAD};
use crate::text::{Masked, Masker};

/// Of standard error this much is recorded; the rest is counted.
const MOST_STDERR: u64 = 16 << 20;
/// As much is read of the file at once.
const BLOCK_BYTES: usize = 64 << 10;

/// What output meant for the timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    Output,
    /// It may have been the result.
    Result,
    /// The run goes on after a result.
    GoesOn,
}

/// Who hears what a target prints, with its secrets masked.
pub(crate) trait Listener {
    /// The next bytes of standard output; answers with what they mean for the timers.
    fn stdout(&mut self, bytes: &[u8]) -> Seen;
    /// Whether what looked like the result is one.
    fn has_result(&mut self) -> bool;
}

/// What the thread that drains the output and the one that listens to it tell each other. What is still to be heard is in
/// the file, so that no amount of it takes memory.
pub(super) struct Backlog {
    state: Mutex<State>,
    changed: Condvar,
    /// A byte in it tells the drain that something was understood.
    understood: (PipeReader, PipeWriter),
}

#[derive(Default)]
struct State {
    /// How much of standard output is in the file, and when the last of it came.
    written: u64,
    at: Option<Instant>,
    /// There will be no more.
    is_over: bool,
    /// Somebody wants to know whether what looked like the result is one, once all has been heard that had come by then:
    /// one that goes on printing is not waited for.
    asks_for_result: Option<u64>,
    meanings: Vec<Meaning>,
}

impl Backlog {
    pub(super) fn new() -> io::Result<Self> {
        let understood = io::pipe()?;
        rustix::fs::fcntl_setfl(&understood.0, OFlags::NONBLOCK)?;
        rustix::fs::fcntl_setfl(&understood.1, OFlags::NONBLOCK)?;
        Ok(Self { state: Mutex::default(), changed: Condvar::new(), understood })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_one();
    }

    fn mean(&self, meaning: Meaning) {
        self.lock().meanings.push(meaning);
        // One that is full tells as much.
        _ = (&self.understood.1).write(&[1]);
    }

    /// Lets the listener hear all of standard output, until there will be no more.
    pub(super) fn hear(&self, stdout: &File, listener: &mut dyn Listener) -> io::Result<()> {
        let mut heard = 0;
        let mut has_result = false;
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            let is_asked = |state: &State| state.asks_for_result.is_some_and(|by| by <= heard);
            let nothing_new =
                |state: &mut State| state.written == heard && !state.is_over && !is_asked(state);
            let state = self.changed.wait_while(self.lock(), nothing_new);
            let mut state = state.unwrap_or_else(PoisonError::into_inner);
            let (written, at) = (state.written, state.at.unwrap_or_else(Instant::now));
            if is_asked(&state) && !state.is_over {
                state.asks_for_result = None;
                drop(state);
                self.mean(Meaning::IsResult(listener.has_result()));
                continue;
            }
            drop(state);
            if written == heard {
                return Ok(());
            }
            let length = usize::try_from(written - heard).unwrap_or(usize::MAX).min(block.len());
            stdout.read_exact_at(&mut block[..length], heard)?;
            heard += length as u64;
            match listener.stdout(&block[..length]) {
                Seen::Result => {
                    has_result = true;
                    self.mean(Meaning::Result(at));
                }
                // Nobody needs to be told twice.
                Seen::GoesOn if has_result => {
                    has_result = false;
                    self.mean(Meaning::GoesOn);
                }
                Seen::Output | Seen::GoesOn => {}
            }
        }
    }
}

/// The output of a running target on its way to the recording's files.
pub(super) struct Live<'l> {
    backlog: &'l Backlog,
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
    /// Masks what was not known to be secret while it was printed.
    pub(super) fn mask(&mut self, masker: &Masker, folder: &Path) -> io::Result<()> {
        for head in [&mut self.stdout_head, &mut self.stderr_head] {
            *head = masker.mask_bytes(std::mem::take(head));
        }
        for name in ["stdout", "stderr"] {
            let (place, clean) = (folder.join(name), folder.join(format!("{name}.masked")));
            io::copy(&mut Masked::with(File::open(&place)?, masker.clone()), &mut File::create_new(&clean)?)?;
            std::fs::rename(clean, place)?;
        }
        Ok(())
    }

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
    pub(super) fn new(backlog: &'l Backlog, masker: &Masker, folder: &Path) -> io::Result<Self> {
        Ok(Self {
            backlog,
            out: Channel::new(&folder.join("stdout"), masker.clone(), u64::MAX)?,
            err: Channel::new(&folder.join("stderr"), masker.clone(), MOST_STDERR)?,
        })
    }

    /// The file of standard output, for whoever hears it.
    pub(super) fn stdout_file(&self) -> io::Result<File> {
        self.out.file.get_ref().try_clone()
    }

    /// The target is gone: what may have been the beginning of a secret was none.
    pub(super) fn finish(mut self) -> io::Result<Printed> {
        self.out.finish()?;
        self.err.finish()?;
        let written = self.out.written;
        self.backlog.tell(|state| state.written = written);
        Ok(Printed {
            masked: self.out.masker.masked() + self.err.masker.masked(),
            is_whole: self.out.is_whole() && self.err.is_whole(),
            stdout_head: std::mem::take(&mut self.out.head),
            stderr_head: std::mem::take(&mut self.err.head),
            stderr_bytes: self.err.bytes,
        })
    }
}

/// Whatever ended the drain, nobody waits for more.
impl Drop for Live<'_> {
    fn drop(&mut self) {
        self.backlog.tell(|state| state.is_over = true);
    }
}

impl Sink for Live<'_> {
    fn stdout(&mut self, bytes: &[u8], at: Instant) -> io::Result<()> {
        self.out.take(bytes)?;
        self.out.file.flush()?;
        let written = self.out.written;
        self.backlog.tell(|state| (state.written, state.at) = (written, Some(at)));
        Ok(())
    }

    fn stderr(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.err.take(bytes)
    }

    fn understood(&mut self) -> Vec<Meaning> {
        // What is told from here on is told again.
        _ = (&self.backlog.understood.0).read(&mut [0; 4096]);
        std::mem::take(&mut self.backlog.lock().meanings)
    }

    fn understands(&self) -> Option<BorrowedFd<'_>> {
        Some(self.backlog.understood.0.as_fd())
    }

    fn ask_for_result(&mut self) {
        self.backlog.tell(|state| state.asks_for_result = Some(state.written));
    }
}

impl Channel {
    fn new(path: &Path, masker: Masker, most: u64) -> io::Result<Self> {
        let file = File::options().read(true).write(true).create_new(true).open(path)?;
        let file = BufWriter::with_capacity(64 << 10, file);
        Ok(Self { file, masker, head: Vec::new(), bytes: 0, written: 0, most })
    }

    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        if self.written >= self.most {
            // What is not kept needs no mask, only to be counted.
            return Ok(());
        }
        let mut clear = Vec::with_capacity(bytes.len());
        self.masker.push(bytes, &mut clear);
        self.write(&clear)
    }

    fn finish(&mut self) -> io::Result<()> {
        let mut rest = Vec::new();
        self.masker.finish(&mut rest);
        self.write(&rest)?;
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    /// Hears nothing until it may.
    struct Slow {
        may: Receiver<()>,
        heard: Vec<u8>,
    }

    impl Listener for Slow {
        fn stdout(&mut self, bytes: &[u8]) -> Seen {
            if self.heard.is_empty() {
                self.may.recv().unwrap();
            }
            self.heard.extend_from_slice(bytes);
            Seen::Result
        }

        fn has_result(&mut self) -> bool {
            self.heard.ends_with(b"\n")
        }
    }

    #[test]
    fn a_listener_that_is_behind_holds_up_nobody_and_misses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let backlog = Backlog::new().unwrap();
        let mut live =
            Live::new(&backlog, &Masker::new(["a secret that is printed"]), folder.path()).unwrap();
        let stdout = live.stdout_file().unwrap();
        let (allow, may) = channel();
        let mut slow = Slow { may, heard: Vec::new() };
        let lines = "{\"some\":\"line\"}\n".repeat(1000);
        std::thread::scope(|scope| {
            let hears = scope.spawn(|| backlog.hear(&stdout, &mut slow));
            for _ in 0..500 {
                live.stdout(lines.as_bytes(), Instant::now()).unwrap();
            }
            live.stdout(b"a secret that is printed\n", Instant::now()).unwrap();
            live.ask_for_result();
            assert_eq!(live.understood(), [], "it was waited for");
            allow.send(()).unwrap();
            let mut understood = Vec::new();
            while !understood.contains(&Meaning::IsResult(true)) {
                use rustix::event::{PollFd, PollFlags, poll};
                poll(&mut [PollFd::from_borrowed_fd(live.understands().unwrap(), PollFlags::IN)], None)
                    .unwrap();
                understood.extend(live.understood());
            }
            assert!(matches!(understood[0], Meaning::Result(_)), "{understood:?}");
            let printed = live.finish().unwrap();
            assert_eq!(printed.masked, 1);
            hears.join().unwrap().unwrap();
        });
        let whole = lines.repeat(500) + "************************\n";
        assert!(slow.heard == whole.as_bytes(), "{} bytes were heard", slow.heard.len());
    }

    /// Asks whether there is a result when the first bytes came, while the target prints on and on.
    struct Behind {
        heard: Vec<u8>,
        asked_after: Option<usize>,
        more: std::sync::mpsc::Sender<()>,
        came: Receiver<()>,
    }

    impl Listener for Behind {
        fn stdout(&mut self, bytes: &[u8]) -> Seen {
            self.heard.extend_from_slice(bytes);
            // There is always more by the time that this is heard.
            if self.asked_after.is_none() {
                self.more.send(()).unwrap();
                self.came.recv().unwrap();
            }
            Seen::Result
        }

        fn has_result(&mut self) -> bool {
            self.asked_after = Some(self.heard.len());
            true
        }
    }

    #[test]
    fn a_target_that_prints_on_after_its_result_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let backlog = Backlog::new().unwrap();
        let mut live = Live::new(&backlog, &Masker::new([""; 0]), folder.path()).unwrap();
        let stdout = live.stdout_file().unwrap();
        let ((more, wants), (came, has_come)) = (channel(), channel());
        let mut behind = Behind { heard: Vec::new(), asked_after: None, more, came: has_come };
        live.stdout(b"{}\n", Instant::now()).unwrap();
        live.ask_for_result();
        std::thread::scope(|scope| {
            let hears = scope.spawn(|| backlog.hear(&stdout, &mut behind));
            while !live.understood().contains(&Meaning::IsResult(true)) {
                if wants.try_recv().is_ok() {
                    live.stdout(b"{}\n", Instant::now()).unwrap();
                    came.send(()).unwrap();
                }
            }
            live.finish().unwrap();
            hears.join().unwrap().unwrap();
        });
        assert_eq!(behind.asked_after, Some(3));
    }
}
