//! What was irregular in a stream: counted always, sampled within a bound.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::json::Problem;

/// One irregularity at its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sample {
    /// Which irregularity it is.
    pub kind: Problem,
    /// The line, counted from 1.
    pub line: u64,
    /// The byte, counted from the start of the stream.
    pub offset: u64,
    /// More about it, such as the parser's reason.
    pub detail: Option<String>,
}

/// The irregularities of a stream.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    counts: BTreeMap<Problem, u64>,
    samples: Vec<Sample>,
    samples_of_each: u64,
}

impl Tally {
    pub(super) fn new(samples_of_each: usize) -> Self {
        Self { samples_of_each: samples_of_each as u64, ..Self::default() }
    }

    pub(super) fn note(&mut self, kind: Problem, line: u64, offset: u64, detail: Option<&str>) {
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        if *count <= self.samples_of_each {
            self.samples.push(Sample { kind, line, offset, detail: detail.map(str::to_owned) });
        }
    }

    pub(super) fn note_more(&mut self, kind: Problem, more: u64) {
        *self.counts.entry(kind).or_default() += more;
    }

    /// How often each irregularity occurred.
    pub fn counts(&self) -> impl Iterator<Item = (Problem, u64)> {
        self.counts.iter().map(|(kind, count)| (*kind, *count))
    }

    /// How often this one occurred.
    pub fn count(&self, kind: Problem) -> u64 {
        self.counts.get(&kind).copied().unwrap_or_default()
    }

    /// The first places of each irregularity, in stream order.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }
}
