//! Tests of an agent command line, from `cargo test`: the harness behind [`Cli`], one call for each test.
//!
//! ```standalone_crate
//! # clawgate::testing::act_as_reference();
//! use clawgate::testing::{Cli, Script};
//!
//! // In a test of your own: `Cli::target("claude=target/debug/my-agent")`, `"claude@2.1.197"`, `"my-target.toml"`.
//! let run = Cli::target("reference")?
//!     .prompt("Say hello.")
//!     .api(Script::new().text("Hello."))
//!     .run()?;
//!
//! run.assert_verdict("ok").assert_no_findings().assert_requests(1);
//! assert_eq!(run.text(), Some("Hello."));
//! # Ok::<(), clawgate::testing::Error>(())
//! ```
//!
//! Each run has a clean room and a scripted API of its own, so tests run in parallel, under `cargo test` as under
//! nextest. When an assertion fails, its message says what the command line would: the verdict with its evidence, the
//! clauses that were broken, and where the recording was kept.
//!
//! A command of `claw` is answered with its envelope or with the error that its document asks for: [`run_claw_command`].
//!
//! A program that starts such a command line is tested with a [`FakeCli`], which acts as a recorded one.
//!
//! A client that is no command line gets a [`ScriptedApi`] of its own.
//!
//! A directory of scenario files becomes a test for each case in three lines; see [`Scenarios`].
//!
//! The clawgate binary holds whatever a target starts, also what has left its process group. A test finds it by the
//! variable `CLAWGATE_BIN`; without it the process group is all that is held, and the recording says so.

mod api;
mod claw;
mod cli;
mod fake;
mod outcome;
mod scenarios;

pub use api::{ScriptedApi, Served};
pub use claw::{ClawError, run_claw_command};
pub use cli::{Cli, Error};
pub use fake::{FakeCli, FakeError, FakeProgram};
pub use outcome::Outcome;
pub use scenarios::Scenarios;

/// Becomes the reference target, and never returns, if this process was started as it; else does nothing.
///
/// The target `reference` is an agent command line inside clawgate: `Cli::target("reference")` starts the clawgate binary
/// that `CLAWGATE_BIN` names, and without it the program that is running. With this call at the beginning of its `main`
/// that works too, so that the examples of this module run with nothing installed.
///
/// ```standalone_crate
/// use clawgate::testing::{Cli, Script};
///
/// fn main() -> Result<(), clawgate::testing::Error> {
///     clawgate::testing::act_as_reference();
///     let run = Cli::target("reference")?.prompt("Hello?").api(Script::new().text("Hi.")).run()?;
///     run.assert_verdict("ok");
///     Ok(())
/// }
/// ```
pub fn act_as_reference() {
    if let Ok(role) = std::env::var(crate::reference::ACT_AS) {
        std::process::exit(i32::from(crate::reference::perform(&role)));
    }
}

pub use crate::harness::mock::script::{Block, Turn};
pub use crate::harness::mock::{Fault, Script};
/// The engine of the scripted API, in the version whose mocks [`Script::mount`] takes.
pub use wiremock;
