//! What a contract says of the outcome of a run, ready to be looked up.

use std::fmt;

use regex::Regex;
use serde_json::Value;

use crate::json::{JsonView, Name, Pointer};

/// What is asked of a message.
pub(crate) struct MessageTest(Box<dyn Fn(JsonView<'_>) -> bool + Send + Sync>);

impl MessageTest {
    pub(crate) fn new(test: impl Fn(JsonView<'_>) -> bool + Send + Sync + 'static) -> Self {
        Self(Box::new(test))
    }

    pub(crate) fn holds(&self, message: JsonView<'_>) -> bool {
        (self.0)(message)
    }
}

impl fmt::Debug for MessageTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MessageTest")
    }
}

/// Which messages are meant.
#[derive(Debug)]
pub(crate) struct Selector {
    /// The `/type`s that they have; none where they may have any. `test` need not ask for it again.
    pub(crate) kinds: Vec<String>,
    pub(crate) test: MessageTest,
}

/// What is taken from the messages that are meant.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) on: Selector,
    pub(crate) take: Take,
}

/// What a message says of its run.
#[derive(Debug)]
#[cfg_attr(not(feature = "testing"), expect(dead_code, reason = "who shows the work reads some fields"))]
pub(crate) enum Take {
    /// The run ends; `failed` are the ends that are failures, and `message` is where such an end says why.
    End {
        failed: Option<MessageTest>,
        message: Vec<Pointer>,
    },
    /// Something failed, and this text says what; the run may go on.
    Failure(Pointer),
    /// The run went on: what failed before is mended.
    Recovery,
    /// A request is sent again.
    Retry,
    /// What the agent says to its user.
    Text {
        at: Pointer,
        join: Join,
    },
    /// What it thinks.
    Thinking(Pointer),
    /// It calls a tool, with this input.
    Call {
        id: Pointer,
        name: Pointer,
        input: Option<Pointer>,
    },
    /// A tool answers, with this text; the name is for a call that was not told of.
    Answer {
        id: Pointer,
        name: Option<Pointer>,
        failed: Option<MessageTest>,
        output: Option<Pointer>,
    },
    /// What it used up.
    Tokens(Box<Tokens>),
    Cost(Pointer),
    Model(Pointer),
    Session(Pointer),
    Version(Pointer),
    /// The row with this number may hold.
    Row(usize),
}

/// How the texts of several messages become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Join {
    /// Each is whole, and the last one counts.
    Last,
    /// Each is a piece of one text, until a tool is called.
    Deltas,
}

/// Where the counts of tokens are; of a pointer with `*` all that it leads to are added up.
#[derive(Debug)]
pub(crate) struct Tokens {
    pub(crate) input: Option<Pointer>,
    pub(crate) output: Option<Pointer>,
    pub(crate) cache_read: Option<Pointer>,
    pub(crate) cache_creation: Option<Pointer>,
    /// Whether `input` counts what was read from the cache as well.
    pub(crate) input_has_cache: bool,
    /// Whether each message tells of its own part; else the last one tells of all.
    pub(crate) sum: bool,
}

/// A sign in a message or in the end of the process, and the class of outcome that it means.
#[derive(Debug)]
#[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "the command line alone reads some fields"))]
pub(crate) struct Row {
    pub(crate) id: String,
    /// The name of the class.
    pub(crate) class: String,
    pub(crate) detail: Option<String>,
    /// What it says, for people.
    pub(crate) text: String,
    /// The condition as the contract writes it, for people.
    pub(crate) condition: Value,
    /// Whether a message has to show it.
    pub(crate) needs_message: bool,
    /// The place in the message that is shown as evidence.
    pub(crate) at: Option<Pointer>,
    /// Where the message says when a limit ends.
    pub(crate) resets_at: Option<Pointer>,
    /// Whether words decide rather than fields.
    pub(crate) by_words: bool,
    /// The exit codes that are asked for, if any are.
    pub(crate) exit: Vec<i32>,
    /// What standard error has to say.
    pub(crate) stderr: Option<Regex>,
}

impl Row {
    /// Whether the end of the process is a part of the sign.
    pub(crate) fn needs_process(&self) -> bool {
        !self.exit.is_empty() || self.stderr.is_some()
    }
}

/// All that a contract says of outcomes.
#[derive(Debug)]
#[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "the command line alone reads some fields"))]
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
    /// Where what is, as the contract writes it, for people.
    pub(crate) places: Vec<(String, Value)>,
    /// Whether a message ends a run; else its exit does.
    pub(crate) has_end: bool,
    entries: Vec<Entry>,
    /// For each `/type` the entries that may be meant, in their order; those that name no type are in all.
    by_type: Vec<(String, Vec<usize>)>,
    untyped: Vec<usize>,
    type_name: Name,
}

impl Table {
    pub(crate) fn new(entries: Vec<Entry>, rows: Vec<Row>, places: Vec<(String, Value)>) -> Self {
        let mut by_type: Vec<(String, Vec<usize>)> = Vec::new();
        let mut untyped = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            for kind in &entry.on.kinds {
                match by_type.iter_mut().find(|(known, _)| known == kind) {
                    Some((_, list)) if list.last() == Some(&index) => {}
                    Some((_, list)) => list.push(index),
                    None => by_type.push((kind.clone(), untyped.iter().copied().chain([index]).collect())),
                }
            }
            if entry.on.kinds.is_empty() {
                untyped.push(index);
                for (_, list) in &mut by_type {
                    list.push(index);
                }
            }
        }
        let has_end = entries.iter().any(|entry| matches!(entry.take, Take::End { .. }));
        Self { rows, places, has_end, entries, by_type, untyped, type_name: Name::new("type") }
    }

    /// What a message says, in the order of the contract.
    pub(super) fn of<'t>(&'t self, message: JsonView<'t>) -> impl Iterator<Item = &'t Take> + 't {
        let kind = message.member(&self.type_name).and_then(JsonView::text);
        let of_kind = kind.and_then(|kind| self.by_type.iter().find(|(known, _)| *known == *kind));
        let list = of_kind.map_or(&self.untyped, |(_, list)| list);
        list.iter()
            .map(|index| &self.entries[*index])
            .filter(move |entry| entry.on.test.holds(message))
            .map(|entry| &entry.take)
    }
}
