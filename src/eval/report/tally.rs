//! Counts trials, with memory for numbers only.

use std::collections::{BTreeMap, BTreeSet};

use super::gate::describe;
use super::series::{SeriesTally, assertions};
use super::{
    CaseReport, Comparison, Conclusion, ControlReport, Measured, Report, ReportStatus, Subject,
    TriggerReport, WrongTrigger,
};
use crate::eval::observed::Usage;
use crate::eval::plan::Series;
use crate::eval::runner::Halt;
use crate::eval::spec::{Kind, Spec};
use crate::eval::statistics::{Rate, Spread};
use crate::eval::store::Iteration;
use crate::eval::trial::{Arm, Outcome, SCHEMA_VERSION, Status, Trial};
use crate::exit_code;
use crate::harness::supervise::not_isolated_from;

/// Reasons for not measuring a trial that are listed; the rest are counted together.
const MOST_REASONS: usize = 20;

pub(in crate::eval) struct Tally<'s> {
    spec: &'s Spec,
    plan: &'s [Series<'s>],
    series: Vec<SeriesTally>,
    not_measured: BTreeMap<String, u64>,
    spent: Usage,
    models: BTreeMap<String, u64>,
    versions: BTreeMap<String, u64>,
    not_isolated: BTreeSet<String>,
    broken_clauses: u64,
}

impl<'s> Tally<'s> {
    pub(in crate::eval) fn new(spec: &'s Spec, plan: &'s [Series<'s>]) -> Self {
        Self {
            spec,
            plan,
            series: plan.iter().map(|_| SeriesTally::default()).collect(),
            not_measured: BTreeMap::new(),
            spent: Usage::default(),
            models: BTreeMap::new(),
            versions: BTreeMap::new(),
            not_isolated: BTreeSet::new(),
            broken_clauses: 0,
        }
    }

    pub(in crate::eval) fn add(&mut self, trial: &Trial) {
        let place =
            self.plan.iter().position(|series| series.case.id == trial.id.case && series.arm == trial.id.arm);
        let Some(series) = place.and_then(|place| self.series.get_mut(place)) else { return };
        series.add(trial);
        self.spent.add(&trial.spent);
        if trial.status == Status::NotMeasured {
            // What a target says of it differs from trial to trial; the class does not.
            let class = trial.verdict.as_ref().filter(|verdict| !verdict.counts);
            let reason = class.map_or_else(|| trial.reason.clone().unwrap_or_default(), Outcome::named);
            let is_listed = self.not_measured.len() < MOST_REASONS || self.not_measured.contains_key(&reason);
            *self.not_measured.entry(if is_listed { reason } else { "other".into() }).or_default() += 1;
            return;
        }
        self.broken_clauses += u64::from(trial.broken_clauses > 0);
        *self.models.entry(trial.model.clone().unwrap_or_default()).or_default() += 1;
        *self.versions.entry(trial.version.clone()).or_default() += 1;
        self.not_isolated.extend(trial.not_isolated.clone());
    }

    /// What it comes to.
    pub(in crate::eval) fn report(mut self, iteration: &Iteration, halt: Option<&Halt>) -> Report {
        let planned: u64 = self.plan.iter().map(|series| u64::from(series.trials)).sum();
        let finished: u64 = self.series.iter().map(SeriesTally::total).sum();
        let mut report = Report {
            schema_version: SCHEMA_VERSION,
            subject: Subject {
                skill: self.spec.skill.clone(),
                iteration: iteration.folder.display().to_string(),
                number: iteration.number,
                stamp: iteration.stamp.clone(),
                models: self.models.keys().cloned().collect(),
                versions: self.versions.keys().cloned().collect(),
            },
            conclusion: Conclusion {
                status: ReportStatus::Pass,
                exit_code: exit_code::OK,
                complete: finished == planned,
                halted: halt.map(describe),
                failures: Vec::new(),
                warnings: self.warnings(),
                baseline: None,
                shortfalls: Vec::new(),
            },
            measured: Measured {
                controls: self.controls(),
                overall: self.overall(),
                cases: self.cases(iteration),
                triggers: self.triggers(),
                not_measured: std::mem::take(&mut self.not_measured),
                spent: self.spent,
            },
        };
        let interrupted = halt == Some(&Halt::Interrupted);
        report.conclusion.gate(&report.measured, &self.spec.thresholds, interrupted);
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

    fn cases(&self, iteration: &Iteration) -> Vec<CaseReport> {
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
                    example: with.example(series, iteration),
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
        warnings.extend(self.not_isolated.iter().map(|missing| not_isolated_from(missing)));
        if self.broken_clauses > 0 {
            warnings.push(format!(
                "in {} trials the target broke its own contract; `clawgate judge` says how",
                self.broken_clauses
            ));
        }
        warnings
    }

    pub(in crate::eval) fn run_summary(&self) -> serde_json::Value {
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
