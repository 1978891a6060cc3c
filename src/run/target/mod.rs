//! Targets: the command lines under test, as data.
//!
//! ```toml
//! [target]
//! name = "my-agent"
//! description = "Ours."
//! program = "my-agent"                  # on the PATH, or a path
//! version = ["--version"]
//!
//! [env]                                 # all that it sees; {home}, {work}, {tmp} and {api} are filled in
//! HOME = "{home}"
//! ANTHROPIC_BASE_URL = "{api}"
//!
//! [secrets]                             # as [env], and masked wherever they turn up
//! ANTHROPIC_API_KEY = "not-a-key"
//!
//! [files]                               # what it finds in its home (~/), or in its working directory
//! "~/.my-agent/config.json" = '{"telemetry": false}'
//!
//! [[speaks]]                            # one for each contract that it promises
//! contract = "claude-stream-json"       # or the path of a contract of your own
//! args = ["--output-format", "stream-json", "--verbose"]
//! prompt = ["-p", "{prompt}"]
//! prompt_on_stdin = ["-p"]
//!
//! [npm]                                 # how versions of it are installed, see [`Npm`]
//! package = "my-agent"
//! [[npm.program]]
//! path = "cli.js"
//!
//! [[volatile]]                          # what differs from run to run, see crate::golden::Volatile
//! as = "ms"
//! fields = ["duration_ms"]
//! ```

mod choice;
mod evaluation;
mod locate;
mod npm;
mod prices;
#[cfg(feature = "cli")]
mod range;
mod reader;
mod transform;

#[cfg(feature = "cli")]
pub(crate) use choice::own_names;
pub(crate) use choice::{Choice, ChoiceError};
pub(crate) use evaluation::EvalPart;
#[cfg(feature = "cli")]
pub(crate) use evaluation::{Flag, SkillSignal};
pub(crate) use locate::clawgate;
#[cfg(feature = "cli")]
pub(crate) use locate::{LATEST, cache_folder, installed, installed_versions};
pub(crate) use locate::{LocateError, Located};
pub(crate) use npm::Npm;
#[cfg(feature = "cli")]
pub(crate) use npm::{INSTALLING, NpmError};
pub(crate) use prices::Prices;
#[cfg(feature = "cli")]
pub(crate) use range::Span;
pub(crate) use transform::Transform;

use std::path::PathBuf;

use crate::golden::Volatile;
use crate::harness::room::RoomFile;
use crate::harness::timers::Limits;

/// What a target may claim to do beyond answering a question: the tags of cases that need it.
pub(crate) const ABILITIES: [&str; 23] = [
    "asked",
    "auth",
    "background",
    "control",
    "fault",
    "hooks",
    "interactive",
    "limits",
    "mcp",
    "permission",
    "process",
    "prompts",
    "refusal",
    "resume",
    "retry",
    "skills",
    "stream-input",
    "structured",
    "sub-agent",
    "text-output",
    "timers",
    "tools",
    "usage",
];

/// What a scenario names as its contract that any target can play, each by its own.
pub(crate) const ANY: &str = "any";

/// Name and text of each built-in target.
pub(crate) const TARGETS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/targets.rs"));

/// A command line under test.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "the command line alone reads some fields"))]
pub(crate) struct Target {
    pub name: String,
    /// What it is, in a sentence.
    pub description: String,
    /// How it is started: a name on the `PATH`, a path, or `{clawgate}` for clawgate itself.
    pub program: String,
    /// The arguments that make it print its version.
    pub version: Vec<String>,
    /// How to get it.
    pub install: Option<String>,
    /// Where npm has its versions.
    pub npm: Option<Npm>,
    pub env: Vec<(String, String)>,
    /// The part of its environment that must not be recorded.
    pub secrets: Vec<(String, String)>,
    /// What it finds in its room, with places that are filled in.
    pub files: Vec<RoomFile>,
    /// How long it may take.
    pub limits: Limits,
    /// The most that it may print.
    pub most_stdout: u64,
    /// The contracts that it promises, and how it is made to keep them.
    pub speaks: Vec<Speaks>,
    /// What differs from run to run.
    pub volatile: Volatile,
    /// What it can, of [`ABILITIES`]; none where it does not say so, and is asked everything.
    pub can: Option<Vec<String>>,
    /// What tokens cost, by the model.
    pub prices: Option<Prices>,
    /// What it documents to do with what the API served.
    pub transforms: Vec<Transform>,
    /// How evaluations run it.
    pub eval: EvalPart,
}

/// One contract that a target promises.
#[derive(Debug, Clone, Default)]
pub(crate) struct Speaks {
    pub contract: String,
    /// The contract that this one is a part of: cases of the whole are run, and held to the part.
    pub part_of: Option<String>,
    /// Where a contract of the user's own is.
    pub contract_at: Option<PathBuf>,
    /// The version that it claims to be, instead of asking the program.
    pub version: Option<String>,
    /// The arguments that ask for this contract's form of output.
    pub args: Vec<String>,
    /// The arguments that ask a question.
    pub prompt: Vec<String>,
    /// The arguments that have it read the question from standard input.
    pub prompt_on_stdin: Option<Vec<String>>,
    /// The flags that it has, each as its help writes it, such as `--model MODEL`.
    pub flags: Option<Vec<String>>,
    pub env: Vec<(String, String)>,
}

impl Target {
    /// How it keeps a contract; none when it does not promise it. [`ANY`] is the one that it promises first.
    pub(crate) fn speaking(&self, contract: &str) -> Option<&Speaks> {
        if contract == ANY {
            return self.speaks.first();
        }
        let part = || self.speaks.iter().find(|speaks| speaks.part_of.as_deref() == Some(contract));
        self.speaks.iter().find(|speaks| speaks.contract == contract).or_else(part)
    }

    /// What a case with these tags needs that the target does not claim; nothing where it does not say what it can.
    pub(crate) fn lacks<'t>(&self, tags: &'t [String]) -> Option<&'t str> {
        let can = self.can.as_ref()?;
        tags.iter().find(|tag| ABILITIES.contains(&tag.as_str()) && !can.contains(tag)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(feature = "cli")]
    fn every_ability_is_needed_by_a_case() {
        let suite = crate::run::Suite::built_in().unwrap();
        for ability in ABILITIES {
            assert!(
                suite.cases().iter().any(|(case, _)| case.tags.iter().any(|tag| tag == ability)),
                "{ability}"
            );
        }
    }

    #[test]
    fn every_built_in_target_is_valid_and_named_after_its_file() {
        assert_eq!(
            TARGETS.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            ["agent", "claude", "claw", "codex", "copilot", "gemini", "opencode", "qwen", "reference"]
        );
        for (name, text) in TARGETS {
            let target = Target::parse(name, text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(target.name, *name);
            assert!(!target.description.is_empty() && !target.speaks.is_empty());
            for speaks in &target.speaks {
                assert!(
                    crate::schema::built_in().any(|known| known == speaks.contract),
                    "{}",
                    speaks.contract
                );
            }
        }
    }
}
