//! `clawgate merge`: the reports of shards as one.

use std::path::PathBuf;

use super::reports::{ReportArgs, finish};
use super::{Failure, complain};
use crate::exit_code;
use crate::report::merge::{Log, MergeError, folders, merge};
use crate::run::{Event, LastRun};

/// Puts the results of shards together, as if one run had made them
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

/// Runs the command and returns its exit code.
pub(super) fn run(args: &MergeArgs) -> Result<u8, Failure> {
    let events = match read(args) {
        Ok(events) => events,
        Err(error) if error.is_missing() => {
            complain(&error.to_string());
            return Ok(exit_code::ENVIRONMENT);
        }
        Err(error) => return Err(Failure::Usage(error.to_string())),
    };
    let mut sinks = args.reports.open(&args.out)?;
    let mut last = LastRun::default();
    let mut code = exit_code::OK;
    for event in &events {
        match event {
            Event::CaseFinished(case) => last.note(&case.target, &case.case, case.status, case.duration_ms),
            Event::RunFinished(finished) => code = finished.exit_code,
            _ => {}
        }
        sinks.on_event(event);
    }
    if let Err(error) = last.save(&args.out) {
        complain(&format!("{}: {error}", args.out.display()));
        code = exit_code::worst(code, exit_code::ENVIRONMENT);
    }
    Ok(exit_code::worst(code, finish(&args.reports, sinks)))
}

fn read(args: &MergeArgs) -> Result<Vec<Event>, MergeError> {
    let mut logs = Vec::new();
    for path in &args.folders {
        for folder in folders(path, &args.out)? {
            logs.push(Log::read(&folder)?);
        }
    }
    merge(logs, &args.out)
}
