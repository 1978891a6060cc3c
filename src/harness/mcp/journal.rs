//! What a server saw and answered, one event a line, each written at once: a server may be killed at any time.

use std::fs::File;
use std::io::Read as _;
#[cfg(feature = "cli")]
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{Mode, OFlags};
use serde_json::{Value, json};

/// Events of one process that are written down; a client that asks without end must not fill the disk.
const MOST_EVENTS: u64 = 10_000;
/// More of one event is not written down.
const MOST_VALUE: usize = 1 << 20;
/// More of a file is not read.
const MOST_FILE: u64 = 64 << 20;

/// Where events go.
#[derive(Debug)]
pub(crate) struct Journal {
    place: Place,
    events: AtomicU64,
    calls: AtomicU64,
}

#[derive(Debug)]
enum Place {
    #[cfg(feature = "cli")]
    Nowhere,
    Memory(Mutex<Vec<Value>>),
    #[cfg(feature = "cli")]
    File(Mutex<File>),
}

impl Journal {
    fn new(place: Place) -> Self {
        Self { place, events: AtomicU64::new(0), calls: AtomicU64::new(0) }
    }

    /// Nobody reads it.
    #[cfg(feature = "cli")]
    pub(crate) fn none() -> Self {
        Self::new(Place::Nowhere)
    }

    /// It stays in this process.
    pub(crate) fn in_memory() -> Self {
        Self::new(Place::Memory(Mutex::default()))
    }

    /// It goes to the end of a file, to which others may write as well.
    #[cfg(feature = "cli")]
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        let file = File::options().append(true).create(true).open(path)?;
        Ok(Self::new(Place::File(Mutex::new(file))))
    }

    /// Writes an event of a server. What cannot be written is missing, which is found where it is read.
    pub(super) fn write(&self, server: &str, mut event: Value) {
        if self.events.fetch_add(1, Ordering::Relaxed) >= MOST_EVENTS {
            return;
        }
        for name in ["result", "arguments", "error"] {
            let bytes = event.get(name).map_or(0, |value| value.to_string().len());
            if bytes > MOST_VALUE {
                event[name] = Value::Null;
                event["cut"] = json!({"of": name, "bytes": bytes});
            }
        }
        event["server"] = server.into();
        event["pid"] = std::process::id().into();
        event["at"] = now().into();
        match &self.place {
            #[cfg(feature = "cli")]
            Place::Nowhere => {}
            Place::Memory(events) => events.lock().unwrap_or_else(PoisonError::into_inner).push(event),
            #[cfg(feature = "cli")]
            Place::File(file) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                // In one piece: other processes append to it too.
                _ = file.write_all(format!("{event}\n").as_bytes());
            }
        }
    }

    /// Writes a call; its number.
    pub(super) fn write_call(&self, server: &str, mut event: Value) -> u64 {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        event["call"] = number.into();
        self.write(server, event);
        number
    }

    /// What was written so far, where it stays in this process.
    pub(super) fn events(&self) -> Vec<Value> {
        match &self.place {
            Place::Memory(events) => events.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            #[cfg(feature = "cli")]
            Place::Nowhere | Place::File(_) => Vec::new(),
        }
    }
}

/// Milliseconds since 1970, by the clock of events.
pub(crate) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1000.0
}

/// Reads the events of a file. The target can write it too: what is no file is none, and what is no event is left out.
pub(super) fn read(path: &Path) -> Vec<Value> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::open(path, flags, Mode::empty()).map(File::from) else { return Vec::new() };
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Vec::new();
    }
    let mut bytes = Vec::new();
    _ = file.take(MOST_FILE).read_to_end(&mut bytes);
    let events = bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    events.filter(Value::is_object).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_read_as_it_was_written_and_nothing_else_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let journal = Journal::at(&path).unwrap();
        journal.write("s", json!({"event": "started"}));
        journal.write("s", json!({"event": "result", "result": "x".repeat(2 << 20)}));
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"forged\n[]\n").unwrap();
        let events = read(&path);
        assert_eq!(events.len(), 2);
        assert_eq!((&events[0]["server"], &events[0]["event"]), (&json!("s"), &json!("started")));
        assert_eq!((&events[1]["result"], &events[1]["cut"]["of"]), (&Value::Null, &json!("result")));
        assert!(read(Path::new("/dev/zero")).is_empty() && read(&folder.path().join("none")).is_empty());
    }
}
