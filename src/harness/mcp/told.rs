//! `mcp` in a recording: what became of each scripted server, and of each call of its tools.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::script::Server;

/// Calls of one server that are told.
const MOST_CALLS: usize = 1000;

/// One entry for each server, made of the events of all. Times are in milliseconds since `launched`, which is a time on the
/// clock of the events; what came before `since` was a run before the target's.
pub(crate) fn told(servers: &[Server], events: &[Value], launched: f64, since: f64) -> Vec<Value> {
    let mut entries: BTreeMap<&str, Entry> =
        servers.iter().map(|server| (server.name.as_str(), Entry::default())).collect();
    for event in events.iter().filter(|event| event["at"].as_f64().is_some_and(|at| at >= since)) {
        if let Some(entry) = event["server"].as_str().and_then(|name| entries.get_mut(name)) {
            entry.hear(event, launched);
        }
    }
    servers.iter().filter_map(|server| Some(entries.remove(server.name.as_str())?.tell(server))).collect()
}

/// Ties each call that does not say which tool use it is to the first answer of the model that asks for just that.
pub(crate) fn tie(entries: &mut [Value], served: &[Value]) {
    let asked = || served.iter().flat_map(|answer| answer["content"].as_array().into_iter().flatten());
    let calls = entries.iter_mut().filter_map(|entry| entry["calls"].as_array_mut()).flatten();
    let mut taken: Vec<Value> = Vec::new();
    for call in calls.filter(|call| call["tool_use_id"].is_null()) {
        let is_it = |block: &&Value| {
            block["type"] == "tool_use"
                && block["name"] == call["name"]
                && block["input"] == call["input"]
                && !taken.contains(&block["id"])
        };
        if let Some(id) = asked().find(is_it).map(|block| block["id"].clone()) {
            taken.push(id.clone());
            call["tool_use_id"] = id;
        }
    }
}

#[derive(Default)]
struct Entry {
    starts: u64,
    answered_ms: Option<f64>,
    /// All tools that it ever said it has, and those of the first time.
    offers: Vec<String>,
    first_offers: Option<Vec<String>>,
    asked: Map<String, Value>,
    /// With the process and the number that results name them by.
    calls: Vec<((u64, u64), Value)>,
    lost_calls: u64,
    ends: Vec<Value>,
    not_json: u64,
}

impl Entry {
    fn hear(&mut self, event: &Value, launched: f64) {
        let at = ((event["at"].as_f64().unwrap_or_default() - launched) * 100.0).round() / 100.0;
        let pid = event["pid"].as_u64().unwrap_or_default();
        let call = (pid, event["call"].as_u64().unwrap_or_default());
        let method = event["method"].as_str().unwrap_or_default();
        match event["event"].as_str().unwrap_or_default() {
            "started" => self.starts += 1,
            "asked" | "notified" => {
                let count = self.asked.get(method).and_then(Value::as_u64).unwrap_or(0);
                self.asked.insert(method.to_owned(), (count + 1).into());
                let cancelled = (method == "notifications/cancelled").then(|| &event["id"]);
                if let Some((_, call)) = self.calls.iter_mut().rev().find(|((by, _), call)| {
                    *by == pid && cancelled.is_some_and(|id| !id.is_null() && call["id"] == *id)
                }) {
                    call["cancelled"] = true.into();
                }
            }
            "answered" if event["ok"] == true && method == "initialize" => {
                self.answered_ms.get_or_insert(at);
            }
            "answered" => {
                let Some(tools) = event["tools"].as_array() else { return };
                let tools: Vec<String> = tools.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                self.first_offers.get_or_insert_with(|| tools.clone());
                for tool in tools {
                    if !self.offers.contains(&tool) {
                        self.offers.push(tool);
                    }
                }
            }
            "call" if self.calls.len() < MOST_CALLS => {
                let entry = json!({
                    "tool": event["tool"], "input": event["arguments"], "id": event["id"], "tool_use_id": event["tool_use_id"],
                    "at_ms": at, "done_ms": null, "result": null, "error": null, "fault": null, "cancelled": false,
                });
                self.calls.push((call, entry));
            }
            "call" => self.lost_calls += 1,
            "result" => {
                if let Some((_, known)) = self.calls.iter_mut().find(|(key, _)| *key == call) {
                    known["done_ms"] = at.into();
                    for name in ["result", "error", "fault", "cut"] {
                        if let Some(value) = event.get(name) {
                            known[name] = value.clone();
                        }
                    }
                }
            }
            "not-json" => self.not_json += 1,
            "ended" => self.ends.push(json!({"how": event["how"], "at_ms": at})),
            _ => {}
        }
    }

    fn tell(self, server: &Server) -> Value {
        if server.own.is_some() {
            return json!({"name": server.name, "scripted": false, "works": true});
        }
        let full = |tool: &str| format!("mcp__{}__{tool}", server.name);
        let calls: Vec<Value> = self
            .calls
            .into_iter()
            .map(|(_, mut call)| {
                let is_answered = call["result"].is_object();
                let is_failed = !is_answered && call["cut"].is_null() || call["result"]["isError"] == true;
                call["name"] = full(call["tool"].as_str().unwrap_or_default()).into();
                call["failed"] = is_failed.into();
                let texts = texts(&call["result"]);
                call["length"] = texts.iter().map(String::len).sum::<usize>().into();
                call["told_as"] = told_as(&texts).into();
                call
            })
            .collect();
        json!({
            "name": server.name,
            "transport": server.transport,
            "fault": server.fault,
            "scripted": true,
            // One that was begun and never got to answer was given up by its client.
            "works": server.works() && (self.answered_ms.is_some() || self.starts == 0),
            "starts": self.starts,
            "answered_ms": self.answered_ms,
            "offers": self.offers.iter().map(|tool| full(tool)).collect::<Vec<_>>(),
            "first_offers": self.first_offers.iter().flatten().map(|tool| full(tool)).collect::<Vec<_>>(),
            "asked": self.asked,
            "not_json": self.not_json,
            "calls": calls,
            "calls_not_kept": self.lost_calls,
            "ends": self.ends,
        })
    }
}

/// The texts of a result.
fn texts(result: &Value) -> Vec<String> {
    let blocks = result["content"].as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str()).map(str::to_owned).collect()
}

/// The texts that a client may tell a result as: each block, all of them as one, and nothing beside them.
fn told_as(texts: &[String]) -> Vec<String> {
    let mut forms = texts.to_vec();
    if !texts.is_empty() {
        forms.extend([texts.join("\n"), String::new()]);
        forms.sort_unstable();
        forms.dedup();
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_tied_to_the_answer_that_asked_for_it_once() {
        let block = json!({"type": "tool_use", "id": "t1", "name": "mcp__s__a", "input": {"x": 1}});
        let call = json!({"name": "mcp__s__a", "input": {"x": 1}, "tool_use_id": null});
        let mut entries = [json!({"name": "own"}), json!({"calls": [call, call]})];
        tie(&mut entries, &[json!({"content": null}), json!({"content": [block]})]);
        assert_eq!(entries[1]["calls"][0]["tool_use_id"], "t1");
        assert_eq!(entries[1]["calls"][1]["tool_use_id"], Value::Null);
    }

    #[test]
    fn calls_are_told_with_what_became_of_them() {
        let event = |at: f64, more: Value| {
            let mut event = json!({"server": "s", "pid": 5, "at": at});
            event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            event
        };
        let events = [
            event(900.0, json!({"event": "started"})),
            event(1000.0, json!({"event": "started"})),
            event(1001.0, json!({"event": "asked", "method": "initialize"})),
            event(1002.0, json!({"event": "answered", "method": "initialize", "ok": true})),
            event(1003.0, json!({"event": "answered", "method": "tools/list", "ok": true, "tools": ["a"]})),
            event(1004.0, json!({"event": "call", "call": 0, "id": 3, "tool": "a", "arguments": {"x": 1}})),
            event(
                1005.0,
                json!({"event": "result", "call": 0, "result": {"content": [{"type": "text", "text": "A"}]}}),
            ),
            event(1006.0, json!({"event": "call", "call": 1, "id": 4, "tool": "a", "arguments": {}})),
            event(1007.0, json!({"event": "notified", "method": "notifications/cancelled", "id": 4})),
            json!({"server": "other", "at": 1008.0, "event": "started"}),
            json!({"event": "no time"}),
        ];
        let server = Server { name: "s".into(), ..Server::default() };
        let told = told(&[server], &events, 1000.0, 1000.0).remove(0);
        assert_eq!(
            (&told["starts"], &told["answered_ms"], &told["works"]),
            (&json!(1), &json!(2.0), &json!(true))
        );
        assert_eq!(told["offers"], json!(["mcp__s__a"]));
        let call = |number: usize| &told["calls"][number];
        assert_eq!(
            (&call(0)["name"], &call(0)["told_as"], &call(0)["failed"]),
            (&json!("mcp__s__a"), &json!(["", "A"]), &json!(false))
        );
        assert_eq!((&call(1)["cancelled"], &call(1)["failed"]), (&json!(true), &json!(true)));
    }
}
