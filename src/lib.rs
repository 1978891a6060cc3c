//! clawgate proves that an agent command line keeps its JSON contract, and says why when it does not.
//!
//! The binary of the same name is a thin layer over this library. What it looks like from Rust:
//!
//! ```
//! use clawgate::judge::{self, Contracts, Options};
//!
//! // What a run printed, and how its process ended.
//! let stdout = std::fs::read("samples/rate-limit.ndjson")?;
//! let options = Options::with_exit_code(1);
//!
//! let judgement = judge::output(&stdout, &Contracts::built_in(), &options)?;
//! let verdict = judgement.verdict.ok_or("a run has a verdict")?;
//!
//! // What happened, and whether a retry makes sense …
//! assert_eq!(verdict.class.name(), "rate_limit");
//! assert!(verdict.retryable && !verdict.counts);
//! // … on what evidence …
//! assert_eq!(verdict.evidence[0].rule, "api-error-status");
//! // … and which promises were broken.
//! assert!(judgement.findings.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Features: without any there is the parser and the classifier ([`json`], [`recording`], [`stream_json`],
//! [`envelope`], [`classify`]); `contracts` adds clauses and schemas, `testing` (or `harness`, which is the same) runs
//! targets against a scripted API, for `cargo test`, and `cli` is the command. By default there is everything.
//!
//! | module | job |
//! |---|---|
//! | [`json`] | JSON as targets print it, with every oddity at its byte |
//! | [`recording`] | the facts of one run, and their form on disk |
//! | [`stream_json`] | the NDJSON stream of a Claude CLI, read permissively |
//! | [`envelope`] | one JSON document on standard output, read strictly |
//! | [`classify`] | the verdict: what went wrong, whose fault it was, on what evidence |
//! | [`schema`] | contracts as data, and the engine that holds a run against them |
//! | `golden` | what a run did the last time somebody looked, and how it differs now |
//! | `drift` | what changed between two sets of recordings, and what that does to a reader |
//! | [`judge`] | one pass over an output that feeds all of the above |
//! | `harness` | makes recordings: the clean room and the scripted API that targets run against |
//! | `run` | scenarios on targets: recorded, judged, and compared with what is expected |
//! | `eval` | skills measured: trials, controls, statistics |
//! | `report` | results for people and for programs |
//! | `text`, `time`, `version` | patterns, nearest words, cutting and what a terminal may show; RFC 3339; versions and their ranges |
//! | `document` | TOML files of the user, read so that every complaint points into them |
//! | `config` | `clawgate.toml` and its profiles |
//! | [`exit_code`] | the exit codes of the command, which are API |

// What reads and classifies: a few small dependencies, no feature needed.
pub mod classify;
pub mod envelope;
pub mod exit_code;
pub mod json;
pub mod recording;
pub mod stream_json;
mod text;

#[cfg(feature = "contracts")]
mod document;
#[cfg(feature = "contracts")]
mod events;
#[cfg(feature = "contracts")]
pub mod judge;
#[cfg(feature = "contracts")]
pub mod schema;
#[cfg(feature = "contracts")]
mod time;
#[cfg(feature = "contracts")]
mod version;

#[cfg(feature = "harness")]
mod golden;
#[cfg(feature = "harness")]
mod harness;
#[cfg(feature = "harness")]
mod reference;
#[cfg(feature = "harness")]
mod run;
#[cfg(feature = "harness")]
mod shell;
#[cfg(feature = "harness")]
pub mod testing;

#[cfg(feature = "cli")]
mod cli;
#[cfg(feature = "cli")]
mod config;
#[cfg(feature = "cli")]
mod drift;
#[cfg(feature = "cli")]
mod eval;
#[cfg(feature = "cli")]
mod report;

#[cfg(feature = "contracts")]
#[doc(hidden)]
pub mod internals;
