//! `clawgate audit`: which broken runs the gate lets through.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::contract::open;
use super::fail_on::FailOn;
use super::{CommandError, Format, FormatArg};
use crate::exit_code::Outcome;
use crate::judge::{self, Contracts, Options};
use crate::report::Progress;
use crate::report::style::{BAD, FAINT, GOOD, NAME};
use crate::schema::{Audit, Level, Sample, built_in, row_reason};
use crate::text::printable;

/// Measure whether the contracts can fail: break good runs and see which ones pass
///
/// From each good fixture broken runs are made (a field dropped, retyped, null or renamed, messages dropped, doubled or
/// moved, stray bytes, another exit code; and where it is known what was served, other texts, numbers, names and ids than
/// were served, and other requests than were asked for), and the bad fixtures are added. The score is the part that fails
/// a gate as `judge` and `run` are by default; with --fail-on should also what only warns counts as noticed.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Exit codes: 0 the score is at least --min-score; 100 it is lower; 2 a contract cannot be read; 3 a
survivor cannot be written.")]
pub(super) struct AuditArgs {
    /// Names or paths of contracts [default: all built-in ones]
    #[arg(value_name = "CONTRACT")]
    contracts: Vec<String>,
    /// Fail below this score, from 0 to 1
    #[arg(long, value_name = "S", default_value_t = 0.0, value_parser = score)]
    min_score: f64,
    /// What counts as noticed: a broken clause of this level, or of a graver one
    #[arg(long, value_enum, value_name = "LEVEL", env = "CLAWGATE_FAIL_ON", default_value_t = FailOn::Must)]
    fail_on: FailOn,
    /// Where random choices begin
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = |text: &str| super::typed::whole(text, 0, u64::MAX))]
    seed: u64,
    /// Write each surviving run as a recording below this directory
    #[arg(long, value_name = "DIR")]
    write_survivors: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArg,
}

fn score(text: &str) -> Result<f64, String> {
    let score = text.parse().ok().filter(|score| (0.0..=1.0).contains(score));
    score.ok_or_else(|| "expected a score from 0 to 1, such as 0.95".into())
}

/// What a score of noticed runs does not say: how many of them pass all the same.
fn besides(part: &Audit) -> String {
    let (warned, excused) = (part.warned(), part.excused());
    let warned = (warned > 0).then(|| format!("{warned} of them by what only warns"));
    let excused = (excused > 0).then(|| format!("{excused} more only noted"));
    let parts: Vec<String> = warned.into_iter().chain(excused).collect();
    if parts.is_empty() { String::new() } else { format!(" {FAINT}({}){FAINT:#}", parts.join(", ")) }
}

/// Why the gate as `judge` and `run` are by default fails a run.
fn reasons(run: &Sample, contracts: &Contracts) -> BTreeSet<String> {
    let Ok(judgement) = judge::recording(&run.recording("", ""), contracts, &Options::default()) else {
        return BTreeSet::new();
    };
    let verdict = judgement.verdict.filter(|verdict| !verdict.is_ok());
    let decided = verdict.as_ref().and_then(|verdict| verdict.evidence.first());
    let row = decided.map(|evidence| row_reason(&evidence.rule));
    let class = verdict.map(|verdict| format!("verdict {}", verdict.class.name()));
    let broken = judgement.findings.into_iter().filter(|finding| finding.level == Level::Must);
    broken.map(|finding| finding.clause).chain(class).chain(row).collect()
}

pub(super) fn run(args: &AuditArgs) -> Result<Outcome, CommandError> {
    let names = if args.contracts.is_empty() {
        built_in().map(str::to_string).collect()
    } else {
        args.contracts.clone()
    };
    let mut audit = Audit::default();
    let mut out = args.format.format.stdout();
    let progress = Progress::start(true, names.len());
    for name in &names {
        progress.begin(name);
        let (contract, bundle) = open(name)?;
        let contracts = Contracts::only(name)?;
        let gate = |sample: &Sample| reasons(sample, &contracts);
        let part = Audit::run(contract, &bundle, args.seed, &gate)?.held_to(args.fail_on.level());
        progress.end(name, false);
        if args.format.format == Format::Human {
            let (mutants, killed) = (part.mutants(), part.killed());
            let style = if killed == mutants { GOOD } else { BAD };
            let score = part.score() * 100.0;
            writeln!(
                out,
                "{NAME}{name:<20}{NAME:#} {style}{score:6.2} %{style:#}  {killed} of {mutants} noticed{}",
                besides(&part)
            )?;
        }
        audit.extend(part);
    }
    match args.format.format {
        Format::Human => {
            for mutant in audit.survivors() {
                let aim =
                    mutant.aim.as_ref().map(|aim| format!(", which {aim} should notice")).unwrap_or_default();
                let text = format!("{}/{}: {}{aim}", mutant.contract, mutant.base, mutant.mutation);
                writeln!(out, "{BAD}survived{BAD:#}  {}", printable(&text))?;
            }
            if audit.survivors().next().is_some() && args.write_survivors.is_none() {
                writeln!(out, "{FAINT}--write-survivors DIR writes them out{FAINT:#}")?;
            }
        }
        Format::Json => {
            let survivors: Vec<_> = audit
                .survivors()
                .map(|mutant| {
                    json!({"contract": mutant.contract, "base": mutant.base, "mutation": mutant.mutation, "clause": mutant.aim})
                })
                .collect();
            let line = json!({
                "score": audit.score(),
                "mutants": audit.mutants(),
                "killed": audit.killed(),
                "warned": audit.warned(),
                "excused": audit.excused(),
                "survivors": survivors,
                "clauses": audit.clauses(),
            });
            writeln!(out, "{line}")?;
        }
    }
    out.flush()?;
    if let Some(directory) = &args.write_survivors {
        for (number, mutant) in audit.survivors().enumerate() {
            let path = directory.join(format!("{:03}-{}-{}", number + 1, mutant.contract, mutant.base));
            let recording = mutant.sample.recording(&mutant.contract, &mutant.mutation);
            recording.save(&path).map_err(|error| CommandError::Environment(error.to_string()))?;
        }
    }
    Ok(Outcome::of_findings(audit.score() < args.min_score))
}
