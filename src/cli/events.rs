//! `clawgate events`: what happened in an event log over time, and what happens in one that grows.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use serde_json::json;

use super::error::{unreadable, unwritable};
use super::{CommandError, Format, FormatArg};
use crate::document;
use crate::events::{Limits, Occurrence, Profile, segments};
use crate::exit_code::Outcome;
use crate::judge::EVENTS_CONTRACT;
use crate::report::style::{BAD, CAUTION, FAINT, NAME};
use crate::report::timeline::{Timeline, timeline_json, timeline_page, write_text};
use crate::schema::{ContractSet, EventJudge, EventWatch, Finding, Level};
use crate::text::{Masked, Masker, printable, printable_json};
use crate::time::{Millis, time_of_day};

/// Show what happened in an event log, or follow one that grows
#[derive(Debug, Args)]
pub(super) struct EventsArgs {
    #[command(subcommand)]
    command: EventsCommand,
}

#[derive(Debug, Subcommand)]
enum EventsCommand {
    Timeline(TimelineArgs),
    Watch(WatchArgs),
}

/// Show the tree of workers with phases, requests and their answers, silences and findings
#[derive(Debug, Args)]
struct TimelineArgs {
    /// A log, the directory of a server's segments, or - for standard input
    #[arg(value_name = "LOG")]
    log: PathBuf,
    /// Write one self-contained HTML file instead
    #[arg(long, value_name = "PATH")]
    html: Option<PathBuf>,
    /// The reading that the log is held to
    #[arg(long, alias = "profile", value_name = "READING", default_value = "strict", value_parser = super::profile)]
    reading: Profile,
    #[command(flatten)]
    format: FormatArg,
}

/// Follow a growing log and report findings as they come; timers fire on silence
#[derive(Debug, Args)]
#[command(after_long_help = "\
Exit codes: 130 interrupted; with --for: 0 no must clause is broken, 100 otherwise; 2 the log cannot be read.")]
struct WatchArgs {
    /// A log, or the directory of a server's segments
    #[arg(value_name = "LOG")]
    log: PathBuf,
    /// Stop after this many seconds [default: follow until interrupted]
    #[arg(long = "for", value_name = "SECONDS")]
    seconds: Option<f64>,
    /// Also show what happens, not only what is broken
    #[arg(long)]
    all: bool,
    /// The reading that the log is held to
    #[arg(long, alias = "profile", value_name = "READING", default_value = "strict", value_parser = super::profile)]
    reading: Profile,
    #[command(flatten)]
    format: FormatArg,
}

/// How often a log is looked at.
const POLL: Duration = Duration::from_millis(100);

pub(super) fn run(args: &EventsArgs) -> Result<Outcome, CommandError> {
    match &args.command {
        EventsCommand::Timeline(args) => timeline(args),
        EventsCommand::Watch(args) => watch(args),
    }
}

/// The files of a log: itself, or its segments.
fn files(log: &Path) -> Result<Vec<PathBuf>, CommandError> {
    if !fs::metadata(log).map_err(unreadable(log))?.is_dir() {
        return Ok(vec![log.to_owned()]);
    }
    let found = segments(log).map_err(unreadable(log))?;
    if found.is_empty() {
        return Err(CommandError::Usage(format!(
            "{}: no segments such as 0001-2026-06-01T09.jsonl in this directory",
            log.display()
        )));
    }
    Ok(found)
}

fn timeline(args: &TimelineArgs) -> Result<Outcome, CommandError> {
    let set = ContractSet::open(EVENTS_CONTRACT)?;
    let mut timeline = Timeline::default();
    let mut judge = EventJudge::new(&set, args.reading, Limits::default());
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

fn watch(args: &WatchArgs) -> Result<Outcome, CommandError> {
    let set = ContractSet::open(EVENTS_CONTRACT)?;
    let until = match args.seconds.map(Duration::try_from_secs_f64) {
        Some(Ok(time)) => Some(Instant::now() + time),
        Some(Err(_)) => return Err(CommandError::Usage("--for: not a number of seconds".into())),
        None => None,
    };
    let mut judge = EventJudge::new(&set, args.reading, Limits::default());
    let mut screen = Screen { format: args.format.format, all: args.all, broken: false, trouble: None };
    let mut tail = Tail::open(&args.log)?;
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
    path: PathBuf,
    file: File,
    chunk: Vec<u8>,
    masker: Masker,
}

impl Tail {
    fn open(log: &Path) -> Result<Self, CommandError> {
        let path = files(log)?.into_iter().next().unwrap_or_else(|| log.to_owned());
        let file = document::open(&path).map_err(unreadable(&path))?;
        Ok(Self { log: log.to_owned(), path, file, chunk: vec![0; 256 << 10], masker: Masker::default() })
    }

    /// Reads what has been added; answers whether anything was.
    fn read(&mut self, judge: &mut EventJudge<'_>, screen: &mut Screen) -> io::Result<bool> {
        let mut any = false;
        loop {
            match self.file.read(&mut self.chunk) {
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

    /// At the end of a file: goes on to the next segment, or to the start of a file that was cut or put in its place.
    fn advance(&mut self, judge: &mut EventJudge<'_>, screen: &mut Screen) -> io::Result<bool> {
        if self.log.is_dir() {
            let all = segments(&self.log)?;
            let next = all.iter().position(|path| *path == self.path).and_then(|at| all.get(at + 1));
            let Some(next) = next else { return Ok(false) };
            self.end_segment(judge, screen);
            self.file = File::open(next)?;
            self.path.clone_from(next);
            return Ok(true);
        }
        let at = self.file.stream_position()?;
        let read = self.file.metadata()?;
        match fs::metadata(&self.path) {
            // Another file stands in its place, or it was cut.
            Ok(now) if (now.dev(), now.ino()) != (read.dev(), read.ino()) || now.len() < at => {
                self.end_segment(judge, screen);
                self.file = File::open(&self.path)?;
                Ok(true)
            }
            // Between a rotation's two steps the file is not there.
            _ => Ok(false),
        }
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
