//! An evaluation for people: a line a trial, then what it comes to.

use std::io::{self, Write};

use crate::eval::spec::Kind;
use crate::eval::statistics::{Difference, Rate};
use crate::eval::{
    ArmReport, CaseReport, Event, Options, Report, ReportStatus, SkillState, Status, Store, Trial,
};
use crate::report::safe;
use crate::report::style::{BAD, CAUTION, FAINT, GOOD, NAME};

/// Warnings shown; the rest are in the report.
const MOST_WARNINGS: usize = 12;
/// Earlier evaluations shown in the trend.
const MOST_HISTORY: usize = 10;

/// A pass rate as a bar.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Tells people of an evaluation, event by event.
pub(in crate::cli) struct EvalText<'r> {
    options: &'r Options,
    store: &'r Store,
}

impl<'r> EvalText<'r> {
    pub(in crate::cli) fn new(options: &'r Options, store: &'r Store) -> Self {
        Self { options, store }
    }

    /// Writes what an event means.
    pub(in crate::cli) fn event(&mut self, out: &mut dyn Write, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Started { iteration, trials, finished } => {
                let stamp = &iteration.stamp;
                let before =
                    if *finished > 0 { format!(", {finished} of them done before") } else { String::new() };
                writeln!(
                    out,
                    "{NAME}{}{NAME:#}: {trials} trials on {} {}{before}, {} at a time",
                    safe(&stamp.skill),
                    safe(&stamp.target),
                    safe(&stamp.version),
                    self.options.jobs
                )
            }
            Event::TrialStarted(_) => Ok(()),
            Event::Waiting(why) => writeln!(out, "{FAINT}{:>5} {}{FAINT:#}", "…", safe(why)),
            Event::TrialFinished(trial) => write_trial(out, trial),
            Event::Finished(report) => self.report(out, report),
        }
    }

    fn report(&self, out: &mut dyn Write, report: &Report) -> io::Result<()> {
        writeln!(out)?;
        for case in &report.cases {
            write_case(out, case)?;
        }
        if report.cases.len() > 1 {
            write_comparison(
                out,
                "all",
                &report.overall.with_skill,
                report.overall.without_skill.as_ref(),
                report.overall.delta,
            )?;
        }
        if let Some(triggers) = &report.triggers {
            let (precision, recall) = (rate(&triggers.precision), rate(&triggers.recall));
            writeln!(out, "{NAME}triggers{NAME:#}  precision {precision}  recall {recall}")?;
            for wrong in &triggers.wrong {
                let should = if wrong.should_trigger { "should trigger" } else { "should not trigger" };
                let prompt: String = wrong.prompt.chars().take(60).collect();
                writeln!(
                    out,
                    "  {should} and came out right {} of {}: {}",
                    wrong.right.passed,
                    wrong.right.measured,
                    safe(&prompt)
                )?;
            }
        }
        for (reason, count) in &report.not_measured {
            writeln!(out, "{CAUTION}not measured{CAUTION:#} {count} × {}", safe(reason))?;
        }
        if let Some(baseline) = &report.baseline {
            match (&baseline.not_compared, baseline.change) {
                (Some(why), _) => writeln!(
                    out,
                    "{FAINT}not compared with {}: {}{FAINT:#}",
                    safe(&baseline.iteration),
                    safe(why)
                )?,
                (None, Some(change)) => {
                    let word = if baseline.regression { "worse beyond chance" } else { "no regression" };
                    writeln!(out, "against {}: {} ({word})", safe(&baseline.iteration), difference(change))?;
                }
                (None, None) => {}
            }
        }
        self.trend(out, report)?;
        for warning in report.warnings.iter().take(MOST_WARNINGS) {
            writeln!(out, "{CAUTION}note{CAUTION:#} {}", safe(warning))?;
        }
        if report.warnings.len() > MOST_WARNINGS {
            writeln!(
                out,
                "{FAINT}and {} more in report.json{FAINT:#}",
                report.warnings.len() - MOST_WARNINGS
            )?;
        }
        for failure in &report.failures {
            writeln!(out, "{BAD}FAIL{BAD:#} {}", safe(failure))?;
        }
        let spent = &report.spent;
        let (style, word) = match report.status {
            ReportStatus::Pass => (GOOD, "pass"),
            ReportStatus::Fail => (BAD, "FAIL"),
            ReportStatus::Invalid => (BAD, "INVALID"),
            ReportStatus::Incomplete => (BAD, "too little measured"),
            _ => (BAD, "interrupted"),
        };
        writeln!(out, "{style}{word}{style:#}, ${:.4} and {} tokens spent", spent.cost_usd, spent.tokens())?;
        writeln!(out, "{FAINT}report: {}/report.html{FAINT:#}", safe(&report.iteration))?;
        if !report.complete {
            let why = report.halted.as_deref().unwrap_or("not every trial was run");
            writeln!(out, "not finished: {}; go on with the same command and --resume", safe(why))?;
        }
        Ok(())
    }

    /// The pass rates of comparable evaluations, oldest first.
    fn trend(&self, out: &mut dyn Write, report: &Report) -> io::Result<()> {
        let rates: Vec<f64> = self
            .store
            .history()
            .iter()
            .filter(|entry| {
                let stamp = serde_json::from_value(entry["stamp"].clone()).ok();
                stamp.is_some_and(|stamp| report.stamp.differs(&stamp).is_none())
            })
            .filter_map(|entry| entry["with_skill"]["rate"].as_f64())
            .collect();
        if rates.len() < 2 {
            return Ok(());
        }
        let last = &rates[rates.len().saturating_sub(MOST_HISTORY)..];
        let bars: String = last.iter().map(|rate| BARS[((rate * 7.0).round() as usize).min(7)]).collect();
        let numbers: Vec<String> = last.iter().map(|rate| format!("{:.0} %", rate * 100.0)).collect();
        writeln!(out, "trend {bars}  {}", numbers.join(", "))
    }
}

fn write_trial(out: &mut dyn Write, trial: &Trial) -> io::Result<()> {
    let is_right = (trial.status == Status::Pass) == (trial.kind == Kind::ControlPass);
    let (style, word) = match trial.status {
        Status::NotMeasured => (FAINT, "–"),
        // A control is right when it does what is known of it, which may be to fail.
        _ if trial.kind.is_control() && is_right => (GOOD, "ok"),
        _ if trial.kind.is_control() => (BAD, "WRONG"),
        Status::Pass => (GOOD, "pass"),
        Status::Fail => (BAD, "FAIL"),
    };
    let mut notes = Vec::new();
    if let Some(verdict) = &trial.verdict {
        notes.push(verdict.named());
    }
    match trial.skill {
        SkillState::Used => notes.push("used".into()),
        SkillState::Loaded => notes.push("not used".into()),
        SkillState::NotLoaded => notes.push("not loaded".into()),
        _ => {}
    }
    if trial.attempts.len() > 1 {
        notes.push(format!("{} attempts", trial.attempts.len()));
    }
    if let Some(reason) = trial.reason.as_ref().filter(|_| word != "ok") {
        notes.push(reason.clone());
    }
    writeln!(
        out,
        "{style}{word:>5}{style:#} {FAINT}{:>7.1} s{FAINT:#}  {} {FAINT}{}{FAINT:#}",
        trial.usage.seconds,
        safe(&trial.id.to_string()),
        safe(&notes.join(" · "))
    )
}

fn rate(rate: &Rate) -> String {
    match rate.rate {
        Some(part) => format!(
            "{:.0} % ({} of {}, {:.0}–{:.0} %)",
            part * 100.0,
            rate.passed,
            rate.measured,
            rate.low * 100.0,
            rate.high * 100.0
        ),
        None => "not measured".into(),
    }
}

fn difference(change: Difference) -> String {
    format!("{:+.2} ({:+.2} to {:+.2})", change.difference, change.low, change.high)
}

fn write_case(out: &mut dyn Write, case: &CaseReport) -> io::Result<()> {
    let comparison = &case.comparison;
    write_comparison(
        out,
        &case.case,
        &comparison.with_skill,
        comparison.without_skill.as_ref(),
        comparison.delta,
    )
}

fn write_comparison(
    out: &mut dyn Write,
    name: &str,
    with: &ArmReport,
    without: Option<&ArmReport>,
    delta: Option<Difference>,
) -> io::Result<()> {
    write!(out, "{NAME}{}{NAME:#}  with {}", safe(name), rate(&with.pass_rate))?;
    if let Some(without) = without {
        write!(out, "  without {}", rate(&without.pass_rate))?;
    }
    if let Some(delta) = delta {
        write!(out, "  {}", difference(delta))?;
    }
    let (used, total) = (with.skill_used, with.skill_used + with.skill_unused);
    if total > 0 {
        write!(out, "  used {used} of {total}")?;
    }
    if let (Some(cost), Some(seconds)) = (with.median_cost_usd, with.median_seconds) {
        write!(out, "  {FAINT}median ${cost:.4}, {seconds:.1} s{FAINT:#}")?;
    }
    writeln!(out)
}
