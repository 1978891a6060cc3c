//! Rules that only a live server can be held to: what `clawgate events probe` wrote down of a visit.
//!
//! The transcript of a visit is an event log in which each probe has a line `{"type":"probe",…}` with what was sent,
//! answered and pushed. Whether that is as it should be is decided here and nowhere else, so a transcript can be judged
//! again without the server.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use super::Rule;
use crate::text::clip;
use crate::time;

/// How a publish on somebody else's topic has to be refused.
const FORBIDDEN: &str = "publish forbidden — not your topic";
/// A longer value is shortened in a sentence.
const SHOWN: usize = 160;

/// The facts of one probe.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Facts {
    /// The peer that it is about.
    subject: String,
    steps: Vec<Step>,
    pushes: Vec<Push>,
    /// The visitors who have to be pushed it, and who must not be.
    wanted: Vec<String>,
    unwanted: Vec<String>,
    bound_ms: f64,
    not_before_ms: f64,
    garbage: u64,
    first_garbage: Option<String>,
}

/// A request and its answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Step {
    peer: String,
    sent: Value,
    reply: Value,
}

/// What a visitor was pushed, and how long after.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Push {
    peer: String,
    ms: Option<f64>,
    #[serde(rename = "push")]
    frame: Value,
}

/// What is wrong with a probe: in a sentence, where in its line, and the value there.
#[derive(Debug, PartialEq)]
pub(super) struct Wrong {
    pub(super) message: String,
    pub(super) pointer: Option<String>,
    pub(super) seen: Option<Value>,
}

/// The probes of a visit: those that were announced, until their facts come.
#[derive(Debug, Default)]
pub(super) struct Probes {
    missing: BTreeSet<Rule>,
    trouble: Option<String>,
}

impl Probes {
    /// Takes in a line of a visit; the rule that it tests and what is wrong, if anything is.
    pub(super) fn line(&mut self, text: &str) -> Option<(Rule, Wrong)> {
        let line: Value = serde_json::from_str(text).ok()?;
        match line["type"].as_str()? {
            "probe.started" => {
                let names = line["probes"].as_array().into_iter().flatten().filter_map(Value::as_str);
                self.missing.extend(names.filter_map(rule));
                None
            }
            "probe.finished" => {
                self.trouble = line["trouble"].as_str().map(str::to_owned);
                None
            }
            "probe" => {
                let rule = rule(line["probe"].as_str()?)?;
                self.missing.remove(&rule);
                let wrong = match serde_json::from_value(line) {
                    Ok(facts) => decide(rule, &facts)?,
                    Err(error) => {
                        let message = format!("the facts of the probe cannot be read: {error}");
                        Wrong { message, pointer: None, seen: None }
                    }
                };
                Some((rule, wrong))
            }
            _ => None,
        }
    }

    /// At the end: the rules whose probes were announced and did not take place, and why.
    pub(super) fn missing(&self) -> impl Iterator<Item = (Rule, String)> {
        let why = self.trouble.as_deref().unwrap_or("the transcript ends before it");
        self.missing
            .iter()
            .map(move |rule| (*rule, format!("the probe did not take place: {}", clip(why, SHOWN))))
    }
}

/// The rule that a probe tests.
fn rule(probe: &str) -> Option<Rule> {
    Rule::from_name(&format!("probe-{probe}"))
}

/// What is wrong in the facts of a probe.
fn decide(rule: Rule, facts: &Facts) -> Option<Wrong> {
    match rule {
        Rule::ProbeFrames => (facts.garbage > 0).then(|| {
            let first = facts.first_garbage.as_deref().unwrap_or_default();
            Wrong {
                message: format!("{} lines of the server are no JSON objects", facts.garbage),
                pointer: Some("/first_garbage".into()),
                seen: Some(clip(first, SHOWN).into()),
            }
        }),
        Rule::ProbeRefusalText => facts.not_answered().or_else(|| facts.other_refusal()),
        Rule::ProbeSubscribeAnything => facts.not_answered().or_else(|| facts.not_accepted()),
        Rule::ProbeSenderAdded | Rule::ProbeServerTimeAdded | Rule::ProbeServerTimeOwn => {
            facts.not_answered().or_else(|| facts.not_accepted()).or_else(|| facts.field(rule))
        }
        Rule::ProbeZeroWords
        | Rule::ProbeOneWord
        | Rule::ProbeFanOut
        | Rule::ProbeCommandDelivered
        | Rule::ProbeRoleDelivered => {
            facts.not_answered().or_else(|| facts.not_accepted()).or_else(|| facts.not_delivered())
        }
        Rule::ProbeLatency => facts.not_answered().or_else(|| facts.late()),
        Rule::ProbeJoined => facts.not_told(&["peerId", "role", "peerName", "ts"], "peerId"),
        Rule::ProbeLeft => facts.not_told(&["peerId", "role", "reason"], "peerId"),
        Rule::ProbeLeftReason => facts
            .not_told(&["peerId", "role", "reason"], "peerId")
            .or_else(|| facts.other_value("reason", "crash")),
        Rule::ProbeStale => {
            facts.not_told(&["peerId", "last_seen", "missed_heartbeats"], "peerId").or_else(|| facts.early())
        }
        Rule::ProbeStaleTrue => facts.pushes.first().map(|push| {
            let message = "a worker that published all the time was called stale".to_owned();
            Wrong { message, pointer: Some("/pushes/0/push".into()), seen: Some(push.frame.clone()) }
        }),
        Rule::ProbeGate => {
            facts.not_answered().or_else(|| facts.not_told(&["tool", "reason", "peerId"], "peerId"))
        }
        Rule::ProbeMalformedEvent => {
            facts.not_answered().or_else(|| facts.not_told(&["from", "topic", "error"], "from"))
        }
        Rule::ProbeMalformedLine => facts.not_survived(),
        // Everything else is a publish that has to be refused.
        _ => facts.not_answered().or_else(|| facts.not_refused()),
    }
}

impl Facts {
    /// A request without an answer.
    fn not_answered(&self) -> Option<Wrong> {
        if self.steps.is_empty() {
            return Some(Wrong { message: "nothing was asked".into(), pointer: None, seen: None });
        }
        let at = self.steps.iter().position(|step| !step.reply.is_object())?;
        let message = format!("the {}'s request was not answered", self.steps[at].peer);
        Some(Wrong { message, pointer: Some(format!("/steps/{at}/reply")), seen: Some(Value::Null) })
    }

    /// A request that was not accepted.
    fn not_accepted(&self) -> Option<Wrong> {
        let at = self.steps.iter().position(|step| step.reply["ok"] != true)?;
        let step = &self.steps[at];
        let message =
            format!("the {}'s {} was refused: {}", step.peer, sent(step), shown(&step.reply["error"]));
        Some(Wrong { message, pointer: Some(format!("/steps/{at}/reply")), seen: Some(step.reply.clone()) })
    }

    /// A publish that was accepted, or refused and fanned out all the same.
    fn not_refused(&self) -> Option<Wrong> {
        if let Some(at) = self.steps.iter().position(|step| step.reply["ok"] != false) {
            let step = &self.steps[at];
            let to = self.reached();
            let to = if to.is_empty() { String::new() } else { format!(", and pushed to the {to}") };
            let message = format!("the {}'s {} was accepted{to}", step.peer, sent(step));
            let (pointer, seen) = (Some(format!("/steps/{at}/reply")), Some(step.reply.clone()));
            return Some(Wrong { message, pointer, seen });
        }
        let push = self.pushes.first()?;
        let message = format!("what was refused was pushed to the {}", self.reached());
        Some(Wrong { message, pointer: Some("/pushes/0/push".into()), seen: Some(push.frame.clone()) })
    }

    fn reached(&self) -> String {
        let names: BTreeSet<&str> = self.pushes.iter().map(|push| push.peer.as_str()).collect();
        names.into_iter().collect::<Vec<_>>().join(", ")
    }

    /// A refusal in other words than the document's.
    fn other_refusal(&self) -> Option<Wrong> {
        let step = &self.steps[0];
        let (ok, error) = (&step.reply["ok"], &step.reply["error"]);
        if *ok == false && *error == FORBIDDEN {
            return None;
        }
        let message = if *ok == false {
            format!("the refusal says {} instead of {FORBIDDEN:?}", shown(error))
        } else {
            format!("the {}'s {} was accepted instead of refused with {FORBIDDEN:?}", step.peer, sent(step))
        };
        Some(Wrong { message, pointer: Some("/steps/0/reply".into()), seen: Some(step.reply.clone()) })
    }

    /// What the observer was pushed, if it was.
    fn observed(&self) -> Option<(usize, &Push)> {
        self.pushes.iter().enumerate().find(|(_, push)| push.peer == "observer")
    }

    /// What the observer was pushed by the server itself: a client may have said the same where it is not refused.
    fn told(&self) -> Option<(usize, &Push)> {
        let is_own = |push: &Push| push.frame["from"].is_null() || push.frame["from"] == "server";
        self.pushes.iter().enumerate().find(|(_, push)| push.peer == "observer" && is_own(push))
    }

    /// A field that the server has to add to the envelope.
    fn field(&self, rule: Rule) -> Option<Wrong> {
        let Some((at, push)) = self.observed() else {
            return Some(Self::nothing("the message did not reach the observer"));
        };
        let payload = &push.frame["payload"];
        let is_same = payload["id"] == self.steps[0].sent["payload"]["id"];
        let (field, is_right) = match rule {
            Rule::ProbeSenderAdded => ("from_peer", payload["from_peer"] == self.subject.as_str()),
            Rule::ProbeServerTimeAdded => ("ts_server", is_time(&payload["ts_server"])),
            _ => {
                let forged = &self.steps[0].sent["payload"]["ts_server"];
                ("ts_server", is_time(&payload["ts_server"]) && payload["ts_server"] != *forged)
            }
        };
        if is_same && is_right {
            return None;
        }
        let seen = &payload[field];
        let message = match (is_same, seen) {
            (false, _) => format!("the envelope was not given its `{field}` but put into another one"),
            (true, Value::Null) => format!("the server did not add `{field}` to the envelope"),
            (true, seen) => format!("`{field}` is {}", shown(seen)),
        };
        let pointer = format!("/pushes/{at}/push/payload/{field}");
        Some(Wrong { message, pointer: Some(pointer), seen: Some(seen.clone()) })
    }

    /// Somebody who did not get it, got it twice, or must not get it.
    fn not_delivered(&self) -> Option<Wrong> {
        let count = |name: &str| self.pushes.iter().filter(|push| push.peer == name).count();
        let (missed, got): (Vec<_>, Vec<_>) = self.wanted.iter().partition(|name| count(name) == 0);
        if !missed.is_empty() {
            let list = |names: Vec<&String>| names.into_iter().cloned().collect::<Vec<_>>().join(", ");
            let others = if got.is_empty() { String::new() } else { format!("; it reached {}", list(got)) };
            let message =
                format!("{} did not reach {} within {} ms{others}", self.what(), list(missed), self.bound_ms);
            return Some(Self::nothing(&message));
        }
        if let Some(name) = self.wanted.iter().find(|name| count(name) > 1) {
            return Some(Self::nothing(&format!("{} reached {name} {} times", self.what(), count(name))));
        }
        let at = self.pushes.iter().position(|push| self.unwanted.contains(&push.peer))?;
        let message = format!("{} reached {}, whom it is not for", self.what(), self.pushes[at].peer);
        let seen = self.pushes[at].frame.clone();
        Some(Wrong { message, pointer: Some(format!("/pushes/{at}/push")), seen: Some(seen) })
    }

    fn what(&self) -> String {
        self.steps.first().map_or_else(|| "the message".to_owned(), |step| shown(&step.sent["topic"]))
    }

    /// An arrival that took too long.
    fn late(&self) -> Option<Wrong> {
        let of_wanted = self.pushes.iter().filter(|push| self.wanted.contains(&push.peer));
        let Some(slowest) = of_wanted.max_by(|a, b| a.ms.unwrap_or(0.0).total_cmp(&b.ms.unwrap_or(0.0)))
        else {
            return Some(Self::nothing("the message reached nobody"));
        };
        let ms = slowest.ms.unwrap_or(f64::INFINITY);
        (ms > self.bound_ms).then(|| {
            Self::nothing(&format!(
                "the {} got the message after {ms} ms, not within {} ms",
                slowest.peer, self.bound_ms
            ))
        })
    }

    /// A word of the server that did not come, came late or lacks a field.
    fn not_told(&self, fields: &[&str], about: &str) -> Option<Wrong> {
        let Some((at, push)) = self.told() else {
            return Some(Self::nothing(&format!("nothing was said of it within {} ms", self.bound_ms)));
        };
        if push.ms.is_none_or(|ms| ms > self.bound_ms) {
            let after = push.ms.unwrap_or(f64::INFINITY);
            return Some(Self::nothing(&format!(
                "it was said after {after} ms, not within {} ms",
                self.bound_ms
            )));
        }
        let data = push.data();
        let pointer = |field: &str| Some(format!("/pushes/{at}/push/payload/{field}"));
        if let Some(field) = fields.iter().find(|field| data[**field].is_null()) {
            let message = format!("{} has no `{field}`", shown(&push.frame["topic"]));
            return Some(Wrong { message, pointer: pointer(field), seen: Some(data.clone()) });
        }
        if data[about] != self.subject.as_str() {
            let message = format!("`{about}` is {} and not {}", shown(&data[about]), self.subject);
            return Some(Wrong { message, pointer: pointer(about), seen: Some(data[about].clone()) });
        }
        None
    }

    /// A word of the server that says something else.
    fn other_value(&self, field: &str, expected: &str) -> Option<Wrong> {
        let (at, push) = self.told()?;
        let seen = &push.data()[field];
        (*seen != expected).then(|| Wrong {
            message: format!("`{field}` is {} where {expected:?} is meant", shown(seen)),
            pointer: Some(format!("/pushes/{at}/push/payload/{field}")),
            seen: Some(seen.clone()),
        })
    }

    /// A silence that was reported before it was one.
    fn early(&self) -> Option<Wrong> {
        let (_, push) = self.told()?;
        let ms = push.ms.unwrap_or_default();
        (ms < self.not_before_ms).then(|| {
            Self::nothing(&format!(
                "the worker was called stale after {ms} ms, before {} ms",
                self.not_before_ms
            ))
        })
    }

    /// A connection that did not outlive a line that is no JSON.
    fn not_survived(&self) -> Option<Wrong> {
        let after = self.steps.get(1);
        if after.is_some_and(|step| step.reply["ok"] == true) {
            return None;
        }
        let seen = after.map(|step| step.reply.clone());
        let message = "after a line that is no JSON the connection was not served any more".to_owned();
        Some(Wrong { message, pointer: Some("/steps/1/reply".into()), seen })
    }

    fn nothing(message: &str) -> Wrong {
        Wrong { message: message.to_owned(), pointer: Some("/pushes".into()), seen: None }
    }
}

impl Push {
    /// What the server says: the payload, or the data of its envelope.
    fn data(&self) -> &Value {
        let payload = &self.frame["payload"];
        if payload["data"].is_object() && !payload["schema"].is_null() { &payload["data"] } else { payload }
    }
}

/// What was asked, in a few words.
fn sent(step: &Step) -> String {
    let cmd = step.sent["cmd"].as_str().unwrap_or("request");
    let verb = if cmd == "subscribe" { "to" } else { "on" };
    format!("{} {verb} {}", clip(cmd, SHOWN), shown(&step.sent["topic"]))
}

fn is_time(value: &Value) -> bool {
    value.as_str().is_some_and(|text| time::parse(text).is_some())
}

/// A value in a sentence.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => clip(text, SHOWN).into_owned(),
        other => clip(&other.to_string(), SHOWN).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_that_was_announced_and_never_came_is_missing() {
        let mut probes = Probes::default();
        assert!(
            probes
                .line(r#"{"type":"probe.started","probes":["frames","foreign-topic","no-such"]}"#)
                .is_none()
        );
        assert!(probes.line(r#"{"type":"probe","probe":"frames","garbage":0}"#).is_none());
        assert!(probes.line(r#"{"type":"probe.finished","trouble":"it closed"}"#).is_none());
        let missing: Vec<_> = probes.missing().collect();
        let said = "the probe did not take place: it closed".to_owned();
        assert_eq!(missing, [(Rule::ProbeForeignTopic, said)]);
    }

    #[test]
    fn facts_of_a_wrong_shape_break_the_rule_and_nothing_else() {
        for line in [
            r#"{"type":"probe","probe":"foreign-topic"}"#,
            r#"{"type":"probe","probe":"foreign-topic","steps":7,"pushes":"x"}"#,
            r#"{"type":"probe","probe":"joined","pushes":[7]}"#,
        ] {
            assert!(Probes::default().line(line).is_some(), "{line}");
        }
    }
}
