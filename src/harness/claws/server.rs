//! The server's sockets, clock and log: what the broker decides is done here.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::OwnedReadHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::LONGEST_LINE;
use super::broker::{Broker, Output};
use crate::time::{self, Millis};

/// How a server is started.
#[derive(Debug, Clone)]
pub(crate) struct ServerOptions {
    /// Where its socket is made.
    pub(crate) socket: PathBuf,
    /// How many seconds of its clock a second is; tests of silence need not wait.
    pub(crate) speed: f64,
    /// What it does wrong, by the names of probes.
    pub(crate) wrong: Vec<String>,
}

/// What a server has to tell at its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Served {
    /// What it refused to whom.
    pub(crate) refused: Vec<String>,
    /// Why its log could not be written.
    pub(crate) trouble: Option<String>,
}

/// A server that keeps the document, listening.
#[derive(Debug)]
pub(crate) struct ClawsServer {
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Served>,
    acceptor: JoinHandle<()>,
    socket: PathBuf,
}

/// Lines that wait for a peer that does not read; with one more it is cut off.
const MOST_WAITING: usize = 4096;
/// How often silence is looked for, on the server's clock.
const SCAN: Millis = 1000;
/// How late a push is that comes too late on purpose.
const LATE: Duration = Duration::from_millis(600);

enum Input {
    Opened(u64, mpsc::Sender<Vec<u8>>),
    Line(u64, Vec<u8>),
    TooLong(u64),
    Closed(u64),
}

impl ClawsServer {
    /// Listens on a socket; `log` is given every record.
    pub(crate) fn start(
        options: &ServerOptions,
        mut log: impl FnMut(&Value) -> io::Result<()> + Send + 'static,
    ) -> io::Result<Self> {
        let listener = bind(&options.socket)?;
        let (sender, mut inputs) = mpsc::channel(1024);
        let acceptor = tokio::spawn(accept(listener, sender));
        let (stop, mut stopped) = oneshot::channel();
        let mut broker = Broker::new(options.wrong.iter().cloned());
        let is_late = options.wrong.iter().any(|wrong| wrong == "latency");
        let clock = Clock { at: Instant::now(), time: time::now(), speed: options.speed };
        let scan = Duration::from_millis(SCAN as u64).div_f64(options.speed);
        let task = tokio::spawn(async move {
            let mut connections = BTreeMap::new();
            let mut scans = tokio::time::interval(scan.max(Duration::from_millis(1)));
            let mut trouble = None;
            loop {
                tokio::select! {
                    biased;
                    input = inputs.recv() => match input {
                        Some(Input::Opened(id, writer)) => { connections.insert(id, writer); }
                        Some(Input::Line(id, line)) => broker.line(id, &line, clock.now()),
                        Some(Input::TooLong(id)) => broker.too_long(id),
                        Some(Input::Closed(id)) => {
                            connections.remove(&id);
                            broker.closed(id, clock.now());
                        }
                        None => break,
                    },
                    _ = scans.tick() => broker.tick(clock.now()),
                    _ = &mut stopped => break,
                }
                for output in broker.take() {
                    match output {
                        Output::Log(record) => {
                            if let Err(error) = log(&record) {
                                trouble.get_or_insert_with(|| error.to_string());
                            }
                        }
                        Output::Push(to, line) if is_late => {
                            if let Some(writer) = connections.get(&to).cloned() {
                                tokio::spawn(async move {
                                    tokio::time::sleep(LATE).await;
                                    // Whoever is gone by then misses nothing.
                                    let _ = writer.send(bytes(&line)).await;
                                });
                            }
                        }
                        Output::Send(to, line) | Output::Push(to, line) => send(&mut connections, to, &line),
                        Output::Close(to) => {
                            connections.remove(&to);
                        }
                    }
                }
            }
            Served { refused: broker.refused().to_vec(), trouble }
        });
        Ok(Self { stop: Some(stop), task, acceptor, socket: options.socket.clone() })
    }

    /// Stops, and tells what happened.
    pub(crate) async fn stop(mut self) -> Served {
        self.acceptor.abort();
        if let Some(stop) = self.stop.take() {
            // It has ended by itself if nobody listens.
            let _ = stop.send(());
        }
        // A socket that somebody else removed is removed.
        let _ = fs::remove_file(&self.socket);
        self.task.await.unwrap_or_default()
    }
}

fn send(connections: &mut BTreeMap<u64, mpsc::Sender<Vec<u8>>>, to: u64, line: &Value) {
    if connections.get(&to).is_some_and(|writer| writer.try_send(bytes(line)).is_err()) {
        connections.remove(&to);
    }
}

fn bytes(line: &Value) -> Vec<u8> {
    let mut bytes = line.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

/// Makes the socket; one that nobody listens on any more is replaced.
fn bind(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            // Nothing else that stands there is ours to remove.
            if !fs::symlink_metadata(path)?.file_type().is_socket() {
                return Err(io::Error::other("is there already, and is no socket"));
            }
            let is_left_over = std::os::unix::net::UnixStream::connect(path)
                .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
            if !is_left_over {
                return Err(error);
            }
            fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        other => other,
    }
}

/// Time as the server counts it.
#[derive(Debug, Clone, Copy)]
struct Clock {
    at: Instant,
    time: Millis,
    speed: f64,
}

impl Clock {
    fn now(self) -> Millis {
        self.time.saturating_add((self.at.elapsed().as_secs_f64() * 1000.0 * self.speed) as Millis)
    }
}

async fn accept(listener: UnixListener, inputs: mpsc::Sender<Input>) {
    let mut connections = tokio::task::JoinSet::new();
    for id in 0.. {
        match listener.accept().await {
            Ok((stream, _)) => {
                let inputs = inputs.clone();
                connections.spawn(connection(id, stream, inputs));
            }
            // Too many open files: those that are open have to end first.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(id: u64, stream: UnixStream, inputs: mpsc::Sender<Input>) {
    let (reader, mut writer) = stream.into_split();
    let (sender, mut lines) = mpsc::channel::<Vec<u8>>(MOST_WAITING);
    if inputs.send(Input::Opened(id, sender)).await.is_err() {
        return;
    }
    let write = async move {
        while let Some(line) = lines.recv().await {
            if writer.write_all(&line).await.is_err() {
                return;
            }
        }
    };
    // Either end is the end: a peer that reads no more is gone, and one that was cut off is not listened to.
    tokio::select! {
        () = read(id, reader, &inputs) => {}
        () = write => {}
    }
    let _ = inputs.send(Input::Closed(id)).await;
}

async fn read(id: u64, mut reader: OwnedReadHalf, inputs: &mpsc::Sender<Input>) {
    let mut lines = Lines::default();
    let mut chunk = vec![0; 16 << 10];
    while let Ok(read @ 1..) = reader.read(&mut chunk).await {
        for line in lines.push(&chunk[..read]) {
            if inputs.send(Input::Line(id, line)).await.is_err() {
                return;
            }
        }
        if lines.is_too_long() {
            let _ = inputs.send(Input::TooLong(id)).await;
            // The answer is sent before the connection is closed: that the broker closes it ends the writer.
            return std::future::pending().await;
        }
    }
}

/// Lines out of chunks, of a bounded length.
#[derive(Debug, Default)]
pub(super) struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    /// The lines that a chunk completes.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        for part in chunk.split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.rest.pop();
                lines.push(std::mem::take(&mut self.rest));
            }
        }
        lines
    }

    /// Whether what has not ended is longer than any line may be.
    pub(super) fn is_too_long(&self) -> bool {
        self.rest.len() > LONGEST_LINE
    }
}
