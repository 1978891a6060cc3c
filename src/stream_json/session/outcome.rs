//! One `result` message, as far as a verdict needs it.

use std::borrow::Cow;

use serde::Serialize;

use crate::json::Node;
use crate::stream_json::RunResult;
use crate::text::{head, tail};

use super::{AssistantError, LocalOutput, TokenUsage};

/// Of a result's text this much is kept from its start and from its end.
const KEPT: usize = 8 << 10;

/// The facts of one `result` message.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct ResultFacts {
    /// The line of the result.
    pub line: u64,
    /// Where it begins in the output.
    #[serde(skip)]
    pub offset: u64,
    /// `subtype`: `success` or the kind of failure.
    pub subtype: Option<String>,
    /// `is_error`, when it is a boolean.
    pub is_error: Option<bool>,
    /// `api_error_status`: the HTTP status of the failed request.
    pub api_error_status: Option<i64>,
    /// `api_error_type`, of newer versions.
    pub api_error_type: Option<String>,
    /// `stop_reason`: absent, null or a string.
    pub stop_reason: Option<Option<String>>,
    /// `terminal_reason`: why the main loop ended.
    pub terminal_reason: Option<String>,
    /// `num_turns`: how often the model answered.
    pub num_turns: Option<i64>,
    /// The start of `result`, when it is a string.
    pub text: Option<String>,
    /// The end of `result`, when it is a string.
    pub text_end: Option<String>,
    /// The first of `errors`, each clipped.
    pub errors: Vec<String>,
    /// Whether there is a `structured_output`.
    pub structured_output: bool,
    /// The length of `permission_denials`.
    pub denials: u64,
    /// `total_cost_usd`, which is cumulative.
    pub cost_usd: Option<f64>,
    /// `usage` of this pass of the main loop.
    pub usage: TokenUsage,
    /// The first error that a message of the main agent carried in this pass.
    pub assistant_error: Option<AssistantError>,
    /// Whether a model answered in this pass; false for local commands.
    pub model_answered: bool,
    /// The last words of a command that the CLI ran itself in this pass.
    pub local_output: Option<LocalOutput>,
    /// The line of the request that was being sent again when it was printed, if no model had answered.
    #[serde(skip)]
    pub retried: Option<u64>,
    /// Whether only the head of an oversized line could be read.
    pub partial: bool,
}

impl ResultFacts {
    pub(super) fn of(result: RunResult<'_>, line: u64, offset: u64, partial: bool) -> Self {
        let text = result.result();
        let owned = |text: Option<Cow<'_, str>>| text.map(Cow::into_owned);
        Self {
            line,
            offset,
            subtype: owned(result.subtype()),
            is_error: result.is_error(),
            api_error_status: result.api_error_status(),
            api_error_type: owned(result.api_error_type()),
            stop_reason: result.0.get("stop_reason").map(|reason| owned(reason.text())),
            terminal_reason: owned(result.terminal_reason()),
            num_turns: result.num_turns(),
            text: text.as_deref().map(|text| head(text, KEPT).to_owned()),
            text_end: text.as_deref().map(|text| tail(text, KEPT).to_owned()),
            errors: result.errors().take(8).map(|error| head(&error, 1024).to_owned()).collect(),
            structured_output: result.structured_output().is_some_and(|output| !output.is_null()),
            denials: result.permission_denials().count() as u64,
            cost_usd: result.total_cost_usd(),
            usage: result.usage().filter(|usage| usage.is_object()).map(TokenUsage::of).unwrap_or_default(),
            partial,
            ..Self::default()
        }
    }

    /// A failure of which nothing but a text is known.
    pub fn failure_with_text(text: &str) -> Self {
        Self { is_error: Some(true), text: Some(head(text, KEPT).to_owned()), ..Self::default() }
    }

    /// Whether no model was asked: the CLI ran a command of its own.
    pub fn is_local(&self) -> bool {
        !self.model_answered && self.num_turns == Some(0) && !self.is_failure()
    }

    /// Whether the result says that something failed.
    pub fn is_failure(&self) -> bool {
        self.is_error == Some(true)
            || self.subtype.as_deref().is_some_and(|subtype| subtype.starts_with("error"))
    }
}

/// The denied tools of a result.
pub(super) fn denied_tools(result: RunResult<'_>) -> impl Iterator<Item = Option<String>> {
    let tool = |denial: Node<'_>| denial.get("tool_name").and_then(Node::text).map(Cow::into_owned);
    result.permission_denials().map(tool)
}
