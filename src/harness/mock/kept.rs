//! The whole of what was asked and answered, kept for a recording: in bounds, since a client may ask for ever.

#[cfg(feature = "cli")]
use serde_json::Value;

use super::fault::{Ending, FaultKind};
#[cfg(feature = "cli")]
use super::journal::Secrets;
use super::reply::Reply;
use super::request::ApiRequest;
use crate::recording::MOST_INPUT;

/// The most that is kept of the bodies of all requests; and as much of all answers.
const MOST_OF_ALL: usize = 64 << 20;

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
    #[cfg(feature = "cli")]
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
    /// Whether the body was too large to be kept.
    pub(super) is_cut: bool,
}

/// Keeps the exchanges of one server, in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Keeper {
    exchanges: Vec<KeptExchange>,
    bodies: usize,
    answers: usize,
}

impl Keeper {
    /// A request has come; it gets the next number.
    pub(super) fn begin(&mut self, request: &ApiRequest) {
        self.exchanges.push(KeptExchange {
            agent: request.facts.agent.clone(),
            #[cfg(feature = "cli")]
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
        if body.len() > MOST_INPUT || self.bodies + body.len() > MOST_OF_ALL {
            exchange.body_cut = true;
            return;
        }
        self.bodies += body.len();
        exchange.body = Some(body);
    }

    pub(super) fn answer(&mut self, number: u64, mut reply: Reply, fault: Option<&FaultKind>) {
        let Some(exchange) = self.exchanges.get_mut((number - 1) as usize) else { return };
        let length = reply.body.len();
        let is_cut = self.answers + length > MOST_OF_ALL;
        if is_cut {
            reply.body = Vec::new();
        } else {
            self.answers += length;
        }
        let is_spoiled = fault.is_some_and(spoils);
        exchange.answer = Some(KeptAnswer { reply, length, sent: 0, is_spoiled, is_cut });
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
        let mut keeper = Keeper::default();
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
