//! `clawgate golden learn-volatile`: finds what differs from run to run, and proposes how to normalise it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use clap::Args;
use similar::TextDiff;

use super::diff::{Workspace, tell};
use super::runs::{CaseArgs, Runner, choose, locate, planned};
use super::{Failure, complain};
use crate::exit_code;
use crate::golden::{Normal, learn, normalise};
use crate::harness::run::{Event, Planned};
use crate::harness::target::TARGETS;
use crate::recording::Recording;

/// Run cases several times in different surroundings, and print what to normalise as a patch to the target's file
///
/// Each time the home, the working directory, the processes' numbers and the time of day are others; from the second time
/// on so are the locale and the time zone. What still differs, and no volatile entry of the file says so, is proposed.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example: clawgate golden learn-volatile --target targets/mine.toml --case smoke | patch -p0
Exit codes: 0 nothing differs, or the patch says what to do; 100 something differs that no entry can hide; 2 usage; 3 the
target is missing; 4 nothing was selected.")]
pub(super) struct LearnArgs {
    /// What to run: reference, claude, claude@VERSION, claw=PATH, or a target file
    #[arg(long, value_name = "T", default_value = "reference", env = "CLAWGATE_TARGET")]
    target: String,
    #[command(flatten)]
    cases: CaseArgs,
    /// How many times each case runs
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..=20))]
    repeat: u32,
}

/// Locale and time zone of each repetition; the first is the target's own.
const SURROUNDINGS: [&[(&str, &str)]; 3] = [
    &[],
    &[("LC_ALL", "de_DE.UTF-8"), ("TZ", "Asia/Kolkata")],
    &[("LC_ALL", "C"), ("TZ", "America/Los_Angeles")],
];

/// Runs the command and returns its exit code.
pub(super) fn run(args: &LearnArgs) -> Result<u8, Failure> {
    let located = match choose(&args.target).and_then(locate) {
        Ok(located) => located,
        Err(error) => return tell(error),
    };
    let mut cases = match planned(&located, &args.cases.cases, args.repeat) {
        Ok(cases) => cases,
        Err(error) => return tell(error),
    };
    cases.iter_mut().for_each(surround);
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
    let mut err = anstream::stderr().lock();
    if proposal.is_empty() {
        _ = writeln!(err, "{} cases, {} times each: nothing differs", runs.len(), args.repeat);
    }
    Ok(if proposal.unsteady.is_empty() { exit_code::OK } else { exit_code::FINDINGS })
}

fn surround(planned: &mut Planned) {
    let which = (planned.repetition as usize - 1) % SURROUNDINGS.len();
    planned.run.env.extend(SURROUNDINGS[which].iter().map(|(name, value)| ((*name).into(), (*value).into())));
}

/// The file that a target was read from, and its text.
fn target_file(typed: &str, name: &str) -> Result<(String, String), Failure> {
    let own = super::runs::targets_folder().map(|folder| folder.join(format!("{name}.toml")));
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
