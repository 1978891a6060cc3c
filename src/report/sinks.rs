//! Where reports go: several at once, all from one stream of events, none of them able to spoil another.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::context::Context;
use super::document::{self, RenderError};
use super::run_report::RunReport;
use super::sarif::Baseline;
use super::terminal::Terminal;
use super::{conformance, github, gitlab, html, junit, markdown, sarif, tap};
use crate::run::Event;
use crate::run::Recorded;
use crate::text::{Masker, nearest, printable_json, trouble};

/// A kind of report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// For people, while it happens.
    Terminal,
    /// The events, one JSON object a line.
    Json,
    /// XML for the test tab of a CI system.
    Junit,
    /// Lines of the Test Anything Protocol.
    Tap,
    /// JSON for code scanning.
    Sarif,
    /// Annotations and a step summary for GitHub Actions.
    Github,
    /// GitLab's code quality report.
    Gitlab,
    /// What failed, as Markdown.
    Markdown,
    /// One page that needs no network.
    Html,
    /// Which clauses hold on which target, as Markdown.
    Conformance,
}

impl Kind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 10] = [
        Self::Terminal,
        Self::Json,
        Self::Junit,
        Self::Tap,
        Self::Sarif,
        Self::Github,
        Self::Gitlab,
        Self::Markdown,
        Self::Html,
        Self::Conformance,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Json => "json",
            Self::Junit => "junit",
            Self::Tap => "tap",
            Self::Sarif => "sarif",
            Self::Github => "github",
            Self::Gitlab => "gitlab",
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Conformance => "conformance",
        }
    }

    /// The file below the output folder when no path is given; none for what goes to standard output.
    fn file(self) -> Option<&'static str> {
        match self {
            Self::Terminal | Self::Json | Self::Github => None,
            Self::Junit => Some("junit.xml"),
            Self::Tap => Some("report.tap"),
            Self::Sarif => Some("report.sarif"),
            Self::Gitlab => Some("gl-code-quality-report.json"),
            Self::Markdown => Some("report.md"),
            Self::Html => Some("report.html"),
            Self::Conformance => Some("conformance.md"),
        }
    }
}

/// A report that is wished for: `junit=report.xml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportRequest {
    /// Which report is asked for.
    pub kind: Kind,
    /// Where it goes; `-` is standard output.
    pub path: Option<PathBuf>,
}

impl ReportRequest {
    /// A report of this kind in its usual place.
    pub fn new(kind: Kind) -> Self {
        Self { kind, path: None }
    }

    /// A report of this kind in this file.
    pub fn to_file(kind: Kind, path: PathBuf) -> Self {
        Self { kind, path: Some(path) }
    }

    /// Whether it goes to standard output.
    pub fn is_on_stdout(&self) -> bool {
        match &self.path {
            Some(path) => path.as_os_str() == "-",
            None => self.kind.file().is_none(),
        }
    }

    fn destination(&self, out: &Path) -> Destination {
        match (&self.path, self.kind.file()) {
            _ if self.is_on_stdout() => Destination::Stdout,
            (Some(path), _) => Destination::File { path: path.clone(), own_folder: false },
            (None, file) => Destination::File { path: out.join(file.unwrap_or("report")), own_folder: true },
        }
    }
}

impl FromStr for ReportRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, path) = text.split_once('=').map_or((text, None), |(name, path)| (name, Some(path)));
        let names = || Kind::ALL.into_iter().map(Kind::name);
        let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.name() == name) else {
            return Err(match nearest(name, names()) {
                Some(known) => format!("unknown report `{name}`, did you mean `{known}`?"),
                None => {
                    format!(
                        "unknown report `{name}`, expected one of: {}",
                        names().collect::<Vec<_>>().join(", ")
                    )
                }
            });
        };
        match path {
            Some("") => Err(format!("`{text}` names no file: write {name}=PATH, or {name} alone")),
            path => Ok(Self { kind, path: path.map(PathBuf::from) }),
        }
    }
}

#[derive(Debug, Clone)]
enum Destination {
    Stdout,
    Stderr,
    File {
        path: PathBuf,
        /// Whether the folder is ours to make.
        own_folder: bool,
    },
}

impl Destination {
    fn name(&self) -> String {
        match self {
            Self::Stdout => "standard output".into(),
            Self::Stderr => "standard error".into(),
            Self::File { path, .. } => path.display().to_string(),
        }
    }
}

/// Options of single kinds.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Where files go that have no path of their own.
    pub out: PathBuf,
    /// The terminal that shows the run while it goes on.
    pub terminal: Option<Terminal>,
    /// The earlier report that SARIF compares with.
    pub baseline: Option<Baseline>,
    /// Recordings of further targets, for the conformance report.
    pub(crate) recorded: Vec<Recorded>,
    /// The file that GitHub Actions shows as the summary of the step.
    pub step_summary: Option<PathBuf>,
}

/// A report that could not be written.
#[derive(Debug)]
#[non_exhaustive]
pub struct LostReport {
    pub kind: Kind,
    /// Where it should have gone.
    pub destination: String,
    /// Why it did not.
    pub reason: String,
    /// Whether nobody wanted to read it any more: a closed pipe.
    pub unread: bool,
}

/// The reports of a run.
pub struct Sinks {
    context: Context,
    options: Options,
    all: Vec<Sink>,
    report: RunReport,
}

struct Sink {
    kind: Kind,
    destination: Destination,
    stream: Option<Box<dyn Write>>,
    error: Option<(String, bool)>,
}

impl Sinks {
    /// Opens the reports that are wished for.
    pub fn open(wishes: &[ReportRequest], context: Context, options: Options) -> Self {
        let mut sinks = Vec::new();
        // GitHub reads both channels; data keeps standard output for itself.
        let is_data =
            |wish: &ReportRequest| wish.is_on_stdout() && !matches!(wish.kind, Kind::Terminal | Kind::Github);
        let taken = wishes.iter().any(is_data);
        for wish in wishes {
            let destination = match wish.destination(&options.out) {
                Destination::Stdout if wish.kind == Kind::Github && taken => Destination::Stderr,
                destination => destination,
            };
            let mut sink = Sink { kind: wish.kind, destination, stream: None, error: None };
            if let Err(error) = sink.open() {
                sink.fail(&error);
            }
            sinks.push(sink);
        }
        Self { context, options, all: sinks, report: RunReport::default() }
    }

    /// Passes an event on to every report.
    pub fn on_event(&mut self, event: &Event) {
        self.report.add(event);
        for sink in self.all.iter_mut().filter(|sink| sink.error.is_none()) {
            let Some(stream) = &mut sink.stream else { continue };
            let written = match sink.kind {
                Kind::Json => serde_json::to_string(event)
                    .map_err(io::Error::from)
                    .and_then(|line| writeln!(stream, "{}", printable_json(&Masker::default().mask(&line)))),
                _ => match &mut self.options.terminal {
                    Some(terminal) => terminal.on_event(stream, event, &self.context),
                    None => Ok(()),
                },
            };
            if let Err(error) = written.and_then(|()| stream.flush()) {
                sink.fail(&error);
            }
        }
    }

    /// Writes what is written at the end, and says which reports are lost and which files are there.
    pub fn finish(mut self) -> (RunReport, Vec<LostReport>, Vec<PathBuf>) {
        for sink in &mut self.all {
            if sink.error.is_some() || sink.stream.is_some() {
                continue;
            }
            if let Err(reason) = sink.write(&self.report, &self.context, &self.options) {
                sink.error = Some(reason);
            }
        }
        let written =
            self.all.iter().filter(|sink| sink.error.is_none()).filter_map(|sink| match &sink.destination {
                Destination::File { path, .. } => Some(path.clone()),
                Destination::Stdout | Destination::Stderr => None,
            });
        let written = written.collect();
        let lost = self.all.into_iter().filter_map(|sink| {
            let (reason, unread) = sink.error?;
            Some(LostReport { kind: sink.kind, destination: sink.destination.name(), reason, unread })
        });
        let lost = lost.collect();
        (self.report, lost, written)
    }
}

impl Sink {
    /// Opens what is written to while the run goes on.
    fn open(&mut self) -> io::Result<()> {
        if let Destination::File { path, own_folder: true } = &self.destination
            && let Some(folder) = path.parent()
        {
            std::fs::create_dir_all(folder)?;
        }
        if !matches!(self.kind, Kind::Terminal | Kind::Json) {
            return Ok(());
        }
        self.stream = Some(match (&self.destination, self.kind) {
            // What is meant for people loses its colours where nobody sees them; data passes untouched.
            (Destination::Stdout, Kind::Terminal) => Box::new(anstream::stdout()),
            (Destination::Stderr, _) => Box::new(anstream::stderr()),
            (Destination::Stdout, _) => Box::new(BufWriter::new(io::stdout())),
            (Destination::File { path, .. }, Kind::Terminal) => {
                Box::new(anstream::StripStream::new(File::create(path)?))
            }
            (Destination::File { path, .. }, _) => Box::new(BufWriter::new(File::create(path)?)),
        });
        Ok(())
    }

    fn fail(&mut self, error: &io::Error) {
        let unread =
            error.kind() == io::ErrorKind::BrokenPipe && matches!(self.destination, Destination::Stdout);
        let reason = match &self.destination {
            Destination::File { path, .. } => trouble(path, error),
            Destination::Stdout | Destination::Stderr => error.to_string(),
        };
        self.error = Some((reason, unread));
    }

    fn write(&self, run: &RunReport, context: &Context, options: &Options) -> Result<(), (String, bool)> {
        let told = |error: &io::Error| (error.to_string(), error.kind() == io::ErrorKind::BrokenPipe);
        let text = self.render(run, context, options).map_err(|error| (error.to_string(), false))?;
        // What a user wrote into a scenario may be one, too.
        let text = Masker::default().mask(&text);
        match &self.destination {
            Destination::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| told(&error))?;
            }
            Destination::Stderr => {
                io::stderr().lock().write_all(text.as_bytes()).map_err(|error| told(&error))?;
            }
            Destination::File { path, .. } => {
                document::write(path, &text).map_err(|error| (trouble(path, &error), false))?;
            }
        }
        if self.kind == Kind::Github
            && let Some(summary) = &options.step_summary
        {
            let text = markdown::render(run, context).map_err(|error| (error.to_string(), false))?;
            append(summary, &text)
                .map_err(|error| (format!("{}: {}", summary.display(), trouble(summary, &error)), false))?;
        }
        Ok(())
    }

    fn render(&self, run: &RunReport, context: &Context, options: &Options) -> Result<String, RenderError> {
        match self.kind {
            Kind::Junit => Ok(junit::render(run, context)),
            Kind::Tap => Ok(tap::render(run)),
            Kind::Sarif => {
                Ok(printable_json(&sarif::render(run, context, options.baseline.as_ref())).into_owned())
            }
            Kind::Github => Ok(github::annotations(run, context)),
            Kind::Gitlab => Ok(printable_json(&gitlab::render(run, context)).into_owned()),
            Kind::Markdown => markdown::render(run, context),
            Kind::Html => Ok(html::render(run, context)),
            Kind::Conformance => conformance::render(run, &options.recorded, context),
            Kind::Terminal | Kind::Json => Ok(String::new()),
        }
    }
}

/// GitHub refuses a summary that is longer than a mebibyte.
const SUMMARY: usize = 1 << 20;

fn append(path: &Path, text: &str) -> io::Result<()> {
    let mut end = text.len().min(SUMMARY - 1024);
    if end < text.len() {
        // Cut between lines, so that no tag or entity is halved.
        end = memchr::memrchr(b'\n', &text.as_bytes()[..end]).unwrap_or(0);
    }
    let mut file = File::options().append(true).create(true).open(path)?;
    file.write_all(&text.as_bytes()[..end])?;
    if end < text.len() {
        file.write_all(b"\n\n</details>\n\nThe rest does not fit into a step summary.\n")?;
    }
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_a_kind_and_perhaps_a_path() {
        let wish = |text: &str| text.parse::<ReportRequest>();
        assert_eq!(wish("junit=a=b.xml").unwrap().path, Some("a=b.xml".into()));
        assert!(wish("json").unwrap().is_on_stdout() && wish("html=-").unwrap().is_on_stdout());
        assert!(!wish("html").unwrap().is_on_stdout());
        assert_eq!(wish("juint").unwrap_err(), "unknown report `juint`, did you mean `junit`?");
        assert!(wish("zebra").unwrap_err().contains("expected one of: terminal, json"));
        assert!(wish("html=").unwrap_err().contains("html=PATH"));
    }
}
