//! What was asked of the mock and what became of it. Bodies are digested, keys never kept, and the number of entries
//! is bounded.

use std::collections::BTreeMap;

use hmac_sha256::Hash as Sha256;
use serde::Serialize;
use serde_json::Value;

use super::credential::Credential;
use super::reply::Header;
use super::request::{ApiRequest, Endpoint};
use super::script::Turn;
use super::validate::RequestFinding;
use crate::text::{Masker, clip, hex};

/// Entries kept; later requests are counted only.
pub(crate) const MOST_ENTRIES: usize = 1_000;

/// Everything that was asked of one server.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct Journal {
    /// One entry a request, in the order of arrival.
    pub requests: Vec<JournalEntry>,
    /// Requests beyond `MOST_ENTRIES`, which are counted and not kept.
    pub not_kept: u64,
    /// How many of those nothing matched.
    #[serde(skip_serializing_if = "is_zero")]
    pub unmatched_not_kept: u64,
    /// Connections whose bytes were no HTTP request.
    pub not_http: u64,
    /// Scripted turns that no request asked for, unless they are optional.
    pub unused: Vec<String>,
    /// Mocks of the user's own whose `expect` was not met, each in a sentence; known once the server has stopped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unmet: Vec<String>,
    /// Requests in wiremock's own log, once the server has stopped: the second witness to the first list.
    pub witnessed: Option<u64>,
}

/// One request, and what became of the answer to it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct JournalEntry {
    /// Its place among all requests, from 0.
    pub number: u64,
    /// Milliseconds since the server started.
    pub at_ms: f64,
    /// The API that it is meant for.
    pub dialect: &'static str,
    /// The HTTP method, such as `POST`.
    pub method: String,
    /// The path of the request, without its query.
    pub path: String,
    /// The query; empty when there is none.
    pub query: String,
    /// The headers, with secrets replaced.
    pub headers: BTreeMap<String, String>,
    /// The body; none when there is none.
    pub body: Option<BodyDigest>,
    /// Whose credential it carried; none when nobody said which one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
    /// By what it was answered.
    pub kind: Kind,
    /// The scripted turn, or the kind of work on the side.
    pub entry: Option<String>,
    /// Which attempt at that turn this was, from 1.
    pub attempt: u64,
    /// The fault that was played.
    pub fault: Option<String>,
    /// The HTTP status, unless nothing was sent.
    pub status: Option<u16>,
    /// Bytes written to the client.
    pub sent_bytes: u64,
    /// Milliseconds from the whole request to the first byte of the answer.
    pub first_byte_ms: Option<f64>,
    /// Milliseconds from the whole request to the end; none while it is open.
    pub duration_ms: Option<f64>,
    /// How far the answer got.
    pub outcome: Outcome,
    /// What the API would refuse in the request.
    pub findings: Vec<RequestFinding>,
    /// For a request that nothing matched: what it was, and what came nearest.
    pub unmatched: Option<Unmatched>,
    /// Whether it asks the model for an answer.
    #[serde(skip)]
    pub(super) asks: bool,
}

/// What answered a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// A turn of the script answered it.
    Turn,
    /// A built-in answer to work on the side.
    Auxiliary,
    /// One of the answers that every script has, such as the list of models.
    BuiltIn,
    /// A mock of the user's own.
    Mounted,
    /// The API's own refusal of a bad request.
    Refused,
    /// Nothing answers it: the script lacks a turn.
    Unmatched,
    /// Not decided: the mock itself failed or was stopped.
    Undecided,
}

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// The answer is still being written.
    Open,
    /// The answer was written to its end.
    Complete,
    /// Closed before the end, as planned.
    Closed,
    /// The connection was reset on purpose.
    Reset,
    /// The answer stopped on purpose, with the connection left open.
    Stalled,
    /// Pinging for ever, as planned.
    Pinging,
    /// The client left before the end.
    ClientLeft,
    /// The mock itself failed.
    Failed,
}

/// A body without its content.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct BodyDigest {
    pub bytes: usize,
    pub sha256: String,
    /// The model asked for.
    pub model: String,
    /// Whether a stream is asked for.
    pub stream: bool,
    /// The limit on output.
    pub max_tokens: Option<u64>,
    /// Which answer of the conversation is asked for.
    pub turn: usize,
    /// The sub-agent that asks.
    pub agent: Option<String>,
    /// How many messages there are.
    pub messages: usize,
    /// How many tools are offered.
    pub tools: usize,
    /// The beginning of what the user said since the last answer.
    pub user: String,
    /// The tools whose results it brings.
    pub tool_results: Vec<String>,
}

/// A request that nothing matched.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Unmatched {
    /// The body, with long texts shortened.
    pub request: String,
    /// The turn that came nearest.
    pub nearest: Option<String>,
    /// The line of the scenario on which that turn begins.
    pub line: Option<usize>,
    /// What kept it from answering.
    pub because: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over like that")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The journal in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    pub requests: u64,
    /// Answered by a scripted turn.
    pub turns: usize,
    /// Answered on the side.
    pub auxiliary: usize,
    pub unmatched: usize,
    /// With something the API would refuse.
    pub invalid: usize,
    /// In which a fault was played.
    pub faults: usize,
    /// Turns that nobody asked for.
    pub unused: Vec<String>,
}

impl Journal {
    /// How many requests have come.
    pub fn count(&self) -> u64 {
        self.requests.len() as u64 + self.not_kept
    }

    /// How many requests for an answer have come, on the side ones left out.
    pub fn asked(&self) -> u64 {
        let asks = |entry: &&JournalEntry| match entry.kind {
            Kind::Turn | Kind::Unmatched | Kind::Refused => true,
            Kind::Mounted => entry.asks,
            Kind::Auxiliary | Kind::BuiltIn | Kind::Undecided => false,
        };
        self.requests.iter().filter(asks).count() as u64 + self.not_kept
    }

    /// The journal in numbers.
    pub fn summary(&self) -> Summary {
        let count =
            |holds: &dyn Fn(&JournalEntry) -> bool| self.requests.iter().filter(|entry| holds(entry)).count();
        Summary {
            requests: self.count(),
            turns: count(&|entry| entry.kind == Kind::Turn),
            auxiliary: count(&|entry| entry.kind == Kind::Auxiliary),
            unmatched: count(&|entry| entry.kind == Kind::Unmatched) + self.unmatched_not_kept as usize,
            invalid: count(&|entry| !entry.findings.is_empty()),
            faults: count(&|entry| entry.fault.is_some()),
            unused: self.unused.clone(),
        }
    }
}

impl Summary {
    /// Whether the script and the requests fitted each other.
    pub fn is_clean(&self) -> bool {
        self.unmatched == 0 && self.invalid == 0 && self.unused.is_empty()
    }
}

impl JournalEntry {
    pub(super) fn new(number: u64, at_ms: f64, request: &ApiRequest, body: &[u8]) -> Self {
        let secrets = Secrets::of(request);
        JournalEntry {
            number,
            at_ms,
            dialect: request.dialect.name(),
            method: request.method.clone(),
            path: secrets.mask(&request.path),
            query: secrets.mask(&request.query),
            headers: secrets.headers(request),
            body: (!body.is_empty()).then(|| BodyDigest::new(request, body, &secrets)),
            credential: None,
            kind: Kind::Undecided,
            entry: None,
            attempt: 0,
            fault: None,
            status: None,
            sent_bytes: 0,
            first_byte_ms: None,
            duration_ms: None,
            outcome: Outcome::Open,
            findings: Vec::new(),
            unmatched: None,
            asks: request.endpoint == Endpoint::Messages,
        }
    }
}

impl BodyDigest {
    fn new(request: &ApiRequest, body: &[u8], secrets: &Secrets) -> Self {
        let facts = &request.facts;
        BodyDigest {
            bytes: body.len(),
            sha256: hex(&Sha256::hash(body)),
            model: secrets.mask(&facts.model),
            stream: facts.stream,
            max_tokens: facts.max_tokens,
            turn: facts.position,
            agent: facts.agent.clone(),
            messages: facts.messages,
            tools: facts.tools,
            user: secrets.mask(&clip(&facts.user, 200)),
            tool_results: facts.tool_results.iter().map(|result| result.tool.clone()).collect(),
        }
    }
}

impl Unmatched {
    /// `nearest` is the turn that came nearest, with what kept it from answering.
    pub(super) fn new(request: &ApiRequest, nearest: Option<(&Turn, Vec<String>)>) -> Self {
        let secrets = Secrets::of(request);
        let shown = request.json().map_or_else(String::new, |body| preview(body).to_string());
        let (turn, misses) = nearest.unzip();
        Unmatched {
            request: secrets.mask(&clip(&shown, 4000)),
            nearest: turn.map(|turn| turn.name.clone()),
            line: turn.map(|turn| turn.line),
            because: misses.iter().flatten().map(|miss| secrets.mask(miss)).collect(),
        }
    }
}

/// The same value with its texts shortened and its lists cut, so that a person can read it.
fn preview(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::from(clip(text, 160)),
        Value::Array(items) => {
            let mut shown: Vec<Value> = items.iter().take(6).map(preview).collect();
            if items.len() > 6 {
                shown.push(Value::from(format!("… {} more", items.len() - 6)));
            }
            Value::Array(shown)
        }
        Value::Object(entries) => entries.iter().map(|(key, value)| (key.clone(), preview(value))).collect(),
        other => other.clone(),
    }
}

/// The headers of an answer by their names in lower case, without what they hold of credentials.
pub(super) fn shown_headers(headers: &[Header]) -> BTreeMap<String, String> {
    let shown = |(name, value): &Header| {
        let value = if is_secret_header(name) && !name.contains("ratelimit") { REDACTED } else { value };
        (name.to_ascii_lowercase(), value.to_owned())
    };
    headers.iter().map(shown).collect()
}

/// The secrets of one request, to be found wherever they are repeated.
#[derive(Debug, Default)]
pub(super) struct Secrets(Vec<String>);

const REDACTED: &str = "[redacted]";

/// Whether a header holds a credential, by its name.
pub(super) fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "auth", "token", "secret", "cookie", "credential"].iter().any(|word| name.contains(word))
}

impl Secrets {
    pub(super) fn of(request: &ApiRequest) -> Self {
        let mut secrets = Vec::new();
        for (name, value) in &request.headers {
            if is_secret_header(name) {
                // `Bearer abc`: the token is the secret, the scheme is not. Short words would mask half the text.
                secrets.extend(value.split_whitespace().filter(|part| part.len() >= 4).map(str::to_owned));
                if name == "cookie" {
                    let values = value.split(';').filter_map(|pair| pair.split_once('='));
                    secrets.extend(
                        values.map(|(_, value)| value.trim().to_owned()).filter(|value| value.len() >= 4),
                    );
                }
            }
        }
        for (name, value) in request.query.split('&').filter_map(|pair| pair.split_once('=')) {
            if is_secret_header(name) && value.len() >= 4 {
                secrets.push(value.to_owned());
            }
        }
        secrets.retain(|secret| !["Bearer", "Basic"].contains(&secret.as_str()));
        Secrets(secrets)
    }

    fn headers(&self, request: &ApiRequest) -> BTreeMap<String, String> {
        let shown = |name: &str, value: &str| {
            if is_secret_header(name) { REDACTED.to_owned() } else { self.mask(value) }
        };
        request.headers.iter().map(|(name, value)| (name.clone(), shown(name, value))).collect()
    }

    pub(super) fn values(&self) -> &[String] {
        &self.0
    }

    /// What masks them in the bodies that are shown.
    #[cfg(feature = "cli")]
    pub(super) fn masker(&self) -> Masker {
        Masker::new(self.0.iter().map(String::as_str))
    }

    fn mask(&self, text: &str) -> String {
        let mut masked = text.to_owned();
        for secret in &self.0 {
            if masked.contains(secret.as_str()) {
                masked = masked.replace(secret.as_str(), REDACTED);
            }
        }
        Masker::default().mask(&masked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_never_appear_wherever_they_are_repeated() {
        let body = json!({
            "model": "dummy-key-1234", "messages": [{"role": "user", "content": "my key is dummy-key-1234"},],
            "metadata": {"user_id": "sk-ant-api03-OTHER_key"}, "stream": true,
        })
        .to_string();
        let headers = [
            ("x-api-key", "dummy-key-1234"),
            ("authorization", "Bearer oauth-token-5678"),
            ("proxy-authorization", "Basic abcdef"),
            ("cookie", "session=zzzzz"),
            ("user-agent", "sdk dummy-key-1234"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let target = "/v1/messages?beta=true&key=dummy-key-1234";
        let request = ApiRequest::new("POST", target, headers, body.as_bytes());
        let mut entry = JournalEntry::new(1, 0.0, &request, body.as_bytes());
        entry.unmatched = Some(Unmatched::new(&request, None));
        let text = serde_json::to_string(&entry).unwrap();
        for secret in ["dummy-key", "oauth-token", "abcdef", "zzzzz", "OTHER_key"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        assert!(text.contains("beta=true&key=[redacted]"));
        assert!(text.contains("my key is [redacted]"));
    }

    #[test]
    fn the_digest_is_that_of_the_bytes() {
        let request = ApiRequest::new("POST", "/v1/messages", Vec::new(), b"{}");
        let entry = JournalEntry::new(1, 0.0, &request, b"{}");
        let digest = entry.body.unwrap();
        assert_eq!(digest.sha256, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
    }

    #[test]
    fn a_preview_is_short_whatever_the_request() {
        let body = json!({"messages": vec![json!({"role": "user", "content": "x".repeat(9999)}); 500]});
        let shown = preview(&body).to_string();
        assert!(shown.len() < 2000, "{}", shown.len());
        assert!(shown.contains("… 494 more"));
    }
}
