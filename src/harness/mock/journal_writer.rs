//! The journal while it is written: numbers, limits, and a signal whenever something changes.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::credential::Credential;
use super::engine::{Decision, ScriptState};
use super::fault::{FaultKind, hides_status};
use super::journal::{Journal, JournalEntry, MOST_ENTRIES, Outcome};
use super::kept::{Keeper, KeptExchange};
use super::plan::Part;
use super::reply::Reply;
use super::request::ApiRequest;
use super::space::Space;
use super::validate::{RequestFinding, harness_finding};
use crate::harness::mcp::HttpServers;

/// Requests that one case may make; a client that asks more is cut off.
const MOST_REQUESTS: u64 = 20_000;

/// What the journal keeps of the heads of all requests; later ones are counted only.
const MOST_OF_HEADS: usize = 8 << 20;

/// The journal of a running server.
#[derive(Debug)]
pub(super) struct JournalWriter {
    pub(super) state: Arc<ScriptState>,
    journal: Mutex<Journal>,
    /// What is kept whole besides, where somebody wants it.
    kept: Option<Mutex<Keeper>>,
    /// How long all heads of requests are that have come.
    heads: AtomicUsize,
    /// The credentials that the client was given, once they are known.
    credentials: OnceLock<Vec<String>>,
    finished: AtomicU64,
    /// After so many answers the server refuses connections.
    spent_after: Option<u64>,
    recovered: AtomicBool,
    pub(super) started: Instant,
    /// Scripted MCP servers that are reached at the same address, and are no part of the journal.
    pub(super) mcp: Option<Arc<HttpServers>>,
    /// What all of its clients share.
    pub(super) space: Space,
    changes: watch::Sender<()>,
}

pub(super) fn milliseconds(duration: Duration) -> f64 {
    // Microseconds are as fine as anybody reads.
    duration.as_micros() as f64 / 1000.0
}

impl JournalWriter {
    /// `most_kept` is how much is kept of all bodies, and as much of all answers, where any are.
    pub(super) fn new(state: Arc<ScriptState>, spent_after: Option<u64>, most_kept: Option<usize>) -> Self {
        JournalWriter {
            state,
            journal: Mutex::default(),
            kept: most_kept.map(|most| Mutex::new(Keeper::new(most))),
            heads: AtomicUsize::new(0),
            credentials: OnceLock::new(),
            finished: AtomicU64::new(0),
            spent_after,
            recovered: AtomicBool::new(false),
            started: Instant::now(),
            mcp: None,
            space: Space::default(),
            changes: watch::Sender::new(()),
        }
    }

    /// The same, with MCP servers at its address.
    pub(super) fn with_mcp(self, mcp: Option<Arc<HttpServers>>) -> Self {
        JournalWriter { mcp, ..self }
    }

    pub(super) fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A signal on every change of the journal.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Takes a request in and gives it its number; none when the case has had its share.
    pub(super) fn begin(
        &self,
        request: &ApiRequest,
        body: &[u8],
        findings: &[RequestFinding],
    ) -> Option<OpenEntry<'_>> {
        let mut entry = JournalEntry::new(0, milliseconds(self.started.elapsed()), request, body);
        entry.findings = findings.to_vec();
        entry.credential = self.credentials.get().map(|given| Credential::of(request, given));
        let mut journal = self.journal();
        let number = journal.count() + 1;
        if journal.not_kept == 0 && journal.requests.len() < MOST_ENTRIES && self.has_space(request) {
            entry.number = number;
            journal.requests.push(entry);
            self.keep(|keeper| keeper.begin(request));
        } else {
            journal.not_kept += 1;
        }
        (number <= MOST_REQUESTS).then(|| OpenEntry { writer: self, number, started: Instant::now() })
    }

    /// Whether what the request says of itself still fits in; if it does, it is counted.
    fn has_space(&self, request: &ApiRequest) -> bool {
        let texts = request.headers.iter().map(|(name, value)| name.len() + value.len());
        let length = texts.sum::<usize>() + request.path.len() + request.query.len();
        self.heads.fetch_add(length, Ordering::Relaxed) + length <= MOST_OF_HEADS
    }

    /// Changes what is kept, if something is.
    fn keep(&self, how: impl FnOnce(&mut Keeper)) {
        if let Some(kept) = &self.kept {
            how(&mut kept.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// The body of a request as it may be shown.
    #[cfg(feature = "cli")]
    pub(super) fn content(&self, number: u64) -> Option<serde_json::Value> {
        let kept = self.kept.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        kept.content(number)
    }

    /// Everything that was kept.
    pub(super) fn take_kept(&self) -> Vec<KeptExchange> {
        let mut taken = Keeper::new(0);
        self.keep(|keeper| std::mem::swap(keeper, &mut taken));
        taken.into_exchanges()
    }

    /// Says which credentials the client was given. Only the first word counts.
    pub(super) fn expect_credentials(&self, given: Vec<String>) {
        _ = self.credentials.set(given);
    }

    pub(super) fn not_http(&self) {
        self.journal().not_http += 1;
        self.changes.send_replace(());
    }

    /// Whether the server has answered as many requests as it was to answer.
    pub(super) fn is_spent(&self) -> bool {
        !self.recovered.load(Ordering::Relaxed)
            && self.spent_after.is_some_and(|limit| self.finished.load(Ordering::Relaxed) >= limit)
    }

    /// The server has been away and is back for good.
    pub(super) fn recover(&self) {
        self.recovered.store(true, Ordering::Relaxed);
    }

    /// The journal as it is now.
    pub(super) fn snapshot(&self) -> Journal {
        let mut journal = self.journal().clone();
        journal.unused = self.state.unused();
        journal
    }
}

/// The entry of a request that is being answered.
pub(super) struct OpenEntry<'w> {
    writer: &'w JournalWriter,
    pub(super) number: u64,
    started: Instant,
}

impl OpenEntry<'_> {
    pub(super) fn edit(&self, how: impl FnOnce(&mut JournalEntry)) {
        // Numbers are given in order and nothing is removed, so the entry is where its number says.
        if let Some(entry) = self.writer.journal().requests.get_mut((self.number - 1) as usize) {
            how(entry);
        }
    }

    /// Edits the entry, and tells those who wait for changes.
    pub(super) fn change(&self, how: impl FnOnce(&mut JournalEntry)) {
        self.edit(how);
        self.writer.changes.send_replace(());
    }

    pub(super) fn keep_body(&self, body: Vec<u8>) {
        self.writer.keep(|keeper| keeper.body(self.number, body));
    }

    pub(super) fn keep_reply(&self, reply: Reply, fault: Option<&FaultKind>) {
        self.writer.keep(|keeper| keeper.answer(self.number, reply, fault));
    }

    /// What is kept of an answer that somebody else gives.
    pub(super) fn keep(&self, how: impl FnOnce(&mut Keeper, u64)) {
        self.writer.keep(|keeper| how(keeper, self.number));
    }

    /// So much has been written to the client.
    pub(super) fn sent(&self, part: &Part) {
        self.edit(|entry| entry.sent_bytes += part.bytes.len() as u64);
        self.writer.keep(|keeper| keeper.sent(self.number, part.of_body));
    }

    pub(super) fn elapsed_ms(&self) -> f64 {
        milliseconds(self.started.elapsed())
    }

    /// Writes down what was decided; `status` is that of the answer, unless there is none.
    pub(super) fn decided(&self, decision: &Decision, status: Option<u16>) {
        if decision.unmatched.is_some() {
            let mut journal = self.writer.journal();
            if self.number > journal.requests.len() as u64 {
                journal.unmatched_not_kept += 1;
            }
        }
        self.change(|entry| {
            entry.kind = decision.kind;
            entry.entry.clone_from(&decision.entry);
            entry.attempt = decision.attempt;
            entry.fault = decision.fault.as_ref().map(ToString::to_string);
            entry.unmatched.clone_from(&decision.unmatched);
            entry.findings.extend(decision.mistake.as_deref().map(harness_finding));
            // What is cut before its head has no status on the wire.
            let hidden = matches!(decision.fault_kind(),
                Some(FaultKind::Cut { ending, at }) if hides_status(*ending, *at));
            entry.status = status.filter(|_| !hidden);
        });
    }

    pub(super) fn finish(self, outcome: Outcome) {
        self.writer.finished.fetch_add(1, Ordering::Relaxed);
        self.change(|entry| {
            entry.outcome = outcome;
            entry.duration_ms = Some(self.elapsed_ms());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::mock::Script;
    use crate::harness::mock::journal::Unmatched;

    #[test]
    fn what_nothing_matched_is_counted_beyond_the_entries_that_are_kept() {
        let state = Arc::new(ScriptState::new(Script::new(), Vec::new()));
        let writer = JournalWriter::new(Arc::clone(&state), None, Some(1 << 20));
        let request = ApiRequest::new("POST", "/v1/messages", Vec::new(), b"");
        let mut decision = state.decide_mounted(0, &mut Reply::default());
        for number in 0..MOST_ENTRIES + 2 {
            decision.unmatched = (number == MOST_ENTRIES).then(|| Unmatched::new(&request, None));
            writer.begin(&request, b"", &[]).unwrap().decided(&decision, Some(400));
        }
        let journal = writer.snapshot();
        assert_eq!((journal.not_kept, journal.unmatched_not_kept), (2, 1));
        assert_eq!(writer.take_kept().len(), MOST_ENTRIES);
        assert!(!journal.summary().is_clean());
    }
}
