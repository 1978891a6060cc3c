//! Skill evaluation: the real command line on the real skill, many times, with the machinery's failures kept apart
//! from the skill's.
//!
//! ```text
//! Spec + Skill ─► plan ─► runner ─► Executor ─► Recording ─► Observed ─► grade ─► Trial ─► Report
//!  (files)      (trials)  (retries, waits)      (on disk)    (facts)     (pure)
//! ```
//!
//! A trial is *pass* or *fail* only when the verdict on its run [counts](crate::classify::Verdict::counts). Otherwise
//! it is tried again where that may help, and else *not measured*, which lowers no pass rate. Every evaluation holds a
//! control that is known to pass and one that is known to fail; when one comes out wrong the report is *invalid*.
//!
//! Grading reads recordings from disk, so that an evaluation can be [graded again](regrade) without running anything.

mod arm;
pub(crate) mod assertion;
mod attempts;
pub(crate) mod baseline;
mod benchmark;
mod blind;
mod budget;
mod clock;
mod conditions;
mod controls;
mod examiner;
pub mod extraction;
mod grade;
mod layout;
pub(crate) mod observed;
mod plan;
mod report;
mod rubric;
mod runner;
mod scripted;
pub(crate) mod skill;
pub(crate) mod spec;
pub(crate) mod statistics;
mod store;
mod transcript;
mod trial;
mod trial_runner;
mod urls;
mod work;

pub(crate) use arm::{Arm, ArmSkill};
pub use clock::{Clock, SystemClock};
pub(crate) use conditions::{Author, conditions};
pub(crate) use grade::{Judgements, grade};
pub(crate) use plan::Series;
pub use plan::plan;
pub use report::Report;
pub(crate) use report::{
    BaselineReport, BlindReport, CaseReport, Comparison, ReportStatus, Scope, Shortfall, ShortfallKind,
};
pub use runner::ExecuteError;
pub use runner::Executor;
pub(crate) use runner::Halt;
pub use runner::Options;
pub use runner::Request;
pub(crate) use store::ArmStamp;
pub use store::Iteration;
pub use store::Stamp;
pub use store::Store;
pub(crate) use store::StoreError;
pub(crate) use trial::{Outcome, SkillState, Status, Trial, TrialId};
pub(crate) use trial_runner::{Api, Equipment, TrialRunner, TrialRunnerError};
pub(crate) use urls::CheckUrls;

use std::path::Path;

use serde_json::{Value, json};

use self::observed::Observed;
use self::report::Tally;
use self::runner::{Progress, Setup};
use self::spec::Spec;
use self::statistics::{Difference, Rate};
use crate::judge::Contracts;
use crate::run::Stop;

/// Something that happened in an evaluation.
#[derive(Debug)]
pub enum Event<'e> {
    Started {
        iteration: &'e Iteration,
        /// How many trials there are.
        trials: u64,
        /// How many of them were finished before.
        finished: u64,
    },
    TrialStarted(&'e TrialId),
    Waiting(&'e str),
    /// A trial is finished, now or before.
    TrialFinished(&'e Trial),
    Finished(&'e Report),
}

/// What an evaluation is compared with.
#[derive(Debug, Clone, Copy)]
pub enum Baseline<'b> {
    /// The evaluation before, for information.
    Previous,
    /// This one; a regression is a failure.
    Iteration(&'b Path),
}

/// Everything that an evaluation needs.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "it holds what cannot be shown")]
pub struct Evaluation<'e> {
    /// The evaluation file as it was read.
    pub spec: &'e Spec,
    /// Where earlier ones are kept.
    pub store: &'e Store,
    /// Where this one is kept.
    pub iteration: &'e Iteration,
    /// What runs an attempt and leaves its recording; the harness, or a stand-in in tests.
    pub executor: &'e dyn Executor,
    /// Where the time comes from, so that waiting can be tested without waiting.
    pub clock: &'e dyn Clock,
    /// How trials are run.
    pub options: &'e Options,
    /// The wish to stop.
    pub stop: &'e Stop,
    /// What it is compared with.
    pub baseline: Baseline<'e>,
}

impl Evaluation<'_> {
    /// Runs every trial that is not finished, and reports. `on_event` hears of everything, on this thread.
    pub fn run(&self, on_event: &mut dyn FnMut(&Event<'_>)) -> Result<Report, StoreError> {
        let Self { spec, iteration, executor, clock, options, stop, .. } = *self;
        let plan = plan(spec);
        let trials = plan.iter().map(|series| u64::from(series.trials)).sum();
        let is_finished =
            |series: &Series<'_>, id: &TrialId| iteration.finished(id, series.case.kind).is_some();
        let finished =
            plan.iter().map(|series| series.ids().filter(|id| is_finished(series, id)).count() as u64).sum();
        on_event(&Event::Started { iteration, trials, finished });
        let mut tally = Tally::new(spec, &plan);
        let setup = Setup { spec, iteration, executor, clock, options, stop };
        let halt = runner::run(setup, &plan, &mut |progress| match progress {
            Progress::Started(id) => on_event(&Event::TrialStarted(&id)),
            Progress::Waiting(why) => on_event(&Event::Waiting(&why)),
            Progress::Finished(trial) => {
                tally.add(&trial);
                on_event(&Event::TrialFinished(&trial));
            }
        });
        let report = self.conclude(tally, &plan, halt.as_ref())?;
        on_event(&Event::Finished(&report));
        Ok(report)
    }

    fn conclude(
        &self,
        tally: Tally<'_>,
        plan: &[Series<'_>],
        halt: Option<&Halt>,
    ) -> Result<Report, StoreError> {
        let (iteration, now) = (self.iteration, self.clock.now_ms());
        let summary = tally.run_summary();
        let mut report = tally.report(iteration, halt);
        match self.baseline {
            Baseline::Previous => {
                if let Some((folder, earlier)) = self.store.previous(iteration.number) {
                    report.compare(against(&report, &folder, &earlier), false);
                }
            }
            Baseline::Iteration(folder) => {
                let earlier = store::report(folder).ok_or_else(|| StoreError::Damaged {
                    path: folder.to_owned(),
                    reason: "no report.json: not a finished evaluation".into(),
                })?;
                report.compare(against(&report, folder, &earlier), true);
            }
        }
        let value = serde_json::to_value(&report).unwrap_or_default();
        let finished = crate::time::rfc3339_seconds(now as i64);
        iteration.conclude(&value, plan, &summary, &finished)?;
        let overall = &report.measured.overall;
        self.store.remember(&json!({
            "iteration": iteration.number, "finished": finished, "status": report.conclusion.status, "stamp": report.subject.stamp,
            "complete": report.conclusion.complete,
            "with_skill": overall.with_skill.pass_rate,
            "without_skill": overall.without_skill.as_ref().map(|arm| arm.pass_rate),
            "delta": overall.delta,
            "cost_usd": report.measured.spent.cost_usd,
            "trials": plan.iter().map(|series| u64::from(series.trials)).sum::<u64>(),
            "seconds": report.measured.spent.seconds,
        }))?;
        Ok(report)
    }
}

/// The files below the outputs of an attempt, as paths relative to them.
pub(crate) fn written_files(root: &Path, files: &mut Vec<String>) {
    grade::list(root, root, files);
}

/// Compares the pass rates with the skill.
fn against(report: &Report, folder: &Path, earlier: &Value) -> BaselineReport {
    let mut baseline = BaselineReport {
        iteration: folder.display().to_string(),
        not_compared: None,
        change: None,
        regression: false,
    };
    let stamp: Option<Stamp> = serde_json::from_value(earlier["stamp"].clone()).ok();
    let rate: Option<Rate> =
        serde_json::from_value(earlier["overall"]["with_skill"]["pass_rate"].clone()).ok();
    let (Some(stamp), Some(rate)) = (stamp, rate) else {
        baseline.not_compared = Some("its report cannot be read".into());
        return baseline;
    };
    let is_valid = |status: &Value| status == "pass" || status == "fail";
    baseline.not_compared = if is_valid(&earlier["status"]) {
        report.subject.stamp.differs(&stamp).or_else(|| mixed(report, earlier))
    } else {
        Some(format!("it is {}", earlier["status"].as_str().unwrap_or("damaged")))
    };
    if baseline.not_compared.is_none() {
        baseline.change = Difference::of(&report.measured.overall.with_skill.pass_rate, &rate);
        baseline.regression = baseline.change.is_some_and(|change| change.high < 0.0);
    }
    baseline
}

/// What was asked for is one thing; what answered has to be the same too, and one alone.
fn mixed(report: &Report, earlier: &Value) -> Option<String> {
    let pairs = [
        ("model", &report.subject.models, &earlier["models"]),
        ("version", &report.subject.versions, &earlier["versions"]),
    ];
    pairs.into_iter().find_map(|(name, ours, theirs)| {
        if ours.len() > 1 || theirs.as_array().is_some_and(|names| names.len() > 1) {
            return Some(format!("trials ran on more than one {name}"));
        }
        (json!(ours) != *theirs).then(|| format!("another {name} answered"))
    })
}

/// Grades the trials of an iteration again, from their recordings, as if they had just been run with these assertions.
/// What a model judged is kept. Nothing is written.
pub fn regrade(
    spec: &Spec,
    iteration: &Iteration,
    on_trial: &mut dyn FnMut(&Trial),
) -> Result<Report, StoreError> {
    let plan = plan(spec);
    let mut tally = Tally::new(spec, &plan);
    let contracts = Contracts::built_in();
    for series in &plan {
        for id in series.ids() {
            let Some(mut trial) = iteration.finished(&id, series.case.kind) else { continue };
            let folder = iteration.trial_folder(&id, series.case.kind);
            if let Some(last) = trial.attempts.last() {
                let place = folder.join(&last.recording);
                let observed = Observed::read(&place, &contracts, spec.run.heuristics).map_err(|error| {
                    StoreError::Damaged { path: place.clone(), reason: error.to_string() }
                })?;
                let judged = Judgements {
                    expectations: std::mem::take(&mut trial.expectations),
                    extracted: trial.extracted.take(),
                };
                trial.verdict = Some(Outcome::of(&observed.verdict));
                trial.take(grade(spec, series.case, series.arm, &observed, judged));
            }
            tally.add(&trial);
            on_trial(&trial);
        }
    }
    Ok(tally.report(iteration, None))
}
