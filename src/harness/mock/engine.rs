//! The script mounted in wiremock, which chooses the entry that answers and gives its answer.
//!
//! wiremock keeps every request until it is dropped, up to three times over, and works behind one lock. So it is asked
//! with a reference: the front parses and validates a request once, leaves it in the [`ScriptState`], and sends only
//! its number and endpoint. Only where a user's own mock is mounted does the whole request follow. What wiremock
//! replies is the answer; how it is to be delivered stands in the [`Decision`] that the entry leaves behind.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::{Value, json};
use wiremock::{Match, Mock, MockServer, Request, Respond, ResponseTemplate};

use super::answer::{Answer, AnswerSeed};
use super::auxiliary::Auxiliary;
use super::error_body::error_of_status;
use super::fault::{Fault, FaultKind};
use super::journal::{Kind, Unmatched};
use super::matcher::nearest;
use super::pace::Pace;
use super::plan::cut_offset;
use super::reply::Reply;
use super::request::{ApiRequest, Body, Endpoint};
use super::script::{InvalidRequests, Script, Turn};
use super::sse;
use super::validate::{BodyKind, RequestFinding, check_body};

/// Tells wiremock's matchers which request is asked about, where the query is the client's own.
pub(super) const NUMBER_HEADER: &str = "x-clawgate-request";
/// The header by which a user's own mock asks for a fault of the transport; it is never sent on.
pub(crate) const FAULT_HEADER: &str = "x-clawgate-fault";

/// Labels of the answers that no turn gives, apart from the numbers of turns.
const AUXILIARY: u64 = 1 << 32;
const BUILT_IN: u64 = 2 << 32;
const NOT_HTTP: u64 = 3 << 32;
const MOUNTED: u64 = 4 << 32;

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) number: u64,
    pub(super) request: ApiRequest,
    pub(super) findings: Vec<RequestFinding>,
    /// Set once, by the entry that answers.
    pub(super) decision: OnceLock<Decision>,
}

/// Which entry answers, and how its answer is delivered.
#[derive(Debug)]
pub(super) struct Decision {
    pub(super) kind: Kind,
    pub(super) entry: Option<String>,
    pub(super) attempt: u64,
    pub(super) fault: Option<Fault>,
    pub(super) pace: Pace,
    pub(super) seed: AnswerSeed,
    pub(super) unmatched: Option<Unmatched>,
    /// Where each event of the body ends; empty when it is no stream.
    pub(super) ends: Vec<usize>,
    /// What is wrong with the answer itself, which is not the client's fault.
    pub(super) mistake: Option<String>,
}

impl Decision {
    fn new(kind: Kind, seed: AnswerSeed) -> Self {
        Decision {
            kind,
            entry: None,
            attempt: 1,
            fault: None,
            pace: Pace::default(),
            seed,
            unmatched: None,
            ends: Vec::new(),
            mistake: None,
        }
    }

    pub(super) fn fault_kind(&self) -> Option<&FaultKind> {
        self.fault.as_ref().map(|fault| &fault.kind)
    }
}

/// The script and the requests being answered: what the front and wiremock's matchers share.
#[derive(Debug)]
pub(super) struct ScriptState {
    pub(super) script: Script,
    /// The faults of each turn, in the order of its attempts.
    faults: Vec<Vec<Fault>>,
    uses: Vec<AtomicU64>,
    auxiliary_uses: AtomicU64,
    open: Mutex<HashMap<u64, Arc<Exchange>>>,
}

impl ScriptState {
    pub(super) fn new(script: Script, faults: Vec<Vec<Fault>>) -> Self {
        let uses = script.turns.iter().map(|_| AtomicU64::new(0)).collect();
        ScriptState { script, faults, uses, auxiliary_uses: AtomicU64::new(0), open: Mutex::default() }
    }

    pub(super) fn open(&self) -> MutexGuard<'_, HashMap<u64, Arc<Exchange>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_up(&self, request: &Request) -> Option<Arc<Exchange>> {
        let number = match request.headers.get(NUMBER_HEADER) {
            Some(number) => number.to_str().ok()?,
            None => request.url.query()?,
        };
        let number = number.parse().ok()?;
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

    /// The seed of an answer to what is no request.
    pub(super) fn seed_of_refusal(&self) -> AnswerSeed {
        self.seed(NOT_HTTP, 0)
    }

    fn seed(&self, entry: u64, earlier: u64) -> AnswerSeed {
        AnswerSeed { seed: self.script.seed, entry, earlier }
    }

    /// What the reply of a user's own mock means for its delivery. Its headers name the fault, if there is one.
    pub(super) fn decide_mounted(&self, number: u64, reply: &mut Reply) -> Decision {
        let mut decision = Decision::new(Kind::Mounted, self.seed(MOUNTED, number));
        let is = |wanted: &str, name: &str| name.eq_ignore_ascii_case(wanted);
        let is_stream = reply
            .headers
            .iter()
            .any(|(name, value)| is("content-type", name) && value.starts_with("text/event-stream"));
        if is_stream {
            reply.ends = sse::event_ends(&reply.body);
        }
        let wanted = reply.headers.iter().find(|(name, _)| is(FAULT_HEADER, name));
        let fault = wanted.map(|(_, value)| transport_fault(value, reply));
        reply.headers.retain(|(name, _)| !is(FAULT_HEADER, name));
        match fault {
            None => {}
            Some(Ok(Fault { kind: FaultKind::Slow(pace), .. })) => decision.pace = pace,
            Some(Ok(fault)) => decision.fault = Some(fault),
            Some(Err(message)) => decision.mistake = Some(message),
        }
        decision
    }
}

/// The fault that a user's own mock asks for. What it answers is its own affair, so only the delivery can go wrong.
fn transport_fault(text: &str, reply: &Reply) -> Result<Fault, String> {
    let fault: Fault = text.parse().map_err(|error| format!("{FAULT_HEADER}: {error}"))?;
    let fits = match fault.kind {
        FaultKind::Cut { at, .. } => cut_offset(reply, at).is_some(),
        FaultKind::EndlessPings { after_event, .. } => {
            after_event <= reply.ends.len() && !reply.ends.is_empty()
        }
        FaultKind::Slow(_) | FaultKind::ContentLength(_) => true,
        _ => {
            return Err(format!(
                "{FAULT_HEADER}: `{fault}` changes what is said, which the mock says itself; expected close, rst, \
                 stall, end, slow, content-length or endless-pings"
            ));
        }
    };
    if !fits {
        return Err(format!("{FAULT_HEADER}: the answer has no place for `{fault}`"));
    }
    if fault.turn.is_some() || fault.times.is_some() {
        return Err(format!("{FAULT_HEADER}: `turn` and `times` are for turns; use `up_to_n_times`"));
    }
    Ok(fault)
}

/// The fault of an attempt, counted from 0: each fault takes as many attempts as its `times`, the last one all others.
/// `slow` takes none; it goes together with any other.
fn fault_of_attempt(faults: &[Fault], attempt: u64) -> Option<&Fault> {
    let mut before = 0;
    faults.iter().filter(|fault| !matches!(fault.kind, FaultKind::Slow(_))).find(|fault| {
        before += fault.times.map_or(u64::MAX / 2, u64::from);
        attempt < before
    })
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
    seed: AnswerSeed,
) -> Reply {
    let mut reply = Reply::of_answer(Answer::of_turn(turn, model, seed), stream, fault, seed);
    for (name, value) in &turn.headers {
        reply.set_header(name, value);
    }
    reply
}

/// Mounts the user's own mocks and the whole script. wiremock asks by priority, low first, and in the order of mounting
/// among equals: a mock of the user's comes before the turns unless its priority says otherwise.
pub(super) async fn mount(state: &Arc<ScriptState>, server: &MockServer) {
    for mock in &state.script.mocks {
        server.register(mock.make()).await;
    }
    let mut entries = vec![(1, Entry::Refusal)];
    for (index, turn) in state.script.turns.iter().enumerate() {
        // The turn with the most conditions wins.
        entries.push((100 - turn.when.specificity().min(90) as u8, Entry::Turn(index)));
    }
    entries.extend([(150, Entry::Auxiliary), (150, Entry::BuiltIn), (255, Entry::Nothing)]);
    for (priority, entry) in entries {
        let scripted = || Scripted { state: Arc::clone(state), entry };
        server.register(Mock::given(scripted()).respond_with(scripted()).with_priority(priority)).await;
    }
}

#[derive(Debug, Clone, Copy)]
enum Entry {
    /// A request that the API refuses.
    Refusal,
    Turn(usize),
    /// Work on the side.
    Auxiliary,
    /// The endpoints beside messages.
    BuiltIn,
    Nothing,
}

/// An entry of the script as wiremock sees it.
struct Scripted {
    state: Arc<ScriptState>,
    entry: Entry,
}

impl Match for Scripted {
    fn matches(&self, request: &Request) -> bool {
        let Some(exchange) = self.state.look_up(request) else { return false };
        let asked = &exchange.request;
        match self.entry {
            Entry::Refusal => {
                let unreadable = !matches!(asked.body, Body::Json(_));
                let strict = self.state.script.invalid_requests == InvalidRequests::Refuse;
                asked.is_message() && (unreadable || (strict && !exchange.findings.is_empty()))
            }
            Entry::Turn(index) => self.state.script.turns[index].when.matches(asked),
            Entry::Auxiliary => asked.is_message() && asked.facts.auxiliary.is_some(),
            Entry::BuiltIn => is_built_in(asked),
            Entry::Nothing => true,
        }
    }
}

impl Respond for Scripted {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let Some(exchange) = self.state.look_up(request) else { return ResponseTemplate::new(500) };
        let (mut decision, mut reply) = self.answer(&exchange);
        decision.ends = std::mem::take(&mut reply.ends);
        // wiremock asks one entry, once.
        _ = exchange.decision.set(decision);
        let template = ResponseTemplate::new(reply.status).set_body_bytes(reply.body);
        let headers = reply.headers.iter();
        headers.fold(template, |template, (name, value)| template.append_header(&**name, value.as_bytes()))
    }
}

impl Scripted {
    fn answer(&self, exchange: &Exchange) -> (Decision, Reply) {
        let state = &self.state;
        let asked = &exchange.request;
        let facts = &asked.facts;
        let seed = state.seed(BUILT_IN, exchange.number);
        let (mut decision, reply) = match self.entry {
            Entry::Turn(index) => {
                let (turn, faults) = (&state.script.turns[index], &state.faults[index]);
                let earlier = state.uses[index].fetch_add(1, Ordering::Relaxed);
                let seed = state.seed(index as u64, earlier);
                let decision = Decision {
                    entry: Some(turn.name.clone()),
                    attempt: earlier + 1,
                    fault: fault_of_attempt(faults, earlier).cloned(),
                    pace: pace_of_attempt(faults, earlier, &turn.pace),
                    ..Decision::new(Kind::Turn, seed)
                };
                let reply = reply_of_turn(turn, &facts.model, facts.stream, decision.fault_kind(), seed);
                // Turns were checked when the server started.
                return (decision, reply);
            }
            Entry::Auxiliary => {
                let earlier = state.auxiliary_uses.fetch_add(1, Ordering::Relaxed);
                let seed = state.seed(AUXILIARY, earlier);
                let entry = facts.auxiliary.map(|kind| kind.name().to_owned());
                let answer =
                    Answer::of_text(facts.auxiliary.map_or("", Auxiliary::answer), &facts.model, seed);
                let reply = Reply::of_answer(answer, facts.stream, None, seed);
                (Decision { entry, ..Decision::new(Kind::Auxiliary, seed) }, reply)
            }
            Entry::BuiltIn => {
                (Decision::new(Kind::BuiltIn, seed), built_in(asked, seed).unwrap_or_else(|| not_found(seed)))
            }
            Entry::Refusal => {
                let message = exchange.findings.first().map_or_else(
                    || "the body is not a JSON object".to_owned(),
                    |found| format!("{} {}", found.pointer, found.message).trim().to_owned(),
                );
                (Decision::new(Kind::Refused, seed), last_word(&message, seed))
            }
            Entry::Nothing if asked.is_message() => {
                let unmatched = Unmatched::new(asked, nearest(&state.script.turns, asked));
                let message = format!(
                    "clawgate: no turn of the script answers this request; the nearest is {} ({})",
                    unmatched.nearest.as_deref().unwrap_or("none"),
                    unmatched.because.join("; "),
                );
                let decision = Decision::new(Kind::Unmatched, seed);
                (Decision { unmatched: Some(unmatched), ..decision }, last_word(&message, seed))
            }
            Entry::Nothing => (Decision::new(Kind::Unmatched, seed), not_found(seed)),
        };
        decision.mistake = own_mistake(asked, decision.kind, &reply);
        (decision, reply)
    }
}

/// A refusal after which asking again cannot help, and would only hide the cause under retries.
fn last_word(message: &str, seed: AnswerSeed) -> Reply {
    let mut reply = Reply::error(400, "invalid_request_error", message, seed);
    reply.set_header("x-should-retry", "false");
    reply
}

/// Checks what is about to be sent, so that a bug of ours never looks like the target's.
fn own_mistake(asked: &ApiRequest, kind: Kind, reply: &Reply) -> Option<String> {
    let kind = match (kind, asked.endpoint()) {
        (_, Endpoint::Root | Endpoint::Hello) => return None,
        _ if reply.status >= 400 => BodyKind::Error,
        (Kind::Auxiliary, _) if !reply.ends.is_empty() => return None,
        (Kind::Auxiliary, _) => BodyKind::Message,
        (_, Endpoint::CountTokens) => BodyKind::TokenCount,
        (_, Endpoint::Models) if asked.path.contains("/v1/models/") => BodyKind::Model,
        (_, Endpoint::Models) => BodyKind::Models,
        _ => return None,
    };
    let body = serde_json::from_slice(&reply.body).map_err(|error| error.to_string());
    body.and_then(|body| check_body(kind, &body)).err()
}

fn not_found(seed: AnswerSeed) -> Reply {
    let (error_type, message) = error_of_status(404);
    Reply::error(404, error_type, message, seed)
}

/// The models that the mock knows; any other name is as good, as far as messages go.
const MODELS: [(&str, &str); 4] = [
    ("claude-opus-4-8", "Claude Opus 4.8"),
    ("claude-sonnet-5", "Claude Sonnet 5"),
    ("claude-sonnet-4-6", "Claude Sonnet 4.6"),
    ("claude-haiku-4-5-20251001", "Claude Haiku 4.5"),
];

fn model((id, name): &(&str, &str)) -> Value {
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

/// The answer of the endpoints beside messages; none when there is no such model.
fn built_in(asked: &ApiRequest, seed: AnswerSeed) -> Option<Reply> {
    let body = match asked.endpoint() {
        Endpoint::Messages | Endpoint::Other => return None,
        Endpoint::Root => json!({}),
        Endpoint::Hello => json!({"message": "hello"}),
        // About four bytes a token: the same for the same body, which is all that a script needs.
        Endpoint::CountTokens => json!({"input_tokens": (asked.body_bytes / 4).max(1)}),
        Endpoint::Models => match asked.path.split("/v1/models/").nth(1).filter(|id| !id.is_empty()) {
            Some(id) => model(MODELS.iter().find(|(known, _)| *known == id)?),
            None => json!({
                "data": MODELS.iter().map(model).collect::<Vec<_>>(), "has_more": false,
                "first_id": MODELS[0].0, "last_id": MODELS[MODELS.len() - 1].0,
            }),
        },
    };
    Some(Reply::json(200, &body, seed))
}
