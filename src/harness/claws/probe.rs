//! A visit to a server: what a good orchestrator, its workers and observers do, and what none of them may.
//!
//! The visitors keep the protocol themselves, so that the log of the visit is clean where the server refuses what it
//! has to refuse. What was sent, answered and pushed goes into a transcript; whether that is right is judged elsewhere.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::broker::envelope;
use super::client::{Inbox, Wire};
use super::{PROTOCOL, uuid};
use crate::time;

/// The names of the probes, in the order of their results.
pub const PROBES: [&str; 28] = [
    "frames",
    "subscribe-anything",
    "before-hello",
    "foreign-topic",
    "refusal-text",
    "worker-commands",
    "observer-commands",
    "worker-system",
    "orchestrator-system",
    "spoofed-sender",
    "foreign-task",
    "sender-added",
    "server-time-added",
    "server-time-own",
    "zero-words",
    "one-word",
    "fan-out",
    "latency",
    "joined",
    "left",
    "left-reason",
    "stale",
    "stale-true",
    "gate",
    "malformed-event",
    "malformed-line",
    "command-delivered",
    "role-delivered",
];

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// From a request to its answer.
    pub(crate) reply: Duration,
    /// From what happened to the server's word of it, and to its arrival at every subscriber.
    pub(crate) push: Duration,
    /// From a publish to its arrival, where "within milliseconds" is meant.
    pub(crate) latency: Duration,
    /// From a worker's last frame to its being called stale, at least.
    pub(crate) stale: Duration,
    /// The time after that in which it has to be said.
    pub(crate) scan: Duration,
    /// How many seconds of the server's clock a second is.
    pub(crate) speed: f64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            reply: Duration::from_secs(2),
            push: Duration::from_secs(2),
            latency: Duration::from_millis(250),
            stale: Duration::from_secs(30),
            scan: Duration::from_secs(5),
            speed: 1.0,
        }
    }
}

/// Why there was no visit.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProbeError {
    /// There is no server to talk to.
    #[error("{socket}: {reason}")]
    Connect {
        /// Where it should be.
        socket: String,
        /// What happened instead.
        reason: String,
    },
    /// The server does not let the visitors in.
    #[error("the server did not let the {peer} in: {reason}")]
    Hello {
        /// Who was to join.
        peer: &'static str,
        /// What it answered.
        reason: String,
    },
}

/// A visit that took place.
#[derive(Debug)]
pub(crate) struct Visit {
    /// Lines of JSON: what the observer was pushed, then the facts of each probe.
    pub(crate) transcript: Vec<u8>,
    /// Why it ended before its time.
    pub(crate) trouble: Option<String>,
}

/// Visits the server at a socket. `wanted` are the probes whose facts are told.
pub(crate) async fn probe(
    socket: &Path,
    bounds: Bounds,
    wanted: &[&'static str],
) -> Result<Visit, ProbeError> {
    let mut wire = Wire::new(socket);
    let on = wire
        .connect(bounds.reply)
        .await
        .map_err(|reason| ProbeError::Connect { socket: socket.display().to_string(), reason })?;
    let mut visit = Session { wire, bounds, asked: 0, peers: Vec::new(), facts: Vec::new(), trouble: None };
    visit.join(on, "observer", "observer").await?;
    // Before anybody else joins, so that the observer hears of everybody.
    let subscribed = visit.subscribe(OBSERVER, "**").await;
    visit.join_new("orchestrator", "orchestrator").await?;
    let is_patient = wanted.iter().any(|probe| probe.starts_with("stale"));
    visit.go_through(subscribed, is_patient).await;
    Ok(visit.told(wanted))
}

/// Everybody who takes part, by the number of the connection.
struct Visitor {
    name: &'static str,
    /// The id that the server gave it.
    id: String,
}

struct Session {
    wire: Wire,
    bounds: Bounds,
    asked: u64,
    peers: Vec<Visitor>,
    facts: Vec<Facts>,
    /// Why it makes no sense to go on.
    trouble: Option<String>,
}

/// What a probe sent, and which pushes tell of it.
#[derive(Default)]
struct Facts {
    probe: &'static str,
    steps: Vec<Value>,
    /// The pushes that belong to it are on this topic and hold this text.
    topic: String,
    key: String,
    since: Option<Instant>,
    bound: Duration,
    not_before: Duration,
    /// Whom it is about.
    subject: String,
    /// Who has to get it, and who must not.
    wanted: Vec<&'static str>,
    unwanted: Vec<&'static str>,
}

/// A worker of the visit and how far it is.
struct Worker {
    on: usize,
    name: &'static str,
    visited: Vec<&'static str>,
    at: Instant,
}

const OBSERVER: usize = 0;
const ORCHESTRATOR: usize = 1;
/// Pushes that are told of one probe.
const MOST_PUSHES: usize = 64;
/// A time that no server's clock shows.
const FORGED: &str = "1999-01-01T00:00:00.000Z";

impl Session {
    async fn join_new(&mut self, name: &'static str, role: &str) -> Result<usize, ProbeError> {
        let on = self.wire.connect(self.bounds.reply).await;
        let on = on.map_err(|reason| ProbeError::Hello { peer: name, reason })?;
        self.join(on, name, role).await
    }

    async fn join(&mut self, on: usize, name: &'static str, role: &str) -> Result<usize, ProbeError> {
        self.peers.push(Visitor { name, id: String::new() });
        let hello = json!({"cmd": "hello", "protocol": PROTOCOL, "role": role, "peerName": name});
        let step = self.ask(on, hello).await;
        let reply = &step["reply"];
        match reply["peerId"].as_str() {
            Some(id) if reply["ok"] == true => {
                id.clone_into(&mut self.peers[on].id);
                Ok(on)
            }
            _ => {
                let ended = self.wire.inbox().ended.get(on).cloned().flatten();
                let garbage = self.wire.inbox().first_garbage.clone();
                let reason = match (&reply["error"], garbage, ended) {
                    (Value::String(error), ..) => error.clone(),
                    (_, Some(garbage), _) => format!("it sends what is no JSON object: {garbage}"),
                    (_, None, Some(ended)) => ended,
                    _ if self
                        .trouble
                        .as_deref()
                        .is_some_and(|trouble| trouble.ends_with("closed the connection")) =>
                    {
                        "the server closed the connection".to_owned()
                    }
                    _ if reply.is_null() => {
                        format!("no answer to a hello within {} ms", self.bounds.reply.as_millis())
                    }
                    _ => format!("the answer names no peerId: {reply}"),
                };
                Err(ProbeError::Hello { peer: name, reason })
            }
        }
    }

    /// Sends a request and waits for its answer; both, with the time it took.
    async fn ask(&mut self, on: usize, mut request: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        request["id"] = id.into();
        let line = format!("{request}\n");
        let (name, sent_at) = (self.peers[on].name, Instant::now());
        let sent = self.wire.send(on, line.as_bytes(), self.bounds.reply).await;
        if let Err(reason) = sent {
            self.trouble.get_or_insert(format!("{name}: {reason}"));
            return json!({"peer": name, "sent": request, "reply": null});
        }
        self.answer(on, request, sent_at, &|frame| {
            frame["rid"] == id || frame.get("rid").is_none() && frame["id"] == id
        })
        .await
    }

    async fn answer(&mut self, on: usize, sent: Value, at: Instant, is_it: &dyn Fn(&Value) -> bool) -> Value {
        let name = self.peers[on].name;
        let find = |inbox: &Inbox| {
            let is_reply = |frame: &Value| frame.get("push").is_none() && is_it(frame);
            let found = inbox.frames.iter().find(|one| one.on == on && one.at >= at && is_reply(&one.frame));
            if let Some(found) = found {
                return Some(Some((found.frame.clone(), found.at)));
            }
            inbox.ended.get(on).is_some_and(Option::is_some).then_some(None)
        };
        let reply = self.wire.wait(at + self.bounds.reply, find).await.flatten();
        let Some((frame, came)) = reply else {
            // A second unanswered request shows that there is nobody; more of them cost time and tell nothing.
            let ended = self.wire.inbox().ended.get(on).cloned().flatten();
            let reason =
                ended.unwrap_or_else(|| format!("no answer within {} ms", self.bounds.reply.as_millis()));
            self.trouble.get_or_insert(format!("{name}: {reason}"));
            return json!({"peer": name, "sent": sent, "reply": null});
        };
        json!({"peer": name, "sent": sent, "reply": frame, "ms": millis(came - at)})
    }

    async fn publish(&mut self, on: usize, topic: &str, payload: &Value) -> Value {
        self.ask(on, json!({"cmd": "publish", "topic": topic, "payload": payload})).await
    }

    async fn subscribe(&mut self, on: usize, pattern: &str) -> Value {
        self.ask(on, json!({"cmd": "subscribe", "topic": pattern})).await
    }

    fn id(&self, on: usize) -> String {
        self.peers[on].id.clone()
    }

    /// What a worker publishes about itself.
    fn says(&self, worker: &Worker, fact: &str, data: &Value) -> (String, Value) {
        let id = self.id(worker.on);
        let parent = self.id(ORCHESTRATOR);
        let schema = format!("worker-{fact}-v1");
        let payload = envelope(&id, worker.name, Some(&parent), &schema, self.now(), data);
        (format!("worker.{id}.{fact}"), payload)
    }

    /// The time on the server's clock as the observer last saw it, else ours.
    fn now(&self) -> time::Millis {
        let seen = self.wire.inbox().frames.iter().rev().find_map(|one| one.frame["sentAt"].as_i64());
        seen.filter(|_| self.bounds.speed > 1.0).unwrap_or_else(time::now)
    }

    async fn say(&mut self, worker: &Worker, fact: &str, data: Value) -> Value {
        let (topic, payload) = self.says(worker, fact, &data);
        self.publish(worker.on, &topic, &payload).await
    }

    async fn boot(&mut self, name: &'static str) -> Option<Worker> {
        let on = match self.join_new(name, "worker").await {
            Ok(on) => on,
            Err(error) => {
                self.trouble.get_or_insert(error.to_string());
                return None;
            }
        };
        let mut worker = Worker { on, name, visited: Vec::new(), at: Instant::now() };
        let parent = self.id(ORCHESTRATOR);
        let data = json!({
            "model": "probe", "role": "worker", "parent_peer_id": parent, "mission_summary": "see what the server keeps",
            "capabilities": [], "cwd": "/", "terminal_id": "0",
        });
        self.say(&worker, "boot", data).await;
        self.enter(&mut worker, "PLAN").await;
        Some(worker)
    }

    /// Enters a phase; the answer.
    async fn enter(&mut self, worker: &mut Worker, phase: &'static str) -> Value {
        let prev = worker.visited.last().copied();
        let done: Vec<&str> = worker.visited.iter().copied().chain([phase]).collect();
        let data =
            json!({"phase": phase, "prev": prev, "transition_reason": "next step", "phases_completed": done});
        let step = self.say(worker, "phase", data).await;
        if step["reply"]["ok"] == true {
            worker.visited.push(phase);
            worker.at = Instant::now();
        }
        step
    }

    async fn log(&mut self, worker: &Worker, message: &str) -> (String, Value, Value) {
        let data = json!({"kind": "LOG", "severity": "info", "message": message});
        let (topic, payload) = self.says(worker, "event", &data);
        let step = self.publish(worker.on, &topic, &payload).await;
        (topic, payload, step)
    }

    /// Says something that everybody hears, and waits until the observer has: what was fanned out before has come.
    async fn fence(&mut self, worker: &Worker) {
        let (_, payload, _) = self.log(worker, "so far").await;
        let key = key(&payload);
        let came = |inbox: &Inbox| {
            inbox.frames.iter().any(|one| one.on == OBSERVER && has(&one.frame, &key)).then_some(())
        };
        self.wire.wait(Instant::now() + self.bounds.push, came).await;
    }

    /// Waits until everybody who has to get something has it, within the bound.
    async fn until_delivered(&self, topic: &str, key: &str, since: Instant, wanted: &[&'static str]) {
        let came = |inbox: &Inbox| {
            let got = |name: &str| {
                inbox.frames.iter().any(|one| {
                    let is_it = one.at >= since && self.peers[one.on].name == name;
                    is_it && one.frame["topic"] == topic && has(&one.frame, key)
                })
            };
            wanted.iter().all(|name| got(name)).then_some(())
        };
        self.wire.wait(Instant::now() + self.bounds.push, came).await;
    }

    fn fact(&mut self, probe: &'static str, facts: Facts) {
        let bound = if facts.bound.is_zero() { self.bounds.push } else { facts.bound };
        self.facts.push(Facts { probe, bound, ..facts });
    }

    fn is_over(&self) -> bool {
        self.trouble.is_some()
    }

    async fn go_through(&mut self, subscribed: Value, is_patient: bool) {
        let mut steps = vec![subscribed];
        for pattern in ["worker.**", "system.**", "task.**"] {
            self.subscribe(ORCHESTRATOR, pattern).await;
        }
        let joining = Instant::now();
        let Some(mut worker) = self.boot("worker").await else { return };
        let id = self.id(worker.on);
        steps.push(self.subscribe(worker.on, "**").await);
        let undone = steps[1]["reply"]["subscriptionId"].clone();
        self.ask(worker.on, json!({"cmd": "unsubscribe", "subscriptionId": undone})).await;
        self.fact("subscribe-anything", Facts { steps, ..Facts::default() });
        self.about("joined", "system.peer.joined", &id, joining).await;
        let Some(mut silent) = self.boot("silent").await else { return };
        for phase in ["SPAWN", "DEPLOY", "OBSERVE", "HARVEST", "CLEANUP", "REFLECT"] {
            self.enter(&mut silent, phase).await;
        }
        let Some(other) = self.boot("other").await else { return };
        self.beat(&worker).await;
        self.enter(&mut worker, "SPAWN").await;
        if self.is_over() {
            return;
        }
        self.refusals(&worker, &other).await;
        self.fields(&worker).await;
        self.patterns(&worker).await;
        if self.is_over() {
            return;
        }
        self.before_hello(&other).await;
        self.malformed(&worker).await;
        self.crash(&other).await;
        self.phases(&mut worker).await;
        if self.is_over() {
            return;
        }
        if is_patient {
            self.silence(&worker, &silent).await;
        }
        self.end(&worker, &silent).await;
    }

    /// A sign of life.
    async fn beat(&mut self, worker: &Worker) {
        let inside = (worker.at.elapsed().as_secs_f64() * 1000.0 * self.bounds.speed) as u64;
        let data = json!({
            "current_phase": worker.visited.last(), "time_in_phase_ms": inside, "tokens_used": 0, "cost_usd": 0.0,
            "last_event_id": null, "active_sub_workers": [],
        });
        self.say(worker, "heartbeat", data).await;
    }

    /// Waits for the server's word about a peer.
    async fn about(&mut self, probe: &'static str, topic: &str, subject: &str, since: Instant) {
        let key = Value::from(subject).to_string();
        self.until_delivered(topic, &key, since, &["observer"]).await;
        let (topic, subject) = (topic.to_owned(), subject.to_owned());
        self.fact(probe, Facts { topic, key, subject, since: Some(since), ..Facts::default() });
    }

    /// What has to be refused, and must reach nobody.
    async fn refusals(&mut self, worker: &Worker, other: &Worker) {
        let (id, theirs) = (self.id(worker.on), self.id(other.on));
        let log = json!({"kind": "LOG", "severity": "info", "message": "not mine to say"});
        let own = |session: &Self, schema: &str, data: &Value| {
            envelope(&id, worker.name, None, schema, session.now(), data)
        };
        let pause = |session: &Self, on: usize| {
            let (from, name) = (session.id(on), session.peers[on].name);
            envelope(&from, name, None, "cmd-pause-v1", session.now(), &json!({}))
        };
        let left = |session: &Self, on: usize| {
            let (from, name) = (session.id(on), session.peers[on].name);
            let data = json!({"peerId": theirs, "role": "worker", "reason": "crash"});
            envelope(&from, name, None, "system-peer-left-v1", session.now(), &data)
        };
        let mut spoofed = own(self, "worker-event-v1", &log);
        spoofed["from_peer"] = theirs.clone().into();
        let mut task = own(self, "task-status-v1", &json!({"status": "done"}));
        task["parent_id"] = self.id(ORCHESTRATOR).into();
        let attempts = [
            (
                "foreign-topic",
                worker.on,
                format!("worker.{theirs}.event"),
                own(self, "worker-event-v1", &log),
            ),
            ("worker-commands", worker.on, format!("cmd.{theirs}.pause"), pause(self, worker.on)),
            ("observer-commands", OBSERVER, format!("cmd.{theirs}.pause"), pause(self, OBSERVER)),
            ("worker-system", worker.on, "system.peer.left".into(), left(self, worker.on)),
            ("orchestrator-system", ORCHESTRATOR, "system.peer.left".into(), left(self, ORCHESTRATOR)),
            ("spoofed-sender", worker.on, format!("worker.{id}.event"), spoofed),
            ("foreign-task", worker.on, "task.t_of_nobody.status".into(), task),
        ];
        for (probe, on, topic, payload) in attempts {
            let step = self.publish(on, &topic, &payload).await;
            if probe == "foreign-topic" {
                self.fact("refusal-text", Facts { steps: vec![step.clone()], ..Facts::default() });
            }
            self.fact(probe, Facts { steps: vec![step], topic, key: key(&payload), ..Facts::default() });
        }
        self.fence(worker).await;
    }

    /// What the server adds.
    async fn fields(&mut self, worker: &Worker) {
        let id = self.id(worker.on);
        let log = json!({"kind": "LOG", "severity": "info", "message": "what is added"});
        for probe in ["sender-added", "server-time-added", "server-time-own"] {
            let (topic, mut payload) = self.says(worker, "event", &log);
            match (probe, &mut payload) {
                ("sender-added", Value::Object(fields)) => drop(fields.remove("from_peer")),
                ("server-time-own", payload) => payload["ts_server"] = FORGED.into(),
                _ => {}
            }
            let (since, key) = (Instant::now(), key(&payload));
            let step = self.publish(worker.on, &topic, &payload).await;
            self.until_delivered(&topic, &key, since, &["observer"]).await;
            let facts = Facts {
                steps: vec![step],
                topic,
                key,
                subject: id.clone(),
                since: Some(since),
                ..Facts::default()
            };
            self.fact(probe, facts);
        }
    }

    /// Who hears of what, and how soon.
    async fn patterns(&mut self, worker: &Worker) {
        let id = self.id(worker.on);
        let listeners = [
            ("zero", format!("worker.{id}.event.**")),
            ("one", "worker.*.event".to_owned()),
            ("short", "worker.*".to_owned()),
            ("exact", format!("worker.{id}.event")),
        ];
        let mut opened = Vec::new();
        for (name, pattern) in listeners {
            match self.join_new(name, "observer").await {
                Ok(on) => {
                    self.subscribe(on, &pattern).await;
                    opened.push(on);
                }
                Err(error) => {
                    self.trouble.get_or_insert(error.to_string());
                    return;
                }
            }
        }
        let (since, (topic, payload, step)) = (Instant::now(), self.log(worker, "who hears this").await);
        let key = key(&payload);
        let all = ["observer", "orchestrator", "exact"];
        self.until_delivered(&topic, &key, since, &["observer", "orchestrator", "exact", "one", "zero"])
            .await;
        self.fence(worker).await;
        let facts = |wanted: &[&'static str], unwanted: &[&'static str]| Facts {
            steps: vec![step.clone()],
            topic: topic.clone(),
            key: key.clone(),
            since: Some(since),
            wanted: wanted.to_vec(),
            unwanted: unwanted.to_vec(),
            ..Facts::default()
        };
        self.fact("zero-words", facts(&["zero"], &[]));
        self.fact("one-word", facts(&["one"], &["short"]));
        self.fact("fan-out", facts(&all, &[]));
        self.fact("latency", Facts { bound: self.bounds.latency, ..facts(&all, &[]) });
        for on in opened {
            self.wire.close(on);
        }
    }

    /// A stranger publishes.
    async fn before_hello(&mut self, other: &Worker) {
        let Ok(on) = self.wire.connect(self.bounds.reply).await else { return };
        self.peers.push(Visitor { name: "stranger", id: String::new() });
        let data = json!({"kind": "LOG", "severity": "info", "message": "nobody said this"});
        let (topic, payload) = self.says(other, "event", &data);
        let step = self.publish(on, &topic, &payload).await;
        self.fact("before-hello", Facts { steps: vec![step], topic, key: key(&payload), ..Facts::default() });
        // The same connection then sends what is no JSON, and has to be answered after it.
        let sent_at = Instant::now();
        let mut steps = Vec::new();
        if self.wire.send(on, b"{\"cmd\":\"publish\",\n", self.bounds.reply).await.is_ok() {
            let is_error = |frame: &Value| frame.get("rid").is_none() && frame["ok"] == false;
            let trouble = self.trouble.take();
            steps.push(self.answer(on, json!("{\"cmd\":\"publish\","), sent_at, &is_error).await);
            steps.push(self.ask(on, json!({"cmd": "ping"})).await);
            // That this connection ends is what the probe is about, and no reason to stop.
            self.trouble = trouble;
        }
        self.fact("malformed-line", Facts { steps, ..Facts::default() });
        self.wire.close(on);
    }

    /// An event that is not what its schema says.
    async fn malformed(&mut self, worker: &Worker) {
        let since = Instant::now();
        let (topic, payload) = self.says(worker, "event", &json!({"kind": "NOISE"}));
        let step = self.publish(worker.on, &topic, &payload).await;
        let id = self.id(worker.on);
        self.about("malformed-event", "system.malformed.received", &id, since).await;
        if let Some(facts) = self.facts.last_mut() {
            facts.steps.push(step);
        }
    }

    /// A worker drops its connection without a word.
    async fn crash(&mut self, other: &Worker) {
        let (id, since) = (self.id(other.on), Instant::now());
        self.wire.close(other.on);
        self.about("left-reason", "system.peer.left", &id, since).await;
    }

    /// A step that the phases do not allow, then those that they do, with a request and its answer on the way.
    async fn phases(&mut self, worker: &mut Worker) {
        let (id, since) = (self.id(worker.on), Instant::now());
        let step = self.enter(worker, "HARVEST").await;
        self.about("gate", "system.gate.fired", &id, since).await;
        if let Some(facts) = self.facts.last_mut() {
            facts.steps.push(step);
        }
        if worker.visited.last() == Some(&"SPAWN") {
            self.enter(worker, "DEPLOY").await;
            self.enter(worker, "OBSERVE").await;
        }
        let request = uuid();
        let data = json!({
            "kind": "REQUEST", "severity": "info", "message": "may I go on?", "request_id": request,
            "data": {"request_type": "decision", "options": [{"id": "A", "label": "yes"}]},
        });
        self.say(worker, "event", data).await;
        let (from, name) = (self.id(ORCHESTRATOR), self.peers[ORCHESTRATOR].name);
        let approved = json!({"correlation_id": request, "payload": {"approved": true}});
        let mut payload = envelope(&from, name, None, "cmd-approve-v1", self.now(), &approved);
        payload["correlation_id"] = request.into();
        self.command("command-delivered", &format!("cmd.{id}.approve"), &payload, &["worker"], &["silent"])
            .await;
        if worker.visited.last() == Some(&"OBSERVE") {
            self.enter(worker, "HARVEST").await;
        }
        self.enter(worker, "CLEANUP").await;
        self.enter(worker, "REFLECT").await;
    }

    async fn command(
        &mut self,
        probe: &'static str,
        topic: &str,
        payload: &Value,
        wanted: &[&'static str],
        unwanted: &[&'static str],
    ) {
        let (since, key) = (Instant::now(), key(payload));
        let step = self.publish(ORCHESTRATOR, topic, payload).await;
        self.until_delivered(topic, &key, since, wanted).await;
        let (wanted, unwanted) = (wanted.to_vec(), unwanted.to_vec());
        let topic = topic.to_owned();
        self.fact(
            probe,
            Facts { steps: vec![step], topic, key, since: Some(since), wanted, unwanted, ..Facts::default() },
        );
    }

    /// One worker falls silent, the other gives no heartbeat and goes on talking: any frame counts.
    async fn silence(&mut self, worker: &Worker, silent: &Worker) {
        let (stale, scan) =
            (self.bounds.stale.div_f64(self.bounds.speed), self.bounds.scan.div_f64(self.bounds.speed));
        let since = silent.at;
        let key = Value::from(self.id(silent.on)).to_string();
        let mut until = since + stale + scan;
        let mut is_seen = false;
        while Instant::now() < until && !self.is_over() {
            self.log(worker, "still here").await;
            let came = |inbox: &Inbox| {
                let is_stale = |frame: &Value| frame["topic"] == "system.peer.stale" && has(frame, &key);
                inbox.frames.iter().any(|one| one.on == OBSERVER && is_stale(&one.frame)).then_some(())
            };
            let next = until.min(Instant::now() + scan);
            if is_seen {
                tokio::time::sleep_until(next.into()).await;
            } else if self.wire.wait(next, came).await.is_some() {
                // Were the other one thought to be silent too, that would be said by then.
                is_seen = true;
                until = worker.at.max(since) + stale + scan;
            }
        }
        let facts = |subject: String| Facts {
            topic: "system.peer.stale".into(),
            key: Value::from(subject.as_str()).to_string(),
            subject,
            since: Some(since),
            bound: stale + scan,
            ..Facts::default()
        };
        let (quiet, talking) = (self.id(silent.on), self.id(worker.on));
        self.fact("stale", Facts { not_before: stale.mul_f64(0.9), ..facts(quiet.clone()) });
        self.fact("stale-true", facts(talking));
        if is_seen {
            let (from, name) = (self.id(ORCHESTRATOR), self.peers[ORCHESTRATOR].name);
            let data = json!({"text": "[CLAWS_CMD r=nudge] status: {}"});
            let payload = envelope(&from, name, None, "cmd-inject-text-v1", self.now(), &data);
            self.publish(ORCHESTRATOR, &format!("cmd.{quiet}.inject_text"), &payload).await;
        }
    }

    /// The orchestrator ends the session: everybody is told, completes and leaves.
    async fn end(&mut self, worker: &Worker, silent: &Worker) {
        let (from, name) = (self.id(ORCHESTRATOR), self.peers[ORCHESTRATOR].name);
        let data = json!({"command": "abort", "reason": "the visit is over"});
        let payload = envelope(&from, name, None, "cmd-abort-v1", self.now(), &data);
        self.command("role-delivered", "cmd.role.worker", &payload, &["worker", "silent"], &["orchestrator"])
            .await;
        for one in [silent, worker] {
            let data = json!({
                "result": "ok", "summary": "seen", "artifacts": [], "phases_completed": one.visited,
                "total_tokens": 0, "total_cost_usd": 0.0, "duration_ms": millis(one.at.elapsed()) as u64,
            });
            self.say(one, "complete", data).await;
            let (id, since) = (self.id(one.on), Instant::now());
            self.wire.close(one.on);
            if one.on == worker.on {
                self.about("left", "system.peer.left", &id, since).await;
            }
        }
    }

    /// The transcript of it all.
    fn told(self, wanted: &[&'static str]) -> Visit {
        let inbox = self.wire.inbox();
        let peers: serde_json::Map<String, Value> =
            self.peers.iter().map(|peer| (peer.name.to_owned(), peer.id.clone().into())).collect();
        let bounds = json!({
            "reply_ms": millis(self.bounds.reply), "push_ms": millis(self.bounds.push),
            "latency_ms": millis(self.bounds.latency), "stale_ms": millis(self.bounds.stale),
            "scan_ms": millis(self.bounds.scan), "speed": self.bounds.speed,
        });
        let mut lines = vec![json!({
            "type": "probe.started", "protocol": PROTOCOL, "peers": peers, "bounds": bounds, "probes": wanted,
        })];
        let is_message = |frame: &Value| frame["push"] == "message" && frame["topic"].is_string();
        let of_observer = inbox.frames.iter().filter(|one| one.on == OBSERVER && is_message(&one.frame));
        lines.extend(of_observer.map(|one| one.frame.clone()));
        for facts in self.facts.iter().filter(|facts| wanted.contains(&facts.probe)) {
            lines.push(facts.told(&inbox, &self.peers));
        }
        if wanted.contains(&"frames") {
            lines.push(json!({
                "type": "probe", "probe": "frames", "garbage": inbox.garbage, "first_garbage": inbox.first_garbage,
            }));
        }
        lines.push(json!({"type": "probe.finished", "trouble": self.trouble}));
        let transcript = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
        Visit { transcript, trouble: self.trouble.clone() }
    }
}

impl Facts {
    /// The line of the transcript: what was sent and answered, and which pushes told of it.
    fn told(&self, inbox: &Inbox, peers: &[Visitor]) -> Value {
        let belongs = |frame: &Value| {
            !self.key.is_empty() && frame["topic"] == self.topic.as_str() && has(frame, &self.key)
        };
        let is_since = |at: Instant| self.since.is_none_or(|since| at >= since);
        let after = |at: Instant| self.since.map(|since| millis(at.saturating_duration_since(since)));
        let pushes = inbox.frames.iter().filter(|one| is_since(one.at) && one.frame.get("push").is_some());
        let pushes = pushes.filter(|one| belongs(&one.frame));
        let pushes: Vec<Value> = pushes
            .take(MOST_PUSHES)
            .map(|one| json!({"peer": peers[one.on].name, "ms": after(one.at), "push": one.frame}))
            .collect();
        json!({
            "type": "probe", "probe": self.probe, "subject": self.subject, "steps": self.steps, "pushes": pushes,
            "wanted": self.wanted, "unwanted": self.unwanted, "bound_ms": millis(self.bound),
            "not_before_ms": millis(self.not_before),
        })
    }
}

/// What a payload is recognised by wherever it turns up: its id.
fn key(payload: &Value) -> String {
    payload["id"].to_string()
}

/// Whether a payload holds this text.
fn has(frame: &Value, key: &str) -> bool {
    frame["payload"].to_string().contains(key)
}

/// Milliseconds, to a hundredth.
fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 100_000.0).round() / 100.0
}
