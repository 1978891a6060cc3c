//! What all runs of a case on one side have in common, gathered part by part: shapes, counts and samples, and never the
//! messages themselves.

use std::collections::{BTreeMap, BTreeSet};

use hmac_sha256::Hash as Sha256;
use serde_json::Value;

use crate::golden::{Entry, Part};
use crate::json::shape::{Shape, sample, shortened};
use crate::text::head;

/// So many messages are enough to recognise a contract by its shape.
const ENOUGH: usize = 8;
/// Of a text so much is kept for evidence; whether it is the same is told by its digest.
const SHOWN: usize = 4 << 10;
/// So many kinds of messages are told apart; those beyond are of the kind `…`.
const MOST_KINDS: usize = 1024;
/// So many places of messages are told apart; what stands beyond is told as `…`.
const MOST_PLACES: usize = 1 << 14;

/// The runs of a case on one side.
#[derive(Default)]
pub(crate) struct Side {
    /// The file or recording of the first run.
    pub input: Option<String>,
    /// The contract that the first run which names one names.
    pub contract: Option<String>,
    /// How each run ended, where that is known.
    pub exits: Vec<Value>,
    pub stdout: Stream,
    pub stderr: Stream,
    /// Requests by what they ask.
    pub requests: Groups,
    /// The paths of the files that runs wrote.
    pub files: BTreeSet<String>,
    /// The first messages of all, with their lines.
    pub first: Vec<(Value, usize)>,
    /// How many messages there are.
    messages: usize,
    /// Whether it is a file of messages and no run: what it holds is known by its name.
    pub is_fixture: bool,
}

/// What the runs printed to one stream.
#[derive(Default)]
pub(crate) struct Stream {
    pub messages: Groups,
    /// The text of the first run that says something.
    text: Said,
    said_in: Option<usize>,
    /// The first message of all, cut.
    pub example: Value,
}

/// A text of which only the beginning is kept.
#[derive(Clone)]
pub(crate) struct Said {
    beginning: String,
    length: usize,
    digest: Sha256,
}

impl Default for Said {
    fn default() -> Self {
        Self { beginning: String::new(), length: 0, digest: Sha256::new() }
    }
}

impl PartialEq for Said {
    fn eq(&self, other: &Self) -> bool {
        self.length == other.length && self.digest.finalize() == other.digest.finalize()
    }
}

impl Said {
    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// As much of it as evidence shows.
    pub(crate) fn shown(&self) -> Value {
        shortened(&self.beginning.as_str().into())
    }

    fn line(&mut self, text: &str) {
        for part in [if self.is_empty() { "" } else { "\n" }, text] {
            self.digest.update(part);
            self.length += part.len();
            let room = SHOWN.saturating_sub(self.beginning.len());
            self.beginning.push_str(head(part, room));
        }
    }
}

/// Messages by their kinds, or requests by what they ask.
#[derive(Debug)]
pub(crate) struct Groups {
    pub all: BTreeMap<String, Messages>,
    /// The order in which kinds appear for the first time, of each run.
    pub orders: Vec<Vec<String>>,
    counts: BTreeMap<String, usize>,
    /// How many places more are told apart.
    room: usize,
}

impl Default for Groups {
    fn default() -> Self {
        Self { all: BTreeMap::new(), orders: Vec::new(), counts: BTreeMap::new(), room: MOST_PLACES }
    }
}

/// One kind of message in all runs of a side.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    pub shape: Shape,
    /// The first one, by which its schema is found.
    pub first: Value,
    /// How many of them a run had at least and at most.
    pub least: usize,
    pub most: usize,
}

impl Groups {
    fn begin_run(&mut self) {
        self.orders.push(Vec::new());
    }

    fn add(&mut self, name: &str, value: &Value, line: usize) {
        let name = if self.all.len() < MOST_KINDS || self.all.contains_key(name) { name } else { "…" };
        if let Some(count) = self.counts.get_mut(name) {
            *count += 1;
        } else {
            self.counts.insert(name.to_owned(), 1);
            self.orders.last_mut().into_iter().for_each(|kinds| kinds.push(name.to_owned()));
        }
        if !self.all.contains_key(name) {
            // A run before this one had none.
            let least = if self.orders.len() > 1 { 0 } else { usize::MAX };
            let messages = Messages { first: sample(value), least, ..Messages::default() };
            self.all.insert(name.to_owned(), messages);
        }
        if let Some(messages) = self.all.get_mut(name) {
            messages.shape.add_within(value, line, &mut self.room);
        }
    }

    fn end_run(&mut self) {
        for (name, messages) in &mut self.all {
            let count = self.counts.get(name).copied().unwrap_or(0);
            messages.least = messages.least.min(count);
            messages.most = messages.most.max(count);
        }
        self.counts.clear();
    }
}

impl Stream {
    /// Whether messages stand on it.
    pub(crate) fn has_messages(&self) -> bool {
        !self.messages.all.is_empty()
    }

    pub(crate) fn text(&self) -> &Said {
        &self.text
    }

    fn add(&mut self, entry: &Entry) {
        match entry {
            Entry::Message { kind, value, line } => {
                if !self.has_messages() {
                    self.example = shortened(value);
                }
                self.messages.add(kind, value, *line);
            }
            Entry::Text { text, .. } => {
                let run = self.messages.orders.len();
                if *self.said_in.get_or_insert(run) == run {
                    self.text.line(text);
                }
            }
        }
    }
}

impl Side {
    /// Begins the next run, which is in this file or recording and may name a contract.
    pub(crate) fn begin_run(&mut self, input: &str) {
        self.input.get_or_insert_with(|| input.to_owned());
        self.each_group(Groups::begin_run);
    }

    /// Takes the next part of the run.
    pub(crate) fn add(&mut self, part: Part<'_>) {
        match part {
            Part::Exit(exit) => self.exits.push(exit.clone()),
            Part::Stdout(entry) | Part::Stderr(entry) => {
                if let Entry::Message { value, line, .. } = entry {
                    self.messages += 1;
                    if self.first.len() < ENOUGH {
                        self.first.push((sample(value), *line));
                    }
                }
                let is_stdout = matches!(part, Part::Stdout(_));
                if is_stdout { &mut self.stdout } else { &mut self.stderr }.add(entry);
            }
            Part::Request(request) => {
                let text = |key: &str| request.get(key).and_then(Value::as_str).unwrap_or("?");
                let path = text("path").split('?').next().unwrap_or_default();
                let number = 1 + self.requests.counts.values().sum::<usize>();
                self.requests.add(&format!("{} {path}", text("method")), request, number);
            }
            Part::File(file) => {
                self.files.extend(file.get("path").and_then(Value::as_str).map(str::to_owned));
            }
        }
    }

    /// The versions that its messages name at a pointer. None stands for a message that names none, and for those of very
    /// many that are not kept.
    pub(crate) fn versions(&self, at: &str) -> BTreeSet<Option<String>> {
        let told = |(value, _): &(Value, usize)| value.pointer(at).and_then(Value::as_str).map(str::to_owned);
        let beyond = (self.messages > self.first.len()).then_some(None);
        self.first.iter().map(told).chain(beyond).collect()
    }

    pub(crate) fn end_run(&mut self) {
        self.each_group(Groups::end_run);
    }

    fn each_group(&mut self, act: impl Fn(&mut Groups)) {
        [&mut self.stdout.messages, &mut self.stderr.messages, &mut self.requests].into_iter().for_each(act);
    }

    /// The stream that messages stand on.
    pub(crate) fn place(&self) -> Option<&'static str> {
        ["stdout", "stderr"].into_iter().find(|name| self.stream(name).has_messages())
    }

    pub(crate) fn stream(&self, name: &str) -> &Stream {
        if name == "stdout" { &self.stdout } else { &self.stderr }
    }
}
