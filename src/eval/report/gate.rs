//! The gate: what was counted, held against what is wanted.

use super::{ArmReport, BaselineReport, Conclusion, Measured, Report, ReportStatus, Unsteady};
use crate::eval::arm::WITHOUT_SKILL;
use crate::eval::runner::Halt;
use crate::eval::spec::Thresholds;
use crate::eval::statistics::Share;
use crate::exit_code;
use crate::time::rfc3339_seconds;

/// What happens by chance more rarely than this is not taken for chance.
const SIGNIFICANT: f64 = 0.05;

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

impl ReportStatus {
    fn exit_code(self) -> u8 {
        match self {
            Self::Pass => exit_code::OK,
            Self::Fail => exit_code::FINDINGS,
            Self::Incomplete | Self::Invalid => exit_code::ENVIRONMENT,
            Self::Interrupted => exit_code::INTERRUPTED,
        }
    }
}

impl Report {
    /// Compares with the earlier evaluation; `gates` says whether a regression is a failure.
    pub(in crate::eval) fn compare(&mut self, baseline: BaselineReport, gates: bool) {
        let earlier = &baseline.iteration;
        if baseline.regression && gates {
            let change = baseline.change.map_or(0.0, |change| change.difference);
            let message = format!("regression against {earlier}: pass rate {change:+.2}");
            self.conclusion.fall_short(Scope::Whole, ShortfallKind::Threshold, message);
        }
        if gates && let Some(reason) = &baseline.not_compared {
            let message = format!("{earlier} cannot be compared: {reason}");
            self.conclusion.fall_short(Scope::Whole, ShortfallKind::Unmeasured, message);
        }
        self.conclusion.baseline = Some(baseline);
    }
}

impl Conclusion {
    /// Holds what was counted against what is wanted.
    pub(super) fn gate(&mut self, measured: &Measured, thresholds: &Thresholds, interrupted: bool) {
        self.warn_of_assertions(measured);
        self.check_controls(measured);
        if !self.complete {
            let why = self.halted.clone().unwrap_or_else(|| "not every trial was run".into());
            self.fall_short(Scope::Whole, ShortfallKind::Unmeasured, why);
        }
        self.check_cases(measured, thresholds);
        self.check_steadiness(measured);
        self.check_whole(measured, thresholds);
        if thresholds.min_pass_rate == 0.0 && !measured.cases.is_empty() {
            self.warnings.push("min_pass_rate is 0: no case can fail by what it comes to".into());
        }
        let is_asked = measured.triggers.is_some();
        if is_asked && thresholds.min_recall == 0.0 && thresholds.min_precision == 0.0 {
            self.warnings.push("min_recall and min_precision are 0: no trigger can fail".into());
        }
        self.check_triggers(measured, thresholds);
        self.check_blind(measured, thresholds);
        if interrupted {
            self.raise(ReportStatus::Interrupted);
        }
    }

    /// The gravest status wins, and decides the exit code.
    fn raise(&mut self, status: ReportStatus) {
        self.status = self.status.max(status);
        self.exit_code = self.status.exit_code();
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
        self.raise(match kind {
            ShortfallKind::Threshold => ReportStatus::Fail,
            ShortfallKind::Unmeasured => ReportStatus::Incomplete,
            ShortfallKind::Control => ReportStatus::Invalid,
        });
        self.shortfalls.push(shortfall);
    }

    fn warn_of_assertions(&mut self, measured: &Measured) {
        for case in &measured.cases {
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
                let refused = if with.skill_refused > 0 {
                    format!("; its calls failed or were denied in {}", with.skill_refused)
                } else {
                    String::new()
                };
                self.warnings.push(format!(
                    "case `{}`: the skill was loaded and not used in {} of {total} trials{refused}",
                    case.case, with.skill_unused
                ));
            }
        }
    }

    fn check_controls(&mut self, measured: &Measured) {
        for control in &measured.controls {
            let (kind, message) = match (control.as_known, control.reason.as_deref()) {
                (Some(true), _) => continue,
                (Some(false), reason) => {
                    let reason = reason.unwrap_or("it passed");
                    let message = format!("came out wrong ({reason}): nothing here can be believed");
                    (ShortfallKind::Control, message)
                }
                (None, reason) => {
                    let reason = reason.map_or(String::new(), |reason| format!(": {reason}"));
                    (ShortfallKind::Unmeasured, format!("could not be measured{reason}"))
                }
            };
            self.fall_short(Scope::Control(control.name()), kind, message);
        }
    }

    fn check_cases(&mut self, measured: &Measured, thresholds: &Thresholds) {
        for case in &measured.cases {
            let with = &case.comparison.with_skill;
            let scope = Scope::Case(case.case.clone());
            if is_little(with, thresholds.min_measured) {
                let message = format!("{} of {} trials measured", with.pass_rate.measured, with.planned);
                self.fall_short(scope, ShortfallKind::Unmeasured, message);
                continue;
            }
            let rate = with.pass_rate.rate.unwrap_or_default();
            if rate < thresholds.min_pass_rate {
                let wanted = thresholds.min_pass_rate * 100.0;
                let message = format!("pass rate {:.0} %, at least {wanted:.0} % wanted", rate * 100.0);
                self.fall_short(scope, ShortfallKind::Threshold, message);
            }
        }
    }

    /// A skill that makes the target hang or crash is not measured in those trials, and must not pass by that.
    fn check_steadiness(&mut self, measured: &Measured) {
        let cases = measured.cases.iter().map(|case| (Scope::Case(case.case.clone()), &case.comparison));
        let mut is_told = false;
        for (scope, comparison) in cases.chain([(Scope::Whole, &measured.overall)]) {
            // What is true of a case need not be said again of all of them.
            if scope == Scope::Whole && is_told {
                continue;
            }
            let Unsteady { with_skill, without_skill, p } = comparison.broke_off;
            let Share { count, of } = with_skill;
            let without = without_skill.map_or_else(
                || "it was not tried without".to_owned(),
                |share| format!("{} of {} without it", share.count, share.of),
            );
            let seen =
                format!("hung, crashed or broke off in {count} of {of} trials with the skill, {without}");
            if count > 0 && p.is_some_and(|p| p < SIGNIFICANT) {
                let message = format!("{seen}: that is no chance (p = {:.4})", p.unwrap_or_default());
                self.fall_short(scope, ShortfallKind::Threshold, message);
                is_told = true;
            } else if count > 0 && 2 * count >= of {
                self.fall_short(scope, ShortfallKind::Unmeasured, seen);
                is_told = true;
            } else if count > 0 && scope != Scope::Whole {
                self.warnings
                    .push(Shortfall { scope, kind: ShortfallKind::Unmeasured, message: seen }.in_words());
            }
        }
        let Unsteady { with_skill, without_skill, p } = measured.overall.unmeasured;
        if let (Some(without), Some(p)) = (without_skill, p)
            && p < SIGNIFICANT
            && !is_told
        {
            self.warnings.push(format!(
                "{} of {} trials with the skill were not measured and {} of {} without it: that is no chance \
                 (p = {p:.4}), and the rates may be of the easy ones",
                with_skill.count, with_skill.of, without.count, without.of
            ));
        }
    }

    fn check_whole(&mut self, measured: &Measured, thresholds: &Thresholds) {
        let Measured { overall, .. } = measured;
        if let Some(least) = thresholds.min_delta {
            match overall.delta {
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
            ("cost", overall.with_skill.median_cost_usd, thresholds.max_cost_usd, "$"),
            ("time", overall.with_skill.median_seconds, thresholds.max_seconds, "s"),
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

    fn check_blind(&mut self, measured: &Measured, thresholds: &Thresholds) {
        for (arm, blind) in &measured.blind {
            let decided = blind.better + blind.worse;
            if blind.wavering > decided {
                self.warnings.push(format!(
                    "the judge contradicts itself in {} of {} comparisons with {arm} when the order is another",
                    blind.wavering,
                    blind.wavering + decided + blind.equal
                ));
            }
        }
        let (Some(least), Some(blind)) = (thresholds.min_preference, measured.blind.get(WITHOUT_SKILL))
        else {
            return;
        };
        match blind.preferred.rate {
            None => {
                let message = "no blind comparison with the trials without the skill was decided".to_owned();
                self.fall_short(Scope::Whole, ShortfallKind::Unmeasured, message);
            }
            Some(rate) if rate < least => {
                let (found, wanted) = (rate * 100.0, least * 100.0);
                let message = format!(
                    "blindly preferred in {found:.0} % of comparisons, at least {wanted:.0} % wanted"
                );
                self.fall_short(Scope::Whole, ShortfallKind::Threshold, message);
            }
            Some(_) => {}
        }
    }

    fn check_triggers(&mut self, measured: &Measured, thresholds: &Thresholds) {
        let Some(triggers) = &measured.triggers else { return };
        let seen = triggers.planned - triggers.not_measured;
        if (seen as f64) < thresholds.min_measured * triggers.planned as f64 {
            let message = format!("{seen} of {} trials measured", triggers.planned);
            self.fall_short(Scope::Triggers, ShortfallKind::Unmeasured, message);
        } else if triggers.should_trigger > 0 && triggers.recall.measured == 0 {
            let message = "no prompt that should trigger the skill was measured".to_owned();
            self.fall_short(Scope::Triggers, ShortfallKind::Unmeasured, message);
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
                self.fall_short(Scope::Triggers, ShortfallKind::Threshold, message);
            }
        }
    }
}

fn is_little(arm: &ArmReport, least: f64) -> bool {
    arm.pass_rate.measured == 0 || (arm.pass_rate.measured as f64) < least * arm.planned as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::observed::Usage;
    use crate::eval::report::series::SeriesTally;
    use crate::eval::report::{Comparison, ControlReport, TriggerReport};
    use crate::eval::spec::Kind;
    use crate::eval::statistics::Rate;

    /// So many of so many trials passed, of those that were planned.
    fn arm(passed: u64, measured: u64, planned: u64) -> ArmReport {
        let pass_rate = Rate::of(passed, measured);
        ArmReport { pass_rate, ..SeriesTally::default().report(planned) }
    }

    fn measured(overall: Comparison) -> Measured {
        let case = crate::eval::report::CaseReport {
            case: "greet".into(),
            comparison: overall.clone(),
            assertions: Vec::new(),
            example: None,
        };
        let (cases, controls) = (vec![case], Vec::new());
        Measured {
            controls,
            overall,
            cases,
            triggers: None,
            blind: [].into(),
            judge: None,
            not_measured: [].into(),
            spent: Usage::default(),
        }
    }

    fn good() -> Measured {
        measured(Comparison::of(arm(4, 4, 4), Some(arm(1, 4, 4)), Vec::new()))
    }

    fn conclusion(complete: bool) -> Conclusion {
        Conclusion {
            status: ReportStatus::Pass,
            exit_code: exit_code::OK,
            complete,
            halted: None,
            failures: Vec::new(),
            warnings: Vec::new(),
            baseline: None,
            shortfalls: Vec::new(),
        }
    }

    fn gated(measured: &Measured, thresholds: &Thresholds) -> Conclusion {
        let mut conclusion = conclusion(true);
        conclusion.gate(measured, thresholds, false);
        conclusion
    }

    #[test]
    fn each_threshold_fails_below_and_passes_at_its_value() {
        let default = Thresholds::default();
        let triggers = |found: u64, right: u64| TriggerReport {
            precision: Rate::of(right, found),
            recall: Rate::of(right, 4),
            planned: 8,
            should_trigger: 4,
            not_measured: 0,
            wrong: Vec::new(),
            halves: None,
            arms: [].into(),
        };
        let with = |change: fn(&mut Measured)| {
            let mut measured = good();
            change(&mut measured);
            measured
        };
        for (measured, thresholds, message) in [
            (good(), default.clone(), ""),
            (
                measured(Comparison::of(arm(3, 4, 4), None, Vec::new())),
                default.clone(),
                "case `greet`: pass rate 75 %, at least 100 % wanted",
            ),
            (
                measured(Comparison::of(arm(3, 4, 4), None, Vec::new())),
                Thresholds { min_pass_rate: 0.75, ..default.clone() },
                "",
            ),
            (
                good(),
                Thresholds { min_delta: Some(0.76), ..default.clone() },
                "the skill adds +0.75, at least +0.76 wanted",
            ),
            (good(), Thresholds { min_delta: Some(0.75), ..default.clone() }, ""),
            (
                with(|measured| measured.overall.with_skill.median_cost_usd = Some(0.2)),
                Thresholds { max_cost_usd: Some(0.1), ..default.clone() },
                "median cost 0.2000 $, at most 0.1 wanted",
            ),
            (
                with(|measured| measured.overall.with_skill.median_seconds = Some(2.0)),
                Thresholds { max_seconds: Some(2.0), ..default.clone() },
                "",
            ),
            (
                Measured { triggers: Some(triggers(4, 3)), ..good() },
                default.clone(),
                "triggers: precision 0.75, at least 1.00 wanted",
            ),
            (Measured { triggers: Some(triggers(4, 4)), ..good() }, default, ""),
        ] {
            let found = gated(&measured, &thresholds);
            assert_eq!(found.failures.first().map_or("", String::as_str), message);
            let expected =
                if message.is_empty() { (ReportStatus::Pass, 0) } else { (ReportStatus::Fail, 100) };
            assert_eq!((found.status, found.exit_code), expected, "{message}");
        }
    }

    #[test]
    fn too_little_measured_is_no_pass_and_no_failure() {
        let default = Thresholds::default();
        for (passed, measured_count, planned, expected) in [
            (2, 2, 4, ReportStatus::Pass),
            (1, 1, 4, ReportStatus::Incomplete),
            (0, 0, 4, ReportStatus::Incomplete),
        ] {
            let found = gated(
                &measured(Comparison::of(arm(passed, measured_count, planned), None, Vec::new())),
                &default,
            );
            assert_eq!(found.status, expected, "{measured_count} of {planned}");
        }
        let wanted = Thresholds { min_delta: Some(0.1), ..default.clone() };
        assert_eq!(
            gated(&measured(Comparison::of(arm(4, 4, 4), None, Vec::new())), &wanted).status,
            ReportStatus::Incomplete
        );
        let mut halted = conclusion(false);
        halted.gate(&good(), &default, false);
        assert_eq!((halted.status, halted.exit_code), (ReportStatus::Incomplete, exit_code::ENVIRONMENT));
    }

    #[test]
    fn a_skill_that_hangs_or_crashes_is_not_green() {
        let broken =
            |count, of| ArmReport { broke_off: Share { count, of }, ..arm(of - count, of - count, of) };
        for (with, without, expected) in [
            (broken(0, 10), Some(broken(0, 10)), ReportStatus::Pass),
            // One of ten may be chance, and as many without the skill is not its doing.
            (broken(1, 10), Some(broken(0, 10)), ReportStatus::Pass),
            (broken(4, 10), Some(broken(4, 10)), ReportStatus::Pass),
            (broken(5, 10), Some(broken(0, 10)), ReportStatus::Fail),
            // Half of a few is too much to be told from chance, and too much to pass.
            (broken(2, 4), Some(broken(0, 4)), ReportStatus::Incomplete),
            (broken(2, 4), None, ReportStatus::Incomplete),
        ] {
            let found = gated(&measured(Comparison::of(with, without, Vec::new())), &Thresholds::default());
            assert_eq!(found.status, expected, "{:?} {:?}", found.failures, found.warnings);
        }
    }

    #[test]
    fn the_gravest_decides() {
        let control = |as_known| ControlReport {
            case: "known".into(),
            arm: None,
            kind: Kind::ControlPass,
            as_known,
            reason: Some("it failed".into()),
        };
        let failed = measured(Comparison::of(arm(0, 4, 4), None, Vec::new()));
        for (as_known, interrupted, status, code) in [
            (Some(true), false, ReportStatus::Fail, exit_code::FINDINGS),
            (None, false, ReportStatus::Incomplete, exit_code::ENVIRONMENT),
            (Some(false), false, ReportStatus::Invalid, exit_code::ENVIRONMENT),
            (Some(false), true, ReportStatus::Interrupted, exit_code::INTERRUPTED),
        ] {
            let measured = Measured { controls: vec![control(as_known)], ..failed.clone() };
            let mut found = conclusion(true);
            found.gate(&measured, &Thresholds::default(), interrupted);
            assert_eq!((found.status, found.exit_code), (status, code), "{as_known:?}");
            assert_eq!(found.failures.len(), 1, "what else is wrong is told all the same");
        }
    }
}
