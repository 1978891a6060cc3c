//! Bounds on memory while a stream is read.

/// How much of a stream is kept, whatever it contains.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Limits {
    /// The longest line that is read whole; of a longer one only its head is looked at.
    pub line: usize,
    /// How much output text is kept.
    pub text: usize,
    /// How many samples of each kind of irregularity are kept, and how many warnings in all.
    pub samples: usize,
    /// How many open items (tool calls, tasks, message ids, results) are tracked at once.
    pub open: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { line: 8 << 20, text: 4 << 20, samples: 100, open: 4096 }
    }
}
