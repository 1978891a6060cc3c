//! Asking the Messages API.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::Value;

use super::answer::{Answer, Step};
use super::{World, http};

/// The kind of failure of an answer that was broken off by who asked for it.
pub(super) const BROKEN_OFF: &str = "broken-off";
/// More of an error's body says no more.
const MOST_BODY: u64 = 1 << 20;

/// The API as a client sees it.
pub(super) struct Api {
    pub(super) base: String,
    pub(super) key: Option<String>,
    /// The longest silence; none is for ever.
    pub(super) patience: Option<Duration>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Failure {
    /// The HTTP status of an error response.
    pub(super) status: Option<u16>,
    /// What the API, or the operating system, said.
    pub(super) message: String,
    /// The API's type of error.
    pub(super) kind: String,
    /// When it may be tried again, in seconds.
    pub(super) retry_after: Option<u64>,
    pub(super) request_id: Option<String>,
}

/// What comes in while an answer streams.
pub(super) enum StreamPart<'s> {
    /// An event as the API sent it.
    Event(&'s Value),
    /// A whole block of the answer so far.
    Block(&'s Answer, &'s Value),
}

impl Api {
    pub(super) fn of(world: &World) -> Self {
        let base = world.variable("ANTHROPIC_BASE_URL").unwrap_or_else(|| "http://127.0.0.1:9".into());
        let key = world.variable("ANTHROPIC_API_KEY").filter(|key| !key.is_empty());
        let key = key.map(|key| if world.is_wrong("key-other") { "sk-ant-another-key".into() } else { key });
        Self { base, key, patience: None }
    }

    /// Asks once, and listens to the stream until that breaks it off.
    pub(super) fn ask(
        &self,
        body: &Value,
        agent: Option<&str>,
        listen: &mut dyn FnMut(StreamPart<'_>) -> ControlFlow<()>,
    ) -> Result<Answer, Failure> {
        let mut headers =
            vec![("anthropic-version", "2023-06-01"), ("x-api-key", self.key.as_deref().unwrap_or(""))];
        if let Some(agent) = agent {
            headers.push(("x-claude-code-agent-id", agent));
        }
        let body = body.to_string();
        let response = http::post(&self.base, "/v1/messages", &headers, body.as_bytes(), self.patience);
        let mut response = response.map_err(|error| Failure::connection(&error))?;
        let request_id = response.header("request-id").map(str::to_owned);
        if response.status != 200 {
            return Err(Failure::of_response(&mut response, request_id));
        }
        let mut answer = Answer { request_id, ..Answer::default() };
        let mut lines = BufReader::new(response.body);
        let mut line = Vec::new();
        let mut events = 0;
        loop {
            line.clear();
            match lines.read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => {
                    return Err(Failure { request_id: answer.request_id, ..Failure::connection(&error) });
                }
            }
            let Some(data) = line.strip_prefix(b"data:") else { continue };
            let Ok(event) = serde_json::from_slice::<Value>(data.trim_ascii()) else {
                let message = "the API sent an event that is not JSON";
                return Err(Failure::new("malformed", message, answer.request_id));
            };
            events += 1;
            let mut heard = listen(StreamPart::Event(&event));
            match answer.event(&event) {
                // Whatever becomes of the connection: nothing is missing.
                Step::Quiet if answer.is_complete => break,
                Step::Quiet => {}
                Step::Block(_) if heard.is_break() => {}
                Step::Block(block) => heard = listen(StreamPart::Block(&answer, &block)),
                Step::Error(error) => {
                    let part = |key: &str| error[key].as_str().unwrap_or("unknown").to_owned();
                    return Err(Failure::new(&part("type"), &part("message"), answer.request_id));
                }
            }
            if heard.is_break() {
                return Err(Failure::new(BROKEN_OFF, "broken off", answer.request_id));
            }
        }
        let message = match (answer.is_complete, events) {
            (true, _) => return Ok(answer),
            (false, 0) => "Stream ended without receiving any events",
            (false, _) => "Connection closed mid-response",
        };
        Err(Failure::new("malformed", message, answer.request_id))
    }
}

impl Failure {
    /// A failure that is no HTTP error.
    pub(super) fn new(kind: &str, message: &str, request_id: Option<String>) -> Self {
        Self { message: message.into(), kind: kind.into(), request_id, ..Self::default() }
    }

    fn connection(error: &io::Error) -> Self {
        let reason = match error.kind() {
            io::ErrorKind::ConnectionRefused => "ConnectionRefused",
            io::ErrorKind::ConnectionReset => "ECONNRESET",
            io::ErrorKind::UnexpectedEof => "ConnectionClosed",
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "Timeout",
            io::ErrorKind::InvalidData => "Malformed_HTTP_Response",
            _ => "FailedToOpenSocket",
        };
        Self::new("connection", &format!("Unable to connect to API ({reason})"), None)
    }

    fn of_response(response: &mut http::Response, request_id: Option<String>) -> Self {
        let retry_after = response.header("retry-after").and_then(|value| value.parse().ok());
        let status = response.status;
        let mut body = Vec::new();
        // What can be read of the reason is better than none.
        _ = response.body.by_ref().take(MOST_BODY).read_to_end(&mut body);
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let part = |key: &str, otherwise: &str| body["error"][key].as_str().unwrap_or(otherwise).to_owned();
        Self {
            status: Some(status),
            message: part("message", "no reason given"),
            kind: part("type", "unknown"),
            retry_after,
            request_id,
        }
    }

    /// Whether asking again may help.
    pub(super) fn is_transient(&self) -> bool {
        match self.status {
            Some(status) => matches!(status, 401 | 408 | 409 | 429 | 500..),
            None => self.kind == "connection",
        }
    }
}
