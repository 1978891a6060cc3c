//! What is kept of evaluations, in skill-creator's layout:
//!
//! ```text
//! <out>/<skill>/history.jsonl
//! <out>/<skill>/iteration-1/iteration.json        what was run, with which versions of everything
//!                          /benchmark.json        for skill-creator's tools
//!                          /report.json           the whole report
//!                          /eval-1/eval_metadata.json
//!                          /eval-1/with_skill/run-1/trial.json      written last: the trial is finished
//!                                                  /grading.json, timing.json, transcript.md, outputs
//!                                                  /attempt-1       the recording
//! ```

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::arm::{Arm, WITH_SKILL};
use super::benchmark::{grading, run, timing};
use super::conditions::Condition;
use super::layout;
use super::observed::Observed;
use super::plan::Series;
use super::spec::{Kind, Spec, digest};
use super::transcript;
use super::trial::{Status, Trial, TrialId};
use crate::harness::sweep_partial;
use crate::text::{Masker, printable_json, trouble};

const TRIAL_FILE: &str = "trial.json";
const ITERATION_FILE: &str = "iteration.json";
const REPORT_FILE: &str = "report.json";
const HISTORY_FILE: &str = "history.jsonl";

/// What has to be the same for two evaluations to be compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stamp {
    /// The name of the skill.
    pub skill: String,
    /// The digest of the skill's files.
    pub skill_digest: String,
    /// The file of the evaluation.
    pub spec: String,
    /// The digest of the evaluation file.
    pub spec_digest: String,
    /// The target as it was chosen.
    pub target: String,
    /// The version that the target says it has.
    pub version: String,
    /// The model that was asked for; the target's own without it.
    pub model: Option<String>,
    /// The digest of the scripted model; none for the real API.
    pub script_digest: Option<String>,
    /// The settings that trials were run with.
    pub settings: Value,
    /// The same in words, for people. It is not compared: the settings are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The ways in which every case is tried, the evaluated one first. Older files do not say so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<ArmStamp>,
}

/// An arm as it was run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmStamp {
    #[serde(flatten)]
    pub arm: Arm,
    /// The digest of its version of the skill; none where it has no skill.
    pub skill_digest: Option<String>,
    /// The target as it was chosen.
    pub run_on: String,
    /// The version that the target says it has.
    pub version: String,
}

impl Stamp {
    /// Of an evaluation with these arms, the evaluated one first.
    pub fn new(spec: &Spec, arms: Vec<ArmStamp>, script_digest: Option<String>, settings: Value) -> Self {
        let path = std::path::absolute(&spec.path).unwrap_or_else(|_| spec.path.clone());
        let evaluated = arms.first();
        Self {
            skill: spec.skill.clone(),
            skill_digest: evaluated.and_then(|arm| arm.skill_digest.clone()).unwrap_or_default(),
            spec: path.display().to_string(),
            spec_digest: spec.digest.clone(),
            target: evaluated.map(|arm| arm.run_on.clone()).unwrap_or_default(),
            version: evaluated.map(|arm| arm.version.clone()).unwrap_or_default(),
            model: spec.run.model.clone(),
            script_digest,
            settings,
            conditions: Vec::new(),
            arms,
        }
    }

    /// Why results under the other stamp cannot be compared; none when they can. Another version of the skill can:
    /// that is what an evaluation is for.
    pub fn differs(&self, other: &Self) -> Option<String> {
        let pairs = [
            ("skill", Some(&self.skill), Some(&other.skill)),
            ("evaluation file", Some(&self.spec_digest), Some(&other.spec_digest)),
            ("target", Some(&self.target), Some(&other.target)),
            ("target version", Some(&self.version), Some(&other.version)),
            ("model", self.model.as_ref(), other.model.as_ref()),
            ("scripted model", self.script_digest.as_ref(), other.script_digest.as_ref()),
        ];
        let name = pairs.into_iter().find(|(_, ours, theirs)| ours != theirs).map(|(name, ..)| name);
        name.map(|name| format!("another {name}")).or_else(|| {
            (outcome(&self.settings) != outcome(&other.settings)).then(|| "other settings".into())
        })
    }
}

/// The settings that change what becomes of a trial; how many there are does not.
fn outcome(settings: &Value) -> Value {
    let mut settings = settings.clone();
    if let Some(fields) = settings.as_object_mut() {
        fields.retain(|name, _| !matches!(name.as_str(), "trials" | "without" | "retries" | "backoff_ms"));
    }
    settings
}

/// Why evaluations cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file cannot be read or written.
    #[error("{}: {}", path.display(), trouble(path, source))]
    Io {
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file of ours is damaged.
    #[error("{}: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
    /// There is nothing to go on with.
    #[error("{}: no unfinished evaluation to resume", .0.display())]
    NothingToResume(PathBuf),
    /// What is to be resumed was begun with something else.
    #[error("{}: begun with {reason}; start a new evaluation without --resume", path.display())]
    Changed { path: PathBuf, reason: String },
    /// Somebody else works on it.
    #[error("{}: another clawgate is working on this evaluation", .0.display())]
    Busy(PathBuf),
}

/// All evaluations of a skill.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
}

/// One run of an evaluation, with the folder that holds its trials, recordings and report.
#[derive(Debug)]
pub struct Iteration {
    /// The folder `iteration-<number>`, which holds everything.
    pub folder: PathBuf,
    /// Its number, from 1.
    pub number: u32,
    /// What it was begun with.
    pub stamp: Stamp,
    /// Held while somebody works on it.
    _lock: Option<fs::File>,
}

fn at(path: &Path) -> impl Fn(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { path: path.clone(), source }
}

/// Writes a file whole or not at all; what looks like a credential is masked.
fn write(path: &Path, text: &str) -> Result<(), StoreError> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".new");
    let new = path.with_file_name(name);
    fs::write(&new, Masker::default().mask(text)).and_then(|()| fs::rename(&new, path)).map_err(at(path))
}

fn pretty(value: &Value) -> String {
    printable_json(&format!("{value:#}\n")).into_owned()
}

/// A name for a directory; what cannot stand there is replaced, and told apart by a digest.
pub(super) fn safe(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if !text.is_empty() && text.len() <= 80 && text.chars().all(is_plain) && !text.starts_with('.') {
        return text.to_owned();
    }
    let short: String = text.chars().take(40).map(|c| if is_plain(c) { c } else { '_' }).collect();
    format!("{}-{}", short.trim_start_matches('.'), &digest([text.as_bytes()])[..8])
}

impl Store {
    /// The evaluations of a skill below the output folder.
    pub fn new(out: &Path, skill: &str) -> Self {
        Self { folder: out.join(safe(skill)) }
    }

    /// The numbers of the iterations that there are.
    pub fn numbers(&self) -> Vec<u32> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut numbers: Vec<u32> = entries
            .filter_map(|entry| entry.file_name().to_str()?.strip_prefix("iteration-")?.parse().ok())
            .collect();
        numbers.sort_unstable();
        numbers
    }

    fn iteration_folder(&self, number: u32) -> PathBuf {
        self.folder.join(format!("iteration-{number}"))
    }

    /// Begins a new iteration.
    pub fn begin(&self, stamp: Stamp, plan: &[Series<'_>], now_ms: u64) -> Result<Iteration, StoreError> {
        let numbers = self.numbers();
        for number in &numbers {
            sweep_partial(&self.iteration_folder(*number));
        }
        let mut number = numbers.last().map_or(1, |last| last + 1);
        fs::create_dir_all(&self.folder).map_err(at(&self.folder))?;
        let folder = loop {
            let folder = self.iteration_folder(number);
            match fs::create_dir(&folder) {
                Ok(()) => break folder,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(at(&folder)(error)),
            }
        };
        let lock = lock(&folder)?;
        let series: Vec<Value> = plan
            .iter()
            .map(|series| json!({"case": series.case.id, "kind": series.case.kind, "arm": series.arm.name, "trials": series.trials}))
            .collect();
        let iteration = Iteration { folder, number, stamp, _lock: Some(lock) };
        let numbers = layout::numbers(plan);
        for series in plan {
            iteration.describe(series, numbers.get(&series.case.id).copied().unwrap_or_default())?;
        }
        let text = json!({
            "schema_version": 1, "number": number, "started_ms": now_ms, "stamp": iteration.stamp, "plan": series,
        });
        write(&iteration.folder.join(ITERATION_FILE), &pretty(&text))?;
        Ok(iteration)
    }

    /// Goes on with the last iteration, if it is not finished and was begun with the same.
    pub fn resume(&self, stamp: &Stamp) -> Result<Iteration, StoreError> {
        let unfinished = |number: &u32| {
            let folder = self.iteration_folder(*number);
            folder.join(ITERATION_FILE).is_file() && !is_complete(&folder)
        };
        let number = self.numbers().into_iter().rev().find(unfinished);
        let number = number.ok_or_else(|| StoreError::NothingToResume(self.folder.clone()))?;
        let iteration = Iteration::open(&self.iteration_folder(number))?;
        let other_skill = (iteration.stamp.skill_digest != stamp.skill_digest)
            .then(|| "another version of the skill".into());
        let other_settings = (iteration.stamp.settings != stamp.settings).then(|| "other settings".into());
        let other_arms = (iteration.stamp.arms != stamp.arms).then(|| "other arms".into());
        let reason = iteration.stamp.differs(stamp).or(other_skill).or(other_settings).or(other_arms);
        if let Some(reason) = reason {
            return Err(StoreError::Changed { path: iteration.folder, reason });
        }
        let lock = lock(&iteration.folder)?;
        Ok(Iteration { _lock: Some(lock), ..iteration })
    }

    /// The report of the last iteration before this one that was finished.
    pub fn previous(&self, before: u32) -> Option<(PathBuf, Value)> {
        let numbers = self.numbers().into_iter().rev().filter(|number| *number < before);
        numbers
            .map(|number| self.iteration_folder(number))
            .find_map(|folder| Some((folder.clone(), report(&folder)?)))
    }

    /// Adds a line to the history. A line of the same iteration is replaced by later readers.
    pub fn remember(&self, line: &Value) -> Result<(), StoreError> {
        let path = self.folder.join(HISTORY_FILE);
        let mut file = fs::File::options().create(true).append(true).open(&path).map_err(at(&path))?;
        file.write_all(format!("{line}\n").as_bytes()).map_err(at(&path))
    }

    /// The history, one entry an iteration, the last line of each.
    pub fn history(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.join(HISTORY_FILE)).unwrap_or_default();
        let mut entries: Vec<Value> = Vec::new();
        for entry in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            entries.retain(|known| known["iteration"] != entry["iteration"]);
            entries.push(entry);
        }
        entries
    }
}

/// Only one process works on an iteration. The lock ends with the process, however it ends.
fn lock(folder: &Path) -> Result<fs::File, StoreError> {
    let path = folder.join(".lock");
    let file = fs::File::options().create(true).truncate(false).write(true).open(&path).map_err(at(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(StoreError::Busy(folder.to_owned())),
        Err(fs::TryLockError::Error(error)) => Err(at(&path)(error)),
    }
}

/// The report of an iteration, when it has one.
pub(crate) fn report(folder: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(folder.join(REPORT_FILE)).ok()?).ok()
}

fn is_complete(folder: &Path) -> bool {
    report(folder).is_some_and(|report| report["complete"] == true)
}

impl Iteration {
    /// The iteration in this directory.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(ITERATION_FILE);
        let text = fs::read(&path).map_err(at(&path))?;
        let damaged = |reason: String| StoreError::Damaged { path: path.clone(), reason };
        let value: Value = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        let stamp =
            serde_json::from_value(value["stamp"].clone()).map_err(|error| damaged(error.to_string()))?;
        let number = value["number"].as_u64().and_then(|number| u32::try_from(number).ok());
        let number = number.ok_or_else(|| damaged("no `number`".into()))?;
        Ok(Self { folder: folder.to_owned(), number, stamp, _lock: None })
    }

    /// Sets the arms and the numbers of trials as they were when it was begun.
    pub fn restore(&self, spec: &mut Spec) -> Result<(), StoreError> {
        let path = self.folder.join(ITERATION_FILE);
        let value: Value = serde_json::from_slice(&fs::read(&path).map_err(at(&path))?)
            .map_err(|error| StoreError::Damaged { path: path.clone(), reason: error.to_string() })?;
        let plan = value["plan"].as_array().cloned().unwrap_or_default();
        if self.stamp.arms.is_empty() {
            // Written before there were more than two.
            if plan.iter().filter(|series| series["kind"] == "task").all(|series| series["arm"] == WITH_SKILL)
            {
                spec.only_with_skill();
            }
        } else {
            spec.arms = self.stamp.arms.iter().map(|stamped| stamped.arm.clone()).collect();
        }
        if plan.iter().any(|series| series["kind"] == "blind") {
            // It may have been a flag that asked for them.
            spec.compare_blindly().map_err(|reason| StoreError::Damaged { path: path.clone(), reason })?;
        }
        if self.stamp.settings["cases"].is_array() {
            spec.cases.retain(|case| plan.iter().any(|series| series["case"] == case.id.as_str()));
        }
        for case in &mut spec.cases {
            let trials = plan
                .iter()
                .find(|series| series["case"] == case.id.as_str())
                .and_then(|series| series["trials"].as_u64());
            case.trials = trials.and_then(|trials| u32::try_from(trials).ok()).or(case.trials);
        }
        Ok(())
    }

    fn case_folder(&self, case: &str, kind: Kind) -> PathBuf {
        let prefix = match kind {
            Kind::Task => "eval-",
            Kind::ControlPass | Kind::ControlFail | Kind::JudgePass | Kind::JudgeFail => "control-",
            Kind::MustTrigger | Kind::MustNotTrigger => "trigger-",
            Kind::Blind => "blind-",
        };
        // Built-in names say what they are already.
        let name = if kind == Kind::Task { case } else { case.strip_prefix(prefix).unwrap_or(case) };
        self.folder.join(safe(&format!("{prefix}{name}")))
    }

    /// Where a trial is kept.
    pub fn trial_folder(&self, id: &TrialId, kind: Kind) -> PathBuf {
        self.case_folder(&id.case, kind).join(&id.arm).join(format!("run-{}", id.trial))
    }

    /// The trial, if it is finished.
    pub fn finished(&self, id: &TrialId, kind: Kind) -> Option<Trial> {
        let text = fs::read(self.trial_folder(id, kind).join(TRIAL_FILE)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Says what is asked of the arms of a case, for skill-creator's viewer.
    fn describe(&self, series: &Series<'_>, number: u64) -> Result<(), StoreError> {
        let folder = self.case_folder(&series.case.id, series.case.kind);
        let of_arm = folder.join(&series.arm.name);
        fs::create_dir_all(&of_arm).map_err(at(&of_arm))?;
        let text = pretty(&layout::metadata(series, number));
        for folder in [folder, of_arm] {
            write(&folder.join("eval_metadata.json"), &text)?;
        }
        Ok(())
    }

    /// Writes everything that is kept of a trial, `trial.json` last.
    pub(super) fn finish(&self, trial: &Trial, observed: Option<&Observed>) -> Result<(), StoreError> {
        let folder = self.trial_folder(&trial.id, trial.kind);
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        if trial.status == Status::NotMeasured {
            // Whoever adds up gradings must not find one here.
            _ = fs::remove_file(folder.join("grading.json"));
        } else {
            write(&folder.join("grading.json"), &pretty(&grading(trial, observed)))?;
        }
        write(&folder.join("timing.json"), &pretty(&timing(trial)))?;
        if let (Some(observed), Some(last)) = (observed, trial.attempts.last()) {
            let recording = folder.join(&last.recording);
            let text = transcript::of(&recording, &observed.steps).map_err(at(&recording))?;
            write(&folder.join("transcript.md"), &text)?;
        }
        // The viewer takes whatever has outputs for a run; controls and triggers are none, unless they wrote files.
        let wrote = observed.is_some_and(|observed| observed.files.is_dir());
        if trial.kind == Kind::Task || wrote {
            let recording = trial.attempts.last().map_or("", |last| last.recording.as_str());
            layout::outputs(&folder, recording, observed).map_err(at(&folder))?;
        }
        let text = serde_json::to_value(trial).unwrap_or_default();
        write(&folder.join(TRIAL_FILE), &pretty(&text))
    }

    /// Writes the report, and the benchmark for skill-creator's tools.
    pub(super) fn conclude(
        &self,
        report: &Value,
        plan: &[Series<'_>],
        summary: &Value,
        now: &str,
    ) -> Result<(), StoreError> {
        self.benchmark(plan, summary, report, now)?;
        write(&self.folder.join(REPORT_FILE), &pretty(report))
    }

    /// Written run by run, since there may be many.
    fn benchmark(
        &self,
        plan: &[Series<'_>],
        summary: &Value,
        report: &Value,
        now: &str,
    ) -> Result<(), StoreError> {
        let path = self.folder.join("benchmark.json");
        let new = self.folder.join("benchmark.json.new");
        let tasks = || plan.iter().filter(|series| series.case.kind == Kind::Task);
        let numbers = layout::numbers(plan);
        let mut ids: Vec<Option<&u64>> = tasks().map(|series| numbers.get(&series.case.id)).collect();
        ids.dedup();
        let metadata = json!({
            "skill_name": self.stamp.skill,
            "executor_model": self.stamp.model,
            "timestamp": now,
            "evals_run": ids,
            "runs_per_configuration": tasks().map(|series| series.trials).max().unwrap_or_default(),
        });
        let write = || -> io::Result<()> {
            let mut out = io::BufWriter::new(fs::File::create(&new)?);
            write!(out, "{{\n\"metadata\": {metadata:#},\n\"runs\": [")?;
            let mut is_first = true;
            for series in tasks() {
                for id in series.ids() {
                    let Some(trial) =
                        self.finished(&id, Kind::Task).filter(|trial| trial.status != Status::NotMeasured)
                    else {
                        continue;
                    };
                    write!(
                        out,
                        "{}\n{}",
                        if is_first { "" } else { "," },
                        run(&trial, numbers.get(&id.case).copied())
                    )?;
                    is_first = false;
                }
            }
            let notes = &report["warnings"];
            write!(out, "\n],\n\"run_summary\": {summary:#},\n\"notes\": {notes:#}\n}}\n")?;
            out.into_inner().map_err(io::IntoInnerError::into_error)?;
            fs::rename(&new, &path)
        };
        write().map_err(at(&path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_the_folder_or_meet() {
        assert_eq!(safe("eval-1"), "eval-1");
        assert!(safe("../x") != "../x" && !safe("../x").contains('/'));
        assert_ne!(safe("a/b"), safe("a:b"));
        assert!(!safe("..").starts_with('.') && safe(&"x".repeat(500)).len() < 60);
    }
}
