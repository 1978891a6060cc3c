//! Which scenario runs on which target.

#[cfg(feature = "cli")]
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
#[cfg(feature = "cli")]
use std::time::Duration;

#[cfg(feature = "cli")]
use super::event::TargetInfo;
#[cfg(feature = "cli")]
use super::memory::LastRun;
use super::scenario::{Case, Expect, RunPart};
use super::suite::Suite;
use super::target::{Located, Speaks};
#[cfg(feature = "cli")]
use crate::classify::Class;
use crate::golden::Volatile;
use crate::harness::mock::Script;
use crate::judge::Contracts;
use crate::schema::FileError;
use crate::shell::shell_word;

/// A case on a target.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    pub case: Arc<Case>,
    /// What the API answers.
    pub script: Arc<Script>,
    pub target: Arc<Located>,
    /// How the target keeps the case's contract.
    pub speaks: Speaks,
    /// What it is to do, for this target.
    pub run: RunPart,
    /// What is expected, for this target.
    pub expect: Expect,
    /// Why it is not run.
    pub skip: Option<String>,
    /// Which repetition it is, from 1.
    pub repetition: u32,
    /// Where its recording goes, instead of a place below the output folder that follows from its name.
    pub place: Option<PathBuf>,
    /// Whether what it wrote into its working directory is kept beside the recording, as `outputs`.
    pub keep_files: bool,
    /// What it is given to reach the real API: names and values of the user's own environment. The scripted API is
    /// not started, and the values are masked wherever they turn up.
    pub real_api: Option<Vec<(String, String)>>,
}

/// Every case on every target that promises its contract, once.
pub(crate) fn plan(suite: &Suite, targets: &[Arc<Located>]) -> Vec<Planned> {
    let mut planned = Vec::new();
    for target in targets {
        for (case, script) in suite.cases() {
            let Some(speaks) = target.choice.target.speaking(&case.contract) else { continue };
            if target.choice.target.lacks(&case.tags).is_some() {
                continue;
            }
            let version = target.version_for(speaks);
            let version = (!version.is_empty()).then_some(version);
            let case = &held_to(case, &speaks.contract);
            let differs = case.for_target(&target.choice.target.name, version.as_deref());
            let (run, expect) =
                differs.map_or((&case.run, &case.expect), |differs| (&differs.run, &differs.expect));
            planned.push(Planned {
                run: run.clone(),
                expect: expect.clone(),
                skip: differs.and_then(|differs| differs.skip.clone()),
                ..Planned::new(Arc::clone(case), Arc::clone(script), Arc::clone(target), speaks.clone())
            });
        }
    }
    planned
}

/// Each case so many times, one repetition after the other. Asked for once it is known which cases are run.
#[cfg(feature = "cli")]
pub(crate) fn repeated(planned: Vec<Planned>, repeat: u32) -> Vec<Planned> {
    let times =
        |case: Planned| (1..=repeat.max(1)).map(move |repetition| Planned { repetition, ..case.clone() });
    planned.into_iter().flat_map(times).collect()
}

/// The case, held to the part of its contract that a target promises.
fn held_to(case: &Arc<Case>, contract: &str) -> Arc<Case> {
    if case.contract == contract {
        return Arc::clone(case);
    }
    Arc::new(Case { contract: contract.to_owned(), ..(**case).clone() })
}

/// How many cases are left out since a target does not claim what they need, by that.
#[cfg(feature = "cli")]
pub(crate) fn left_out(suite: &Suite, target: &Located) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let target = &target.choice.target;
    for (case, _) in suite.cases().iter().filter(|(case, _)| target.speaking(&case.contract).is_some()) {
        if let Some(ability) = target.lacks(&case.tags) {
            *counts.entry(ability.to_owned()).or_default() += 1;
        }
    }
    counts
}

/// The targets of some cases, in their order.
#[cfg(feature = "cli")]
pub(super) fn targets_of(planned: &[Planned]) -> Vec<TargetInfo> {
    let mut targets: Vec<TargetInfo> = Vec::new();
    for case in planned {
        if !targets.iter().any(|known| known.target == case.target_label()) {
            let version = case.target.version_for(&case.speaks);
            targets.push(TargetInfo { target: case.target_label().to_owned(), version });
        }
    }
    targets
}

impl Planned {
    /// The case as it is, once.
    pub(crate) fn new(case: Arc<Case>, script: Arc<Script>, target: Arc<Located>, speaks: Speaks) -> Self {
        Self {
            run: case.run.clone(),
            expect: case.expect.clone(),
            case,
            script,
            target,
            speaks,
            skip: None,
            repetition: 1,
            place: None,
            keep_files: false,
            real_api: None,
        }
    }

    /// The target as it was chosen.
    pub(crate) fn target_label(&self) -> &str {
        &self.target.choice.label
    }

    /// What tells it from every other case of a run.
    #[cfg(feature = "cli")]
    pub(crate) fn key(&self) -> (String, String) {
        (self.target_label().to_owned(), self.case.name.clone())
    }

    /// What differs from run to run: by the target's file, and by the contract that it keeps.
    pub(crate) fn volatile(&self, contracts: &Contracts) -> Result<Volatile, FileError> {
        Ok(self.target.choice.target.volatile.and(contracts.volatile(&self.case.contract)?))
    }

    /// The command that runs exactly this case again.
    pub(crate) fn replay(&self) -> String {
        format!(
            "clawgate run {}{} --target {}",
            self.file(),
            shell_word(&self.case.name),
            shell_word(self.target_label())
        )
    }

    /// The arguments that name exactly this case to commands that run cases for a reason of their own.
    pub(crate) fn as_case(&self) -> String {
        format!(
            "{}--target {} --case {}",
            self.file(),
            shell_word(self.target_label()),
            shell_word(&self.case.name)
        )
    }

    /// A scenario of the user's is found by its file, wherever it is.
    fn file(&self) -> String {
        self.case.source.as_ref().map_or(String::new(), |source| format!("{} ", shell_word(&source.file)))
    }

    /// How long it will probably take: as long as the last time, or as the timer that it waits for.
    #[cfg(feature = "cli")]
    pub(crate) fn cost(&self, last: &LastRun) -> Duration {
        if let Some(known) = last.duration(&self.key()) {
            return known;
        }
        match self.expect.verdict {
            Class::Timeout => {
                let shortest = self.run.timers.iter().flatten().min();
                shortest.map_or(self.target.choice.target.limits.wall, |ms| Duration::from_millis(*ms))
            }
            _ => Duration::from_millis(u64::from(self.run.timers[3].is_some())),
        }
    }
}
