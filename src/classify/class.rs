//! The classes of outcome, and what each means for whoever has to act.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The class of a run's outcome, in the order in which the classes are decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "`Class::meaning` says what each is")]
pub enum Class {
    Harness,
    Spawn,
    Timeout,
    Crash,
    Usage,
    Protocol,
    Truncated,
    Interrupted,
    Limit,
    RateLimit,
    Auth,
    Api,
    NotFound,
    Error,
    Blocked,
    Interactive,
    #[serde(rename = "background-task")]
    BackgroundTask,
    Permission,
    NoOutput,
    Ok,
}

/// Who has to act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words are the documentation")]
pub enum Blame {
    Harness,
    Environment,
    Target,
    Task,
    Provider,
    None,
}

impl Class {
    /// Every class, in the order of decision.
    pub const ALL: [Self; 20] = [
        Self::Harness,
        Self::Spawn,
        Self::Timeout,
        Self::Crash,
        Self::Usage,
        Self::Protocol,
        Self::Truncated,
        Self::Interrupted,
        Self::Limit,
        Self::RateLimit,
        Self::Auth,
        Self::Api,
        Self::NotFound,
        Self::Error,
        Self::Blocked,
        Self::Interactive,
        Self::BackgroundTask,
        Self::Permission,
        Self::NoOutput,
        Self::Ok,
    ];

    /// The name in reports and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Harness => "harness",
            Self::Spawn => "spawn",
            Self::Timeout => "timeout",
            Self::Crash => "crash",
            Self::Usage => "usage",
            Self::Protocol => "protocol",
            Self::Truncated => "truncated",
            Self::Interrupted => "interrupted",
            Self::Limit => "limit",
            Self::RateLimit => "rate_limit",
            Self::Auth => "auth",
            Self::Api => "api",
            Self::NotFound => "not_found",
            Self::Error => "error",
            Self::Blocked => "blocked",
            Self::Interactive => "interactive",
            Self::BackgroundTask => "background-task",
            Self::Permission => "permission",
            Self::NoOutput => "no_output",
            Self::Ok => "ok",
        }
    }

    /// What happened, in words.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Harness => "the harness itself failed",
            Self::Spawn => "the target could not be started",
            Self::Timeout => "the target did not finish in time",
            Self::Crash => "the target's process failed",
            Self::Usage => "the target refused its arguments or configuration",
            Self::Protocol => "the output is not the protocol",
            Self::Truncated => "the output ends before the result",
            Self::Interrupted => "the run was interrupted",
            Self::Limit => "the run hit a limit that was set for it",
            Self::RateLimit => "the provider limited the rate",
            Self::Auth => "the credentials were missing or refused",
            Self::Api => "the provider's API failed or refused",
            Self::NotFound => "the skill, command, session or tool does not exist",
            Self::Error => "the target reported an error",
            Self::Blocked => "a hook stopped the run",
            Self::Interactive => "the run ended by asking the user",
            Self::BackgroundTask => "background work was started and did not finish",
            Self::Permission => "a tool call was denied",
            Self::NoOutput => "the run succeeded but said nothing",
            Self::Ok => "the run did its work",
        }
    }

    /// What to do about it.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Harness => "look at the evidence, then run again",
            Self::Spawn => "check the path, the permissions and the interpreter of the binary",
            Self::Timeout => "see what it was waiting for, or give it more time",
            Self::Crash => "read its stderr and report the crash to the target's authors",
            Self::Usage => "correct the arguments or the configuration",
            Self::Protocol => "check the output format flags and what else writes to stdout",
            Self::Truncated => "drain the target's stdout eagerly, or run again",
            Self::Interrupted => "run again without interrupting it",
            Self::Limit => "raise the limit or make the task smaller",
            Self::RateLimit => "wait, then run again",
            Self::Auth => "check ANTHROPIC_API_KEY and the login",
            Self::Api => "see the evidence for what the API refused",
            Self::NotFound => "check the name, and that the skill is installed where the run looks for it",
            Self::Error => "read the message and the hint of the envelope",
            Self::Blocked => "look at the hooks of the configuration",
            Self::Interactive => "give the task every answer it needs, so that it need not ask",
            Self::BackgroundTask => "wait for background work, or set CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1",
            Self::Permission => "allow the tools that the task needs",
            Self::NoOutput => "run again; if it stays silent, look at the prompt",
            Self::Ok => "nothing to do",
        }
    }

    /// Who has to act.
    pub fn blame(self) -> Blame {
        match self {
            Self::Harness => Blame::Harness,
            Self::Spawn | Self::Interrupted | Self::Auth => Blame::Environment,
            Self::Timeout | Self::Crash | Self::Protocol | Self::Truncated | Self::Error | Self::NoOutput => {
                Blame::Target
            }
            Self::RateLimit | Self::Api => Blame::Provider,
            Self::Usage
            | Self::Limit
            | Self::NotFound
            | Self::Blocked
            | Self::Interactive
            | Self::BackgroundTask
            | Self::Permission => Blame::Task,
            Self::Ok => Blame::None,
        }
    }

    /// Whether running again may help, where neither a detail nor an envelope says otherwise.
    pub fn retryable(self) -> bool {
        matches!(
            self,
            Self::Harness
                | Self::Timeout
                | Self::Truncated
                | Self::Interrupted
                | Self::RateLimit
                | Self::NoOutput
        )
    }

    /// Whether the run says something about the task, so that an evaluation may count it.
    pub fn counts(self) -> bool {
        matches!(
            self,
            Self::Limit
                | Self::Error
                | Self::Blocked
                | Self::Interactive
                | Self::BackgroundTask
                | Self::Permission
                | Self::NoOutput
                | Self::Ok
        )
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Class {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|class| class.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|class| class.name()).collect();
            format!("there is no class `{name}`; the classes are {}", names.join(", "))
        })
    }
}

impl fmt::Display for Blame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
