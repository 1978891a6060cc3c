//! Commands of the CLI itself: which one a prompt names, and whether one says that it failed.

use crate::stream_json::LocalOutput;

use super::words::words;
use super::{Basis, Evidence};

words! {
    /// A command is a word after the slash; what has another slash is a path.
    COMMAND = r"^\s*/([A-Za-z][\w:.-]*)(?:\s|$)";
    /// How the CLI says that a command did not do what it was told.
    FAILED = r"(?ix)^\s*(?:error|failed|invalid|unknown|unable|could\ not|couldn't|cannot|can't|no\ such|not\ enough)\b
        | \b(?:isn't|is\ not)\ (?:available|supported|enabled|a\ (?:recogni[sz]ed|known|valid|/))";
}

/// Directories at the root of a file system, with which a prompt may begin.
const DIRECTORIES: [&str; 16] = [
    "bin", "boot", "dev", "etc", "home", "lib", "mnt", "opt", "proc", "root", "run", "srv", "sys", "tmp",
    "usr", "var",
];

/// The name of the slash command that a prompt begins with.
pub(super) fn name(prompt: &str) -> Option<&str> {
    let prompt = prompt.trim_start();
    let end = COMMAND.find(prompt)?.len() + 1;
    Some(&prompt[1..end]).filter(|name| !DIRECTORIES.contains(name))
}

/// Whether a listed command answers to this name; that of a plugin also to its own name alone.
pub(super) fn is_called(command: &str, name: &str) -> bool {
    let command = command.trim_start_matches('/');
    command == name || command.rsplit_once(':').is_some_and(|(_, own)| own == name)
}

/// Whether a text is what the CLI says of a name that it does not know.
pub(super) fn says_unknown(text: &str) -> bool {
    ["Unknown command: ", "Unknown slash command: ", "Unknown skill: "]
        .iter()
        .any(|words| text.trim_start().starts_with(words))
}

/// The sign that a local command failed: the CLI marks its words as an error, or they are those of a failure.
pub(super) fn failure(output: Option<&LocalOutput>, text: &str) -> Option<Evidence> {
    let is_error = output.is_some_and(|output| output.is_error);
    let words = output.map_or(text, |output| output.text.as_str());
    let basis = if is_error { Basis::Structured } else { Basis::Keyword };
    (is_error || FAILED.are_in(words)).then(|| Evidence::new("local-command-failed", basis, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_word_after_a_slash_and_no_path() {
        for (prompt, command) in [
            ("/nosuch thing", Some("nosuch")),
            ("/plugin:skill", Some("plugin:skill")),
            (" /clear\n", Some("clear")),
            ("/home/me/x is broken", None),
            ("/tmp is full", None),
            ("// comment", None),
            ("say /clear", None),
            ("/", None),
        ] {
            assert_eq!(name(prompt), command, "{prompt}");
        }
        assert!(is_called("plugin:skill", "skill") && is_called("skill", "skill"));
        assert!(!is_called("skills", "skill"));
    }
}
