//! The transport in front of wiremock: reads a request, lets wiremock choose the answer, and delivers it as planned.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::engine::{Exchange, word};
use super::error_body::error_of_status;
use super::journal::Outcome;
use super::ledger::Ledger;
use super::pace::Pace;
use super::plan::{Plan, Step, Wanted, plan};
use super::reply::Reply;
use super::wire::{Connection, WireError};

/// Serves one client until either side ends it.
pub(super) async fn serve(stream: TcpStream, ledger: Arc<Ledger>, engine: SocketAddr) {
    // Each event has to leave when it is written; a failure would only cost time.
    _ = stream.set_nodelay(true);
    let mut client = Connection::new(stream);
    let mut upstream: Option<Connection> = None;
    loop {
        let raw = match client.read_request().await {
            Ok(Some(raw)) => raw,
            Ok(None) => return,
            Err(error) => return refuse(client, &ledger, &error).await,
        };
        let keep_alive = raw.keep_alive;
        let Some(exchange) = ledger.begin(raw) else {
            // Over the limit of one case: an endless client must not make an endless journal.
            return close(client.stream).await;
        };
        let clock = Clock { started: Instant::now(), ledger: &ledger, number: exchange.number };
        let answered = answer(&exchange, keep_alive, &mut upstream, engine, &ledger).await;
        // The request itself is not needed any more, however long the delivery takes.
        ledger.desk.remove(exchange.number);
        drop(exchange);
        let ended = match answered {
            Ok(plan) => clock.carry_out(&mut client, plan).await,
            Err(error) => {
                ledger.failed(clock.number, &error.to_string());
                Ended::Close(Outcome::Failed)
            }
        };
        match ended {
            Ended::KeepAlive => {
                clock.finish(Outcome::Complete);
                if ledger.is_spent() {
                    return close(client.stream).await;
                }
            }
            Ended::Close(outcome) => {
                clock.finish(outcome);
                return close(client.stream).await;
            }
            Ended::Reset => {
                // Linger of zero: the kernel answers with RST and drops what it still had to send.
                _ = client.stream.set_zero_linger();
                drop(client);
                clock.finish(Outcome::Reset);
                return;
            }
            Ended::ClientLeft => {
                clock.finish(Outcome::ClientLeft);
                return;
            }
        }
    }
}

/// Asks wiremock which entry answers, words the answer, and plans how it is delivered.
async fn answer(
    exchange: &Exchange,
    keep_alive: bool,
    upstream: &mut Option<Connection>,
    engine: SocketAddr,
    ledger: &Ledger,
) -> Result<Plan, WireError> {
    let request = &exchange.request;
    let connection = if let Some(connection) = upstream {
        connection
    } else {
        let stream = TcpStream::connect(engine).await?;
        stream.set_nodelay(true)?;
        upstream.insert(Connection::new(stream))
    };
    // Never the client's own path, which wiremock could choke on.
    let question = format!("GET /{}?{} HTTP/1.1\r\n\r\n", request.endpoint().name(), exchange.number);
    connection.stream.write_all(question.as_bytes()).await?;
    connection.read_reply().await?;
    let Some(decision) = exchange.decision() else {
        return Err(WireError::Malformed("wiremock answered without asking the script".to_owned()));
    };
    let (reply, mistake) = word(&ledger.desk, exchange, decision);
    ledger.decided(exchange.number, decision, reply.status, mistake.as_deref());
    let wanted = Wanted { head_only: request.method == "HEAD", keep_alive };
    let fault = decision.fault.as_ref().map(|fault| &fault.kind);
    Ok(plan(&reply, fault, &decision.pace, &mut decision.occasion.chance(4), wanted))
}

/// How an exchange leaves its connection.
enum Ended {
    KeepAlive,
    Close(Outcome),
    Reset,
    ClientLeft,
}

/// One exchange on its way, with the times that the journal wants.
struct Clock<'l> {
    started: Instant,
    ledger: &'l Ledger,
    number: u64,
}

impl Clock<'_> {
    fn finish(&self, outcome: Outcome) {
        self.ledger.finish(self.number, outcome, self.started.elapsed());
    }

    async fn carry_out(&self, client: &mut Connection, plan: Plan) -> Ended {
        let mut sent_any = false;
        let mut sent = Sent { clock: self, bytes: 0 };
        for step in plan.steps {
            match step {
                Step::Send(bytes) => {
                    if !sent_any {
                        self.ledger.first_byte(self.number, self.started.elapsed());
                        sent_any = true;
                    }
                    if client.stream.write_all(&bytes).await.is_err() {
                        return Ended::ClientLeft;
                    }
                    sent.bytes += bytes.len();
                }
                Step::Pause(duration) => {
                    if timeout(duration, left(&mut client.stream)).await.is_ok() {
                        return Ended::ClientLeft;
                    }
                }
                Step::Silence => {
                    drop(sent);
                    self.ledger.turned(self.number, Outcome::Stalled);
                    left(&mut client.stream).await;
                    return Ended::Close(Outcome::Stalled);
                }
                Step::Repeat(bytes, every) => {
                    drop(sent);
                    self.ledger.turned(self.number, Outcome::Pinging);
                    while client.stream.write_all(&bytes).await.is_ok() {
                        self.ledger.sent(self.number, bytes.len());
                        if timeout(every, left(&mut client.stream)).await.is_ok() {
                            break;
                        }
                    }
                    return Ended::Close(Outcome::Pinging);
                }
                Step::Close => return Ended::Close(self.ending()),
                Step::Reset => return Ended::Reset,
            }
        }
        Ended::KeepAlive
    }

    /// A close that no fault asked for ends a complete answer.
    fn ending(&self) -> Outcome {
        if self.ledger.has_cut(self.number) { Outcome::Closed } else { Outcome::Complete }
    }
}

/// Bytes on their way into the journal: written down once, however the delivery ends, and not at every event.
struct Sent<'c, 'l> {
    clock: &'c Clock<'l>,
    bytes: usize,
}

impl Drop for Sent<'_, '_> {
    fn drop(&mut self) {
        self.clock.ledger.sent(self.clock.number, self.bytes);
    }
}

/// Returns when the client has left. It has nothing to say while it is answered; what it says is dropped.
async fn left(stream: &mut TcpStream) {
    let mut buffer = [0; 1024];
    loop {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

/// FIN, and then waits a little for the client's own: closing with unread bytes would be a reset.
async fn close(mut stream: TcpStream) {
    if stream.shutdown().await.is_ok() {
        _ = timeout(Duration::from_secs(2), left(&mut stream)).await;
    }
}

/// Answers what is no request.
async fn refuse(mut client: Connection, ledger: &Ledger, error: &WireError) {
    ledger.not_http();
    let status = match error {
        WireError::TooLarge => 413,
        WireError::Malformed(_) => 400,
        WireError::Io(_) | WireError::Unfinished => return,
    };
    let occasion = ledger.desk.occasion_of_refusal();
    let (error_type, message) = error_of_status(status);
    let reply = Reply::error(status, error_type, message, occasion);
    let wanted = Wanted { head_only: false, keep_alive: false };
    let plan = plan(&reply, None, &Pace::default(), &mut occasion.chance(4), wanted);
    for step in plan.steps {
        if let Step::Send(bytes) = step
            && client.stream.write_all(&bytes).await.is_err()
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
