//! Servers over streamable HTTP: each message is the body of a POST, its answer a JSON document or a short event stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
#[cfg(feature = "cli")]
use tokio::net::TcpListener;

use super::fault::ServerFault;
use super::journal::Journal;
use super::script::Server;
use super::session::{Answer, GARBAGE, Session};
use crate::harness::mock::wire::{Connection, RawRequest};

/// What stands before the name of a server.
const BELOW: &str = "/mcp/";

/// The path of a server.
pub(crate) fn path(name: &str) -> String {
    format!("{BELOW}{name}")
}

/// What a server knows of the client that reached it.
#[derive(Debug, Default)]
struct Reached {
    is_dead: AtomicBool,
    /// How many handshakes there were, which is what the latest session is called.
    handshakes: AtomicU64,
    /// Whether that session is forgotten.
    is_forgotten: AtomicBool,
}

impl Reached {
    fn session(&self) -> String {
        format!("scripted-{}", self.handshakes.load(Ordering::Relaxed))
    }

    /// What is wrong with the session that a request names.
    fn refusal(&self, given: Option<&str>) -> Option<&'static str> {
        match given {
            None => Some("400 Bad Request"),
            Some(given) if given != self.session() || self.is_forgotten.load(Ordering::Relaxed) => {
                Some("404 Not Found")
            }
            Some(_) => None,
        }
    }
}

/// Servers that are reached below one address.
#[derive(Debug)]
pub(crate) struct HttpServers {
    sessions: Vec<(Session, Reached)>,
    journal: Arc<Journal>,
    started: Instant,
}

impl HttpServers {
    pub(crate) fn new(servers: impl IntoIterator<Item = Server>, journal: Journal) -> Self {
        let journal = Arc::new(journal);
        let session = |server| (Session::new(Arc::new(server), Arc::clone(&journal)), Reached::default());
        Self { sessions: servers.into_iter().map(session).collect(), started: Instant::now(), journal }
    }

    /// What was seen and answered so far, where the journal is in memory.
    pub(super) fn events(&self) -> Vec<Value> {
        self.journal.events()
    }

    /// Whether a request is for one of the servers, or looks for where to log in to one, of which there is nothing.
    pub(crate) fn is_for(target: &str) -> bool {
        target.starts_with(BELOW) || target.starts_with("/.well-known/") || target == "/register"
    }

    /// Answers a request; whether the connection may be used again.
    pub(in crate::harness) async fn answer(&self, client: &mut Connection, request: RawRequest) -> bool {
        let name = request.target.strip_prefix(BELOW).unwrap_or_default();
        let name = name.split(['?', '/']).next().unwrap_or_default();
        let Some((session, reached)) = self.sessions.iter().find(|(session, _)| session.server.name == name)
        else {
            return send(client, "404 Not Found", "", b"").await && request.keep_alive;
        };
        if reached.is_dead.load(Ordering::Relaxed) || session.server.fault == Some(ServerFault::Exit) {
            return false;
        }
        let begins = Duration::from_millis(session.server.start_ms.unwrap_or(0));
        if let Some(wait) = begins.checked_sub(self.started.elapsed()) {
            tokio::time::sleep(wait).await;
        }
        if session.server.fault == Some(ServerFault::NeedsAuth) {
            self.journal.write(name, json!({"event": "asked", "method": "(no credentials)"}));
            return send(client, "401 Unauthorized", "www-authenticate: Bearer\r\n", b"").await
                && request.keep_alive;
        }
        match request.method.as_str() {
            "POST" => {
                let given = request.headers.iter().find(|(name, _)| name == "mcp-session-id");
                let given = given.map(|(_, value)| value.as_str());
                post(client, session, reached, &request.body, given).await && request.keep_alive
            }
            "DELETE" => {
                self.journal.write(name, json!({"event": "ended", "how": "deleted"}));
                send(client, "200 OK", "", b"").await && request.keep_alive
            }
            _ => {
                send(client, "405 Method Not Allowed", "allow: POST, DELETE\r\n", b"").await
                    && request.keep_alive
            }
        }
    }

    /// Serves whoever connects, until the future is dropped.
    #[cfg(feature = "cli")]
    pub(crate) async fn serve(self: Arc<Self>, listener: TcpListener) {
        loop {
            // A connection that was lost before it was taken is no reason to end.
            let Ok((stream, _)) = listener.accept().await else { continue };
            _ = stream.set_nodelay(true);
            let servers = Arc::clone(&self);
            tokio::spawn(async move {
                let mut client = Connection::new(stream);
                while let Ok(Some(request)) = client.read_request().await {
                    if !servers.answer(&mut client, request).await {
                        break;
                    }
                }
            });
        }
    }
}

async fn post(
    client: &mut Connection,
    session: &Session,
    reached: &Reached,
    body: &[u8],
    given: Option<&str>,
) -> bool {
    let message: Value = serde_json::from_slice(body).unwrap_or_default();
    let is_initialize = message["method"] == "initialize";
    if is_initialize {
        session.journal.write(&session.server.name, json!({"event": "started"}));
        reached.handshakes.fetch_add(1, Ordering::Relaxed);
        reached.is_forgotten.store(false, Ordering::Relaxed);
    } else {
        let forgets = session.server.fault == Some(ServerFault::ForgetsSession);
        if forgets && message["method"] == "tools/call" && reached.handshakes.load(Ordering::Relaxed) == 1 {
            reached.is_forgotten.store(true, Ordering::Relaxed);
        }
        if let Some(refusal) = reached.refusal(given) {
            session.journal.write(
                &session.server.name,
                json!({"event": "other-session", "given": given, "method": message["method"]}),
            );
            return send(client, refusal, "", b"").await;
        }
    }
    let reply = session.take(body);
    tokio::time::sleep(Duration::from_millis(reply.delay_ms)).await;
    if let Some(told) = reply.told {
        session.journal.write(&session.server.name, told);
    }
    let id = if is_initialize { format!("mcp-session-id: {}\r\n", reached.session()) } else { String::new() };
    match reply.answer {
        Answer::Silence => send(client, "202 Accepted", "", b"").await,
        Answer::Never => {
            // Whatever else it says on this connection is said to nobody.
            let mut buffer = [0; 1024];
            while client.stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
            false
        }
        Answer::Say(messages) if messages.len() == 1 => {
            let head = format!("content-type: application/json\r\n{id}");
            send(client, "200 OK", &head, messages[0].to_string().as_bytes()).await
        }
        Answer::Say(mut messages) => {
            // The stream ends with the answer, so what else there is to say comes before it.
            messages.sort_by_key(|message| message.get("id").is_some());
            let events = messages.iter().map(|message| format!("event: message\ndata: {message}\n\n"));
            let body: String = events.collect();
            send(client, "200 OK", "content-type: text/event-stream\r\n", body.as_bytes()).await
        }
        Answer::Garbage => {
            send(client, "200 OK", "content-type: application/json\r\n", GARBAGE.as_bytes()).await
        }
        Answer::Cut(message) => {
            reached.is_dead.store(true, Ordering::Relaxed);
            let body = message.to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            _ = client
                .stream
                .write_all(&[head.as_bytes(), &body.as_bytes()[..body.len() / 2]].concat())
                .await;
            false
        }
        Answer::End => {
            reached.is_dead.store(true, Ordering::Relaxed);
            false
        }
    }
}

/// Sends an answer; whether it could be.
async fn send(client: &mut Connection, status: &str, headers: &str, body: &[u8]) -> bool {
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n", body.len());
    client.stream.write_all(&[head.as_bytes(), body].concat()).await.is_ok()
}
