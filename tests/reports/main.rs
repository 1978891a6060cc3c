//! What people and programs get to see of a run, also of a hostile target.

#![expect(clippy::unwrap_used, reason = "test code: a failure here is a failed test")]

mod causes;
#[path = "../support/command.rs"]
mod command;
mod commands;
mod failures;
#[path = "../support/files.rs"]
mod files;
mod machine_output;
mod run;
#[path = "../support/scenario.rs"]
mod scenario;
#[path = "../support/schema.rs"]
mod schema;
mod secrets;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/tree.rs"]
mod tree;
