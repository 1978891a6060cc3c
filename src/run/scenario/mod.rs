//! A scenario: one thing to make a target do, what the API answers meanwhile, and what is expected of it.
//!
//! ```toml
//! [scenario]
//! name = "claude/greeting"
//! description = "One question, one answer."
//! contract = "claude-stream-json"
//! api = "plain"                        # the script of another scenario, or [api] here
//!
//! [run]
//! prompt = "Say hello."
//!
//! [expect]
//! verdict = "ok"
//! requests = 1
//! ```
//!
//! A scenario with `[[variants]]` stands for several cases that share everything but what the variant says.
//! `scenarios/README.md` in the repository describes every key.

mod bytes;
mod expect;
pub mod library;
mod reader;
#[cfg(feature = "cli")]
pub(crate) mod recorded;
mod run;
mod step;

pub(crate) use expect::{Expect, ExpectedFile, Requests};
#[cfg(feature = "cli")]
pub(crate) use reader::import;
pub(crate) use run::{OutputMode, RunPart, room_file};

use crate::golden::Interleave;
use crate::harness::mcp;
use crate::harness::mock::{Fault, Script};
use crate::run::Source;
use crate::version::VersionRange;

/// A scenario file as it was read: its cases and the script that answers them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Scenario {
    /// Its name, as used on the command line and in ids.
    pub name: String,
    /// What it is for, in a sentence.
    pub description: String,
    /// What the API answers; no turns when it is not to be asked.
    pub script: Script,
    /// The scripted MCP servers.
    #[cfg_attr(
        not(feature = "cli"),
        expect(dead_code, reason = "only `clawgate mcp` serves them without a case")
    )]
    pub(crate) mcp: Vec<mcp::Server>,
    /// What to make a target do; none when the file holds nothing but an API script.
    pub cases: Vec<Case>,
}

/// One case: a scenario, or a variant of it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Case {
    /// The scenario's name, and the variant's after a slash.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Words to select it by.
    pub tags: Vec<String>,
    /// The contract that a target has to promise to be put through it.
    pub contract: String,
    /// What the target is to do.
    pub run: RunPart,
    /// What is expected of it.
    pub expect: Expect,
    /// What goes wrong besides what the script says.
    pub faults: Vec<Fault>,
    /// The scripted MCP servers that it is given.
    pub(crate) mcp: Vec<mcp::Server>,
    /// What differs for some targets.
    pub overrides: Vec<Override>,
    /// The file and line where it is written; none when it is built in.
    pub source: Option<Source>,
    /// What its snapshot does not mind.
    pub golden: GoldenPart,
}

/// `[golden]`: what the snapshot of a case does not mind.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct GoldenPart {
    /// Messages that may come in any order.
    pub interleave: Interleave,
    /// Why it has no snapshot.
    pub skip: Option<String>,
}

/// What differs for a target, or for some versions of it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Override {
    pub target: String,
    /// Its versions; all of them without it.
    pub(crate) versions: Option<VersionRange>,
    /// What is expected instead.
    pub expect: Expect,
    /// What is run instead.
    pub run: RunPart,
    /// Why it is not run at all.
    pub skip: Option<String>,
}

impl Override {
    /// Whether it is about this target.
    pub fn applies(&self, target: &str, version: Option<&str>) -> bool {
        self.target == target && self.versions.as_ref().is_none_or(|range| range.holds(version))
    }
}

impl Case {
    /// A case of which nothing is expected: what it did is judged elsewhere.
    pub(crate) fn bare(name: String, contract: impl Into<String>, run: RunPart, faults: Vec<Fault>) -> Self {
        Self {
            name,
            description: String::new(),
            tags: Vec::new(),
            contract: contract.into(),
            run,
            expect: Expect::default(),
            faults,
            mcp: Vec::new(),
            overrides: Vec::new(),
            golden: GoldenPart::default(),
            source: None,
        }
    }

    /// The override for a target; the last one that applies.
    pub fn for_target(&self, target: &str, version: Option<&str>) -> Option<&Override> {
        self.overrides.iter().rev().find(|other| other.applies(target, version))
    }
}
