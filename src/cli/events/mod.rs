//! `clawgate events`: what happened in an event log over time, what happens in one that grows, and what a live server
//! and live workers do.

mod command;
mod probe;
mod serve;
mod watch;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::error::{unreadable, unwritable};
use super::output::say;
use super::{CommandError, Format, FormatArg};
use crate::document;
use crate::events::{Limits, Profile, Role, log_files};
use crate::exit_code::Outcome;
use crate::judge::EVENTS_CONTRACT;
use crate::report::timeline::{Timeline, timeline_json, timeline_page, write_text};
use crate::schema::{ContractSet, EventJudge, Protocol};
use crate::text::Masked;

/// Show what happened in an event log, follow one that grows, test a live server or a live worker
#[derive(Debug, Args)]
pub(super) struct EventsArgs {
    #[command(subcommand)]
    command: EventsCommand,
}

#[derive(Debug, Subcommand)]
enum EventsCommand {
    Timeline(TimelineArgs),
    Watch(watch::WatchArgs),
    Probe(probe::ProbeArgs),
    Serve(serve::ServeArgs),
}

/// Show the tree of workers with phases, requests and their answers, silences and findings
#[derive(Debug, Args)]
#[command(after_long_help = "\
Exit codes: 0 it was shown, whatever is broken in it (`clawgate judge` fails for that); 2 the log cannot be read; 3 the
page cannot be written.")]
struct TimelineArgs {
    /// A log (with what was rotated away from it), the directory of a server's segments, or - for standard input
    #[arg(value_name = "LOG")]
    log: PathBuf,
    /// Write one self-contained HTML file instead
    #[arg(long, value_name = "PATH")]
    html: Option<PathBuf>,
    /// The reading that the log is held to
    #[arg(long, alias = "profile", value_name = "READING", default_value = "strict", value_parser = super::profile)]
    reading: Profile,
    #[command(flatten)]
    contract: ContractArg,
    #[command(flatten)]
    role: RoleArg,
    #[command(flatten)]
    format: FormatArg,
}

/// The contract that a log is held to.
#[derive(Debug, Args)]
struct ContractArg {
    /// A contract of event logs: a name, or the directory of your own
    #[arg(long, value_name = "CONTRACT", default_value = EVENTS_CONTRACT)]
    contract: String,
}

impl ContractArg {
    fn open(&self) -> Result<ContractSet, CommandError> {
        let set = ContractSet::open(&self.contract)?;
        match set.protocol() {
            Protocol::Events => Ok(set),
            other => {
                let (name, other) = (&self.contract, other.name());
                let message =
                    format!("{name} is a contract of the protocol {other}, and this is an event log");
                Err(CommandError::Usage(message))
            }
        }
    }
}

pub(super) fn run(args: &EventsArgs) -> Result<Outcome, CommandError> {
    match &args.command {
        EventsCommand::Timeline(args) => timeline(args),
        EventsCommand::Watch(args) => watch::watch(args),
        EventsCommand::Probe(args) => probe::run(args),
        EventsCommand::Serve(args) => serve::run(args),
    }
}

/// How much faster than ours a server's clock runs.
fn speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| "expected a number".to_owned())?;
    if (1.0..=1000.0).contains(&speed) { Ok(speed) } else { Err("expected a number from 1 to 1000".into()) }
}

/// What a log does not tell, and somebody knows.
#[derive(Debug, Args)]
pub(super) struct RoleArg {
    /// The role of a peer that the log does not tell: orchestrator, worker or observer; may be given several times
    #[arg(long = "role", value_name = "PEER=ROLE", value_parser = peer_role)]
    pub(super) roles: Vec<(String, Role)>,
}

fn peer_role(text: &str) -> Result<(String, Role), String> {
    let (peer, role) = text.split_once('=').ok_or("expected PEER=ROLE, such as p_000001=orchestrator")?;
    let known = Role::from_name(role)
        .ok_or_else(|| format!("unknown role `{role}`, expected one of: {}", Role::NAMES.join(", ")))?;
    if peer.is_empty() {
        return Err("expected the id of a peer before `=`".into());
    }
    Ok((peer.to_owned(), known))
}

/// The files of a log, oldest first.
fn files(log: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let found = log_files(log).map_err(unreadable(log))?;
    if found.is_empty() {
        return Err(CommandError::Usage(format!(
            "{}: no segments such as 0001-2026-06-01T09.jsonl in this directory",
            log.display()
        )));
    }
    Ok(found)
}

fn timeline(args: &TimelineArgs) -> Result<Outcome, CommandError> {
    let set = args.contract.open()?;
    let mut timeline = Timeline::default();
    let mut judge = EventJudge::new(&set, args.reading, Limits::default());
    judge.assign(&args.role.roles);
    if args.log == Path::new("-") {
        judge.read(Masked::new(io::stdin().lock()), &mut timeline).map_err(unreadable(&args.log))?;
    } else {
        for path in files(&args.log)? {
            let file = document::open(&path).map_err(unreadable(&path))?;
            judge.read(Masked::new(file), &mut timeline).map_err(unreadable(&path))?;
            judge.end_segment(&mut timeline);
        }
    }
    judge.finish(&mut timeline);
    timeline.finish();
    let name = args.log.display().to_string();
    if let Some(path) = &args.html {
        fs::write(path, timeline_page(&name, &timeline)).map_err(unwritable(path))?;
        say(&format!("wrote {}", path.display()));
    } else {
        let mut out = args.format.format.stdout();
        match args.format.format {
            Format::Human => write_text(&mut out, &name, &timeline)?,
            Format::Json => writeln!(out, "{}", timeline_json(&name, &timeline))?,
        }
        out.flush()?;
    }
    Ok(Outcome::Ok)
}
