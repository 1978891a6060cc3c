//! Evaluations as reporters read them: told as a run whose cases are what an evaluation can fail on.
//!
//! A test is a case, a control, the triggers, or the evaluation as a whole. It fails when the gate does, so that a test
//! tab and the exit code never say different things: an assertion that fails within what its threshold allows is no
//! failed test. What was not measured and a control that came out wrong are errors: they say nothing of the skill.

use std::fmt::Write as _;
use std::path::Path;

use crate::eval::spec::{Kind, Spec};
use crate::eval::{CaseReport, Report, ReportStatus, Scope, Shortfall, ShortfallKind};
use crate::exit_code;
use crate::run::{
    CaseFinished, Event, Failure, FailureKind, Process, RunFinished, RunStarted, SCHEMA_VERSION, Source,
    Status, TargetInfo,
};

/// An evaluation that is over.
#[derive(Debug)]
pub(crate) struct Evaluated {
    spec: Spec,
    /// What it comes to.
    report: Report,
    /// The command that evaluates it again.
    again: String,
}

/// What is told of these evaluations, which took so long together.
pub(crate) fn evaluations(all: &[Evaluated], duration_ms: u64) -> Vec<Event> {
    let mut targets: Vec<TargetInfo> = Vec::new();
    let mut finished = RunFinished { duration_ms, ..RunFinished::default() };
    let mut cases = Vec::new();
    for evaluated in all {
        let report = &evaluated.report;
        let target = TargetInfo::new(&report.subject.stamp.target, &report.subject.stamp.version);
        if !targets.contains(&target) {
            targets.push(target);
        }
        finished.exit_code = exit_code::worst(finished.exit_code, report.conclusion.exit_code);
        finished.interrupted |= report.conclusion.status == ReportStatus::Interrupted;
        cases.extend(evaluated.cases());
    }
    for case in &cases {
        finished.count(case);
    }
    let started = RunStarted {
        schema_version: SCHEMA_VERSION,
        cases: cases.len(),
        targets,
        clawgate: env!("CARGO_PKG_VERSION").to_owned(),
        ..RunStarted::default()
    };
    let cases = cases.into_iter().map(|case| Event::CaseFinished(Box::new(case)));
    [Event::RunStarted(started)].into_iter().chain(cases).chain([Event::RunFinished(finished)]).collect()
}

impl Evaluated {
    /// An evaluation with the command that evaluates it again.
    pub(crate) fn new(spec: Spec, report: Report, again: String) -> Self {
        Self { spec, report, again }
    }

    fn cases(&self) -> Vec<CaseFinished> {
        let report = &self.report;
        let mut cases = Vec::new();
        for control in &report.measured.controls {
            let scope = Scope::Control(control.name());
            cases.push(self.test(&format!("control/{}", control.name()), &control.case, &scope));
        }
        for case in &report.measured.cases {
            cases.push(self.case(case));
        }
        if let Some(triggers) = &report.measured.triggers {
            let id = self.spec.cases.iter().find(|case| case.kind.is_trigger()).map(|case| case.id.clone());
            let mut test = self.test("triggers", &id.unwrap_or_default(), &Scope::Triggers);
            if test.status == Status::Fail {
                for wrong in &triggers.wrong {
                    let should = if wrong.should_trigger { "should trigger" } else { "should not trigger" };
                    let (right, of) = (wrong.right.passed, wrong.right.measured);
                    let message = format!("{should} and came out right {right} of {of}: {}", wrong.prompt);
                    test.failures.push(Failure::new(FailureKind::Trigger, message));
                }
            }
            cases.push(test);
        }
        cases.push(self.test("evaluation", "", &Scope::Whole));
        cases
    }

    fn case(&self, case: &CaseReport) -> CaseFinished {
        let with = &case.comparison.with_skill;
        let mut test = self.test(&case.case, &case.case, &Scope::Case(case.case.clone()));
        let arms = [Some(with), case.comparison.without_skill.as_ref()];
        test.duration_ms = arms.into_iter().flatten().map(|arm| arm.total_seconds).sum::<f64>() * 1000.0;
        let was_begun = with.pass_rate.measured > 0 || case.example.is_some();
        if !was_begun && !self.report.conclusion.complete {
            test.status = Status::Skipped;
            test.failures.clear();
            test.reason = Some(self.report.conclusion.halted.clone().unwrap_or_else(|| "not run".into()));
            return test;
        }
        if test.status != Status::Fail {
            return test;
        }
        for assertion in &case.assertions {
            let rate = assertion.with_skill;
            if rate.passed < rate.measured {
                let (id, text) = (&assertion.id, &assertion.text);
                let message = format!("`{id}` held in {} of {} trials: {text}", rate.passed, rate.measured);
                test.failures.push(Failure::new(FailureKind::Assertion, message));
            }
        }
        if let (Some(example), Some(first)) = (&case.example, test.failures.first_mut()) {
            // Writing to a string cannot fail.
            _ = write!(first.message, "; trial {}: {}", example.trial, example.reason);
            test.process = example.recording.as_ref().and_then(|folder| Process::at(Path::new(folder)));
            test.recording.clone_from(&example.recording);
        }
        test
    }

    /// A test that fails where the evaluation falls short.
    fn test(&self, name: &str, id: &str, scope: &Scope) -> CaseFinished {
        let report = &self.report;
        let is_own = |shortfall: &&Shortfall| shortfall.scope == *scope;
        let own = report.conclusion.shortfalls.iter().filter(is_own);
        let failures: Vec<Failure> = own
            .map(|shortfall| {
                let kind = match shortfall.kind {
                    ShortfallKind::Threshold => FailureKind::Threshold,
                    ShortfallKind::Unmeasured => FailureKind::NotMeasured,
                    ShortfallKind::Control => FailureKind::Control,
                };
                Failure::new(kind, &shortfall.message)
            })
            .collect();
        let known = self.spec.cases.iter().find(|case| case.id == id);
        let line = known.map_or(1, |case| case.line);
        CaseFinished {
            case: format!("{}/{name}", report.subject.skill),
            target: report.subject.stamp.target.clone(),
            repetition: 1,
            status: if failures.is_empty() { Status::Pass } else { Status::Fail },
            attempts: 1,
            failures,
            replay: self.again.clone(),
            description: known
                .filter(|case| case.kind == Kind::Task)
                .map(|case| case.prompt.clone())
                .unwrap_or_default(),
            source: Some(Source::new(&self.spec.path.display().to_string(), line)),
            ..CaseFinished::default()
        }
    }
}
