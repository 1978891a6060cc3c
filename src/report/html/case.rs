//! One case: why it failed, its timeline, its transcript with the findings where they are, its environment.

use maud::{Markup, html};
use serde_json::Value;

use super::super::context::Context;
use super::super::evidence::{Printed, about, printed, versus};
use super::super::output::{self, Lines};
use super::timeline::Content;
use super::{shown, timeline};
use crate::recording::{Facts, Recording};
use crate::run::{CaseFinished, FailureKind, Finding, Status};
use crate::text::clip;

/// How much of all recordings goes into one page; beyond it only failures are told in full.
#[derive(Debug)]
pub(super) struct Budget {
    left: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { left: 12 << 20 }
    }
}

/// Lines of a transcript, and bytes of each, for a case that failed and for one that did not.
const FAILED: (usize, usize) = (300, 4000);
const OTHER: (usize, usize) = (60, 700);

pub(super) fn render(
    case: &CaseFinished,
    number: usize,
    place: usize,
    context: &Context,
    budget: &mut Budget,
) -> Markup {
    let failed = case.status == Status::Fail;
    let words: Vec<String> = case.findings.iter().map(|finding| shown(&finding.clause)).collect();
    html! {
        details class={ "case " (case.status.name()) @if case.is_known() { " known" } } id={ "case-" (number) }
            data-target=(shown(&case.target)) data-clauses=(words.join(" ")) open[failed && place == 0] {
            summary {
                span class={ "pill " (case.status.name()) @if case.is_known() { " known" } } { (case.status_word()) }
                span.title { (shown(&case.title())) }
                span.target { (shown(&case.target)) }
                span.class { (shown(case.reason.as_deref().unwrap_or(&case.outcome()))) }
                span.time { @if case.status != Status::Skipped { (format!("{:.0} ms", case.duration_ms)) } }
            }
            div.body {
                @if !case.description.is_empty() { p.lead { (shown(&case.description)) } }
                (reasons(case, context))
                @if case.recording.is_some() { (recording(case, context, budget)) }
                p.again { span { "Again" } code { (shown(&case.replay)) } }
            }
        }
    }
}

/// Why it is what it is.
fn reasons(case: &CaseFinished, context: &Context) -> Markup {
    html! {
        dl.verdict {
            dt { "expected" } dd { (shown(&case.expected)) }
            @if let Some(verdict) = &case.verdict {
                dt { "found" } dd {
                    b { (shown(&case.outcome())) }
                    @if let Some(class) = verdict.class.known() { ": " (class.meaning()) }
                    " · blame " (shown(&verdict.blame))
                    @if verdict.retryable { " · a retry may help" }
                    @for advisory in &verdict.advisories { " · " (shown(advisory)) }
                }
                @if let Some(evidence) = verdict.evidence.first() {
                    dt { "because" } dd { code { (shown(&evidence.rule)) } " " (shown(&evidence.basis))
                        @if let Some(line) = evidence.line { ", line " (line) }
                        @if let Some(pointer) = evidence.pointer.as_ref().filter(|pointer| !pointer.is_empty()) { ", " code { (shown(pointer)) } }
                        @if !evidence.value.is_null() { ": " code { (shown(&evidence.value.to_string())) } }
                    }
                }
            }
            @if let Some(process) = &case.process {
                @if !process.command.is_empty() { dt { "command" } dd { code { (shown(&process.command)) } } }
                @if !process.exit.is_empty() { dt { "ended" } dd { (shown(&process.exit)) } }
                @if !process.stderr.is_empty() { dt { "stderr" } dd { pre.tail {
                    @if process.more_stderr { "…\n" }
                    @for line in &process.stderr { span { (shown(line)) } "\n" }
                } } }
            }
            @if case.attempts > 1 { dt { "attempts" } dd { (case.attempts)
                @for earlier in &case.earlier { @for failure in earlier.failures.iter().take(1) { " · before: " (shown(&failure.message)) } } } }
        }
        @if case.status == Status::Fail {
            ul.reasons {
                @for failure in case.other_failures() {
                    li { b { (shown(&failure.kind)) } " " (shown(&failure.message))
                        span.words { (failure.kind.known().map_or("The run is as the scenario expects.", FailureKind::promise)) }
                        @if !failure.diff.is_empty() { (diff(&failure.diff)) } }
                }
                @for finding in case.failing_findings() { li { (finding_card(finding, case, context)) } }
            }
        }
        @if !case.known.is_empty() {
            h3 { "Known failures" }
            ul.reasons.known {
                @for failure in &case.known {
                    li { b { (shown(&failure.kind)) } " " (shown(&failure.message))
                        span.words { "Known: " (shown(failure.known.as_deref().unwrap_or_default())) }
                        @if !failure.diff.is_empty() { (diff(&failure.diff)) } }
                }
            }
        }
    }
}

/// What differs from a snapshot, as reviewers know it.
fn diff(lines: &[String]) -> Markup {
    html! {
        pre.diff {
            @for line in lines {
                @let class = match line.chars().next() {
                    Some('-') => "gone",
                    Some('+') => "new",
                    Some('@') => "place",
                    _ => "same",
                };
                span class=(class) { (shown(line)) } "\n"
            }
        }
    }
}

fn finding_card(finding: &Finding, case: &CaseFinished, context: &Context) -> Markup {
    let clause = context.broken(case, &finding.clause);
    let found = case
        .recording
        .as_ref()
        .and_then(|recording| printed(&context.path(recording).join("stdout"), finding, 110));
    html! {
        span class={ "level " (shown(&finding.level)) } { (shown(&finding.level)) } " "
        code { (shown(&finding.clause)) } " " (shown(&finding.message))
        @if !clause.text.is_empty() { span.words { (shown(&clause.text)) } }
        dl.versus {
            @for (label, text) in versus(finding, found.as_ref()) { dt { (label) } dd { code { (shown(&text)) } } }
        }
        @if let Some(Printed::Line(quote)) = &found {
            pre.quote { span.at { @if let Some(line) = finding.line { "line " (line) ", " } "byte " (finding.offset.unwrap_or(0)) } "\n"
                (marked(&quote.text, quote.column, quote.width)) }
        }
        @if !clause.fix.is_empty() { span.words.fix { "Fix: " (shown(&clause.fix)) } }
        span.words { "More: " code { (shown(&clause.explain)) } }
        @if let Some(known) = &finding.known { span.words { "Known: " (shown(known)) } }
    }
}

/// The text with what is meant marked.
fn marked(text: &str, column: usize, width: usize) -> Markup {
    let (before, rest) = split_columns(text, column);
    let (meant, after) = split_columns(rest, width);
    html! { (before) mark { (meant) } (after) }
}

fn split_columns(text: &str, columns: usize) -> (&str, &str) {
    let (head, _) = super::super::quote::first_columns(text, columns);
    text.split_at(head.len())
}

fn recording(case: &CaseFinished, context: &Context, budget: &mut Budget) -> Markup {
    let folder = context.path(case.recording.as_deref().unwrap_or_default());
    let open = match Recording::open(&folder) {
        Ok(open) => open,
        Err(error) => {
            return html! { p.quiet { "The recording cannot be read: " (shown(&error.to_string())) } };
        }
    };
    let failed = case.status == Status::Fail;
    if !failed && budget.left == 0 {
        return html! { p.quiet { "The recording is at " code { (shown(case.recording.as_deref().unwrap_or_default())) }
        "; this page has no room left for what passed." } };
    }
    let (most, width) = if failed { FAILED } else { OTHER };
    let stdout = output::lines(&folder.join("stdout"), most, width);
    let stderr = output::lines(&folder.join("stderr"), most, width);
    let size = |lines: &Lines| lines.lines.iter().map(|line| line.text.len() + 200).sum::<usize>();
    budget.left = budget.left.saturating_sub(size(&stdout) + size(&stderr) + 2000);
    let facts = &open.facts;
    let stderr_bytes = std::fs::metadata(folder.join("stderr")).map_or(0, |known| known.len());
    let content = Content::of(&folder.join("stdout"));
    html! {
        (timeline::render(facts, &stdout.lines, &content, stderr_bytes))
        (requests(facts))
        h3 { "Standard output" }
        (transcript(case, &stdout, &content))
        @if !stderr.lines.is_empty() {
            h3 { "Standard error" }
            pre.stream { @for line in &stderr.lines { (line.text) @if line.hidden > 0 { "… " (line.hidden) " bytes more" } "\n" }
                @if stderr.more { "…" } }
        }
        (environment(case, facts))
    }
}

fn requests(facts: &Facts) -> Markup {
    let requests = facts.other.get("requests").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let lead = facts.other.get("api_lead_ms").and_then(Value::as_f64).unwrap_or(0.0);
    let text = |value: &Value, pointer: &str| {
        value.pointer(pointer).map_or(String::new(), |found| match found {
            Value::String(text) => shown(text),
            Value::Null => String::new(),
            other => shown(&other.to_string()),
        })
    };
    html! {
        @if !requests.is_empty() {
            h3 { "API requests" }
            div.scroll tabindex="0" { table.requests {
                thead { tr { th { "at" } th { "request" } th { "asked" } th { "turn" } th { "fault" } th { "answer" } } }
                tbody { @for request in requests.iter().take(50) {
                    tr {
                        td.number { (format!("{:.1} ms", (request.get("at_ms").and_then(Value::as_f64).unwrap_or(0.0) - lead).max(0.0))) }
                        td { code { (text(request, "/method")) " " (text(request, "/path")) } }
                        td { (clip(&text(request, "/body/user"), 80)) }
                        td { (text(request, "/entry")) }
                        td { (text(request, "/fault")) }
                        td { (text(request, "/status")) " " (text(request, "/outcome")) }
                    }
                } }
            } }
        }
    }
}

fn transcript(case: &CaseFinished, stdout: &Lines, content: &Content) -> Markup {
    if stdout.lines.is_empty() {
        return html! { p.quiet { "Nothing was printed." } };
    }
    html! {
        ol.transcript.document[matches!(content, Content::Document(_))] {
            @for (at, line) in stdout.lines.iter().enumerate() {
                li value=(line.number) {
                    @if let Some(kind) = content.label(line) { span class={ "chip " (timeline::tone(&kind)) } { (kind) } }
                    code { (line.text) @if line.hidden > 0 { span.quiet { "… " (line.hidden) " bytes more" } } }
                    @for finding in about(case, line, stdout.lines.get(at + 1)) {
                        div class={ "here " (shown(&finding.level)) } { "▲ " code { (shown(&finding.clause)) } " " (shown(&finding.message)) }
                    }
                }
            }
        }
        @if stdout.more { p.quiet { "The recording has more lines." } }
    }
}

fn environment(case: &CaseFinished, facts: &Facts) -> Markup {
    let text = |key: &str| {
        facts.other.get(key).map_or(String::new(), |value| match value {
            Value::String(text) => shown(text),
            other => shown(&other.to_string()),
        })
    };
    let network =
        facts.other.get("isolation").and_then(|value| value.get("network")?.as_str()).unwrap_or("unknown");
    html! {
        details.environment {
            summary { "Environment" }
            dl {
                dt { "target" } dd { (shown(&facts.target)) " " (shown(&facts.target_version)) }
                dt { "contract" } dd { (shown(&case.contract)) }
                dt { "arguments" } dd { code { (shown(&facts.argv.join(" "))) } }
                @for (name, value) in &facts.env_public { dt { (shown(name)) } dd { code { (shown(value)) } } }
                dt { "variables set" } dd { (shown(&facts.env_set.join(" "))) }
                dt { "exit" } dd { (shown(&facts.exit)) }
                dt { "network" } dd { (shown(network)) }
                dt { "containment" } dd { (text("containment")) }
                @if let Some(files) = facts.other.get("files").and_then(Value::as_array) { @if !files.is_empty() {
                    dt { "files written" } dd { @for file in files.iter().take(20) {
                        (shown(file.get("path").and_then(Value::as_str).unwrap_or_default())) br; } }
                } }
                @if let Some(source) = &case.source { dt { "scenario" } dd { (shown(&source.file)) ":" (source.line) } }
                dt { "recording" } dd { code { (shown(case.recording.as_deref().unwrap_or_default())) } }
            }
        }
    }
}
