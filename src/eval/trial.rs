//! One trial: which it is, and what became of it. What is kept on disk as `trial.json`.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::arm::{WITH_SKILL, WITHOUT_SKILL};
use super::assertion::Checked;
use super::blind::Preference;
use super::extraction::Extracted;
use super::grade::Grade;
use super::observed::Usage;
use super::spec::Kind;
use crate::classify::Verdict;

/// The version of `trial.json` and of the events.
pub(super) const SCHEMA_VERSION: u64 = 1;

/// Which trial it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TrialId {
    pub case: String,
    /// The name of the arm: `with_skill`, `without_skill` or what the author calls it.
    pub arm: String,
    /// Which of the case's trials, from 1.
    pub trial: u32,
}

impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arm = match self.arm.as_str() {
            WITH_SKILL => "with",
            WITHOUT_SKILL => "without",
            other => other,
        };
        write!(f, "{}/{arm}/{}", self.case, self.trial)
    }
}

/// What became of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    Pass,
    /// Something does not, and it is the skill's doing.
    Fail,
    /// The machinery failed; the trial says nothing of the skill.
    NotMeasured,
}

/// What became of the skill in a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkillState {
    Used,
    /// Its file was read, which is a way of using it too.
    Read,
    /// It was called, and every call failed or was denied.
    Refused,
    /// The target knew it and did not call it.
    Loaded,
    /// The target did not know it.
    NotLoaded,
    /// It was not there, on purpose.
    Absent,
}

impl SkillState {
    /// Whether the skill was used, in whatever way.
    pub fn is_used(self) -> bool {
        matches!(self, Self::Used | Self::Read)
    }
}

/// A verdict as trials keep it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub class: String,
    pub detail: Option<String>,
    /// Who has to act.
    pub blame: String,
    /// Whether running again may help.
    pub retryable: bool,
    /// Whether the trial may be counted.
    pub counts: bool,
    /// When a rate limit ends, in seconds since 1970.
    pub resets_at: Option<i64>,
    pub advisories: Vec<String>,
    /// The first piece of evidence, in words.
    pub because: Option<String>,
}

impl Outcome {
    pub fn of(verdict: &Verdict) -> Self {
        Self {
            class: verdict.class.name().to_owned(),
            detail: verdict.detail.clone(),
            blame: verdict.blame.to_string(),
            retryable: verdict.retryable,
            counts: verdict.counts,
            resets_at: verdict.resets_at,
            advisories: verdict.advisories.iter().map(|advisory| advisory.name().to_owned()).collect(),
            because: verdict
                .evidence
                .first()
                .map(|evidence| format!("{}: {}", evidence.rule, evidence.value)),
        }
    }

    /// The class with its detail.
    pub fn named(&self) -> String {
        match &self.detail {
            Some(detail) => format!("{} ({detail})", self.class),
            None => self.class.clone(),
        }
    }
}

/// An expectation as a model judged it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    pub id: String,
    pub text: String,
    /// Whether it holds; none when the judge failed.
    pub passed: Option<bool>,
    /// How well, from 0 to 1.
    pub score: Option<f64>,
    /// What the judge rests it on, or why there is no judgement.
    pub evidence: String,
    /// Whether the evidence stands word for word in what was judged.
    pub quoted: bool,
}

/// One attempt at a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempted {
    /// The recording, relative to the trial's directory.
    pub recording: String,
    /// What became of it.
    pub verdict: Outcome,
    /// What it used up.
    pub usage: Usage,
}

/// A trial and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The version of this form.
    pub schema_version: u64,
    #[serde(flatten)]
    pub id: TrialId,
    /// What its case is for.
    pub kind: Kind,
    /// What became of it.
    pub status: Status,
    /// Why it failed or was not measured, in words.
    pub reason: Option<String>,
    /// The verdict of the last attempt; none when there was none.
    pub verdict: Option<Outcome>,
    /// What became of the skill.
    pub skill: SkillState,
    pub assertions: Vec<Checked>,
    pub expectations: Vec<Judged>,
    /// What a model found for the sections; none where there are none, or where it was not asked.
    #[serde(default)]
    pub extracted: Option<Extracted>,
    /// The attempts; the last one counts.
    pub attempts: Vec<Attempted>,
    /// What the last attempt used up.
    pub usage: Usage,
    /// What all attempts and the judge used up.
    pub spent: Usage,
    /// Tool calls of the last attempt.
    pub tool_calls: u64,
    /// Tools that were denied.
    pub denied: Vec<String>,
    /// Must clauses of the target's contract that the last attempt broke.
    pub broken_clauses: usize,
    /// The model that answered.
    pub model: Option<String>,
    /// The version of the target.
    pub version: String,
    /// What of the machine the target of the last attempt was not kept apart from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_isolated: Option<String>,
    /// The turns of the scripted model that answered, in the trial and to whoever judged it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub script_turns: BTreeSet<String>,
    /// What came of a blind comparison; none of other trials, and where the judge failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preference: Option<Preference>,
    /// When it began, in milliseconds since 1970.
    pub started_ms: u64,
    pub finished_ms: u64,
}

impl Trial {
    /// Takes over what it comes to.
    pub(super) fn take(&mut self, grade: Grade) {
        let Grade { status, reason, skill, assertions, expectations, extracted } = grade;
        (self.status, self.reason, self.skill) = (status, reason, skill);
        (self.assertions, self.expectations, self.extracted) = (assertions, expectations, extracted);
    }
}
