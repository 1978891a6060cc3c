//! The API script of a scenario: turns as a person thinks of them, read from TOML.
//!
//! ```toml
//! [scenario]
//! name = "list-files"
//!
//! [api]
//! seed = 7
//!
//! [[api.turns]]
//! thinking = "I should look."
//! text = "Let me look."
//! tool = { name = "Bash", input = { command = "ls" } }
//!
//! [[api.turns]]
//! text = "There is one file."
//! ```
//!
//! A turn without `when` answers the main conversation at its place in the list. `when` names another conversation
//! (`agent`, `prompt`, `system`, `model`) in which turns are counted by themselves, or a condition that may hold
//! anywhere (`tool_result`, `user`, `pointer`, `auxiliary`); see [`When`].

pub(super) mod builder;
pub(super) mod reader;

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use wiremock::Mock;

use crate::harness::mock::fault::Fault;
use crate::harness::mock::matcher::When;
use crate::harness::mock::pace::Pace;

/// What the API answers in one case.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Script {
    /// Everything that looks like chance follows from it.
    pub seed: u64,
    /// What happens to a request that the API would refuse.
    pub invalid_requests: InvalidRequests,
    /// The answers, in the order of the file.
    pub turns: Vec<Turn>,
    /// Faults of the server as a whole (refused connections).
    pub server_faults: Vec<Fault>,
    /// The user's own mocks.
    pub(in crate::harness::mock) mocks: Vec<MockFactory>,
}

/// Makes a mock of the user's own, anew for each server: a mock counts its matches, and a script may be run again.
#[derive(Clone)]
pub(in crate::harness::mock) struct MockFactory(Arc<dyn Fn() -> Mock + Send + Sync>);

impl MockFactory {
    pub(in crate::harness::mock) fn make(&self) -> Mock {
        (self.0)()
    }
}

impl fmt::Debug for MockFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MockFactory")
    }
}

/// What happens to a request that the API would refuse. It is a finding in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InvalidRequests {
    #[default]
    Report,
    /// Refused with the API's 400, as the real one does.
    Refuse,
}

/// One answer of the model, and the requests that it is for.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Turn {
    /// Its name in the journal and in reports: its own, or `turn-N` by its place in the file.
    pub name: String,
    /// The line of the file on which it begins.
    pub line: usize,
    /// Which requests it answers.
    pub when: When,
    /// What it says, in order.
    pub blocks: Vec<Block>,
    /// Why the answer stops; follows from the blocks without it.
    pub stop_reason: Option<String>,
    /// The stop sequence that was met.
    pub stop_sequence: Option<String>,
    /// The model that answers; the one that was asked without it.
    pub model: Option<String>,
    /// The tokens that the answer says it used.
    pub usage: Usage,
    /// How a block is split into deltas.
    pub chunk: Chunk,
    /// How fast it is sent.
    pub pace: Pace,
    /// What goes wrong, attempt by attempt.
    pub faults: Vec<Fault>,
    /// Headers that the answer has besides the usual ones.
    pub headers: Vec<(String, String)>,
    /// Whether it is no finding when the turn is never asked for.
    pub optional: bool,
    /// Whether the server found when it started that the Messages API can say it.
    pub(in crate::harness::mock) is_checked: bool,
}

/// One piece of an answer, in the order in which the model says it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Block {
    /// Something that the model says.
    Text(String),
    /// Something that the model thinks before it speaks.
    Thinking(String),
    /// A tool that the model wants to be called.
    Tool {
        /// Its id; made from the seed without it.
        id: Option<String>,
        /// The name of the tool, such as `Bash`.
        name: String,
        /// The arguments of the call.
        input: ToolInput,
    },
    /// Any other block, sent as it is.
    Raw(Value),
}

impl Block {
    /// A block as recordings tell it, to be said again. Ids and signatures are made anew.
    pub(crate) fn of_served(block: &Value) -> Self {
        let text = |key: &str| block[key].as_str().map(str::to_owned);
        match (block["type"].as_str(), text("text"), text("thinking"), text("name")) {
            (Some("text"), Some(text), ..) => Block::Text(text),
            (Some("thinking"), _, Some(text), _) => Block::Thinking(text),
            (Some("tool_use"), .., Some(name)) => {
                let cut = text("partial_json").map(ToolInput::Text);
                let input = cut.unwrap_or_else(|| ToolInput::Json(block["input"].clone()));
                Block::Tool { id: None, name, input }
            }
            _ => Block::Raw(block.clone()),
        }
    }

    /// The same block with the places of a room filled in where it names them: `{work}`, `{home}` and `{tmp}`.
    fn fill(&mut self, fill: &dyn Fn(&mut String)) {
        match self {
            Block::Text(text) | Block::Thinking(text) | Block::Tool { input: ToolInput::Text(text), .. } => {
                fill(text);
            }
            Block::Tool { input: ToolInput::Json(value), .. } | Block::Raw(value) => fill_value(value, fill),
        }
    }
}

fn fill_value(value: &mut Value, fill: &dyn Fn(&mut String)) {
    match value {
        Value::String(text) => fill(text),
        Value::Array(items) => items.iter_mut().for_each(|item| fill_value(item, fill)),
        Value::Object(members) => members.values_mut().for_each(|value| fill_value(value, fill)),
        _ => {}
    }
}

impl Script {
    /// Fills in the places of a room where turns name them.
    pub(crate) fn fill(&mut self, fill: &dyn Fn(&mut String)) {
        self.turns.iter_mut().flat_map(|turn| &mut turn.blocks).for_each(|block| block.fill(fill));
    }
}

/// The arguments of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolInput {
    Json(Value),
    /// Text streamed as it is, valid JSON or not.
    Text(String),
}

/// Token counts of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the names are those of the API")]
pub struct Usage {
    pub input_tokens: Option<u64>,
    /// Output tokens; a quarter of the characters without it.
    pub output_tokens: Option<u64>,
    /// Tokens read from the cache.
    pub cache_read_input_tokens: u64,
    /// Tokens written to the cache.
    pub cache_creation_input_tokens: u64,
}

/// How a block is split into deltas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chunk {
    /// So many characters in each.
    Characters(usize),
    Whole,
    /// One to this many characters, drawn from the seed: splits inside words, escapes and numbers.
    Seeded(usize),
}

impl Default for Chunk {
    fn default() -> Self {
        Self::Characters(16)
    }
}
