//! `clawgate events watch`: findings while a log grows.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use super::super::error::unreadable;
use super::super::{CommandError, Format, FormatArg};
use super::{ContractArg, RoleArg, files};
use crate::document;
use crate::events::{Limits, Occurrence, Profile, log_files};
use crate::exit_code::Outcome;
use crate::report::style::{BAD, CAUTION, FAINT, NAME};
use crate::schema::{EventJudge, EventWatch, Finding, Level};
use crate::text::{Masker, printable, printable_json};
use crate::time::{Millis, time_of_day};

/// Follow a growing log and report findings as they come; timers fire on silence
#[derive(Debug, Args)]
#[command(after_long_help = "\
Exit codes: 130 interrupted; with --for: 0 no must clause is broken, 100 otherwise (also when the log still holds no record);
2 the log cannot be read.")]
pub(super) struct WatchArgs {
    /// A log, or the directory of a server's segments
    #[arg(value_name = "LOG")]
    log: PathBuf,
    /// Wait for a log that does not exist yet
    #[arg(long)]
    wait: bool,
    /// Stop after this many seconds [default: follow until interrupted]
    #[arg(long = "for", value_name = "SECONDS", value_parser = seconds)]
    seconds: Option<Duration>,
    /// Also show what happens, not only what is broken
    #[arg(long)]
    all: bool,
    /// The reading that the log is held to
    #[arg(long, alias = "profile", value_name = "READING", default_value = "strict", value_parser = super::super::profile)]
    reading: Profile,
    #[command(flatten)]
    contract: ContractArg,
    #[command(flatten)]
    role: RoleArg,
    #[command(flatten)]
    format: FormatArg,
}

/// The most seconds that can be waited: a year.
const LONGEST: f64 = 31_536_000.0;
/// How often a log is looked at.
const POLL: Duration = Duration::from_millis(100);

/// None at all is fine here: what there is now is looked at once.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=LONGEST).contains(seconds));
    let seconds = seconds.ok_or("expected seconds as a number without a unit, such as 30 or 0.5")?;
    Ok(Duration::from_secs_f64(seconds))
}

pub(super) fn watch(args: &WatchArgs) -> Result<Outcome, CommandError> {
    let set = args.contract.open()?;
    let until = args.seconds.map(|time| Instant::now() + time);
    let mut judge = EventJudge::new(&set, args.reading, Limits::default());
    judge.assign(&args.role.roles);
    let mut screen = Screen { format: args.format.format, all: args.all, broken: false, trouble: None };
    let mut tail = Tail::open(&args.log, args.wait)?;
    // When the log's clock stood where it stands now.
    let mut heard = Instant::now();
    loop {
        if tail.read(&mut judge, &mut screen).map_err(unreadable(&args.log))? {
            heard = Instant::now();
        }
        if let (Some(clock), Some(_)) = judge.clock() {
            let waited = i64::try_from(heard.elapsed().as_millis()).unwrap_or(i64::MAX);
            judge.tick(clock.saturating_add(waited), &mut screen);
        }
        // Nobody follows any more, so this has come to its end.
        let has_left = match screen.trouble.take() {
            Some(trouble) if trouble.kind() == io::ErrorKind::BrokenPipe => true,
            Some(trouble) => return Err(trouble.into()),
            None => false,
        };
        if has_left || until.is_some_and(|until| Instant::now() >= until) {
            // What only the end of a log tells is told of what there is so far.
            judge.finish_growing(&mut screen);
            return Ok(Outcome::of_findings(screen.broken));
        }
        std::thread::sleep(POLL);
    }
}

/// What happened, in a few words.
fn in_words(what: Occurrence<'_>) -> String {
    match what {
        Occurrence::Session(number) => format!("session {number}"),
        Occurrence::Joined { role, name } => format!("joined as {role} {name}"),
        Occurrence::Booted { mission, .. } => format!("booted: {mission}"),
        Occurrence::Entered(phase) => phase.name().to_owned(),
        Occurrence::Heartbeat(_) => "heartbeat".to_owned(),
        Occurrence::Noted { kind, message } => format!("{kind}: {message}"),
        Occurrence::Asked { blocked: true, message, .. } => format!("BLOCKED: {message}"),
        Occurrence::Asked { message, .. } => format!("REQUEST: {message}"),
        Occurrence::Answered { verb, .. } => format!("answered with {verb}"),
        Occurrence::Commanded(verb) => format!("told to {verb}"),
        Occurrence::Silent(_) => "silent".to_owned(),
        Occurrence::Completed(result) => format!("complete: {result}"),
        Occurrence::Left(reason) => format!("left: {reason}"),
    }
}

/// A log that grows: the file that is read now, and where its successors will be.
struct Tail {
    log: PathBuf,
    /// None until there is one.
    file: Option<File>,
    chunk: Vec<u8>,
    masker: Masker,
}

impl Tail {
    fn open(log: &Path, waits: bool) -> Result<Self, CommandError> {
        let first = match files(log) {
            Ok(found) => found.into_iter().next(),
            // What is there and cannot be read will not become readable.
            Err(_) if waits && is_missing(log) => None,
            Err(error) => return Err(error),
        };
        let file = first.map(|path| document::open(&path).map_err(unreadable(&path))).transpose()?;
        Ok(Self { log: log.to_owned(), file, chunk: vec![0; 256 << 10], masker: Masker::default() })
    }

    /// Reads what has been added; answers whether anything was.
    fn read(&mut self, judge: &mut EventJudge<'_>, screen: &mut Screen) -> io::Result<bool> {
        let mut any = false;
        loop {
            let read = self.file.as_mut().map_or(Ok(0), |file| file.read(&mut self.chunk));
            match read {
                Ok(0) => {
                    if !self.advance(judge, screen)? {
                        return Ok(any);
                    }
                }
                Ok(read) => {
                    any = true;
                    let mut masked = Vec::with_capacity(read);
                    self.masker.push(&self.chunk[..read], &mut masked);
                    judge.push(&masked, screen);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn end_segment(&mut self, judge: &mut EventJudge<'_>, screen: &mut Screen) {
        let mut rest = Vec::new();
        self.masker.finish(&mut rest);
        judge.push(&rest, screen);
        judge.end_segment(screen);
    }

    /// At the end of a file: goes on to its successor, or to the start of a file that was cut or put in its place. A
    /// file that was rotated away has another name by then, so files are told apart by their identity.
    fn advance(&mut self, judge: &mut EventJudge<'_>, screen: &mut Screen) -> io::Result<bool> {
        let identity = |found: &fs::Metadata| (found.dev(), found.ino());
        // Between a rotation's two steps the file is not there.
        let all = log_files(&self.log).unwrap_or_default();
        let Some(file) = &mut self.file else {
            let Some(first) = all.first() else { return Ok(false) };
            self.file = Some(document::open(first)?);
            return Ok(true);
        };
        let (at, read) = (file.stream_position()?, file.metadata()?);
        let is_it =
            |path: &PathBuf| fs::metadata(path).is_ok_and(|found| identity(&found) == identity(&read));
        let next = match all.iter().position(is_it) {
            Some(_) if read.len() < at => all.iter().find(|path| is_it(path)),
            Some(here) => all.get(here + 1),
            // It was removed, and another one stands in its place.
            None => all.last(),
        };
        let Some(next) = next.cloned() else { return Ok(false) };
        let file = match document::open(&next) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            opened => opened?,
        };
        self.end_segment(judge, screen);
        self.file = Some(file);
        Ok(true)
    }
}

/// Whether a log is not there yet, or is a directory without segments.
fn is_missing(log: &Path) -> bool {
    match log_files(log) {
        Ok(files) => files.is_empty(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Where findings are shown as they come.
struct Screen {
    format: Format,
    all: bool,
    broken: bool,
    trouble: Option<io::Error>,
}

impl Screen {
    fn say(&mut self, line: std::fmt::Arguments<'_>) {
        let mut out = anstream::stdout().lock();
        if let Err(error) = writeln!(out, "{line}").and_then(|()| out.flush()) {
            self.trouble = self.trouble.take().or(Some(error));
        }
    }
}

impl EventWatch for Screen {
    fn finding(&mut self, finding: &Finding, peer: Option<&str>, time: Option<Millis>) {
        self.broken |= finding.level == Level::Must;
        if self.format == Format::Json {
            let line = json!({ "type": "finding", "peer": peer, "time_ms": time, "finding": finding });
            self.say(format_args!("{}", printable_json(&line.to_string())));
            return;
        }
        let style = match finding.level {
            Level::Must => BAD,
            Level::Should => CAUTION,
            _ => FAINT,
        };
        let at = time.map(time_of_day).unwrap_or_default();
        let line = finding.line.unwrap_or(0);
        self.say(format_args!(
            "{at:<12}  {style}{:<13}{style:#} {NAME}{}{NAME:#} line {line}: {}",
            finding.level.name(),
            finding.clause,
            printable(&finding.message)
        ));
    }

    fn occurrence(&mut self, peer: &str, time: Option<Millis>, line: u64, what: Occurrence<'_>) {
        if !self.all {
            return;
        }
        let text = in_words(what);
        if self.format == Format::Json {
            let line =
                json!({ "type": "happening", "peer": peer, "time_ms": time, "line": line, "what": text });
            self.say(format_args!("{}", printable_json(&line.to_string())));
            return;
        }
        let at = time.map(time_of_day).unwrap_or_default();
        self.say(format_args!("{at:<12}  {FAINT}{} {}{FAINT:#}", printable(peer), printable(&text)));
    }

    fn wants_all(&self) -> bool {
        true
    }
}
