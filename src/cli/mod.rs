//! The command line: what the user typed, turned into calls of the library. One file a command.

mod audit;
mod completions;
mod contract;
mod diff;
mod eval;
mod events;
mod explain;
mod golden;
mod init;
mod judge;
mod lines;
mod man;
mod matrix;
mod merge;
mod mock;
mod play;
mod reports;
mod run;
mod runs;
mod scenario_source;
mod since;
mod sweep;
mod target;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};

use crate::events::Profile;
use crate::exit_code;
use crate::harness::supervise::{self, Containment};
use crate::printable::printable;
use crate::reference;
use crate::report::style::BAD;

/// Proves that an agent command line keeps its JSON contract, and says why when it does not.
#[derive(Debug, Parser)]
#[command(version, about, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::RunArgs),
    Judge(judge::JudgeArgs),
    Diff(diff::DiffArgs),
    Matrix(matrix::MatrixArgs),
    Golden(golden::GoldenArgs),
    Eval(eval::EvalArgs),
    Contract(contract::ContractArgs),
    Explain(explain::ExplainArgs),
    Events(events::EventsArgs),
    Audit(audit::AuditArgs),
    Mock(mock::Args),
    Sweep(sweep::Args),
    Target(target::TargetArgs),
    Play(play::PlayArgs),
    Merge(merge::MergeArgs),
    Init(init::InitArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// The strongest containment: whatever this program is called, it is clawgate.
fn containment() -> Containment {
    Containment::of_clawgate(std::env::var_os("CLAWGATE_BIN").map(PathBuf::from))
}

#[derive(Debug, Args)]
struct FormatArg {
    /// For people, or one JSON object a line for programs
    #[arg(long, value_enum, default_value_t = Format::Human, env = "CLAWGATE_FORMAT")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
}

impl Format {
    /// Where the output goes. What is meant for a terminal loses its colours where there is none; data passes
    /// untouched, since the filter that removes colours would also remove bytes of a target's own.
    fn stdout(self) -> Box<dyn Write> {
        match self {
            Self::Human => Box::new(anstream::stdout().lock()),
            Self::Json => Box::new(io::BufWriter::new(io::stdout().lock())),
        }
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
enum Failure {
    /// An input or an argument cannot be used.
    Usage(String),
    /// The output cannot be written.
    Output(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Output(error.into())
    }
}

/// The whole command line, for what is made from its definition.
fn definition() -> clap::Command {
    Cli::command()
}

/// A profile of event logs by its name.
fn profile(name: &str) -> Result<Profile, String> {
    Profile::from_name(name).ok_or_else(|| "expected strict, lenient or origin".into())
}

/// Tells the user what is wrong.
fn complain(message: &str) {
    // There is nobody left to tell when standard error is closed.
    let mut lines = message.lines().map(printable);
    let _ = writeln!(anstream::stderr(), "{BAD}error{BAD:#}: {}", lines.next().unwrap_or_default());
    // A complaint about a file shows the line of the file.
    for line in lines {
        let _ = writeln!(anstream::stderr(), "{line}");
    }
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    // Before anything starts a thread: neither of these is a command of the user's.
    if std::env::args_os().nth(1).is_some_and(|word| word == supervise::COMMAND) {
        return supervise::main();
    }
    if let Ok(role) = std::env::var(reference::ACT_AS) {
        return reference::main(&role);
    }
    let result = match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Judge(args) => judge::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Matrix(args) => matrix::run(&args),
        Command::Golden(args) => golden::run(&args),
        Command::Eval(args) => eval::run(&args),
        Command::Contract(args) => contract::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Events(args) => events::run(&args),
        Command::Audit(args) => audit::run(&args),
        Command::Mock(args) => Ok(mock::run(args)),
        Command::Sweep(args) => Ok(sweep::run(&args)),
        Command::Target(args) => target::run(&args),
        Command::Play(args) => play::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    };
    ExitCode::from(match result {
        Ok(code) => code,
        Err(Failure::Usage(message)) => {
            complain(&message);
            exit_code::USAGE
        }
        // Whoever read the output has seen enough.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => exit_code::OK,
        Err(Failure::Output(error)) => {
            complain(&format!("cannot write the output: {error}"));
            exit_code::ENVIRONMENT
        }
    })
}
