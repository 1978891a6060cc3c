//! The wire as a visitor sees it: several connections to one server, and everything that came on them, with its time.
//!
//! A server may send garbage, endless lines, a flood or nothing: what is kept is bounded, and every wait has an end.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::server::Lines;
use crate::text::trouble;

/// What is read of all connections together; a server that sends more is a flood.
const MOST_BYTES: usize = 8 << 20;
const MOST_FRAMES: usize = 50_000;

/// Why nothing more comes.
const CLOSED: &str = "the server closed the connection";

/// Whether an error says that the other side is gone.
fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

/// A frame that came on a connection.
#[derive(Debug, Clone)]
pub(super) struct Received {
    /// The number of the connection.
    pub(super) on: usize,
    pub(super) at: Instant,
    pub(super) frame: Value,
}

/// Everything that came.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    pub(super) frames: Vec<Received>,
    bytes: usize,
    /// Why a connection is read no longer, by its number.
    pub(super) ended: Vec<Option<String>>,
    /// Lines that are no JSON objects, and the first of them.
    pub(super) garbage: usize,
    pub(super) first_garbage: Option<String>,
}

/// Several connections to one server.
#[derive(Debug)]
pub(super) struct Wire {
    socket: PathBuf,
    inbox: Arc<Mutex<Inbox>>,
    changed: watch::Sender<()>,
    connections: Vec<Option<(OwnedWriteHalf, JoinHandle<()>)>>,
}

impl Wire {
    pub(super) fn new(socket: &Path) -> Self {
        let (changed, _) = watch::channel(());
        Self { socket: socket.to_owned(), inbox: Arc::default(), changed, connections: Vec::new() }
    }

    /// Opens one more connection; its number.
    pub(super) async fn connect(&mut self, within: Duration) -> Result<usize, String> {
        let connecting = timeout(within, UnixStream::connect(&self.socket)).await;
        let stream = connecting
            .map_err(|_| "the server does not accept the connection".to_owned())?
            .map_err(|error| match error.kind() {
                io::ErrorKind::ConnectionRefused => "nobody listens there".to_owned(),
                _ => trouble(&self.socket, &error),
            })?;
        let (reader, writer) = stream.into_split();
        let on = self.connections.len();
        self.inbox().ended.push(None);
        let task = tokio::spawn(read(on, reader, Arc::clone(&self.inbox), self.changed.clone()));
        self.connections.push(Some((writer, task)));
        Ok(on)
    }

    /// What came so far.
    pub(super) fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends bytes; the reason when they cannot be sent in time.
    pub(super) async fn send(&mut self, on: usize, bytes: &[u8], within: Duration) -> Result<(), String> {
        let Some(Some((writer, _))) = self.connections.get_mut(on) else {
            return Err("the connection is closed".into());
        };
        match timeout(within, writer.write_all(bytes)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) if is_closed(&error) => Err(CLOSED.into()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("the server does not read what it is sent".into()),
        }
    }

    /// Closes a connection.
    pub(super) fn close(&mut self, on: usize) {
        if let Some(connection) = self.connections.get_mut(on)
            && let Some((_, reader)) = connection.take()
        {
            reader.abort();
        }
    }

    /// Waits until something is found in the inbox, at most until then.
    pub(super) async fn wait<T>(
        &self,
        until: Instant,
        mut find: impl FnMut(&Inbox) -> Option<T>,
    ) -> Option<T> {
        let mut changes = self.changed.subscribe();
        loop {
            if let Some(found) = find(&self.inbox()) {
                return Some(found);
            }
            match tokio::time::timeout_at(until.into(), changes.changed()).await {
                Ok(Ok(())) => {}
                // A last look: it may have come just now.
                _ => return find(&self.inbox()),
            }
        }
    }
}

async fn read(on: usize, mut reader: OwnedReadHalf, inbox: Arc<Mutex<Inbox>>, changed: watch::Sender<()>) {
    let mut lines = Lines::default();
    let mut chunk = vec![0; 16 << 10];
    let lock = || inbox.lock().unwrap_or_else(PoisonError::into_inner);
    let why = loop {
        match reader.read(&mut chunk).await {
            Ok(0) => break CLOSED.to_owned(),
            Err(error) if is_closed(&error) => break CLOSED.to_owned(),
            Err(error) => break error.to_string(),
            Ok(read) => {
                let at = Instant::now();
                let mut inbox = lock();
                inbox.bytes += read;
                for line in lines.push(&chunk[..read]) {
                    inbox.take_in(on, at, &line);
                }
                if inbox.bytes > MOST_BYTES || inbox.frames.len() + inbox.garbage > MOST_FRAMES {
                    break "the server sends a flood: more than 8 MB or 50,000 lines".to_owned();
                }
            }
        }
        if lines.is_too_long() {
            break "the server sent a line of more than 1 MB".to_owned();
        }
        changed.send_replace(());
    };
    if let Some(ended) = lock().ended.get_mut(on) {
        *ended = Some(why);
    }
    changed.send_replace(());
}

impl Inbox {
    fn take_in(&mut self, on: usize, at: Instant, line: &[u8]) {
        match serde_json::from_slice::<Value>(line) {
            Ok(frame) if frame.is_object() => self.frames.push(Received { on, at, frame }),
            _ if line.trim_ascii().is_empty() => {}
            _ => {
                self.garbage += 1;
                let text = String::from_utf8_lossy(&line[..line.len().min(200)]).into_owned();
                self.first_garbage.get_or_insert(text);
            }
        }
    }
}
