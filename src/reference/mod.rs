//! The reference target: an agent command line inside clawgate.
//!
//! It is a real client of the scripted API and keeps the contracts as their documents state them, so that the whole
//! gate can be seen to work with nothing installed. It can also be told to break them in named ways
//! ([`Misbehaviour`]), so that the gate can be seen to fail.
//!
//! The clawgate binary becomes it when `CLAWGATE_ACT_AS` says what to act as: `claude`, `claw-flat`, `claw-1.0`,
//! `claw-2.0` or `worker`.

mod answer;
mod api;
mod claude;
mod claw;
mod http;
mod interrupt;
mod live_worker;
mod misbehaviour;
mod process;
mod worker;

pub use misbehaviour::MISBEHAVIOURS;
pub(crate) use misbehaviour::Misbehaviour;

use std::io::{self, Write as _};
#[cfg(feature = "cli")]
use std::process::ExitCode;

/// What makes the clawgate binary the reference target.
pub(crate) const ACT_AS: &str = "CLAWGATE_ACT_AS";

/// Everything that the reference target is told from outside.
struct World {
    /// What is no text in them has replacement characters.
    args: Vec<String>,
    /// Whether one of them is no text.
    has_bytes: bool,
    variables: fn(&str) -> Option<String>,
    wrong: Option<Misbehaviour>,
}

impl World {
    fn variable(&self, name: &str) -> Option<String> {
        (self.variables)(name)
    }

    /// The name of its misbehaviour, or nothing.
    fn wrong(&self) -> &'static str {
        self.wrong.map_or("", Misbehaviour::name)
    }

    /// Whether it is to misbehave in this way.
    fn is_wrong(&self, name: &str) -> bool {
        self.wrong() == name
    }
}

/// The variable that makes the reference target misbehave in the way that it names.
pub(crate) const MISBEHAVE: &str = "CLAWGATE_MISBEHAVE";

/// Runs this process as the reference target.
#[cfg(feature = "cli")]
pub(crate) fn main(role: &str) -> ExitCode {
    ExitCode::from(perform(role))
}

/// Does what the reference target does; the answer is its exit code.
pub(crate) fn perform(role: &str) -> u8 {
    let variable = |name: &str| std::env::var(name).ok();
    let wrong = variable(MISBEHAVE).and_then(|name| name.parse().ok());
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let has_bytes = words.iter().any(|word| word.to_str().is_none());
    let args = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let world = World { args, has_bytes, variables: variable, wrong };
    process::at_start(&world);
    let code = match role {
        "claude" => claude::main(&world),
        "listener" => process::listen(),
        "claw-flat" => claw::flat(&world),
        "claw-1.0" => claw::nested(&world, "1.0"),
        "claw-2.0" => claw::nested(&world, "2.0"),
        "worker" => match world.variable("CLAWS_SOCKET") {
            Some(socket) => live_worker::main(&world, &socket),
            None => worker::main(&world),
        },
        other => {
            complain(&format!("{ACT_AS}={other}: expected claude, claw-flat, claw-1.0, claw-2.0 or worker"));
            2
        }
    };
    process::at_end(&world, code)
}

/// Writes to standard output at once; a reader that has left is no reason to stop.
fn print(text: &str) {
    _ = write(text);
}

/// As [`print()`], for whoever wants to know whether it was written.
fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

/// Writes a line to standard error.
fn complain(text: &str) {
    _ = writeln!(io::stderr().lock(), "{text}");
}

#[cfg(test)]
impl World {
    /// A world with these arguments and no variables, for tests.
    fn of(args: &[&str]) -> Self {
        let args = args.iter().map(|&word| word.to_owned()).collect();
        Self { args, has_bytes: false, variables: |_| None, wrong: None }
    }
}
