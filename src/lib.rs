//! clawgate proves that an agent command line keeps its JSON contract, and says why when it does not.
//!
//! The binary of the same name is a thin layer over this library. What it looks like from Rust:
//!
//! ```
//! use clawgate::judge::{self, Contracts, Options};
//!
//! // What a run printed, and how its process ended.
//! let stdout = std::fs::read("examples/streams/rate-limit.ndjson")?;
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
//! Features: without any there is the parser, the documented reader and the verdict on claw ([`json`], [`recording`],
//! [`stream_json`], [`envelope`], [`classify`]); `contracts` adds clauses and schemas, and with them the verdict on a stream,
//! `testing` is for `cargo test`, `cli` is the command, and `net` lets `clawgate eval --check-urls` ask addresses. By default there is everything but `net`.
//!
//! | module | what it is for |
//! |---|---|
//! | [`judge`] | what became of a run and what it broke, from a recording, a file or bytes as they come |
//! | [`schema`] | contracts, their clauses, and the findings against them |
//! | [`testing`] | running a command line against a scripted API in a test of your own |
//! | [`classify`] | the verdict: what went wrong, whose fault it was, on what evidence |
//! | [`stream_json`] | the NDJSON stream of a Claude CLI, read permissively |
//! | [`envelope`] | one JSON document on standard output, read strictly |
//! | [`recording`] | the facts of one run, and their form on disk |
//! | [`json`] | JSON as targets print it, with every problem at its byte |
//! | [`exit_code`] | the exit codes of the command, which are API |
//!
//! The rest is private, and described in CONTRIBUTING.md.

#[cfg(all(feature = "testing", not(unix)))]
compile_error!(
    "running targets needs Linux or another Unix: elsewhere take clawgate with default-features = false, features = \
     [\"contracts\"], which reads and judges"
);

// What reads: a few small dependencies, no feature needed.
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
mod outcome;
#[cfg(feature = "contracts")]
pub mod schema;
#[cfg(feature = "contracts")]
mod time;
#[cfg(feature = "contracts")]
mod version;

#[cfg(feature = "testing")]
mod golden;
#[cfg(feature = "testing")]
mod harness;
#[cfg(feature = "testing")]
mod reference;
#[cfg(feature = "testing")]
mod run;
#[cfg(feature = "testing")]
mod shell;
#[cfg(feature = "testing")]
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

/// What the pages show of Rust compiles.
#[cfg(all(doctest, feature = "testing"))]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../examples/README.md")]
mod pages {}
