//! The verdict and its evidence.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Blame, Class};
use crate::text::clip;

/// What became of a run.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Verdict {
    /// The class of the outcome.
    pub class: Class,
    /// More about it, such as which limit or which API error.
    pub detail: Option<String>,
    /// Who has to act.
    pub blame: Blame,
    /// Whether running again may help.
    pub retryable: bool,
    /// Whether an evaluation may count the run.
    pub counts: bool,
    /// When a rate limit ends, in seconds since 1970, if that is known.
    pub resets_at: Option<i64>,
    /// What else is worth knowing.
    pub advisories: Vec<Advisory>,
    /// What the verdict rests on; the first piece decided.
    pub evidence: Vec<Evidence>,
    /// What an error handler for `claw` needs; only there.
    #[serde(flatten)]
    pub claw: Option<ClawFields>,
}

/// The fields that the documented error handler of `claw` returns beside the class.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClawFields {
    /// The error kind of the envelope.
    pub kind: Option<String>,
    /// What the envelope says of the failure, whole.
    pub message: Option<String>,
    /// What failed, such as `session_store.load_session`.
    pub operation: Option<String>,
    /// What it failed on, such as the name of a session.
    pub target: Option<String>,
    /// What the envelope advises the user to do.
    pub hint: Option<String>,
    /// The session that the envelope names.
    pub session_id: Option<String>,
    /// Whether the engine saw that it was cancelled; only after a timeout.
    pub cancel_observed: Option<bool>,
    /// Whether the session may be used again; only after a timeout.
    pub safe_to_reuse_session: Option<bool>,
}

/// Something that holds besides the class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Advisory {
    /// The run also ended by asking the user.
    Interactive,
    /// Background work also did not finish.
    #[serde(rename = "background-task")]
    BackgroundTask,
    /// A tool call was also denied.
    Permission,
    /// API requests were sent again.
    Retried,
    /// A sub-agent failed on an API error.
    SubagentApiError,
    /// The process did not exit after its result, or late.
    LateExit,
    /// A timer ended the run while the provider was failing.
    TimedOut,
    /// The prompt names a slash command that nobody knows, and went to the model as text.
    NotFound,
    /// A command that the CLI runs itself says that it failed.
    LocalCommandFailed,
}

impl Advisory {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::BackgroundTask => "background-task",
            Self::Permission => "permission",
            Self::Retried => "retried",
            Self::SubagentApiError => "subagent_api_error",
            Self::LateExit => "late_exit",
            Self::TimedOut => "timed_out",
            Self::NotFound => "not_found",
            Self::LocalCommandFailed => "local_command_failed",
        }
    }
}

/// One observation that a verdict rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Evidence {
    /// The rule that used it: one of our own, or a row of the contract's `[outcome]`.
    pub rule: Cow<'static, str>,
    /// What kind of observation it is.
    pub basis: Basis,
    /// The line of the stream.
    pub line: Option<u64>,
    /// The place in the message or envelope.
    pub pointer: Option<String>,
    /// What was seen there, clipped.
    pub value: Value,
}

/// What kind of observation a piece of evidence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// A field with a defined meaning.
    Structured,
    /// Words in a text.
    Keyword,
    /// A guess that is usually right.
    Heuristic,
    /// How the process behaved.
    Process,
}

/// Longer values are clipped in evidence.
const MAX_VALUE: usize = 300;

impl Evidence {
    /// Evidence without a place in the output.
    pub(super) fn new(rule: impl Into<Cow<'static, str>>, basis: Basis, value: impl Into<Value>) -> Self {
        let value = match value.into() {
            Value::String(text) => clip(&text, MAX_VALUE).into(),
            other => other,
        };
        Self { rule: rule.into(), basis, line: None, pointer: None, value }
    }

    /// A field with a defined meaning.
    pub(super) fn field(rule: impl Into<Cow<'static, str>>, value: impl Into<Value>) -> Self {
        Self::new(rule, Basis::Structured, value)
    }

    pub(super) fn at(mut self, line: u64, pointer: &str) -> Self {
        self.line = Some(line);
        self.pointer = (!pointer.is_empty()).then(|| pointer.to_owned());
        self
    }

    pub(super) fn in_document(mut self, pointer: &str) -> Self {
        self.pointer = Some(pointer.to_owned());
        self
    }
}

impl Verdict {
    /// A verdict of this class with the class's own blame, retry and count.
    pub(super) fn of(class: Class, detail: Option<&str>, evidence: Vec<Evidence>) -> Self {
        Self {
            class,
            detail: detail.map(str::to_owned),
            blame: class.blame(),
            retryable: class.retryable(),
            counts: class.counts(),
            resets_at: None,
            advisories: Vec::new(),
            evidence,
            claw: None,
        }
    }

    /// A verdict that rests on one piece of evidence.
    pub(super) fn by(class: Class, detail: Option<&str>, evidence: Evidence) -> Self {
        Self::of(class, detail, vec![evidence])
    }

    /// Sets whether running again may help.
    pub(super) fn retry(mut self, retryable: bool) -> Self {
        self.retryable = retryable;
        self
    }

    /// Whether this is the outcome one hopes for.
    pub fn is_ok(&self) -> bool {
        self.class == Class::Ok
    }
}
