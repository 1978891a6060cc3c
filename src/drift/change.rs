//! One change, as reports tell it.

use serde::Serialize;
use serde_json::Value;

use crate::schema::policy::{Effect, Kind};

/// One change, in all the cases that show it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// What kind of change it is.
    pub kind: Kind,
    /// What it does to a reader.
    pub effect: Effect,
    /// The kind of message, `request METHOD PATH`, or the stream; none when it is about the whole run.
    pub message: Option<String>,
    /// Where in it, as a JSON pointer; `*` stands for the elements of a list or a map, `*:text` for those of a kind.
    pub pointer: Option<String>,
    /// The change in one sentence.
    pub summary: String,
    /// All cases that show it.
    pub cases: Vec<String>,
    /// What was there, from the first of the cases.
    pub old: Value,
    /// What is there now.
    pub new: Value,
    /// Where `old` and `new` were seen.
    pub evidence: Evidence,
    /// Why it is accepted, if it is.
    pub known: Option<String>,
    /// Whether the messages carry the version bump that the policy asks for: readers that check it are warned.
    pub announced: bool,
}

/// Where both sides of a change were seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Evidence {
    /// The line of the old output.
    pub old_line: Option<usize>,
    /// The line of the new output.
    pub new_line: Option<usize>,
    /// The file or recording on the old side.
    pub old_input: Option<String>,
    /// The file or recording on the new side.
    pub new_input: Option<String>,
}

impl Change {
    /// A change of a run as a whole, of which no case is known yet.
    pub(super) fn new(kind: Kind, effect: Effect, summary: String) -> Self {
        Self {
            kind,
            effect,
            message: None,
            pointer: None,
            summary,
            cases: Vec::new(),
            old: Value::Null,
            new: Value::Null,
            evidence: Evidence::default(),
            known: None,
            announced: false,
        }
    }

    /// What it does to a reader in one word: its effect, or why it is none to worry about.
    pub fn word(&self) -> &'static str {
        match self.effect {
            Effect::Breaking if self.known.is_some() => "known",
            Effect::Breaking if self.announced => "announced",
            effect => effect.name(),
        }
    }

    /// Whether it fails the gate.
    pub fn fails(&self) -> bool {
        self.effect == Effect::Breaking && self.known.is_none() && !self.announced
    }
}
