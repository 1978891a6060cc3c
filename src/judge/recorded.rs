//! Judging what lies there whole: the loop that shows a [`Judge`] a recording, a file or a pipe.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::recording::Recording;
use crate::schema::{FileError, Finding};
use crate::stream_json::Line;

use super::{Contracts, Ending, Input, InputError, Judge, Judgement, Options, Protocol, Source};

/// Why something could not be judged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JudgeError {
    /// It cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// Its contract cannot be opened.
    #[error(transparent)]
    Contract(#[from] FileError),
}

/// Judges what was recorded, a run or an event log.
pub fn recording(
    recording: &Recording,
    contracts: &Contracts,
    options: &Options,
) -> Result<Judgement, JudgeError> {
    watched_recording(recording, contracts, options, &mut |_| {})
}

/// As [`recording`]; `watch` sees each line of a stream.
pub(crate) fn watched_recording(
    recording: &Recording,
    contracts: &Contracts,
    options: &Options,
    watch: &mut dyn FnMut(&Line<'_>),
) -> Result<Judgement, JudgeError> {
    let at = |source| InputError::Io { path: recording.place().to_owned(), source };
    let mut judge = Judge::of_run(&recording.facts, contracts, options)?;
    push_all(&mut judge, recording.stdout().map_err(at)?, watch).map_err(at)?;
    let ending = Ending::of_recording(&recording.facts, recording.stderr_head().map_err(at)?);
    Ok(judge.finish(ending, watch)?)
}

/// Judges an output of which nothing is known but its bytes, and what the options say.
pub fn output(output: &[u8], contracts: &Contracts, options: &Options) -> Result<Judgement, FileError> {
    let mut judge = Judge::of_output(None, contracts, options);
    judge.push(output, &mut |_| {});
    judge.finish(Ending::default(), &mut |_| {})
}

impl Input {
    /// Judges this input. `watch` sees each line of a stream.
    pub(crate) fn judge(
        &self,
        contracts: &Contracts,
        options: &Options,
        watch: &mut dyn FnMut(&Line<'_>),
    ) -> Result<Judgement, JudgeError> {
        match &self.source {
            Source::Recording(path) => {
                let recording = Recording::open(path).map_err(InputError::from)?;
                watched_recording(&recording, contracts, options, watch)
            }
            Source::File(path) => {
                let file = File::open(path).map_err(at(path))?;
                bare(Some(path), file, contracts, options, watch)
            }
            Source::Stdin => bare(None, io::stdin().lock(), contracts, options, watch),
            Source::Segments(paths) => segments(paths, contracts, options),
        }
    }
}

fn bare(
    name: Option<&Path>,
    reader: impl Read,
    contracts: &Contracts,
    options: &Options,
    watch: &mut dyn FnMut(&Line<'_>),
) -> Result<Judgement, JudgeError> {
    let mut judge = Judge::of_output(name, contracts, options);
    push_all(&mut judge, reader, watch).map_err(at(name.unwrap_or(Path::new("-"))))?;
    Ok(judge.finish(Ending::default(), watch)?)
}

/// Judges the segments of one event log in their order. Lines are counted through all of them; each finding says in
/// which segment it stands.
fn segments(paths: &[PathBuf], contracts: &Contracts, options: &Options) -> Result<Judgement, JudgeError> {
    let options = Options { protocol: Some(Protocol::EventLog), ..options.clone() };
    let mut judge = Judge::of_output(None, contracts, &options);
    let mut starts = Vec::new();
    let mut next = 1;
    for path in paths {
        starts.push((next, path.as_path()));
        push_all(&mut judge, File::open(path).map_err(at(path))?, &mut |_| {}).map_err(at(path))?;
        next = judge.next_segment();
    }
    let mut judgement = judge.finish(Ending::default(), &mut |_| {})?;
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

fn at(path: &Path) -> impl Fn(io::Error) -> InputError {
    let path = path.to_owned();
    move |source| InputError::Io { path: path.clone(), source }
}

fn push_all(
    judge: &mut Judge<'_>,
    mut reader: impl Read,
    watch: &mut dyn FnMut(&Line<'_>),
) -> io::Result<()> {
    let mut chunk = vec![0; 256 << 10];
    loop {
        match reader.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(read) => judge.push(&chunk[..read], watch),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
