//! `clawgate contract`: the contracts, what they say, how they differ, and how to learn one.

mod diff;
mod learn;

use std::io::Write;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::cli::outcome::{table_json, write_table};
use crate::cli::{CommandError, Format, FormatArg};
use crate::document::VolatileEntry;
use crate::events::Profile;
use crate::exit_code::Outcome;
use crate::report::style::{FAINT, NAME};
use crate::schema::policy::{Effect, Kind, Policy};
use crate::schema::{Bundle, Clause, Contract, FileError, Level, built_in, bundle};
use crate::text::printable;

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
    Diff(diff::DiffArgs),
    Learn(learn::LearnArgs),
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

pub(super) fn run(args: &ContractArgs) -> Result<Outcome, CommandError> {
    match &args.command {
        ContractCommand::List(args) => list(args.format.format),
        ContractCommand::Show(args) => show(args),
        ContractCommand::Diff(args) => diff::run(args),
        ContractCommand::Learn(args) => learn::run(args),
    }
}

/// A contract with its files.
pub(super) fn open(name: &str) -> Result<(Contract, Bundle), FileError> {
    let bundle = bundle(name)?;
    Ok((Contract::load(&bundle)?, bundle))
}

fn list(format: Format) -> Result<Outcome, CommandError> {
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
    Ok(Outcome::Ok)
}

fn show(args: &ShowArgs) -> Result<Outcome, CommandError> {
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
                "policy": policy_json(contract.policy()),
                "volatile": contract.volatile().iter().map(volatile_json).collect::<Vec<_>>(),
                "outcome": contract.outcome().map(table_json),
                "clauses": clauses,
            });
            writeln!(out, "{whole}")?;
        }
    }
    out.flush()?;
    Ok(Outcome::Ok)
}

fn write_contract(out: &mut impl Write, contract: &Contract) -> std::io::Result<()> {
    writeln!(out, "{NAME}{}{NAME:#}  {}", contract.name(), printable(contract.title()))?;
    writeln!(out, "{FAINT}from {}{FAINT:#}", printable(&contract.sources().join("; ")))?;
    if !contract.extends().is_empty() {
        writeln!(out, "{FAINT}judged together with {}{FAINT:#}", contract.extends().join(", "))?;
    }
    writeln!(out)?;
    write_policy(out, contract.policy())?;
    writeln!(out)?;
    write_volatile(out, contract.volatile())?;
    if let Some(table) = contract.outcome() {
        write_table(out, table)?;
        writeln!(out)?;
    }
    for clause in contract.clauses() {
        writeln!(out, "{:<9} {NAME}{}{NAME:#}", clause.level, clause.id)?;
        writeln!(out, "          {}", printable(&clause.text))?;
        if !clause.is_judged() {
            writeln!(out, "          {FAINT}{}{FAINT:#}", not_judged(clause))?;
        }
    }
    Ok(())
}

/// What a change of the contract's messages does to their readers.
fn write_policy(out: &mut impl Write, policy: &Policy) -> std::io::Result<()> {
    let by = policy.source.as_deref().unwrap_or("the default");
    writeln!(out, "{NAME}versioning policy{NAME:#}  {}", printable(by))?;
    if let (Some(at), Some(breaking)) = (&policy.version_at, &policy.breaking) {
        let additive = policy.additive.as_deref().unwrap_or("none");
        let line = format!("{at}: a breaking change demands {breaking}, an additive one {additive}");
        writeln!(out, "          {}", printable(&line))?;
    }
    for effect in [Effect::Breaking, Effect::Additive, Effect::Info] {
        let kinds: Vec<&str> = policy.kinds(effect).map(Kind::name).collect();
        for (at, line) in wrapped(&kinds, 100).iter().enumerate() {
            writeln!(out, "{:<9} {line}", if at == 0 { effect.name() } else { "" })?;
        }
    }
    let lists =
        [("another value is breaking in", &policy.deciding), ("a new word is breaking in", &policy.closed)];
    for (what, fields) in lists.into_iter().filter(|(_, fields)| !fields.is_empty()) {
        for (at, line) in
            wrapped(&fields.iter().map(String::as_str).collect::<Vec<_>>(), 70).iter().enumerate()
        {
            let what = if at == 0 { format!("{what}:") } else { String::new() };
            writeln!(out, "          {what:<29} {}", printable(line))?;
        }
    }
    if policy.booleans_decide {
        writeln!(out, "          and so it is where true becomes false, or false true")?;
    }
    writeln!(out, "          losing a field that no schema promises: {}", policy.unpromised.name())
}

/// What differs from run to run, and so is left out when runs are compared.
fn write_volatile(out: &mut impl Write, entries: &[VolatileEntry]) -> std::io::Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    writeln!(out, "{NAME}differs from run to run{NAME:#}  snapshots and diff leave it out")?;
    for entry in entries {
        let places: Vec<&str> = entry.places.iter().map(String::as_str).collect();
        for (at, line) in wrapped(&places, 100).iter().enumerate() {
            let class = if at == 0 { entry.class.name() } else { String::new() };
            writeln!(out, "{class:<10} {}", printable(line))?;
        }
    }
    writeln!(out)
}

fn volatile_json(entry: &VolatileEntry) -> serde_json::Value {
    json!({ "as": entry.class.name(), entry.by.key(): entry.places })
}

/// Words in lines of at most so many characters.
fn wrapped(words: &[&str], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() + 2 <= width => {
                line.push_str(", ");
                line.push_str(word);
            }
            _ => lines.push((*word).to_owned()),
        }
    }
    lines
}

fn policy_json(policy: &Policy) -> serde_json::Value {
    let effects: serde_json::Map<_, _> =
        policy.effects.iter().map(|(kind, effect)| (kind.name().to_owned(), effect.name().into())).collect();
    json!({
        "source": policy.source,
        "version_at": policy.version_at,
        "breaking": policy.breaking,
        "additive": policy.additive,
        "effects": effects,
        "deciding": policy.deciding,
        "booleans_decide": policy.booleans_decide,
        "closed": policy.closed,
        "unpromised": policy.unpromised,
    })
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
        "applies": clause.applies(),
        "check": clause.check(),
    })
}
