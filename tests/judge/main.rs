//! What is said of an output: verdicts, findings, contracts, event logs and drift; by the library, and as commands.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a failure here is a failed test")]

mod architecture;
mod cli;
mod contracts;
mod documented_reader;
mod drift;
mod events_cli;
mod events_corpus;
mod events_properties;
mod stream_properties;
mod surface;
mod verdicts;
