//! A whole run, gathered for reports that are written when it is over.

use crate::run::{CaseFinished, Event, RunFinished, RunStarted, Status};
use std::collections::BTreeMap;

/// Everything that a run said.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RunReport {
    /// How it began.
    pub started: RunStarted,
    /// The cases; in order once the run is over.
    pub cases: Vec<CaseFinished>,
    /// How it ended.
    pub finished: RunFinished,
}

impl RunReport {
    /// Takes an event in.
    pub fn add(&mut self, event: &Event) {
        match event {
            Event::RunStarted(started) => self.started = started.clone(),
            Event::CaseFinished(case) => self.cases.push((**case).clone()),
            Event::RunFinished(finished) => {
                self.finished = finished.clone();
                self.sort();
            }
            Event::CaseStarted(_) | Event::Unknown => {}
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
        let rank = |case: &CaseFinished| rank.get(case.target.as_str()).copied().unwrap_or(usize::MAX);
        self.cases.sort_by(|a, b| (rank(a), &a.case, a.repetition).cmp(&(rank(b), &b.case, b.repetition)));
    }

    /// The cases that failed.
    pub fn failed(&self) -> impl Iterator<Item = &CaseFinished> {
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
        self.started.targets.iter().map(ToString::to_string).collect()
    }
}
