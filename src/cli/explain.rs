//! `clawgate explain`: what a clause says, why, what keeps and what breaks it, and how to mend or waive it.

use std::io::{self, Write};

use clap::Args;
use serde_json::json;

use super::contract::{clause_json, not_judged, open};
use super::outcome::{named_row_json, table_json, write_row, write_table};
use super::output::note;
use super::{CommandError, Format, FormatArg};
use crate::exit_code::Outcome;
use crate::report::style::{BAD, FAINT, GOOD, NAME};
use crate::schema::{Bundle, Clause, Contract, Fixtures, Level, Sample, built_in, part_of};
use crate::text::{nearest, printable};

/// Explain a clause: what it says, why, a good and a bad sample, how to fix it, how to waive it
///
/// Without a clause, prints the catalogue of all clauses.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  clawgate explain claw-stdout/single-document
  clawgate explain codex-exec-json/outcome            # which message means which verdict
  clawgate explain codex-exec-json/outcome/status-429
  clawgate explain | grep must")]
pub(super) struct ExplainArgs {
    /// `<contract>/<clause>` as findings name it, a clause of your own as `PATH/<clause>`, or `<contract>/outcome`
    #[arg(value_name = "CLAUSE")]
    clause: Option<String>,
    #[command(flatten)]
    format: FormatArg,
}

pub(super) fn run(args: &ExplainArgs) -> Result<Outcome, CommandError> {
    let mut out = args.format.format.stdout();
    match &args.clause {
        None => catalogue(&mut out, args.format.format)?,
        Some(id) => explain(&mut out, id, args.format.format)?,
    }
    out.flush()?;
    Ok(Outcome::Ok)
}

fn catalogue(out: &mut impl Write, format: Format) -> Result<(), CommandError> {
    for name in built_in() {
        let (contract, _) = open(name)?;
        for clause in contract.clauses() {
            match format {
                Format::Human => {
                    let id = format!("{name}/{}", clause.id);
                    writeln!(out, "{:<9} {NAME}{id}{NAME:#}  {FAINT}{}{FAINT:#}", clause.level, clause.text)?;
                }
                Format::Json => writeln!(out, "{}", clause_json(&contract, clause))?,
            }
        }
    }
    Ok(())
}

fn explain(out: &mut impl Write, id: &str, format: Format) -> Result<(), CommandError> {
    let unknown = |reason: String| CommandError::Usage(format!("{}: {reason}", printable(id)));
    let (name, wanted) = match id.rsplit_once('/') {
        Some((name, wanted)) if !name.is_empty() => (name, wanted),
        _ => (holder(id)?, id),
    };
    if wanted == OUTCOME {
        return explain_outcome(out, name, None, format);
    }
    if let Some(name) = name.strip_suffix(OUTCOME).and_then(|name| name.strip_suffix('/')) {
        return explain_outcome(out, name, Some(wanted), format);
    }
    let (contract, bundle) = open(name)?;
    let Some(clause) = contract.clauses().iter().find(|clause| clause.id == wanted) else {
        let ids: Vec<&str> = contract.clauses().iter().map(|clause| clause.id.as_str()).collect();
        let name = contract.name();
        return Err(unknown(format!("{name} has no clause `{}`{}", printable(wanted), near(wanted, &ids))));
    };
    let (good, bad) = samples(&bundle, clause)?;
    match format {
        Format::Human => write_clause(out, &contract, clause, good.as_ref(), bad.as_ref())?,
        Format::Json => {
            let mut whole = clause_json(&contract, clause);
            whole["good"] = good.as_ref().map_or(serde_json::Value::Null, sample_json);
            whole["bad"] = bad.as_ref().map_or(serde_json::Value::Null, sample_json);
            whole["waive"] = waiver(&contract, clause).into();
            writeln!(out, "{whole}")?;
        }
    }
    Ok(())
}

/// The place of what a contract says of verdicts, `<contract>/outcome`, and of one row of it, `<contract>/outcome/<row>`.
const OUTCOME: &str = "outcome";

/// What a contract says of the outcome of a run, or one row of that with a run that it decides.
fn explain_outcome(
    out: &mut impl Write,
    name: &str,
    wanted: Option<&str>,
    format: Format,
) -> Result<(), CommandError> {
    let (contract, bundle) = open(name)?;
    let Some(table) = contract.outcome() else {
        return Err(CommandError::Usage(format!("{} says nothing of outcomes", contract.name())));
    };
    let Some(wanted) = wanted else {
        match format {
            Format::Human => write_table(out, table)?,
            Format::Json => {
                writeln!(out, "{}", json!({"contract": contract.name(), "outcome": table_json(table)}))?;
            }
        }
        return Ok(());
    };
    let Some(row) = table.rows.iter().find(|row| row.id == wanted) else {
        let ids: Vec<&str> = table.rows.iter().map(|row| row.id.as_str()).collect();
        let (name, hint) = (contract.name(), near(wanted, &ids));
        return Err(CommandError::Usage(format!("{name} has no outcome `{}`{hint}", printable(wanted))));
    };
    let samples = Fixtures::load(&bundle)?.outcomes.remove(wanted).unwrap_or_default();
    let (decides, silent) = (samples.decides.first(), samples.silent.first());
    match format {
        Format::Human => {
            write_row(out, row)?;
            if let Some(sample) = decides {
                writeln!(out, "\n{BAD}decides{BAD:#}")?;
                write_sample(out, sample)?;
            }
            if let Some(sample) = silent {
                writeln!(out, "\n{GOOD}says nothing of{GOOD:#}")?;
                write_sample(out, sample)?;
            }
        }
        Format::Json => {
            let mut whole = named_row_json(&contract, row);
            whole["decides"] = decides.map_or(serde_json::Value::Null, sample_json);
            whole["silent"] = silent.map_or(serde_json::Value::Null, sample_json);
            writeln!(out, "{whole}")?;
        }
    }
    Ok(())
}

/// The built-in contract that has a clause of this name; others that have it too are noted.
fn holder(wanted: &str) -> Result<&'static str, CommandError> {
    let (mut holders, mut ids) = (Vec::new(), Vec::new());
    for name in built_in() {
        for clause in open(name)?.0.clauses() {
            if clause.id == wanted {
                holders.push(name);
            }
            ids.push(clause.id.clone());
        }
    }
    // A part of another contract has the clause from there.
    holders.sort_by_key(|name| part_of(name).is_ok_and(|whole| whole.is_some()));
    let Some((first, others)) = holders.split_first() else {
        if built_in().any(|name| name == wanted) {
            return Err(CommandError::Usage(format!(
                "{wanted} is a contract: `clawgate contract show {wanted}` lists its clauses, and each is explained as \
                 {wanted}/CLAUSE"
            )));
        }
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let hint = match near(wanted, &ids) {
            hint if hint.is_empty() => "; `clawgate explain` lists them all".to_owned(),
            hint => hint,
        };
        return Err(CommandError::Usage(format!("no contract has a clause `{}`{hint}", printable(wanted))));
    };
    if !others.is_empty() {
        let named: Vec<String> = others.iter().map(|name| format!("{name}/{wanted}")).collect();
        note(&format!("there is also {}", named.join(", ")));
    }
    Ok(first)
}

/// `; did you mean …?`, else the clauses that share a word with it.
fn near(wanted: &str, ids: &[&str]) -> String {
    if let Some(id) = nearest(wanted, ids.iter().copied()) {
        return format!("; did you mean `{id}`?");
    }
    let shares =
        |id: &&&str| wanted.split('-').any(|word| word.len() > 2 && id.split('-').any(|known| known == word));
    let mut near: Vec<&str> = ids.iter().filter(shares).copied().collect();
    near.sort_unstable();
    near.dedup();
    if near.is_empty() { String::new() } else { format!("; near are {}", near.join(", ")) }
}

/// The first good and the first bad run of a clause.
fn samples(bundle: &Bundle, clause: &Clause) -> Result<(Option<Sample>, Option<Sample>), CommandError> {
    let mut fixtures = Fixtures::load(bundle)?;
    let found = fixtures.clauses.remove(&clause.id).unwrap_or_default();
    Ok((found.good.into_iter().next(), found.bad.into_iter().next()))
}

fn sample_json(sample: &Sample) -> serde_json::Value {
    json!({
        "name": sample.name,
        "argv": sample.argv,
        "exit": sample.exit.as_ref().and_then(|exit| exit.code),
        "stdout": String::from_utf8_lossy(&sample.stdout),
        "stderr": sample.stderr.as_ref().map(|stderr| String::from_utf8_lossy(stderr)),
    })
}

fn waiver(contract: &Contract, clause: &Clause) -> String {
    format!(
        "[[known-failure]]\nclause = \"{}/{}\"\ncase = \"*\"\ntarget = \"*\"\nreason = \"why it is known\"\nlink = \"https://…\"\nexpires = \"YYYY-MM-DD\"\n",
        contract.name(),
        clause.id
    )
}

fn write_clause(
    out: &mut impl Write,
    contract: &Contract,
    clause: &Clause,
    good: Option<&Sample>,
    bad: Option<&Sample>,
) -> io::Result<()> {
    let level = clause.level;
    writeln!(out, "{NAME}{}/{}{NAME:#}  {level}", contract.name(), clause.id)?;
    writeln!(out, "{}\n", printable(&clause.text))?;
    writeln!(out, "{NAME}why{NAME:#}     {}", printable(&clause.why))?;
    writeln!(out, "{NAME}fix{NAME:#}     {}", printable(&clause.fix))?;
    writeln!(
        out,
        "{NAME}source{NAME:#}  {} (since {})",
        printable(&clause.source),
        printable(&clause.since)
    )?;
    if let Some(applies) = clause.applies() {
        writeln!(out, "{NAME}when{NAME:#}    {}", printable(&applies.to_string()))?;
    }
    for (profile, level) in clause.profiles() {
        writeln!(out, "{NAME}{profile:<7}{NAME:#} {}", level.map_or("off", Level::name))?;
    }
    if !clause.is_judged() {
        writeln!(out, "{NAME}judged{NAME:#}  {}", not_judged(clause))?;
    }
    writeln!(out, "{NAME}check{NAME:#}   {}", printable(&clause.check().to_string()))?;
    if let Some(good) = good {
        writeln!(out, "\n{GOOD}keeps it{GOOD:#}")?;
        write_sample(out, good)?;
    }
    if let Some(bad) = bad {
        writeln!(out, "\n{BAD}breaks it{BAD:#}")?;
        write_sample(out, bad)?;
    }
    writeln!(out, "\n{NAME}to waive it{NAME:#}, in known-failures.toml:")?;
    for line in waiver(contract, clause).lines() {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

/// How many lines of a sample are shown.
const SHOWN: usize = 12;

fn write_sample(out: &mut impl Write, sample: &Sample) -> io::Result<()> {
    if let Some(argv) = &sample.argv {
        writeln!(out, "  $ {}", printable(&argv.join(" ")))?;
    }
    for (channel, bytes) in
        [("", &sample.stdout), ("stderr: ", sample.stderr.as_ref().unwrap_or(&Vec::new()))]
    {
        let text = String::from_utf8_lossy(bytes);
        for line in text.lines().take(SHOWN) {
            writeln!(out, "  {channel}{}", printable(line))?;
        }
        let more = text.lines().count().saturating_sub(SHOWN);
        if more > 0 {
            writeln!(out, "  {FAINT}… {more} more lines{FAINT:#}")?;
        }
    }
    if sample.stdout.is_empty() {
        writeln!(out, "  {FAINT}(stdout is empty){FAINT:#}")?;
    }
    if let Some(exit) = &sample.exit {
        let how = match (exit.code, exit.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("ended by signal {signal}"),
            (None, None) => "no exit code".into(),
        };
        let timer = exit.timed_out.as_ref().map(|timer| format!(", {} timer fired", timer.name()));
        writeln!(out, "  {FAINT}{how}{}{FAINT:#}", timer.unwrap_or_default())?;
    }
    Ok(())
}
