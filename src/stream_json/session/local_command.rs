//! What commands said that the CLI runs itself, without a model.

use std::borrow::Cow;

use serde::Serialize;

use crate::json::Node;
use crate::text::head;

/// Of what a command said this much is kept.
const KEPT: usize = 1024;
/// The mark of what a command printed as an error, in newer versions.
const STDERR: &str = "<local-command-stderr>";

/// The last words of a local command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LocalOutput {
    /// The start of what it said.
    pub text: String,
    /// Whether the CLI itself marks it as an error.
    pub is_error: bool,
    /// The line of the message.
    pub line: u64,
}

impl LocalOutput {
    /// What a message says that the CLI made up; `source` is its `local_command_source`.
    pub(super) fn of_message(text: &str, source: Option<Node<'_>>, line: u64) -> Self {
        let is_error = source.and_then(Node::text).is_some_and(|source| source.contains(STDERR));
        Self { text: head(text, KEPT).to_owned(), is_error, line }
    }

    /// What a message of the user says that holds the output of a command.
    pub(super) fn of_user(content: &str, line: u64) -> Option<Self> {
        let text = content.split_once(STDERR)?.1;
        let text = text.split_once('<').map_or(text, |(text, _)| text);
        Some(Self { text: head(text, KEPT).to_owned(), is_error: true, line })
    }

    /// A compaction that the CLI says has failed.
    pub(super) fn of_compaction(error: Option<Cow<'_, str>>, line: u64) -> Self {
        let text = error.unwrap_or(Cow::Borrowed("the conversation was not compacted"));
        Self { text: head(&text, KEPT).to_owned(), is_error: true, line }
    }
}
