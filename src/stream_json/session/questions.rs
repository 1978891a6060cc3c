//! Questions that the main agent put to the user by the tool that is made for it.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::stream_json::Block;

/// Questions to the user, and which of them got no answer.
#[derive(Debug, Default)]
pub(super) struct Questions {
    /// The lines of those that nothing has answered yet, by the id of their call.
    open: HashMap<String, u64>,
    /// The line of the first call without an id, which nothing can answer.
    nameless: Option<u64>,
    /// The line of the first call that failed; a later call may repeat it.
    failed: Option<u64>,
    /// The line of the first one to which the user gave no answer.
    unanswered: Option<u64>,
}

impl Questions {
    pub(super) fn ask(&mut self, id: Option<Cow<'_, str>>, line: u64, limit: usize) {
        match id {
            Some(id) if self.open.len() < limit => _ = self.open.insert(id.into_owned(), line),
            _ => _ = self.nameless.get_or_insert(line),
        }
    }

    /// Takes the result of a tool call, which may be that of a question.
    pub(super) fn answer(&mut self, id: &str, result: Block<'_>) {
        let Some(line) = self.open.remove(id) else { return };
        if result.is_failed() {
            self.failed.get_or_insert(line);
        } else if says_nothing(result) {
            self.unanswered.get_or_insert(line);
        } else {
            // Somebody answers, so a call that failed before was put again.
            self.failed = None;
        }
    }

    /// The line of the first question that got no answer.
    pub(super) fn first(&self) -> Option<u64> {
        let ends = [self.nameless, self.failed, self.unanswered];
        ends.into_iter().flatten().chain(self.open.values().copied()).min()
    }
}

/// Whether the result of a question holds no answer, and the CLI says so.
fn says_nothing(result: Block<'_>) -> bool {
    const WORDS: [&str; 8] = [
        "did not answer",
        "didn't answer",
        "not answered",
        "declined to answer",
        "no answer",
        "no response",
        "did not respond",
        "didn't respond",
    ];
    // An answer is quoted, and may hold these words too.
    let says_so = |text: &str| {
        let start = text.trim_start().chars().take(80).collect::<String>().to_lowercase();
        start.is_empty() || (!start.contains('"') && WORDS.iter().any(|words| start.contains(words)))
    };
    result.result_text().is_none_or(|text| says_so(&text))
}
