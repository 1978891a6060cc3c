//! A whole run, gathered for reports that are written when it is over.

use std::collections::BTreeMap;

use super::told::{Case, Started, Told};
use crate::run::{RunFinished, Status};

/// Everything that a run said.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Whole {
    /// How it began.
    pub started: Started,
    /// The cases; in order once the run is over.
    pub cases: Vec<Case>,
    /// How it ended.
    pub finished: RunFinished,
}

impl Whole {
    /// Takes an event in.
    pub fn hear(&mut self, told: &Told) {
        match told {
            Told::RunStarted(started) => self.started = started.clone(),
            Told::CaseFinished(case) => self.cases.push((**case).clone()),
            Told::RunFinished(finished) => {
                self.finished = finished.clone();
                self.sort();
            }
            Told::CaseStarted(_) | Told::Unknown => {}
        }
    }

    /// Cases finish in any order; reports have one.
    fn sort(&mut self) {
        let rank: BTreeMap<&str, usize> = self
            .started
            .targets
            .iter()
            .enumerate()
            .map(|(rank, info)| (info.target.as_str(), rank))
            .collect();
        let rank = |case: &Case| rank.get(case.target.as_str()).copied().unwrap_or(usize::MAX);
        self.cases.sort_by(|a, b| (rank(a), &a.case, a.repetition).cmp(&(rank(b), &b.case, b.repetition)));
    }

    /// The cases that failed.
    pub fn failed(&self) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(|case| case.status == Status::Fail)
    }

    /// One sentence: what became of it.
    pub fn headline(&self) -> String {
        let finished = &self.finished;
        let mut parts = Vec::new();
        for (count, word) in [
            (finished.failed, "failed"),
            (finished.flaky, "flaky"),
            (finished.passed, "passed"),
            (finished.skipped, "skipped"),
        ] {
            if count > 0 || (word == "passed" && finished.failed == 0) {
                parts.push(format!("{count} {word}"));
            }
        }
        let interrupted = if finished.interrupted { ", interrupted" } else { "" };
        format!("{}{interrupted}", parts.join(", "))
    }

    /// The targets with their versions.
    pub fn targets(&self) -> Vec<String> {
        let named = |info: &crate::run::TargetInfo| match info.version.as_str() {
            "" => info.target.clone(),
            version => format!("{} ({version})", info.target),
        };
        self.started.targets.iter().map(named).collect()
    }
}
