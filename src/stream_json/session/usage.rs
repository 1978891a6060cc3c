//! Token usage by model.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde::Serialize;

use crate::json::Node;

/// Tokens of one kind of use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TokenUsage {
    /// Tokens read without the cache.
    pub input: i64,
    /// Tokens written by the model.
    pub output: i64,
    /// Tokens written to the cache.
    pub cache_creation: i64,
    /// Tokens read from the cache.
    pub cache_read: i64,
}

impl TokenUsage {
    /// Reads a `usage` object; what is missing or not an integer counts as 0.
    pub fn of(usage: Node<'_>) -> Self {
        let mut tokens = Self::default();
        for (key, value) in usage.members() {
            let Some(count) = value.whole() else { continue };
            if key.is_text("input_tokens") {
                tokens.input = count;
            } else if key.is_text("output_tokens") {
                tokens.output = count;
            } else if key.is_text("cache_creation_input_tokens") {
                tokens.cache_creation = count;
            } else if key.is_text("cache_read_input_tokens") {
                tokens.cache_read = count;
            }
        }
        tokens
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_creation = self.cache_creation.saturating_add(other.cache_creation);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
    }
}

/// Sums usage by model. A message comes in several lines that repeat its usage, so each message id counts once, with
/// the usage of its last line.
#[derive(Debug, Default)]
pub(super) struct UsageByModel {
    settled: BTreeMap<String, TokenUsage>,
    open: HashMap<String, (String, TokenUsage)>,
    order: VecDeque<String>,
}

/// More models than any real run uses; the rest are summed as `other`.
const MAX_MODELS: usize = 64;

impl UsageByModel {
    pub(super) fn note(&mut self, id: &str, model: &str, usage: TokenUsage, limit: usize) {
        if let Some(known) = self.open.get_mut(id) {
            known.1 = usage;
            return;
        }
        if self.order.len() >= limit
            && let Some(oldest) = self.order.pop_front()
        {
            self.settle(&oldest);
        }
        self.order.push_back(id.to_owned());
        self.open.insert(id.to_owned(), (model.to_owned(), usage));
    }

    fn settle(&mut self, id: &str) {
        let Some((model, usage)) = self.open.remove(id) else { return };
        let known = self.settled.len() < MAX_MODELS || self.settled.contains_key(&model);
        self.settled.entry(if known { model } else { "other".into() }).or_default().add(usage);
    }

    pub(super) fn finish(&mut self) -> BTreeMap<String, TokenUsage> {
        while let Some(oldest) = self.order.pop_front() {
            self.settle(&oldest);
        }
        std::mem::take(&mut self.settled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(output: i64) -> TokenUsage {
        TokenUsage { output, ..TokenUsage::default() }
    }

    #[test]
    fn each_message_counts_once_with_its_last_usage() {
        let mut usage = UsageByModel::default();
        usage.note("a", "m", tokens(1), 2);
        usage.note("b", "m", tokens(10), 2);
        usage.note("a", "m", tokens(2), 2);
        usage.note("c", "n", tokens(100), 2);
        let sums = usage.finish();
        assert_eq!((sums["m"].output, sums["n"].output), (12, 100));
    }
}
