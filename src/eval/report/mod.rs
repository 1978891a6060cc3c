//! What an evaluation comes to: counted trial by trial, with memory for numbers only.

mod gate;
mod series;
mod tally;

pub(crate) use gate::{Scope, Shortfall, ShortfallKind};
pub(super) use tally::Tally;

use std::collections::BTreeMap;

use serde::Serialize;

use super::observed::Usage;
use super::spec::Kind;
use super::statistics::{Difference, Rate};
use super::store::Stamp;

/// Everything that an evaluation found, as `report.json` has it.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The version of this form.
    pub schema_version: u64,
    /// What was evaluated, and with what.
    #[serde(flatten)]
    pub subject: Subject,
    /// What it comes to, and why.
    #[serde(flatten)]
    pub conclusion: Conclusion,
    /// The numbers, by case and in sum.
    #[serde(flatten)]
    pub measured: Measured,
}

/// What was evaluated, and with what.
#[derive(Debug, Clone, Serialize)]
pub struct Subject {
    /// The name of the skill that was evaluated.
    pub skill: String,
    /// The folder that holds the trials, the recordings and this report.
    pub iteration: String,
    /// Which iteration of this skill's evaluations it is, from 1.
    pub number: u32,
    /// What it was made with; evaluations with other stamps are not compared.
    pub stamp: Stamp,
    /// The models that answered, as the target said.
    pub models: Vec<String>,
    /// The versions of the target, as it said.
    pub versions: Vec<String>,
}

/// What an evaluation comes to, and why.
#[derive(Debug, Clone, Serialize)]
pub struct Conclusion {
    /// Whether it passed, failed, or says nothing.
    pub status: ReportStatus,
    /// The exit code of the command.
    pub exit_code: u8,
    /// Whether every trial was finished.
    pub complete: bool,
    /// Why trials were left undone.
    pub halted: Option<String>,
    /// Thresholds that were not reached, and regressions.
    pub failures: Vec<String>,
    /// What an author should know.
    pub warnings: Vec<String>,
    /// The comparison with an earlier evaluation.
    pub baseline: Option<BaselineReport>,
    /// What failures and warnings say of what was wanted and not reached, each with what it is about.
    #[serde(skip)]
    pub shortfalls: Vec<Shortfall>,
}

/// The numbers of an evaluation.
#[derive(Debug, Clone, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names are those of the report in JSON")]
pub struct Measured {
    /// What became of the cases whose outcome is known beforehand.
    pub controls: Vec<ControlReport>,
    /// All tasks together, with the skill and without.
    pub overall: Comparison,
    /// Each task by itself.
    pub cases: Vec<CaseReport>,
    /// Whether the skill is used where it should be, and only there.
    pub triggers: Option<TriggerReport>,
    /// Why trials were not measured, and how many.
    pub not_measured: BTreeMap<String, u64>,
    /// What was spent, retries and judges included.
    pub spent: Usage,
}

/// Whether an evaluation passed, failed, or says nothing; the later, the graver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReportStatus {
    /// Every threshold was reached.
    Pass,
    /// A threshold was not reached, or it became worse than before.
    Fail,
    /// Too little was measured.
    Incomplete,
    /// A control came out wrong: nothing that was measured can be believed.
    Invalid,
    /// The user stopped it.
    Interrupted,
}

/// What became of a control.
#[derive(Debug, Clone, Serialize)]
pub struct ControlReport {
    pub case: String,
    /// What it is known to do.
    pub kind: Kind,
    /// Whether it did; none when it was not measured.
    pub as_known: Option<bool>,
    /// What was seen, when it did not.
    pub reason: Option<String>,
}

/// With and without the skill.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    pub with_skill: ArmReport,
    /// Without it; none when that was not tried.
    pub without_skill: Option<ArmReport>,
    /// By how much the skill is better.
    pub delta: Option<Difference>,
}

#[derive(Debug, Clone, Serialize)]
pub struct CaseReport {
    pub case: String,
    /// With and without the skill.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// Each assertion and expectation.
    pub assertions: Vec<AssertionReport>,
    /// The first trial with the skill that failed or, if none did, was not measured.
    pub example: Option<ExampleTrial>,
}

/// A trial to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExampleTrial {
    /// Which one, from 1.
    pub trial: u32,
    /// Why it did not pass.
    pub reason: String,
    /// The recording of its last attempt; none when there was none.
    pub recording: Option<String>,
}

/// Trials of one kind.
#[derive(Debug, Clone, Serialize)]
pub struct ArmReport {
    /// How many were planned.
    pub planned: u64,
    /// How many could not be measured.
    pub not_measured: u64,
    /// How many passed of those that were.
    pub pass_rate: Rate,
    /// The chance that at least one of so many passes.
    pub pass_at_k: BTreeMap<u64, f64>,
    /// The chance that all of so many pass.
    pub pass_hat_k: BTreeMap<u64, f64>,
    /// In how many the skill was used.
    pub skill_used: u64,
    /// In how many it was loaded and not used.
    pub skill_unused: u64,
    /// In how many the target did not know it.
    pub skill_not_loaded: u64,
    pub verdicts: BTreeMap<String, u64>,
    /// The median cost of those that were measured.
    pub median_cost_usd: Option<f64>,
    pub median_seconds: Option<f64>,
    /// The time of all of them.
    pub total_seconds: f64,
    /// The median of the tokens.
    pub median_tokens: Option<f64>,
}

/// One assertion or expectation over all trials of its case.
#[derive(Debug, Clone, Serialize)]
pub struct AssertionReport {
    pub id: String,
    /// What it asks for.
    pub text: String,
    pub with_skill: Rate,
    pub without_skill: Rate,
    /// How often it could not be decided.
    pub unchecked: u64,
    /// Whether it sometimes holds and sometimes not, with the skill.
    pub flaky: bool,
    /// Whether it holds always, with the skill and without: it shows nothing.
    pub never_fails: bool,
}

/// Whether the skill is used where it should be, and only there.
#[derive(Debug, Clone, Serialize)]
pub struct TriggerReport {
    /// Of the trials that used the skill, those that should.
    pub precision: Rate,
    /// Of the trials that should use the skill, those that did.
    pub recall: Rate,
    /// Trials that were planned.
    pub planned: u64,
    /// Those of them that should use the skill.
    pub should_trigger: u64,
    /// Trials that could not be measured.
    pub not_measured: u64,
    /// The prompts that did not always come out right.
    pub wrong: Vec<WrongTrigger>,
}

/// A prompt that did not always come out right.
#[derive(Debug, Clone, Serialize)]
pub struct WrongTrigger {
    pub case: String,
    pub prompt: String,
    /// Whether the skill should be used.
    pub should_trigger: bool,
    /// How often it came out right.
    pub right: Rate,
}

/// The comparison with an earlier evaluation.
#[derive(Debug, Clone, Serialize)]
pub struct BaselineReport {
    pub iteration: String,
    /// Why it was not compared.
    pub not_compared: Option<String>,
    /// By how much the pass rate with the skill changed.
    pub change: Option<Difference>,
    /// Whether it became worse beyond chance.
    pub regression: bool,
}

impl Comparison {
    fn of(with_skill: ArmReport, without_skill: Option<ArmReport>) -> Self {
        let delta = without_skill
            .as_ref()
            .and_then(|without| Difference::of(&with_skill.pass_rate, &without.pass_rate));
        Self { with_skill, without_skill, delta }
    }
}
