//! Judging what lies there whole: the loop that shows a [`Judge`] a recording, a file or a pipe.

use std::io::{self, Read};
use std::path::Path;
#[cfg(feature = "cli")]
use std::path::PathBuf;
use std::thread;

use crate::document;
use crate::recording::Recording;
use crate::schema::FileError;
#[cfg(feature = "cli")]
use crate::schema::Finding;
use crate::stream_json::Line;
use crate::text::{Masked, Masker};

use super::judge::{CHUNK, read_more};
use super::{Contracts, Ending, Input, InputError, Judge, Judgement, Options};
#[cfg(feature = "cli")]
use super::{Protocol, Source};

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
    let ending = Ending::of_recording(recording).map_err(at)?;
    Ok(judge.finish(ending, watch)?)
}

/// Judges an output of which nothing is known but its bytes, and what the options say.
pub fn output(output: &[u8], contracts: &Contracts, options: &Options) -> Result<Judgement, FileError> {
    let mut judge = Judge::of_output(None, contracts, options);
    judge.push(&Masker::default().mask_bytes(output.to_vec()), &mut |_| {});
    judge.finish(Ending::default(), &mut |_| {})
}

/// Judges a file that holds what a run printed, such as a fixture `tests/fixtures/json/list-sessions.json`: one that is named
/// after a command of its contract is held to that command.
///
/// ```
/// use std::path::Path;
///
/// use clawgate::judge::{self, Contracts, Options};
///
/// let contracts = Contracts::only("claw-1.0")?;
/// for input in judge::find(Path::new("examples/fixtures/tests/fixtures/json"))? {
///     let judgement = judge::file(Path::new(&input.name), &contracts, &Options::default())?;
///     assert!(!judgement.findings.iter().any(|finding| finding.fails()), "{}: {:?}", input.name, judgement.findings);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn file(path: &Path, contracts: &Contracts, options: &Options) -> Result<Judgement, JudgeError> {
    let file = document::open(path).map_err(at(path))?;
    bare(Some(path), file, contracts, options, &mut |_| {})
}

impl Input {
    /// Judges this input. `watch` sees each line of a stream.
    #[cfg(feature = "cli")]
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
                let file = document::open(path).map_err(at(path))?;
                bare(Some(path), file, contracts, options, watch)
            }
            Source::Stdin => {
                let mut judge = Judge::of_output(None, contracts, options);
                let mut output = Masked::new(io::stdin().lock());
                push_as_it_comes(&mut judge, &mut output, watch).map_err(at(Path::new("-")))?;
                Ok(judge.finish(Ending::default(), watch)?)
            }
            Source::Segments(paths) => segments(paths, contracts, options),
        }
    }
}

fn bare(
    name: Option<&Path>,
    reader: impl Read + Send,
    contracts: &Contracts,
    options: &Options,
    watch: &mut dyn FnMut(&Line<'_>),
) -> Result<Judgement, JudgeError> {
    let mut judge = Judge::of_output(name, contracts, options);
    push_all(&mut judge, Masked::new(reader), watch).map_err(at(name.unwrap_or(Path::new("-"))))?;
    Ok(judge.finish(Ending::default(), watch)?)
}

/// Judges the segments of one event log in their order. Lines are counted through all of them; each finding says in
/// which segment it stands.
#[cfg(feature = "cli")]
fn segments(paths: &[PathBuf], contracts: &Contracts, options: &Options) -> Result<Judgement, JudgeError> {
    let options = Options { protocol: Some(Protocol::EventLog), ..options.clone() };
    let mut judge = Judge::of_output(None, contracts, &options);
    let mut starts = Vec::new();
    let mut next = 1;
    for path in paths {
        starts.push((next, path.as_path()));
        let file = Masked::new(document::open(path).map_err(at(path))?);
        push_all(&mut judge, file, &mut |_| {}).map_err(at(path))?;
        next = judge.next_segment();
    }
    let mut judgement = judge.finish(Ending::default(), &mut |_| {})?;
    for finding in &mut judgement.findings {
        name_segment(finding, &starts);
    }
    Ok(judgement)
}

#[cfg(feature = "cli")]
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

/// So much of an input is read and judged on one thread; what is longer is worth a second one.
const SHORT: u64 = 2 << 20;

/// Shows a judge what lies there whole.
fn push_all(
    judge: &mut Judge<'_>,
    mut reader: impl Read + Send,
    watch: &mut dyn FnMut(&Line<'_>),
) -> io::Result<()> {
    if thread::available_parallelism().is_ok_and(|processors| processors.get() > 1) {
        let mut start = reader.by_ref().take(SHORT);
        push_as_it_comes(judge, &mut start, watch)?;
        return if start.limit() > 0 { Ok(()) } else { judge.push_ahead(reader, watch) };
    }
    push_as_it_comes(judge, &mut reader, watch)
}

/// Shows a judge what may still be written.
fn push_as_it_comes(
    judge: &mut Judge<'_>,
    reader: &mut impl Read,
    watch: &mut dyn FnMut(&Line<'_>),
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    while let Some(read) = read_more(reader, &mut chunk)? {
        judge.push(read, watch);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Profile;
    use crate::recording::{Facts, STDERR_HEAD};
    use serde_json::{Value, json};

    fn made(more: &Value, stdout: &str, stderr: Vec<u8>) -> Recording {
        let mut facts = json!({
            "schema_version": 1, "target": "reference", "target_version": "", "scenario": "s", "exit": {"code": 0},
        });
        facts.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let facts = Facts::parse(facts.to_string().as_bytes()).unwrap();
        Recording::new(facts, stdout.into(), stderr)
    }

    fn judged(recording: &Recording, contracts: &Contracts) -> Judgement {
        super::recording(recording, contracts, &Options::default()).unwrap()
    }

    #[test]
    fn an_event_log_has_findings_and_no_verdict() {
        let log = made(&json!({"contract": "claws-events", "profile": "origin"}), "no record\n", Vec::new());
        let judgement = judged(&log, &Contracts::built_in());
        assert!(judgement.verdict.is_none() && judgement.run.is_none());
        assert_eq!(judgement.findings[0].clause, "claws-events/lg-01");
        assert_eq!(judgement.log.map(|(profile, _)| profile), Some(Profile::Origin), "as recorded");
        // Whoever names the contract gets the same.
        let named = judged(&log, &Contracts::only("claws-events").unwrap());
        assert_eq!(format!("{:?}", named.findings), format!("{:?}", judgement.findings));
    }

    type Push<'p> = &'p dyn Fn(&mut Judge<'_>, &mut dyn FnMut(&Line<'_>)) -> io::Result<()>;

    #[test]
    fn a_long_stream_is_judged_as_a_short_one() {
        let lines: Vec<&[u8]> = [
            include_bytes!("../../examples/streams/sub-agent.ndjson").as_slice(),
            include_bytes!("../../examples/streams/rate-limit.ndjson"),
        ]
        .into_iter()
        .flat_map(|stream| stream.split_inclusive(|byte| *byte == b'\n'))
        .collect();
        let mut stream = Vec::new();
        for (number, line) in lines.iter().cycle().enumerate() {
            stream.extend_from_slice(if number % 97 == 0 { b"no message\n" } else { line });
            if stream.len() > SHORT as usize * 2 {
                break;
            }
        }
        stream.extend_from_slice(b"{\"type\":\"resu");
        let contracts = Contracts::built_in();
        let judged = |push: Push<'_>| {
            let (mut judge, mut seen) = (Judge::of_output(None, &contracts, &Options::default()), 0);
            let mut watch = |line: &Line<'_>| seen += line.number();
            push(&mut judge, &mut watch).unwrap();
            let judgement = judge.finish(Ending::default(), &mut watch).unwrap();
            let Judgement { verdict, run, findings, summary, .. } = judgement;
            (seen, format!("{verdict:?} {run:?} {findings:?} {summary:?}"))
        };
        let at_once = judged(&|judge, watch| {
            judge.push(&stream, watch);
            Ok(())
        });
        let ahead = judged(&|judge, watch| {
            judge.push(&stream[..100_000], watch);
            judge.push_ahead(&stream[100_000..], watch)
        });
        assert!(at_once == ahead);
        assert!(at_once == judged(&|judge, watch| push_all(judge, stream.as_slice(), watch)));
        // What cannot be read is said.
        let broken = stream[..1 << 20].chain(Broken);
        let mut judge = Judge::of_output(None, &contracts, &Options::default());
        judge.push(&stream[..100_000], &mut |_| {});
        assert!(judge.push_ahead(broken, &mut |_| {}).is_err());
    }

    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("gone"))
        }
    }

    #[test]
    fn background_work_that_was_disabled_is_not_missed() {
        let stream = concat!(
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Task","input":{"run_in_background":true}}]}}"#,
            "\n",
            r#"{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"Started."}"#,
            "\n",
        );
        let argv = json!(["claude", "--output-format", "stream-json"]);
        let category = |env: Value| {
            let run = made(&json!({"target": "claude", "argv": argv, "env_public": env}), stream, Vec::new());
            judged(&run, &Contracts::built_in()).run.unwrap().error_category
        };
        assert!(category(json!({})).is_some());
        assert!(category(json!({"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1"})).is_none());
    }

    #[test]
    fn the_same_start_of_standard_error_is_judged_wherever_it_comes_from() {
        let argv = json!(["claw", "--output-format", "json", "status"]);
        let facts = json!({"target": "claw", "argv": argv, "exit": {"code": 1}});
        let verdict = |stderr: Vec<u8>| judged(&made(&facts, "", stderr), &Contracts::built_in()).verdict;
        let trace = b"Traceback (most recent call last):\n  File \"x\", line 1\nValueError: x\n";
        let noise = b"a line\n".repeat(STDERR_HEAD / 7 + 1);
        let late = [noise.as_slice(), trace].concat();
        let text = |verdict: Option<crate::classify::Verdict>| format!("{verdict:?}");
        assert_ne!(text(verdict(trace.to_vec())), text(verdict(noise.clone())));
        assert_eq!(text(verdict(late.clone())), text(verdict(noise.clone())));
        let options = Options { stderr: Some(late), ..Options::default() };
        let given = recording(&made(&facts, "", Vec::new()), &Contracts::built_in(), &options).unwrap();
        assert_eq!(text(given.verdict), text(verdict(noise)));
    }

    #[test]
    fn a_contract_without_a_family_gets_that_of_its_parents_or_of_its_protocol() {
        use crate::schema::{ContractSet, Family};
        let family = |name: &str| ContractSet::open(name).unwrap().family();
        assert_eq!(family("claude-json"), Family::Claude);
        assert_eq!(family("claw-head"), Family::Claw);
        assert_eq!(family("claws-events"), Family::EventLog);
        let folder = tempfile::tempdir().unwrap();
        let own = |name: &str, head: &str| {
            let place = folder.path().join(name);
            std::fs::create_dir(&place).unwrap();
            let clause = "id = \"a\"\nlevel = \"must\"\nsource = \"s\"\nsince = \"1\"\ntext = \"t\"\nwhy = \"w\"\nfix = \"f\"\ncheck = { rule = \"framing\", oddity = \"empty\" }";
            let text =
                format!("[contract]\nname = \"{name}\"\ntitle = \"t\"\n{head}\n[[clause]]\n{clause}\n");
            std::fs::write(place.join("contract.toml"), text).unwrap();
            ContractSet::open(&place.display().to_string()).unwrap().family()
        };
        assert_eq!(own("mine", "protocol = \"stream\""), Family::Stream);
        assert_eq!(own("page", "protocol = \"document\""), Family::Document);
        assert_eq!(own("like", "protocol = \"stream\"\nextends = [\"claude-stream-json\"]"), Family::Claude);
        assert_eq!(own("said", "protocol = \"stream\"\nfamily = \"claude\""), Family::Claude);
    }
}
