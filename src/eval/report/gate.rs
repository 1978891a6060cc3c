//! The gate: what was counted, held against what is wanted.

use super::{ArmReport, BaselineReport, Report, ReportStatus};
use crate::eval::runner::Halt;
use crate::eval::spec::{Spec, Thresholds};
use crate::exit_code;
use crate::time::rfc3339_seconds;

/// Something that is wanted and was not reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortfall {
    /// What it is about.
    pub scope: Scope,
    /// What is wrong about it.
    pub kind: ShortfallKind,
    /// What was found and what is wanted.
    pub message: String,
}

/// What a shortfall is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    Case(String),
    Control(String),
    /// The prompts that have to trigger the skill, or must not.
    Triggers,
    /// The evaluation as a whole.
    Whole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShortfallKind {
    /// A threshold is not reached: the skill's doing.
    Threshold,
    /// Too little was measured to tell.
    Unmeasured,
    /// A control came out wrong: nothing can be told.
    Control,
}

impl Shortfall {
    fn in_words(&self) -> String {
        match &self.scope {
            Scope::Case(case) => format!("case `{case}`: {}", self.message),
            Scope::Control(case) => format!("the control `{case}` {}", self.message),
            Scope::Triggers => format!("triggers: {}", self.message),
            Scope::Whole => self.message.clone(),
        }
    }
}

pub(super) fn describe(halt: &Halt) -> String {
    match halt {
        Halt::Interrupted => "interrupted".into(),
        Halt::Budget(why) => format!("the budget is used up: {why}"),
        Halt::RateLimit(Some(until)) => {
            format!("a rate limit lasts until {}", rfc3339_seconds((*until).max(0) * 1000))
        }
        Halt::RateLimit(None) => "a rate limit lasts longer than --max-wait".into(),
        Halt::Disk(why) => why.clone(),
    }
}

impl Report {
    pub(super) fn add_assertion_warnings(&mut self) {
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
    pub(in crate::eval) fn compare(&mut self, baseline: BaselineReport, gates: bool) {
        if baseline.regression && gates {
            let change = baseline.change.map_or(0.0, |change| change.difference);
            let message = format!("regression against {}: pass rate {change:+.2}", baseline.iteration);
            self.fall_short(Scope::Whole, ShortfallKind::Threshold, message);
            if self.status == ReportStatus::Pass {
                self.status = ReportStatus::Fail;
                self.exit_code = exit_code::FINDINGS;
            }
        }
        if gates && let Some(reason) = &baseline.not_compared {
            let message = format!("{} cannot be compared: {reason}", baseline.iteration);
            self.fall_short(Scope::Whole, ShortfallKind::Unmeasured, message);
            self.exit_code = exit_code::worst(self.exit_code, exit_code::ENVIRONMENT);
            if self.status == ReportStatus::Pass {
                self.status = ReportStatus::Incomplete;
            }
        }
        self.baseline = Some(baseline);
    }

    /// Holds what was counted against what is wanted.
    pub(super) fn gate(&mut self, spec: &Spec, interrupted: bool) {
        self.check_controls();
        if !self.complete {
            let why = self.halted.clone().unwrap_or_else(|| "not every trial was run".into());
            self.fall_short(Scope::Whole, ShortfallKind::Unmeasured, why);
        }
        self.check_cases(&spec.thresholds);
        self.check_whole(&spec.thresholds);
        self.check_triggers(&spec.thresholds);
        let has = |kind: ShortfallKind| self.shortfalls.iter().any(|shortfall| shortfall.kind == kind);
        let codes = [
            (has(ShortfallKind::Threshold), exit_code::FINDINGS, ReportStatus::Fail),
            (has(ShortfallKind::Unmeasured), exit_code::ENVIRONMENT, ReportStatus::Incomplete),
            (has(ShortfallKind::Control), exit_code::ENVIRONMENT, ReportStatus::Invalid),
            (interrupted, exit_code::INTERRUPTED, ReportStatus::Interrupted),
        ];
        for (holds, code, status) in codes {
            if holds {
                self.status = status;
                self.exit_code = exit_code::worst(self.exit_code, code);
            }
        }
    }

    /// Notes something that is wanted and was not reached, also in words.
    fn fall_short(&mut self, scope: Scope, kind: ShortfallKind, message: String) {
        let shortfall = Shortfall { scope, kind, message };
        let words = shortfall.in_words();
        match kind {
            ShortfallKind::Threshold => self.failures.push(words),
            ShortfallKind::Unmeasured => self.warnings.push(format!("too little measured: {words}")),
            // What makes everything else worthless comes first.
            ShortfallKind::Control => self.warnings.insert(0, words),
        }
        self.shortfalls.push(shortfall);
    }

    fn check_controls(&mut self) {
        for control in self.controls.clone() {
            let scope = Scope::Control(control.case.clone());
            match control.as_known {
                Some(true) => {}
                Some(false) => {
                    let reason = control.reason.as_deref().unwrap_or("it passed");
                    let message = format!("came out wrong ({reason}): nothing here can be believed");
                    self.fall_short(scope, ShortfallKind::Control, message);
                }
                None => {
                    let reason = control.reason.map_or(String::new(), |reason| format!(": {reason}"));
                    let message = format!("could not be measured{reason}");
                    self.fall_short(scope, ShortfallKind::Unmeasured, message);
                }
            }
        }
    }

    fn check_cases(&mut self, thresholds: &Thresholds) {
        let mut found = Vec::new();
        for case in &self.cases {
            let with = &case.comparison.with_skill;
            let scope = Scope::Case(case.case.clone());
            if is_little(with, thresholds.min_measured) {
                let message = format!("{} of {} trials measured", with.pass_rate.measured, with.planned);
                found.push((scope, ShortfallKind::Unmeasured, message));
                continue;
            }
            let rate = with.pass_rate.rate.unwrap_or_default();
            if rate < thresholds.min_pass_rate {
                let wanted = thresholds.min_pass_rate * 100.0;
                let message = format!("pass rate {:.0} %, at least {wanted:.0} % wanted", rate * 100.0);
                found.push((scope, ShortfallKind::Threshold, message));
            }
        }
        for (scope, kind, message) in found {
            self.fall_short(scope, kind, message);
        }
    }

    fn check_whole(&mut self, thresholds: &Thresholds) {
        if let Some(least) = thresholds.min_delta {
            match self.overall.delta {
                Some(delta) if delta.difference < least => {
                    let message =
                        format!("the skill adds {:+.2}, at least {least:+.2} wanted", delta.difference);
                    self.fall_short(Scope::Whole, ShortfallKind::Threshold, message);
                }
                Some(_) => {}
                None => {
                    let message = "trials without the skill".to_owned();
                    self.fall_short(Scope::Whole, ShortfallKind::Unmeasured, message);
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
                let message = format!("median {name} {found:.4} {unit}, at most {most} wanted");
                self.fall_short(Scope::Whole, ShortfallKind::Threshold, message);
            }
        }
    }

    fn check_triggers(&mut self, thresholds: &Thresholds) {
        let Some(triggers) = &self.triggers else { return };
        let mut found = Vec::new();
        let measured = triggers.planned - triggers.not_measured;
        if (measured as f64) < thresholds.min_measured * triggers.planned as f64 {
            let message = format!("{measured} of {} trials measured", triggers.planned);
            found.push((ShortfallKind::Unmeasured, message));
        } else if triggers.should_trigger > 0 && triggers.recall.measured == 0 {
            let message = "no prompt that should trigger the skill was measured".to_owned();
            found.push((ShortfallKind::Unmeasured, message));
        }
        for (name, rate, least) in [
            ("precision", triggers.precision, thresholds.min_precision),
            ("recall", triggers.recall, thresholds.min_recall),
        ] {
            // Where nothing was triggered there is no precision; recall says so.
            if let Some(rate) = rate.rate
                && rate < least
            {
                let message = format!("{name} {rate:.2}, at least {least:.2} wanted");
                found.push((ShortfallKind::Threshold, message));
            }
        }
        for (kind, message) in found {
            self.fall_short(Scope::Triggers, kind, message);
        }
    }
}

fn is_little(arm: &ArmReport, least: f64) -> bool {
    arm.pass_rate.measured == 0 || (arm.pass_rate.measured as f64) < least * arm.planned as f64
}
