//! Evaluations: specs, assertions, and `clawgate eval` as a user types it.

#![expect(clippy::unwrap_used, reason = "test code: a failure here is a failed test")]

mod agreement;
mod forms;
mod hostile;
mod lint;
mod real;
mod reports;
mod resume;
mod runs;
mod sections;
mod support;
mod urls;
mod waiting;
