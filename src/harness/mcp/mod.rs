//! Scripted MCP servers: tools, resources and prompts as data, over stdio and streamable HTTP, and wrong on demand.
//!
//! ```text
//! scenario ─► Server ─► Session (what is answered) ─► stdio: a process that the client starts
//!                          │                       └► http: beside the scripted API, or alone
//!                          └► Journal (what was seen and answered) ─► `mcp` in the recording
//! ```
//!
//! The official crate `rmcp` (3.8) is not used: it owns ids, framing and the order of answers, so that an answer that comes
//! twice, has another id, is no JSON or is cut cannot be said with it; and it would bring 25 crates with it, where fewer than
//! 150 are wanted in all. What is spoken here is small: one JSON-RPC message a line, or a body.

mod fault;
mod http;
mod journal;
mod reader;
mod room;
mod script;
mod session;
#[cfg(feature = "cli")]
mod stdio;
mod told;

#[cfg(feature = "cli")]
pub(crate) use fault::HELP;
pub(crate) use http::HttpServers;
#[cfg(feature = "cli")]
pub(crate) use http::path;
pub(crate) use journal::{Journal, now};
pub(crate) use room::{CONFIG, FOLDER, McpPart, seen};
pub(crate) use script::Server;
#[cfg(feature = "cli")]
pub(crate) use script::Transport;
#[cfg(feature = "cli")]
pub(crate) use stdio::{Ended, serve};
pub(crate) use told::tie;
