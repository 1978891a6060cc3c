//! Which trials an evaluation consists of.

use super::spec::{Case, Spec};
use super::trial::{Arm, TrialId};

/// A case with or without the skill, so many times.
#[derive(Debug, Clone)]
pub struct Series<'s> {
    pub case: &'s Case,
    /// With the skill or without it.
    pub arm: Arm,
    pub trials: u32,
}

/// What an evaluation consists of, controls first: when they come out wrong, the rest need not be waited for.
pub fn plan(spec: &Spec) -> Vec<Series<'_>> {
    let mut plan = Vec::new();
    for case in spec.cases.iter().filter(|case| case.kind.is_control()) {
        plan.push(Series { case, arm: Arm::WithoutSkill, trials: case.trials.unwrap_or(1) });
    }
    for case in spec.cases.iter().filter(|case| !case.kind.is_control()) {
        let trials = case.trials.unwrap_or(spec.run.trials);
        plan.push(Series { case, arm: Arm::WithSkill, trials });
        if spec.run.without && !case.kind.is_trigger() && case.prompt_without.is_some() {
            plan.push(Series { case, arm: Arm::WithoutSkill, trials });
        }
    }
    plan
}

impl Series<'_> {
    pub fn ids(&self) -> impl Iterator<Item = TrialId> + '_ {
        (1..=self.trials).map(|trial| TrialId { case: self.case.id.clone(), arm: self.arm, trial })
    }

    pub fn prompt(&self) -> &str {
        match self.arm {
            Arm::WithSkill => &self.case.prompt,
            Arm::WithoutSkill => self.case.prompt_without.as_deref().unwrap_or(&self.case.prompt),
        }
    }
}
