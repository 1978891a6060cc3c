//! What the server decides, line by line: who may publish what, who hears of it, and what the server says itself.
//!
//! No socket and no clock is in here: lines and times come in, lines go out.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use serde_json::{Map, Value, json};

use super::conventions::{complaint, data, is_topic, matches, may_follow};
use super::{PROTOCOL, uuid};
use crate::time::{Millis, rfc3339};

/// From the last frame of a worker to the report that it is silent (§7).
pub(super) const STALE: Millis = 30_000;
/// Between two heartbeats (§3.4).
const BEAT: Millis = 10_000;
/// How a publish on somebody else's topic is refused (§10).
const FORBIDDEN: &str = "publish forbidden — not your topic";

/// What the broker wants done.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Output {
    /// A line for a connection.
    Send(u64, Value),
    /// A push for a connection.
    Push(u64, Value),
    /// A record for the log.
    Log(Value),
    /// A connection is closed.
    Close(u64),
}

#[derive(Debug)]
struct Peer {
    id: String,
    role: String,
    name: String,
    /// Patterns by the id of their subscription.
    subscriptions: BTreeMap<String, String>,
    last_seen: Millis,
    is_stale: bool,
    phase: Option<String>,
    /// Where the orchestrator has told it to jump.
    set_phase: Option<String>,
    /// Whether it said that it is done, or dying.
    has_ended: bool,
}

/// The server without its sockets.
#[derive(Debug, Default)]
pub(super) struct Broker {
    peers: BTreeMap<u64, Peer>,
    joined: u64,
    subscribed: u64,
    sequence: u64,
    /// The worker of each task.
    tasks: BTreeMap<String, String>,
    /// What it does wrong, by the name of the probe that finds it.
    wrong: BTreeSet<String>,
    out: Vec<Output>,
    /// What was refused to whom, in words.
    refused: Vec<String>,
}

/// How many refusals are kept in words.
const MOST_REFUSED: usize = 100;

impl Broker {
    pub(super) fn new(wrong: impl IntoIterator<Item = String>) -> Self {
        Self { wrong: wrong.into_iter().collect(), ..Self::default() }
    }

    /// What is to be done since the last time.
    pub(super) fn take(&mut self) -> Vec<Output> {
        mem::take(&mut self.out)
    }

    /// What was refused, in words.
    pub(super) fn refused(&self) -> &[String] {
        &self.refused
    }

    fn is_wrong(&self, probe: &str) -> bool {
        self.wrong.contains(probe)
    }

    /// A line came in.
    pub(super) fn line(&mut self, from: u64, line: &[u8], now: Millis) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let Ok(Value::Object(request)) = serde_json::from_slice::<Value>(line) else {
            self.reply(from, &Value::Null, json!({"ok": false, "error": "bad json"}));
            if self.is_wrong("malformed-line") {
                self.out.push(Output::Close(from));
            }
            return;
        };
        let is_beat =
            request.get("topic").and_then(Value::as_str).is_some_and(|topic| topic.ends_with(".heartbeat"));
        let counts = is_beat || !self.is_wrong("stale-true");
        if let Some(peer) = self.peers.get_mut(&from)
            && counts
        {
            peer.last_seen = now;
            peer.is_stale = false;
        }
        let id = request.get("id").cloned().unwrap_or_default();
        let answer = match request.get("cmd").and_then(Value::as_str) {
            Some("hello") => return self.hello(from, &id, &request, now),
            Some("ping") => json!({"ok": true, "serverTime": now}),
            Some("subscribe") => self.subscribe(from, &request),
            Some("unsubscribe") => self.unsubscribe(from, &request),
            Some("publish") => self.publish(from, &request, now),
            Some("peers") => self.list(),
            _ => json!({"ok": false, "error": "unknown cmd"}),
        };
        self.reply(from, &id, answer);
    }

    /// A line came in that is longer than any may be.
    pub(super) fn too_long(&mut self, from: u64) {
        self.reply(from, &Value::Null, json!({"ok": false, "error": "request too large"}));
        self.out.push(Output::Close(from));
    }

    /// A connection is closed.
    pub(super) fn closed(&mut self, from: u64, now: Millis) {
        let Some(peer) = self.peers.remove(&from) else { return };
        if self.is_wrong("left") {
            return;
        }
        let is_clean = peer.has_ended || peer.role != "worker" || self.is_wrong("left-reason");
        let reason = if is_clean { "clean" } else { "crash" };
        self.tell("system.peer.left", &json!({"peerId": peer.id, "role": peer.role, "reason": reason}), now);
    }

    /// Time has passed: reports the workers that are silent.
    pub(super) fn tick(&mut self, now: Millis) {
        if self.is_wrong("stale") {
            return;
        }
        let mut silent = Vec::new();
        for peer in self.peers.values_mut().filter(|peer| peer.role == "worker" && !peer.is_stale) {
            let quiet = now - peer.last_seen;
            if quiet > STALE {
                peer.is_stale = true;
                silent.push(json!({
                    "peerId": peer.id, "last_seen": peer.last_seen, "missed_heartbeats": quiet / BEAT,
                }));
            }
        }
        for payload in silent {
            self.tell("system.peer.stale", &payload, now);
        }
    }

    fn hello(&mut self, from: u64, id: &Value, request: &Map<String, Value>, now: Millis) {
        let text = |key| request.get(key).and_then(Value::as_str);
        let wrong = match (text("protocol"), text("role")) {
            (Some(PROTOCOL), Some("orchestrator" | "worker" | "observer")) => None,
            (Some(PROTOCOL), _) => Some("role is none of orchestrator, worker, observer"),
            _ => Some("hello requires protocol: claws/2"),
        };
        if let Some(wrong) = wrong {
            return self.reply(from, id, json!({"ok": false, "error": wrong}));
        }
        let is_new = !self.peers.contains_key(&from);
        if is_new {
            self.joined += 1;
            let peer = Peer {
                id: format!("p_{:06}", self.joined),
                role: text("role").unwrap_or_default().to_owned(),
                name: text("peerName").unwrap_or("unnamed").to_owned(),
                subscriptions: BTreeMap::new(),
                last_seen: now,
                is_stale: false,
                phase: None,
                set_phase: None,
                has_ended: false,
            };
            self.peers.insert(from, peer);
        }
        let Some(peer) = self.peers.get(&from) else { return };
        let (peer_id, joined) = (
            peer.id.clone(),
            json!({"peerId": peer.id, "role": peer.role, "peerName": peer.name, "ts": rfc3339(now)}),
        );
        self.reply(from, id, json!({"ok": true, "peerId": peer_id, "serverCapabilities": ["push"]}));
        if self.is_wrong("frames") {
            self.out.push(Output::Send(from, "noise".into()));
        }
        if is_new && !self.is_wrong("joined") {
            self.tell("system.peer.joined", &joined, now);
        }
    }

    fn subscribe(&mut self, from: u64, request: &Map<String, Value>) -> Value {
        let refuses_all = self.is_wrong("subscribe-anything");
        let Some(peer) = self.peers.get_mut(&from) else {
            return json!({"ok": false, "error": "call hello first"});
        };
        let Some(pattern) = request.get("topic").and_then(Value::as_str).filter(|topic| !topic.is_empty())
        else {
            return json!({"ok": false, "error": "topic required"});
        };
        if refuses_all && pattern == "**" && peer.role == "worker" {
            return json!({"ok": false, "error": "not for you"});
        }
        self.subscribed += 1;
        let id = format!("s_{:04x}", self.subscribed);
        peer.subscriptions.insert(id.clone(), pattern.to_owned());
        json!({"ok": true, "subscriptionId": id})
    }

    fn unsubscribe(&mut self, from: u64, request: &Map<String, Value>) -> Value {
        let id = request.get("subscriptionId").and_then(Value::as_str).unwrap_or_default();
        let known = self.peers.get_mut(&from).and_then(|peer| peer.subscriptions.remove(id));
        match known {
            Some(_) => json!({"ok": true}),
            None => json!({"ok": false, "error": "subscription not found"}),
        }
    }

    fn list(&self) -> Value {
        let peers: Vec<_> = self
            .peers
            .values()
            .map(|peer| json!({"peerId": peer.id, "role": peer.role, "peerName": peer.name}))
            .collect();
        json!({"ok": true, "peers": peers})
    }

    fn publish(&mut self, from: u64, request: &Map<String, Value>, now: Millis) -> Value {
        let Some(topic) = request.get("topic").and_then(Value::as_str).filter(|topic| !topic.is_empty())
        else {
            return json!({"ok": false, "error": "topic required"});
        };
        let mut payload = request.get("payload").cloned().unwrap_or(Value::Null);
        let Some(peer) = self.peers.get(&from) else {
            if self.is_wrong("before-hello") {
                self.fan_out(Some(from), topic, "unknown", &payload, now);
                return json!({"ok": true});
            }
            return json!({"ok": false, "error": "call hello first"});
        };
        let (id, role) = (peer.id.clone(), peer.role.clone());
        if !is_topic(topic) {
            return self.malformed(&id, topic, "the topic is not dotted, lower-case words", now);
        }
        if let Some(error) = self.forbidden(&id, &role, topic) {
            return self.gate(&id, "publish", &format!("{id} may not publish on {topic}"), error, now);
        }
        let claimed = payload.get("from_peer").and_then(Value::as_str);
        if claimed.is_some_and(|claimed| claimed != id) && !self.is_wrong("spoofed-sender") {
            let reason = format!("{id} claims to be {}", claimed.unwrap_or_default());
            return self.gate(&id, "publish", &reason, "publish forbidden — from_peer is not you", now);
        }
        if let Some(error) = complaint(topic, &payload)
            && !self.is_wrong("malformed-event")
        {
            return self.malformed(&id, topic, &error, now);
        }
        if let Some(reason) = self.follow(from, topic, &payload)
            && !self.is_wrong("gate")
        {
            return self.gate(&id, "phase", &reason, &reason, now);
        }
        if let Value::Object(payload) = &mut payload {
            let is_forged = payload.contains_key("ts_server");
            if !(self.is_wrong("server-time-added") || is_forged && self.is_wrong("server-time-own")) {
                payload.insert("ts_server".into(), rfc3339(now).into());
            }
            if !self.is_wrong("sender-added") {
                payload.entry("from_peer").or_insert_with(|| id.clone().into());
            }
        }
        let echo = request.get("echo").and_then(Value::as_bool) == Some(true);
        let reached = self.fan_out((!echo).then_some(from), topic, &id, &payload, now);
        json!({"ok": true, "deliveredTo": reached})
    }

    /// Why this peer may not publish there (§2, §10).
    fn forbidden(&self, id: &str, role: &str, topic: &str) -> Option<&'static str> {
        let mut words = topic.split('.');
        let (space, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let text = if self.is_wrong("refusal-text") { "no" } else { FORBIDDEN };
        let (is_forbidden, probe) = match (space, role) {
            ("worker", _) => (second != id, "foreign-topic"),
            ("cmd", "worker") => (true, "worker-commands"),
            ("cmd", role) => (role != "orchestrator", "observer-commands"),
            ("system", "orchestrator") => (true, "orchestrator-system"),
            ("system", _) => (true, "worker-system"),
            ("task", "orchestrator") => (false, ""),
            ("task", _) => (self.tasks.get(second).is_none_or(|worker| worker != id), "foreign-task"),
            (_, "worker") => (true, ""),
            _ => (false, ""),
        };
        (is_forbidden && !self.is_wrong(probe)).then_some(text)
    }

    /// Takes in what a publish says of its worker; the reason when it is a step that the phases do not allow.
    fn follow(&mut self, from: u64, topic: &str, payload: &Value) -> Option<String> {
        let data = data(payload);
        let text = |key: &str| data.get(key).and_then(Value::as_str);
        let words: Vec<&str> = topic.split('.').collect();
        match words.as_slice() {
            ["worker", _, "phase"] => {
                let peer = self.peers.get_mut(&from)?;
                let phase = text("phase")?;
                let is_set = peer.set_phase.as_deref() == Some(phase);
                if !is_set && !may_follow(peer.phase.as_deref(), phase) {
                    let before = peer.phase.as_deref().unwrap_or("nothing");
                    return Some(format!("{phase} does not follow {before}"));
                }
                peer.set_phase = None;
                peer.phase = Some(phase.to_owned());
            }
            ["worker", _, "complete"] => self.peers.get_mut(&from)?.has_ended = true,
            ["worker", _, "event"] if text("severity") == Some("fatal") => {
                self.peers.get_mut(&from)?.has_ended = true;
            }
            ["cmd", target, "set_phase"] => {
                let phase = text("phase")?.to_owned();
                let peer = self.peers.values_mut().find(|peer| peer.id == *target)?;
                peer.set_phase = Some(phase);
            }
            ["task", task, ..] => {
                if let Some(worker) = text("assignee") {
                    self.tasks.insert((*task).to_owned(), worker.to_owned());
                }
            }
            _ => {}
        }
        None
    }

    /// Refuses a publish that is not what its topic asks for, and says so to all.
    fn malformed(&mut self, id: &str, topic: &str, error: &str, now: Millis) -> Value {
        self.refuse(format!("{id} on {topic}: {error}"));
        self.tell("system.malformed.received", &json!({"from": id, "topic": topic, "error": error}), now);
        json!({"ok": false, "error": "payload:invalid", "details": error})
    }

    /// Refuses an action, and says so to all.
    fn gate(&mut self, id: &str, tool: &str, reason: &str, error: &str, now: Millis) -> Value {
        self.refuse(format!("{id}: {reason}"));
        self.tell("system.gate.fired", &json!({"tool": tool, "reason": reason, "peerId": id}), now);
        json!({"ok": false, "error": error})
    }

    fn refuse(&mut self, what: String) {
        if self.refused.len() < MOST_REFUSED {
            self.refused.push(what);
        }
    }

    /// Says something as the server.
    fn tell(&mut self, topic: &str, payload: &Value, now: Millis) {
        self.fan_out(None, topic, "server", payload, now);
    }

    /// Logs a message and sends it to everybody whom it is for; how many these are.
    fn fan_out(
        &mut self,
        except: Option<u64>,
        topic: &str,
        from: &str,
        payload: &Value,
        now: Millis,
    ) -> usize {
        let sequence = self.sequence;
        self.sequence += 1;
        self.out.push(Output::Log(json!({
            "topic": topic, "from": from, "ts_server": rfc3339(now), "payload": payload, "sequence": sequence,
        })));
        let push = json!({
            "push": "message", "protocol": PROTOCOL, "topic": topic, "from": from, "payload": payload,
            "sentAt": now, "sequence": sequence,
        });
        let mut to: Vec<u64> = self
            .peers
            .iter()
            .filter(|(connection, peer)| Some(**connection) != except && self.hears(peer, topic))
            .map(|(connection, _)| *connection)
            .collect();
        if self.is_wrong("fan-out") && topic.starts_with("worker.") {
            to.truncate(1);
        }
        self.out.extend(to.iter().map(|connection| Output::Push(*connection, push.clone())));
        to.len()
    }

    /// Whether a message is for a peer: by a subscription, or as a command to it or to its role.
    fn hears(&self, peer: &Peer, topic: &str) -> bool {
        let is_subscribed = peer.subscriptions.values().any(|pattern| {
            if self.is_wrong("zero-words")
                && let Some(before) = pattern.strip_suffix(".**")
            {
                return topic != before && matches(pattern, topic);
            }
            if self.is_wrong("one-word") && pattern.ends_with(".*") {
                return matches(&format!("{pattern}*"), topic);
            }
            matches(pattern, topic)
        });
        let mut words = topic.split('.');
        let (space, second, third) = (words.next(), words.next(), words.next());
        let is_command = space == Some("cmd")
            && if second == Some("role") {
                third == Some(peer.role.as_str()) && !self.is_wrong("role-delivered")
            } else {
                second == Some(peer.id.as_str()) && !self.is_wrong("command-delivered")
            };
        is_subscribed || is_command
    }

    fn reply(&mut self, to: u64, id: &Value, answer: Value) {
        let mut reply = json!({"protocol": PROTOCOL});
        if let (Value::Object(reply), Value::Object(answer)) = (&mut reply, answer) {
            if !id.is_null() {
                reply.insert("id".into(), id.clone());
                reply.insert("rid".into(), id.clone());
            }
            reply.extend(answer);
        }
        self.out.push(Output::Send(to, reply));
    }
}

/// An envelope around data, as a peer publishes it.
pub(super) fn envelope(
    peer: &str,
    name: &str,
    parent: Option<&str>,
    schema: &str,
    now: Millis,
    data: &Value,
) -> Value {
    json!({
        "v": 1, "id": uuid(), "parent_id": parent, "from_peer": peer, "from_name": name,
        "ts_published": rfc3339(now), "schema": schema, "data": data,
    })
}
