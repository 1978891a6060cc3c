//! Judging an event log, which is no run: it has findings and no verdict.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::events::{Limits, Profile, Summary};
use crate::json::{Node, Scanner};
use crate::schema::{ContractSet, EventJudge, EventWatch, Finding, Protocol};

use super::InputError;

/// The built-in contract of event logs.
pub const EVENTS_CONTRACT: &str = "claws-events";

/// Everything that was concluded of an event log.
#[derive(Debug)]
#[non_exhaustive]
pub struct LogJudgement {
    /// The contract that was applied.
    pub contract: String,
    /// Whether the contract was told from the log's shape.
    pub contract_detected: bool,
    /// The reading that the log was held to.
    pub profile: Profile,
    /// Clauses that were broken, the gravest first.
    pub findings: Vec<Finding>,
    /// How the reading went.
    pub summary: Summary,
}

/// Whether a contract is about event logs.
pub fn is_of_events(set: &ContractSet) -> bool {
    set.protocol() == Protocol::Events
}

/// Whether the first line of an output is a record of an event log.
pub fn looks_like_events(start: &[u8]) -> bool {
    let end = memchr::memchr(b'\n', start).unwrap_or(start.len());
    let text = String::from_utf8_lossy(&start[..end]);
    let mut scanner = Scanner::default();
    let Ok(document) = scanner.scan(text.trim()) else { return false };
    let root = document.root();
    let is_sidecar = root.get("type").and_then(Node::text).is_some_and(|kind| kind.starts_with("sidecar."));
    let is_record = root.get("topic").is_some_and(|topic| topic.text().is_some())
        && (root.get("payload").is_some() || root.get("data").is_some());
    is_sidecar || is_record
}

/// Judges the bytes of `start` and then those of `rest`.
pub fn judge_stream(
    set: &ContractSet,
    profile: Profile,
    start: &[u8],
    rest: impl Read,
    watch: &mut impl EventWatch,
) -> std::io::Result<LogJudgement> {
    let mut judge = EventJudge::new(set, profile, Limits::default());
    judge.push(start, watch);
    judge.read(rest, watch)?;
    Ok(conclude(judge, set, profile, watch))
}

/// Judges the segments of one log in their order. Lines are counted through all of them; each finding says in which
/// segment it stands.
pub fn judge_segments(
    set: &ContractSet,
    profile: Profile,
    segments: &[PathBuf],
    watch: &mut impl EventWatch,
) -> Result<LogJudgement, InputError> {
    let mut judge = EventJudge::new(set, profile, Limits::default());
    let mut starts = Vec::new();
    for path in segments {
        let at = |source| InputError::Io { path: path.clone(), source };
        starts.push((judge.next_line(), path.as_path()));
        judge.read(File::open(path).map_err(at)?, watch).map_err(at)?;
        judge.end_segment(watch);
    }
    let mut judgement = conclude(judge, set, profile, watch);
    for finding in &mut judgement.findings {
        name_segment(finding, &starts);
    }
    Ok(judgement)
}

fn name_segment(finding: &mut Finding, starts: &[(u64, &Path)]) {
    let Some(line) = finding.line else { return };
    let Some((first, path)) = starts.iter().rev().find(|(first, _)| *first <= line) else { return };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    finding.message = format!("{} (line {} of {name})", finding.message, line - first + 1);
}

fn conclude(
    judge: EventJudge<'_>,
    set: &ContractSet,
    profile: Profile,
    watch: &mut impl EventWatch,
) -> LogJudgement {
    let (findings, summary) = judge.finish(watch);
    LogJudgement { contract: set.name().to_owned(), contract_detected: false, profile, findings, summary }
}
