//! Evaluations: specs, assertions, and `clawgate eval` as a user types it.

#![expect(clippy::unwrap_used, reason = "test code: a failure here is a failed test")]

mod agreement;
mod arms;
mod authoring;
mod baseline;
mod blind;
mod cannot_fail;
mod commands;
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
mod skill_creator;
#[path = "../support/mod.rs"]
mod support;
mod traps;
mod urls;
mod viewer;
mod waiting;
