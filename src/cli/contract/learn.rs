//! `clawgate contract learn`: a contract from recordings, and whether new recordings still fit it.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::open;
use crate::cli::error::{unreadable, unwritable};
use crate::cli::output::tell;
use crate::cli::{CommandError, Format, FormatArg};
use crate::document;
use crate::exit_code::Outcome;
use crate::judge::{Source, find};
use crate::recording::Recording;
use crate::schema::{CONTRACT_FILE, ContractSet, Fit, LEARNED, Learner, Level, Protocol, Sample};
use crate::text::{Masked, printable};

/// Learn a contract from recordings: a schema for each kind of message, required where always seen
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  clawgate contract learn recordings/ --out contracts/mine
  clawgate contract learn new-recordings/ --out contracts/mine --check

A run that printed nothing, or something that is no JSON, does not fit either.

Exit codes: 0 learned, or everything fits; 100 --check found recordings that do not fit; 2 an input cannot be read;
3 the contract cannot be written; 4 there was nothing to learn from, or nothing that asked for JSON to check.")]
pub(super) struct LearnArgs {
    /// Recordings, directories of them, or bare files
    #[arg(required = true, value_name = "RECORDINGS")]
    recordings: Vec<PathBuf>,
    /// The directory of the contract; its name is the contract's
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Learn nothing: fail when the recordings do not fit the contract in DIR
    #[arg(long)]
    check: bool,
    /// What the recordings are of, for the contract's source [default: the recordings' target and version]
    #[arg(long, value_name = "TEXT")]
    source: Option<String>,
    /// The date or version that the clauses begin with
    #[arg(long, value_name = "TEXT", default_value = "first recording")]
    since: String,
    /// A contract that the learned one builds on
    #[arg(long, value_name = "NAME")]
    extends: Vec<String>,
    #[command(flatten)]
    format: FormatArg,
}

pub(super) fn run(args: &LearnArgs) -> Result<Outcome, CommandError> {
    let mut samples = Vec::new();
    for path in &args.recordings {
        for input in find(path)? {
            samples.push(read(&input.name, &input.source)?);
        }
    }
    if samples.is_empty() {
        let message = "there is no recording and no .ndjson, .jsonl or .json file in what you named";
        return Err(CommandError::NothingSelected(message.into()));
    }
    // Before anything is written.
    for name in &args.extends {
        open(name)?;
    }
    if args.check { check(args, &samples) } else { learn(args, &samples) }
}

/// The most that is read of one output; a learner needs examples, not everything.
const MAX_BYTES: u64 = 64 << 20;

fn read(name: &str, source: &Source) -> Result<(String, Sample), CommandError> {
    let mut sample = Sample::default();
    match source {
        Source::Recording(path) => {
            let recording = Recording::open(path)?;
            let take = |reader: io::Result<Box<dyn Read + Send + '_>>| {
                let mut bytes = Vec::new();
                reader?.take(MAX_BYTES).read_to_end(&mut bytes)?;
                Ok(bytes)
            };
            sample.stdout = take(recording.stdout()).map_err(unreadable(path))?;
            sample.stderr = Some(take(recording.stderr()).map_err(unreadable(path))?);
            sample.argv = (!recording.facts.argv.is_empty()).then(|| recording.facts.argv.clone());
            sample.env = Some(recording.facts.env_set.clone());
            sample.version = Some(recording.facts.target_version.clone());
            sample.name = format!("{} {}", recording.facts.target, recording.facts.target_version);
            sample.exit = Some(recording.facts.exit);
        }
        Source::File(path) => {
            let file = document::open(path).map_err(unreadable(path))?;
            Masked::new(file).take(MAX_BYTES).read_to_end(&mut sample.stdout).map_err(unreadable(path))?;
        }
        Source::Segments(_) => {
            return Err(CommandError::Usage(format!("{name}: an event log teaches no contract")));
        }
        Source::Stdin => {
            Masked::new(io::stdin()).take(MAX_BYTES).read_to_end(&mut sample.stdout)?;
        }
    }
    Ok((name.to_string(), sample))
}

fn learn(args: &LearnArgs, samples: &[(String, Sample)]) -> Result<Outcome, CommandError> {
    let name = args.out.file_name().map(|name| name.to_string_lossy().into_owned());
    let name =
        name.ok_or_else(|| CommandError::Usage(format!("{}: names no directory", args.out.display())))?;
    let is_stream = |(_, sample): &&(String, Sample)| {
        let objects =
            sample.stdout.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{")).count();
        objects > 1 && serde_json::from_slice::<serde_json::Value>(&sample.stdout).is_err()
    };
    let streams = samples.iter().filter(is_stream).count();
    let protocol = if streams * 2 > samples.len() { Protocol::Stream } else { Protocol::Document };
    let mut learner = Learner::new(name, protocol);
    for (_, sample) in samples {
        learner.add(sample);
    }
    if learner.runs() == 0 {
        return Err(CommandError::NothingSelected("none of the inputs holds JSON to learn from".into()));
    }
    let first = samples.iter().map(|(_, sample)| sample.name.as_str()).find(|name| !name.is_empty());
    let source = args.source.clone().unwrap_or_else(|| first.unwrap_or("recordings").to_string());
    let files = learner.contract(&source, &args.since, &args.extends);
    let held = held(&args.out).map_err(unwritable(&args.out))?;
    if let Some(other) = held {
        return Err(CommandError::Usage(format!(
            "{}: holds what was not learned, such as {}: name an empty directory",
            args.out.display(),
            other.display()
        )));
    }
    for (name, text) in &files {
        let path = args.out.join(name);
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(&args.out))?;
            fs::write(&path, text)
        };
        write().map_err(unwritable(&path))?;
    }
    let out = args.out.display().to_string();
    tell(format_args!("learned {} from {} runs: {} files", printable(&out), learner.runs(), files.len()));
    // What was written must load and hold for what it was learned from, or it is of no use.
    ContractSet::open(&out)?;
    Ok(Outcome::Ok)
}

/// Something in the contract's directory that `contract learn` has not written.
fn held(out: &Path) -> io::Result<Option<PathBuf>> {
    let entries = match fs::read_dir(out) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    let contract = out.join(CONTRACT_FILE);
    let mut start = Vec::new();
    if let Ok(file) = fs::File::open(&contract) {
        file.take(LEARNED.len() as u64).read_to_end(&mut start)?;
    }
    if start == LEARNED.as_bytes() {
        return Ok(None);
    }
    entries.map(|entry| Ok(entry?.path())).next().transpose()
}

fn check(args: &LearnArgs, samples: &[(String, Sample)]) -> Result<Outcome, CommandError> {
    let place = args.out.display().to_string();
    let set = ContractSet::open(&place)?;
    let own = ContractSet::new(vec![open(&place)?.0]);
    let mut out = args.format.format.stdout();
    let (mut misfits, mut elsewhere) = (0, 0);
    for (name, sample) in samples {
        let mut findings = sample.judge(&own);
        findings.retain(|finding| finding.level >= Level::Should || finding.clause.ends_with("/known-kinds"));
        match Fit::of(&own.contracts()[0], sample) {
            Fit::NotAsked => {
                elsewhere += 1;
                continue;
            }
            Fit::Misfit(finding) => findings.insert(0, *finding),
            Fit::Messages => {}
        }
        misfits += findings.len();
        for finding in &findings {
            match args.format.format {
                Format::Human => {
                    let line = finding.line.map_or(String::new(), |line| format!(" line {line}:"));
                    let text = format!("{name}: {}{line} {}", finding.clause, finding.message);
                    writeln!(out, "{}", printable(&text))?;
                }
                Format::Json => {
                    let mut line = serde_json::to_value(finding)?;
                    line["input"] = name.clone().into();
                    writeln!(out, "{line}")?;
                }
            }
        }
    }
    out.flush()?;
    let checked = samples.len() - elsewhere;
    let aside = match elsewhere {
        0 => String::new(),
        _ => format!("; {elsewhere} did not ask for JSON and were not looked at"),
    };
    tell(format_args!("{checked} of {} runs, {misfits} misfits with {}{aside}", samples.len(), set.name()));
    Ok(match (checked, misfits) {
        (0, _) => Outcome::NothingSelected,
        (_, misfits) => Outcome::of_findings(misfits > 0),
    })
}
