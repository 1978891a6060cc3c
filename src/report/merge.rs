//! The events of shards, put together: exactly what one run of all their cases would have said.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::run::{CaseFinished, Event, ListedFailure, RunFinished, RunStarted, SCHEMA_VERSION};
use crate::text::trouble;

/// The file with a run's events in its output folder.
pub const EVENTS_FILE: &str = "events.ndjson";

/// The events of one shard.
#[derive(Debug)]
pub struct Log {
    folder: PathBuf,
    started: RunStarted,
    cases: Vec<CaseFinished>,
    finished: RunFinished,
}

/// Why shards cannot be put together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// A file cannot be read.
    #[error("{}: {}", path.display(), trouble(path, source))]
    Io {
        /// The file of the shard.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A line is not an event.
    #[error("{}:{line}: not an event of a run: {reason}", path.display())]
    Damaged {
        /// The file of the shard.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// There is nothing to put together.
    #[error("no {EVENTS_FILE} in {} or the folders in it: name the --out folders of the runs", .0.display())]
    Nothing(PathBuf),
    /// A run did not come to its end.
    #[error("{}: the run did not finish: its last event is missing; run that part again", .0.display())]
    Unfinished(PathBuf),
    /// Two folders are not of the same run.
    #[error("{} and {} are not parts of the same run: {reason}", one.display(), other.display())]
    Mixed {
        /// One of the two files.
        one: PathBuf,
        /// The other file.
        other: PathBuf,
        /// How they differ.
        reason: String,
    },
    /// A part is there twice.
    #[error("{} and {} are both part {shard} of {of}", one.display(), other.display())]
    Twice {
        /// One of the two files.
        one: PathBuf,
        /// The other file.
        other: PathBuf,
        /// The number of the shard, from 1.
        shard: u64,
        /// How many shards there are.
        of: u64,
    },
    /// The whole would be written over one of its parts.
    #[error("{} is one of the runs to put together: --out names another folder", .0.display())]
    Over(PathBuf),
    /// Parts are not there.
    #[error("of {of} parts {} missing: {}", if missing.len() == 1 { "one is" } else { "some are" }, list(missing))]
    Missing {
        /// The numbers of the shards that are not there.
        missing: Vec<u64>,
        /// How many shards there are.
        of: u64,
    },
    /// The parts together are not the whole.
    #[error("the parts hold {found} different cases, and the whole has {wanted}")]
    Incomplete {
        /// How many there are.
        found: usize,
        /// How many there should be.
        wanted: usize,
    },
}

impl MergeError {
    /// Whether something was not measured, rather than the wrong thing given.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::Unfinished(_) | Self::Incomplete { .. })
    }
}

fn list(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

/// The folders with events at or right below a path; `out`, where the whole goes, may hold what an earlier call left.
pub fn folders(path: &Path, out: &Path) -> Result<Vec<PathBuf>, MergeError> {
    let at = |source| MergeError::Io { path: path.to_owned(), source };
    let is_out = |folder: &Path| {
        folder.canonicalize().ok().is_some_and(|found| out.canonicalize().ok() == Some(found))
    };
    if path.join(EVENTS_FILE).is_file() {
        let folder = path.to_owned();
        return if is_out(path) { Err(MergeError::Over(folder)) } else { Ok(vec![folder]) };
    }
    let entries = std::fs::read_dir(path).map_err(at)?.collect::<Result<Vec<_>, _>>().map_err(at)?;
    let mut found: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).collect();
    found.retain(|folder| folder.join(EVENTS_FILE).is_file() && !is_out(folder));
    found.sort();
    if found.is_empty() { Err(MergeError::Nothing(path.to_owned())) } else { Ok(found) }
}

impl Log {
    /// Reads the events of a run from its output folder.
    pub fn read(folder: &Path) -> Result<Self, MergeError> {
        let path = folder.join(EVENTS_FILE);
        let at = |source| MergeError::Io { path: path.clone(), source };
        let mut started: Option<RunStarted> = None;
        let mut cases = Vec::new();
        let mut finished: Option<RunFinished> = None;
        let mut reader = BufReader::new(File::open(&path).map_err(at)?);
        let mut line = Vec::new();
        let mut lines = 0;
        for index in 1.. {
            line.clear();
            lines = index - 1;
            if reader.read_until(b'\n', &mut line).map_err(at)? == 0 {
                break;
            }
            let damaged = |reason: String| MergeError::Damaged { path: path.clone(), line: index, reason };
            let value: Value = match serde_json::from_slice(&line) {
                Ok(value) => value,
                // Whoever wrote it was stopped in the middle.
                Err(_) if started.is_some() && line.last() != Some(&b'\n') => {
                    return Err(MergeError::Unfinished(folder.to_owned()));
                }
                Err(error) => return Err(damaged(error.to_string())),
            };
            if finished.is_some() {
                return Err(damaged("an event after the last one".into()));
            }
            let version = value.get("schema_version").and_then(Value::as_u64).unwrap_or(0);
            if version > SCHEMA_VERSION {
                return Err(damaged(format!("schema_version {version} is newer: update clawgate")));
            }
            if started.is_none() && value["type"] != "run-started" {
                return Err(damaged("the first event is not run-started".into()));
            }
            match serde_json::from_value(value).map_err(|error| damaged(error.to_string()))? {
                Event::RunStarted(_) if started.is_some() => {
                    return Err(damaged("a second run-started".into()));
                }
                Event::RunStarted(first) => started = Some(first),
                Event::CaseFinished(mut case) => {
                    case.name_clauses();
                    cases.push(*case);
                }
                Event::RunFinished(last) => finished = Some(last),
                Event::CaseStarted(_) | Event::Unknown => {}
            }
        }
        let (Some(started), Some(finished)) = (started, finished) else {
            return Err(MergeError::Unfinished(folder.to_owned()));
        };
        // A file that was put together or changed by hand is told by its own sums.
        let mut counted = RunFinished::default();
        for case in &cases {
            counted.count(case);
        }
        let counts = |of: &RunFinished| [of.passed, of.failed, of.flaky, of.skipped];
        let (said, found) = (counts(&finished), counts(&counted));
        if said != found {
            let reason = format!(
                "run-finished counts {said:?} cases passed, failed, flaky and skipped, but there are {found:?}"
            );
            return Err(MergeError::Damaged { path: path.clone(), line: lines, reason });
        }
        Ok(Self { folder: folder.to_owned(), started, cases, finished })
    }

    /// The cases, with the paths of recordings as they are from here.
    fn rooted(&mut self) -> impl Iterator<Item = CaseFinished> + '_ {
        let (out, folder) = (&self.started.out, &self.folder);
        let reroot = move |path: &mut Option<String>| {
            let inside = path.as_ref().and_then(|old| Path::new(old).strip_prefix(out).ok());
            if let Some(inside) = inside {
                *path = Some(folder.join(inside).display().to_string());
            }
        };
        self.cases.drain(..).map(move |mut case| {
            reroot(&mut case.recording);
            case.earlier.iter_mut().for_each(|earlier| reroot(&mut earlier.recording));
            case
        })
    }
}

/// Puts shards together; `out` is where the result says that it was put.
pub fn merge(mut logs: Vec<Log>, out: &Path) -> Result<Vec<Event>, MergeError> {
    logs.sort_by_key(|log| log.started.plan.shard);
    let Some((one, others)) = logs.split_first() else { return Err(MergeError::Nothing(out.to_owned())) };
    for other in others {
        let mixed = |reason: String| MergeError::Mixed {
            one: one.folder.clone(),
            other: other.folder.clone(),
            reason,
        };
        let (a, b) = (&one.started, &other.started);
        if a.clawgate != b.clawgate {
            return Err(mixed(format!("clawgate {} and {}", a.clawgate, b.clawgate)));
        }
        if a.plan.of != b.plan.of {
            return Err(mixed(format!("one is of {}, the other of {} parts", a.plan.of, b.plan.of)));
        }
        if a.plan.id != b.plan.id || a.targets != b.targets {
            return Err(mixed("they ran other cases, other targets, or were cut by other durations".into()));
        }
    }
    let mut started = one.started.clone();
    let of = started.plan.of;
    let mut parts: BTreeMap<u64, &Path> = BTreeMap::new();
    for log in &logs {
        let shard = log.started.plan.shard;
        if let Some(known) = parts.insert(shard, &log.folder) {
            return Err(MergeError::Twice { one: known.to_owned(), other: log.folder.clone(), shard, of });
        }
    }
    let missing: Vec<u64> = (1..=of).filter(|part| !parts.contains_key(part)).collect();
    if !missing.is_empty() {
        return Err(MergeError::Missing { missing, of });
    }
    let wanted = started.plan.cases;
    started.cases = wanted;
    started.out = out.display().to_string();
    (started.plan.shard, started.plan.of) = (1, 1);
    if let Some(earliest) = logs.iter().map(|log| &log.started.started_at).min() {
        started.started_at.clone_from(earliest);
    }
    let finished = total(&logs);
    let mut cases = BTreeMap::new();
    let mut found = 0;
    for case in logs.iter_mut().flat_map(Log::rooted) {
        found += 1;
        cases.insert((case.target.clone(), case.case.clone(), case.repetition), case);
    }
    if found != wanted || cases.len() != wanted {
        return Err(MergeError::Incomplete { found: cases.len(), wanted });
    }
    let cases = cases.into_values().map(|case| Event::CaseFinished(Box::new(case)));
    Ok([Event::RunStarted(started)].into_iter().chain(cases).chain([Event::RunFinished(finished)]).collect())
}

/// How the whole ended. The parts ran side by side, so it took as long as the longest.
fn total(logs: &[Log]) -> RunFinished {
    let mut total = RunFinished::default();
    for part in logs.iter().map(|log| &log.finished) {
        total.passed += part.passed;
        total.failed += part.failed;
        total.flaky += part.flaky;
        total.skipped += part.skipped;
        total.known += part.known;
        total.harness_failures += part.harness_failures;
        total.note_isolation(&part.not_isolated);
        total.interrupted |= part.interrupted;
        total.duration_ms = total.duration_ms.max(part.duration_ms);
    }
    let listed: Vec<&[ListedFailure]> =
        logs.iter().map(|log| log.finished.known_failures.as_slice()).collect();
    total.known_failures = ListedFailure::merged(&listed);
    total.exit_code = total.code();
    total
}
