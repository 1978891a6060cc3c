//! The trials of one series, counted.

use std::collections::BTreeMap;

use super::{ArmReport, AssertionReport, ExampleTrial};
use crate::classify::Class;
use crate::eval::arm::WITHOUT_SKILL;
use crate::eval::assertion::Answer;
use crate::eval::blind::Preference;
use crate::eval::grade::IMPLIED;
use crate::eval::plan::Series;
use crate::eval::statistics::{Rate, Share, median};
use crate::eval::store::Iteration;
use crate::eval::trial::{Attempted, SkillState, Status, Trial};

/// Whether the machinery failed in an attempt by what the attempt did: it hung, crashed or broke off, or it asked the API
/// for what cannot be answered.
fn broke_off(attempt: &Attempted) -> bool {
    let verdict = &attempt.verdict;
    let asked_too_much = verdict.class == Class::Api.name()
        && matches!(
            verdict.detail.as_deref(),
            Some("invalid_request" | "context_window" | "max_output_tokens" | "refusal")
        );
    !verdict.counts && (verdict.blame == "target" || asked_too_much)
}

#[derive(Default)]
pub(super) struct SeriesTally {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) not_measured: u64,
    /// Blind comparisons in which neither was better, and in which the judge contradicted itself.
    pub(super) equal: u64,
    pub(super) wavering: u64,
    /// Trials with an attempt that hung, crashed or broke off.
    broke_off: u64,
    used: u64,
    read: u64,
    refused: u64,
    unused: u64,
    not_loaded: u64,
    verdicts: BTreeMap<String, u64>,
    costs: Vec<f64>,
    pub(super) seconds: Vec<f64>,
    pub(super) tokens: Vec<f64>,
    /// The part of the assertions that held, for skill-creator's benchmark.
    pub(super) rates: Vec<f64>,
    assertions: Vec<AssertionTally>,
    pub(super) last_reason: Option<String>,
    /// The first trial that failed, and the first that was not measured, by their numbers.
    first_failed: Option<Example>,
    first_unmeasured: Option<Example>,
}

/// A trial that did not pass: its number, why, and the recording of its last attempt.
struct Example {
    trial: u32,
    reason: String,
    recording: Option<String>,
}

struct AssertionTally {
    id: String,
    text: String,
    passed: u64,
    failed: u64,
    unchecked: u64,
}

/// How often each assertion held with the skill, and in the other arms by their names.
pub(super) fn assertions(with: &SeriesTally, others: &[(&str, &SeriesTally)]) -> Vec<AssertionReport> {
    let report = |tally: &AssertionTally| {
        let in_arm = |arm: &SeriesTally| {
            let other = arm.assertions.iter().find(|other| other.id == tally.id)?;
            Some((arm.rate(other), other.unchecked))
        };
        let with_skill = with.rate(tally);
        let (mut without_skill, mut unchecked) = (Rate::of(0, 0), tally.unchecked);
        let mut arms = BTreeMap::new();
        for (name, arm) in others {
            let Some((rate, more)) = in_arm(arm) else { continue };
            unchecked += more;
            if *name == WITHOUT_SKILL {
                without_skill = rate;
            } else {
                arms.insert((*name).to_owned(), rate);
            }
        }
        AssertionReport {
            id: tally.id.clone(),
            text: tally.text.clone(),
            with_skill,
            without_skill,
            arms,
            unchecked,
            flaky: with_skill.passed > 0 && with_skill.passed < with_skill.measured,
            never_fails: with_skill.rate == Some(1.0) && without_skill.rate == Some(1.0),
        }
    };
    with.assertions.iter().map(report).collect()
}

impl SeriesTally {
    pub(super) fn total(&self) -> u64 {
        self.passed + self.failed + self.not_measured
    }

    pub(super) fn add(&mut self, trial: &Trial) {
        if let Some(verdict) = &trial.verdict {
            *self.verdicts.entry(verdict.named()).or_default() += 1;
        }
        if trial.skill == SkillState::NotLoaded {
            self.not_loaded += 1;
        }
        self.equal += u64::from(trial.preference == Some(Preference::Equal));
        self.wavering += u64::from(trial.preference == Some(Preference::Wavering));
        self.broke_off += u64::from(trial.attempts.iter().any(broke_off));
        if trial.reason.is_some() {
            self.last_reason.clone_from(&trial.reason);
        }
        self.note_example(trial);
        match trial.status {
            Status::Pass => self.passed += 1,
            Status::Fail => self.failed += 1,
            Status::NotMeasured => {
                self.not_measured += 1;
                return;
            }
        }
        // What was not measured says nothing of how often the skill is used.
        match trial.skill {
            SkillState::Used => self.used += 1,
            SkillState::Read => {
                self.used += 1;
                self.read += 1;
            }
            SkillState::Refused => {
                self.unused += 1;
                self.refused += 1;
            }
            SkillState::Loaded => self.unused += 1,
            SkillState::NotLoaded | SkillState::Absent => {}
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

    /// How often an assertion held. What is implied is told only where it does not.
    fn rate(&self, tally: &AssertionTally) -> Rate {
        let told = tally.passed + tally.failed;
        let untold = if IMPLIED.contains(&tally.id.as_str()) {
            (self.passed + self.failed).saturating_sub(told + tally.unchecked)
        } else {
            0
        };
        Rate::of(tally.passed + untold, told + untold)
    }

    /// Trials finish in any order; the first by its number is the example.
    fn note_example(&mut self, trial: &Trial) {
        let place = match trial.status {
            Status::Pass => return,
            Status::Fail => &mut self.first_failed,
            Status::NotMeasured => &mut self.first_unmeasured,
        };
        let number = trial.id.trial;
        if place.as_ref().is_none_or(|known| number < known.trial) {
            *place = Some(Example {
                trial: number,
                reason: trial.reason.clone().unwrap_or_default(),
                recording: trial.attempts.last().map(|attempt| attempt.recording.clone()),
            });
        }
    }

    /// The trial to look at when not all passed.
    pub(super) fn example(&self, series: &Series<'_>, iteration: &Iteration) -> Option<ExampleTrial> {
        let example = self.first_failed.as_ref().or(self.first_unmeasured.as_ref())?;
        let id = series.id(example.trial);
        let folder = iteration.trial_folder(&id, series.case.kind);
        let recording = example.recording.as_ref().map(|name| folder.join(name).display().to_string());
        Some(ExampleTrial { trial: example.trial, reason: example.reason.clone(), recording })
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

    pub(super) fn merge(&mut self, other: &Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.not_measured += other.not_measured;
        self.broke_off += other.broke_off;
        self.used += other.used;
        self.read += other.read;
        self.refused += other.refused;
        self.unused += other.unused;
        self.not_loaded += other.not_loaded;
        for (class, count) in &other.verdicts {
            *self.verdicts.entry(class.clone()).or_default() += count;
        }
        self.costs.extend(&other.costs);
        self.seconds.extend(&other.seconds);
        self.tokens.extend(&other.tokens);
    }

    pub(super) fn report(&self, planned: u64) -> ArmReport {
        let pass_rate = Rate::of(self.passed, self.passed + self.failed);
        let ks = || [1, 3, 5, 10].into_iter().filter(|k| *k <= pass_rate.measured);
        ArmReport {
            planned,
            not_measured: planned - pass_rate.measured.min(planned),
            pass_at_k: ks().filter_map(|k| Some((k, pass_rate.pass_at(k)?))).collect(),
            pass_hat_k: ks().filter_map(|k| Some((k, pass_rate.pass_all(k)?))).collect(),
            pass_rate,
            broke_off: Share { count: self.broke_off, of: self.total() },
            unmeasured: Share { count: self.not_measured, of: self.total() },
            skill_used: self.used,
            skill_read: self.read,
            skill_refused: self.refused,
            skill_unused: self.unused,
            skill_not_loaded: self.not_loaded,
            verdicts: self.verdicts.clone(),
            median_cost_usd: median(&mut self.costs.clone()),
            median_seconds: median(&mut self.seconds.clone()),
            total_seconds: self.seconds.iter().sum(),
            median_tokens: median(&mut self.tokens.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn trial(number: u32, status: &str, reason: Option<&str>) -> Trial {
        let answer = if status == "pass" { "pass" } else { "fail" };
        let none =
            json!({"cost_usd": 0.5, "input_tokens": 10, "output_tokens": 5, "turns": 1, "seconds": 2.0});
        serde_json::from_value(json!({
            "schema_version": 1, "case": "greet", "arm": "with_skill", "trial": number, "kind": "task",
            "status": status, "reason": reason, "verdict": null, "skill": "used", "expectations": [], "attempts": [],
            "assertions": [{"id": "ahoy", "text": "contains", "status": answer, "message": ""}],
            "usage": none, "spent": none, "tool_calls": 0, "denied": [], "broken_clauses": 0, "model": null,
            "version": "", "started_ms": 0, "finished_ms": 0,
        }))
        .unwrap()
    }

    #[test]
    fn what_was_not_measured_lowers_no_rate() {
        let mut tally = SeriesTally::default();
        for (number, status) in [(1, "pass"), (2, "fail"), (3, "not-measured")] {
            tally.add(&trial(number, status, None));
        }
        let report = tally.report(4);
        assert_eq!(report.pass_rate, Rate::of(1, 2));
        assert_eq!((report.not_measured, report.skill_used), (2, 2));
        assert_eq!((report.median_cost_usd, report.total_seconds), (Some(0.5), 4.0));
        assert_eq!(report.pass_at_k.keys().collect::<Vec<_>>(), [&1], "no more than were measured");
    }

    #[test]
    fn an_assertion_that_wavers_is_flaky_and_one_that_always_holds_shows_nothing() {
        let of = |statuses: &[&str]| {
            let mut tally = SeriesTally::default();
            for (number, status) in (1..).zip(statuses) {
                tally.add(&trial(number, status, None));
            }
            tally
        };
        for (with, without, flaky, never_fails) in [
            (["pass", "fail"], ["pass", "pass"], true, false),
            (["pass", "pass"], ["fail", "fail"], false, false),
            (["pass", "pass"], ["pass", "pass"], false, true),
        ] {
            let found = assertions(&of(&with), &[(WITHOUT_SKILL, &of(&without))]);
            assert_eq!((found[0].flaky, found[0].never_fails), (flaky, never_fails), "{with:?} {without:?}");
        }
    }

    #[test]
    fn the_example_is_the_first_that_failed() {
        let mut tally = SeriesTally::default();
        for (number, status, reason) in
            [(1, "not-measured", "limit"), (3, "fail", "late"), (2, "fail", "early")]
        {
            tally.add(&trial(number, status, Some(reason)));
        }
        let example = tally.first_failed.as_ref().unwrap();
        assert_eq!((example.trial, example.reason.as_str()), (2, "early"));
    }
}
