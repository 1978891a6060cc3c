//! The command line: what the user typed, turned into calls of the library. One file a command.

mod audit;
mod bundle;
mod cases;
mod completions;
mod contract;
mod diff;
mod drift;
mod error;
mod eval;
mod events;
mod explain;
mod fail_on;
mod golden;
mod help;
mod in_order;
mod init;
mod judge;
mod known_failures;
mod man;
mod matrix;
mod mcp;
mod memory;
mod merge;
mod mock;
mod out;
mod outcome;
mod output;
mod play;
mod project;
mod record;
mod reports;
mod run;
mod sweep;
mod target;
mod typed;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use crate::events::Profile;
use crate::harness::supervise::{self, Containment};
use crate::reference;
use error::CommandError;
pub use memory::Allocator;
use output::{Format, FormatArg, complain};

/// Proves that an agent command line keeps its JSON contract, and says why when it does not.
#[derive(Debug, Parser)]
#[command(version, about, propagate_version = true, disable_help_subcommand = true)]
struct Cli {
    /// Whether what is for people is coloured; auto follows the terminal and `NO_COLOR`
    #[arg(long, global = true, display_order = 900, value_enum, value_name = "WHEN", default_value_t = Color::Auto, env = "CLAWGATE_COLOR")]
    color: Color,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::RunArgs),
    Judge(judge::JudgeArgs),
    Diff(diff::DiffArgs),
    Drift(drift::DriftArgs),
    Matrix(matrix::MatrixArgs),
    Golden(golden::GoldenArgs),
    Eval(eval::EvalArgs),
    Contract(contract::ContractArgs),
    Explain(explain::ExplainArgs),
    Events(events::EventsArgs),
    Audit(audit::AuditArgs),
    Mock(mock::Args),
    Mcp(mcp::McpArgs),
    Sweep(sweep::Args),
    Target(target::TargetArgs),
    Play(play::PlayArgs),
    Bundle(bundle::BundleArgs),
    Record(record::RecordArgs),
    Merge(merge::MergeArgs),
    Init(init::InitArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    Help(help::HelpArgs),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    /// From here on everything for people is written so.
    fn choose(self) {
        let choice = match self {
            Self::Auto => return,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// The strongest containment: whatever this program is called, it is clawgate.
fn containment() -> Containment {
    Containment::strongest(std::env::var_os("CLAWGATE_BIN").map(PathBuf::from))
}

/// The whole command line, for what is made from its definition.
fn definition() -> clap::Command {
    help::arranged(Cli::command())
}

/// A profile of event logs by its name.
fn profile(name: &str) -> Result<Profile, String> {
    Profile::from_name(name).ok_or_else(|| "expected strict, lenient or origin".into())
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    // Before anything starts a thread: neither of these is a command of the user's.
    if std::env::args_os().nth(1).is_some_and(|word| word == supervise::COMMAND) {
        return supervise::main(std::env::args_os().nth(2).as_deref());
    }
    memory::give_back();
    memory::watch();
    Containment::this_is_clawgate();
    if let Ok(role) = std::env::var(reference::ACT_AS) {
        return reference::main(&role);
    }
    let typed = definition().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let command = match typed {
        Ok(cli) => {
            cli.color.choose();
            cli.command
        }
        Err(error) => typed::explained(error, &definition(), |name| std::env::var(name).ok()).exit(),
    };
    let result = match command {
        Command::Run(args) => run::run(&args),
        Command::Judge(args) => judge::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Drift(args) => drift::run(&args),
        Command::Matrix(args) => matrix::run(&args),
        Command::Golden(args) => golden::run(&args),
        Command::Eval(args) => eval::run(&args),
        Command::Contract(args) => contract::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Events(args) => events::run(&args),
        Command::Audit(args) => audit::run(&args),
        Command::Mock(args) => mock::run(args),
        Command::Mcp(args) => mcp::run(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Target(args) => target::run(&args),
        Command::Play(args) => play::run(&args),
        Command::Bundle(args) => bundle::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Help(args) => help::run(&args),
    };
    let outcome = result.unwrap_or_else(|error| error.told());
    ExitCode::from(u8::from(outcome))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What has no word of help, by its path.
    fn unexplained(command: &clap::Command, path: &str, found: &mut Vec<String>) {
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let name = format!("{path} {}", argument.get_id());
            if argument.get_help().is_none_or(|help| help.to_string().trim().is_empty()) {
                found.push(name.clone());
            }
            // Either every value is explained or none needs to be.
            let values = argument.get_possible_values();
            if values.iter().any(|value| value.get_help().is_some()) {
                let silent = values.iter().filter(|value| value.get_help().is_none());
                found.extend(silent.map(|value| format!("{name}={}", value.get_name())));
            }
        }
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            let path = format!("{path} {}", inner.get_name());
            if inner.get_about().is_none() {
                found.push(path.clone());
            }
            unexplained(inner, &path, found);
        }
    }

    #[test]
    fn every_command_argument_and_value_is_explained() {
        let mut command = definition();
        command.build();
        let mut found = Vec::new();
        unexplained(&command, "clawgate", &mut found);
        assert_eq!(found, [] as [String; 0]);
    }
}
