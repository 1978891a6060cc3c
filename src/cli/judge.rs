//! `clawgate judge`: what happened in a run, from a file, a recording or a pipe.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;

use crate::classify::Class;
use crate::document;
use crate::events::Profile;
use crate::exit_code::Outcome;
use crate::judge::{Contracts, Input, JudgeError, Judgement, Options, Source, find};
use crate::recording::{Exit, STDERR_HEAD};
use crate::report::style::{BAD, FAINT, GOOD};
use crate::report::{Progress, judgement_json, live_line, write_judgement};
use crate::run::{CaseName, KnownFailures, Process};
use crate::stream_json::Line;
use crate::text::Masked;

use super::bundle::Opened;
use super::error::unreadable;
use super::fail_on::FailOnArg;
use super::in_order::in_order;
use super::output::tell;
use super::typed::whole;
use super::{CommandError, Format, complain};
use crate::time;

/// Fewer lines of one input are read before anybody could look.
const MANY_LINES: u64 = 20_000;
/// Clauses named in a summary.
const MOST_CLAUSES: usize = 12;

/// Say what happened in a run, whose fault it was, and on what evidence
///
/// Reads what a Claude CLI or claw printed, names the outcome, and checks it against the contract that applies. A
/// directory with a recording.json is one input; any other directory stands for the recordings below it or, where
/// there are none, for its .ndjson, .jsonl and .json files. What `clawgate bundle` made is read as the folder that it holds.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  claude -p 'say hi' --output-format stream-json --verbose | clawgate judge -
  clawgate judge run.ndjson --exit-code 1 --stderr run.stderr
  clawgate judge recordings/ --format json | jq .verdict.class
  clawgate judge --contract claws-events --reading origin .claws/events

Exit codes: 0 every verdict is ok (or allowed) and no clause is broken that --fail-on names; 100 otherwise; 2 an input cannot be read;
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
    #[arg(long, alias = "profile", value_name = "READING", value_parser = super::profile)]
    reading: Option<Profile>,
    #[command(flatten)]
    role: super::events::RoleArg,
    /// The exit code that goes with a bare file [default: assumed 0, and not checked]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = |text: &str| whole(text, -1_i32, 255))]
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
    #[command(flatten)]
    fail_on: FailOnArg,
    /// Do not show lines as they arrive on standard input
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    format: super::FormatArg,
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) =
        text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

pub(super) fn run(args: &JudgeArgs) -> Result<Outcome, CommandError> {
    let mut inputs = Vec::new();
    let mut outcome = Outcome::Ok;
    let opened = args.inputs.iter().map(|path| Opened::new(path)).collect::<Result<Vec<_>, _>>()?;
    for (path, opened) in args.inputs.iter().zip(&opened) {
        let mut found = find(opened.path())?;
        for input in &mut found {
            input.name = opened.name(&input.name);
        }
        if found.is_empty() {
            let reason = "there is no recording and no .ndjson, .jsonl or .json file in it";
            outcome.add(CommandError::NothingSelected(format!("{}: {reason}", path.display())).told());
        }
        inputs.extend(found);
    }
    // They are needed to the end, and to take them apart takes longer than to judge a small run.
    let contracts: &'static Contracts = Box::leak(Box::new(match &args.contract {
        Some(name) => Contracts::only(name)?,
        None => Contracts::built_in(),
    }));
    let options = args.options()?;
    let known = args.known_failures.as_deref().map(|path| read_known(path, contracts)).transpose()?;
    let mut out = args.format.format.stdout();
    let mut summary = Summary::default();
    let (progress, lines) = (Progress::start(!args.quiet, inputs.len()), Arc::new(AtomicU64::new(0)));
    let read = Arc::clone(&lines);
    progress.note(move || match read.load(Ordering::Relaxed) {
        lines if lines < MANY_LINES => String::new(),
        lines => format!("line {lines}"),
    });
    // One unreadable input does not hide what is wrong with the others.
    let judge = |input: &Input| {
        let is_stdin = matches!(input.source, Source::Stdin);
        if !is_stdin {
            progress.begin(&input.name);
        }
        let show = is_stdin && !args.quiet && args.format.format == Format::Human;
        let mut watch = |line: &Line<'_>| {
            lines.store(line.number(), Ordering::Relaxed);
            if show && let Some(text) = live_line(line) {
                tell(format_args!("{FAINT}{text}{FAINT:#}"));
            }
        };
        let judged = input.judge(contracts, &options, &mut watch);
        lines.store(0, Ordering::Relaxed);
        if !is_stdin {
            progress
                .end(&input.name, judged.as_ref().is_ok_and(|judged| args.outcome(judged) != Outcome::Ok));
        }
        judged
    };
    let show = |i: usize, judged: Result<Judgement, JudgeError>| -> Result<(), CommandError> {
        let input = &inputs[i];
        let mut judgement = match judged {
            Ok(judgement) => judgement,
            Err(error) => {
                outcome.add(CommandError::from(error).told());
                return Ok(());
            }
        };
        if let Some(known) = &known {
            let (target, version, scenario) = input.origin();
            known.mark(&mut judgement.findings, &CaseName::new(&scenario, &target, &version), &[]);
        }
        if i > 0 && args.format.format == Format::Human {
            writeln!(out)?;
        }
        match args.format.format {
            Format::Json => writeln!(out, "{}", judgement_json(&input.name, &judgement)?)?,
            Format::Human => {
                let process = process(&input.source, &options);
                write_judgement(&mut out, &input.name, &judgement, &process, contracts)?;
            }
        }
        out.flush()?;
        summary.add(&judgement, args.outcome(&judgement) == Outcome::Ok);
        outcome.add(args.outcome(&judgement));
        Ok(())
    };
    // What comes through a pipe is shown line by line, when its turn has come.
    if inputs.iter().any(|input| matches!(input.source, Source::Stdin)) {
        let mut show = show;
        for (i, input) in inputs.iter().enumerate() {
            show(i, judge(input))?;
        }
    } else {
        in_order(&inputs, judge, show)?;
    }
    drop(progress);
    if inputs.len() > 1 && args.format.format == Format::Human {
        writeln!(out, "\n{summary}")?;
        out.flush()?;
    }
    for complaint in known.iter().flat_map(KnownFailures::complaints) {
        complain(&complaint.to_string());
        outcome.add(Outcome::Findings);
    }
    Ok(outcome)
}

/// What became of several inputs.
#[derive(Default)]
struct Summary {
    inputs: usize,
    fine: usize,
    classes: BTreeMap<String, usize>,
    /// In how many inputs each must clause is broken.
    clauses: BTreeMap<String, usize>,
}

impl Summary {
    fn add(&mut self, judgement: &Judgement, fine: bool) {
        self.inputs += 1;
        self.fine += usize::from(fine);
        if let Some(verdict) = &judgement.verdict {
            *self.classes.entry(verdict.class.to_string()).or_default() += 1;
        }
        let broken = judgement.findings.iter().filter(|finding| finding.fails());
        for clause in broken.map(|finding| &finding.clause).collect::<BTreeSet<_>>() {
            *self.clauses.entry(clause.clone()).or_default() += 1;
        }
    }
}

/// `12 inputs: 10 fine, 2 not · ok 10, rate_limit 2`, then the clauses that most of them break.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bad = self.inputs - self.fine;
        let style = if bad == 0 { GOOD } else { BAD };
        write!(f, "{style}{} inputs{style:#}: {} fine, {bad} not", self.inputs, self.fine)?;
        let classes = self.classes.iter().map(|(class, count)| format!("{class} {count}"));
        let classes = classes.collect::<Vec<_>>().join(", ");
        if !classes.is_empty() {
            write!(f, " · {classes}")?;
        }
        let mut clauses: Vec<_> = self.clauses.iter().collect();
        clauses.sort_by_key(|(clause, count)| (std::cmp::Reverse(**count), clause.as_str()));
        for (clause, count) in clauses.iter().take(MOST_CLAUSES) {
            write!(f, "\n  {count:>4} break {clause}")?;
        }
        if clauses.len() > MOST_CLAUSES {
            write!(f, "\n       {FAINT}and {} more clauses{FAINT:#}", clauses.len() - MOST_CLAUSES)?;
        }
        Ok(())
    }
}

/// How the target of an input was started and how it ended, as far as that is known.
fn process(source: &Source, options: &Options) -> Process {
    match source {
        Source::Recording(path) => Process::at(path).unwrap_or_default(),
        _ => Process::ended(
            &options.exit.clone().unwrap_or_default(),
            options.stderr.as_deref().unwrap_or_default(),
        ),
    }
}

fn read_known(path: &Path, contracts: &Contracts) -> Result<KnownFailures, CommandError> {
    let text = document::read_to_string(path).map_err(unreadable(path))?;
    let (file, today) = (path.display().to_string(), time::date(time::now()));
    Ok(KnownFailures::parse(&file, &text, today, &|clause| contracts.has_clause(clause))?)
}

impl JudgeArgs {
    fn outcome(&self, judgement: &Judgement) -> Outcome {
        let is_fine = |class: Class| class == Class::Ok || self.allow.contains(&class);
        let is_broken = judgement.findings.iter().any(|finding| self.fail_on.fails(finding));
        Outcome::of_findings(
            is_broken || judgement.verdict.as_ref().is_some_and(|verdict| !is_fine(verdict.class)),
        )
    }

    fn options(&self) -> Result<Options, CommandError> {
        let mut options = Options::default();
        let flag = self.env.iter().rev().find(|(name, _)| name == "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS");
        options.heuristics = !self.no_heuristics;
        options.background_disabled = flag.map(|(_, value)| value == "1");
        options.profile = self.reading;
        options.roles.clone_from(&self.role.roles);
        options.exit = self.exit_code.map(Exit::with_code);
        if let Some(path) = &self.stderr {
            let mut stderr = Vec::new();
            let file = document::open(path).map_err(unreadable(path))?;
            Masked::new(file).take(STDERR_HEAD as u64).read_to_end(&mut stderr).map_err(unreadable(path))?;
            options.stderr = Some(stderr);
        }
        Ok(options)
    }
}
