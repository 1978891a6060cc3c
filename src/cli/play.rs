//! `clawgate play`: acts as a recorded command line, to test programs that read one.

use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

use super::CommandError;
use super::error::unreadable;
use super::output::raw_stdout;
use crate::exit_code::Outcome;
use crate::recording::{Facts, Recording};

/// Act as the recorded command line: its bytes, its pace, its channels and its exit status
///
/// Arguments after `--` are accepted and ignored, so that it can stand in for the program: a script of one line that
/// calls it is a double of the recorded run.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Faults: unknown-message, long-line[:megabytes=N], split[:bytes=N], hang-after-result, \
closed-stdout[:after=BYTES], cut[:after=BYTES], crash.\nThe exit status is the recorded one; a recorded signal is \
sent to itself. An unreadable recording or unknown fault exits with 2."
)]
pub(super) struct PlayArgs {
    /// The recording's directory
    #[arg(value_name = "RECORDING")]
    recording: PathBuf,
    /// Something to do wrong; may be given several times
    #[arg(long, value_name = "F")]
    fault: Vec<PlayFault>,
    /// How fast: 1 as recorded, 2 twice as fast, 0 without any pause
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    speed: f64,
    /// What the program would have been called with
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

/// What can go wrong in a playback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlayFault {
    /// A message of a type that nobody knows comes first.
    UnknownMessage,
    /// A line of this many megabytes comes first.
    LongLine(u64),
    /// Every write is of this many bytes.
    Split(u64),
    /// The process does not exit.
    HangAfterResult,
    /// Standard output is closed after so many bytes, and the process goes on.
    ClosedStdout(u64),
    /// Nothing comes after so many bytes.
    Cut(u64),
    /// It dies by a signal instead of its exit.
    Crash,
}

impl FromStr for PlayFault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let number = |key: &str, otherwise: u64| match rest {
            "" => Ok(otherwise),
            rest => rest
                .strip_prefix(key)
                .and_then(|rest| rest.strip_prefix('='))
                .and_then(|number| number.parse().ok())
                .ok_or_else(|| format!("expected {name}:{key}=N")),
        };
        Ok(match name {
            "unknown-message" => Self::UnknownMessage,
            "long-line" => Self::LongLine(number("megabytes", 5)?),
            "split" => Self::Split(number("bytes", 1)?.max(1)),
            "hang-after-result" => Self::HangAfterResult,
            "closed-stdout" => Self::ClosedStdout(number("after", 0)?),
            "cut" => Self::Cut(number("after", 0)?),
            "crash" => Self::Crash,
            _ => return Err(format!("unknown fault `{name}`; --help lists the faults")),
        })
    }
}

pub(super) fn run(args: &PlayArgs) -> Result<Outcome, CommandError> {
    let recording = Recording::open(&args.recording)?;
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let read = recording.stdout().and_then(|mut out| out.read_to_end(&mut stdout));
    let read = read.and_then(|_| recording.stderr()?.read_to_end(&mut stderr));
    read.map_err(unreadable(&args.recording))?;
    args.play(&recording.facts, &stdout, &stderr)
}

impl PlayArgs {
    fn play(&self, facts: &Facts, stdout: &[u8], stderr: &[u8]) -> Result<Outcome, CommandError> {
        let started = Instant::now();
        // Which came first on two channels is not recorded; complaints first is what a reader has to cope with.
        // Whether somebody reads does not matter to how it ends.
        _ = io::stderr().write_all(stderr);
        let mut out = raw_stdout();
        for fault in &self.fault {
            match fault {
                PlayFault::UnknownMessage => {
                    out.write_all(b"{\"type\":\"from_the_future\",\"payload\":{\"a\":[1]}}\n")?;
                }
                PlayFault::LongLine(megabytes) => {
                    out.write_all(b"{\"type\":\"system\",\"subtype\":\"noise\",\"text\":\"")?;
                    for _ in 0..*megabytes {
                        out.write_all(&vec![b'x'; 1 << 20])?;
                    }
                    out.write_all(b"\"}\n")?;
                }
                _ => {}
            }
        }
        let cut = self.fault.iter().find_map(|fault| match fault {
            PlayFault::Cut(after) | PlayFault::ClosedStdout(after) => usize::try_from(*after).ok(),
            _ => None,
        });
        let shown = &stdout[..cut.unwrap_or(stdout.len()).min(stdout.len())];
        let split = self.fault.iter().find_map(|fault| match fault {
            PlayFault::Split(bytes) => usize::try_from(*bytes).ok(),
            _ => None,
        });
        let arrivals = arrivals(facts);
        let mut at = 0;
        while at < shown.len() {
            let due = arrivals.iter().rev().find(|(offset, _)| *offset <= at).map_or(0.0, |(_, ms)| *ms);
            let next =
                arrivals.iter().map(|(offset, _)| *offset).find(|offset| *offset > at).unwrap_or(shown.len());
            let end = split.map_or(next, |bytes| next.min(at + bytes)).min(shown.len());
            self.wait_until(started, due);
            out.write_all(&shown[at..end])?;
            out.flush()?;
            at = end;
        }
        if self.fault.iter().any(|fault| matches!(fault, PlayFault::ClosedStdout(_))) {
            let null = std::fs::File::options().write(true).open("/dev/null")?;
            rustix::stdio::dup2_stdout(&null).map_err(io::Error::from)?;
        }
        drop(out);
        self.wait_until(started, facts.duration_ms.unwrap_or(0) as f64);
        if self.fault.contains(&PlayFault::HangAfterResult) {
            loop {
                std::thread::sleep(Duration::from_secs(3600));
            }
        }
        Ok(end_as(facts, self.fault.contains(&PlayFault::Crash)))
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
    let chunk = |chunk: &serde_json::Value| {
        Some((usize::try_from(chunk.get(0)?.as_u64()?).ok()?, chunk.get(1)?.as_f64()?))
    };
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
