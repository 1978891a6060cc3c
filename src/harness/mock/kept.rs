//! The whole of what was asked and answered, kept for a recording: in bounds, since a client may ask for ever.

use serde_json::Value;

use super::fault::{Ending, FaultKind};
use super::journal::{Secrets, is_secret_header};
use super::reply::{Header, Reply};
use super::request::ApiRequest;
use crate::recording::MOST_INPUT;

/// The most that is kept of the bodies of all requests, and as much of all answers: they are in memory, and a client may
/// ask for ever.
pub(super) const MOST_KEPT: usize = 16 << 20;
/// The same of a real conversation.
pub(super) const MOST_RELAYED: usize = 64 << 20;

/// What is kept of one request and the answer to it.
#[derive(Debug, Default)]
pub(crate) struct KeptExchange {
    /// The body of the request; none when it had none, or was too large.
    pub(crate) body: Option<Vec<u8>>,
    /// Whether the body was too large to be kept.
    pub(crate) body_cut: bool,
    /// The sub-agent that asked.
    pub(super) agent: Option<String>,
    pub(super) answer: Option<KeptAnswer>,
    /// What of the body must not be shown.
    secrets: Secrets,
}

/// An answer, and how much of it went out.
#[derive(Debug)]
pub(super) struct KeptAnswer {
    pub(super) reply: Reply,
    /// How long the body of the reply is, also where it was too large to be kept.
    pub(super) length: usize,
    /// How much of the body has been sent.
    pub(super) sent: usize,
    /// Whether it is sent in a form that no healthy answer has.
    pub(super) is_spoiled: bool,
    /// Whether the body was too large to be kept, or cannot be read.
    pub(super) is_cut: bool,
    /// Whether somebody else gave it, to whom the request was passed on.
    pub(super) is_relayed: bool,
}

/// The members of a body that are credentials, whatever their values look like.
const CREDENTIALS: [&str; 10] = [
    "access_token",
    "refresh_token",
    "id_token",
    "auth_token",
    "session_token",
    "api_key",
    "apikey",
    "client_secret",
    "password",
    "private_key",
];

impl KeptExchange {
    /// The credentials that the request carried and the answer gave, by the names of headers and members.
    pub(crate) fn credentials(&self) -> Vec<String> {
        let mut found = self.secrets.values().to_vec();
        let answer = self.answer.as_ref().map(|answer| &answer.reply);
        for (name, value) in answer.into_iter().flat_map(|reply| &reply.headers) {
            if is_secret_header(name) && !name.contains("ratelimit") {
                found.extend(value.split([';', ' ', '=', ',']).map(str::to_owned));
            }
        }
        for body in [self.body.as_deref(), answer.map(|reply| &reply.body[..])].into_iter().flatten() {
            if let Ok(value) = serde_json::from_slice(body) {
                credentials_in(&value, &mut found);
            }
        }
        // Short words would mask half of every text.
        found.retain(|value| value.len() >= 8);
        found
    }

    /// The headers of an answer that somebody else gave, and its body as far as it came.
    pub(crate) fn relayed(&self) -> Option<(&[Header], Option<&[u8]>)> {
        let answer = self.answer.as_ref().filter(|answer| answer.is_relayed)?;
        Some((&answer.reply.headers, (!answer.is_cut).then_some(&answer.reply.body)))
    }
}

fn credentials_in(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| credentials_in(item, found)),
        Value::Object(members) => {
            for (name, value) in members {
                let name = name.to_ascii_lowercase().replace('-', "_");
                match value.as_str() {
                    Some(text) if CREDENTIALS.contains(&name.as_str()) && !text.contains(' ') => {
                        found.push(text.to_owned());
                    }
                    _ => credentials_in(value, found),
                }
            }
        }
        _ => {}
    }
}

/// Keeps the exchanges of one server, in the order of their numbers.
#[derive(Debug)]
pub(super) struct Keeper {
    most: usize,
    exchanges: Vec<KeptExchange>,
    bodies: usize,
    answers: usize,
}

impl Keeper {
    /// Keeps so much of the bodies of all requests, and as much of all answers.
    pub(super) fn new(most: usize) -> Self {
        Self { most, exchanges: Vec::new(), bodies: 0, answers: 0 }
    }

    /// A request has come; it gets the next number.
    pub(super) fn begin(&mut self, request: &ApiRequest) {
        self.exchanges.push(KeptExchange {
            agent: request.facts.agent.clone(),
            secrets: Secrets::of(request),
            ..KeptExchange::default()
        });
    }

    /// The body of a request as it may be shown: without its credentials, and as text where it is no JSON.
    #[cfg(feature = "cli")]
    pub(super) fn content(&self, number: u64) -> Option<Value> {
        let exchange = self.exchanges.get(number.checked_sub(1)? as usize)?;
        let text = String::from_utf8_lossy(exchange.body.as_deref()?);
        let mut content = serde_json::from_str(&text).unwrap_or_else(|_| Value::from(&*text));
        exchange.secrets.masker().mask_value(&mut content);
        Some(content)
    }

    pub(super) fn body(&mut self, number: u64, body: Vec<u8>) {
        let Some(exchange) = self.exchanges.get_mut((number - 1) as usize) else { return };
        if body.is_empty() {
            return;
        }
        if body.len() > MOST_INPUT || self.bodies + body.len() > self.most {
            exchange.body_cut = true;
            return;
        }
        self.bodies += body.len();
        exchange.body = Some(body);
    }

    pub(super) fn answer(&mut self, number: u64, mut reply: Reply, fault: Option<&FaultKind>) {
        let Some(exchange) = self.exchanges.get_mut((number - 1) as usize) else { return };
        let length = reply.body.len();
        let is_cut = self.answers + length > self.most;
        if is_cut {
            reply.body = Vec::new();
        } else {
            self.answers += length;
        }
        let is_spoiled = fault.is_some_and(spoils);
        exchange.answer = Some(KeptAnswer { reply, length, sent: 0, is_spoiled, is_cut, is_relayed: false });
    }

    /// The body of a request is written in a way that nobody reads here, nor masks.
    pub(super) fn unreadable_body(&mut self, number: u64) {
        if let Some(exchange) = self.exchanges.get_mut((number - 1) as usize) {
            exchange.body_cut = true;
        }
    }

    /// The head of an answer that somebody else gives; its body comes in parts, unless nobody can read it.
    pub(super) fn relay(&mut self, number: u64, reply: Reply, is_readable: bool) {
        let Some(exchange) = self.exchanges.get_mut((number - 1) as usize) else { return };
        exchange.answer = Some(KeptAnswer {
            reply,
            length: 0,
            sent: 0,
            is_spoiled: false,
            is_cut: !is_readable,
            is_relayed: true,
        });
    }

    /// The next part of that body.
    pub(super) fn relay_part(&mut self, number: u64, part: &[u8]) {
        let exchange = self.exchanges.get_mut((number - 1) as usize);
        let Some(answer) = exchange.and_then(|exchange| exchange.answer.as_mut()) else { return };
        answer.length += part.len();
        answer.sent = answer.length;
        if answer.is_cut {
            return;
        }
        if answer.length > MOST_INPUT || self.answers + part.len() > self.most {
            answer.is_cut = true;
            self.answers -= std::mem::take(&mut answer.reply.body).len();
            return;
        }
        self.answers += part.len();
        answer.reply.body.extend_from_slice(part);
    }

    /// No more of that body comes; one that is not whole broke off, and a stream may break off at any byte.
    pub(super) fn relayed(&mut self, number: u64, is_whole: bool, is_stream: bool) {
        let exchange = self.exchanges.get_mut((number - 1) as usize);
        let Some(answer) = exchange.and_then(|exchange| exchange.answer.as_mut()) else { return };
        answer.is_spoiled = !is_whole;
        answer.length += usize::from(!is_whole);
        if is_stream {
            answer.reply.ends = vec![answer.reply.body.len()];
        }
    }

    /// What the request of that number was answered, as far as it is kept.
    pub(super) fn kept_answer(&self, number: u64) -> Option<&KeptAnswer> {
        self.exchanges.get((number - 1) as usize)?.answer.as_ref()
    }

    /// So many further bytes of the body have been sent.
    pub(super) fn sent(&mut self, number: u64, bytes: usize) {
        let exchange = self.exchanges.get_mut((number - 1) as usize);
        if let Some(answer) = exchange.and_then(|exchange| exchange.answer.as_mut()) {
            answer.sent += bytes;
        }
    }

    pub(super) fn into_exchanges(self) -> Vec<KeptExchange> {
        self.exchanges
    }
}

/// Whether an answer with this fault is no whole and healthy one, however many of its bytes arrive.
fn spoils(fault: &FaultKind) -> bool {
    match fault {
        FaultKind::Cut { ending, .. } => !matches!(ending, Ending::Stall { for_ms: Some(_) }),
        FaultKind::ContentType(_)
        | FaultKind::Html(_)
        | FaultKind::Empty(_)
        | FaultKind::ContentLength(_)
        | FaultKind::MalformedSse(_)
        | FaultKind::MalformedJson(_)
        | FaultKind::InvalidUtf8(_) => true,
        FaultKind::Http(_)
        | FaultKind::ErrorEvent { .. }
        | FaultKind::Slow(_)
        | FaultKind::EndlessPings { .. }
        | FaultKind::HugeText(_)
        | FaultKind::Refuse { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_cut_and_nothing_else() {
        let mut keeper = Keeper::new(MOST_RELAYED);
        let mut add = |bytes: usize| {
            keeper.begin(&ApiRequest::new("POST", "/v1/messages", Vec::new(), b""));
            let number = keeper.exchanges.len() as u64;
            keeper.body(number, vec![0; bytes]);
            let reply = Reply { body: vec![0; bytes], ..Reply::default() };
            keeper.answer(number, reply, None);
            let kept = &keeper.exchanges[number as usize - 1];
            (kept.body.is_some(), kept.body_cut, kept.answer.as_ref().is_some_and(|answer| answer.is_cut))
        };
        assert_eq!(add(0), (false, false, false));
        assert_eq!(add(MOST_INPUT + 1), (false, true, false));
        for _ in 0..6 {
            assert_eq!(add(MOST_INPUT), (true, false, false));
        }
        // The answers have a byte more than the bodies by now.
        assert_eq!(add(MOST_INPUT), (true, false, true));
        assert_eq!(add(MOST_INPUT), (true, false, true));
        assert_eq!(add(1), (false, true, false), "no room for another body");
    }
}
