//! The transport in front of wiremock: reads a request, asks wiremock, and delivers its reply as planned.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::dialect::{self, ApiError};
use super::engine::{Exchange, NUMBER_HEADER};
use super::journal::{Kind, Outcome};
use super::journal_writer::{JournalWriter, OpenEntry};
use super::pace::Pace;
use super::plan::{Delivery, ResponseMode, Step, plan};
use super::reply::Reply;
use super::request::ApiRequest;
use super::validate::{check_request, harness_finding};
use super::wire::{Connection, RawRequest, WireError};
use crate::harness::mcp::HttpServers;

/// Serves one client until either side ends it.
pub(super) async fn serve(stream: TcpStream, writer: Arc<JournalWriter>, engine: SocketAddr) {
    // Each event has to leave when it is written; a failure would only cost time.
    _ = stream.set_nodelay(true);
    let mut client = Connection::sharing(writer.space.clone(), stream);
    let mut upstream: Option<Connection> = None;
    loop {
        let raw = match client.read_request().await {
            Ok(Some(raw)) => raw,
            Ok(None) => return,
            Err(error) => return refuse(client, &writer, &error).await,
        };
        if let Some(servers) = writer.mcp.as_ref().filter(|_| HttpServers::is_for(&raw.target)) {
            if servers.answer(&mut client, raw).await {
                continue;
            }
            return close(client.stream).await;
        }
        let RawRequest { method, target, headers, body, keep_alive, held } = raw;
        let request = ApiRequest::new(method, &target, headers, &body);
        let findings = check_request(&request);
        let Some(entry) = writer.begin(&request, &body, &findings) else {
            // Over the limit of one case: an endless client must not make an endless journal.
            return close(client.stream).await;
        };
        let mode = ResponseMode { head_only: request.method == "HEAD", keep_alive };
        let question = if writer.state.script.mocks.is_empty() {
            Question::by_number(&request, entry.number)
        } else {
            Question::whole(&request, &target, &body, entry.number)
        };
        drop(target);
        entry.keep_body(body);
        let exchange =
            Arc::new(Exchange { number: entry.number, request, findings, decision: OnceLock::new() });
        writer.state.open().insert(entry.number, Arc::clone(&exchange));
        let reply = question.ask(&mut upstream, engine).await;
        writer.state.open().remove(&entry.number);
        let planned = plan_reply(reply, question.whole, &exchange, &writer, &entry, mode);
        // The request itself is not needed any more, however long the delivery takes.
        drop((exchange, held));
        let ended = match planned {
            Ok(steps) => deliver(&mut client, steps, &entry).await,
            Err(error) => {
                entry.change(|entry| {
                    entry.kind = Kind::Undecided;
                    entry.findings.push(harness_finding(&error.to_string()));
                });
                Ended::Close(Outcome::Failed)
            }
        };
        match ended {
            Ended::KeepAlive => {
                entry.finish(Outcome::Complete);
                if writer.is_spent() {
                    return close(client.stream).await;
                }
            }
            Ended::Close(outcome) => {
                entry.finish(outcome);
                return close(client.stream).await;
            }
            Ended::Reset => {
                // Linger of zero: the kernel answers with RST and drops what it still had to send.
                _ = client.stream.set_zero_linger();
                drop(client);
                return entry.finish(Outcome::Reset);
            }
            Ended::ClientLeft => return entry.finish(Outcome::ClientLeft),
        }
    }
}

/// What wiremock is asked.
struct Question {
    bytes: Vec<u8>,
    /// Whether it is the client's own request, which a user's own mock may answer.
    whole: bool,
    head_only: bool,
}

impl Question {
    /// Asks for the answer of the script, which has the request already: wiremock's log is no place for keys.
    fn by_number(request: &ApiRequest, number: u64) -> Self {
        // Never the client's own path, which wiremock could choke on. And no header: the log would keep with it the
        // whole buffer that it was read into.
        let text = format!("GET /{}?{number} HTTP/1.1\r\n\r\n", request.endpoint.name());
        Question { bytes: text.into_bytes(), whole: false, head_only: false }
    }

    /// The request as it came, without what was only about its connection.
    fn whole(request: &ApiRequest, target: &str, body: &[u8], number: u64) -> Self {
        const CONNECTION: [&str; 7] =
            ["connection", "content-length", "expect", "keep-alive", "te", "transfer-encoding", "upgrade"];
        if !target.starts_with('/') || request.method == "CONNECT" {
            return Self::by_number(request, number);
        }
        let length = body.len();
        let mut text = format!(
            "{} {target} HTTP/1.1\r\n{NUMBER_HEADER}: {number}\r\ncontent-length: {length}\r\n",
            request.method
        );
        for (name, value) in &request.headers {
            if !CONNECTION.contains(&name.as_str()) && name != NUMBER_HEADER {
                text.extend([name, ": ", value, "\r\n"]);
            }
        }
        let bytes = [text.as_bytes(), b"\r\n", body].concat();
        Question { bytes, whole: true, head_only: request.method == "HEAD" }
    }

    /// wiremock's reply; `upstream` is the connection that was used last.
    async fn ask(&self, upstream: &mut Option<Connection>, engine: SocketAddr) -> Result<Reply, WireError> {
        let mut connection = if let Some(connection) = upstream.take() {
            connection
        } else {
            let stream = TcpStream::connect(engine).await?;
            stream.set_nodelay(true)?;
            Connection::new(stream)
        };
        connection.stream.write_all(&self.bytes).await?;
        let reply = connection.read_reply(self.head_only).await?;
        *upstream = Some(connection);
        Ok(reply)
    }
}

/// Writes down who answered, and plans how the reply is delivered.
fn plan_reply(
    reply: Result<Reply, WireError>,
    whole: bool,
    exchange: &Exchange,
    writer: &JournalWriter,
    entry: &OpenEntry<'_>,
    mode: ResponseMode,
) -> Result<Vec<Step>, WireError> {
    let mounted = |reply: &mut Reply| writer.state.decide_mounted(exchange.number, reply);
    let mut reply = match reply {
        // `respond_with_err` of a user's own mock: wiremock has hung up, and so do we.
        Err(WireError::Unfinished) if whole && exchange.decision.get().is_none() => {
            entry.decided(&mounted(&mut Reply::default()), None);
            return Ok(vec![Step::Cut]);
        }
        reply => reply?,
    };
    let by_mock;
    let decision = match exchange.decision.get() {
        Some(decision) => {
            reply.ends.clone_from(&decision.ends);
            // hyper adds it; the scripted API says the same every day.
            reply.headers.retain(|(name, _)| name != "date");
            decision
        }
        None if whole => {
            by_mock = mounted(&mut reply);
            &by_mock
        }
        None => return Err(WireError::Malformed("wiremock answered without asking the script".to_owned())),
    };
    entry.decided(decision, Some(reply.status));
    let ping = exchange.request.dialect.ping();
    let delivery = Delivery { fault: decision.fault_kind(), pace: &decision.pace, ping, mode };
    let steps = plan(&reply, delivery, &mut decision.seed.random(4));
    if mode.head_only {
        reply.body = Vec::new();
    }
    entry.keep_reply(reply, decision.fault_kind());
    Ok(steps)
}

/// How an exchange leaves its connection.
enum Ended {
    KeepAlive,
    Close(Outcome),
    Reset,
    ClientLeft,
}

async fn deliver(client: &mut Connection, steps: Vec<Step>, entry: &OpenEntry<'_>) -> Ended {
    for step in steps {
        match step {
            Step::Send(part) => {
                let now = entry.elapsed_ms();
                entry.edit(|entry| _ = entry.first_byte_ms.get_or_insert(now));
                if client.stream.write_all(&part.bytes).await.is_err() {
                    return Ended::ClientLeft;
                }
                entry.sent(&part);
            }
            Step::Pause(duration) => {
                if timeout(duration, left(&mut client.stream)).await.is_ok() {
                    return Ended::ClientLeft;
                }
            }
            Step::Silence => {
                entry.change(|entry| entry.outcome = Outcome::Stalled);
                left(&mut client.stream).await;
                return Ended::Close(Outcome::Stalled);
            }
            Step::Repeat(bytes, every) => {
                entry.change(|entry| entry.outcome = Outcome::Pinging);
                while client.stream.write_all(&bytes).await.is_ok() {
                    entry.edit(|entry| entry.sent_bytes += bytes.len() as u64);
                    if timeout(every, left(&mut client.stream)).await.is_ok() {
                        break;
                    }
                }
                return Ended::Close(Outcome::Pinging);
            }
            Step::Close => return Ended::Close(Outcome::Complete),
            Step::Cut => return Ended::Close(Outcome::Closed),
            Step::Reset => return Ended::Reset,
        }
    }
    Ended::KeepAlive
}

/// Returns when the client has left. It has nothing to say while it is answered; what it says is dropped.
pub(super) async fn left(stream: &mut TcpStream) {
    let mut buffer = [0; 1024];
    loop {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

/// FIN, and then waits a little for the client's own: closing with unread bytes would be a reset.
pub(super) async fn close(mut stream: TcpStream) {
    if stream.shutdown().await.is_ok() {
        _ = timeout(Duration::from_secs(2), left(&mut stream)).await;
    }
}

/// Answers what is no request.
pub(super) async fn refuse(mut client: Connection, writer: &JournalWriter, error: &WireError) {
    writer.not_http();
    let status = match error {
        WireError::TooLarge => 413,
        WireError::Malformed(_) => 400,
        WireError::Io(_) | WireError::Unfinished => return,
    };
    let seed = writer.state.seed_of_refusal();
    // What is no request speaks no dialect.
    let dialect = dialect::ALL[0];
    let reply = Reply::error(dialect, &ApiError::of_status(dialect, status, seed), seed);
    let mode = ResponseMode { head_only: false, keep_alive: false };
    let delivery = Delivery { fault: None, pace: &Pace::default(), ping: dialect.ping(), mode };
    let steps = plan(&reply, delivery, &mut seed.random(4));
    for step in steps {
        if let Step::Send(part) = step
            && client.stream.write_all(&part.bytes).await.is_err()
        {
            return;
        }
    }
    close(client.stream).await;
}

/// Waits for a time, or for ever.
pub(super) async fn pause_or_forever(for_ms: Option<u64>) {
    match for_ms {
        Some(ms) => sleep(Duration::from_millis(ms)).await,
        None => std::future::pending().await,
    }
}
