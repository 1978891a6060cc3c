//! Tool calls and their results.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

/// How often a tool was called, and with what outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ToolStats {
    /// How often it was called.
    pub calls: u64,
    /// Calls whose result is an error.
    pub errors: u64,
    /// Calls without a result.
    pub unanswered: u64,
}

/// The tool calls of a run, by tool.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ToolCalls {
    /// Statistics by tool name.
    pub by_name: BTreeMap<String, ToolStats>,
    /// Results whose call was not seen.
    pub orphan_results: u64,
    open: HashMap<String, String>,
}

/// More tool names than any real run uses; the rest are counted as `other`.
const MAX_NAMES: usize = 256;

impl ToolCalls {
    pub(crate) fn called(&mut self, id: Option<&str>, name: &str, limit: usize) {
        let known = self.by_name.len() < MAX_NAMES || self.by_name.contains_key(name);
        let name = if known { name } else { "other" };
        let stats = self.by_name.entry(name.to_owned()).or_default();
        stats.calls += 1;
        stats.unanswered += 1;
        if let Some(id) = id
            && self.open.len() < limit
        {
            self.open.insert(id.to_owned(), name.to_owned());
        }
    }

    /// Notes a result and returns the name of the tool that it answers.
    pub(crate) fn answered(&mut self, id: &str, is_error: bool) -> Option<String> {
        let Some(name) = self.open.remove(id) else {
            self.orphan_results += 1;
            return None;
        };
        let stats = self.by_name.entry(name.clone()).or_default();
        stats.unanswered = stats.unanswered.saturating_sub(1);
        stats.errors += u64::from(is_error);
        Some(name)
    }

    /// Whether a call of this id waits for its result.
    #[cfg(feature = "contracts")]
    pub(crate) fn is_open(&self, id: &str) -> bool {
        self.open.contains_key(id)
    }

    /// Whether any call waits for its result.
    #[cfg(feature = "contracts")]
    pub(crate) fn any_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// How many calls there were, of all tools.
    pub fn total(&self) -> u64 {
        self.by_name.values().map(|stats| stats.calls).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_paired_with_results() {
        let mut tools = ToolCalls::default();
        tools.called(Some("1"), "Bash", 10);
        tools.called(Some("2"), "Bash", 10);
        tools.called(Some("3"), "Read", 10);
        assert_eq!(tools.answered("1", true).as_deref(), Some("Bash"));
        tools.answered("3", false);
        tools.answered("9", false);
        assert_eq!(tools.by_name["Bash"], ToolStats { calls: 2, errors: 1, unanswered: 1 });
        assert_eq!(tools.by_name["Read"].unanswered, 0);
        assert_eq!((tools.total(), tools.orphan_results), (3, 1));
    }
}
