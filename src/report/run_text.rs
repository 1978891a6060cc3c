//! A run for people: what is running while it runs, then a line a case, then why and how to see it again.

use std::io::{self, Write};

use super::printable::printable;
use super::style::{BAD, CAUTION, FAINT, GOOD, NAME};
use crate::harness::run::{CaseFinished, Event, RunFinished, Status};

/// Failures shown in full; the rest are in the recordings and the machine output.
const MOST_REASONS: usize = 8;

/// Tells people of a run, event by event.
#[derive(Debug, Default)]
pub struct RunText {
    failed: Vec<CaseFinished>,
    done: usize,
    total: usize,
}

impl RunText {
    /// Writes what an event means.
    pub fn event(&mut self, out: &mut impl Write, event: &Event) -> io::Result<()> {
        match event {
            Event::RunStarted { cases, targets, jobs, .. } => {
                self.total = *cases;
                let targets: Vec<String> = targets
                    .iter()
                    .map(|target| match target.version.as_str() {
                        "" => target.target.clone(),
                        version => format!("{} ({version})", target.target),
                    })
                    .collect();
                writeln!(
                    out,
                    "{NAME}{cases}{NAME:#} cases on {}, {jobs} at a time",
                    printable(&targets.join(", "))
                )
            }
            Event::CaseStarted { .. } => Ok(()),
            Event::CaseFinished(case) => self.case(out, case),
            Event::RunFinished(run) => self.end(out, run),
        }
    }

    fn case(&mut self, out: &mut impl Write, case: &CaseFinished) -> io::Result<()> {
        self.done += 1;
        let (style, word) = match case.status {
            Status::Pass => (GOOD, "pass"),
            Status::Fail => (BAD, "FAIL"),
            Status::Flaky => (CAUTION, "flaky"),
            Status::Skipped => (FAINT, "skip"),
        };
        let class = case.verdict.as_ref().map_or("no verdict".to_owned(), |verdict| match &verdict.detail {
            Some(detail) => format!("{} ({detail})", verdict.class),
            None => verdict.class.to_string(),
        });
        let reason = case.reason.as_deref().unwrap_or(&class);
        writeln!(
            out,
            "{style}{word:>5}{style:#} {FAINT}{:>8.0} ms{FAINT:#}  {} {FAINT}{} · {}{FAINT:#}",
            case.duration_ms,
            printable(&case.case),
            printable(&case.target),
            printable(reason)
        )?;
        if case.status == Status::Fail {
            self.failed.push(case.clone());
        }
        Ok(())
    }

    fn end(&mut self, out: &mut impl Write, run: &RunFinished) -> io::Result<()> {
        for case in &self.failed {
            writeln!(out)?;
            writeln!(
                out,
                "{BAD}FAIL{BAD:#} {NAME}{}{NAME:#} on {}",
                printable(&case.case),
                printable(&case.target)
            )?;
            for failure in case.failures.iter().take(MOST_REASONS) {
                writeln!(out, "  {CAUTION}{}{CAUTION:#}: {}", failure.kind, printable(&failure.message))?;
            }
            if case.failures.len() > MOST_REASONS {
                writeln!(out, "  and {} more", case.failures.len() - MOST_REASONS)?;
            }
            if let Some(recording) = &case.recording {
                writeln!(out, "  recording: {}", printable(recording))?;
            }
            writeln!(out, "  again:     {}", printable(&case.replay))?;
        }
        writeln!(out)?;
        let style = if run.failed > 0 || run.interrupted { BAD } else { GOOD };
        write!(out, "{style}{} passed{style:#}", run.passed)?;
        for (count, word) in [(run.failed, "failed"), (run.flaky, "flaky"), (run.skipped, "skipped")] {
            if count > 0 {
                write!(out, ", {count} {word}")?;
            }
        }
        let interrupted = if run.interrupted { ", interrupted" } else { "" };
        writeln!(out, "{interrupted} in {:.1} s", run.duration_ms as f64 / 1000.0)
    }
}
