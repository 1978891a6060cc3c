//! `clawgate play`: acts as a recorded command line, or as a target on a scripted API, to test programs that start one and
//! speak with it.

mod dialogue;
mod fault;
mod live;

use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use dialogue::Dialogue;
use fault::{PlayFault, Spoiler};
use serde_json::Value;

use super::CommandError;
use super::bundle::Opened;
use super::error::unreadable;
use super::output::raw_stdout;
use crate::exit_code::Outcome;
use crate::recording::{Facts, Recording};

/// Act as a recorded command line, or as a target on the scripted API of a case
///
/// A recording comes with its bytes, its pace, its channels and its exit status, and where something was sent to the
/// program when it was recorded, it waits for the same: what a request is called may differ. With the name of a case, or
/// a scenario file of one, the target is run: it is called with the arguments after `--`, in its clean room and on the
/// scripted API, and speaks with whoever started this command. Both directions are recorded below --out, faults are not.
/// A script of one line that calls it is a double of the program.
#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = "Faults: unknown-message, long-line[:megabytes=N], split[:bytes=N], garbage-line, cut[:after=BYTES], \
cut-message, no-result, result-twice, no-response, error-response, wrong-id, request-twice, closed-stdout[:after=BYTES], \
late-exit[:ms=N], hang-after-result, crash.\nThe exit status is that of the program; a signal is sent to itself. An \
unreadable recording, an unknown case or fault, and a program that says less than the recorded one exit with 2."
)]
pub(super) struct PlayArgs {
    /// The recording's directory or a bundle of one, the name of a case, or a scenario file
    #[arg(value_name = "RECORDING|CASE")]
    recording: String,
    /// What a case runs on, as for `run`
    #[arg(long, value_name = "T", default_value = "reference")]
    target: String,
    /// Where conversations of a case are recorded [default: clawgate-out/play]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Something to do wrong; may be given several times
    #[arg(long, value_name = "F")]
    fault: Vec<PlayFault>,
    /// How fast a recording is: 1 as recorded, 2 twice as fast, 0 without any pause
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = speed)]
    speed: f64,
    /// What the program would have been called with
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse().ok().filter(|speed: &f64| speed.is_finite() && *speed >= 0.0);
    speed.ok_or_else(|| "expected a number from 0, such as 2 or 0.5".into())
}

pub(super) fn run(args: &PlayArgs) -> Result<Outcome, CommandError> {
    let path = PathBuf::from(&args.recording);
    let is_scenario = path.extension().is_some_and(|end| end == "toml" || end == "json");
    if is_scenario || !path.exists() {
        return args.run_target(&args.recording);
    }
    let opened = Opened::new(&path)?;
    if opened.path().is_file() {
        return Err(CommandError::Usage(format!(
            "{}: neither a recording (a folder with a recording.json), a bundle nor a scenario file (.toml)",
            path.display()
        )));
    }
    let recording = Recording::open(&opened.recording()?)?;
    if let [only] = args.arguments.as_slice()
        && ["-v", "--version"].contains(&only.as_str())
        && !recording.facts.target_version.is_empty()
    {
        return args.tell_version(&recording.facts.target_version);
    }
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let read = recording.stdout().and_then(|mut out| out.read_to_end(&mut stdout));
    let read = read.and_then(|_| recording.stderr()?.read_to_end(&mut stderr));
    read.map_err(unreadable(&path))?;
    // How it ends may be a signal, and nothing stays of a bundle.
    drop(opened);
    args.play(&recording.facts, &stdout, &stderr)
}

impl PlayArgs {
    /// Answers the question for the version.
    #[expect(clippy::unused_self, reason = "both ways of playing answer alike")]
    fn tell_version(&self, version: &str) -> Result<Outcome, CommandError> {
        writeln!(raw_stdout(), "{version} (Claude Code)")?;
        Ok(Outcome::Ok)
    }

    fn play(&self, facts: &Facts, stdout: &[u8], stderr: &[u8]) -> Result<Outcome, CommandError> {
        let mut started = Instant::now();
        // Which came first on two channels is not recorded; complaints first is what a reader has to cope with.
        // Whether somebody reads does not matter to how it ends.
        _ = io::stderr().write_all(stderr);
        let mut dialogue = Dialogue::new(facts.other.get("sent"));
        let mut out = Spoiler::new(raw_stdout(), &self.fault)?;
        let arrivals = arrivals(facts);
        let due =
            |at: usize| arrivals.iter().rev().find(|(offset, _)| *offset <= at).map_or(0.0, |(_, ms)| *ms);
        let mut at = 0;
        loop {
            while let Some(dialogue) =
                dialogue.as_mut().filter(|dialogue| dialogue.next().is_some_and(|next| next <= at))
            {
                let mut trouble = Ok(());
                let mut answer = |message: &Value| trouble = out.push(format!("{message}\n").as_bytes());
                dialogue.wait(&mut answer).map_err(CommandError::Usage)?;
                trouble?;
                // The clock of the recording stood still meanwhile.
                let ahead =
                    Duration::try_from_secs_f64(due(at) / 1000.0 / self.speed.max(1e-9)).unwrap_or_default();
                started = Instant::now().checked_sub(ahead).unwrap_or(started);
            }
            if at >= stdout.len() {
                break;
            }
            let next = arrivals
                .iter()
                .map(|(offset, _)| *offset)
                .find(|offset| *offset > at)
                .unwrap_or(stdout.len());
            let next = dialogue
                .as_ref()
                .and_then(Dialogue::next)
                .map_or(next, |stop| next.min(stop))
                .min(stdout.len());
            self.wait_until(started, due(at));
            let part = &stdout[at..next];
            match &dialogue {
                Some(dialogue) => out.push(&dialogue.with_ids(part))?,
                None => out.push(part)?,
            }
            at = next;
        }
        out.finish()?;
        drop(out);
        self.wait_until(started, facts.duration_ms.unwrap_or(0) as f64);
        Ok(self.end(facts))
    }

    /// Ends as the program did, late, or not at all.
    fn end(&self, facts: &Facts) -> Outcome {
        if self.fault.contains(&PlayFault::HangAfterResult) {
            loop {
                std::thread::sleep(Duration::from_secs(3600));
            }
        }
        for fault in &self.fault {
            if let PlayFault::LateExit(ms) = fault {
                std::thread::sleep(Duration::from_millis(*ms));
            }
        }
        end_as(facts, self.fault.contains(&PlayFault::Crash))
    }

    fn wait_until(&self, started: Instant, ms: f64) {
        if self.speed > 0.0
            && let Ok(due) = Duration::try_from_secs_f64(ms / 1000.0 / self.speed)
        {
            std::thread::sleep(due.saturating_sub(started.elapsed()));
        }
    }
}

/// Offset and time of the chunks that were recorded.
fn arrivals(facts: &Facts) -> Vec<(usize, f64)> {
    let list = facts.other.get("arrivals").and_then(|list| list.as_array());
    let chunk =
        |chunk: &Value| Some((usize::try_from(chunk.get(0)?.as_u64()?).ok()?, chunk.get(1)?.as_f64()?));
    list.into_iter().flatten().filter_map(chunk).collect()
}

/// Ends as the recorded process did.
fn end_as(facts: &Facts, crash: bool) -> Outcome {
    use rustix::process::{Signal, getpid, kill_process};
    let signal = if crash { Some(Signal::KILL) } else { facts.exit.signal.and_then(Signal::from_named_raw) };
    if let Some(signal) = signal {
        _ = kill_process(getpid(), signal);
        // A signal that is only noted on the way out has its moment here.
        std::thread::sleep(Duration::from_millis(200));
    }
    facts.exit.code.and_then(|code| u8::try_from(code).ok()).map_or(Outcome::Environment, Outcome::Other)
}
