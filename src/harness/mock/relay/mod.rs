//! A real API behind the front: requests are passed on to it, answers come back byte for byte as they come, and both are
//! written down as those of the scripted API are.
//!
//! ```text
//! client ◄──► relay ◄──► the API
//!               └─► journal, kept answers
//! ```
//!
//! Of a request only what is about its connection is changed, and that an answer is asked for as it is: compressed ones
//! could not be read, nor masked. Of an answer only `connection` is changed: each request has a connection of its own.
//! What breaks off, is reset or is no HTTP does so for the client too. Nothing is held back, and of what is kept for the
//! recording there is a limit.

mod body;
mod upstream;

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use self::body::{Body, Chunks};
use self::upstream::Duplex;
pub(crate) use self::upstream::Upstream;
use super::answer::{Answer, AnswerSeed};
use super::dialect::Dialect;
use super::fault::Fault;
use super::front::{close, left, refuse};
use super::journal::{Kind, Outcome};
use super::journal_writer::{JournalWriter, OpenEntry};
use super::kept::{Keeper, KeptAnswer};
use super::message::Message;
use super::reply::{Header, Reply};
use super::request::ApiRequest;
use super::script::{Block, Chunk, Turn};
use super::served;
use super::validate::harness_finding;
use super::wire::{Connection, LARGEST_HEAD, MOST_HEADERS, RawRequest};

/// Headers that are about one connection only.
const CONNECTION: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// Where the requests of each API are passed on to.
#[derive(Debug, Clone)]
pub(crate) struct Upstreams(pub(crate) Vec<(&'static str, Upstream)>);

impl Upstreams {
    fn of(&self, dialect: &dyn Dialect) -> Option<&Upstream> {
        let own = self.0.iter().find(|(name, _)| *name == dialect.name());
        own.or(self.0.first()).map(|(_, upstream)| upstream)
    }
}

/// Who asks, in which conversation, for which answer.
type Asked = (Option<String>, String, usize);

/// What the connections of one relay share.
#[derive(Debug)]
pub(super) struct Relay {
    upstreams: Upstreams,
    /// The turns so far, by who asks in which conversation for which answer: a number, and how often it was asked for.
    turns: Mutex<HashMap<Asked, (usize, u64)>>,
}

impl Relay {
    pub(super) fn new(upstreams: Upstreams) -> Self {
        Self { upstreams, turns: Mutex::default() }
    }

    /// The name of the turn that a request asks for, as a script of these requests has it, and which attempt this is.
    fn turn(&self, request: &ApiRequest) -> (String, u64) {
        let facts = &request.facts;
        let asked = (facts.agent.clone(), facts.prompt.to_string(), facts.position);
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let next = turns.len() + 1;
        let (number, attempts) = turns.entry(asked).or_insert((next, 0));
        *attempts += 1;
        (format!("turn-{number}"), *attempts)
    }
}

/// Serves one client: one request, and the answer to it.
pub(super) async fn serve(stream: TcpStream, writer: Arc<JournalWriter>, relay: Arc<Relay>) {
    // Each event has to leave when it is written; a failure would only cost time.
    _ = stream.set_nodelay(true);
    let mut client = Connection::sharing(writer.space.clone(), stream);
    let raw = match client.read_request().await {
        Ok(Some(raw)) => raw,
        Ok(None) => return,
        Err(error) => return refuse(client, &writer, &error).await,
    };
    let RawRequest { method, target, headers, body, held, .. } = raw;
    let request = ApiRequest::new(method, &target, headers, &body);
    let Some(entry) = writer.begin(&request, &body, &[]) else { return close(client.stream).await };
    let (kind, name, attempt) = match request.facts.side {
        Some(side) if request.is_message() => (Kind::Auxiliary, Some(side.name.clone()), 1),
        _ if request.is_message() => {
            let (name, attempt) = relay.turn(&request);
            (Kind::Turn, Some(name), attempt)
        }
        _ => (Kind::BuiltIn, None, 1),
    };
    entry.change(|entry| (entry.kind, entry.entry, entry.attempt) = (kind, name, attempt));
    let Some(upstream) = relay.upstreams.of(request.dialect) else { return close(client.stream).await };
    let question = question(&request, &upstream.target(&target), &body, &upstream.authority());
    if is_encoded(request.header("content-encoding")) {
        entry.keep(Keeper::unreadable_body);
    } else {
        entry.keep_body(body);
    }
    drop(held);
    let exchange = Exchange { entry: &entry, request: &request };
    let ended = match upstream.connect().await {
        Ok(mut remote) => exchange.relay(&mut client, &mut *remote, &question).await,
        Err(error) => {
            let why = format!("{upstream} cannot be reached: {error}");
            entry.change(|entry| {
                entry.kind = Kind::Undecided;
                entry.findings.push(harness_finding(&why));
            });
            Outcome::Failed
        }
    };
    exchange.note_fault(ended);
    match ended {
        // Linger of zero: the kernel answers with RST, as whoever was asked did.
        Outcome::Reset | Outcome::Failed => {
            _ = client.stream.set_zero_linger();
            drop(client);
            entry.finish(ended);
        }
        Outcome::ClientLeft => entry.finish(ended),
        _ => {
            entry.finish(ended);
            close(client.stream).await;
        }
    }
}

fn is_encoded(coding: Option<&str>) -> bool {
    coding.is_some_and(|coding| !coding.trim().is_empty() && !coding.eq_ignore_ascii_case("identity"))
}

/// The request as it is passed on.
fn question(request: &ApiRequest, target: &str, body: &[u8], host: &str) -> Vec<u8> {
    let mut text = format!("{} {target} HTTP/1.1\r\nhost: {host}\r\n", request.method);
    for (name, value) in &request.headers {
        if !CONNECTION.contains(&name.as_str()) && name != "accept-encoding" {
            text.extend([name, ": ", value, "\r\n"]);
        }
    }
    if !body.is_empty() || matches!(request.method.as_str(), "POST" | "PUT" | "PATCH") {
        text.extend(["content-length: ", &body.len().to_string(), "\r\n"]);
    }
    text.push_str("accept-encoding: identity\r\nconnection: close\r\n\r\n");
    [text.as_bytes(), body].concat()
}

/// The head of an answer.
struct Head {
    status: u16,
    /// As it is passed on.
    bytes: Vec<u8>,
    headers: Vec<Header>,
    body: Body,
}

impl Head {
    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }
}

/// What became of waiting for more.
enum Came {
    Bytes,
    End,
    Reset,
    ClientLeft,
}

/// One request and the answer to it.
struct Exchange<'e> {
    entry: &'e OpenEntry<'e>,
    request: &'e ApiRequest,
}

impl Exchange<'_> {
    /// Passes the request on and the answer back.
    async fn relay(&self, client: &mut Connection, remote: &mut dyn Duplex, question: &[u8]) -> Outcome {
        // Whoever is asked may answer before he has heard all: what cannot be written is told by the answer.
        let asked = tokio::select! {
            asked = async { remote.write_all(question).await.and(remote.flush().await) } => asked,
            () = left(&mut client.stream) => return Outcome::ClientLeft,
        };
        let mut buffer = Vec::with_capacity(16 << 10);
        let head = loop {
            match read_head(&buffer, self.request.method == "HEAD") {
                Ok(Some((used, head))) if (100..200).contains(&head.status) && head.status != 101 => {
                    if !self.send(client, &buffer[..used]).await {
                        return Outcome::ClientLeft;
                    }
                    buffer.drain(..used);
                    continue;
                }
                Ok(Some((used, head))) => {
                    buffer.drain(..used);
                    break Some(head);
                }
                // What is no HTTP is none for the client either.
                Err(()) => break None,
                Ok(None) if buffer.len() > LARGEST_HEAD => break None,
                Ok(None) => {}
            }
            match more(client, remote, &mut buffer).await {
                Came::Bytes => {}
                Came::ClientLeft => return Outcome::ClientLeft,
                Came::Reset => return Outcome::Reset,
                Came::End => {
                    let sent = buffer.is_empty() || self.send(client, &buffer).await;
                    return match asked {
                        _ if !sent => Outcome::ClientLeft,
                        Err(error) if is_reset(&error) => Outcome::Reset,
                        _ => Outcome::Closed,
                    };
                }
            }
        };
        match head {
            Some(head) => self.relay_answer(client, remote, head, buffer).await,
            None => self.relay_bytes(client, remote, buffer).await,
        }
    }

    async fn relay_answer(
        &self,
        client: &mut Connection,
        remote: &mut dyn Duplex,
        head: Head,
        mut buffer: Vec<u8>,
    ) -> Outcome {
        let is_readable = !is_encoded(head.header("content-encoding"));
        let is_stream = self.request.facts.stream
            && head.status < 300
            && (head.header("content-type").is_some_and(|kind| kind.contains("event-stream"))
                || self.request.dialect.name() == "gemini");
        self.entry.change(|entry| entry.status = Some(head.status));
        let reply = Reply { status: head.status, headers: head.headers, ..Reply::default() };
        self.entry.keep(|keeper, number| keeper.relay(number, reply, is_readable));
        if !self.send(client, &head.bytes).await {
            return Outcome::ClientLeft;
        }
        let (mut body, mut content) = (head.body, Vec::new());
        let ended = loop {
            if body.is_done() {
                break Outcome::Complete;
            }
            if buffer.is_empty() {
                match more(client, remote, &mut buffer).await {
                    Came::Bytes => {}
                    Came::ClientLeft => break Outcome::ClientLeft,
                    Came::End if body.may_end() => break Outcome::Complete,
                    Came::End => break Outcome::Closed,
                    Came::Reset => break Outcome::Reset,
                }
            }
            content.clear();
            let Ok(used) = body.take(&buffer, &mut content) else {
                break self.relay_bytes(client, remote, std::mem::take(&mut buffer)).await;
            };
            self.entry.keep(|keeper, number| keeper.relay_part(number, &content));
            if !self.send(client, &buffer[..used]).await {
                break Outcome::ClientLeft;
            }
            buffer.clear();
        };
        self.entry.keep(|keeper, number| keeper.relayed(number, ended == Outcome::Complete, is_stream));
        ended
    }

    /// Passes on what is no answer, until the end of either side. A client that leaves over it has met a connection that broke,
    /// whether it or the upstream hangs up first.
    async fn relay_bytes(
        &self,
        client: &mut Connection,
        remote: &mut dyn Duplex,
        mut buffer: Vec<u8>,
    ) -> Outcome {
        loop {
            if !self.send(client, &buffer).await {
                return Outcome::Closed;
            }
            buffer.clear();
            match more(client, remote, &mut buffer).await {
                Came::Bytes => {}
                Came::Reset => return Outcome::Reset,
                Came::ClientLeft | Came::End => return Outcome::Closed,
            }
        }
    }

    /// Whether the client took these bytes.
    async fn send(&self, client: &mut Connection, bytes: &[u8]) -> bool {
        let now = self.entry.elapsed_ms();
        self.entry.edit(|entry| {
            entry.first_byte_ms.get_or_insert(now);
            entry.sent_bytes += bytes.len() as u64;
        });
        client.stream.write_all(bytes).await.is_ok()
    }

    /// Writes down what went wrong, in the words of a script that does the same.
    fn note_fault(&self, ended: Outcome) {
        let mut fault = None;
        self.entry.keep(|keeper, number| fault = self.fault(keeper.kept_answer(number), ended));
        if let Some(fault) = fault {
            self.entry.change(|entry| entry.fault = Some(fault.to_string()));
        }
    }

    fn fault(&self, answer: Option<&KeptAnswer>, ended: Outcome) -> Option<Fault> {
        let how = match ended {
            Outcome::Closed => "close",
            Outcome::Reset => "rst",
            _ => "",
        };
        let Some(answer) = answer else {
            return format!("{how}:before-headers,times=1").parse().ok().filter(|_| !how.is_empty());
        };
        let message = served::message(self.request.dialect, answer);
        let status = answer.reply.status;
        if status >= 400 {
            let mut text = format!("http:status={status}");
            for (key, value) in [
                ("retry-after", header(&answer.reply, "retry-after")),
                ("should-retry", header(&answer.reply, "x-should-retry")),
                ("type", message.error["type"].as_str()),
                ("message", message.error["message"].as_str()),
            ] {
                text.extend(value.map(|value| format!(",{}", parameter(key, value))));
            }
            let plain = || format!("http:status={status},times=1").parse().ok();
            return format!("{text},times=1").parse().ok().or_else(plain);
        }
        if !how.is_empty() {
            let events = self.events_of(&message);
            let at = if events == 0 { "after-headers".to_owned() } else { format!("after-event={events}") };
            return format!("{how}:{at},times=1").parse().ok();
        }
        let (kind, words) =
            (message.error["type"].as_str()?, message.error["message"].as_str().unwrap_or_default());
        let events = self.events_of(&message);
        let text = format!("{},{}", parameter("type", kind), parameter("message", words));
        format!("error-event:{text},after-event={events},times=1").parse().ok()
    }

    /// After how many events a script has said that much, which says each block in one piece.
    fn events_of(&self, message: &Message) -> usize {
        let Some(content) = &message.content else { return 0 };
        let blocks = content.iter().map(Block::of_served).collect();
        // A stream begins with the message, and ends with the end of its last block and that of the message.
        let around = if self.request.dialect.name() == "anthropic" { 3 } else { 1 };
        let turn = Turn { blocks, chunk: Chunk::Whole, ..Turn::default() };
        let answer = Answer::of_turn(&turn, "", AnswerSeed { seed: 0, entry: 0, earlier: 0 });
        self.request.dialect.events(&answer, self.request.asked()).len().saturating_sub(around)
    }
}

/// A parameter of a fault as it is read: quoted.
fn parameter(key: &str, value: &str) -> String {
    format!("{key}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"").replace(['\r', '\n'], " "))
}

fn header<'r>(reply: &'r Reply, name: &str) -> Option<&'r str> {
    reply.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
}

/// Waits for more from whoever is asked, or for the client to leave.
async fn more(client: &mut Connection, remote: &mut dyn Duplex, buffer: &mut Vec<u8>) -> Came {
    buffer.reserve(16 << 10);
    tokio::select! {
        read = remote.read_buf(buffer) => match read {
            Ok(0) => Came::End,
            Ok(_) => Came::Bytes,
            Err(error) if is_reset(&error) => Came::Reset,
            Err(_) => Came::End,
        },
        () = left(&mut client.stream) => Came::ClientLeft,
    }
}

fn is_reset(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionReset
}

/// Reads the head of an answer; none when there is more to come.
fn read_head(bytes: &[u8], head_only: bool) -> Result<Option<(usize, Head)>, ()> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let used = match response.parse(bytes) {
        Err(_) => return Err(()),
        Ok(httparse::Status::Partial) => return Ok(None),
        Ok(httparse::Status::Complete(used)) => used,
    };
    let status = response.code.unwrap_or_default();
    let mut head = Head {
        status,
        bytes: format!("HTTP/1.1 {status} {}\r\n", response.reason.unwrap_or_default()).into_bytes(),
        headers: Vec::new(),
        body: Body::UntilEnd,
    };
    let (mut length, mut is_chunked) = (None, false);
    for header in response.headers.iter() {
        let value = String::from_utf8_lossy(header.value).trim().to_owned();
        match header.name.to_ascii_lowercase().as_str() {
            "connection" | "keep-alive" | "proxy-connection" => continue,
            "content-length" => length = Some(value.parse().map_err(|_| ())?),
            "transfer-encoding" => is_chunked |= value.to_ascii_lowercase().contains("chunked"),
            _ => {}
        }
        head.bytes.extend([header.name.as_bytes(), b": ", header.value, b"\r\n"].concat());
        head.headers.push((header.name.to_owned().into(), value.into()));
    }
    head.bytes.extend_from_slice(b"connection: close\r\n\r\n");
    head.body = match length {
        _ if head_only || status == 204 || status == 304 => Body::Length(0),
        _ if is_chunked => Body::Chunked(Chunks::default()),
        Some(length) => Body::Length(length),
        None => Body::UntilEnd,
    };
    Ok(Some((used, head)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::harness::mock::dialect::{self, conversation};
    use crate::harness::mock::served::Served;
    use crate::harness::mock::{MockApi, Options};
    use crate::run::scenario::Scenario;

    async fn scripted() -> MockApi {
        let turns = "scenario.name = \"t\"\n[[api.turns]]\nthinking = \"Hm.\"\ntext = \"Let me look.\"\n\
                     tool = { name = \"Bash\", input = { command = \"ls 'é🦀'\" } }\n";
        let script = Scenario::parse("t.toml", turns).unwrap().script;
        MockApi::start(script, Options { keep_bodies: true, ..Options::default() }).await.unwrap()
    }

    /// What comes back, without its head, and what is written down of it.
    async fn asked(api: MockApi, request: &str) -> (Vec<u8>, Value) {
        let mut client = TcpStream::connect(api.address()).await.unwrap();
        client.write_all(request.as_bytes()).await.unwrap();
        let mut said = Vec::new();
        client.read_to_end(&mut said).await.unwrap();
        let head = said.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
        api.wait_until(|journal| journal.requests[0].outcome != Outcome::Open).await;
        let (journal, kept) = api.finish().await;
        (said.split_off(head), json!(Served::new(0, &journal.requests[0], Some(&kept[0]))))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn every_api_is_relayed_byte_for_byte_and_understood() {
        let said = conversation::Said {
            by: conversation::Speaker::User,
            text: vec!["Hi"],
            ..conversation::Said::default()
        };
        let conversation = conversation::Conversation {
            model: "m",
            stream: true,
            max_tokens: Some(9),
            said: vec![said],
            ..conversation::Conversation::default()
        };
        for dialect in dialect::ALL {
            let sample = dialect.request(&conversation);
            let mut headers = String::new();
            for (name, value) in &sample.headers {
                headers.extend([name, ": ", value, "\r\n"]);
            }
            let body = sample.body.to_string();
            let request = format!(
                "POST {} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
                sample.target,
                body.len()
            );
            let behind = scripted().await;
            let upstream = behind.base_url().parse().unwrap();
            let relay = MockApi::relay(Upstreams(vec![(dialect.name(), upstream)]), None).unwrap();
            let (direct, wanted) = asked(scripted().await, &request).await;
            let (relayed, found) = asked(relay, &request).await;
            assert_eq!(
                String::from_utf8_lossy(&relayed),
                String::from_utf8_lossy(&direct),
                "{}",
                dialect.name()
            );
            for key in [
                "dialect",
                "turn",
                "kind",
                "id",
                "status",
                "model",
                "content",
                "stop_reason",
                "usage",
                "complete",
                "fault",
            ] {
                assert_eq!(found[key], wanted[key], "{} {key}", dialect.name());
            }
            assert!(found["headers"]["content-type"].is_string() && wanted["headers"].is_null());
        }
    }
}
