//! Counts trials, with memory for numbers only.

use std::collections::{BTreeMap, BTreeSet};

use super::gate::describe;
use super::series::{SeriesTally, assertions};
use super::{
    ArmReport, BlindReport, CaseReport, Comparison, Conclusion, ControlReport, Halves, JudgeReport, Measured,
    Report, ReportStatus, Subject, TriggerReport, WrongTrigger,
};
use crate::eval::arm::{WITH_SKILL, WITHOUT_SKILL};
use crate::eval::observed::Usage;
use crate::eval::plan::Series;
use crate::eval::runner::Halt;
use crate::eval::spec::{Kind, Spec};
use crate::eval::statistics::{Rate, Spread, sign_test};
use crate::eval::store::Iteration;
use crate::eval::trial::{Outcome, SCHEMA_VERSION, Status, Trial};
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
    turns: BTreeSet<String>,
    judge: Option<JudgeReport>,
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
            turns: BTreeSet::new(),
            judge: None,
        }
    }

    pub(in crate::eval) fn add(&mut self, trial: &Trial) {
        let place = self
            .plan
            .iter()
            .position(|series| series.case.id == trial.id.case && series.arm.name == trial.id.arm);
        let Some(series) = place.and_then(|place| self.series.get_mut(place)) else { return };
        series.add(trial);
        let is_elsewhere =
            self.plan.get(place.unwrap_or_default()).is_some_and(|series| series.arm.is_elsewhere());
        self.spent.add(&trial.spent);
        self.turns.extend(trial.script_turns.iter().cloned());
        if trial.kind.is_blind() {
            return;
        }
        self.add_judgements(trial);
        if trial.status == Status::NotMeasured {
            // What a target says of it differs from trial to trial; the class does not.
            let class = trial.verdict.as_ref().filter(|verdict| !verdict.counts);
            let reason = class.map_or_else(|| trial.reason.clone().unwrap_or_default(), Outcome::named);
            let is_listed = self.not_measured.len() < MOST_REASONS || self.not_measured.contains_key(&reason);
            *self.not_measured.entry(if is_listed { reason } else { "other".into() }).or_default() += 1;
            return;
        }
        self.broken_clauses += u64::from(trial.broken_clauses > 0);
        // Another model or version is what some arms are for.
        if !is_elsewhere && !trial.attempts.is_empty() {
            *self.models.entry(trial.model.clone().unwrap_or_default()).or_default() += 1;
            *self.versions.entry(trial.version.clone()).or_default() += 1;
        }
        self.not_isolated.extend(trial.not_isolated.clone());
    }

    fn add_judgements(&mut self, trial: &Trial) {
        if trial.expectations.is_empty() {
            return;
        }
        let judge = self.judge.get_or_insert_default();
        let (share, is_counted): (_, fn(Option<bool>) -> bool) = match trial.kind {
            Kind::JudgePass => (&mut judge.false_failures, |passed| passed == Some(false)),
            Kind::JudgeFail => (&mut judge.false_passes, |passed| passed == Some(true)),
            _ => (&mut judge.not_believed, |passed| passed.is_none()),
        };
        share.of += trial.expectations.len() as u64;
        share.count += trial.expectations.iter().filter(|judged| is_counted(judged.passed)).count() as u64;
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
                overall: self.comparison(None),
                cases: self.cases(iteration),
                triggers: self.triggers(),
                blind: self.blind(),
                judge: self.judge.take(),
                not_measured: std::mem::take(&mut self.not_measured),
                spent: self.spent,
            },
        };
        let is_whole = report.subject.stamp.settings["cases"].is_null();
        if is_whole && report.conclusion.complete && report.subject.stamp.script_digest.is_some() {
            report.conclusion.warnings.extend(self.spec.model.unused(&self.turns));
        }
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
                kind if kind.is_known_to_pass() => (tally.passed, tally.failed),
                _ => (tally.failed, tally.passed),
            };
            let as_known = if wrong > 0 { Some(false) } else { (right > 0).then_some(true) };
            let reason = if as_known == Some(true) { None } else { tally.last_reason.clone() };
            let is_own = series.arm.name == WITHOUT_SKILL;
            let arm = (!is_own).then(|| series.arm.name.clone());
            ControlReport { case: series.case.id.clone(), arm, kind, as_known, reason }
        };
        self.of(Kind::is_control).map(control).collect()
    }

    /// The tasks of an arm, all or those of a case.
    fn tasks(&self, arm: &str, case: Option<&str>) -> impl Iterator<Item = (&Series<'s>, &SeriesTally)> {
        let is_of = move |series: &Series<'_>| {
            series.arm.name == arm && case.is_none_or(|case| series.case.id == case)
        };
        self.of(|kind| kind == Kind::Task).filter(move |(series, _)| is_of(series))
    }

    /// What became of the tasks of an arm; none when it has none.
    fn arm(&self, arm: &str, case: Option<&str>) -> Option<ArmReport> {
        let (mut sum, mut planned) = (SeriesTally::default(), 0);
        for (series, tally) in self.tasks(arm, case) {
            planned += u64::from(series.trials);
            sum.merge(tally);
        }
        (planned > 0).then(|| sum.report(planned))
    }

    fn comparison(&self, case: Option<&str>) -> Comparison {
        let with_skill = self.arm(WITH_SKILL, case).unwrap_or_else(|| SeriesTally::default().report(0));
        let further = self.further().filter_map(|name| Some((name.to_owned(), self.arm(name, case)?)));
        Comparison::of(with_skill, self.arm(WITHOUT_SKILL, case), further.collect())
    }

    /// The names of the arms besides the evaluated one and the one without a skill.
    fn further(&self) -> impl Iterator<Item = &'s str> {
        let names = self.spec.arms.iter().map(|arm| arm.name.as_str());
        names.filter(|name| ![WITH_SKILL, WITHOUT_SKILL].contains(name))
    }

    fn cases(&self, iteration: &Iteration) -> Vec<CaseReport> {
        self.tasks(WITH_SKILL, None)
            .map(|(series, with)| {
                let case = series.case.id.as_str();
                let others: Vec<(&str, &SeriesTally)> = self
                    .of(|kind| kind == Kind::Task)
                    .filter(|(other, _)| other.case.id == case && other.arm.name != WITH_SKILL)
                    .map(|(other, tally)| (other.arm.name.as_str(), tally))
                    .collect();
                CaseReport {
                    case: case.to_owned(),
                    comparison: self.comparison(Some(case)),
                    assertions: assertions(with, &others),
                    example: with.example(series, iteration),
                }
            })
            .collect()
    }

    /// The blind comparisons with the other arms.
    fn blind(&self) -> BTreeMap<String, BlindReport> {
        let mut all: BTreeMap<String, BlindReport> = BTreeMap::new();
        for (series, tally) in self.of(Kind::is_blind) {
            let report = all.entry(series.arm.name.clone()).or_default();
            report.better += tally.passed;
            report.worse += tally.failed;
            report.equal += tally.equal;
            report.wavering += tally.wavering;
            report.not_judged += u64::from(series.trials)
                - (tally.passed + tally.failed + tally.equal + tally.wavering).min(series.trials.into());
        }
        for report in all.values_mut() {
            report.preferred = Rate::of(report.better, report.better + report.worse);
            report.p = sign_test(report.better, report.worse);
        }
        all
    }

    fn triggers(&self) -> Option<TriggerReport> {
        let further =
            self.further().filter_map(|name| Some((name.to_owned(), self.triggers_of(name)?))).collect();
        Some(TriggerReport { arms: further, ..self.triggers_of(WITH_SKILL)? })
    }

    fn triggers_of(&self, arm: &str) -> Option<TriggerReport> {
        let (mut true_positive, mut false_positive, mut false_negative, mut not_measured) = (0, 0, 0, 0);
        let (mut planned, mut planned_should) = (0, 0);
        let mut wrong = Vec::new();
        let mut halves = [(0, 0); 2];
        for (series, tally) in self.of(Kind::is_trigger).filter(|(series, _)| series.arm.name == arm) {
            planned += u64::from(series.trials);
            let half = &mut halves[usize::from(series.case.held_out)];
            *half = (half.0 + tally.passed, half.1 + tally.passed + tally.failed);
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
            halves: self.spec.cases.iter().any(|case| case.held_out).then(|| Halves {
                chosen_on: Rate::of(halves[0].0, halves[0].1),
                held_out: Rate::of(halves[1].0, halves[1].1),
            }),
            arms: BTreeMap::new(),
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
        for arm in &self.spec.arms {
            let (mut rates, mut seconds, mut tokens) = (Vec::new(), Vec::new(), Vec::new());
            for (_, tally) in self.tasks(&arm.name, None) {
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
                arm.name.clone(),
                serde_json::json!({"pass_rate": rate, "time_seconds": time, "tokens": count}),
            );
        }
        if let [with, without, ..] = means.as_slice() {
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
