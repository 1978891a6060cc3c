//! Learning a contract from recordings: one schema for each kind of message, as tight as the samples allow.
//!
//! A field is required when it was always there, a text becomes an enum when it is a token with few values. Every
//! clause is a `should`: that something was always so is not a promise.

mod fit;
mod shape;
mod write;

use std::collections::BTreeMap;

use serde_json::Value;

use super::contract::Protocol;
use super::fixture::Sample;

pub(crate) use fit::Fit;
pub(crate) use write::LEARNED;

use crate::json::shape::Shape;

/// Gathers messages until there are enough to learn from.
#[derive(Debug)]
pub(crate) struct Learner {
    name: String,
    protocol: Protocol,
    groups: BTreeMap<Key, Group>,
    runs: usize,
    /// The flag and the variable with which the runs asked for JSON.
    json_flag: Option<String>,
    json_env: Option<String>,
}

/// What tells one kind from another: the fields that name it, or else the set of its fields.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// For each discriminating field its value, or none where it is absent.
    named: Vec<(String, Option<String>)>,
    /// For messages that are named after their command: whether they report an error.
    error: Option<bool>,
    /// For messages without any of them: which fields they have.
    fields: Vec<String>,
}

/// The messages of one kind.
#[derive(Debug)]
struct Group {
    shape: Shape,
    /// The smallest run that has such a message, for a fixture.
    sample: Sample,
}

impl Learner {
    /// Starts to learn a contract of this name.
    pub(crate) fn new(name: impl Into<String>, protocol: Protocol) -> Self {
        Self {
            name: name.into(),
            protocol,
            groups: BTreeMap::new(),
            runs: 0,
            json_flag: None,
            json_env: None,
        }
    }

    /// Takes in a run. Runs whose output is not the protocol's teach nothing.
    pub(crate) fn add(&mut self, sample: &Sample) {
        let text = String::from_utf8_lossy(&sample.stdout);
        let messages: Vec<Value> = match self.protocol {
            Protocol::Document => serde_json::from_str(&text).into_iter().collect(),
            Protocol::Text => Vec::new(),
            Protocol::Stream | Protocol::Events => {
                text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
            }
        };
        self.runs += usize::from(!messages.is_empty());
        let asks = |pair: &[String]| pair[0].starts_with("--") && pair[1] == "json";
        if let Some(pair) = sample.argv.iter().flat_map(|argv| argv.windows(2)).find(|pair| asks(pair)) {
            self.json_flag.get_or_insert_with(|| pair[0].clone());
        }
        if let Some(name) = sample.env.iter().flatten().find(|name| name.ends_with("OUTPUT_FORMAT")) {
            self.json_env.get_or_insert_with(|| name.clone());
        }
        for message in messages.iter().filter(|message| message.is_object()) {
            let key = self.key(message);
            let group = self
                .groups
                .entry(key)
                .or_insert_with(|| Group { shape: Shape::default(), sample: sample.clone() });
            group.shape.add(message, 0);
            if sample.stdout.len() < group.sample.stdout.len() {
                group.sample = sample.clone();
            }
        }
    }

    /// How many runs taught something.
    pub(crate) fn runs(&self) -> usize {
        self.runs
    }

    fn key(&self, message: &Value) -> Key {
        let text = |field: &str| message.get(field).and_then(Value::as_str).map(str::to_string);
        let is_error = text("status").as_deref() == Some("error");
        let fields: &[&str] = match self.protocol {
            Protocol::Stream | Protocol::Events => &["type", "subtype"],
            // The kind of an error is often its class, which says nothing about its shape.
            Protocol::Document if text("type").as_deref() == Some("error") => &["type"],
            Protocol::Document if is_error && text("error_kind") == text("kind") => {
                &["type", "action", "status"]
            }
            Protocol::Document if is_error => &["type", "kind", "action", "status"],
            Protocol::Document | Protocol::Text => &["type", "kind", "action"],
        };
        let name = |fields: &[&str]| -> Vec<(String, Option<String>)> {
            fields.iter().map(|field| ((*field).to_string(), text(field))).collect()
        };
        let is_named = |named: &[(String, Option<String>)]| named.iter().any(|(_, value)| value.is_some());
        let mut named = name(fields);
        let mut error = None;
        if self.protocol == Protocol::Document && !is_named(&named) {
            // Envelopes that have no type say which command they answer, and an error has the shape of no answer.
            let by_command = name(&["command"]);
            if is_named(&by_command) {
                error = Some(message.get("error").is_some());
                named = by_command;
            }
        }
        let is_named = is_named(&named);
        let keys = || message.as_object().into_iter().flat_map(|map| map.keys().cloned());
        let mut fields: Vec<String> = if is_named { Vec::new() } else { keys().collect() };
        fields.sort();
        Key { named, error, fields }
    }
}
