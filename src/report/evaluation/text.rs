//! An evaluation for people: a line a trial, then what it comes to.

use std::io::{self, Write};

use crate::eval::statistics::Share;
use crate::eval::{Comparison, Event, Options, Report, ReportStatus, SkillState, Status, Store, Trial};
use crate::text::printable;

use super::super::style::{BAD, CAUTION, FAINT, GOOD, NAME};
use super::{blind, difference, rate};

/// Warnings shown; the rest are in the report.
const MOST_WARNINGS: usize = 12;
/// Earlier evaluations shown in the trend.
const MOST_HISTORY: usize = 10;

/// A pass rate as a bar.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Tells people of an evaluation, event by event.
pub(crate) struct EvaluationText<'r> {
    options: &'r Options,
    store: &'r Store,
}

impl<'r> EvaluationText<'r> {
    pub(crate) fn new(options: &'r Options, store: &'r Store) -> Self {
        Self { options, store }
    }

    /// Writes what an event means.
    pub(crate) fn event(&mut self, out: &mut dyn Write, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Started { iteration, trials, finished } => {
                let stamp = &iteration.stamp;
                let before =
                    if *finished > 0 { format!(", {finished} of them done before") } else { String::new() };
                writeln!(
                    out,
                    "{NAME}{}{NAME:#}: {trials} trials on {} {}{before}, {} at a time",
                    printable(&stamp.skill),
                    printable(&stamp.target),
                    printable(&stamp.version),
                    self.options.jobs
                )?;
                for condition in &stamp.conditions {
                    let (name, value) = (printable(&condition.name), printable(&condition.value));
                    writeln!(out, "  {FAINT}{name}{FAINT:#}  {value}")?;
                }
                Ok(())
            }
            Event::TrialStarted(_) => Ok(()),
            Event::Waiting(why) => writeln!(out, "{FAINT}{:>5} {}{FAINT:#}", "…", printable(why)),
            Event::TrialFinished(trial) => write_trial(out, trial),
            Event::Finished(report) => self.report(out, report),
        }
    }

    fn report(&self, out: &mut dyn Write, report: &Report) -> io::Result<()> {
        writeln!(out)?;
        for case in &report.measured.cases {
            write_comparison(out, &case.case, &case.comparison)?;
        }
        if report.measured.cases.len() > 1 {
            write_comparison(out, "all", &report.measured.overall)?;
        }
        if let Some(triggers) = &report.measured.triggers {
            let (precision, recall) = (rate(&triggers.precision), rate(&triggers.recall));
            writeln!(out, "{NAME}triggers{NAME:#}  precision {precision}  recall {recall}")?;
            for (arm, of_arm) in &triggers.arms {
                let (precision, recall) = (rate(&of_arm.precision), rate(&of_arm.recall));
                writeln!(out, "  {}  precision {precision}  recall {recall}", printable(arm))?;
            }
            if let Some((arm, halves)) = triggers.best() {
                let (chosen_on, held_out) = (rate(&halves.chosen_on), rate(&halves.held_out));
                writeln!(out, "  best is {}: {chosen_on} right, held out {held_out}", printable(arm))?;
            }
            for wrong in &triggers.wrong {
                let should = if wrong.should_trigger { "should trigger" } else { "should not trigger" };
                let prompt: String = wrong.prompt.chars().take(60).collect();
                writeln!(
                    out,
                    "  {should} and came out right {} of {}: {}",
                    wrong.right.passed,
                    wrong.right.measured,
                    printable(&prompt)
                )?;
            }
        }
        for (arm, found) in &report.measured.blind {
            writeln!(out, "{}", printable(&blind(arm, found)))?;
        }
        if let Some(judge) = &report.measured.judge {
            let of = |share: Share| format!("{} of {}", share.count, share.of);
            writeln!(
                out,
                "{NAME}judge{NAME:#}  said of {} that they hold which do not, and of {} the reverse; {} judgements not believed",
                of(judge.false_passes),
                of(judge.false_failures),
                of(judge.not_believed)
            )?;
        }
        for (reason, count) in &report.measured.not_measured {
            writeln!(out, "{CAUTION}not measured{CAUTION:#} {count} × {}", printable(reason))?;
        }
        if let Some(baseline) = &report.conclusion.baseline {
            match (&baseline.not_compared, baseline.change) {
                (Some(why), _) => writeln!(
                    out,
                    "{FAINT}not compared with {}: {}{FAINT:#}",
                    printable(&baseline.iteration),
                    printable(why)
                )?,
                (None, Some(change)) => {
                    let word = if baseline.regression { "worse beyond chance" } else { "no regression" };
                    writeln!(
                        out,
                        "against {}: {} ({word})",
                        printable(&baseline.iteration),
                        difference(change)
                    )?;
                }
                (None, None) => {}
            }
        }
        self.trend(out, report)?;
        for warning in report.conclusion.warnings.iter().take(MOST_WARNINGS) {
            writeln!(out, "{CAUTION}note{CAUTION:#} {}", printable(warning))?;
        }
        if report.conclusion.warnings.len() > MOST_WARNINGS {
            writeln!(
                out,
                "{FAINT}and {} more in report.json{FAINT:#}",
                report.conclusion.warnings.len() - MOST_WARNINGS
            )?;
        }
        for failure in &report.conclusion.failures {
            writeln!(out, "{BAD}FAIL{BAD:#} {}", printable(failure))?;
        }
        let spent = &report.measured.spent;
        let (style, word) = match report.conclusion.status {
            ReportStatus::Pass => (GOOD, "pass"),
            ReportStatus::Fail => (BAD, "FAIL"),
            ReportStatus::Invalid => (BAD, "INVALID"),
            ReportStatus::Incomplete => (BAD, "too little measured"),
            ReportStatus::Interrupted => (BAD, "interrupted"),
        };
        writeln!(out, "{style}{word}{style:#}, ${:.4} and {} tokens spent", spent.cost_usd, spent.tokens())?;
        writeln!(out, "{FAINT}report: {}/report.html{FAINT:#}", printable(&report.subject.iteration))?;
        if !report.conclusion.complete {
            let why = report.conclusion.halted.as_deref().unwrap_or("not every trial was run");
            writeln!(out, "not finished: {}; go on with the same command and --resume", printable(why))?;
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
                stamp.is_some_and(|stamp| report.subject.stamp.differs(&stamp).is_none())
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
    let is_right = (trial.status == Status::Pass) == trial.kind.is_known_to_pass();
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
        SkillState::Read => notes.push("used by reading it".into()),
        SkillState::Refused => notes.push("called and refused".into()),
        SkillState::Loaded => notes.push("not used".into()),
        SkillState::NotLoaded => notes.push("not loaded".into()),
        SkillState::Absent => {}
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
        printable(&trial.id.to_string()),
        printable(&notes.join(" · "))
    )
}

fn write_comparison(out: &mut dyn Write, name: &str, comparison: &Comparison) -> io::Result<()> {
    let with = &comparison.with_skill;
    write!(out, "{NAME}{}{NAME:#}  with {}", printable(name), rate(&with.pass_rate))?;
    if let Some(without) = &comparison.without_skill {
        write!(out, "  without {}", rate(&without.pass_rate))?;
    }
    if let Some(delta) = comparison.delta {
        write!(out, "  {}", difference(delta))?;
    }
    let (used, total) = (with.skill_used, with.skill_used + with.skill_unused);
    if total > 0 {
        write!(out, "  used {used} of {total}")?;
    }
    if let (Some(cost), Some(seconds)) = (with.median_cost_usd, with.median_seconds) {
        write!(out, "  {FAINT}median ${cost:.4}, {seconds:.1} s{FAINT:#}")?;
    }
    writeln!(out)?;
    for arm in &comparison.arms {
        write!(out, "  {FAINT}{}{FAINT:#} {}", printable(&arm.name), rate(&arm.report.pass_rate))?;
        if let Some(delta) = arm.delta {
            write!(out, "  with is {}", difference(delta))?;
        }
        if let (Some(cost), Some(seconds)) = (arm.report.median_cost_usd, arm.report.median_seconds) {
            write!(out, "  {FAINT}median ${cost:.4}, {seconds:.1} s{FAINT:#}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}
