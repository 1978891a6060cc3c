//! The script mounted in wiremock, which chooses the entry that answers.
//!
//! wiremock keeps every request until it is dropped, up to three times over, and works behind one lock. So it is asked
//! with a reference: the transport parses and validates a request once, puts it on the [`Desk`], and forwards only its
//! number. Matchers look it up there; the entry that wins leaves its decision there; the transport words the answer.
//! What wiremock keeps is a line a request, and no key ever reaches it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::{Value, json};
use wiremock::{Match, Mock, MockServer, Request, Respond, ResponseTemplate};

use super::answer::{Answer, Occasion};
use super::auxiliary::Auxiliary;
use super::error_body::error_of_status;
use super::fault::{Fault, FaultKind};
use super::journal::{Kind, Unmatched};
use super::matcher::nearest;
use super::pace::Pace;
use super::reply::Reply;
use super::request::{ApiRequest, Body, Endpoint};
use super::script::{InvalidRequests, Script, Turn};
use super::validate::{RequestFinding, Sent, check_body};

/// Labels of the answers that no turn gives, apart from the numbers of turns.
const AUXILIARY: u64 = 1 << 32;
const BUILT_IN: u64 = 2 << 32;
const NOT_HTTP: u64 = 3 << 32;

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) number: u64,
    pub(super) request: ApiRequest,
    pub(super) findings: Vec<RequestFinding>,
    decision: OnceLock<Decision>,
}

/// What was decided about it. The words of the answer follow from it.
#[derive(Debug)]
pub(super) struct Decision {
    pub(super) kind: Kind,
    pub(super) entry: Option<String>,
    pub(super) attempt: u64,
    pub(super) fault: Option<Fault>,
    pub(super) pace: Pace,
    pub(super) occasion: Occasion,
    pub(super) unmatched: Option<Unmatched>,
    chosen: Entry,
}

impl Exchange {
    pub(super) fn new(number: u64, request: ApiRequest, findings: Vec<RequestFinding>) -> Self {
        Exchange { number, request, findings, decision: OnceLock::new() }
    }

    pub(super) fn decision(&self) -> Option<&Decision> {
        self.decision.get()
    }
}

/// The script and the requests being answered: what the transport and wiremock's matchers share.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) script: Script,
    /// The faults of each turn, in the order of its attempts.
    faults: Vec<Vec<Fault>>,
    uses: Vec<AtomicU64>,
    auxiliary_uses: AtomicU64,
    open: Mutex<HashMap<u64, Arc<Exchange>>>,
}

impl Desk {
    pub(super) fn new(script: Script, faults: Vec<Vec<Fault>>) -> Self {
        let uses = script.turns.iter().map(|_| AtomicU64::new(0)).collect();
        Desk { script, faults, uses, auxiliary_uses: AtomicU64::new(0), open: Mutex::new(HashMap::new()) }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Arc<Exchange>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, exchange: Arc<Exchange>) {
        self.open().insert(exchange.number, exchange);
    }

    pub(super) fn remove(&self, number: u64) {
        self.open().remove(&number);
    }

    fn look_up(&self, request: &Request) -> Option<Arc<Exchange>> {
        let number = request.url.query()?.parse().ok()?;
        self.open().get(&number).cloned()
    }

    /// The turns that no request asked for.
    pub(super) fn unused(&self) -> Vec<String> {
        let turns = self.script.turns.iter().zip(&self.uses);
        turns
            .filter(|(turn, uses)| uses.load(Ordering::Relaxed) == 0 && !turn.optional)
            .map(|(turn, _)| turn.name.clone())
            .collect()
    }

    /// The occasion of an answer to what is no request.
    pub(super) fn occasion_of_refusal(&self) -> Occasion {
        self.occasion(NOT_HTTP, 0)
    }

    fn occasion(&self, entry: u64, earlier: u64) -> Occasion {
        Occasion { seed: self.script.seed, entry, earlier }
    }
}

/// The fault of an attempt, counted from 0: each fault takes as many attempts as its `times`, the last one all others.
/// `slow` takes none; it goes together with any other.
pub(super) fn fault_of_attempt(faults: &[Fault], attempt: u64) -> Option<&Fault> {
    let mut before = 0;
    for fault in faults.iter().filter(|fault| !matches!(fault.kind, FaultKind::Slow(_))) {
        match fault.times {
            None => return Some(fault),
            Some(times) => {
                before += u64::from(times);
                if attempt < before {
                    return Some(fault);
                }
            }
        }
    }
    None
}

/// The pace of an attempt: that of a `slow` fault as long as it lasts, else the turn's own.
pub(super) fn pace_of_attempt(faults: &[Fault], attempt: u64, own: &Pace) -> Pace {
    let slow = faults.iter().find_map(|fault| match &fault.kind {
        FaultKind::Slow(pace) if fault.times.is_none_or(|times| attempt < u64::from(times)) => Some(pace),
        _ => None,
    });
    slow.unwrap_or(own).clone()
}

/// What a turn says, with the faults that change what it says.
pub(super) fn reply_of_turn(
    turn: &Turn,
    model: &str,
    stream: bool,
    fault: Option<&FaultKind>,
    occasion: Occasion,
) -> Reply {
    let mut reply = Reply::of_answer(Answer::of_turn(turn, model, occasion), stream, fault, occasion);
    for (name, value) in &turn.headers {
        reply.set_header(name, value);
    }
    reply
}

/// Mounts the whole script. wiremock asks by priority, low first, and in the order of mounting among equals.
pub(super) async fn mount(desk: &Arc<Desk>, server: &MockServer) {
    let mut mocks = Vec::new();
    mocks.push((1, Entry::Refusal));
    for (index, turn) in desk.script.turns.iter().enumerate() {
        // The turn with the most conditions wins.
        let priority = 100 - turn.when.specificity().min(90) as u8;
        mocks.push((priority, Entry::Turn(index)));
    }
    mocks.push((150, Entry::Auxiliary));
    mocks.push((150, Entry::BuiltIn));
    mocks.push((255, Entry::Nothing));
    for (priority, entry) in mocks {
        let mock = Mock::given(Mounted { desk: Arc::clone(desk), entry })
            .respond_with(Mounted { desk: Arc::clone(desk), entry })
            .with_priority(priority);
        server.register(mock).await;
    }
}

#[derive(Debug, Clone, Copy)]
enum Entry {
    /// A request that the API refuses.
    Refusal,
    /// A scripted turn.
    Turn(usize),
    /// Work on the side.
    Auxiliary,
    /// The endpoints beside messages.
    BuiltIn,
    /// Whatever is left.
    Nothing,
}

struct Mounted {
    desk: Arc<Desk>,
    entry: Entry,
}

impl Match for Mounted {
    fn matches(&self, request: &Request) -> bool {
        let Some(exchange) = self.desk.look_up(request) else { return false };
        let asked = &exchange.request;
        match self.entry {
            Entry::Refusal => {
                let unreadable = !matches!(asked.body, Body::Json(_));
                let strict = self.desk.script.invalid_requests == InvalidRequests::Refuse;
                asked.is_message() && (unreadable || (strict && !exchange.findings.is_empty()))
            }
            Entry::Turn(index) => self.desk.script.turns[index].when.matches(asked),
            Entry::Auxiliary => asked.is_message() && asked.facts.auxiliary.is_some(),
            Entry::BuiltIn => is_built_in(asked),
            Entry::Nothing => true,
        }
    }
}

impl Respond for Mounted {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let Some(exchange) = self.desk.look_up(request) else { return ResponseTemplate::new(500) };
        // Set once: wiremock asks one entry, once.
        _ = exchange.decision.set(self.decide(&exchange));
        ResponseTemplate::new(200)
    }
}

impl Mounted {
    fn decide(&self, exchange: &Exchange) -> Decision {
        let asked = &exchange.request;
        let desk = &self.desk;
        let plain = |kind, occasion| Decision {
            kind,
            entry: None,
            attempt: 1,
            fault: None,
            pace: Pace::default(),
            occasion,
            unmatched: None,
            chosen: self.entry,
        };
        let own = desk.occasion(BUILT_IN, exchange.number);
        match self.entry {
            Entry::Turn(index) => {
                let turn = &desk.script.turns[index];
                let earlier = desk.uses[index].fetch_add(1, Ordering::Relaxed);
                let faults = &desk.faults[index];
                Decision {
                    entry: Some(turn.name.clone()),
                    attempt: earlier + 1,
                    fault: fault_of_attempt(faults, earlier).cloned(),
                    pace: pace_of_attempt(faults, earlier, &turn.pace),
                    ..plain(Kind::Turn, desk.occasion(index as u64, earlier))
                }
            }
            Entry::Auxiliary => {
                let earlier = desk.auxiliary_uses.fetch_add(1, Ordering::Relaxed);
                let entry = asked.facts.auxiliary.map(|kind| kind.name().to_owned());
                Decision { entry, ..plain(Kind::Auxiliary, desk.occasion(AUXILIARY, earlier)) }
            }
            Entry::BuiltIn => plain(Kind::BuiltIn, own),
            Entry::Refusal => plain(Kind::Refused, own),
            Entry::Nothing if asked.is_message() => {
                let unmatched = Unmatched::new(asked, nearest(&desk.script.turns, asked));
                Decision { unmatched: Some(unmatched), ..plain(Kind::Unmatched, own) }
            }
            Entry::Nothing => plain(Kind::Unmatched, own),
        }
    }
}

/// The words of the answer that was decided on, and what is wrong with them, if anything.
pub(super) fn word(desk: &Desk, exchange: &Exchange, decision: &Decision) -> (Reply, Option<String>) {
    let facts = &exchange.request.facts;
    let occasion = decision.occasion;
    let reply = match decision.chosen {
        Entry::Turn(index) => {
            let fault = decision.fault.as_ref().map(|fault| &fault.kind);
            // Turns were checked when the server started.
            let turn = &desk.script.turns[index];
            return (reply_of_turn(turn, &facts.model, facts.stream, fault, occasion), None);
        }
        Entry::Auxiliary => {
            let text = facts.auxiliary.map_or("", Auxiliary::answer);
            let answer = Answer::of_text(text, &facts.model, occasion);
            Reply::of_answer(answer, facts.stream, None, occasion)
        }
        Entry::BuiltIn => built_in(&exchange.request, occasion).unwrap_or_else(|| not_found(occasion)),
        Entry::Refusal => {
            let message = exchange.findings.first().map_or_else(
                || "the body is not a JSON object".to_owned(),
                |found| format!("{} {}", found.pointer, found.message).trim().to_owned(),
            );
            last_word(&message, occasion)
        }
        Entry::Nothing => match &decision.unmatched {
            None => not_found(occasion),
            Some(unmatched) => {
                let message = format!(
                    "clawgate: no turn of the script answers this request; the nearest is {} ({})",
                    unmatched.nearest.as_deref().unwrap_or("none"),
                    unmatched.because.join("; "),
                );
                last_word(&message, occasion)
            }
        },
    };
    let mistake = own_mistake(exchange, decision, &reply);
    (reply, mistake)
}

/// A refusal after which asking again cannot help, and would only hide the cause under retries.
fn last_word(message: &str, occasion: Occasion) -> Reply {
    let mut reply = Reply::error(400, "invalid_request_error", message, occasion);
    reply.set_header("x-should-retry", "false");
    reply
}

/// Checks what is about to be sent, so that a bug of ours never looks like the target's.
fn own_mistake(exchange: &Exchange, decision: &Decision, reply: &Reply) -> Option<String> {
    let asked = &exchange.request;
    let kind = match (decision.kind, asked.endpoint()) {
        (Kind::Turn, _) | (_, Endpoint::Root | Endpoint::Hello) => return None,
        _ if reply.status >= 400 => Sent::Error,
        (Kind::Auxiliary, _) if !reply.ends.is_empty() => return None,
        (Kind::Auxiliary, _) => Sent::Message,
        (_, Endpoint::CountTokens) => Sent::TokenCount,
        (_, Endpoint::Models) if asked.path.contains("/v1/models/") => Sent::Model,
        (_, Endpoint::Models) => Sent::Models,
        _ => return None,
    };
    let body = serde_json::from_slice(&reply.body).map_err(|error| error.to_string());
    body.and_then(|body| check_body(kind, &body)).err()
}

fn not_found(occasion: Occasion) -> Reply {
    let (error_type, message) = error_of_status(404);
    Reply::error(404, error_type, message, occasion)
}

/// The models that the mock knows; any other name is as good, as far as messages go.
const MODELS: [(&str, &str); 4] = [
    ("claude-opus-4-8", "Claude Opus 4.8"),
    ("claude-sonnet-5", "Claude Sonnet 5"),
    ("claude-sonnet-4-6", "Claude Sonnet 4.6"),
    ("claude-haiku-4-5-20251001", "Claude Haiku 4.5"),
];

fn model(id: &str, name: &str) -> Value {
    json!({"type": "model", "id": id, "display_name": name, "created_at": "2026-01-01T00:00:00Z"})
}

fn is_built_in(asked: &ApiRequest) -> bool {
    let reads = asked.method == "GET" || asked.method == "HEAD";
    match asked.endpoint() {
        Endpoint::Root | Endpoint::Hello | Endpoint::Models => reads,
        Endpoint::CountTokens => asked.method == "POST",
        Endpoint::Messages | Endpoint::Other => false,
    }
}

/// The answer of the endpoints beside messages; none when there is no such endpoint.
fn built_in(asked: &ApiRequest, occasion: Occasion) -> Option<Reply> {
    match asked.endpoint() {
        Endpoint::Messages | Endpoint::Other => None,
        Endpoint::Root => Some(Reply::json(200, &json!({}), occasion)),
        Endpoint::Hello => Some(Reply::json(200, &json!({"message": "hello"}), occasion)),
        Endpoint::CountTokens => {
            // About four bytes a token: the same for the same body, which is all that a script needs.
            let tokens = (asked.body_bytes / 4).max(1);
            Some(Reply::json(200, &json!({"input_tokens": tokens}), occasion))
        }
        Endpoint::Models => {
            let Some(id) = asked.path.split("/v1/models/").nth(1).filter(|id| !id.is_empty()) else {
                let data: Vec<Value> = MODELS.iter().map(|(id, name)| model(id, name)).collect();
                let list = json!({
                    "data": data, "has_more": false,
                    "first_id": MODELS[0].0, "last_id": MODELS[MODELS.len() - 1].0,
                });
                return Some(Reply::json(200, &list, occasion));
            };
            let (id, name) = MODELS.iter().find(|(known, _)| *known == id)?;
            Some(Reply::json(200, &model(id, name), occasion))
        }
    }
}
