//! A scripted turn as an answer: what is said, in no API's words yet.

use super::pace::Random;
use super::script::{Block, Chunk, ToolInput, Turn, Usage};
use serde_json::{Map, Value};

/// Input tokens of a turn that does not say: a constant, so that costs in golden snapshots do not move.
const INPUT_TOKENS: u64 = 25;

/// Which answer this is; ids and random follow from it, so a replay gives the same bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerSeed {
    pub(super) seed: u64,
    pub(super) entry: u64,
    /// How often it has answered before.
    pub(super) earlier: u64,
}

impl AnswerSeed {
    pub(super) fn random(self, purpose: u64) -> Random {
        Random::new(self.seed, &[self.entry, self.earlier, purpose])
    }
}

/// What one answer says, and how it is split.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// Letters and digits for its id, which each API begins in its own way.
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) blocks: Vec<Block>,
    /// Letters and digits for the id of each block that needs one.
    ids: Vec<String>,
    /// In the script's words.
    pub(crate) stop_reason: String,
    pub(crate) stop_sequence: Option<String>,
    pub(crate) usage: Usage,
    chunk: Chunk,
    random: Random,
}

impl Answer {
    /// The answer of a turn to a request for `model`.
    pub(super) fn of_turn(turn: &Turn, model: &str, seed: AnswerSeed) -> Self {
        let has_tool = turn.blocks.iter().any(|block| matches!(block, Block::Tool { .. }));
        let stop_reason = turn.stop_reason.clone().unwrap_or_else(|| {
            let reason = match (&turn.stop_sequence, has_tool) {
                (Some(_), _) => "stop_sequence",
                (None, true) => "tool_use",
                (None, false) => "end_turn",
            };
            reason.to_owned()
        });
        Answer {
            model: turn.model.clone().unwrap_or_else(|| model.to_owned()),
            stop_reason,
            stop_sequence: turn.stop_sequence.clone(),
            usage: turn.usage.clone(),
            chunk: turn.chunk,
            ..Answer::new(turn.blocks.clone(), model, seed)
        }
    }

    /// An answer of one text.
    pub(super) fn of_text(text: &str, model: &str, seed: AnswerSeed) -> Self {
        Answer::new(vec![Block::Text(text.to_owned())], model, seed)
    }

    fn new(blocks: Vec<Block>, model: &str, seed: AnswerSeed) -> Self {
        let mut random = seed.random(2);
        let ids = blocks
            .iter()
            .map(|block| match block {
                Block::Tool { id: Some(_), .. } => String::new(),
                _ => random.token(22),
            })
            .collect();
        Answer {
            id: random.token(22),
            model: model.to_owned(),
            blocks,
            ids,
            stop_reason: "end_turn".to_owned(),
            stop_sequence: None,
            usage: Usage::default(),
            chunk: Chunk::Characters(16),
            random: seed.random(3),
        }
    }

    /// The same answer with a text of so many bytes in front, in deltas of 64 KiB.
    pub(super) fn with_huge_text(mut self, bytes: usize) -> Self {
        const LINE: &str = "all work and no play makes a long text.\n";
        let mut text = LINE.repeat(bytes / LINE.len() + 1);
        text.truncate(bytes);
        // Counting its characters for the usage would take longer than sending them.
        self.usage.output_tokens = Some(self.output_tokens() + bytes as u64 / 4);
        self.blocks.insert(0, Block::Text(text));
        self.ids.insert(0, String::new());
        self.chunk = Chunk::Characters(1 << 16);
        self
    }

    /// The blocks with the letters and digits of their ids.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (&Block, &str)> {
        self.blocks.iter().zip(self.ids.iter().map(String::as_str))
    }

    /// Where the splits of this answer are drawn from, anew for each time it is told.
    pub(crate) fn random(&self) -> Random {
        self.random.clone()
    }

    /// A text in the pieces in which it is streamed.
    pub(crate) fn split<'t>(&self, text: &'t str, random: &mut Random) -> Vec<&'t str> {
        split(text, self.chunk, random)
    }

    pub(crate) fn input_tokens(&self) -> u64 {
        self.usage.input_tokens.unwrap_or(INPUT_TOKENS)
    }

    pub(crate) fn output_tokens(&self) -> u64 {
        self.usage.output_tokens.unwrap_or_else(|| {
            let characters: usize = self
                .blocks
                .iter()
                .map(|block| match block {
                    Block::Text(text) | Block::Thinking(text) => text.chars().count(),
                    Block::Tool { name, input, .. } => name.len() + input.text().len(),
                    Block::Raw(value) => value.to_string().len(),
                })
                .sum();
            (characters as u64 / 4).max(1)
        })
    }

    /// How many of the output tokens were thought and not said, for APIs that tell.
    pub(crate) fn thinking_tokens(&self) -> u64 {
        let thought = |block: &Block| match block {
            Block::Thinking(text) => text.chars().count(),
            _ => 0,
        };
        let characters: usize = self.blocks.iter().map(thought).sum();
        (characters as u64).div_ceil(4).min(self.output_tokens())
    }
}

/// The id of a tool call: the script's own, or one that begins as the API's do.
pub(crate) fn tool_id(block: &Block, begins: &str, letters: &str) -> String {
    match block {
        Block::Tool { id: Some(id), .. } => id.clone(),
        _ => format!("{begins}{letters}"),
    }
}

impl ToolInput {
    /// The arguments as they are streamed.
    pub(crate) fn text(&self) -> String {
        match self {
            ToolInput::Json(value) => value.to_string(),
            ToolInput::Text(text) => text.clone(),
        }
    }

    /// The arguments where an API has parsed them already; none when they are no object.
    pub(crate) fn parsed(&self) -> Option<Value> {
        match self {
            ToolInput::Json(value) => Some(value.clone()),
            ToolInput::Text(text) => serde_json::from_str::<Map<String, Value>>(text).ok().map(Value::Object),
        }
    }
}

/// A signature of the shape of the real one; it signs nothing.
pub(crate) fn signature(text: &str) -> String {
    let label = text.bytes().fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    format!("Eq{}==", Random::new(label, &[]).token(60))
}

fn split<'t>(text: &'t str, chunk: Chunk, random: &mut Random) -> Vec<&'t str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let size = match chunk {
            Chunk::Whole => usize::MAX,
            Chunk::Characters(size) => size,
            Chunk::Seeded(most) => 1 + random.below(most as u64) as usize,
        };
        // The common case of ASCII costs no walk over the characters.
        let end = match rest.as_bytes().get(..size) {
            Some(head) if head.is_ascii() => size,
            _ => rest.char_indices().nth(size).map_or(rest.len(), |(end, _)| end),
        };
        let (part, after) = rest.split_at(end);
        parts.push(part);
        rest = after;
    }
    parts
}
