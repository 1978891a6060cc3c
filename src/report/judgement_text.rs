//! The terminal view of a judgement: what happened, whose fault it was, what to do, and on what evidence.

use std::io::{self, Write};

use serde_json::Value;

use crate::classify::{Class, Evidence, Verdict};
use crate::judge::{Contracts, Judgement};
use crate::schema::Finding;
use crate::stream_json::{Session, Summary};

use super::log_judgement::write_log;
use super::numbers::{counted, grouped};
use super::style::{BAD, CAUTION, FAINT, GOOD, NAME};
use crate::run::{BrokenClause, Process, Word};
use crate::text::printable;

/// Findings shown of one input; `--format json` has all of them.
const MAX_FINDINGS: usize = 12;
/// Clauses of one input that are told how to mend.
const MAX_FIXES: usize = 6;
/// Warnings shown of one input.
const MAX_WARNINGS: usize = 5;

/// Writes the view of one input.
///
/// `process` is how the target was started and how it ended, as far as that is known; it is told of a run that failed.
pub(crate) fn write_judgement(
    out: &mut dyn Write,
    input: &str,
    judgement: &Judgement,
    process: &Process,
    contracts: &Contracts,
) -> io::Result<()> {
    if let Some(log) = judgement.log {
        write_log(out, input, judgement, log)?;
        return write_fixes(out, judgement, contracts);
    }
    let Some(verdict) = &judgement.verdict else { return Ok(()) };
    let style = if verdict.is_ok() { GOOD } else { BAD };
    let detail =
        verdict.detail.as_deref().map(|detail| format!(" ({})", printable(detail))).unwrap_or_default();
    writeln!(
        out,
        "{NAME}{}{NAME:#}: {style}{}{style:#}{detail}: {}",
        printable(input),
        verdict.class,
        verdict.class.meaning()
    )?;
    if !verdict.is_ok() {
        writeln!(out, "  {}", advice(verdict))?;
    }
    if !verdict.is_ok() || judgement.findings.iter().any(Finding::fails) {
        write_process(out, process)?;
    }
    section(out, "because", &verdict.evidence, usize::MAX, evidence_line)?;
    if !verdict.advisories.is_empty() {
        let names: Vec<_> = verdict.advisories.iter().map(|advisory| advisory.name()).collect();
        writeln!(out, "  also      {CAUTION}{}{CAUTION:#}", names.join(", "))?;
    }
    findings(out, judgement)?;
    write_fixes(out, judgement, contracts)?;
    if let Some(session) = &judgement.session {
        write_session(out, session, judgement)?;
    }
    if let Some(summary) = &judgement.summary {
        irregularities(out, summary)?;
    }
    if let Some(run) = &judgement.run {
        section(out, "warnings", &run.warnings, MAX_WARNINGS, |warning| printable(warning).into_owned())?;
    }
    Ok(())
}

fn write_process(out: &mut dyn Write, process: &Process) -> io::Result<()> {
    let mut before = "";
    for (label, text) in process.told() {
        // A line of a target's making never stands at the beginning of ours: a CI system would obey it.
        let bar = if label == "stderr" { "│ " } else { "" };
        writeln!(out, "  {:<9} {bar}{}", if label == before { "" } else { label }, printable(text))?;
        before = label;
    }
    Ok(())
}

/// How to mend what is broken: each clause once.
fn write_fixes(out: &mut dyn Write, judgement: &Judgement, contracts: &Contracts) -> io::Result<()> {
    let mut clauses: Vec<&str> = Vec::new();
    for finding in judgement.findings.iter().filter(|finding| finding.fails()) {
        if !clauses.contains(&finding.clause.as_str()) {
            clauses.push(&finding.clause);
        }
    }
    section(out, "fix", &clauses, MAX_FIXES, |id| {
        let clause = BrokenClause::of(id, contracts);
        let fix = if clause.fix.is_empty() { &clause.text } else { &clause.fix };
        format!("{fix}\n            {FAINT}{}{FAINT:#}", printable(&clause.explain))
    })
}

fn advice(verdict: &Verdict) -> String {
    let retry = if verdict.retryable { "a retry may help" } else { "a retry will not help" };
    let counts = if verdict.counts { "" } else { ", does not count against the task" };
    let until =
        verdict.resets_at.map(|at| format!(" (the limit ends at unix time {at})")).unwrap_or_default();
    let claw = verdict.claw.as_ref();
    let hint = claw.and_then(|claw| claw.hint.as_deref()).map(|hint| format!("; hint: {}", printable(hint)));
    let reuse = claw
        .and_then(|claw| claw.safe_to_reuse_session)
        .map(|safe| if safe { "; the session may be used again" } else { "; use a fresh session" });
    format!(
        "blame: {}; {retry}{until}{counts}. To do: {}{}{}.",
        verdict.blame,
        to_do(verdict),
        hint.unwrap_or_default(),
        reuse.unwrap_or_default()
    )
}

fn to_do(verdict: &Verdict) -> &'static str {
    match verdict.class {
        Class::Api if verdict.retryable => "run it again in a moment",
        Class::Api => "correct what the API refuses, see the evidence",
        class => class.advice(),
    }
}

pub(super) fn section<T>(
    out: &mut dyn Write,
    title: &str,
    items: &[T],
    limit: usize,
    show: impl Fn(&T) -> String,
) -> io::Result<()> {
    for (i, item) in items.iter().take(limit).enumerate() {
        writeln!(out, "  {:<9} {}", if i == 0 { title } else { "" }, show(item))?;
    }
    if items.len() > limit {
        writeln!(
            out,
            "  {:<9} {FAINT}and {} more (--format json lists them){FAINT:#}",
            "",
            items.len() - limit
        )?;
    }
    Ok(())
}

fn evidence_line(evidence: &Evidence) -> String {
    let place = match (evidence.line, evidence.pointer.as_deref()) {
        (Some(line), Some(pointer)) => format!("line {line} {pointer} is "),
        (Some(line), None) => format!("line {line}: "),
        (None, Some(pointer)) if !pointer.is_empty() => format!("{pointer} is "),
        _ => String::new(),
    };
    let value = match &evidence.value {
        Value::String(text) => format!("\"{}\"", printable(text)),
        other => printable(&other.to_string()).into_owned(),
    };
    let basis = Word::from(evidence.basis);
    format!("{place}{value}  {FAINT}{} · {basis}{FAINT:#}", evidence.rule)
}

fn findings(out: &mut dyn Write, judgement: &Judgement) -> io::Result<()> {
    let Some(contract) = judgement.contract.as_deref() else { return Ok(()) };
    let told = if judgement.contract_detected { " (a guess; --contract NAME decides)" } else { "" };
    let broken = judgement.findings.iter().filter(|finding| finding.fails()).count();
    let style = if broken > 0 { BAD } else { FAINT };
    let rest = judgement.findings.len() - broken;
    if judgement.findings.is_empty() {
        return writeln!(out, "  contract  {FAINT}{}{told}: every clause kept{FAINT:#}", printable(contract));
    }
    writeln!(
        out,
        "  contract  {}{told}: {style}{} broken{style:#}, {}",
        printable(contract),
        counted(broken as u64, "must clause", "must clauses"),
        counted(rest as u64, "lesser finding", "lesser findings")
    )?;
    // In a single document the pointer is the place.
    let is_stream = judgement.summary.is_some();
    section(out, "", &judgement.findings, MAX_FINDINGS, |finding| finding_line(finding, is_stream))
}

/// A finding on a line.
pub(super) fn finding_line(finding: &Finding, has_lines: bool) -> String {
    let pointer = finding.pointer.as_deref();
    let line = finding.line.filter(|_| has_lines || pointer.is_none());
    let line = line.map(|line| format!("line {line} ")).unwrap_or_default();
    // Most sentences begin with the place themselves.
    let pointer = pointer.filter(|pointer| !pointer.is_empty() && !finding.message.contains(pointer));
    let pointer = pointer.map(|pointer| format!("{} ", printable(pointer))).unwrap_or_default();
    let (level, reason) = match &finding.known {
        Some(reason) => ("known", format!(" (accepted: {})", printable(reason))),
        None => (finding.level.name(), String::new()),
    };
    format!("{level:<9} {} {line}{pointer}{}{reason}", finding.clause, printable(&finding.message))
}

fn write_session(out: &mut dyn Write, session: &Session, judgement: &Judgement) -> io::Result<()> {
    let last = session.results.last();
    let mut facts = Vec::new();
    facts.extend(session.model.as_deref().map(|model| printable(model).into_owned()));
    facts.extend(session.cli_version.as_deref().map(|version| format!("CLI {}", printable(version))));
    facts.extend(
        last.and_then(|result| result.num_turns).map(|turns| counted(turns.unsigned_abs(), "turn", "turns")),
    );
    if session.result_count > 1 {
        facts.push(counted(session.result_count, "result", "results"));
    }
    if session.retries.count > 0 {
        facts.push(counted(session.retries.count, "retry", "retries"));
    }
    if let Some(run) = &judgement.run {
        facts.push(format!("exit {}", run.exit_code));
        facts.push(format!("{:.1} s", run.duration_seconds));
    }
    if !facts.is_empty() {
        writeln!(out, "  run       {}", facts.join(" · "))?;
    }
    if let Some(result) = last {
        let usage = result.usage;
        let cost = session.results.iter().rev().find_map(|result| result.cost_usd);
        writeln!(
            out,
            "  tokens    {} in, {} out, {} cache read, {} cache written{}",
            grouped(usage.input),
            grouped(usage.output),
            grouped(usage.cache_read),
            grouped(usage.cache_creation),
            cost.map(|cost| format!(" · ${cost:.4}")).unwrap_or_default()
        )?;
    }
    let tools: Vec<_> = session
        .tools
        .by_name
        .iter()
        .map(|(name, stats)| {
            let failed = if stats.errors > 0 { format!(", {} failed", stats.errors) } else { String::new() };
            let open = if stats.unanswered > 0 {
                format!(", {} unanswered", stats.unanswered)
            } else {
                String::new()
            };
            format!("{} ×{}{failed}{open}", printable(name), stats.calls)
        })
        .collect();
    if !tools.is_empty() {
        writeln!(out, "  tools     {}", tools.join("; "))?;
    }
    let lost = session.tasks().iter().filter(|task| task.is_lost()).count();
    if !session.tasks().is_empty() {
        let tasks = counted(session.tasks().len() as u64, "task", "tasks");
        writeln!(out, "  tasks     {tasks}, {lost} lost")?;
    }
    Ok(())
}

fn irregularities(out: &mut dyn Write, summary: &Summary) -> io::Result<()> {
    let kinds: Vec<_> = summary.tally.counts().collect();
    section(out, "odd", &kinds, usize::MAX, |(kind, count)| {
        let first = summary.tally.samples().iter().find(|sample| sample.kind == *kind);
        let place = first.map(|sample| format!(", first on line {} at byte {}", sample.line, sample.offset));
        format!("{}: {}{}", kind.describe(), counted(*count, "time", "times"), place.unwrap_or_default())
    })
}
