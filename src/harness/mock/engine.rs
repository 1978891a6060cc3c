//! The script mounted in wiremock, which chooses the entry that answers and gives its answer.
//!
//! wiremock keeps every request until it is dropped, up to three times over, and works behind one lock. So it is asked
//! with a reference: the front parses and validates a request once, leaves it in the [`ScriptState`], and sends only
//! its number and endpoint. Only where a user's own mock is mounted does the whole request follow. What wiremock
//! replies is the answer; how it is to be delivered stands in the [`Decision`] that the entry leaves behind.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use wiremock::{Match, Mock, MockServer, Request, Respond, ResponseTemplate};

use super::answer::{Answer, AnswerSeed};
use super::dialect::{self, ApiError};
use super::fault::choice::faults_of_turns;
use super::fault::{Fault, FaultKind, HttpFault};
use super::journal::{Kind, Unmatched};
use super::matcher::nearest;
use super::pace::Pace;
use super::plan::cut_offset;
use super::reply::{Reply, Speaks};
use super::request::{ApiRequest, Body, Endpoint};
use super::script::{InvalidRequests, Script, Turn};
use super::sse;
use super::validate::RequestFinding;

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
    /// For each dialect the faults of each turn, in the order of its attempts; or why one of them fits no answer there.
    faults: [OnceLock<Result<Vec<Vec<Fault>>, String>>; dialect::ALL.len()],
    /// The faults that were given beside the script's.
    given: Vec<Fault>,
    uses: Vec<AtomicU64>,
    auxiliary_uses: AtomicU64,
    open: Mutex<HashMap<u64, Arc<Exchange>>>,
}

impl ScriptState {
    pub(super) fn new(script: Script, given: Vec<Fault>) -> Self {
        let uses = script.turns.iter().map(|_| AtomicU64::new(0)).collect();
        ScriptState {
            script,
            faults: Default::default(),
            given,
            uses,
            auxiliary_uses: AtomicU64::new(0),
            open: Mutex::default(),
        }
    }

    /// The faults of each turn for a client that speaks this dialect; or why one of them fits no answer.
    pub(super) fn faults(&self, spoken: Speaks) -> Result<&[Vec<Fault>], &str> {
        let place = dialect::ALL.iter().position(|known| known.name() == spoken.name()).unwrap_or(0);
        let faults = self.faults[place].get_or_init(|| faults_of_turns(&self.script, &self.given, spoken));
        faults.as_deref().map_err(String::as_str)
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
    request: &ApiRequest,
    fault: Option<&FaultKind>,
    seed: AnswerSeed,
) -> Reply {
    let facts = &request.facts;
    let answer = Answer::of_turn(turn, &facts.model, seed);
    let mut reply = Reply::of_answer(answer, request.dialect, request.asked(), facts.stream, fault, seed);
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
            Entry::Auxiliary => asked.is_message() && asked.facts.side.is_some(),
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
                let turn = &state.script.turns[index];
                let (faults, mistake) = match state.faults(asked.dialect) {
                    Ok(faults) => (&faults[index][..], None),
                    Err(message) => (&[][..], Some(message.to_owned())),
                };
                let earlier = state.uses[index].fetch_add(1, Ordering::Relaxed);
                let seed = state.seed(index as u64, earlier);
                let decision = Decision {
                    entry: Some(turn.name.clone()),
                    attempt: earlier + 1,
                    fault: fault_of_attempt(faults, earlier).cloned(),
                    pace: pace_of_attempt(faults, earlier, &turn.pace),
                    mistake: mistake.or_else(|| unsayable(turn, asked, seed)),
                    ..Decision::new(Kind::Turn, seed)
                };
                let reply = reply_of_turn(turn, asked, decision.fault_kind(), seed);
                return (decision, reply);
            }
            Entry::Auxiliary => {
                let earlier = state.auxiliary_uses.fetch_add(1, Ordering::Relaxed);
                let seed = state.seed(AUXILIARY, earlier);
                let entry = facts.side.map(|side| side.name.clone());
                let answer = Answer::of_text(facts.side.map_or("", |side| &side.answer), &facts.model, seed);
                let reply = Reply::of_answer(answer, asked.dialect, asked.asked(), facts.stream, None, seed);
                (Decision { entry, ..Decision::new(Kind::Auxiliary, seed) }, reply)
            }
            Entry::BuiltIn => {
                let body = asked.dialect.built_in(asked);
                let reply = body.map(|body| Reply::json(asked.dialect, 200, &body, seed));
                (Decision::new(Kind::BuiltIn, seed), reply.unwrap_or_else(|| not_found(asked.dialect, seed)))
            }
            Entry::Refusal => {
                let message = exchange.findings.first().map_or_else(
                    || "the body is not a JSON object".to_owned(),
                    |found| format!("{} {}", found.pointer, found.message).trim().to_owned(),
                );
                (Decision::new(Kind::Refused, seed), last_word(asked.dialect, &message, seed))
            }
            Entry::Nothing if asked.is_message() => {
                let unmatched = Unmatched::new(asked, nearest(&state.script.turns, asked));
                let message = format!(
                    "clawgate: no turn of the script answers this request; the nearest is {} ({})",
                    unmatched.nearest.as_deref().unwrap_or("none"),
                    unmatched.because.join("; "),
                );
                let decision = Decision::new(Kind::Unmatched, seed);
                (
                    Decision { unmatched: Some(unmatched), ..decision },
                    last_word(asked.dialect, &message, seed),
                )
            }
            Entry::Nothing => (Decision::new(Kind::Unmatched, seed), not_found(asked.dialect, seed)),
        };
        // Checked before it is sent, so that a bug of ours never looks like the target's.
        let is_answer = decision.kind == Kind::Auxiliary;
        decision.mistake = asked.dialect.check_built_in(asked, &reply, is_answer).err();
        (decision, reply)
    }
}

/// Why this API cannot say what a turn says, if it cannot. What the first dialect says was looked at when the server
/// started, unless only another one can say it.
fn unsayable(turn: &Turn, asked: &ApiRequest, seed: AnswerSeed) -> Option<String> {
    if turn.is_checked && asked.dialect.name() == dialect::ALL[0].name() {
        return None;
    }
    let message = asked.dialect.check_answer(&Answer::of_turn(turn, &asked.facts.model, seed)).err()?;
    Some(format!("turn `{}`: {message}", turn.name))
}

/// A refusal after which asking again cannot help, and would only hide the cause under retries.
fn last_word(dialect: Speaks, message: &str, seed: AnswerSeed) -> Reply {
    let fault = HttpFault::refusal(message);
    let mut reply = Reply::error(dialect, &ApiError::of_fault(dialect, &fault, seed), seed);
    for (name, value) in dialect::fault_headers(dialect, &fault) {
        reply.set_header(&name, &value);
    }
    reply
}

fn not_found(dialect: Speaks, seed: AnswerSeed) -> Reply {
    Reply::error(dialect, &ApiError::of_status(dialect, 404, seed), seed)
}

fn is_built_in(asked: &ApiRequest) -> bool {
    let reads = asked.method == "GET" || asked.method == "HEAD";
    match asked.endpoint {
        Endpoint::Root | Endpoint::Hello | Endpoint::Models => reads,
        Endpoint::CountTokens => asked.method == "POST",
        Endpoint::Messages | Endpoint::Other => false,
    }
}
