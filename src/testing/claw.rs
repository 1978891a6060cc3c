//! A command of `claw`, and the one error handler that its document asks for.

use std::fmt;

use serde_json::Value;

use super::cli::Cli;
use crate::classify::claw::classify_json;
use crate::classify::{Class, Process, RunFacts, Verdict};
use crate::envelope::Envelope;

/// Why a command of `claw` has no answer: what the documented handler raises.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ClawError {
    /// What happened: the kind of the envelope, `timeout`, `subprocess_timeout`, `parse_failure` or
    /// `unexpected_exit_code`; `spawn` or `harness` where the command was not run at all.
    pub kind: String,
    /// What the envelope says of it, whole.
    pub message: String,
    /// What the envelope advises to do.
    pub hint: Option<String>,
    /// Whether running again may help.
    pub retryable: bool,
    /// Whether the engine saw that it was cancelled; only after its own timeout.
    pub cancel_observed: bool,
    /// Whether the session may be used again; only after the engine's own timeout.
    pub safe_to_reuse_session: bool,
    /// The session that the envelope names.
    pub session_id: Option<String>,
    /// What failed, such as `session_store.load_session`.
    pub operation: Option<String>,
    /// What it failed on, such as the name of a session.
    pub target: Option<String>,
}

impl fmt::Display for ClawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\nHint: {hint}")?;
        }
        if self.retryable {
            f.write_str("\n(retryable)")?;
        }
        if self.cancel_observed {
            write!(f, "\n(safe_to_reuse_session={})", self.safe_to_reuse_session)?;
        }
        Ok(())
    }
}

impl std::error::Error for ClawError {}

/// Runs a command of `claw` and answers as `run_claw_command` of its document does: with the envelope, or with the error
/// that every caller handles in the same way. The target asks for JSON by itself, and [`Cli::timeout`] is the patience of
/// the caller.
///
/// An envelope that reports an error is an error at every exit code; the document looks at the exit code first, and would
/// take one with exit code 0 for an answer.
///
/// ```standalone_crate
/// # clawgate::testing::act_as_reference();
/// use clawgate::testing::{Cli, run_claw_command};
///
/// // In a test of your own: `Cli::target("claw=target/debug/claw")`.
/// let claw = |words: &[&str]| Cli::target("reference").map(|cli| cli.contract("claw-1.0").args(words.iter().copied()));
/// let pool = run_claw_command(claw(&["tool-pool"])?)?;
/// assert_eq!(pool["command"], "tool-pool");
///
/// let error = run_claw_command(claw(&["load-session", "nope"])?).unwrap_err();
/// assert_eq!((error.kind.as_str(), error.session_id.as_deref()), ("session_not_found", Some("nope")));
/// assert!(!error.retryable);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[expect(
    clippy::result_large_err,
    reason = "a caller matches the fields of the error, and a run takes far longer than a move"
)]
pub fn run_claw_command(command: Cli) -> Result<Value, ClawError> {
    let run = command.run().map_err(|error| ClawError::not_run(error.to_string()))?;
    let envelope = Envelope::read(run.stdout());
    let stderr = String::from_utf8_lossy(run.stderr());
    let mut process = Process::new(run.exit(), &stderr);
    process.facts = RunFacts::of(run.facts());
    // The handler takes whatever it runs for JSON, and says which flag is missing where it is none.
    let verdict = classify_json(&envelope, &process);
    match envelope.value {
        Some(answer) if matches!(verdict.class, Class::Ok | Class::NoOutput) => Ok(answer),
        _ => Err(ClawError::of(verdict)),
    }
}

impl ClawError {
    fn of(verdict: Verdict) -> Self {
        let fields = verdict.claw.unwrap_or_default();
        // Without a kind there was no command: the program did not start, or its script was incomplete.
        let reason =
            || verdict.evidence.iter().find_map(|evidence| evidence.value.as_str().map(str::to_owned));
        Self {
            kind: fields.kind.unwrap_or_else(|| verdict.class.name().to_owned()),
            message: fields.message.or_else(reason).unwrap_or_default(),
            hint: fields.hint,
            retryable: verdict.retryable,
            cancel_observed: fields.cancel_observed == Some(true),
            safe_to_reuse_session: fields.safe_to_reuse_session == Some(true),
            session_id: fields.session_id,
            operation: fields.operation,
            target: fields.target,
        }
    }

    fn not_run(message: String) -> Self {
        Self {
            kind: Class::Harness.name().to_owned(),
            message,
            hint: None,
            retryable: false,
            cancel_observed: false,
            safe_to_reuse_session: false,
            session_id: None,
            operation: None,
            target: None,
        }
    }
}
