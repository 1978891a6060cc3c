//! `clawgate contract`: the contracts, what they say, how they differ, and how to learn one.

use std::io::Write;

use clap::{Args, Subcommand};
use serde_json::json;

use super::{Failure, Format, FormatArg, contract_diff, contract_learn};
use crate::events::Profile;
use crate::exit_code;
use crate::printable::printable;
use crate::report::style::{FAINT, NAME};
use crate::schema::{Bundle, Clause, Contract, FileError, Level, built_in, bundle};

/// List contracts, show one, compare two, or learn one from recordings
#[derive(Debug, Args)]
pub(super) struct ContractArgs {
    #[command(subcommand)]
    command: ContractCommand,
}

#[derive(Debug, Subcommand)]
enum ContractCommand {
    List(ListArgs),
    Show(ShowArgs),
    Diff(contract_diff::DiffArgs),
    Learn(contract_learn::LearnArgs),
}

/// List the contracts that clawgate knows
#[derive(Debug, Args)]
struct ListArgs {
    #[command(flatten)]
    format: FormatArg,
}

/// Show the clauses of a contract
#[derive(Debug, Args)]
struct ShowArgs {
    /// The name of a built-in contract, or the path of your own
    #[arg(value_name = "NAME|PATH")]
    contract: String,
    #[command(flatten)]
    format: FormatArg,
}

/// Runs the command and returns its exit code.
pub(super) fn run(args: &ContractArgs) -> Result<u8, Failure> {
    match &args.command {
        ContractCommand::List(args) => list(args.format.format),
        ContractCommand::Show(args) => show(args),
        ContractCommand::Diff(args) => contract_diff::run(args),
        ContractCommand::Learn(args) => contract_learn::run(args),
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::Usage(printable(&error.to_string()).into_owned())
    }
}

/// A contract with its files.
pub(super) fn open(name: &str) -> Result<(Contract, Bundle), FileError> {
    let bundle = bundle(name)?;
    Ok((Contract::load(&bundle)?, bundle))
}

fn list(format: Format) -> Result<u8, Failure> {
    let mut out = format.stdout();
    for name in built_in() {
        let (contract, _) = open(name)?;
        let clauses = contract.clauses().len();
        match format {
            Format::Human => {
                writeln!(out, "{NAME}{name:<20}{NAME:#} {clauses:>3} clauses  {}", contract.title())?;
            }
            Format::Json => {
                let line = json!({
                    "name": name,
                    "title": contract.title(),
                    "protocol": contract.protocol().name(),
                    "sources": contract.sources(),
                    "extends": contract.extends(),
                    "clauses": clauses,
                });
                writeln!(out, "{line}")?;
            }
        }
    }
    out.flush()?;
    Ok(exit_code::OK)
}

fn show(args: &ShowArgs) -> Result<u8, Failure> {
    let (contract, _) = open(&args.contract)?;
    let mut out = args.format.format.stdout();
    match args.format.format {
        Format::Human => write_contract(&mut out, &contract)?,
        Format::Json => {
            let clauses: Vec<_> =
                contract.clauses().iter().map(|clause| clause_json(&contract, clause)).collect();
            let whole = json!({
                "name": contract.name(),
                "title": contract.title(),
                "protocol": contract.protocol().name(),
                "sources": contract.sources(),
                "extends": contract.extends(),
                "kinds": contract.kinds().collect::<Vec<_>>(),
                "clauses": clauses,
            });
            writeln!(out, "{whole}")?;
        }
    }
    out.flush()?;
    Ok(exit_code::OK)
}

fn write_contract(out: &mut impl Write, contract: &Contract) -> std::io::Result<()> {
    writeln!(out, "{NAME}{}{NAME:#}  {}", contract.name(), printable(contract.title()))?;
    writeln!(out, "{FAINT}from {}{FAINT:#}", printable(&contract.sources().join("; ")))?;
    if !contract.extends().is_empty() {
        writeln!(out, "{FAINT}judged together with {}{FAINT:#}", contract.extends().join(", "))?;
    }
    writeln!(out)?;
    for clause in contract.clauses() {
        writeln!(out, "{:<9} {NAME}{}{NAME:#}", clause.level, clause.id)?;
        writeln!(out, "          {}", printable(&clause.text))?;
        if !clause.is_judged() {
            writeln!(out, "          {FAINT}{}{FAINT:#}", not_judged(clause))?;
        }
    }
    Ok(())
}

/// Why no recording and no log shows that a clause is broken.
pub(super) fn not_judged(clause: &Clause) -> &'static str {
    if clause.rule() == "live" { "live only: no log can show it" } else { "no finding of its own" }
}

/// Where a clause weighs differently under a profile; null where it does nowhere.
fn profiles_json(clause: &Clause) -> serde_json::Value {
    if clause.profiles().is_empty() {
        return serde_json::Value::Null;
    }
    let one = |(profile, level): &(Profile, Option<Level>)| {
        (profile.name().to_owned(), level.map_or("off", Level::name).into())
    };
    serde_json::Value::Object(clause.profiles().iter().map(one).collect())
}

/// A clause as JSON, for `show` and for `explain`.
pub(super) fn clause_json(contract: &Contract, clause: &Clause) -> serde_json::Value {
    json!({
        "clause": format!("{}/{}", contract.name(), clause.id),
        "level": clause.level,
        "text": clause.text,
        "why": clause.why,
        "fix": clause.fix,
        "source": clause.source,
        "since": clause.since,
        "profiles": profiles_json(clause),
        "applies": clause.applies().and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok()),
        "check": clause.check(),
    })
}
