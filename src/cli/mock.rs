//! `clawgate mock`: serves the scripted API by hand until it is interrupted, and says what was asked of it.

use std::collections::BTreeSet;
use std::fmt::{Display, Write as _};
use std::io::{self, BufRead as _};
use std::mem;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::bundle::{Opened, is_recorded, served_again};
use super::output::{data, tell, typed};
use super::project::Project;
use super::typed::whole;
use super::{CommandError, Format, FormatArg};
use crate::exit_code;
use crate::harness::mock::fault;
use crate::harness::mock::journal::{JournalEntry, Kind, Outcome};
use crate::harness::mock::{Fault, Journal, MockApi, Options, StartError};
use crate::harness::threads;
use crate::recording::Recording;
use crate::run::scenario::Scenario;
use crate::run::scenario::library;
use crate::text::printable;

/// How the clients of each API are pointed at the server, as a person learns it.
const CLIENTS: &str = include_str!("help/clients.txt");

/// Serve a scripted API on loopback until Ctrl-C, then say what was asked of it
///
/// The first line on standard output is the base URL. The one server speaks Anthropic Messages, OpenAI Responses, OpenAI
/// Chat Completions and Gemini: each client is answered in its own API, whose errors, headers and model lists it gets too.
/// How to point one at it stands below. Requests are listed on standard error as they come; with --format json they are
/// lines of standard output. A program that starts it holds it by --stdin.
#[derive(Debug, clap::Args)]
#[command(after_long_help = format!("{CLIENTS}\n{}", fault::HELP))]
#[expect(clippy::struct_excessive_bools, reason = "flags")]
pub(super) struct Args {
    /// A scenario file, TOML or JSON, the name of a built-in scenario, or a recording or bundle whose answers are served.
    #[arg(default_value = "plain")]
    scenario: String,
    /// The port on 127.0.0.1; a free one by default.
    #[arg(long, value_name = "N", env = "CLAWGATE_MOCK_PORT", value_parser = |text: &str| whole(text, 0, u16::MAX))]
    port: Option<u16>,
    /// Misbehave: `name:key=value,…`, instead of the scenario's own faults in the turns it selects. Repeatable: the
    /// faults of a turn follow each other, attempt by attempt. See the list under --help.
    #[arg(long, value_name = "F")]
    fault: Vec<Fault>,
    /// A seed instead of the scenario's: ids, chunk sizes and jitter follow from it.
    #[arg(long, value_name = "N", value_parser = |text: &str| whole(text, 0, u64::MAX))]
    seed: Option<u64>,
    /// Exit with 100 when a request matched nothing or was invalid, or a turn was never asked for.
    #[arg(long)]
    strict: bool,
    /// Do not list the requests as they come
    #[arg(long, short)]
    quiet: bool,
    /// Be held by standard input: a line asks for a summary so far, which comes once no answer is being written; the
    /// end of it stops, as Ctrl-C does.
    #[arg(long)]
    stdin: bool,
    /// Give the whole body of each request too, as its `content`; what looks like a credential is masked. Needs
    /// --format json.
    #[arg(long)]
    bodies: bool,
    /// Lists the built-in scenarios and stops.
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    format: FormatArg,
}

/// Runs the command.
pub(super) fn run(args: Args) -> Result<exit_code::Outcome, CommandError> {
    if args.list {
        list(args.format.format);
        return Ok(exit_code::Outcome::Ok);
    }
    if args.bodies && args.format.format != Format::Json {
        return Err(CommandError::Usage("--bodies needs --format json".into()));
    }
    let scenario = scenario(&args.scenario)?;
    // One thread beside wiremock's: answering is mostly waking each other up, and more threads wake more.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(CommandError::Start)?.block_on(serve(args, scenario))
}

/// The scenario that was named, or the answers of a recording.
fn scenario(named: &str) -> Result<Scenario, CommandError> {
    let path = Path::new(named);
    if !is_recorded(path) {
        return Project::open()?.scenario(named);
    }
    let opened = Opened::new(path)?;
    let recording = Recording::open(&opened.recording()?)?;
    let text = served_again(&recording).map_err(|error| CommandError::Usage(format!("{named}: {error}")))?;
    Ok(Scenario::parse(named, &text)?)
}

fn list(format: Format) {
    for (name, text) in library::scripts() {
        let description =
            Scenario::parse(name, text).map(|scenario| scenario.description).unwrap_or_default();
        match format {
            Format::Human => data(format_args!("{name:<12} {description}")),
            Format::Json => data(json!({"type": "scenario", "name": name, "description": description})),
        }
    }
}

async fn serve(args: Args, scenario: Scenario) -> Result<exit_code::Outcome, CommandError> {
    // Before the server starts: whoever reads the URL may interrupt at once.
    let listen = |kind| {
        signal(kind).map_err(|error| CommandError::Environment(format!("cannot wait for signals: {error}")))
    };
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    let mut lines = args.stdin.then(stdin_lines).transpose().map_err(CommandError::Start)?;
    let keep_bodies = args.bodies;
    let options =
        Options { port: args.port, faults: args.fault, seed: args.seed, keep_bodies, ..Options::default() };
    let api = MockApi::start(scenario.script, options).await;
    let api = api.map_err(|error| explain(&error, &args.scenario))?;
    announce(&api, &scenario.name, args.format.format);
    let printer = Printer::start().map_err(CommandError::Start)?;
    let mut changes = api.changes();
    let mut seen =
        Seen { last: 0, pending: BTreeSet::new(), format: args.format.format, is_quiet: args.quiet };
    let mut asked = 0;
    loop {
        seen.report(&api, &printer, false);
        if seen.pending.is_empty() {
            (0..mem::take(&mut asked)).for_each(|_| printer.print(&summed_up(&api.journal(), seen.format)));
        }
        tokio::select! {
            _ = interrupt.recv() => break,
            _ = terminate.recv() => break,
            line = next(&mut lines) => match line {
                Some(()) => asked += 1,
                None => break,
            },
            _ = changes.changed(), if !args.quiet || asked > 0 => {}
        }
    }
    seen.report(&api, &printer, true);
    let journal = api.stop().await;
    printer.print(&summed_up(&journal, seen.format));
    printer.finish();
    Ok(exit_code::Outcome::of_findings(args.strict && !journal.summary().is_clean()))
}

/// A word for each line of standard input, until its end. Read by a thread of its own, which the process does not wait for.
fn stdin_lines() -> io::Result<UnboundedReceiver<()>> {
    let (sender, lines) = unbounded_channel();
    threads::spawn("stdin", move || {
        // What cannot be read is the end: whoever held us is gone.
        for line in io::stdin().lock().split(b'\n') {
            if line.is_err() || sender.send(()).is_err() {
                return;
            }
        }
    })?;
    Ok(lines)
}

/// The next line; none at the end, and never where standard input is not asked.
async fn next(lines: &mut Option<UnboundedReceiver<()>>) -> Option<()> {
    match lines {
        Some(lines) => lines.recv().await,
        None => std::future::pending().await,
    }
}

/// Why it did not start, and what the user can do about it.
fn explain(error: &StartError, scenario: &str) -> CommandError {
    match error {
        StartError::Fault(_) => {
            CommandError::Usage(format!("{error} (clawgate mock --help lists the faults)"))
        }
        StartError::Answer { line, .. } => CommandError::Usage(format!("{scenario}:{line}:1: {error}")),
        StartError::PortInUse { .. } | StartError::PortDenied { .. } => {
            CommandError::Environment(format!("{error} (--port N, or leave --port out)"))
        }
        StartError::Socket(_) | StartError::Engine(_) => CommandError::Environment(error.to_string()),
    }
}

fn announce(api: &MockApi, scenario: &str, format: Format) {
    match format {
        Format::Human => {
            data(api.base_url());
            tell(format_args!(
                "serving `{scenario}`; try: ANTHROPIC_BASE_URL={} ANTHROPIC_API_KEY=dummy claude -p hello\n\
                 Ctrl-C stops and sums up",
                api.base_url()
            ));
        }
        Format::Json => data(
            json!({"type": "listening", "schema_version": 1, "base_url": api.base_url(), "scenario": scenario}),
        ),
    }
}

/// Writes to standard output on a thread of its own: a reader that is slow, or busy with what the API answers, must not
/// keep the API from answering.
struct Printer {
    lines: Sender<String>,
    thread: JoinHandle<()>,
}

impl Printer {
    fn start() -> io::Result<Self> {
        let (lines, to_print) = channel::<String>();
        let thread = threads::spawn("printer", move || to_print.iter().for_each(data))?;
        Ok(Self { lines, thread })
    }

    fn print(&self, line: &dyn Display) {
        // It ends with the process where there is no reader any more.
        _ = self.lines.send(line.to_string());
    }

    /// Waits until everything is written.
    fn finish(self) {
        drop(self.lines);
        _ = self.thread.join();
    }
}

/// Which requests have been reported.
struct Seen {
    last: u64,
    pending: BTreeSet<u64>,
    format: Format,
    is_quiet: bool,
}

impl Seen {
    /// Reports what has ended, or everything that is left.
    fn report(&mut self, api: &MockApi, printer: &Printer, all: bool) {
        let count = api.request_count();
        self.pending.extend(self.last + 1..=count);
        self.last = count;
        self.pending.retain(|number| match api.entry(*number) {
            Some(entry) if all || entry.outcome != Outcome::Open => {
                match self.format {
                    _ if self.is_quiet => {}
                    Format::Human => tell(format_args!("{}", line(&entry))),
                    Format::Json => printer.print(&request(&entry, api.content(*number))),
                }
                false
            }
            Some(_) => true,
            // Counted and not kept.
            None => false,
        });
    }
}

/// A request as JSON, with its body where that is kept.
fn request(entry: &JournalEntry, content: Option<Value>) -> Value {
    // Plain data: it can be written.
    let mut request = typed("request", entry).unwrap_or_default();
    if let (Some(content), Some(members)) = (content, request.as_object_mut()) {
        members.insert("content".into(), content);
    }
    request
}

fn line(entry: &JournalEntry) -> String {
    let answered = match (entry.kind, &entry.entry) {
        (Kind::Unmatched, _) => "UNMATCHED".to_owned(),
        (Kind::Turn, Some(name)) if entry.attempt > 1 => format!("{name} (attempt {})", entry.attempt),
        (_, Some(name)) => name.clone(),
        (Kind::BuiltIn, None) => "built in".to_owned(),
        (Kind::Refused, None) => "REFUSED".to_owned(),
        (_, None) => "-".to_owned(),
    };
    let status = entry.status.map_or("-".to_owned(), |status| status.to_string());
    let fault = entry.fault.as_ref().map_or(String::new(), |fault| format!(" [{fault}]"));
    let time = entry.duration_ms.map_or(String::new(), |ms| format!(" {ms:.1} ms"));
    let outcome = serde_json::to_value(entry.outcome).unwrap_or_default();
    let mut text = format!(
        "{:>4} {} {} {answered} {status}{fault} {} B{time} {}",
        entry.number,
        entry.method,
        printable(&entry.path),
        entry.sent_bytes,
        outcome.as_str().unwrap_or_default(),
    );
    for finding in &entry.findings {
        _ = write!(text, "\n     invalid: {} {}", printable(&finding.pointer), printable(&finding.message));
    }
    text
}

/// What was asked, in sum.
fn summed_up(journal: &Journal, format: Format) -> String {
    let summary = journal.summary();
    if format == Format::Json {
        return typed("summary", &summary).unwrap_or_default().to_string();
    }
    let mut text = format!(
        "{} requests: {} turns, {} auxiliary, {} unmatched, {} invalid, {} with a fault",
        summary.requests,
        summary.turns,
        summary.auxiliary,
        summary.unmatched,
        summary.invalid,
        summary.faults
    );
    for name in &summary.unused {
        _ = write!(text, "\nunused turn: {}", printable(name));
    }
    for entry in &journal.requests {
        if entry.kind != Kind::Unmatched {
            continue;
        }
        _ = write!(text, "\nunmatched request {}: {} {}", entry.number, entry.method, printable(&entry.path));
        let Some(unmatched) = &entry.unmatched else { continue };
        if let (Some(nearest), Some(line)) = (&unmatched.nearest, unmatched.line) {
            _ = write!(text, "\n  nearest is turn {} (line {line}), which it misses by", printable(nearest));
        }
        for reason in &unmatched.because {
            _ = write!(text, "\n    {}", printable(reason));
        }
        _ = write!(text, "\n  request: {}", printable(&unmatched.request));
    }
    text
}
