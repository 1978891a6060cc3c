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
    /// Commands that prepare the working directory, once for all trials.
    pub setup: Vec<String>,
    /// Whose text is the output, the first that was written; what was said where the case names none.
    pub outputs: Vec<String>,
    /// Whether what was said is the output when none of `outputs` was written.
    pub output_fallback: bool,
    /// What has to hold.
    pub assertions: Vec<Assertion>,
    /// Entries that the output has to hold, which a model finds in it.
    pub sections: Vec<Section>,
    /// What a model is asked to judge.
    pub expectations: Vec<Expectation>,
    /// Whether it is held back when descriptions are compared: they are chosen on the others.
    pub held_out: bool,
    /// The task whose trials are compared, where it is that.
    pub compares: Option<String>,
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
    /// Work of which a model that judges has to say that every statement holds.
    JudgePass,
    /// Work of which a model that judges has to say that no statement holds.
    JudgeFail,
    /// The trials of a task in two arms, which a judge compares without knowing which is which.
    Blind,
    /// The skill has to be used.
    MustTrigger,
    /// The skill must not be used.
    MustNotTrigger,
}

impl Kind {
    /// Whether it is a task for the skill.
    pub fn is_task(self) -> bool {
        self == Self::Task
    }

    /// Whether it is about the apparatus, not the skill.
    pub fn is_control(self) -> bool {
        matches!(self, Self::ControlPass | Self::ControlFail) || self.is_judge_control()
    }

    /// Whether it is about the model that judges.
    pub fn is_judge_control(self) -> bool {
        matches!(self, Self::JudgePass | Self::JudgeFail)
    }

    /// Whether it is known to pass.
    pub fn is_known_to_pass(self) -> bool {
        matches!(self, Self::ControlPass | Self::JudgePass)
    }

    /// Whether it compares the trials of a task.
    pub fn is_blind(self) -> bool {
        self == Self::Blind
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
            setup: Vec::new(),
            outputs: Vec::new(),
            output_fallback: false,
            assertions: Vec::new(),
            sections: Vec::new(),
            expectations: Vec::new(),
            held_out: false,
            compares: None,
            trials: None,
            line: 1,
        }
    }

    /// Whether there is anything that may not hold.
    pub(super) fn can_fail(&self) -> bool {
        !(self.assertions.is_empty() && self.sections.is_empty() && self.expectations.is_empty())
    }
}
