//! `--report`, `--format`, `--quiet` and `--verbose`: which reports are made of a run, and where they go.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use super::output::say;
use super::{CommandError, Format};
use crate::document;
use crate::exit_code::Outcome;
use crate::report::merge::EVENTS_FILE;
use crate::report::{
    Baseline, Context, Kind, Options, ReportRequest, Sinks, Terminal, Verbosity, columns_of,
};
use crate::run::{RecordedFolder, Tested};
use crate::text::trouble;

#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct ReportArgs {
    /// A report: terminal, json, junit, tap, sarif, github, gitlab, markdown, html or conformance. PATH may be `-`; without
    /// it the report goes to its usual file in --out, or to standard output (terminal, json, github). Several at once
    #[arg(
        long,
        value_name = "KIND[=PATH]",
        env = "CLAWGATE_REPORT",
        value_delimiter = ',',
        help_heading = "Reports"
    )]
    report: Vec<ReportRequest>,
    /// For people, or one JSON object a line for programs: short for --report terminal or --report json
    #[arg(long, value_enum, env = "CLAWGATE_FORMAT", help_heading = "Reports")]
    format: Option<Format>,
    /// Only failures and the summary
    #[arg(long, short, conflicts_with = "verbose", help_heading = "Reports")]
    quiet: bool,
    /// Also what each verdict rests on, lesser findings, and where the recording is
    #[arg(long, short, help_heading = "Reports")]
    verbose: bool,
    /// Exit with 3 when the run put less than so many per cent of its contracts' clauses to the test
    #[arg(long, value_name = "PERCENT", value_parser = percent, help_heading = "Reports")]
    min_coverage: Option<f64>,
    /// Recordings or fixtures of a target that is not at hand, held to a contract: a column of the conformance report. They are no
    /// cases of the run and fail nothing
    #[arg(long, value_name = "CONTRACT=DIR", help_heading = "Reports")]
    recorded: Vec<RecordedFolder>,
    /// An earlier SARIF report; results are then marked new, unchanged or absent
    #[arg(long, value_name = "FILE", help_heading = "Reports")]
    baseline: Option<PathBuf>,
}

impl ReportArgs {
    /// These reports beside an output of this form that somebody else writes.
    pub(super) fn beside(report: Vec<ReportRequest>, format: Format) -> Self {
        Self { report, format: Some(format), ..Self::default() }
    }

    /// Opens the reports that are not the output itself; none when there are none.
    pub(super) fn open_beside(&self, out: &Path) -> Result<Option<Sinks>, CommandError> {
        let mut wishes = self.wishes(|name| std::env::var(name).ok()).map_err(CommandError::Usage)?;
        wishes.retain(|wish| !matches!(wish.kind, Kind::Terminal | Kind::Json));
        if wishes.is_empty() { Ok(None) } else { self.open_these(&wishes, out).map(Some) }
    }

    /// Takes over what a profile says, where the user says nothing.
    pub(super) fn settle(&mut self, reports: Option<Vec<String>>) -> Result<(), String> {
        if self.report.is_empty() {
            let parsed =
                reports.unwrap_or_default().iter().map(|text| text.parse()).collect::<Result<_, _>>();
            self.report = parsed?;
        }
        Ok(())
    }

    pub(super) fn format(&self) -> Format {
        self.format.unwrap_or(Format::Human)
    }

    /// Whether a line that says what is running does not disturb anybody.
    pub(super) fn shows_progress(&self) -> bool {
        !self.quiet
    }

    /// Opens the reports; `out` is where those go that have no path of their own.
    pub(super) fn open(&self, out: &Path) -> Result<Sinks, CommandError> {
        let events = ReportRequest::to_file(Kind::Json, out.join(EVENTS_FILE));
        let mut wishes = self.wishes(|name| std::env::var(name).ok()).map_err(CommandError::Usage)?;
        wishes.push(events);
        self.open_these(&wishes, out)
    }

    /// Opens exactly these reports.
    fn open_these(&self, wishes: &[ReportRequest], out: &Path) -> Result<Sinks, CommandError> {
        let mut options = Options::default();
        out.clone_into(&mut options.out);
        // The folder is ours; what cannot be made is told by whoever needs it.
        _ = std::fs::create_dir_all(out);
        options.terminal = Some(Terminal::new(columns(), self.verbosity()));
        options.step_summary = std::env::var_os("GITHUB_STEP_SUMMARY").map(PathBuf::from);
        options.baseline = self.baseline.as_deref().map(baseline).transpose().map_err(CommandError::Usage)?;
        if !self.recorded.is_empty() && wishes.iter().all(|wish| wish.kind != Kind::Conformance) {
            let reason = "--recorded is for the conformance report: add --report conformance=PATH";
            return Err(CommandError::Usage(reason.into()));
        }
        for folder in &self.recorded {
            let judged = folder.judge().map_err(|error| CommandError::Usage(error.to_string()))?;
            options.recorded.push(judged);
        }
        let here = std::env::current_dir()?;
        Ok(Sinks::open(wishes, Context::new(here), options))
    }

    fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        }
    }

    /// The reports that are wished for, by flags and by where we are.
    fn wishes(&self, env: impl Fn(&str) -> Option<String>) -> Result<Vec<ReportRequest>, String> {
        let mut wishes = self.report.clone();
        let on_stdout = |wishes: &[ReportRequest]| -> Vec<String> {
            let taking = wishes.iter().filter(|wish| wish.is_on_stdout() && wish.kind != Kind::Github);
            taking.map(|wish| wish.kind.name().to_owned()).collect()
        };
        let has = |wishes: &[ReportRequest], kind| {
            wishes.iter().any(|wish: &ReportRequest| wish.kind == kind && wish.is_on_stdout())
        };
        let first = match self.format {
            Some(Format::Json) => Some(Kind::Json),
            Some(Format::Human) => Some(Kind::Terminal),
            None => on_stdout(&wishes).is_empty().then_some(Kind::Terminal),
        };
        if let Some(kind) = first.filter(|kind| !has(&wishes, *kind)) {
            wishes.insert(0, ReportRequest::new(kind));
        }
        let taking = on_stdout(&wishes);
        if taking.len() > 1 {
            return Err(format!(
                "standard output cannot be {} at once: give all but one of them a file, as in {}=PATH",
                taking.join(" and "),
                taking[1]
            ));
        }
        for (at, wish) in wishes.iter().enumerate() {
            let same = |other: &ReportRequest| {
                other.path.is_some() && other.path == wish.path && !wish.is_on_stdout()
            };
            if let Some(other) = wishes[..at].iter().find(|other| same(other)) {
                return Err(format!(
                    "{} and {} cannot both be written to {}",
                    other.kind.name(),
                    wish.kind.name(),
                    wish.path.as_deref().unwrap_or(Path::new("-")).display()
                ));
            }
        }
        let in_actions = env("GITHUB_ACTIONS").is_some_and(|value| value == "true");
        if in_actions && wishes.iter().all(|wish| wish.kind != Kind::Github) {
            wishes.push(ReportRequest::new(Kind::Github));
        }
        Ok(wishes)
    }
}

/// A share of a hundred.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse::<f64>().ok();
    number
        .filter(|number| (0.0..=100.0).contains(number))
        .ok_or_else(|| "expected per cent, such as 80".into())
}

/// Ends the reports, tells of those that are lost, and answers with the outcome that follows from that alone.
pub(super) fn finish(args: &ReportArgs, sinks: Sinks) -> Outcome {
    let (report, lost, written) = sinks.finish();
    // The events are ours, and every run has them.
    let told = written.iter().filter(|path| path.file_name().is_none_or(|name| name != EVENTS_FILE));
    for path in told {
        say(&format!("wrote {}", path.display()));
    }
    let mut outcome = Outcome::Ok;
    if let (Some(wanted), Ok(here)) = (args.min_coverage, std::env::current_dir()) {
        let (judged, exercised) = Tested::of(&report.cases, &here).clauses();
        let share = if judged == 0 { 0.0 } else { exercised as f64 / judged as f64 * 100.0 };
        if share < wanted {
            let message = format!(
                "too little was measured: {exercised} of {judged} clauses ({share:.1} %), and --min-coverage is {wanted} %"
            );
            outcome = CommandError::Environment(message).told();
        }
    }
    // Whoever closed the pipe has seen enough; the verdict stands.
    for lost in lost.iter().filter(|lost| !lost.unread) {
        let message =
            format!("the report {} is lost: {}: {}", lost.kind.name(), lost.destination, lost.reason);
        outcome = CommandError::Environment(message).told();
    }
    outcome
}

fn baseline(path: &Path) -> Result<Baseline, String> {
    let at = |reason: String| format!("{}: {reason}", path.display());
    let text = document::read(path).map_err(|error| {
        at(format!("{}; --baseline takes what an earlier --report sarif=PATH wrote", trouble(path, &error)))
    })?;
    Baseline::parse(&text).map_err(at)
}

/// How wide what people see may be; none where nobody says so and no terminal is there to be looked at.
fn columns() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let stdout = io::stdout();
    said.or_else(|| if stdout.is_terminal() { columns_of(&stdout) } else { None })
}
