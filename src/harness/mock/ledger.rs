//! The journal while it is written: numbers, limits, and a signal whenever something changes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::engine::{Decision, Desk, Exchange};
use super::fault::{FaultKind, hides_status};
use super::journal::{Journal, JournalEntry, Kind, MOST_ENTRIES, Outcome};
use super::request::ApiRequest;
use super::validate::{check_request, harness_finding};
use super::wire::RawRequest;

/// Requests that one case may make; a client that asks more is cut off.
const MOST_REQUESTS: u64 = 100_000;

/// The journal of a running server.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) desk: Arc<Desk>,
    journal: Mutex<Journal>,
    numbers: AtomicU64,
    finished: AtomicU64,
    /// After so many answers the server refuses connections.
    spent_after: Option<u64>,
    spent_once: AtomicBool,
    started: Instant,
    changes: watch::Sender<u64>,
}

fn milliseconds(duration: Duration) -> f64 {
    // Microseconds are as fine as anybody reads.
    duration.as_micros() as f64 / 1000.0
}

impl Ledger {
    pub(super) fn new(desk: Arc<Desk>, spent_after: Option<u64>) -> Self {
        Ledger {
            desk,
            journal: Mutex::new(Journal::default()),
            numbers: AtomicU64::new(0),
            finished: AtomicU64::new(0),
            spent_after,
            spent_once: AtomicBool::new(false),
            started: Instant::now(),
            changes: watch::Sender::new(0),
        }
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A signal on every change of the journal.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// How many requests for an answer have come.
    pub(super) fn asked(&self) -> u64 {
        self.journal().asked()
    }

    fn change(&self, number: u64, how: impl FnOnce(&mut JournalEntry)) {
        {
            let mut journal = self.journal();
            // Numbers are given in order and nothing is removed, so the entry is where its number says.
            let at = (number - 1) as usize;
            if let Some(entry) = journal.requests.get_mut(at) {
                how(entry);
            }
        }
        self.changes.send_modify(|version| *version += 1);
    }

    /// Takes a request in; none when the case has had its share.
    pub(super) fn begin(&self, raw: RawRequest) -> Option<Arc<Exchange>> {
        let request = ApiRequest::new(raw.method, &raw.target, raw.headers, &raw.body);
        let findings = check_request(&request);
        let mut entry = JournalEntry::new(0, milliseconds(self.started.elapsed()), &request, &raw.body);
        entry.findings.clone_from(&findings);
        let number = {
            // Number and place are taken together: an entry's place is its number.
            let mut journal = self.journal();
            let number = self.numbers.fetch_add(1, Ordering::Relaxed) + 1;
            if journal.requests.len() < MOST_ENTRIES {
                entry.number = number;
                journal.requests.push(entry);
            } else {
                journal.not_kept += 1;
            }
            number
        };
        if number > MOST_REQUESTS {
            return None;
        }
        let exchange = Arc::new(Exchange::new(number, request, findings));
        self.desk.put(Arc::clone(&exchange));
        Some(exchange)
    }

    /// Writes down what was decided.
    pub(super) fn decided(&self, number: u64, decision: &Decision, status: u16, own_mistake: Option<&str>) {
        self.change(number, |entry| {
            entry.kind = decision.kind;
            entry.entry.clone_from(&decision.entry);
            entry.attempt = decision.attempt;
            entry.fault = decision.fault.as_ref().map(ToString::to_string);
            entry.unmatched.clone_from(&decision.unmatched);
            entry.findings.extend(own_mistake.map(harness_finding));
            // What is cut before its head has no status on the wire.
            let hidden = match decision.fault.as_ref().map(|fault| &fault.kind) {
                Some(FaultKind::Cut { ending, at }) => hides_status(*ending, *at),
                _ => false,
            };
            entry.status = (!hidden).then_some(status);
        });
    }

    pub(super) fn has_cut(&self, number: u64) -> bool {
        self.journal().requests.get((number - 1) as usize).is_some_and(|entry| entry.fault.is_some())
    }

    pub(super) fn first_byte(&self, number: u64, after: Duration) {
        let mut journal = self.journal();
        if let Some(entry) = journal.requests.get_mut((number - 1) as usize) {
            entry.first_byte_ms = Some(milliseconds(after));
        }
    }

    pub(super) fn sent(&self, number: u64, bytes: usize) {
        let mut journal = self.journal();
        if let Some(entry) = journal.requests.get_mut((number - 1) as usize) {
            entry.sent_bytes += bytes as u64;
        }
    }

    /// The exchange has reached a state that it stays in.
    pub(super) fn turned(&self, number: u64, outcome: Outcome) {
        self.change(number, |entry| entry.outcome = outcome);
    }

    pub(super) fn failed(&self, number: u64, message: &str) {
        self.change(number, |entry| {
            entry.kind = Kind::Undecided;
            entry.findings.push(harness_finding(message));
        });
    }

    pub(super) fn finish(&self, number: u64, outcome: Outcome, after: Duration) {
        self.finished.fetch_add(1, Ordering::Relaxed);
        self.change(number, |entry| {
            entry.outcome = outcome;
            entry.duration_ms = Some(milliseconds(after));
        });
    }

    pub(super) fn not_http(&self) {
        self.journal().not_http += 1;
        self.changes.send_modify(|version| *version += 1);
    }

    /// Whether the server has answered as many requests as it was to answer.
    pub(super) fn is_spent(&self) -> bool {
        !self.spent_once.load(Ordering::Relaxed)
            && self.spent_after.is_some_and(|limit| self.finished.load(Ordering::Relaxed) >= limit)
    }

    /// The server has been away and is back for good.
    pub(super) fn recover(&self) {
        self.spent_once.store(true, Ordering::Relaxed);
    }

    /// The journal as it is now.
    pub(super) fn snapshot(&self) -> Journal {
        let mut journal = self.journal().clone();
        journal.unused = self.desk.unused();
        journal
    }

    /// The entry of that number, if it is kept.
    pub(super) fn entry(&self, number: u64) -> Option<JournalEntry> {
        self.journal().requests.get(number.checked_sub(1)? as usize).cloned()
    }

    /// How many requests have come so far.
    pub(super) fn count(&self) -> u64 {
        self.numbers.load(Ordering::Relaxed)
    }
}
