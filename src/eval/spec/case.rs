//! What is tried: cases, what they bring along, and what has to come out.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::sections::Section;
use crate::eval::assertion::Assertion;

/// One thing that is tried several times.
#[derive(Debug, Clone)]
pub struct Case {
    /// What identifies it within its evaluation.
    pub id: String,
    /// What it is for.
    pub kind: Kind,
    /// What is asked with the skill.
    pub prompt: String,
    /// What is asked without it; none when that makes no sense.
    pub prompt_without: Option<String>,
    /// What success looks like, in the author's words.
    pub expected: Option<String>,
    /// Files in the working directory.
    pub files: Vec<Input>,
    /// Whose text is the output, the first that was written; what was said without any.
    pub outputs: Vec<String>,
    /// What has to hold.
    pub assertions: Vec<Assertion>,
    /// Entries that the output has to hold, which a model finds in it.
    pub sections: Vec<Section>,
    /// What a model is asked to judge.
    pub expectations: Vec<Expectation>,
    /// How many trials, instead of the evaluation's.
    pub trials: Option<u32>,
    /// The line of the file on which it begins, from 1.
    pub line: usize,
}

/// What a case is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A task for the skill.
    Task,
    /// Known to pass: when it does not, nothing was measured.
    ControlPass,
    /// Known to fail: when it does not, nothing was measured.
    ControlFail,
    /// The skill has to be used.
    MustTrigger,
    /// The skill must not be used.
    MustNotTrigger,
}

impl Kind {
    /// Whether it is about the apparatus, not the skill.
    pub fn is_control(self) -> bool {
        matches!(self, Self::ControlPass | Self::ControlFail)
    }

    /// Whether it asks only if the skill is used.
    pub fn is_trigger(self) -> bool {
        matches!(self, Self::MustTrigger | Self::MustNotTrigger)
    }
}

/// A file in the working directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    Copy {
        /// Where in the working directory.
        to: String,
        /// Of which file or directory.
        from: PathBuf,
    },
    Text {
        /// Where in the working directory.
        to: String,
        /// What is in it.
        text: String,
    },
}

/// What a model is asked to judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// What identifies it within its evaluation.
    pub id: String,
    pub text: String,
}

impl Case {
    /// A case that asks this and no more.
    pub(crate) fn new(id: impl Into<String>, kind: Kind, prompt: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            kind,
            prompt: prompt.into(),
            prompt_without: None,
            expected: None,
            files: Vec::new(),
            outputs: Vec::new(),
            assertions: Vec::new(),
            sections: Vec::new(),
            expectations: Vec::new(),
            trials: None,
            line: 1,
        }
    }

    /// Whether there is anything that may not hold.
    pub(super) fn can_fail(&self) -> bool {
        !(self.assertions.is_empty() && self.sections.is_empty() && self.expectations.is_empty())
    }
}
