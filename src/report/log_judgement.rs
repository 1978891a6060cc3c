//! What was found in an event log, for people.

use std::io::{self, Write};

use crate::events::{Profile, Summary};
use crate::judge::Judgement;
use crate::schema::{Finding, Level};

use super::judgement_text::{finding_line, section};
use super::numbers::counted;
use super::style::{BAD, FAINT, GOOD, NAME};
use crate::text::printable;

/// Findings shown; `--format json` has all of them.
const MAX_FINDINGS: usize = 40;

/// Writes the view of one event log.
pub(super) fn write_log(
    out: &mut dyn Write,
    input: &str,
    judgement: &Judgement,
    (profile, summary): (Profile, Summary),
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
    let contract = judgement.contract.as_deref().unwrap_or_default();
    writeln!(out, "  contract  {}{told}, profile {profile}", printable(contract))?;
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
    let mut line = finding_line(finding, true);
    if !finding.consequences.is_empty() {
        line = format!("{line} {FAINT}(and so {}){FAINT:#}", finding.consequences.join(", "));
    }
    line
}
