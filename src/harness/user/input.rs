//! The target's standard input as the user holds it: what is written to it without ever waiting for the target, and what
//! was sent, as the recording keeps it.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::fs::OFlags;
use serde_json::{Value, json};

use super::super::terminal::END_OF_INPUT;

/// So much of what was sent is recorded, in entries and bytes; what is beyond is counted.
const MOST_ENTRIES: usize = 10_000;
const MOST_BYTES: usize = 8 << 20;
/// While a target leaves so much unread, nothing more is taken from whoever speaks in the user's place.
const MOST_UNREAD: usize = 1 << 20;
const CHUNK_BYTES: usize = 64 << 10;

/// The writing end of a target's standard input.
pub(super) struct Input {
    pipe: Option<File>,
    terminal: bool,
    /// What the target has not made room for yet.
    unread: Vec<u8>,
    /// It is closed once that is written.
    closes: bool,
    /// Who speaks in the user's place.
    relay: Option<File>,
    sent: Sent,
}

/// What was sent, in its order.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    pub(crate) entries: Vec<Value>,
    /// Entries that are not kept.
    pub(crate) not_kept: u64,
    line: Vec<u8>,
    bytes: usize,
}

impl Input {
    pub(super) fn new(pipe: Option<OwnedFd>, terminal: bool, relay: Option<OwnedFd>) -> Self {
        if let Some(pipe) = pipe.as_ref().filter(|_| !terminal) {
            // Where this fails a target that does not read is waited for, until its deadline.
            _ = rustix::fs::fcntl_setfl(pipe, OFlags::NONBLOCK);
        }
        Self {
            pipe: pipe.map(File::from),
            terminal,
            unread: Vec::new(),
            closes: false,
            relay: relay.map(File::from),
            sent: Sent::default(),
        }
    }

    /// Writes as soon as the target makes room. `printed` is how much it had printed by then.
    pub(super) fn send(&mut self, bytes: &[u8], started: Instant, printed: u64) {
        if self.pipe.is_none() || self.closes {
            return;
        }
        self.sent.note(bytes, started, printed);
        self.unread.extend_from_slice(bytes);
        self.write();
    }

    /// Closes it when all is written.
    pub(super) fn close(&mut self, started: Instant, printed: u64) {
        if self.pipe.is_none() || self.closes {
            return;
        }
        if self.terminal {
            self.unread.push(END_OF_INPUT);
        } else {
            self.sent.finish(started, printed);
            self.closes = true;
        }
        self.write();
    }

    /// Writes what there is room for.
    pub(super) fn write(&mut self) {
        while let (Some(pipe), false) = (&mut self.pipe, self.unread.is_empty()) {
            match pipe.write(&self.unread) {
                Ok(written) => drop(self.unread.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // A target that no longer listens is no failure of ours.
                Err(_) => {
                    self.pipe = None;
                    self.unread.clear();
                }
            }
        }
        if self.closes {
            self.pipe = None;
        }
    }

    /// What has to become writable before there is more to do.
    pub(super) fn wants_room(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().filter(|_| !self.unread.is_empty()).map(File::as_fd)
    }

    /// What becomes readable when somebody says something in the user's place.
    pub(super) fn relay(&self) -> Option<BorrowedFd<'_>> {
        self.relay.as_ref().filter(|_| self.unread.len() < MOST_UNREAD).map(File::as_fd)
    }

    /// Passes on what is said in the user's place.
    pub(super) fn pass_on(&mut self, started: Instant, printed: u64) {
        let mut chunk = vec![0; CHUNK_BYTES];
        let Some(relay) = &mut self.relay else { return };
        match relay.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => {
                self.relay = None;
                self.close(started, printed);
            }
            Ok(read) => self.send(&chunk[..read], started, printed),
        }
    }

    /// The target is gone: what was sent to it.
    pub(super) fn finish(mut self, started: Instant, printed: u64) -> Sent {
        self.sent.flush(started, printed);
        self.sent
    }
}

impl Sent {
    /// Adds what was written: an entry for each line that is whole.
    fn note(&mut self, bytes: &[u8], started: Instant, printed: u64) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.flush(started, printed);
            }
        }
    }

    fn flush(&mut self, started: Instant, printed: u64) {
        let line = std::mem::take(&mut self.line);
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        self.bytes += line.len();
        let what = match serde_json::from_slice::<Value>(line) {
            Ok(message) => ("message", message),
            Err(_) => ("text", String::from_utf8_lossy(line).into()),
        };
        self.add(what, started, printed);
    }

    fn finish(&mut self, started: Instant, printed: u64) {
        self.flush(started, printed);
        self.add(("closed", true.into()), started, printed);
    }

    fn add(&mut self, (name, what): (&str, Value), started: Instant, printed: u64) {
        if self.entries.len() >= MOST_ENTRIES || self.bytes > MOST_BYTES {
            self.not_kept += 1;
            return;
        }
        let at_ms = (started.elapsed().as_secs_f64() * 1e5).round() / 100.0;
        self.entries.push(json!({"offset": printed, "at_ms": at_ms, name: what}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_reads_nothing_holds_up_nobody_and_gets_all_of_it() {
        let (mut read, write) = io::pipe().unwrap();
        let mut input = Input::new(Some(write.into()), false, None);
        let (now, line) = (Instant::now(), format!("{:?}\n", "x".repeat(300_000)));
        input.send(line.as_bytes(), now, 7);
        input.close(now, 9);
        input.send(b"too late\n", now, 10);
        assert!(input.wants_room().is_some());
        let mut got = Vec::new();
        while input.wants_room().is_some() {
            let mut chunk = vec![0; 60_000];
            let count = read.read(&mut chunk).unwrap();
            got.extend_from_slice(&chunk[..count]);
            input.write();
        }
        read.read_to_end(&mut got).unwrap();
        assert!(got == line.as_bytes());
        let sent = input.finish(now, 11);
        assert_eq!(sent.entries.len(), 2);
        assert_eq!((&sent.entries[0]["offset"], &sent.entries[1]["closed"]), (&json!(7), &json!(true)));
        assert!(sent.entries[0]["message"].is_string());
    }

    #[test]
    fn what_is_sent_is_told_line_by_line_and_within_bounds() {
        let (now, mut sent) = (Instant::now(), Sent::default());
        sent.note(b"{\"type\":\"us", now, 1);
        sent.note(b"er\"}\n\nno json\nrest", now, 2);
        sent.finish(now, 3);
        let told = sent.entries.iter().map(|entry| entry["offset"].as_u64().unwrap());
        assert_eq!(told.collect::<Vec<_>>(), [2, 2, 3, 3]);
        assert_eq!(
            (&sent.entries[0]["message"]["type"], &sent.entries[1]["text"]),
            (&json!("user"), &json!("no json"))
        );
        sent.note(&b"1\n".repeat(MOST_ENTRIES), now, 4);
        assert_eq!((sent.entries.len(), sent.not_kept), (MOST_ENTRIES, 4));
    }
}
