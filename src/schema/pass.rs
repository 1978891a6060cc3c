//! One pass over a finished run that is in memory: from bytes to findings.

use super::contract::Protocol;
use super::events::judge_log;
use super::facts::{End, Run};
use super::finding::Finding;
use super::judge::Judge;
use super::library::ContractSet;
use crate::envelope::Envelope;
use crate::events::Profile;
use crate::recording::Exit;
use crate::stream_json::StreamReader;

/// Judges a run whose output is in memory. Large streams are judged by feeding a `Judge` as they are
/// read.
pub fn judge_output(
    set: &ContractSet,
    run: &Run,
    exit: Option<Exit>,
    stdout: &[u8],
    stderr: Option<&[u8]>,
) -> Vec<Finding> {
    judge_bytes(set, run, stdout, &End::new(exit, Some(stdout), stderr))
}

/// As [`judge_output`], with all that is known of the end.
pub(crate) fn judge_bytes(set: &ContractSet, run: &Run, stdout: &[u8], end: &End<'_>) -> Vec<Finding> {
    let document = match set.protocol() {
        Protocol::Events => return judge_log(set, Profile::default(), stdout),
        Protocol::Document => Envelope::read(stdout),
        Protocol::Stream | Protocol::Text => Envelope::default(),
    };
    judge_read(set, run, &document, stdout, end)
}

/// As [`judge_output`], of an output that was already read as a document.
pub(crate) fn judge_read(
    set: &ContractSet,
    run: &Run,
    document: &Envelope,
    stdout: &[u8],
    end: &End<'_>,
) -> Vec<Finding> {
    let mut judge = set.begin(run);
    match set.protocol() {
        Protocol::Document => judge.document(document, stdout, end),
        Protocol::Stream => judge_lines(&mut judge, stdout),
        Protocol::Text => judge.text(stdout),
        // Judged by rules of their own.
        Protocol::Events => {}
    }
    judge.finish(end)
}

fn judge_lines(judge: &mut Judge<'_>, stdout: &[u8]) {
    let mut reader = StreamReader::default();
    reader.push(stdout, &mut |line| judge.line(line));
    let summary = reader.finish(&mut |line| judge.line(line));
    judge.end_of_stream(&summary);
}
