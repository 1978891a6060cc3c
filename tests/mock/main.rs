//! The scripted API from outside: over raw sockets and as commands. The published clients and the real Claude CLI have
//! files of their own, since they need more than a compiler.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a failure here is a failed test")]

mod cli;
mod client;
mod dialects;
mod http;
mod mounted;
#[path = "../support/schema.rs"]
mod schema;
#[path = "../support/mod.rs"]
mod support;
mod wire;
