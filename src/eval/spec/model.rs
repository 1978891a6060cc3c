//! The scripted model of an evaluation: what answers instead of the real API.

use std::path::Path;

use super::{SpecError, digest};
use crate::document;
use crate::harness::mock::{Fault, Script};
use crate::run::scenario::Scenario;

/// A scripted model instead of the real API.
#[derive(Debug, Clone, Default)]
pub struct ScriptedModel {
    /// What it answers, unless a rule says otherwise.
    pub script: Option<Script>,
    /// What differs for some trials; the first that applies.
    pub rules: Vec<ScriptRule>,
    /// The digest of the files it comes from.
    pub digest: Option<String>,
}

/// What a scripted model does in some trials.
#[derive(Debug, Clone)]
pub struct ScriptRule {
    /// The case; every one without it.
    pub case: Option<String>,
    /// The name of the arm; every one without it.
    pub arm: Option<String>,
    /// With the skill or without; both without it.
    pub with_skill: Option<bool>,
    /// The trials, from 1; all of them when empty.
    pub trials: Vec<u64>,
    /// The attempts at a trial, from 1; all of them when empty.
    pub attempts: Vec<u64>,
    /// Whether it is about the judge of a trial, not the trial.
    pub judge: bool,
    pub script: Option<Script>,
    /// What the file calls that script.
    pub origin: Option<String>,
    pub faults: Vec<Fault>,
}

impl ScriptedModel {
    /// Answers every trial by the script of this scenario file.
    pub fn use_script(&mut self, path: &Path) -> Result<(), SpecError> {
        let text = document::read_to_string(path)
            .map_err(|source| SpecError::Io { path: path.to_owned(), source })?;
        let scenario = Scenario::parse(&path.display().to_string(), &text)?;
        *self = Self {
            script: Some(scenario.script),
            rules: Vec::new(),
            digest: Some(digest([text.as_bytes()])),
        };
        Ok(())
    }
}
