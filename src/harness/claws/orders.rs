//! The orchestrator of a worker that is tested: it waits for what the worker says, and answers as a file tells it to.
//!
//! ```toml
//! [[order]]
//! on = "worker.*.event"                    # the next message whose topic matches
//! where = { kind = "REQUEST" }             # and whose data holds this
//! send = "approve"                         # cmd.<that worker>.approve, with its request_id as correlation_id
//! data = { payload = { chosen = "B" } }
//! ```

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::PROTOCOL;
use super::broker::envelope;
use super::client::{Inbox, Received, Wire};
use super::conventions::{data, matches};
use crate::document::{Document, FileError, Item};
use crate::time;

/// What an orchestrator does in the course of a session, in its order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Orders(Vec<Order>);

/// One thing that it waits for, and what it does then.
#[derive(Debug, Clone)]
struct Order {
    line: usize,
    on: String,
    holds: Vec<(String, Value)>,
    /// The verb of a command to whoever published that; none where it only waits.
    send: Option<String>,
    data: Value,
    within: Duration,
}

/// How long a message is waited for unless the order says otherwise.
const WITHIN: u64 = 30_000;
/// From the end of the worker's process to the last word about it.
const LEAVING: Duration = Duration::from_secs(5);
/// What it is called.
const NAME: &str = "orchestrator";

/// Reads the orders in a file.
pub(crate) fn read(file: &str, text: &str) -> Result<Orders, FileError> {
    let mut root = Document::parse(file, text)?;
    let orders = root.list("order")?.into_iter().map(order).collect::<Result<_, _>>()?;
    root.finish()?;
    Ok(Orders(orders))
}

fn order(item: Item<'_>) -> Result<Order, FileError> {
    let line = item.line();
    let mut table = item.into_table()?;
    let on = table.require("on", "a pattern of topics that is waited for")?.into_string()?;
    let holds = table.take("where").map(Item::into_table).transpose()?;
    let holds = holds.map(crate::document::Table::into_entries).unwrap_or_default();
    let holds =
        holds.into_iter().map(|(key, item)| Ok((key, item.json()?))).collect::<Result<_, FileError>>()?;
    let send = table.string("send")?;
    let data = table.take("data").map(|item| item.json()).transpose()?.unwrap_or_else(|| json!({}));
    let within = Duration::from_millis(table.unsigned("within_ms")?.unwrap_or(WITHIN));
    table.finish()?;
    Ok(Order { line, on, holds, send, data, within })
}

/// An orchestrator that has joined.
#[derive(Debug)]
pub(crate) struct Orchestrator {
    wire: Wire,
    on: usize,
    /// Its id, which workers name as their parent.
    pub(crate) id: String,
    asked: u64,
    /// Everything before this has been looked at.
    seen: usize,
    /// How many orders have been carried out.
    done: usize,
}

impl Orchestrator {
    /// Joins the server at a socket.
    pub(crate) async fn join(socket: &Path) -> Result<Self, String> {
        let mut wire = Wire::new(socket);
        let on = wire.connect(LEAVING).await?;
        let mut orchestrator = Self { wire, on, id: String::new(), asked: 0, seen: 0, done: 0 };
        let hello = json!({"cmd": "hello", "protocol": PROTOCOL, "role": "orchestrator", "peerName": NAME});
        let reply = orchestrator.ask(hello).await?;
        reply["peerId"].as_str().unwrap_or_default().clone_into(&mut orchestrator.id);
        for pattern in ["worker.**", "system.**", "task.**"] {
            orchestrator.ask(json!({"cmd": "subscribe", "topic": pattern})).await?;
        }
        Ok(orchestrator)
    }

    /// Carries out the orders that are left; the complaint about the first that cannot be. Each is waited for as long as
    /// it says, and once the worker has ended no longer than its last words take.
    pub(crate) async fn carry_out(&mut self, orders: &Orders, has_ended: bool) -> Result<(), String> {
        while let Some(order) = orders.0.get(self.done) {
            let within = if has_ended { order.within.min(LEAVING) } else { order.within };
            let (seen, on) = (self.seen, self.on);
            let find = |inbox: &Inbox| {
                let next = inbox.frames.iter().enumerate().skip(seen);
                let found = next.filter(|(_, one)| one.on == on).find(|(_, one)| order.holds(one));
                found.map(|(at, one)| (at, one.frame.clone()))
            };
            let Some((found, frame)) = self.wire.wait(Instant::now() + within, find).await else {
                let why = if has_ended { " until the worker ended" } else { "" };
                return Err(format!(
                    "order {} (line {}) waited {} ms{why} for {} in vain",
                    self.done + 1,
                    order.line,
                    within.as_millis(),
                    order.wanted()
                ));
            };
            (self.seen, self.done) = (found + 1, self.done + 1);
            if let Some(verb) = &order.send {
                self.command(verb, &order.data, &frame).await?;
            }
        }
        Ok(())
    }

    /// Ends the session as an orchestrator has to: tells every worker, and waits until they have left.
    pub(crate) async fn leave(&mut self) -> Result<(), String> {
        let data = json!({"command": "abort", "reason": "the session is over"});
        self.publish("cmd.role.worker", "cmd-abort-v1", None, data).await?;
        let on = self.on;
        let all_left = |inbox: &Inbox| {
            let about = |topic: &str| {
                let is_it = move |one: &&Received| one.on == on && one.frame["topic"] == topic;
                inbox
                    .frames
                    .iter()
                    .filter(is_it)
                    .filter(|one| one.frame["payload"]["role"] == "worker")
                    .count()
            };
            (about("system.peer.left") >= about("system.peer.joined")).then_some(())
        };
        self.wire.wait(Instant::now() + LEAVING, all_left).await;
        self.wire.close(self.on);
        Ok(())
    }

    async fn command(&mut self, verb: &str, given: &Value, about: &Value) -> Result<(), String> {
        let payload = &about["payload"];
        // A server's word names its peer, a worker's its publisher.
        let target = payload["peerId"].as_str().or_else(|| about["from"].as_str()).unwrap_or_default();
        let request = data(payload)["request_id"].as_str();
        let mut data = given.clone();
        if let (Some(request), Value::Object(data)) = (request, &mut data) {
            data.entry("correlation_id").or_insert_with(|| request.into());
        }
        let schema = format!("cmd-{}-v1", verb.replace('_', "-"));
        self.publish(&format!("cmd.{target}.{verb}"), &schema, request, data).await
    }

    async fn publish(
        &mut self,
        topic: &str,
        schema: &str,
        correlation: Option<&str>,
        data: Value,
    ) -> Result<(), String> {
        // The server's clock may run faster than ours.
        let seen = self.wire.inbox().frames.iter().rev().find_map(|one| one.frame["sentAt"].as_i64());
        let now = seen.map_or_else(time::now, |seen| seen.max(time::now()));
        let mut payload = envelope(&self.id, NAME, None, schema, now, &data);
        if let Some(correlation) = correlation {
            payload["correlation_id"] = correlation.into();
        }
        let reply = self.ask(json!({"cmd": "publish", "topic": topic, "payload": payload})).await?;
        if reply["ok"] == true { Ok(()) } else { Err(format!("{topic} was refused: {}", reply["error"])) }
    }

    async fn ask(&mut self, mut request: Value) -> Result<Value, String> {
        self.asked += 1;
        let (id, on) = (self.asked, self.on);
        request["id"] = id.into();
        self.wire.send(on, format!("{request}\n").as_bytes(), LEAVING).await?;
        let find = |inbox: &Inbox| {
            inbox
                .frames
                .iter()
                .find(|one| one.on == on && one.frame["rid"] == id)
                .map(|one| one.frame.clone())
        };
        let reply = self.wire.wait(Instant::now() + LEAVING, find).await;
        reply.ok_or_else(|| "the server does not answer its orchestrator".to_owned())
    }
}

impl Order {
    fn holds(&self, one: &Received) -> bool {
        let topic = one.frame["topic"].as_str();
        let data = data(&one.frame["payload"]);
        topic.is_some_and(|topic| matches(&self.on, topic))
            && self.holds.iter().all(|(key, value)| data.get(key) == Some(value))
    }

    fn wanted(&self) -> String {
        let holds: Vec<_> = self.holds.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        if holds.is_empty() { self.on.clone() } else { format!("{} with {}", self.on, holds.join(", ")) }
    }
}
