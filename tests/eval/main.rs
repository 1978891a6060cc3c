//! Evaluations: specs, assertions, and `clawgate eval` as a user types it.

#![expect(clippy::unwrap_used, reason = "test code: a failure here is a failed test")]

mod agreement;
#[path = "../support/files.rs"]
mod files;
mod forms;
mod hostile;
mod lint;
mod project;
mod real;
mod reports;
mod resume;
mod runs;
#[path = "../support/schema.rs"]
mod schema;
mod sections;
#[path = "../support/mod.rs"]
mod support;
mod urls;
mod waiting;
