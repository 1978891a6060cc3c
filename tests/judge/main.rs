//! What is said of an output: verdicts, findings, contracts, event logs and drift; by the library, and as commands.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a failure here is a failed test")]

mod agents;
mod architecture;
mod cli;
#[path = "../support/command.rs"]
mod command;
mod complaints;
mod contracts;
mod documented_reader;
mod drift;
mod drift_policy;
mod events_causes;
mod events_clauses;
mod events_cli;
mod events_corpus;
mod events_live;
mod events_mutants;
mod events_properties;
mod events_statements;
mod failures;
#[path = "../support/files.rs"]
mod files;
mod long_streams;
mod mutations;
#[path = "../support/schema.rs"]
mod schema;
mod stream_properties;
#[path = "../support/mod.rs"]
mod support;
mod surface;
#[path = "../support/tree.rs"]
mod tree;
mod truth;
mod verdicts;
