//! What was irregular in a stream: counted always, sampled within a bound.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::json::OddityKind;

/// A way in which a line is not what the protocol says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Irregularity {
    /// The line is not JSON.
    Malformed,
    /// The line is JSON but not an object.
    NotAnObject,
    /// The line has bytes that are not UTF-8.
    InvalidUtf8,
    /// The line starts with a byte order mark.
    ByteOrderMark,
    /// The line has a NUL byte.
    Nul,
    /// The line is longer than the limit.
    Oversized,
    /// The stream ends without a line end.
    Unterminated,
    /// The line can be read but is not strict JSON.
    Odd(OddityKind),
}

impl Irregularity {
    /// The name in machine-readable output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::NotAnObject => "not-an-object",
            Self::InvalidUtf8 => "invalid-utf8",
            Self::ByteOrderMark => "byte-order-mark",
            Self::Nul => "nul",
            Self::Oversized => "oversized",
            Self::Unterminated => "unterminated",
            Self::Odd(kind) => kind.name(),
        }
    }

    /// The irregularity in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Malformed => "not JSON",
            Self::NotAnObject => "JSON but not an object",
            Self::InvalidUtf8 => "invalid UTF-8",
            Self::ByteOrderMark => "byte order mark",
            Self::Nul => "NUL byte",
            Self::Oversized => "line longer than the limit",
            Self::Unterminated => "last line without a line end",
            Self::Odd(kind) => kind.describe(),
        }
    }
}

impl Serialize for Irregularity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// One irregularity at its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sample {
    /// Which irregularity it is.
    pub kind: Irregularity,
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
    counts: BTreeMap<Irregularity, u64>,
    samples: Vec<Sample>,
    samples_of_each: u64,
}

impl Tally {
    pub(super) fn new(samples_of_each: usize) -> Self {
        Self { samples_of_each: samples_of_each as u64, ..Self::default() }
    }

    pub(super) fn note(&mut self, kind: Irregularity, line: u64, offset: u64, detail: Option<&str>) {
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        if *count <= self.samples_of_each {
            self.samples.push(Sample { kind, line, offset, detail: detail.map(str::to_owned) });
        }
    }

    pub(super) fn note_more(&mut self, kind: Irregularity, more: u64) {
        *self.counts.entry(kind).or_default() += more;
    }

    /// How often each irregularity occurred.
    pub fn counts(&self) -> impl Iterator<Item = (Irregularity, u64)> {
        self.counts.iter().map(|(kind, count)| (*kind, *count))
    }

    /// How often this one occurred.
    pub fn count(&self, kind: Irregularity) -> u64 {
        self.counts.get(&kind).copied().unwrap_or_default()
    }

    /// The first places of each irregularity, in stream order.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }
}
