//! `clawgate judge`: what happened in a run, from a file, a recording or a pipe.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::classify::{Class, claw};
use crate::events::Profile;
use crate::exit_code;
use crate::judge::{
    EVENTS_CONTRACT, Ending, Input, InputError, Judge, Judgement, LogJudgement, Protocol, Settings, Shelf,
    Source, find, is_of_events, judge_segments, judge_stream, looks_like_events,
};
use crate::recording::{Exit, Recording};
use crate::report::style::FAINT;
use crate::report::{judgement_json, live_line, log_judgement_json, write_judgement, write_log_judgement};
use crate::schema::{FileError, Finding, KnownFailures, Run};
use crate::stream_json::Line;

use super::Format;
use crate::time;

/// Say what happened in a run, whose fault it was, and on what evidence
///
/// Reads what a Claude CLI or claw printed, names the outcome, and checks it against the contract that applies. A
/// directory with a recording.json is one input; any other directory stands for the recordings below it or, where
/// there are none, for its .ndjson, .jsonl and .json files.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  claude -p 'say hi' --output-format stream-json --verbose | clawgate judge -
  clawgate judge run.ndjson --exit-code 1 --stderr run.stderr
  clawgate judge recordings/ --format json | jq .verdict.class
  clawgate judge --contract claws-events --profile origin .claws/events

Exit codes: 0 every verdict is ok (or allowed) and no must clause is broken; 100 otherwise; 2 an input cannot be read;
4 there was nothing to judge.")]
pub(super) struct JudgeArgs {
    /// Files, recordings, directories of them, or - for standard input
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// The contract to apply: a built-in name, or the directory of your own [default: by target and arguments, else by
    /// the shape of the output or the command]
    #[arg(long, value_name = "NAME|DIR")]
    contract: Option<String>,
    /// The reading that an event log is held to: the document by its letter, any reading that its text supports, or
    /// what the published server does
    /// [default: as recorded, else strict]
    #[arg(long, value_name = "PROFILE", value_parser = super::profile)]
    profile: Option<Profile>,
    /// The exit code that goes with a bare file [default: assumed 0, and not checked]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(-1..=255))]
    exit_code: Option<i32>,
    /// The standard error that goes with a bare file
    #[arg(long, value_name = "FILE")]
    stderr: Option<PathBuf>,
    /// A setting of the run's environment that changes how it is judged
    #[arg(long, value_name = "NAME=VALUE", value_parser = name_and_value)]
    env: Vec<(String, String)>,
    /// Findings that are accepted for now; a stale or expired entry fails
    #[arg(long, value_name = "FILE")]
    known_failures: Option<PathBuf>,
    /// Do not guess at questions and lost background work
    #[arg(long)]
    no_heuristics: bool,
    /// A class besides `ok` that is fine; may be given several times
    #[arg(long, value_name = "CLASS")]
    allow: Vec<Class>,
    /// Do not show lines as they arrive on standard input
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    format: super::FormatArg,
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Of a standard error this much is read.
const MAX_STDERR: u64 = 4 << 20;
/// Bytes looked at to tell what a bare file is.
const SNIFF: usize = 64 << 10;

/// Runs the command and returns its exit code.
pub(super) fn run(args: &JudgeArgs) -> Result<u8, super::Failure> {
    let mut inputs = Vec::new();
    let mut code = exit_code::OK;
    for path in &args.inputs {
        let found = find(path)?;
        if found.is_empty() {
            super::complain(&format!(
                "{}: there is no recording and no .ndjson, .jsonl or .json file in it",
                path.display()
            ));
            code = exit_code::NOTHING_SELECTED;
        }
        inputs.extend(found);
    }
    let shelf = match &args.contract {
        Some(name) => Shelf::only(name)?,
        None => Shelf::built_in(),
    };
    let mut known = args.known_failures.as_deref().map(|path| read_known(path, &shelf)).transpose()?;
    let today = time::date(time::now());
    let mut out = args.format.format.stdout();
    for (i, input) in inputs.iter().enumerate() {
        // One unreadable input does not hide what is wrong with the others.
        match args.judge(input, &shelf) {
            Ok(Judged::Log(mut judgement)) => {
                if let Some(known) = &mut known {
                    let (target, scenario) = input.origin();
                    known.mark(&mut judgement.findings, &target, &scenario, &today);
                }
                if i > 0 && args.format.format == Format::Human {
                    writeln!(out)?;
                }
                match args.format.format {
                    Format::Json => writeln!(out, "{}", log_judgement_json(&input.name, &judgement)?)?,
                    Format::Human => write_log_judgement(&mut out, &input.name, &judgement)?,
                }
                let is_broken = judgement.findings.iter().any(Finding::fails);
                code = exit_code::worst(code, if is_broken { exit_code::FINDINGS } else { exit_code::OK });
            }
            Ok(Judged::Run(mut judgement)) => {
                if let Some(known) = &mut known {
                    let (target, scenario) = input.origin();
                    known.mark(&mut judgement.findings, &target, &scenario, &today);
                }
                if i > 0 && args.format.format == Format::Human {
                    writeln!(out)?;
                }
                match args.format.format {
                    Format::Json => writeln!(out, "{}", judgement_json(&input.name, &judgement)?)?,
                    Format::Human => write_judgement(&mut out, &input.name, &judgement)?,
                }
                out.flush()?;
                code = exit_code::worst(code, args.outcome(&judgement));
            }
            Err(error) => {
                super::complain(&error.to_string());
                code = exit_code::worst(code, exit_code::USAGE);
            }
        }
    }
    for complaint in known.iter().flat_map(|known| known.complaints(&today)) {
        super::complain(&complaint.to_string());
        code = exit_code::worst(code, exit_code::FINDINGS);
    }
    Ok(code)
}

fn read_known(path: &Path, shelf: &Shelf) -> Result<KnownFailures, super::Failure> {
    let text = std::fs::read_to_string(path).map_err(at(path))?;
    Ok(KnownFailures::parse(&path.display().to_string(), &text, &|clause| shelf.has_clause(clause))?)
}

impl JudgeArgs {
    fn outcome(&self, judgement: &Judgement) -> u8 {
        let class = judgement.verdict.class;
        let is_fine = class == Class::Ok || self.allow.contains(&class);
        let is_broken = judgement.findings.iter().any(Finding::fails);
        if is_fine && !is_broken { exit_code::OK } else { exit_code::FINDINGS }
    }

    fn settings(&self, background_disabled: bool) -> Settings {
        let flag = self.env.iter().rev().find(|(name, _)| name == "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS");
        Settings {
            heuristics: !self.no_heuristics,
            background_disabled: flag.map_or(background_disabled, |(_, value)| value == "1"),
            ..Settings::default()
        }
    }

    fn judge(&self, input: &Input, shelf: &Shelf) -> Result<Judged, JudgeError> {
        match &input.source {
            Source::Recording(path) => self.judge_recording(path, shelf),
            Source::File(path) => {
                let file = File::open(path).map_err(at(path))?;
                self.judge_bare(Some(path), file, shelf)
            }
            Source::Segments(paths) => {
                let set = shelf.events()?.ok_or_else(no_events)?;
                Ok(Judged::Log(judge_segments(set, self.profile.unwrap_or_default(), paths, &mut ())?))
            }
            Source::Stdin => self.judge_bare(None, io::stdin().lock(), shelf),
        }
    }

    fn judge_recording(&self, path: &Path, shelf: &Shelf) -> Result<Judged, JudgeError> {
        let recording = Recording::open(path).map_err(InputError::from)?;
        let promised = || recording.facts.contract() == Some(EVENTS_CONTRACT);
        if shelf.chosen().map_or_else(promised, is_of_events) {
            let stdout = recording.stdout().map_err(at(path))?;
            let recorded = recording.facts.other.get("profile").and_then(serde_json::Value::as_str);
            let profile = self.profile.or_else(|| Profile::from_name(recorded?)).unwrap_or_default();
            return Ok(Judged::Log(judge_log(path, &[], stdout, shelf, profile)?));
        }
        let mut stderr = Vec::new();
        recording.stderr().and_then(|err| err.take(MAX_STDERR).read_to_end(&mut stderr)).map_err(at(path))?;
        let ending = self.complete(Ending::of_recording(&recording.facts, stderr))?;
        let disabled = recording.facts.env("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS") == Some("1");
        let protocol = Protocol::of_recording(&recording.facts);
        let judge = Judge::new(protocol, self.settings(disabled), shelf, &Run::of(&recording.facts))?;
        let stdout = recording.stdout().map_err(at(path))?;
        Ok(Judged::Run(Box::new(pump(judge, &[], stdout, path, &ending, &mut |_| {})?)))
    }

    fn judge_bare(
        &self,
        path: Option<&Path>,
        mut reader: impl Read,
        shelf: &Shelf,
    ) -> Result<Judged, JudgeError> {
        let name = path.unwrap_or(Path::new("-"));
        let ending = self.complete(Ending::assumed())?;
        let start = sniff(&mut reader).map_err(at(name))?;
        if shelf.chosen().map_or_else(|| looks_like_events(&start), is_of_events) {
            let mut log = judge_log(name, &start, reader, shelf, self.profile.unwrap_or_default())?;
            log.contract_detected = shelf.chosen().is_none();
            return Ok(Judged::Log(log));
        }
        let protocol = Protocol::detect(path, &start).fitting(shelf.chosen());
        let show = path.is_none() && !self.quiet && self.format.format == Format::Human;
        let mut live = anstream::stderr();
        let mut watch = |line: &Line<'_>| {
            if show && let Some(text) = live_line(line) {
                // Whether the live view can be shown does not matter to the judgement.
                let _ = writeln!(live, "{FAINT}{text}{FAINT:#}");
            }
        };
        let judge = Judge::new(protocol, self.settings(false), shelf, &Run::default())?;
        let mut judgement = pump(judge, &start, reader, name, &ending, &mut watch)?;
        if judgement.is_of_unknown_shape() && judgement.verdict.is_ok() {
            judgement.verdict = claw::unknown_shape();
        }
        Ok(Judged::Run(Box::new(judgement)))
    }

    /// Completes what is known of the end with what the flags say.
    fn complete(&self, mut ending: Ending) -> Result<Ending, InputError> {
        if let Some(code) = self.exit_code {
            ending.exit = Exit::with_code(code);
            ending.exit_known = true;
        }
        if let Some(path) = &self.stderr {
            let file = File::open(path).map_err(at(path))?;
            ending.stderr.clear();
            file.take(MAX_STDERR).read_to_end(&mut ending.stderr).map_err(at(path))?;
        }
        Ok(ending)
    }
}

/// Judges an event log, of which the start was already read.
fn judge_log(
    name: &Path,
    start: &[u8],
    rest: impl Read,
    shelf: &Shelf,
    profile: Profile,
) -> Result<LogJudgement, JudgeError> {
    let set = shelf.events()?.ok_or_else(no_events)?;
    Ok(judge_stream(set, profile, start, rest, &mut ()).map_err(at(name))?)
}

/// What was judged.
enum Judged {
    /// A run of a program.
    Run(Box<Judgement>),
    /// An event log.
    Log(LogJudgement),
}

fn no_events() -> FileError {
    FileError::whole(EVENTS_CONTRACT, "no such contract in this build")
}

fn at(path: &Path) -> impl Fn(io::Error) -> InputError {
    let path = path.to_owned();
    move |source| InputError::Io { path: path.clone(), source }
}

/// Reads until the first line ends, so that a live stream is not held back.
fn sniff(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::with_capacity(SNIFF);
    let mut chunk = [0; 4096];
    while start.len() < SNIFF {
        let read = read_some(reader, &mut chunk)?;
        start.extend_from_slice(&chunk[..read]);
        let has_line = start.trim_ascii_start().iter().any(|byte| matches!(byte, b'\n' | b'\r'));
        if read == 0 || has_line {
            break;
        }
    }
    Ok(start)
}

fn pump(
    mut judge: Judge<'_>,
    start: &[u8],
    mut reader: impl Read,
    name: &Path,
    ending: &Ending,
    watch: &mut dyn FnMut(&Line<'_>),
) -> Result<Judgement, JudgeError> {
    judge.push(start, watch);
    let mut chunk = vec![0; 256 << 10];
    loop {
        match read_some(&mut reader, &mut chunk).map_err(at(name))? {
            0 => break,
            read => judge.push(&chunk[..read], watch),
        }
    }
    Ok(judge.finish(ending, watch)?)
}

fn read_some(reader: &mut impl Read, chunk: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Why one input could not be judged.
#[derive(Debug, thiserror::Error)]
enum JudgeError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Contract(#[from] FileError),
}
