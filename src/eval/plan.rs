//! Which trials an evaluation consists of.

use std::sync::LazyLock;

use super::arm::{Arm, WITH_SKILL};
use super::spec::{Case, Spec};
use super::trial::TrialId;

/// Where controls belong that are about the target and the model of the evaluation itself.
static CONTROLS: LazyLock<Arm> = LazyLock::new(Arm::without_skill);

/// A case in one of the arms, so many times.
#[derive(Debug, Clone)]
pub struct Series<'s> {
    pub case: &'s Case,
    /// How it is tried.
    pub arm: &'s Arm,
    pub trials: u32,
}

/// What an evaluation consists of, controls first: when they come out wrong, the rest need not be waited for. Arms on
/// another target or model have controls of their own, since it is the apparatus that they are about.
pub fn plan(spec: &Spec) -> Vec<Series<'_>> {
    let mut plan = Vec::new();
    let elsewhere = spec.arms.iter().filter(|arm| arm.is_elsewhere());
    for arm in std::iter::once(&*CONTROLS).chain(elsewhere) {
        // All arms have the same judge.
        let is_wanted =
            |case: &&Case| case.kind.is_control() && !(case.kind.is_judge_control() && arm.is_elsewhere());
        for case in spec.cases.iter().filter(is_wanted) {
            plan.push(Series { case, arm, trials: case.trials.unwrap_or(1) });
        }
    }
    for case in spec.cases.iter().filter(|case| !case.kind.is_control()) {
        let trials = case.trials.unwrap_or(spec.run.trials);
        for arm in &spec.arms {
            let makes_sense = arm.has_skill() || (!case.kind.is_trigger() && case.prompt_without.is_some());
            // The evaluated arm is compared with the others, and not with itself.
            let is_itself = case.kind.is_blind() && arm.name == WITH_SKILL;
            if makes_sense && !is_itself {
                plan.push(Series { case, arm, trials });
            }
        }
    }
    plan
}

impl Series<'_> {
    pub fn ids(&self) -> impl Iterator<Item = TrialId> + '_ {
        (1..=self.trials).map(|trial| self.id(trial))
    }

    /// One of its trials, by its number from 1.
    pub fn id(&self, trial: u32) -> TrialId {
        TrialId { case: self.case.id.clone(), arm: self.arm.name.clone(), trial }
    }

    pub fn prompt(&self) -> &str {
        if self.arm.has_skill() && !self.case.kind.is_control() {
            return &self.case.prompt;
        }
        self.case.prompt_without.as_deref().unwrap_or(&self.case.prompt)
    }
}
