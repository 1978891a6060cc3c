//! One scripted API for one case: the only place that touches wiremock's server.
//!
//! wiremock's hazards are dealt with here and nowhere else. Servers are never pooled, since a pooled one answers the
//! clients of the case before it. They are dropped on a thread of their own, since a drop inside a task can spin for
//! ever. What they keep of each request is a line (see `engine`).

use std::cell::Cell;
use std::io::{self, Write as _};
use std::mem::ManuallyDrop;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Once};
use std::time::Instant;

#[cfg(feature = "cli")]
use serde_json::Value;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};
use wiremock::MockServer;

use super::answer::{Answer, AnswerSeed};
use super::dialect;
use super::engine::{self, ScriptState};
use super::fault::{Fault, FaultKind};
use super::front::{pause_or_forever, serve};
use super::journal::{Journal, JournalEntry};
use super::journal_writer::JournalWriter;
use super::kept::{KeptExchange, MOST_KEPT, MOST_RELAYED};
use super::relay::{self, Relay, Upstreams};
use super::script::Script;
use super::space::{Held, Space};
use crate::harness::mcp::HttpServers;
use crate::harness::threads;

/// How a server is started.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// The port on 127.0.0.1; a free one without it.
    pub port: Option<u16>,
    /// Faults beside those of the script; they take the place of the script's in the turns that they select.
    pub faults: Vec<Fault>,
    /// A seed instead of the script's.
    pub seed: Option<u64>,
    /// A listener made elsewhere, such as inside another network namespace, instead of a port.
    pub listener: Option<std::net::TcpListener>,
    /// Whether the bodies of requests and answers are kept, within bounds, until the server ends.
    pub keep_bodies: bool,
    /// Scripted MCP servers that are reached at the same address.
    pub(crate) mcp: Option<Arc<HttpServers>>,
}

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Somebody else listens there.
    #[error("port {port} on 127.0.0.1 is in use; choose another one, or none to get a free one")]
    PortInUse {
        /// The port that was asked for.
        port: u16,
    },
    /// The port may not be used.
    #[error("port {port} on 127.0.0.1 is not allowed for this user; those from 1024 on are")]
    PortDenied {
        /// The port that was asked for.
        port: u16,
    },
    /// The operating system refused the socket.
    #[error("cannot listen on 127.0.0.1: {0}")]
    Socket(#[from] io::Error),
    /// A fault does not fit the script.
    #[error("{0}")]
    Fault(String),
    /// A turn would be sent in a form that no API ever sends.
    #[error("turn `{turn}` is not what the Messages API sends: {message}")]
    Answer {
        /// The turn that the fault was meant for.
        turn: String,
        /// Its line in the scenario.
        line: usize,
        /// Why the fault does not fit there.
        message: String,
    },
    /// wiremock could not start.
    #[error("the matching engine did not start: {0}")]
    Engine(String),
}

/// A scripted API, listening.
#[derive(Debug)]
pub struct MockApi {
    address: SocketAddr,
    writer: Arc<JournalWriter>,
    /// Dropping it stops the acceptor.
    stop: Option<oneshot::Sender<()>>,
    acceptor: Option<JoinHandle<()>>,
    engine: Option<MockServer>,
}

/// Who answers.
#[derive(Debug, Clone)]
enum Behind {
    Engine(SocketAddr),
    Relay(Arc<Relay>),
}

impl Behind {
    /// Serves one client, whose place among all of them is given back then.
    async fn serve(self, stream: TcpStream, writer: Arc<JournalWriter>, place: Held) {
        match self {
            Self::Engine(engine) => serve(stream, writer, engine).await,
            Self::Relay(relay) => relay::serve(stream, writer, relay).await,
        }
        drop(place);
    }
}

/// The next client, with its place among all of them.
async fn accept(listener: &TcpListener, space: &Space) -> (Held, io::Result<TcpStream>) {
    let place = space.for_client().await;
    (place, listener.accept().await.map(|(stream, _)| stream))
}

impl MockApi {
    /// Starts a server that passes every request on to a real API, and writes down what both say.
    pub(crate) fn relay(
        upstreams: Upstreams,
        listener: Option<std::net::TcpListener>,
    ) -> Result<Self, StartError> {
        let state = Arc::new(ScriptState::new(Script::new(), Vec::new()));
        let listener = Listener::open(Options { listener, ..Options::default() }, None)?;
        let writer = Arc::new(JournalWriter::new(state, None, Some(MOST_RELAYED)));
        let behind = Behind::Relay(Arc::new(Relay::new(upstreams)));
        Ok(Self::accepting(listener, None, writer, behind, None))
    }

    /// Starts a server of its own for one case.
    pub async fn start(mut script: Script, options: Options) -> Result<Self, StartError> {
        if let Some(seed) = options.seed {
            script.seed = seed;
        }
        check_answers(&mut script)?;
        let refusal = refusal(&script, &options.faults)?;
        let most_kept = options.keep_bodies.then_some(MOST_KEPT);
        let mcp = options.mcp.clone();
        let state = Arc::new(ScriptState::new(script, options.faults.clone()));
        check_faults(&state)?;
        let listener = Listener::open(options, refusal)?;

        // In a task of its own: wiremock panics when it gets no socket, and that is no reason to fall with it.
        hear_no_known_panics();
        let starting = Arc::clone(&state);
        let engine = tokio::spawn(async move {
            let server = MockServer::builder().start().await;
            engine::mount(&starting, &server).await;
            server
        })
        .await
        .map_err(|error| {
            StartError::Engine(match error.to_string() {
                said if said.contains(NO_THREAD) => {
                    "no thread can be had for it: raise the limit (ulimit -u)".into()
                }
                said => said,
            })
        })?;

        let spent_after = refusal.map(|(after_requests, _)| u64::from(after_requests));
        let writer = Arc::new(JournalWriter::new(state, spent_after, most_kept).with_mcp(mcp));
        let behind = Behind::Engine(*engine.address());
        Ok(Self::accepting(listener, refusal, writer, behind, Some(engine)))
    }

    /// Takes clients in from now on.
    fn accepting(
        listener: Listener,
        refusal: Option<Refusal>,
        writer: Arc<JournalWriter>,
        behind: Behind,
        engine: Option<MockServer>,
    ) -> Self {
        let address = listener.address;
        let (stop, stopped) = oneshot::channel::<()>();
        let taken_in = Arc::clone(&writer);
        let acceptor = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            tokio::select! {
                () = listener.accept(refusal, taken_in, behind, &mut connections) => {}
                // Sent or dropped: either way it is over.
                _ = stopped => {}
            }
            // Waits for tasks in the middle of a step: what has been sent in full is then complete in the journal.
            connections.shutdown().await;
        });
        MockApi { address, writer, stop: Some(stop), acceptor: Some(acceptor), engine }
    }

    /// The loopback address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What a client is pointed at.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// When the clock of the journal began.
    pub(crate) fn started(&self) -> Instant {
        self.writer.started
    }

    /// Says which credentials the client is given, so that the journal can tell whether it uses them.
    pub(crate) fn expect_credentials(&self, given: Vec<String>) {
        self.writer.expect_credentials(given);
    }

    /// The journal as it is now.
    pub fn journal(&self) -> Journal {
        self.writer.snapshot()
    }

    /// The journal entry of that number, if it has come and is kept.
    pub fn entry(&self, number: u64) -> Option<JournalEntry> {
        self.writer.journal().requests.get(number.checked_sub(1)? as usize).cloned()
    }

    /// The body of the request of that number, masked, where bodies are kept and it was not too large.
    #[cfg(feature = "cli")]
    pub(crate) fn content(&self, number: u64) -> Option<Value> {
        self.writer.content(number)
    }

    /// How many requests have come so far.
    pub fn request_count(&self) -> u64 {
        self.writer.journal().count()
    }

    /// Waits until the journal is as wanted. It is looked at now and after every change.
    pub async fn wait_until(&self, mut wanted: impl FnMut(&Journal) -> bool) {
        let mut changes = self.writer.changes();
        while !wanted(&self.writer.snapshot()) {
            // The sender lives as long as the writer, which lives as long as this borrow.
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Returns at the next change of the journal after the last call with the same receiver.
    pub fn changes(&self) -> tokio::sync::watch::Receiver<()> {
        self.writer.changes()
    }

    /// A pipe that gets a byte for each of the first `most` requests for an answer, and then its end.
    pub fn tell_of_requests(&self, most: u64) -> io::Result<OwnedFd> {
        let (hear, mut say) = io::pipe()?;
        let mut changes = self.writer.changes();
        // Held weakly: the journal ends with the server, and with it this task.
        let writer = Arc::downgrade(&self.writer);
        tokio::spawn(async move {
            let mut told = 0;
            while let Some(asked) = writer.upgrade().map(|writer| writer.journal().asked()) {
                while told < asked.min(most) {
                    told += 1;
                    if say.write_all(b".").is_err() {
                        return;
                    }
                }
                if told == most || changes.changed().await.is_err() {
                    return;
                }
            }
        });
        Ok(hear.into())
    }

    /// Whether mocks of the user's own are mounted, which may expect something.
    fn has_mocks(&self) -> bool {
        !self.writer.state.script.mocks.is_empty()
    }

    /// Stops: ends every connection, frees everything, and returns what was asked.
    pub async fn stop(self) -> Journal {
        self.finish().await.0
    }

    /// As [`Self::stop`]; also returns what was kept of each request in the journal, where that was wanted.
    pub(crate) async fn finish(mut self) -> (Journal, Vec<KeptExchange>) {
        drop(self.stop.take());
        if let Some(acceptor) = self.acceptor.take() {
            // It can only fail by a panic, which has been printed.
            _ = acceptor.await;
        }
        let mut journal = self.writer.snapshot();
        if let Some(engine) = self.engine.take() {
            journal.witnessed = engine.received_requests().await.map(|requests| requests.len() as u64);
            let mounted = self.has_mocks();
            // It can only fail for want of a thread, or by a panic, which has been printed.
            journal.unmet = end_apart(engine, mounted).await.unwrap_or_default();
        }
        (journal, self.writer.take_kept())
    }
}

impl Drop for MockApi {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(engine) = self.engine.take() {
            let mounted = self.has_mocks();
            drop(end_apart(engine, mounted));
        }
    }
}

thread_local! {
    static IS_ENDING: Cell<bool> = const { Cell::new(false) };
}

/// What wiremock's panic says where there is no thread for its server.
const NO_THREAD: &str = "failed to spawn thread";

/// Keeps panics of wiremock from being printed that are caught and told in other words.
fn hear_no_known_panics() {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let said = info.payload().downcast_ref::<String>();
            if !IS_ENDING.get() && !said.is_some_and(|said| said.starts_with(NO_THREAD)) {
                usual(info);
            }
        }));
    });
}

/// Ends wiremock's server on a thread of its own. Where there is none it stays: it must not end in a task.
fn end_apart(engine: MockServer, mounted: bool) -> oneshot::Receiver<Vec<String>> {
    let engine = ManuallyDrop::new(engine);
    let (tell, unmet) = oneshot::channel();
    // Whoever does not wait for it hears nothing.
    _ = threads::spawn("end", move || tell.send(end(ManuallyDrop::into_inner(engine), mounted)));
    unmet
}

/// Ends wiremock's server; what its mocks expected and did not get, each in a sentence.
///
/// wiremock tells it by a panic whose message repeats every request, keys included. It is caught, it is not printed,
/// and only the expectations are taken from it.
fn end(engine: MockServer, mounted: bool) -> Vec<String> {
    if !mounted {
        drop(engine);
        return Vec::new();
    }
    hear_no_known_panics();
    IS_ENDING.set(true);
    let ended = panic::catch_unwind(AssertUnwindSafe(|| drop(engine)));
    IS_ENDING.set(false);
    let Err(panic) = ended else { return Vec::new() };
    unmet(panic.downcast_ref::<String>().map_or("", String::as_str))
}

/// The mocks that wiremock's message names, which is
/// `Verifications failed:\n- NAME.\n\tExpected …: RANGE\n\tNumber …: COUNT\n…\n\nReceived requests:…`.
fn unmet(message: &str) -> Vec<String> {
    const EXPECTED: &str = ".\n\tExpected range of matching incoming requests: ";
    const FOUND: &str = "\n\tNumber of matched incoming requests: ";
    let list = message.split("\n\n").next().unwrap_or_default();
    let list = list.strip_prefix("Verifications failed:\n").unwrap_or("- a mock.");
    let mocks = list.trim_start_matches("- ").split("\n- ");
    mocks
        .map(|mock| {
            let parts =
                mock.split_once(EXPECTED).and_then(|(name, rest)| Some((name, rest.split_once(FOUND)?)));
            let Some((name, (range, count))) = parts else {
                return format!("the expectation of {} was not met", mock.trim_end_matches('.'));
            };
            format!("mounted mock `{name}` got {} matching requests, expected {range}", count.trim())
        })
        .collect()
}

/// A turn in a form that no API ever has would make our bug look like the target's. One that only some APIs can say is
/// looked at again when it is asked for.
fn check_answers(script: &mut Script) -> Result<(), StartError> {
    let seed = script.seed;
    let [first, others @ ..] = &dialect::ALL;
    for (index, turn) in script.turns.iter_mut().enumerate() {
        let seed = AnswerSeed { seed, entry: index as u64, earlier: 0 };
        let answer = Answer::of_turn(turn, "claude", seed);
        let checked = first.check_answer(&answer);
        turn.is_checked = checked.is_ok();
        if let Err(message) = checked
            && others.iter().all(|other| other.check_answer(&answer).is_err())
        {
            return Err(StartError::Answer { turn: turn.name.clone(), line: turn.line, message });
        }
    }
    Ok(())
}

/// A fault that no API has a place for would silently be no fault. One that only some have a place for is a mistake in
/// the answers of the others.
fn check_faults(state: &ScriptState) -> Result<(), StartError> {
    let [first, others @ ..] = dialect::ALL;
    match state.faults(first) {
        Err(message) if others.into_iter().all(|other| state.faults(other).is_err()) => {
            Err(StartError::Fault(message.to_owned()))
        }
        _ => Ok(()),
    }
}

/// After how many requests nothing listens, and for how many milliseconds if not for ever.
type Refusal = (u32, Option<u64>);

fn refusal(script: &Script, faults: &[Fault]) -> Result<Option<Refusal>, StartError> {
    let mut refusals = faults.iter().chain(&script.server_faults).filter_map(|fault| match fault.kind {
        FaultKind::Refuse { after_requests, for_ms } => Some((after_requests, for_ms)),
        _ => None,
    });
    let first = refusals.next();
    if refusals.next().is_some() {
        return Err(StartError::Fault("a server can refuse connections in one way only".to_owned()));
    }
    Ok(first)
}

/// The socket that clients come to: listening, or only holding its port so that nobody else gets it.
#[derive(Debug)]
struct Listener {
    address: SocketAddr,
    state: ListenerState,
    /// Whether it was made here.
    is_own: bool,
}

#[derive(Debug)]
enum ListenerState {
    Listening(TcpListener),
    Held(TcpSocket),
    /// The same of a listener that was made elsewhere, perhaps in another network, and cannot be made again.
    Quiet(std::net::TcpListener),
    Gone,
}

const BACKLOG: u32 = 1024;

impl Listener {
    fn open(options: Options, refusal: Option<Refusal>) -> Result<Self, StartError> {
        let refused_at_once = refusal.is_some_and(|(after_requests, _)| after_requests == 0);
        if let Some(listener) = options.listener {
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            let state = if refused_at_once {
                quiet(listener)
            } else {
                ListenerState::Listening(TcpListener::from_std(listener)?)
            };
            return Ok(Listener { address, state, is_own: false });
        }
        let port = options.port.unwrap_or(0);
        // A port that is only held must not be shared, or somebody else could listen there and answer in our place.
        let socket = hold(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), !refused_at_once);
        let socket = socket.map_err(|error| bind_error(error, port))?;
        let address = socket.local_addr()?;
        let state = if refused_at_once {
            ListenerState::Held(socket)
        } else {
            // With reuse of addresses the kernel says only here that somebody listens.
            ListenerState::Listening(socket.listen(BACKLOG).map_err(|error| bind_error(error, port))?)
        };
        Ok(Listener { address, state, is_own: true })
    }

    /// Takes clients in, for ever.
    async fn accept(
        self,
        refusal: Option<Refusal>,
        writer: Arc<JournalWriter>,
        behind: Behind,
        connections: &mut JoinSet<()>,
    ) {
        let mut state = self.state;
        let for_ms = refusal.and_then(|(_, for_ms)| for_ms);
        loop {
            match state {
                ListenerState::Listening(listener) => {
                    let mut changes = writer.changes();
                    loop {
                        while connections.try_join_next().is_some() {}
                        tokio::select! {
                            (place, accepted) = accept(&listener, &writer.space) => match accepted {
                                Ok(stream) => {
                                    let client = behind.clone().serve(stream, Arc::clone(&writer), place);
                                    connections.spawn(client);
                                }
                                // Out of descriptors for the moment: the client waits in the backlog, and so do we.
                                Err(_) => pause_or_forever(Some(10)).await,
                            },
                            _ = changes.changed(), if refusal.is_some() => {
                                if writer.is_spent() {
                                    break;
                                }
                            }
                        }
                    }
                    let listener = listener.into_std().map_or(ListenerState::Gone, quiet);
                    connections.shutdown().await;
                    state = if self.is_own {
                        drop(listener);
                        hold(self.address, true).map_or(ListenerState::Gone, ListenerState::Held)
                    } else {
                        listener
                    };
                }
                ListenerState::Held(socket) => {
                    pause_or_forever(for_ms).await;
                    writer.recover();
                    state = socket.listen(BACKLOG).map_or(ListenerState::Gone, ListenerState::Listening);
                }
                ListenerState::Quiet(socket) => {
                    pause_or_forever(for_ms).await;
                    writer.recover();
                    let listens = rustix::net::listen(&socket, BACKLOG as i32).map_err(io::Error::from);
                    let listener = listens.and_then(|()| TcpListener::from_std(socket));
                    state = listener.map_or(ListenerState::Gone, ListenerState::Listening);
                }
                ListenerState::Gone => return pause_or_forever(None).await,
            }
        }
    }
}

/// Makes a socket keep its port and refuse whoever comes, until it listens again.
fn quiet(listener: std::net::TcpListener) -> ListenerState {
    match rustix::net::shutdown(&listener, rustix::net::Shutdown::Both) {
        Ok(()) => ListenerState::Quiet(listener),
        Err(_) => ListenerState::Gone,
    }
}

/// Binds without listening. Sharing lets a port be taken whose last connections are still winding down.
fn hold(address: SocketAddr, share: bool) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(share)?;
    socket.bind(address)?;
    Ok(socket)
}

fn bind_error(error: io::Error, port: u16) -> StartError {
    match error.kind() {
        io::ErrorKind::AddrInUse => StartError::PortInUse { port },
        io::ErrorKind::PermissionDenied => StartError::PortDenied { port },
        _ => StartError::Socket(error),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use wiremock::matchers::path;
    use wiremock::{Mock, ResponseTemplate};

    use super::*;

    /// What wiremock keeps of a request with a key and a body.
    async fn log_of(script: Script) -> String {
        let api = MockApi::start(script, Options::default()).await.unwrap();
        let mut client = TcpStream::connect(api.address()).await.unwrap();
        let request = "POST /v1/messages?q=secret HTTP/1.1\r\nx-api-key: secret\r\nconnection: close\r\n\
                       content-length: 8\r\n\r\n\"secret\"";
        client.write_all(request.as_bytes()).await.unwrap();
        client.read_to_end(&mut Vec::new()).await.unwrap();
        let log = api.engine.as_ref().unwrap().received_requests().await.unwrap();
        assert_eq!(log.len(), 1);
        let body = String::from_utf8_lossy(&log[0].body).into_owned();
        api.stop().await;
        format!("{} {:?} {body}", log[0].url, log[0].headers)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn keys_and_bodies_reach_wiremock_only_where_a_mock_of_the_users_is_mounted() {
        let log = log_of(Script::new().text("x")).await;
        assert_eq!(log, "http://localhost/messages?1 {} ");
        let nowhere = || Mock::given(path("/nowhere")).respond_with(ResponseTemplate::new(200));
        let log = log_of(Script::new().text("x").mount(nowhere)).await;
        assert_eq!(log.matches("secret").count(), 3, "{log}");
    }
}
