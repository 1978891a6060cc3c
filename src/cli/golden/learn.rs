//! `clawgate golden learn-volatile`: finds what differs from run to run, and proposes how to normalise it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use similar::TextDiff;

use crate::cli::cases::{CaseArgs, Workspace, start};
use crate::cli::output::{note, tell};
use crate::cli::project::{Project, variable};
use crate::cli::typed::whole;
use crate::cli::{CommandError, Format, complain};
use crate::exit_code::Outcome;
use crate::golden::{Normal, Volatile, learn, normalise};
use crate::harness::environment::Environment;
use crate::recording::Recording;
use crate::run::{ContractCache, Event, Suite, cases_on};

/// Run cases several times in different surroundings, and print what to normalise as a patch to the target's file
///
/// Each time the home, the working directory and the processes' numbers are others; from the second time on so are the
/// clock (by weeks, later and earlier), the locale and the time zone. What still differs, and no volatile entry of the file
/// says so, is proposed. The clock is moved by libfaketime; without it the command says that it was not.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  clawgate golden learn-volatile --target targets/mine.toml --case smoke | patch -p0

Exit codes: 0 nothing differs, or the patch says what to do; 100 something differs that no entry can hide; 2 usage; 3 the
target is missing; 4 nothing was selected.")]
pub(super) struct LearnArgs {
    /// Scenario files or directories whose cases run [default: those that are built in, and the project's own]
    #[arg(value_name = "SCENARIOS")]
    scenarios: Vec<PathBuf>,
    /// What to run: reference, claude, claude@VERSION, claw=PATH, or a target file
    #[arg(long, value_name = "T", default_value = "reference", env = "CLAWGATE_TARGET")]
    target: String,
    #[command(flatten)]
    cases: CaseArgs,
    /// How many times each case runs
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = |text: &str| whole(text, 2_u32, 20))]
    repeat: u32,
}

/// Runs the command.
pub(super) fn run(args: &LearnArgs) -> Result<Outcome, CommandError> {
    let project = Project::open()?;
    let located = project.locate(&args.target)?;
    // Whoever names files wants what is in them.
    let mut suite = if args.scenarios.is_empty() { project.suite()? } else { Suite::default() };
    for path in &args.scenarios {
        suite.add_path(path)?;
    }
    let mut cases = cases_on(&located, &suite, &args.cases.cases, args.repeat)?;
    let surroundings = Environment::of(&located.program, variable);
    for planned in &mut cases {
        planned.run.env.extend(surroundings.env(planned.repetition));
    }
    let mut contracts = ContractCache::new();
    let mut volatile: BTreeMap<String, Volatile> = BTreeMap::new();
    for planned in &cases {
        let contracts = contracts.get(planned.speaks.contract_at.as_deref())?;
        volatile.insert(planned.case.name.clone(), planned.volatile(contracts)?);
    }
    let folder = Workspace::new(None)?;
    let mut recordings: Vec<(String, String)> = Vec::new();
    let mut on_event = |event: &Event| {
        if let Event::CaseFinished(case) = event
            && let Some(path) = &case.recording
        {
            recordings.push((case.case.clone(), path.clone()));
        }
    };
    start()?.record(cases, folder.path(), project.jobs(args.cases.jobs.jobs), &mut on_event)?;
    recordings.sort();
    let mut runs: BTreeMap<String, Vec<Normal>> = BTreeMap::new();
    for (case, path) in recordings {
        let recording = Recording::open(Path::new(&path))?;
        let normal = normalise(&recording, &volatile.get(&case).cloned().unwrap_or_default())
            .map_err(|error| CommandError::Usage(format!("{path}: {error}")))?;
        runs.entry(case).or_default().push(normal);
    }
    let proposal = learn(&runs);
    for unsteady in &proposal.unsteady {
        complain(&format!("{}: differs from run to run: {}", unsteady.case, unsteady.what));
    }
    if !proposal.rules.is_empty() {
        let (file, text, exists) = project.target_file(&args.target, &located.choice.target)?;
        let patched = format!("{}{}", text, proposal.to_toml());
        // Of a built-in target the patch makes the project's own file.
        let (before, old) = if exists { (file.as_str(), text.as_str()) } else { ("/dev/null", "") };
        let diff = TextDiff::from_lines(old, patched.as_str());
        let mut out = Format::Json.stdout();
        write!(out, "{}", diff.unified_diff().header(before, &file))?;
        out.flush()?;
        if !exists {
            note(&format!(
                "`{}` is built in: with the patch there is {file}, which counts with: --target {file}",
                args.target
            ));
        }
    }
    let clock = if surroundings.no_clock().is_none() { ", clock" } else { "" };
    let differs = if proposal.is_empty() { ": nothing differs" } else { "" };
    tell(format_args!(
        "{} cases, {} times each, with another home, directory, process{clock}, locale and time zone{differs}",
        runs.len(),
        args.repeat
    ));
    if let Some(reason) = surroundings.no_clock() {
        note(&format!("the clock was not moved: {reason}; what depends on the day is not found"));
    }
    if surroundings.only_plain_locales() {
        note(
            "no locale but C, POSIX and English ones is installed: what depends on the language is not found",
        );
    }
    Ok(Outcome::of_findings(!proposal.unsteady.is_empty()))
}
