//! What was found in an event log: for people, and as one JSON object.

use std::io::{self, Write};

use serde_json::json;

use crate::judge::LogJudgement;
use crate::schema::{Finding, Level};

use super::judgement_text::{finding_line, section};
use super::numbers::counted;
use super::style::{BAD, FAINT, GOOD, NAME};
use crate::printable::printable;

/// The version of the object's form; it is that of every judgement.
const SCHEMA_VERSION: u64 = 1;
/// Findings shown; `--format json` has all of them.
const MAX_FINDINGS: usize = 40;

/// The judgement of an event log as `judge --format json` prints it. There is no verdict.
pub(crate) fn log_judgement_json(input: &str, judgement: &LogJudgement) -> serde_json::Result<String> {
    let summary = judgement.summary;
    let whole = json!({
        "schema_version": SCHEMA_VERSION,
        "input": input,
        "contract": judgement.contract,
        "contract_detected": judgement.contract_detected,
        "verdict": null,
        "run": null,
        "findings": judgement.findings,
        "session": null,
        "stream": null,
        "events": {
            "profile": judgement.profile.name(),
            "bytes": summary.bytes,
            "lines": summary.lines,
            "records": summary.records,
            "duplicates": summary.duplicates,
            "sessions": summary.sessions,
            "peers": summary.peers,
        },
    });
    serde_json::to_string(&whole)
}

/// Writes the view of one event log.
pub(crate) fn write_log_judgement(
    out: &mut dyn Write,
    input: &str,
    judgement: &LogJudgement,
) -> io::Result<()> {
    let at = |level| judgement.findings.iter().filter(|finding| finding.level == level).count() as u64;
    let (broken, warnings) = (at(Level::Must), at(Level::Should));
    let rest = judgement.findings.len() as u64 - broken - warnings;
    let style = if broken > 0 { BAD } else { GOOD };
    let says = if broken > 0 {
        counted(broken, "must clause broken", "must clauses broken")
    } else {
        "every must clause kept".into()
    };
    let more = match (warnings, rest) {
        (0, 0) => String::new(),
        (0, rest) => format!(", {}", counted(rest, "note", "notes")),
        (warnings, 0) => format!(", {}", counted(warnings, "warning", "warnings")),
        (warnings, rest) => {
            format!(", {}, {}", counted(warnings, "warning", "warnings"), counted(rest, "note", "notes"))
        }
    };
    writeln!(out, "{NAME}{}{NAME:#}: {style}{says}{style:#}{more}", printable(input))?;
    let told = if judgement.contract_detected { " (a guess; --contract NAME decides)" } else { "" };
    let summary = judgement.summary;
    writeln!(out, "  contract  {}{told}, profile {}", printable(&judgement.contract), judgement.profile)?;
    writeln!(
        out,
        "  log       {} in {}, up to {} at once",
        counted(summary.records, "record", "records"),
        counted(summary.sessions, "session", "sessions"),
        counted(summary.peers as u64, "peer", "peers"),
    )?;
    let lines: Vec<String> = judgement.findings.iter().map(with_consequences).collect();
    section(out, "findings", &lines, MAX_FINDINGS, Clone::clone)
}

/// A finding on a line, with what follows from it.
pub(crate) fn with_consequences(finding: &Finding) -> String {
    let mut line = finding_line(finding);
    if !finding.consequences.is_empty() {
        line = format!("{line} {FAINT}(and so {}){FAINT:#}", finding.consequences.join(", "));
    }
    line
}
