//! The scripted API: behaves like the real one, in the dialect of whoever asks, and misbehaves on demand.
//!
//! ```text
//! client ◄──► front ◄──► wiremock
//!             (how)      (what)
//! ```
//!
//! wiremock holds the entries of the script and the user's own mocks; it chooses the one that answers, and its reply is
//! the answer. It can neither stream a body nor break a connection, so a small front stands before it: it reads and
//! validates requests, keeps the journal, and delivers each reply by a plan of writes, pauses and an end. Each case has
//! a server of its own on a loopback port of its own.
//!
//! ```
//! use clawgate::internals::harness::mock::{MockApi, Options, Script};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let api = MockApi::start(Script::new().text("Hello."), Options::default()).await?;
//! println!("ANTHROPIC_BASE_URL={}", api.base_url());
//! let journal = api.stop().await;
//! assert_eq!(journal.unused, ["turn-1"]);
//! # Ok(())
//! # }
//! ```

pub(crate) mod credential;
pub(crate) mod dialect;
pub(crate) mod fault;
pub(crate) mod journal;
pub(crate) mod kept;
pub(crate) mod matcher;
pub(crate) mod pace;
pub(crate) mod relay;
pub(crate) mod request;
pub(crate) mod script;
pub(crate) mod served;
pub(crate) mod sweep;
pub(crate) mod validate;

mod answer;
mod engine;
mod front;
mod journal_writer;
mod message;
mod plan;
mod reply;
mod server;
mod space;
mod sse;
pub(in crate::harness) mod wire;

pub use fault::Fault;
pub use journal::Journal;
#[cfg(feature = "cli")]
pub(crate) use relay::Upstream;
pub(crate) use relay::Upstreams;
pub use script::Script;
pub use server::{MockApi, Options, StartError};
