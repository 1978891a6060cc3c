//! The two heuristics of the documented reader.

use std::sync::LazyLock;

use regex::Regex;

/// Added when the interactive heuristic fires. The prefix before the colon is part of the contract.
pub(super) const INTERACTIVE_WARNING: &str = "interactive-hang: skill may have asked for input — ensure all parameters are in \
                                              test_args (heuristic)";

/// Added when the background heuristic fires. The prefix before the colon is part of the contract.
pub(super) const BACKGROUND_WARNING: &str = "background-task: skill launched Task(run_in_background=true) and exited without \
                                             polling — claude -p does not poll background tasks, so output is likely truncated \
                                             (heuristic). See docs/skill-usage.md#skill-compatibility for refactoring recipes.";

/// Phrases of unfinished work between word boundaries, as Python's `re` sees words and ignores case: letters and
/// numbers are words, combining marks are not, and `i` also matches the Turkish dotted and dotless letters.
static WAITING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x)(?: \A | [^\p{L}\p{N}_] )
          (?i: wa[iİı]t[iİı]ng\x20on | st[iİı]ll\x20wa[iİı]t[iİı]ng | cont[iİı]nu[iİı]ng | [iİı]n\x20progress
             | [iİı]n\x20the\x20background )
          (?: \z | [^\p{L}\p{N}_] )",
    )
    .ok()
});

/// Whether the text says that something is still going on.
pub(super) fn says_waiting(text: &str) -> bool {
    WAITING.as_ref().is_some_and(|waiting| waiting.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_work_is_recognised_by_whole_words() {
        for text in [
            "Still waiting",
            "(in progress)",
            "waıting on",
            "waİtİng on",
            "in the bacKground",
            "in progre\u{17f}s",
        ] {
            assert!(says_waiting(text), "{text}");
        }
        for text in
            ["rendering progress bar", "discontinuing", "in progression", "waiting_on", "in  progress", ""]
        {
            assert!(!says_waiting(text), "{text}");
        }
        assert!(says_waiting("in progress\u{301}"), "a combining mark is not a word character in Python");
    }
}
