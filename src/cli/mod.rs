//! The command line: what the user typed, turned into calls of the library. One file a command.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod format;
mod mock;
mod scenario_source;
mod sweep;

/// Proves that an agent command line keeps its JSON contract, and says why when it does not.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Mock(mock::Args),
    Sweep(sweep::Args),
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let code = match Cli::parse().command {
        Command::Mock(args) => mock::run(args),
        Command::Sweep(args) => sweep::run(&args),
    };
    ExitCode::from(code)
}
