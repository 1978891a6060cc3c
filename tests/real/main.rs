//! Tests that need more than a Rust toolchain: published CLIs and clients, or a browser. A plain `cargo test` ignores
//! them; `.ci/run` installs what they need and runs them.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "test code: a failure here is a failed test"
)]

mod agent_sdk;
mod browser;
mod claude;
mod run;
mod scripted_api;
mod sdk;
#[path = "../support/mod.rs"]
mod support;
