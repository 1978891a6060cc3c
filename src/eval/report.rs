//! What an evaluation comes to: counted trial by trial, with memory for numbers only.

use std::collections::BTreeMap;

use serde::Serialize;

use super::assertion::Answer;
use super::observed::Usage;
use super::plan::Series;
use super::runner::Halt;
use super::spec::{Kind, Spec};
use super::statistics::{Difference, Rate, Spread, median};
use super::store::Stamp;
use super::trial::{Arm, SCHEMA_VERSION, SkillState, Status, Trial};
use crate::exit_code;

/// Reasons for not measuring a trial that are listed; the rest are counted together.
const MOST_REASONS: usize = 20;

/// The whole of an evaluation.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The version of this form.
    pub schema_version: u64,
    /// The skill.
    pub skill: String,
    /// What it comes to.
    pub status: ReportStatus,
    /// The exit code of the command.
    pub exit_code: u8,
    /// Whether every trial was finished.
    pub complete: bool,
    /// Why trials were left undone.
    pub halted: Option<String>,
    /// Where everything is kept.
    pub iteration: String,
    /// Its number.
    pub number: u32,
    /// What it was made with.
    pub stamp: Stamp,
    /// The models that answered, as the target said.
    pub models: Vec<String>,
    /// The versions of the target, as it said.
    pub versions: Vec<String>,
    /// The controls.
    pub controls: Vec<ControlReport>,
    /// All tasks together.
    pub overall: Comparison,
    /// Each task.
    pub cases: Vec<CaseReport>,
    /// Whether the skill is used where it should be, and only there.
    pub triggers: Option<TriggerReport>,
    /// Why trials were not measured, and how many.
    pub not_measured: BTreeMap<String, u64>,
    /// What was spent, retries and judges included.
    pub spent: Usage,
    /// Thresholds that were not reached, and regressions.
    pub failures: Vec<String>,
    /// What an author should know.
    pub warnings: Vec<String>,
    /// The comparison with an earlier evaluation.
    pub baseline: Option<BaselineReport>,
}

/// What an evaluation comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ReportStatus {
    /// Every threshold was reached.
    Pass,
    /// One was not.
    Fail,
    /// A control came out wrong: nothing that was measured can be believed.
    Invalid,
    /// Too little was measured.
    Incomplete,
    /// The user stopped it.
    Interrupted,
}

/// What became of a control.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ControlReport {
    /// The case.
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
#[non_exhaustive]
pub struct Comparison {
    /// With the skill.
    pub with_skill: ArmReport,
    /// Without it; none when that was not tried.
    pub without_skill: Option<ArmReport>,
    /// By how much the skill is better.
    pub delta: Option<Difference>,
}

/// One task.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct CaseReport {
    /// The case.
    pub case: String,
    /// With and without the skill.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// Each assertion and expectation.
    pub assertions: Vec<AssertionReport>,
}

/// Trials of one kind.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
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
    /// How they ended.
    pub verdicts: BTreeMap<String, u64>,
    /// The median cost of those that were measured.
    pub median_cost_usd: Option<f64>,
    /// The median time.
    pub median_seconds: Option<f64>,
    /// The median of the tokens.
    pub median_tokens: Option<f64>,
}

/// One assertion or expectation over all trials of its case.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct AssertionReport {
    /// What identifies it.
    pub id: String,
    /// What it asks for.
    pub text: String,
    /// With the skill.
    pub with_skill: Rate,
    /// Without it.
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
#[non_exhaustive]
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
#[non_exhaustive]
pub struct WrongTrigger {
    /// The case.
    pub case: String,
    /// The prompt.
    pub prompt: String,
    /// Whether the skill should be used.
    pub should_trigger: bool,
    /// How often it came out right.
    pub right: Rate,
}

/// The comparison with an earlier evaluation.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct BaselineReport {
    /// The earlier one.
    pub iteration: String,
    /// Why it was not compared.
    pub not_compared: Option<String>,
    /// By how much the pass rate with the skill changed.
    pub change: Option<Difference>,
    /// Whether it became worse beyond chance.
    pub regression: bool,
}

/// Counts trials.
pub(super) struct Tally<'s> {
    spec: &'s Spec,
    plan: &'s [Series<'s>],
    series: Vec<SeriesTally>,
    not_measured: BTreeMap<String, u64>,
    spent: Usage,
    models: BTreeMap<String, u64>,
    versions: BTreeMap<String, u64>,
    broken_clauses: u64,
}

#[derive(Default)]
struct SeriesTally {
    passed: u64,
    failed: u64,
    not_measured: u64,
    used: u64,
    unused: u64,
    not_loaded: u64,
    verdicts: BTreeMap<String, u64>,
    costs: Vec<f64>,
    seconds: Vec<f64>,
    tokens: Vec<f64>,
    /// The part of the assertions that held, for skill-creator's benchmark.
    rates: Vec<f64>,
    assertions: Vec<AssertionTally>,
    last_reason: Option<String>,
}

struct AssertionTally {
    id: String,
    text: String,
    passed: u64,
    failed: u64,
    unchecked: u64,
}

impl<'s> Tally<'s> {
    pub(super) fn new(spec: &'s Spec, plan: &'s [Series<'s>]) -> Self {
        Self {
            spec,
            plan,
            series: plan.iter().map(|_| SeriesTally::default()).collect(),
            not_measured: BTreeMap::new(),
            spent: Usage::default(),
            models: BTreeMap::new(),
            versions: BTreeMap::new(),
            broken_clauses: 0,
        }
    }

    /// Counts a trial.
    pub(super) fn add(&mut self, trial: &Trial) {
        let place =
            self.plan.iter().position(|series| series.case.id == trial.id.case && series.arm == trial.id.arm);
        let Some(series) = place.and_then(|place| self.series.get_mut(place)) else { return };
        series.add(trial);
        self.spent.add(&trial.spent);
        if trial.status == Status::NotMeasured {
            let reason = trial.reason.clone().unwrap_or_default();
            let is_listed = self.not_measured.len() < MOST_REASONS || self.not_measured.contains_key(&reason);
            *self.not_measured.entry(if is_listed { reason } else { "other".into() }).or_default() += 1;
            return;
        }
        self.broken_clauses += u64::from(trial.broken_clauses > 0);
        *self.models.entry(trial.model.clone().unwrap_or_default()).or_default() += 1;
        *self.versions.entry(trial.version.clone()).or_default() += 1;
    }

    /// What it comes to.
    pub(super) fn report(
        mut self,
        iteration: String,
        number: u32,
        stamp: Stamp,
        halt: Option<&Halt>,
    ) -> Report {
        let planned: u64 = self.plan.iter().map(|series| u64::from(series.trials)).sum();
        let finished: u64 = self.series.iter().map(SeriesTally::total).sum();
        let mut report = Report {
            schema_version: SCHEMA_VERSION,
            skill: self.spec.skill.clone(),
            status: ReportStatus::Pass,
            exit_code: exit_code::OK,
            complete: finished == planned,
            halted: halt.map(describe),
            iteration,
            number,
            stamp,
            models: self.models.keys().cloned().collect(),
            versions: self.versions.keys().cloned().collect(),
            controls: self.controls(),
            overall: self.overall(),
            cases: self.cases(),
            triggers: self.triggers(),
            not_measured: std::mem::take(&mut self.not_measured),
            spent: self.spent,
            failures: Vec::new(),
            warnings: self.warnings(),
            baseline: None,
        };
        report.add_assertion_warnings();
        report.gate(self.spec, halt == Some(&Halt::Interrupted));
        report
    }

    fn of(&self, kind: impl Fn(Kind) -> bool) -> impl Iterator<Item = (&Series<'s>, &SeriesTally)> {
        self.plan.iter().zip(&self.series).filter(move |(series, _)| kind(series.case.kind))
    }

    fn controls(&self) -> Vec<ControlReport> {
        let control = |(series, tally): (&Series<'_>, &SeriesTally)| {
            let kind = series.case.kind;
            let (right, wrong) = match kind {
                Kind::ControlPass => (tally.passed, tally.failed),
                _ => (tally.failed, tally.passed),
            };
            let as_known = if wrong > 0 { Some(false) } else { (right > 0).then_some(true) };
            let reason = if as_known == Some(true) { None } else { tally.last_reason.clone() };
            ControlReport { case: series.case.id.clone(), kind, as_known, reason }
        };
        self.of(Kind::is_control).map(control).collect()
    }

    fn overall(&self) -> Comparison {
        let of = |arm: Arm| {
            let mut sum = SeriesTally::default();
            let mut planned = 0;
            for (series, tally) in self.of(|kind| kind == Kind::Task).filter(|(series, _)| series.arm == arm)
            {
                planned += u64::from(series.trials);
                sum.merge(tally);
            }
            (planned > 0).then(|| sum.report(planned))
        };
        let with_skill = of(Arm::WithSkill).unwrap_or_else(|| SeriesTally::default().report(0));
        Comparison::of(with_skill, of(Arm::WithoutSkill))
    }

    fn cases(&self) -> Vec<CaseReport> {
        let tasks = self.of(|kind| kind == Kind::Task).filter(|(series, _)| series.arm == Arm::WithSkill);
        tasks
            .map(|(series, with)| {
                let without = self
                    .of(|kind| kind == Kind::Task)
                    .find(|(other, _)| other.case.id == series.case.id && other.arm == Arm::WithoutSkill);
                let without_report = without.map(|(other, tally)| tally.report(u64::from(other.trials)));
                CaseReport {
                    case: series.case.id.clone(),
                    comparison: Comparison::of(with.report(u64::from(series.trials)), without_report),
                    assertions: assertions(with, without.map(|(_, tally)| tally)),
                }
            })
            .collect()
    }

    fn triggers(&self) -> Option<TriggerReport> {
        let (mut true_positive, mut false_positive, mut false_negative, mut not_measured) = (0, 0, 0, 0);
        let (mut planned, mut planned_should) = (0, 0);
        let mut wrong = Vec::new();
        for (series, tally) in self.of(Kind::is_trigger) {
            planned += u64::from(series.trials);
            let should_trigger = series.case.kind == Kind::MustTrigger;
            if should_trigger {
                planned_should += u64::from(series.trials);
                true_positive += tally.passed;
                false_negative += tally.failed;
            } else {
                false_positive += tally.failed;
            }
            not_measured += u64::from(series.trials) - tally.passed - tally.failed;
            if tally.failed > 0 {
                wrong.push(WrongTrigger {
                    case: series.case.id.clone(),
                    prompt: series.case.prompt.clone(),
                    should_trigger,
                    right: Rate::of(tally.passed, tally.passed + tally.failed),
                });
            }
        }
        (planned > 0).then(|| TriggerReport {
            planned,
            should_trigger: planned_should,
            precision: Rate::of(true_positive, true_positive + false_positive),
            recall: Rate::of(true_positive, true_positive + false_negative),
            not_measured,
            wrong,
        })
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> =
            self.spec.unchecked.iter().map(|unchecked| format!("not checked: {unchecked}")).collect();
        for (what, seen) in [("models", &self.models), ("versions of the target", &self.versions)] {
            if seen.len() > 1 {
                let names: Vec<&str> = seen.keys().map(String::as_str).collect();
                warnings.push(format!("trials ran on several {what}: {}", names.join(", ")));
            }
        }
        if self.broken_clauses > 0 {
            warnings.push(format!(
                "in {} trials the target broke its own contract; `clawgate judge` says how",
                self.broken_clauses
            ));
        }
        warnings
    }

    /// For skill-creator's benchmark.
    pub(super) fn run_summary(&self) -> serde_json::Value {
        let mut summary = serde_json::Map::new();
        let mut means = Vec::new();
        for arm in [Arm::WithSkill, Arm::WithoutSkill] {
            let (mut rates, mut seconds, mut tokens) = (Vec::new(), Vec::new(), Vec::new());
            for (_, tally) in self.of(|kind| kind == Kind::Task).filter(|(series, _)| series.arm == arm) {
                rates.extend(&tally.rates);
                seconds.extend(&tally.seconds);
                tokens.extend(&tally.tokens);
            }
            if rates.is_empty() {
                continue;
            }
            let (rate, time, count) = (Spread::of(&rates), Spread::of(&seconds), Spread::of(&tokens));
            means.push((rate.mean, time.mean, count.mean));
            summary.insert(
                arm.name().into(),
                serde_json::json!({"pass_rate": rate, "time_seconds": time, "tokens": count}),
            );
        }
        if let [with, without] = means.as_slice() {
            let delta = serde_json::json!({
                "pass_rate": format!("{:+.2}", with.0 - without.0),
                "time_seconds": format!("{:+.1}", with.1 - without.1),
                "tokens": format!("{:+.0}", with.2 - without.2),
            });
            summary.insert("delta".into(), delta);
        }
        summary.into()
    }
}

fn describe(halt: &Halt) -> String {
    match halt {
        Halt::Interrupted => "interrupted".into(),
        Halt::Budget(why) => format!("the budget is used up: {why}"),
        Halt::RateLimit(Some(until)) => {
            format!(
                "a rate limit lasts until {}",
                super::time(u64::try_from(*until).unwrap_or_default() * 1000)
            )
        }
        Halt::RateLimit(None) => "a rate limit lasts longer than --max-wait".into(),
        Halt::Disk(why) => why.clone(),
    }
}

fn assertions(with: &SeriesTally, without: Option<&SeriesTally>) -> Vec<AssertionReport> {
    let report = |tally: &AssertionTally| {
        let other = without.and_then(|without| without.assertions.iter().find(|other| other.id == tally.id));
        let with_skill = Rate::of(tally.passed, tally.passed + tally.failed);
        let without_skill =
            other.map_or(Rate::of(0, 0), |other| Rate::of(other.passed, other.passed + other.failed));
        AssertionReport {
            id: tally.id.clone(),
            text: tally.text.clone(),
            with_skill,
            without_skill,
            unchecked: tally.unchecked + other.map_or(0, |other| other.unchecked),
            flaky: tally.passed > 0 && tally.failed > 0,
            never_fails: with_skill.rate == Some(1.0) && without_skill.rate == Some(1.0),
        }
    };
    with.assertions.iter().map(report).collect()
}

impl SeriesTally {
    fn total(&self) -> u64 {
        self.passed + self.failed + self.not_measured
    }

    fn add(&mut self, trial: &Trial) {
        if let Some(verdict) = &trial.verdict {
            *self.verdicts.entry(verdict.named()).or_default() += 1;
        }
        match trial.skill {
            SkillState::Used => self.used += 1,
            SkillState::Loaded => self.unused += 1,
            SkillState::NotLoaded => self.not_loaded += 1,
            SkillState::Absent => {}
        }
        if trial.reason.is_some() {
            self.last_reason.clone_from(&trial.reason);
        }
        match trial.status {
            Status::Pass => self.passed += 1,
            Status::Fail => self.failed += 1,
            Status::NotMeasured => {
                self.not_measured += 1;
                return;
            }
        }
        self.costs.push(trial.usage.cost_usd);
        self.seconds.push(trial.usage.seconds);
        self.tokens.push(trial.usage.tokens() as f64);
        let mut held = (0, 0);
        for checked in &trial.assertions {
            self.assertion(&checked.id, &checked.text, checked.status);
            held = (
                held.0 + u64::from(checked.status == Answer::Pass),
                held.1 + u64::from(checked.status != Answer::Unchecked),
            );
        }
        for judged in &trial.expectations {
            let status = match judged.passed {
                Some(true) => Answer::Pass,
                Some(false) => Answer::Fail,
                None => Answer::Unchecked,
            };
            self.assertion(&judged.id, &judged.text, status);
            held =
                (held.0 + u64::from(status == Answer::Pass), held.1 + u64::from(status != Answer::Unchecked));
        }
        if held.1 > 0 {
            self.rates.push(held.0 as f64 / held.1 as f64);
        }
    }

    fn assertion(&mut self, id: &str, text: &str, status: Answer) {
        let known = self.assertions.iter_mut().position(|tally| tally.id == id);
        let place = known.unwrap_or_else(|| {
            let (id, text) = (id.to_owned(), text.to_owned());
            self.assertions.push(AssertionTally { id, text, passed: 0, failed: 0, unchecked: 0 });
            self.assertions.len() - 1
        });
        let tally = &mut self.assertions[place];
        match status {
            Answer::Pass => tally.passed += 1,
            Answer::Fail => tally.failed += 1,
            Answer::Unchecked => tally.unchecked += 1,
        }
    }

    fn merge(&mut self, other: &Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.not_measured += other.not_measured;
        self.used += other.used;
        self.unused += other.unused;
        self.not_loaded += other.not_loaded;
        for (class, count) in &other.verdicts {
            *self.verdicts.entry(class.clone()).or_default() += count;
        }
        self.costs.extend(&other.costs);
        self.seconds.extend(&other.seconds);
        self.tokens.extend(&other.tokens);
    }

    fn report(&self, planned: u64) -> ArmReport {
        let pass_rate = Rate::of(self.passed, self.passed + self.failed);
        let ks = || [1, 3, 5, 10].into_iter().filter(|k| *k <= pass_rate.measured);
        ArmReport {
            planned,
            not_measured: planned - pass_rate.measured.min(planned),
            pass_at_k: ks().filter_map(|k| Some((k, pass_rate.pass_at(k)?))).collect(),
            pass_hat_k: ks().filter_map(|k| Some((k, pass_rate.pass_all(k)?))).collect(),
            pass_rate,
            skill_used: self.used,
            skill_unused: self.unused,
            skill_not_loaded: self.not_loaded,
            verdicts: self.verdicts.clone(),
            median_cost_usd: median(&mut self.costs.clone()),
            median_seconds: median(&mut self.seconds.clone()),
            median_tokens: median(&mut self.tokens.clone()),
        }
    }
}

impl Comparison {
    fn of(with_skill: ArmReport, without_skill: Option<ArmReport>) -> Self {
        let delta = without_skill
            .as_ref()
            .and_then(|without| Difference::of(&with_skill.pass_rate, &without.pass_rate));
        Self { with_skill, without_skill, delta }
    }
}

impl Report {
    fn add_assertion_warnings(&mut self) {
        for case in &self.cases {
            for assertion in &case.assertions {
                let name = format!("`{}` of case `{}`", assertion.id, case.case);
                if assertion.flaky {
                    let rate = assertion.with_skill;
                    self.warnings.push(format!("{name} is flaky: {} of {}", rate.passed, rate.measured));
                }
                if assertion.never_fails {
                    self.warnings
                        .push(format!("{name} never fails, with the skill and without: it shows nothing"));
                }
                if assertion.unchecked > 0 {
                    self.warnings.push(format!("{name} could not be checked {} times", assertion.unchecked));
                }
            }
            let with = &case.comparison.with_skill;
            if with.skill_unused > 0 {
                let total = with.skill_used + with.skill_unused;
                self.warnings.push(format!(
                    "case `{}`: the skill was loaded and not used in {} of {total} trials",
                    case.case, with.skill_unused
                ));
            }
        }
    }

    /// Compares with the earlier evaluation; `gates` says whether a regression is a failure.
    pub(super) fn compare(&mut self, baseline: BaselineReport, gates: bool) {
        if baseline.regression && gates {
            let change = baseline.change.map_or(0.0, |change| change.difference);
            self.failures.push(format!("regression against {}: pass rate {change:+.2}", baseline.iteration));
            if self.status == ReportStatus::Pass {
                self.status = ReportStatus::Fail;
                self.exit_code = exit_code::FINDINGS;
            }
        }
        if gates && let Some(reason) = &baseline.not_compared {
            self.failures.push(format!("{} cannot be compared: {reason}", baseline.iteration));
            self.exit_code = exit_code::worst(self.exit_code, exit_code::ENVIRONMENT);
            if self.status == ReportStatus::Pass {
                self.status = ReportStatus::Incomplete;
            }
        }
        self.baseline = Some(baseline);
    }

    fn gate(&mut self, spec: &Spec, interrupted: bool) {
        let thresholds = &spec.thresholds;
        let wrong: Vec<&ControlReport> =
            self.controls.iter().filter(|control| control.as_known == Some(false)).collect();
        let unknown = self.controls.iter().any(|control| control.as_known.is_none());
        let mut little = Vec::new();
        if unknown {
            little.push("a control could not be measured".to_owned());
        }
        if !self.complete {
            little.push(self.halted.clone().unwrap_or_else(|| "not every trial was run".into()));
        }
        for case in &self.cases {
            let with = &case.comparison.with_skill;
            if is_little(with, thresholds.min_measured) {
                little.push(format!(
                    "case `{}`: {} of {} trials measured",
                    case.case, with.pass_rate.measured, with.planned
                ));
                continue;
            }
            let rate = with.pass_rate.rate.unwrap_or_default();
            if rate < thresholds.min_pass_rate {
                let wanted = thresholds.min_pass_rate * 100.0;
                self.failures.push(format!(
                    "case `{}`: pass rate {:.0} %, at least {wanted:.0} % wanted",
                    case.case,
                    rate * 100.0
                ));
            }
        }
        if let Some(least) = thresholds.min_delta {
            match self.overall.delta {
                Some(delta) if delta.difference < least => {
                    self.failures.push(format!(
                        "the skill adds {:+.2}, at least {least:+.2} wanted",
                        delta.difference
                    ));
                }
                Some(_) => {}
                None => little.push("trials without the skill".into()),
            }
        }
        if let Some(triggers) = &self.triggers {
            let measured = triggers.planned - triggers.not_measured;
            if (measured as f64) < thresholds.min_measured * triggers.planned as f64 {
                little.push(format!("triggers: {measured} of {} trials measured", triggers.planned));
            } else if triggers.should_trigger > 0 && triggers.recall.measured == 0 {
                little.push("no prompt that should trigger the skill was measured".into());
            }
            for (name, rate, least) in [
                ("precision", triggers.precision, thresholds.min_precision),
                ("recall", triggers.recall, thresholds.min_recall),
            ] {
                // Where nothing was triggered there is no precision; recall says so.
                if let Some(rate) = rate.rate
                    && rate < least
                {
                    self.failures.push(format!("triggers: {name} {rate:.2}, at least {least:.2} wanted"));
                }
            }
        }
        let medians = [
            ("cost", self.overall.with_skill.median_cost_usd, thresholds.max_cost_usd, "$"),
            ("time", self.overall.with_skill.median_seconds, thresholds.max_seconds, "s"),
        ];
        for (name, found, most, unit) in medians {
            if let (Some(found), Some(most)) = (found, most)
                && found > most
            {
                self.failures.push(format!("median {name} {found:.4} {unit}, at most {most} wanted"));
            }
        }
        let codes = [
            (!self.failures.is_empty(), exit_code::FINDINGS, ReportStatus::Fail),
            (!little.is_empty(), exit_code::ENVIRONMENT, ReportStatus::Incomplete),
            (!wrong.is_empty(), exit_code::ENVIRONMENT, ReportStatus::Invalid),
            (interrupted, exit_code::INTERRUPTED, ReportStatus::Interrupted),
        ];
        for (holds, code, status) in codes {
            if holds {
                self.status = status;
                self.exit_code = exit_code::worst(self.exit_code, code);
            }
        }
        for control in wrong {
            let reason = control.reason.as_deref().unwrap_or("it passed");
            self.warnings.insert(
                0,
                format!(
                    "the control `{}` came out wrong ({reason}): nothing here can be believed",
                    control.case
                ),
            );
        }
        self.warnings.extend(little.into_iter().map(|what| format!("too little measured: {what}")));
    }
}

fn is_little(arm: &ArmReport, least: f64) -> bool {
    arm.pass_rate.measured == 0 || (arm.pass_rate.measured as f64) < least * arm.planned as f64
}
