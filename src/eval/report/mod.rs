//! What an evaluation comes to: counted trial by trial, with memory for numbers only.

mod gate;
mod series;
mod tally;

pub(crate) use gate::{Scope, Shortfall, ShortfallKind};
pub(super) use tally::Tally;

use std::collections::BTreeMap;

use serde::Serialize;

use super::arm::{WITH_SKILL, WITHOUT_SKILL};
use super::observed::Usage;
use super::spec::Kind;
use super::statistics::{Difference, Rate, Share};
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
    /// What a judge says that does not know which arm is which, by the names of the arms that the evaluated one is
    /// compared with.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub blind: BTreeMap<String, BlindReport>,
    /// How far the model that judges can be believed; none where none is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge: Option<JudgeReport>,
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

/// How far the model that judges can be believed.
#[derive(Debug, Clone, Default, Serialize)]
pub struct JudgeReport {
    /// Statements known not to hold of which it said that they do.
    pub false_passes: Share,
    /// Statements known to hold of which it said that they do not.
    pub false_failures: Share,
    /// Judgements of trials that were not believed: none, another form, a score or a quotation that contradicts them.
    pub not_believed: Share,
}

/// What became of a control.
#[derive(Debug, Clone, Serialize)]
pub struct ControlReport {
    pub case: String,
    /// The name of the further arm that it was run in; none for the evaluation's own target and model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// What it is known to do.
    pub kind: Kind,
    /// Whether it did; none when it was not measured.
    pub as_known: Option<bool>,
    /// What was seen, when it did not.
    pub reason: Option<String>,
}

impl ControlReport {
    /// The case, with the arm where it is not the evaluation's own.
    pub fn name(&self) -> String {
        self.arm.as_ref().map_or_else(|| self.case.clone(), |arm| format!("{}/{arm}", self.case))
    }
}

/// With and without the skill.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    pub with_skill: ArmReport,
    /// Without it; none when that was not tried.
    pub without_skill: Option<ArmReport>,
    /// By how much the skill is better.
    pub delta: Option<Difference>,
    /// Trials in which an attempt hung, crashed or broke off, which may be the skill's doing.
    pub broke_off: Unsteady,
    /// Trials that were not measured, for whatever reason.
    pub unmeasured: Unsteady,
    /// The further arms, in the author's order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<FurtherArm>,
}

/// How often the machinery failed in trials with the skill and without.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Unsteady {
    /// Of the trials that were finished.
    pub with_skill: Share,
    /// Without it; none when that was not tried.
    pub without_skill: Option<Share>,
    /// The chance that so many or more are with the skill if it makes no difference, by Fisher's exact test.
    pub p: Option<f64>,
}

impl Unsteady {
    fn of(with_skill: Share, without_skill: Option<Share>) -> Self {
        let p = without_skill.filter(|share| share.of > 0).map(|share| with_skill.chance_against(share));
        Self { with_skill, without_skill, p }
    }
}

/// An arm besides the one with the skill and the one without.
#[derive(Debug, Clone, Serialize)]
pub struct FurtherArm {
    pub name: String,
    /// What became of its trials.
    #[serde(flatten)]
    pub report: ArmReport,
    /// By how much the evaluated arm, `with_skill`, is better than this one.
    pub delta: Option<Difference>,
}

/// A field of the matrix of cases and arms.
#[derive(Debug, Clone, Copy)]
pub struct Cell<'c> {
    /// The name of the arm.
    pub arm: &'c str,
    pub report: &'c ArmReport,
    /// By how much the evaluated arm is better than this one; none for itself.
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
    /// How many hung, crashed or broke off in an attempt, of those that were finished.
    pub broke_off: Share,
    /// How many were not measured of those that were finished.
    #[serde(skip)]
    pub unmeasured: Share,
    /// The chance that at least one of so many passes.
    pub pass_at_k: BTreeMap<u64, f64>,
    /// The chance that all of so many pass.
    pub pass_hat_k: BTreeMap<u64, f64>,
    /// In how many the skill was used.
    pub skill_used: u64,
    /// In how many of these its file was read, rather than the skill called.
    pub skill_read: u64,
    /// In how many it was loaded and not used.
    pub skill_unused: u64,
    /// In how many of these it was called, and every call failed or was denied.
    pub skill_refused: u64,
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
    /// In the further arms, by their names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub arms: BTreeMap<String, Rate>,
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
    /// How many trials came out right on either half, where some prompts are held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halves: Option<Halves>,
    /// The prompts that did not always come out right.
    pub wrong: Vec<WrongTrigger>,
    /// The same in the further arms that have a skill, by their names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub arms: BTreeMap<String, TriggerReport>,
}

/// Triggers in two halves: a description is chosen on one, and the other says whether that was luck.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Halves {
    /// Of the prompts that a description is chosen on.
    pub chosen_on: Rate,
    /// Of those that were held out.
    pub held_out: Rate,
}

impl TriggerReport {
    /// The arm that did best where descriptions are chosen, with both halves; none when nothing is held out.
    pub fn best(&self) -> Option<(&str, Halves)> {
        let own = self.halves.map(|halves| (WITH_SKILL, halves));
        let further = self.arms.iter().filter_map(|(name, report)| Some((name.as_str(), report.halves?)));
        let rate = |halves: &Halves| halves.chosen_on.rate.unwrap_or(-1.0);
        // Among equals the first, which is the one that there is.
        own.into_iter()
            .chain(further)
            .reduce(|best, next| if rate(&next.1) > rate(&best.1) { next } else { best })
    }
}

/// Blind comparisons of the evaluated arm with another, each in both orders.
#[derive(Debug, Clone, Serialize)]
pub struct BlindReport {
    /// How often the evaluated arm's answer is better.
    pub better: u64,
    /// How often the other's is.
    pub worse: u64,
    /// How often neither is.
    pub equal: u64,
    /// How often the judge contradicted itself when the order was another.
    pub wavering: u64,
    /// Comparisons that could not be made.
    pub not_judged: u64,
    /// The part that the evaluated arm wins of those that were decided.
    pub preferred: Rate,
    /// The chance of so uneven a result if there were no difference, by the sign test.
    pub p: f64,
}

impl Default for BlindReport {
    fn default() -> Self {
        let (better, worse, equal, wavering, not_judged) = (0, 0, 0, 0, 0);
        Self { better, worse, equal, wavering, not_judged, preferred: Rate::of(0, 0), p: 1.0 }
    }
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
    fn of(
        with_skill: ArmReport,
        without_skill: Option<ArmReport>,
        further: Vec<(String, ArmReport)>,
    ) -> Self {
        let against = |other: &ArmReport| Difference::of(&with_skill.pass_rate, &other.pass_rate);
        let delta = without_skill.as_ref().and_then(against);
        let further = further.into_iter().map(|(name, report)| {
            let delta = against(&report);
            FurtherArm { name, report, delta }
        });
        let unsteady = |share: fn(&ArmReport) -> Share| {
            Unsteady::of(share(&with_skill), without_skill.as_ref().map(share))
        };
        Self {
            broke_off: unsteady(|arm| arm.broke_off),
            unmeasured: unsteady(|arm| arm.unmeasured),
            arms: further.collect(),
            delta,
            with_skill,
            without_skill,
        }
    }

    /// All arms in their order: with the skill, without it, and the further ones.
    pub fn cells(&self) -> impl Iterator<Item = Cell<'_>> {
        let with = Cell { arm: WITH_SKILL, report: &self.with_skill, delta: None };
        let without = self.without_skill.as_ref();
        let without = without.map(|report| Cell { arm: WITHOUT_SKILL, report, delta: self.delta });
        let further = self.arms.iter();
        let further = further.map(|arm| Cell { arm: &arm.name, report: &arm.report, delta: arm.delta });
        [with].into_iter().chain(without).chain(further)
    }
}
