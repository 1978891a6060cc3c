//! `clawgate merge`: the reports of shards as one.

use std::path::PathBuf;

use super::CommandError;
use super::error::unwritable;
use super::out::OutFolder;
use super::reports::{ReportArgs, finish};
use crate::exit_code::Outcome;
use crate::report::Progress;
use crate::report::merge::{Log, MergeError, folders, merge};
use crate::run::{Event, LastRun};

/// Put the results of shards together, as if one run had made them
///
/// Each shard leaves plain files in its --out folder; carry them to one place by whatever means there is. A whole run
/// can be given too, to make further reports of it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  clawgate merge shard-1 shard-2 shard-3 --report html=report.html
  clawgate merge artifacts/            # every folder in it that holds events.ndjson
  clawgate merge clawgate-out --report junit=junit.xml

Exit codes: those of the run as a whole; 2 folders that do not belong together; 3 a shard is missing or did not finish.")]
pub(super) struct MergeArgs {
    /// The shards' output folders, or a folder that holds them
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// Where the events of the whole go, and reports that have no path of their own
    #[arg(long, value_name = "DIR", default_value = "clawgate-merged")]
    out: PathBuf,
    #[command(flatten)]
    reports: ReportArgs,
}

pub(super) fn run(args: &MergeArgs) -> Result<Outcome, CommandError> {
    let events = read(args)?;
    let _ours = OutFolder::take(&args.out)?;
    let mut sinks = args.reports.open(&args.out)?;
    let mut last = LastRun::default();
    let mut outcome = Outcome::Ok;
    for event in &events {
        match event {
            Event::CaseFinished(case) => last.note(&case.target, &case.case, case.status, case.duration_ms),
            Event::RunFinished(finished) => outcome = finished.exit_code.into(),
            _ => {}
        }
        sinks.on_event(event);
    }
    if let Err(error) = last.save(&args.out) {
        outcome.add(unwritable(&args.out)(error).told());
    }
    outcome.add(finish(&args.reports, sinks));
    Ok(outcome)
}

fn read(args: &MergeArgs) -> Result<Vec<Event>, MergeError> {
    let (mut logs, progress) = (Vec::new(), Progress::start(true, 0));
    for path in &args.folders {
        for folder in folders(path, &args.out)? {
            let name = folder.display().to_string();
            progress.begin(&name);
            logs.push(Log::read(&folder)?);
            progress.end(&name, false);
        }
    }
    merge(logs, &args.out)
}
