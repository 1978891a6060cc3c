//! A whole run, gathered for reports that are written when it is over.

use super::numbers::counted;
use crate::run::{CaseFinished, Event, RunFinished, RunStarted, Status};

/// Everything that a run said.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RunReport {
    pub started: RunStarted,
    /// The cases; in order once the run is over.
    pub cases: Vec<CaseFinished>,
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
        let targets: Vec<&str> = self.started.targets.iter().map(|info| info.target.as_str()).collect();
        let rank = |case: &CaseFinished| {
            targets.iter().position(|target| *target == case.target).unwrap_or(usize::MAX)
        };
        self.cases.sort_by(|a, b| (rank(a), &a.case, a.repetition).cmp(&(rank(b), &b.case, b.repetition)));
    }

    /// The cases that failed.
    pub fn failed(&self) -> impl Iterator<Item = &CaseFinished> {
        self.cases.iter().filter(|case| case.status == Status::Fail)
    }

    /// What became of it, in a few words.
    pub fn headline(&self) -> String {
        let interrupted = if self.finished.interrupted { ", interrupted" } else { "" };
        let entries = match self.finished.failing_entries().count() {
            0 => String::new(),
            count => format!(", {}", counted(count as u64, "stale known failure", "stale known failures")),
        };
        let snapshots = match self.finished.snapshots.len() {
            0 => String::new(),
            count => format!(", {}", counted(count as u64, "lost snapshot", "lost snapshots")),
        };
        format!("{}{entries}{snapshots}{interrupted}", counts(&self.finished).join(", "))
    }

    /// The targets with their versions.
    pub fn targets(&self) -> Vec<String> {
        self.started.targets.iter().map(ToString::to_string).collect()
    }
}

/// How many cases ended in each way, what matters most first.
pub(super) fn counts(finished: &RunFinished) -> Vec<String> {
    let counts = [
        (finished.failed, "failed"),
        (finished.flaky, "flaky"),
        (finished.passed, "passed"),
        (finished.skipped, "skipped"),
    ];
    let is_told = |(count, word): &(usize, &str)| *count > 0 || (*word == "passed" && finished.failed == 0);
    let told = |(count, word): (usize, &str)| match finished.known {
        known if known > 0 && word == "passed" => format!("{count} passed ({known} with known failures)"),
        _ => format!("{count} {word}"),
    };
    counts.into_iter().filter(is_told).map(told).collect()
}
