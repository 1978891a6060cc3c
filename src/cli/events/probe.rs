//! `clawgate events probe`: what a live claws server enforces of what its document says.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use super::super::error::unwritable;
use super::super::fail_on::FailOnArg;
use super::super::output::tell;
use super::super::typed::whole;
use super::super::{CommandError, Format, FormatArg};
use super::command::Started;
use crate::events::{Limits, Profile};
use crate::exit_code::Outcome;
use crate::harness::claws::{Bounds, PROBES, ProbeError, Visit, probe};
use crate::judge::EVENTS_CONTRACT;
use crate::report::style::{BAD, CAUTION, FAINT, GOOD, NAME};
use crate::schema::{Clause, ContractSet, EventJudge, Finding, Level};
use crate::text::{Masker, glob, printable, printable_json};

/// Test what a live claws server enforces of what its document says
///
/// Joins the server as orchestrator, workers and observers: publishes what has to be refused, subscribes with wildcards,
/// asks and answers, falls silent, drops a connection. Each probe is a clause of claws-events (clawgate explain CLAUSE).
/// The visitors keep the protocol themselves, so the log of the visit is judged too. Silence takes 35 seconds of it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Exit codes: 0 no clause is broken that --fail-on names; 100 otherwise; 2 wrong arguments; 3 there is no server, or it does
not let the visitors in; 4 no probe has such a name.")]
pub(super) struct ProbeArgs {
    /// The server's Unix socket
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    /// Only these probes: names or clauses, * is anything [default: all]
    #[arg(value_name = "PROBE")]
    only: Vec<String>,
    /// The reading that the server is held to
    #[arg(long, alias = "profile", value_name = "READING", default_value = "strict", value_parser = super::super::profile)]
    reading: Profile,
    #[command(flatten)]
    fail_on: FailOnArg,
    /// Print what was seen instead of judging it: an event log with the facts of each probe, which judge and run read
    #[arg(long, conflicts_with = "format")]
    record: bool,
    /// Also write what was seen there
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,
    /// How many seconds of the server's clock a second is: as `events serve --speed`
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = super::speed)]
    speed: f64,
    /// How long the server may take to answer, and to say or deliver something, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 2000, value_parser = |text: &str| whole(text, 1_u64, 60_000))]
    within: u64,
    /// How long a message may take to its subscribers, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 250, value_parser = |text: &str| whole(text, 1_u64, 60_000))]
    latency: u64,
    #[command(flatten)]
    format: FormatArg,
    /// A server to start for it, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// How long a server that was started may take to listen.
const STARTING: Duration = Duration::from_secs(15);
/// How often it is looked for.
const LOOK: Duration = Duration::from_millis(20);

pub(super) fn run(args: &ProbeArgs) -> Result<Outcome, CommandError> {
    let set = ContractSet::open(EVENTS_CONTRACT)?;
    let clauses = clauses(&set);
    let wanted: Vec<&'static str> = PROBES.into_iter().filter(|probe| args.wants(probe, &clauses)).collect();
    if wanted.is_empty() {
        return Err(CommandError::NothingSelected(format!(
            "no probe is called {}; clawgate contract show claws-events lists the clauses",
            args.only.join(", ")
        )));
    }
    let visit = args.visit(&wanted)?;
    // A server may repeat what it was never told; what looks like a credential is shown to nobody.
    let transcript = Masker::default().mask_bytes(visit.transcript.clone());
    if let Some(path) = &args.transcript {
        fs::write(path, &transcript).map_err(unwritable(path))?;
    }
    if args.record {
        let mut out = super::super::output::raw_stdout();
        out.write_all(&transcript)?;
        out.flush()?;
        return Ok(Outcome::Ok);
    }
    let mut judge = EventJudge::new(&set, args.reading, Limits::default());
    judge.push(&transcript, &mut ());
    let (findings, _) = judge.finish(&mut ());
    let report = Report { args, clauses: &clauses, wanted: &wanted, findings: &findings, visit: &visit };
    let mut out = args.format.format.stdout();
    match args.format.format {
        Format::Json => report.json(&mut out)?,
        Format::Human => report.text(&mut out)?,
    }
    out.flush()?;
    Ok(Outcome::of_findings(findings.iter().any(|finding| args.fail_on.fails(finding))))
}

/// The clause of each probe.
fn clauses(set: &ContractSet) -> BTreeMap<&str, &Clause> {
    let all = set.contracts().iter().flat_map(|contract| contract.clauses().iter());
    all.filter_map(|clause| Some((clause.check()["probe"].as_str()?, clause))).collect()
}

impl ProbeArgs {
    fn wants(&self, probe: &str, clauses: &BTreeMap<&str, &Clause>) -> bool {
        let id = clauses.get(probe).map_or("", |clause| clause.id.as_str());
        let is_it = |pattern: &String| {
            let pattern = pattern.strip_prefix("claws-events/").unwrap_or(pattern);
            glob(pattern, probe) || glob(pattern, id)
        };
        self.only.is_empty() || self.only.iter().any(is_it)
    }

    fn visit(&self, wanted: &[&'static str]) -> Result<Visit, CommandError> {
        let server = (!self.command.is_empty()).then(|| self.start()).transpose()?;
        let within = Duration::from_millis(self.within);
        let latency = Duration::from_millis(self.latency);
        let bounds = Bounds { reply: within, push: within, latency, speed: self.speed, ..Bounds::default() };
        let is_long = wanted.iter().any(|probe| probe.starts_with("stale")) && self.speed < 10.0;
        if is_long && self.socket.exists() {
            let seconds = (35.0 / self.speed).ceil();
            tell(format_args!("{FAINT}a worker falls silent: this takes {seconds} seconds{FAINT:#}"));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let visit = runtime.map_err(CommandError::Start)?.block_on(probe(&self.socket, bounds, wanted));
        drop(server);
        visit.map_err(|error| {
            let advice = match &error {
                ProbeError::Connect { .. } => "start the server, or give it after --",
                ProbeError::Hello { reason, .. } if reason.contains("already registered") => {
                    "close the other orchestrator, or probe a server of its own"
                }
                ProbeError::Hello { .. } => "is this the socket of a claws server?",
            };
            CommandError::Environment(format!("{}; {advice}", printable(&error.to_string())))
        })
    }

    /// Starts the server and waits until it listens.
    fn start(&self) -> Result<Started, CommandError> {
        let socket = self.socket.display().to_string();
        let mut server = Started::start(&self.command, &[("CLAWS_SOCKET", socket.clone())])?;
        let until = Instant::now() + STARTING;
        loop {
            if is_open(&self.socket) {
                return Ok(server);
            }
            if let Some(status) = server.ended() {
                let name = server.name();
                return Err(CommandError::Environment(format!(
                    "{name} ended with {status} before it listened"
                )));
            }
            if Instant::now() > until {
                let seconds = STARTING.as_secs();
                let why = format!("{} does not listen on {socket} after {seconds} s", server.name());
                return Err(CommandError::Environment(why));
            }
            std::thread::sleep(LOOK);
        }
    }
}

fn is_open(socket: &Path) -> bool {
    std::os::unix::net::UnixStream::connect(socket).is_ok()
}

/// What a visit came to.
struct Report<'r> {
    args: &'r ProbeArgs,
    clauses: &'r BTreeMap<&'r str, &'r Clause>,
    wanted: &'r [&'static str],
    findings: &'r [Finding],
    visit: &'r Visit,
}

impl Report<'_> {
    fn probes(&self) -> impl Iterator<Item = (&'static str, &Clause, Option<&Finding>)> {
        self.wanted.iter().filter_map(|probe| {
            let clause = *self.clauses.get(probe)?;
            let id = format!("{EVENTS_CONTRACT}/{}", clause.id);
            Some((*probe, clause, self.findings.iter().find(|finding| finding.clause == id)))
        })
    }

    /// What the log of the visit shows besides.
    fn of_log(&self) -> impl Iterator<Item = &Finding> {
        let of_probes: Vec<String> =
            self.clauses.values().map(|clause| format!("{EVENTS_CONTRACT}/{}", clause.id)).collect();
        self.findings.iter().filter(move |finding| !of_probes.contains(&finding.clause))
    }

    fn json(&self, out: &mut impl Write) -> Result<(), CommandError> {
        let (mut passed, mut failed) = (0, 0);
        for (probe, clause, finding) in self.probes() {
            let status = if finding.is_some() { "fail" } else { "pass" };
            *(if finding.is_some() { &mut failed } else { &mut passed }) += 1;
            let level = clause.level_in(self.args.reading).map(Level::name);
            let line = json!({
                "type": "probe", "probe": probe, "clause": format!("{EVENTS_CONTRACT}/{}", clause.id),
                "level": level, "status": status, "text": clause.text, "finding": finding,
            });
            writeln!(out, "{}", printable_json(&line.to_string()))?;
        }
        let log: Vec<&Finding> = self.of_log().collect();
        let line = json!({
            "type": "probe-finished", "schema_version": 1, "contract": EVENTS_CONTRACT,
            "socket": self.args.socket.display().to_string(), "reading": self.args.reading.name(),
            "probes": passed + failed, "passed": passed, "failed": failed, "trouble": self.visit.trouble,
            "findings": log,
        });
        writeln!(out, "{}", printable_json(&line.to_string()))?;
        Ok(())
    }

    fn text(&self, out: &mut impl Write) -> Result<(), CommandError> {
        let (mut passed, mut failed) = (0, 0);
        for (_, clause, finding) in self.probes() {
            let Some(finding) = finding else {
                passed += 1;
                writeln!(out, "{GOOD}keeps {GOOD:#} {NAME}{:<8}{NAME:#} {}", clause.id, clause.text)?;
                continue;
            };
            failed += 1;
            let style = if self.args.fail_on.fails(finding) { BAD } else { CAUTION };
            writeln!(out, "{style}breaks{style:#} {NAME}{:<8}{NAME:#} {}", clause.id, clause.text)?;
            writeln!(out, "       {} {}", finding.level.name(), printable(&finding.message))?;
            if let Some(seen) = &finding.seen {
                writeln!(out, "       {FAINT}seen: {}{FAINT:#}", printable(&seen.to_string()))?;
            }
        }
        let mut log = self.of_log().peekable();
        if log.peek().is_some() {
            writeln!(out, "\nthe log of the visit shows besides:")?;
        }
        for finding in log {
            let (level, clause) = (finding.level.name(), &finding.clause);
            writeln!(out, "  {level:<13} {NAME}{clause}{NAME:#} {}", printable(&finding.message))?;
        }
        if let Some(trouble) = &self.visit.trouble {
            writeln!(out, "\nthe visit ended before its time: {}", printable(trouble))?;
        }
        let style = if failed == 0 { GOOD } else { BAD };
        writeln!(out, "\n{style}{passed} of {} probes hold{style:#}", passed + failed)?;
        Ok(())
    }
}
