//! A run for people: a line a case, what is wrong as soon as it is known, and at the end what matters first.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;

use unicode_width::UnicodeWidthStr as _;

use super::cause::{Cause, causes, reasons};
use super::context::Context;
use super::evidence::{Printed, printed, versus};
use super::merge::EVENTS_FILE;
use super::numbers::counted;
use super::quote::Quote;
use super::run_report::counts;
use super::style::{BAD, CAUTION, FAINT, GOOD, NAME};
use super::wrap::{broken, cut};
use crate::run::{CaseFinished, Event, FailureKind, Finding, Process, RunFinished, RunStarted, Status};
use crate::shell::shell_word;
use crate::text::printable;

/// Causes told in full at the end; of the rest the names are enough.
const MOST_TOLD: usize = 12;
/// Cases named of one cause.
const MOST_NAMED: usize = 20;
/// Lines shown of a difference from a snapshot.
const MOST_LINES: usize = 14;
/// Reasons told of one failure.
const MOST_REASONS: usize = 6;
/// Columns of a paragraph where nobody says how many there are.
const COLUMNS: usize = 100;

/// The target of a run that names none.
const REFERENCE: &str = "reference";

/// How much is told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verbosity {
    /// Failures and the end.
    Quiet,
    /// A line a case.
    #[default]
    Normal,
    /// Also what a case that passed rests on.
    Verbose,
}

/// Tells people of a run, event by event.
#[derive(Debug, Default)]
pub struct Terminal {
    /// Where paragraphs are broken.
    columns: usize,
    /// Where lines are cut; none where nothing but a person's screen would need it.
    cut: Option<usize>,
    verbosity: Verbosity,
    failed: Vec<CaseFinished>,
    /// How many cases were not run, by the reason.
    not_run: BTreeMap<String, u64>,
    started: RunStarted,
}

impl Terminal {
    /// For a terminal of so many columns; none where the output goes to a file or a pipe, and lines stay whole.
    pub fn new(columns: Option<usize>, verbosity: Verbosity) -> Self {
        let cut = columns.map(|columns| columns.clamp(40, 400));
        Self { columns: cut.unwrap_or(COLUMNS), cut, verbosity, ..Self::default() }
    }

    /// Writes what an event means.
    pub fn on_event(&mut self, out: &mut dyn Write, event: &Event, context: &Context) -> io::Result<()> {
        match event {
            Event::RunStarted(started) => {
                self.started = started.clone();
                self.begin(out)
            }
            Event::CaseFinished(case) => self.case(out, case),
            Event::RunFinished(finished) => self.end(out, finished, context),
            Event::CaseStarted(_) | Event::Unknown => Ok(()),
        }
    }

    fn begin(&self, out: &mut dyn Write) -> io::Result<()> {
        let started = &self.started;
        let targets: Vec<String> = started.targets.iter().map(ToString::to_string).collect();
        let part = match &started.plan {
            plan if plan.of > 1 => format!(", part {} of {} ({} in all)", plan.shard, plan.of, plan.cases),
            _ => String::new(),
        };
        let text = format!(
            "{} on {}, {} at a time{part}",
            if started.cases == 1 { "1 case".to_owned() } else { format!("{} cases", started.cases) },
            printable(&targets.join(", ")),
            started.jobs
        );
        self.wrapped(out, 0, &text)
    }

    fn case(&mut self, out: &mut dyn Write, case: &CaseFinished) -> io::Result<()> {
        if case.status == Status::Fail {
            self.failed.push(case.clone());
        }
        if let Some(reason) = case.not_begun() {
            *self.not_run.entry(reason.to_owned()).or_default() += 1;
            return Ok(());
        }
        if self.verbosity == Verbosity::Quiet && case.status != Status::Fail {
            return Ok(());
        }
        let (style, word) = match case.status {
            Status::Pass if case.is_known() => (CAUTION, "known"),
            Status::Pass => (GOOD, "pass"),
            Status::Fail => (BAD, "FAIL"),
            Status::Flaky => (CAUTION, "flaky"),
            Status::Skipped => (FAINT, "skip"),
        };
        let mut reason = case.reason.clone().unwrap_or_else(|| case.outcome());
        if case.status == Status::Fail && reason == case.expected {
            reason = reasons(case).join(", ");
        }
        if let Some(first) = case.known.first().filter(|_| case.is_known()) {
            let (count, why) = (case.known.len(), first.known.as_deref().unwrap_or_default());
            let failures = counted(count as u64, "known failure", "known failures");
            reason = format!("{reason} · {failures}: {why}");
        }
        // " pass     48 ms  " is 17 columns; the name has to stand whole, the rest is cut.
        let room = self.room(17);
        let name = cut(&printable(&case.title()), room);
        let rest = format!("{} · {}", printable(&case.target), printable(&reason));
        let rest = match room.saturating_sub(name.width() + 1) {
            left if left < 8 => String::new(),
            left => format!(" {}", cut(&rest, left)),
        };
        writeln!(
            out,
            "{style}{word:>5}{style:#} {FAINT}{:>9}{FAINT:#}  {name}{FAINT}{rest}{FAINT:#}",
            milliseconds(case.duration_ms)
        )?;
        if case.status == Status::Fail {
            for failure in case.failures.iter().take(2) {
                let text = cut(&printable(&format!("{}: {}", failure.kind, failure.message)), self.room(17));
                writeln!(out, "{:17}{CAUTION}{text}{CAUTION:#}", "")?;
            }
        }
        if self.verbosity == Verbosity::Verbose {
            self.more(out, case)?;
        }
        Ok(())
    }

    /// What a case rests on.
    fn more(&self, out: &mut dyn Write, case: &CaseFinished) -> io::Result<()> {
        let mut lines = Vec::new();
        if let Some(verdict) = &case.verdict {
            for evidence in verdict.evidence.iter().take(2) {
                let place = evidence.line.map_or(String::new(), |line| format!(" on line {line}"));
                lines.push(format!("because {} {}{place}", evidence.rule, evidence.value));
            }
        }
        for failure in &case.known {
            let why = failure.known.as_deref().unwrap_or_default();
            lines.push(format!("known {}: {} ({why})", failure.kind, failure.message));
        }
        for finding in case.findings.iter().filter(|finding| finding.known.is_none()) {
            lines.push(format!("{} {}: {}", finding.level, finding.clause, finding.message));
        }
        if let Some(recording) = &case.recording {
            lines.push(format!("recording {recording}"));
        }
        for line in lines {
            let text = cut(&printable(&line), self.room(17));
            writeln!(out, "{:17}{FAINT}{text}{FAINT:#}", "")?;
        }
        Ok(())
    }

    fn end(&self, out: &mut dyn Write, finished: &RunFinished, context: &Context) -> io::Result<()> {
        for (at, cause) in causes(&self.failed).iter().enumerate() {
            self.cause(out, cause, at < MOST_TOLD, context)?;
        }
        writeln!(out)?;
        for entry in finished.failing_entries() {
            let place = format!("{}:{}", entry.file, entry.line);
            writeln!(
                out,
                "{BAD}stale{BAD:#} {NAME}{}{NAME:#}: {}",
                printable(&place),
                printable(&entry.message)
            )?;
        }
        for (reason, count) in &self.not_run {
            let cases = counted(*count, "case", "cases");
            writeln!(out, "{CAUTION}{cases}{CAUTION:#} {}", printable(reason))?;
        }
        if let Some(note) = finished.isolation_note() {
            writeln!(out, "{FAINT}note: {}{FAINT:#}", printable(&note))?;
        }
        let is_bad =
            finished.failed > 0 || finished.interrupted || finished.failing_entries().next().is_some();
        let style = if is_bad { BAD } else { GOOD };
        let mut parts = counts(finished);
        let rest = parts.split_off(1).join(", ");
        let rest = if rest.is_empty() { rest } else { format!(", {rest}") };
        let first = parts.concat();
        let interrupted = if finished.interrupted { ", interrupted" } else { "" };
        writeln!(
            out,
            "{style}{first}{style:#}{rest}{interrupted} in {:.1} s",
            finished.duration_ms as f64 / 1000.0
        )?;
        // What is run from a file of its own has its own command, above.
        if finished.failed > 0 && self.failed.iter().all(|case| case.source.is_none()) {
            let targets: BTreeSet<&str> = self.failed.iter().map(|case| case.target.as_str()).collect();
            let mut again = String::from("clawgate run --rerun failed");
            for target in targets.into_iter().filter(|target| *target != REFERENCE) {
                again.push_str(" --target ");
                again.push_str(&shell_word(target));
            }
            if self.started.out != "clawgate-out" && !self.started.out.is_empty() {
                again.push_str(" --out ");
                again.push_str(&shell_word(&self.started.out));
            }
            // A command is not broken into lines, or it could not be copied.
            let label = "again with what failed:";
            let fits = label.width() + 1 + again.width() <= self.columns;
            let between = if fits { " " } else { "\n" };
            writeln!(out, "{FAINT}{label}{between}{}{FAINT:#}", printable(&again))?;
        }
        Ok(())
    }

    /// What several cases fail for: one of them in full, then the others with what only they fail for.
    fn cause(
        &self,
        out: &mut dyn Write,
        cause: &Cause<'_>,
        in_full: bool,
        context: &Context,
    ) -> io::Result<()> {
        let Some((first, others)) = cause.cases.split_first() else { return Ok(()) };
        writeln!(out)?;
        if !others.is_empty() {
            let cases = counted(cause.cases.len() as u64, "case", "cases");
            writeln!(out, "{BAD}{cases}{BAD:#}: {NAME}{}{NAME:#}", printable(&cause.name))?;
        }
        let mut told = Vec::new();
        let named = if in_full {
            self.failure(out, first, context)?;
            told = reasons(first);
            if !others.is_empty() {
                writeln!(out, "  {CAUTION}and{CAUTION:#}")?;
            }
            others
        } else {
            told.push(cause.name.clone());
            &cause.cases
        };
        for case in named.iter().take(MOST_NAMED) {
            let more: Vec<String> =
                reasons(case).into_iter().filter(|reason| !told.contains(reason)).collect();
            let more = if more.is_empty() { String::new() } else { format!(": {}", more.join(", ")) };
            let text = format!("{} on {}{more}", case.title(), case.target);
            writeln!(out, "    {}", cut(&printable(&text), self.room(4)))?;
        }
        if named.len() > MOST_NAMED {
            let more = named.len() - MOST_NAMED;
            writeln!(out, "    {FAINT}and {more} more, each a FAIL line above{FAINT:#}")?;
        }
        Ok(())
    }

    /// One failure in full: the verdict, the clauses in words, expected against seen, and how to see it again.
    fn failure(&self, out: &mut dyn Write, case: &CaseFinished, context: &Context) -> io::Result<()> {
        writeln!(
            out,
            "{BAD}FAIL{BAD:#} {NAME}{}{NAME:#} on {}",
            printable(&case.title()),
            printable(&case.target)
        )?;
        if !case.description.is_empty() {
            self.labelled(out, "", &case.description)?;
        }
        if let Some(process) = &case.process {
            self.process(out, process)?;
        }
        self.verdict(out, case)?;
        let (mut told, mut more) = (0, 0);
        for failure in case.other_failures().filter(|failure| failure.kind != FailureKind::Verdict) {
            if told >= MOST_REASONS {
                more += 1;
                continue;
            }
            told += 1;
            self.labelled(out, &failure.kind.to_string(), &failure.message)?;
            self.difference(out, &failure.diff)?;
        }
        if more > 0 {
            let events = Path::new(&self.started.out).join(EVENTS_FILE).display().to_string();
            copied(out, &format!("and {}", counted(more, "more reason", "more reasons")), &events)?;
        }
        let mut clauses: Vec<&str> = Vec::new();
        (told, more) = (0, 0);
        for finding in case.failing_findings() {
            // One of a kind is enough to see what is wrong.
            if clauses.contains(&finding.clause.as_str()) || told >= MOST_REASONS {
                more += 1;
                continue;
            }
            told += 1;
            clauses.push(&finding.clause);
            self.finding(out, case, finding, context)?;
        }
        if more > 0 {
            let findings = counted(more, "more finding", "more findings");
            match &case.recording {
                Some(recording) => copied(
                    out,
                    &format!("and {findings}"),
                    &format!("clawgate judge {} --format json", shell_word(recording)),
                )?,
                None => copied(
                    out,
                    &format!("and {findings}"),
                    &Path::new(&self.started.out).join(EVENTS_FILE).display().to_string(),
                )?,
            }
        }
        for earlier in &case.earlier {
            let why = earlier.failures.first().map_or(String::new(), |failure| failure.message.clone());
            self.labelled(out, "before", &why)?;
        }
        if let Some(recording) = &case.recording {
            copied(out, "recording", recording)?;
        }
        copied(out, "again", &case.replay)
    }

    /// How the target was started, how it ended and what it complained of.
    fn process(&self, out: &mut dyn Write, process: &Process) -> io::Result<()> {
        let mut before = "";
        for (label, text) in process.told() {
            match label {
                "command" => copied(out, label, text)?,
                // A line of a target's making never stands at the beginning of ours: a CI system would obey it.
                "stderr" => {
                    let label = if label == before { "" } else { label };
                    let text = cut(&printable(text), self.room(14));
                    writeln!(out, "  {CAUTION}{label:>9}{CAUTION:#} {FAINT}│{FAINT:#} {text}")?;
                }
                _ => self.labelled(out, label, text)?,
            }
            before = label;
        }
        Ok(())
    }

    /// The beginning of a difference from a snapshot; the message above it has the command that shows all.
    fn difference(&self, out: &mut dyn Write, lines: &[String]) -> io::Result<()> {
        for line in lines.iter().take(MOST_LINES) {
            let style = match line.chars().next() {
                Some('-') => BAD,
                Some('+') => GOOD,
                _ => FAINT,
            };
            let text = cut(&printable(line), self.room(13));
            writeln!(out, "             {style}{text}{style:#}")?;
        }
        let more = lines.len().saturating_sub(MOST_LINES);
        if more > 0 { writeln!(out, "             {FAINT}… {more} lines more{FAINT:#}") } else { Ok(()) }
    }

    /// What was expected to become of the run, what did, and on what evidence.
    fn verdict(&self, out: &mut dyn Write, case: &CaseFinished) -> io::Result<()> {
        let Some(verdict) = &case.verdict else { return Ok(()) };
        let meaning = match verdict.class.known() {
            Some(class) => format!("{}: {}", case.outcome(), class.meaning()),
            None => case.outcome(),
        };
        if case.failures.iter().any(|failure| failure.kind == FailureKind::Verdict) {
            self.labelled(out, "expected", &case.expected)?;
        }
        self.labelled(out, "found", &format!("{meaning} (blame: {})", verdict.blame))?;
        let Some(evidence) = verdict.evidence.first() else { return Ok(()) };
        // An empty pointer is the whole of it.
        let pointer = evidence.pointer.as_deref().filter(|pointer| !pointer.is_empty());
        let place = match (evidence.line, pointer) {
            (Some(line), Some(pointer)) => format!(" on line {line} at {pointer}"),
            (Some(line), None) => format!(" on line {line}"),
            (None, Some(pointer)) => format!(" at {pointer}"),
            (None, None) => String::new(),
        };
        self.labelled(out, "because", &format!("{}{place}: {}", evidence.rule, evidence.value))
    }

    fn finding(
        &self,
        out: &mut dyn Write,
        case: &CaseFinished,
        finding: &Finding,
        context: &Context,
    ) -> io::Result<()> {
        self.labelled(out, &finding.level.to_string(), &format!("{}: {}", finding.clause, finding.message))?;
        let clause = context.broken(case, &finding.clause);
        if !clause.text.is_empty() {
            self.labelled(out, "clause", &clause.text)?;
        }
        let columns = self.columns.saturating_sub(15);
        let found = case
            .recording
            .as_ref()
            .and_then(|recording| printed(&context.path(recording).join("stdout"), finding, columns));
        for (label, text) in versus(finding, found.as_ref()) {
            self.labelled(out, label, &text)?;
        }
        if let Some(Printed::Line(quote)) = &found {
            self.quote(out, finding, quote)?;
        }
        if !clause.fix.is_empty() {
            self.labelled(out, "fix", &clause.fix)?;
        }
        copied(out, "explain", &clause.explain)
    }

    fn quote(&self, out: &mut dyn Write, finding: &Finding, quote: &Quote) -> io::Result<()> {
        let label = finding.line.map_or("stdout".to_owned(), |line| format!("line {line}"));
        writeln!(out, "  {FAINT}{label:>9}{FAINT:#} {FAINT}│{FAINT:#} {}", printable(&quote.text))?;
        let note = format!("byte {}", finding.offset.unwrap_or_default());
        let note = if 13 + quote.column + quote.width + 1 + note.len() > self.columns {
            String::new()
        } else {
            format!(" {note}")
        };
        writeln!(
            out,
            "            {FAINT}│{FAINT:#} {}{BAD}{}{BAD:#}{FAINT}{note}{FAINT:#}",
            " ".repeat(quote.column),
            "^".repeat(quote.width.min(self.columns.saturating_sub(15 + quote.column)).max(1))
        )
    }

    /// What is left of a line after so many columns.
    fn room(&self, taken: usize) -> usize {
        self.cut.map_or(usize::MAX, |columns| columns.saturating_sub(taken))
    }

    /// A label, and a text beside it that is broken into lines.
    fn labelled(&self, out: &mut dyn Write, label: &str, text: &str) -> io::Result<()> {
        let label = printable(label);
        let text = cut(&printable(text), self.cut.map_or(usize::MAX, |columns| columns * 4));
        let mut lines = broken(&text, self.columns.saturating_sub(13)).into_iter();
        let colon = if label.is_empty() { ' ' } else { ':' };
        let first = lines.next().unwrap_or_default();
        writeln!(out, "  {CAUTION}{label:>9}{CAUTION:#}{colon} {first}")?;
        for line in lines {
            writeln!(out, "             {line}")?;
        }
        Ok(())
    }

    fn wrapped(&self, out: &mut dyn Write, indent: usize, text: &str) -> io::Result<()> {
        for line in broken(text, self.columns.saturating_sub(indent)) {
            writeln!(out, "{:indent$}{line}", "")?;
        }
        Ok(())
    }
}

/// A label, and what is there to be copied: it is not broken into lines.
fn copied(out: &mut dyn Write, label: &str, text: &str) -> io::Result<()> {
    writeln!(out, "  {CAUTION}{label:>9}{CAUTION:#}: {}", printable(text))
}

fn milliseconds(ms: f64) -> String {
    if ms >= 100_000.0 { format!("{:.0} s", ms / 1000.0) } else { format!("{ms:.0} ms") }
}
