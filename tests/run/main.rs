//! Targets are run: cases, containment, snapshots, versions, the CI gate, and the library in tests of one's own.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a failure here is a failed test")]

mod attacks;
mod bump;
mod ci_files;
mod cli;
#[path = "../support/command.rs"]
mod command;
mod containment;
mod documented;
mod file_schemas;
#[path = "../support/files.rs"]
mod files;
mod gate;
mod golden;
mod known_failures;
mod misbehaviours;
mod new_agent;
mod own_agent;
mod own_files;
mod record;
mod recordings;
#[path = "../support/scenario.rs"]
mod scenario;
#[path = "../support/schema.rs"]
mod schema;
#[path = "../support/mod.rs"]
mod support;
mod testing;
#[path = "../support/tree.rs"]
mod tree;
mod versions;
mod wrong_inputs;
