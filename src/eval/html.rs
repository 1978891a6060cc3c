//! The report as one HTML file, with the trials of each case side by side.

use std::fs;
use std::io::{self, BufWriter, Write};

use super::plan::Series;
use super::report::{ArmReport, Report};
use super::statistics::Rate;
use super::store::{Iteration, StoreError};
use super::trial::{Status, Trial};
use crate::printable::printable;

/// Trials shown of each case; the rest are in their directories.
const MOST_TRIALS: u32 = 50;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:80rem;padding:0 1rem;color:#222}\
h1,h2{line-height:1.2}table{border-collapse:collapse;margin:.5rem 0}td,th{border:1px solid #ccc;padding:.25rem .5rem;\
text-align:left;vertical-align:top}.trials{overflow-x:auto}.pass{background:#e3f4e3}.fail{background:#fbe3e3}\
.not{background:#eee;color:#555}.small{font-size:85%;color:#555}@media(prefers-color-scheme:dark){body{background:#181818;\
color:#ddd}td,th{border-color:#444}.pass{background:#183018}.fail{background:#3a1818}.not{background:#2a2a2a;color:#aaa}}";

/// Writes `report.html` into the iteration.
pub(super) fn write(iteration: &Iteration, report: &Report, plan: &[Series<'_>]) -> Result<(), StoreError> {
    let path = iteration.folder.join("report.html");
    let page = || -> io::Result<()> {
        let mut out = BufWriter::new(fs::File::create(&path)?);
        head(&mut out, report)?;
        for series in plan {
            trials(&mut out, iteration, series)?;
        }
        writeln!(out, "</body></html>")?;
        out.flush()
    };
    page().map_err(|source| StoreError::Io { path: path.clone(), source })
}

/// Text from outside as text, never as markup.
fn text(raw: &str) -> String {
    printable(raw)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

fn rate(rate: &Rate) -> String {
    match rate.rate {
        Some(part) => format!(
            "{:.0} % ({} of {}), {:.0}–{:.0} %",
            part * 100.0,
            rate.passed,
            rate.measured,
            rate.low * 100.0,
            rate.high * 100.0
        ),
        None => "not measured".into(),
    }
}

fn head(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let skill = text(&report.skill);
    let status = format!("{:?}", report.status).to_lowercase();
    writeln!(
        out,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{skill}: {status}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head><body>\
         <h1>{skill}: {status}</h1>"
    )?;
    for (heading, lines) in [("Failures", &report.failures), ("To know", &report.warnings)] {
        if !lines.is_empty() {
            writeln!(out, "<h2>{heading}</h2><ul>")?;
            for line in lines {
                writeln!(out, "<li>{}</li>", text(line))?;
            }
            writeln!(out, "</ul>")?;
        }
    }
    writeln!(out, "<table><tr><th>case</th><th>with the skill</th><th>without</th><th>difference</th></tr>")?;
    for case in &report.cases {
        let without = case
            .comparison
            .without_skill
            .as_ref()
            .map_or("–".into(), |arm: &ArmReport| rate(&arm.pass_rate));
        let delta = case.comparison.delta.map_or("–".into(), |delta| {
            format!("{:+.2} ({:+.2} to {:+.2})", delta.difference, delta.low, delta.high)
        });
        let with = rate(&case.comparison.with_skill.pass_rate);
        writeln!(
            out,
            "<tr><td>{}</td><td>{with}</td><td>{without}</td><td>{delta}</td></tr>",
            text(&case.case)
        )?;
    }
    writeln!(out, "</table>")?;
    if let Some(triggers) = &report.triggers {
        writeln!(
            out,
            "<p>Triggers: precision {}, recall {}</p>",
            rate(&triggers.precision),
            rate(&triggers.recall)
        )?;
    }
    let stamp = &report.stamp;
    let made = format!(
        "{} {} · {}",
        stamp.target,
        stamp.version,
        stamp.model.as_deref().unwrap_or("the target's model")
    );
    writeln!(out, "<p class=\"small\">{}</p>", text(&made))
}

fn trials(out: &mut impl Write, iteration: &Iteration, series: &Series<'_>) -> io::Result<()> {
    let shown: Vec<Trial> = series
        .ids()
        .take(MOST_TRIALS as usize)
        .filter_map(|id| iteration.finished(&id, series.case.kind))
        .collect();
    if shown.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<h2>{} · {}</h2><p class=\"small\">{}</p><div class=\"trials\"><table><tr>",
        text(&series.case.id),
        text(&series.arm.name().replace('_', " ")),
        text(series.prompt())
    )?;
    for trial in &shown {
        writeln!(out, "<th>{}</th>", trial.id.trial)?;
    }
    writeln!(out, "</tr><tr>")?;
    for trial in &shown {
        cell(out, trial)?;
    }
    writeln!(out, "</tr></table></div>")?;
    if series.trials > MOST_TRIALS {
        writeln!(out, "<p class=\"small\">and {} more</p>", series.trials - MOST_TRIALS)?;
    }
    Ok(())
}

fn cell(out: &mut impl Write, trial: &Trial) -> io::Result<()> {
    let (class, word) = match trial.status {
        Status::Pass => ("pass", "pass"),
        Status::Fail => ("fail", "FAIL"),
        Status::NotMeasured => ("not", "not measured"),
    };
    let verdict = trial.verdict.as_ref().map_or(String::new(), super::trial::Outcome::named);
    write!(out, "<td class=\"{class}\"><b>{word}</b> <span class=\"small\">{}</span>", text(&verdict))?;
    if let Some(reason) = &trial.reason {
        write!(out, "<br>{}", text(reason))?;
    }
    let checks = trial.assertions.iter().map(|checked| {
        let mark = match checked.status {
            super::assertion::Answer::Pass => "✓",
            super::assertion::Answer::Fail => "✗",
            super::assertion::Answer::Unchecked => "?",
        };
        (mark, &checked.text, &checked.message)
    });
    let judged = trial.expectations.iter().map(|judged| {
        let mark = match judged.passed {
            Some(true) => "✓",
            Some(false) => "✗",
            None => "?",
        };
        (mark, &judged.text, &judged.evidence)
    });
    for (mark, what, found) in checks.chain(judged) {
        write!(out, "<br><span class=\"small\">{mark} {}: {}</span>", text(what), text(found))?;
    }
    let usage = &trial.usage;
    writeln!(
        out,
        "<br><span class=\"small\">{:.1} s · {} tokens · ${:.4} · {} attempts</span></td>",
        usage.seconds,
        usage.tokens(),
        usage.cost_usd,
        trial.attempts.len()
    )
}
