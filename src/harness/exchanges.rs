//! What was asked of the scripted API and what it answered, as a recording has it: masked, and in bounds.

use serde_json::Value;

use super::mock::Journal;
use super::mock::kept::KeptExchange;
use super::mock::served::Served;
use super::seams;
use crate::text::Masker;

/// The requests of a run with the answers to them.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    /// One entry for each request.
    pub(super) requests: Vec<Value>,
    /// One entry for each answer.
    pub(super) served: Vec<Value>,
    /// The bodies of the requests, in the same order.
    pub(super) bodies: Vec<Option<Vec<u8>>>,
    /// The bodies of answers that a real API gave, in the same order.
    pub(super) answers: Vec<Option<Vec<u8>>>,
}

impl Exchanges {
    /// Reads a journal and what was kept beside it. Requests before the time `target_started_ms`, on the clock of the
    /// journal, came from the run before the target's.
    pub(super) fn new(
        journal: &Journal,
        kept: Vec<KeptExchange>,
        masker: &Masker,
        target_started_ms: f64,
    ) -> Self {
        let mut exchanges = Self::default();
        let mut kept = kept.into_iter();
        for (at, entry) in journal.requests.iter().enumerate() {
            let kept = kept.next();
            let mut served = Served::new(at, entry, kept.as_ref());
            served.first = entry.at_ms < target_started_ms;
            // Writing plain data as a value cannot fail.
            let mut served = serde_json::to_value(served).unwrap_or_default();
            masker.mask_value(&mut served);
            let mut request = serde_json::to_value(entry).unwrap_or_default();
            masker.mask_value(&mut request);
            let kept = kept.unwrap_or_default();
            if let Some(request) = request.as_object_mut().filter(|_| kept.body_cut) {
                request.insert("body_cut".into(), true.into());
            }
            exchanges.requests.push(request);
            exchanges.served.push(served);
            let answer = kept.relayed().and_then(|(_, body)| body).filter(|body| !body.is_empty());
            exchanges.answers.push(answer.map(|body| seams::masked(masker, body)));
            exchanges.bodies.push(kept.body.map(|body| masker.mask_bytes(body)));
        }
        exchanges
    }
}
