//! One pass over a finished run that is in memory: from bytes to findings.

use super::contract::Protocol;
use super::facts::{End, Run};
use super::finding::Finding;
use super::judge::Judge;
use super::library::ContractSet;
use crate::json::Scanner;
use crate::recording::Exit;

/// Judges a run whose output is in memory. Large streams are judged by feeding a [`Judge`](super::Judge) as they are
/// read.
pub fn judge_output(
    set: &ContractSet,
    run: &Run,
    exit: Option<Exit>,
    stdout: &[u8],
    stderr: Option<&[u8]>,
) -> Vec<Finding> {
    let end = End::new(exit, Some(stdout), stderr);
    let mut judge = set.begin(run);
    match set.protocol() {
        Protocol::Document => judge.document(stdout, &end),
        Protocol::Stream => judge_lines(&mut judge, stdout),
    }
    judge.finish(&end)
}

fn judge_lines(judge: &mut Judge<'_>, stdout: &[u8]) {
    if stdout.trim_ascii().is_empty() {
        judge.empty_stream();
    }
    let mut scanner = Scanner::default();
    let mut offset = 0;
    for (number, bytes) in stdout.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let (line, start) = (number as u64 + 1, offset);
        offset += bytes.len() as u64;
        let text = String::from_utf8_lossy(bytes);
        if let Err(error) = std::str::from_utf8(bytes) {
            judge.not_utf8(line, start + error.valid_up_to() as u64);
        }
        if text.trim().is_empty() {
            continue;
        }
        let ended = bytes.ends_with(b"\n");
        match scanner.scan(&text) {
            Ok(document) => {
                judge.odd_line(line, start, document.oddities());
                if document.root().is_object() {
                    judge.message(line, start, &document.root().to_value());
                } else {
                    judge.scalar_line(line, start);
                }
                if !ended {
                    judge.unended_line(line, offset);
                }
            }
            Err(malformed) => judge.malformed_line(line, start, &malformed, !ended),
        }
    }
}
