//! The classes of outcome, and what each means for whoever has to act.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

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

/// Declares the classes once: the variant and its name; who has to act, whether running again may help, and whether
/// the run says something about the task; what happened; what to do about it.
macro_rules! classes {
    ($($Class:ident $name:literal ($blame:ident, retry: $retry:literal, counts: $counts:literal) $meaning:literal $advice:literal,)*) => {
        /// The class of a run's outcome, in the order in which the classes are decided.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum Class {
            $(#[doc = $meaning] #[serde(rename = $name)] $Class,)*
        }

        static ROWS: [Row; Class::ALL.len()] = [$(Row {
            name: $name,
            blame: Blame::$blame,
            retryable: $retry,
            counts: $counts,
            meaning: $meaning,
            advice: $advice,
        },)*];

        impl Class {
            /// Every class, in the order of decision.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$Class,)*];
        }
    };
}

struct Row {
    name: &'static str,
    blame: Blame,
    retryable: bool,
    counts: bool,
    meaning: &'static str,
    advice: &'static str,
}

classes! {
    Harness "harness" (Harness, retry: true, counts: false)
        "the harness itself failed"
        "look at the evidence, then run again",
    Spawn "spawn" (Environment, retry: false, counts: false)
        "the target could not be started"
        "check the path, the permissions and the interpreter of the binary",
    Timeout "timeout" (Target, retry: true, counts: false)
        "the target did not finish in time"
        "see what it was waiting for, or give it more time",
    Crash "crash" (Target, retry: false, counts: false)
        "the target's process failed"
        "read its stderr and report the crash to the target's authors",
    Usage "usage" (Task, retry: false, counts: false)
        "the target refused its arguments or configuration"
        "correct the arguments or the configuration",
    Protocol "protocol" (Target, retry: false, counts: false)
        "the output is not the protocol"
        "check the output format flags and what else writes to stdout",
    Truncated "truncated" (Target, retry: true, counts: false)
        "the output ends before the result"
        "drain the target's stdout eagerly, or run again",
    Interrupted "interrupted" (Environment, retry: true, counts: false)
        "the run was interrupted"
        "run again without interrupting it",
    Limit "limit" (Task, retry: false, counts: true)
        "the run hit a limit that was set for it"
        "raise the limit or make the task smaller",
    RateLimit "rate_limit" (Provider, retry: true, counts: false)
        "the provider limited the rate"
        "wait, then run again",
    Auth "auth" (Environment, retry: false, counts: false)
        "the credentials were missing or refused"
        "check ANTHROPIC_API_KEY and the login",
    Api "api" (Provider, retry: false, counts: false)
        "the provider's API failed or refused"
        "see the evidence for what the API refused",
    NotFound "not_found" (Task, retry: false, counts: false)
        "the skill, command, session or tool does not exist"
        "check the name, and that the skill is installed where the run looks for it",
    Error "error" (Target, retry: false, counts: true)
        "the target reported an error"
        "read the message and the hint of the envelope",
    Blocked "blocked" (Task, retry: false, counts: true)
        "a hook stopped the run"
        "look at the hooks of the configuration",
    Interactive "interactive" (Task, retry: false, counts: true)
        "the run ended by asking the user"
        "give the task every answer it needs, so that it need not ask",
    BackgroundTask "background-task" (Task, retry: false, counts: true)
        "background work was started and did not finish"
        "wait for background work, or set CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1",
    Permission "permission" (Task, retry: false, counts: true)
        "a tool call was denied"
        "allow the tools that the task needs",
    NoOutput "no_output" (Target, retry: true, counts: true)
        "the run succeeded but said nothing"
        "run again; if it stays silent, look at the prompt",
    Ok "ok" (None, retry: false, counts: true)
        "the run did its work"
        "nothing to do",
}

impl Class {
    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The name in reports and on the command line.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// What happened, in words.
    pub fn meaning(self) -> &'static str {
        self.row().meaning
    }

    /// What to do about it.
    pub fn advice(self) -> &'static str {
        self.row().advice
    }

    /// Who has to act.
    pub fn blame(self) -> Blame {
        self.row().blame
    }

    /// Whether running again may help, where neither a detail nor an envelope says otherwise.
    pub fn retryable(self) -> bool {
        self.row().retryable
    }

    /// Whether the run says something about the task, so that an evaluation may count it.
    pub fn counts(self) -> bool {
        self.row().counts
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
            let names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
            format!("there is no class `{name}`; the classes are {}", names.join(", "))
        })
    }
}

impl fmt::Display for Blame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
