//! `clawgate golden learn-volatile`: finds what differs from run to run, and proposes how to normalise it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use clap::Args;
use similar::TextDiff;

use crate::cli::diff::{Workspace, tell};
use crate::cli::runs::{CaseArgs, Runner, choose, locate, planned, variable};
use crate::cli::{Failure, complain};
use crate::exit_code;
use crate::golden::{Normal, learn, normalise};
use crate::harness::surroundings::Surroundings;
use crate::harness::target::TARGETS;
use crate::printable::printable;
use crate::recording::Recording;
use crate::report::style::CAUTION;
use crate::run::Event;

/// Run cases several times in different surroundings, and print what to normalise as a patch to the target's file
///
/// Each time the home, the working directory and the processes' numbers are others; from the second time on so are the
/// clock (by weeks, later and earlier), the locale and the time zone. What still differs, and no volatile entry of the file
/// says so, is proposed. The clock is moved by libfaketime; without it the command says that it was not.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example: clawgate golden learn-volatile --target targets/mine.toml --case smoke | patch -p0
Exit codes: 0 nothing differs, or the patch says what to do; 100 something differs that no entry can hide; 2 usage; 3 the
target is missing; 4 nothing was selected.")]
pub(in crate::cli) struct LearnArgs {
    /// What to run: reference, claude, claude@VERSION, claw=PATH, or a target file
    #[arg(long, value_name = "T", default_value = "reference", env = "CLAWGATE_TARGET")]
    target: String,
    #[command(flatten)]
    cases: CaseArgs,
    /// How many times each case runs
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..=20))]
    repeat: u32,
}

/// Runs the command and returns its exit code.
pub(in crate::cli) fn run(args: &LearnArgs) -> Result<u8, Failure> {
    let located = match choose(&args.target).and_then(locate) {
        Ok(located) => located,
        Err(error) => return tell(error),
    };
    let mut cases = match planned(&located, &args.cases.cases, args.repeat) {
        Ok(cases) => cases,
        Err(error) => return tell(error),
    };
    let surroundings = Surroundings::of(&located.program, variable);
    for planned in &mut cases {
        planned.run.env.extend(surroundings.env(planned.repetition));
    }
    let volatile = located.choice.target.volatile.clone();
    let folder = Workspace::new(None)?;
    let mut recordings: Vec<(String, String)> = Vec::new();
    let mut on_event = |event: &Event| {
        if let Event::CaseFinished(case) = event
            && let Some(path) = &case.recording
        {
            recordings.push((case.case.clone(), path.clone()));
        }
    };
    let recorded =
        Runner::new().and_then(|runner| runner.record(cases, folder.path(), args.cases.jobs, &mut on_event));
    if let Err(error) = recorded {
        return tell(error);
    }
    recordings.sort();
    let mut runs: BTreeMap<String, Vec<Normal>> = BTreeMap::new();
    for (case, path) in recordings {
        let usage = |error: String| Failure::Usage(error);
        let recording = Recording::open(Path::new(&path)).map_err(|error| usage(error.to_string()))?;
        let normal = normalise(&recording, &volatile).map_err(|error| usage(format!("{path}: {error}")))?;
        runs.entry(case).or_default().push(normal);
    }
    let proposal = learn(&runs);
    for unsteady in &proposal.unsteady {
        complain(&format!("{}: differs from run to run: {}", unsteady.case, unsteady.what));
    }
    if !proposal.rules.is_empty() {
        let (file, text) = target_file(&args.target, &located.choice.target.name)?;
        let patched = format!("{}{}", text, proposal.to_toml());
        let diff = TextDiff::from_lines(text.as_str(), patched.as_str());
        let mut out = std::io::stdout().lock();
        write!(out, "{}", diff.unified_diff().header(&file, &file))?;
        out.flush()?;
    }
    // There is nobody left to tell when standard error is closed.
    let mut err = anstream::stderr().lock();
    let clock = if surroundings.no_clock().is_none() { ", clock" } else { "" };
    let differs = if proposal.is_empty() { ": nothing differs" } else { "" };
    _ = writeln!(
        err,
        "{} cases, {} times each, with another home, directory, process{clock}, locale and time zone{differs}",
        runs.len(),
        args.repeat
    );
    let clock = surroundings
        .no_clock()
        .map(|reason| format!("the clock was not moved: {reason}; what depends on the day is not found"));
    let locale = surroundings.only_plain_locales().then(|| {
        "no locale but C, POSIX and English ones is installed: what depends on the language is not found"
            .to_owned()
    });
    for note in clock.into_iter().chain(locale) {
        _ = writeln!(err, "{CAUTION}note{CAUTION:#}: {}", printable(&note));
    }
    Ok(if proposal.unsteady.is_empty() { exit_code::OK } else { exit_code::FINDINGS })
}

/// The file that a target was read from, and its text.
fn target_file(typed: &str, name: &str) -> Result<(String, String), Failure> {
    let own = crate::cli::runs::targets_folder().map(|folder| folder.join(format!("{name}.toml")));
    let is_file = Path::new(typed).extension().is_some_and(|extension| extension == "toml");
    let path = if is_file { Some(typed.into()) } else { own.filter(|path| path.is_file()) };
    let Some(path) = path else {
        let text =
            TARGETS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text).unwrap_or_default();
        return Ok((format!("targets/{name}.toml"), text.to_owned()));
    };
    let file = path.display().to_string();
    let text = std::fs::read_to_string(&path).map_err(|error| Failure::Usage(format!("{file}: {error}")))?;
    Ok((file, text))
}
