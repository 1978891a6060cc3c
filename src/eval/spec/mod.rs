//! What is to be evaluated: a skill, cases, assertions and thresholds, in any of three forms.
//!
//! | form | file | reader |
//! |---|---|---|
//! | our own | `*.toml` | every setting |
//! | clauditor's | `<skill>.eval.json`, `SKILL.eval.json`, `eval.json` | all its fields |
//! | skill-creator's | `evals/evals.json` | all its fields |

mod clauditor;
mod own;
mod skill_creator;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::assertion::Assertion;
use crate::document::DocumentError;
use crate::harness::mock::{Fault, Scenario, Script};

/// An evaluation as its file describes it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Spec {
    /// The file.
    pub path: PathBuf,
    /// Which form it has.
    pub form: Form,
    /// The name of the skill.
    pub skill: String,
    /// Where the skill is, if the file says so.
    pub skill_path: Option<PathBuf>,
    /// What is evaluated, in the author's words.
    pub description: String,
    /// The cases, controls and prompts that have to trigger the skill, or must not.
    pub cases: Vec<Case>,
    /// How trials are run.
    pub run: RunSettings,
    /// What has to be reached.
    pub thresholds: Thresholds,
    /// How expectations are judged.
    pub judge: JudgeSettings,
    /// The scripted model, if the file brings one.
    pub model: ScriptedModel,
    /// What the file asks for and is not checked, each with the reason.
    pub unchecked: Vec<String>,
    /// The digest of the file's text.
    pub digest: String,
}

/// Which form a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Form {
    /// Our own TOML.
    Own,
    /// clauditor's JSON.
    Clauditor,
    /// skill-creator's JSON.
    SkillCreator,
}

/// One thing that is tried several times.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Case {
    /// What identifies it within its evaluation.
    pub id: String,
    /// What it is for.
    pub kind: Kind,
    /// What is asked with the skill.
    pub prompt: String,
    /// What is asked without it; none when that makes no sense.
    pub prompt_without: Option<String>,
    /// What success looks like, in the author's words.
    pub expected: Option<String>,
    /// Files in the working directory.
    pub files: Vec<Input>,
    /// Whose text is the output, the first that was written; what was said without any.
    pub outputs: Vec<String>,
    /// What has to hold.
    pub assertions: Vec<Assertion>,
    /// What a model is asked to judge.
    pub expectations: Vec<Expectation>,
    /// How many trials, instead of the evaluation's.
    pub trials: Option<u32>,
}

/// What a case is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// A task for the skill.
    Task,
    /// Known to pass: when it does not, nothing was measured.
    ControlPass,
    /// Known to fail: when it does not, nothing was measured.
    ControlFail,
    /// The skill has to be used.
    MustTrigger,
    /// The skill must not be used.
    MustNotTrigger,
}

impl Kind {
    /// Whether it is about the apparatus, not the skill.
    pub fn is_control(self) -> bool {
        matches!(self, Self::ControlPass | Self::ControlFail)
    }

    /// Whether it asks only if the skill is used.
    pub fn is_trigger(self) -> bool {
        matches!(self, Self::MustTrigger | Self::MustNotTrigger)
    }
}

/// A file in the working directory.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Input {
    /// A copy.
    Copy {
        /// Where in the working directory.
        to: String,
        /// Of which file or directory.
        from: PathBuf,
    },
    /// With this text.
    Text {
        /// Where in the working directory.
        to: String,
        /// What is in it.
        text: String,
    },
}

/// What a model is asked to judge.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expectation {
    /// What identifies it within its evaluation.
    pub id: String,
    /// The statement.
    pub text: String,
}

/// How trials are run. Everything that changes the outcome is said explicitly.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct RunSettings {
    /// Trials of each case.
    pub trials: u32,
    /// Whether each case is also tried without the skill.
    pub without: bool,
    /// The model; the target's own without it.
    pub model: Option<String>,
    /// What is allowed without asking.
    pub permission_mode: String,
    /// Tools that are allowed besides.
    pub allowed_tools: Vec<String>,
    /// Tools that are taken away.
    pub disallowed_tools: Vec<String>,
    /// The most turns of a trial.
    pub max_turns: u64,
    /// The most that a trial may cost.
    pub max_cost_usd: f64,
    /// The most that a trial may take.
    pub timeout_seconds: u64,
    /// Further arguments.
    pub args: Vec<String>,
    /// Further settings in the environment.
    pub env: Vec<(String, String)>,
    /// How often a trial that could not be measured is tried again.
    pub retries: u32,
    /// How long to wait before that, doubled each time, when nobody says when a limit ends.
    pub backoff_ms: u64,
    /// Whether a trial with the skill passes only if the skill was used.
    pub require_use: bool,
    /// Whether guesses, such as a question at the end, are verdicts.
    pub heuristics: bool,
    /// Whether background work is done in the foreground.
    pub sync_tasks: bool,
    /// A system prompt to append.
    pub system_prompt: Option<String>,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            trials: 3,
            without: true,
            model: None,
            permission_mode: "default".into(),
            allowed_tools: Vec::new(),
            disallowed_tools: Vec::new(),
            max_turns: 30,
            max_cost_usd: 1.0,
            timeout_seconds: 300,
            args: Vec::new(),
            env: Vec::new(),
            retries: 2,
            backoff_ms: 1000,
            require_use: true,
            heuristics: true,
            sync_tasks: false,
            system_prompt: None,
        }
    }
}

/// What has to be reached. Where a file does not say otherwise, every trial has to pass and every prompt to trigger
/// the skill, or not, as it should; the rest is not asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Thresholds {
    /// Of each case with the skill.
    pub min_pass_rate: f64,
    /// The part of the trials that has to be measured.
    pub min_measured: f64,
    /// By how much the skill has to be better than none.
    pub min_delta: Option<f64>,
    /// Of the prompts that used the skill, the part that should.
    pub min_precision: f64,
    /// Of the prompts that should use the skill, the part that did.
    pub min_recall: f64,
    /// The median cost of a trial.
    pub max_cost_usd: Option<f64>,
    /// The median time of a trial.
    pub max_seconds: Option<f64>,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            min_pass_rate: 1.0,
            min_measured: 0.5,
            min_delta: None,
            min_precision: 1.0,
            min_recall: 1.0,
            max_cost_usd: None,
            max_seconds: None,
        }
    }
}

/// How expectations are judged.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct JudgeSettings {
    /// The model that judges; that of the trials without it.
    pub model: Option<String>,
    /// The part of a trial's expectations that has to hold.
    pub min_pass_rate: f64,
    /// The least mean of the scores.
    pub min_mean_score: f64,
}

impl Default for JudgeSettings {
    fn default() -> Self {
        Self { model: None, min_pass_rate: 1.0, min_mean_score: 0.0 }
    }
}

/// A scripted model instead of the real API.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ScriptedModel {
    /// What it answers, unless a rule says otherwise.
    pub script: Option<Script>,
    /// What differs for some trials; the first that applies.
    pub rules: Vec<ScriptRule>,
    /// The digest of the files it comes from.
    pub digest: Option<String>,
}

/// What a scripted model does in some trials.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ScriptRule {
    /// The case; every one without it.
    pub case: Option<String>,
    /// With the skill or without; both without it.
    pub with_skill: Option<bool>,
    /// The trials, from 1; all of them when empty.
    pub trials: Vec<u64>,
    /// The attempts at a trial, from 1; all of them when empty.
    pub attempts: Vec<u64>,
    /// Whether it is about the judge of a trial, not the trial.
    pub judge: bool,
    /// Another script.
    pub script: Option<Script>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// It says something wrong.
    #[error("{}", .0.render())]
    Document(#[from] DocumentError),
    /// It is not a file of a known form.
    #[error("{}: not an evaluation: expected evals.json, <skill>.eval.json or a .toml file", .0.display())]
    Unknown(PathBuf),
}

impl ScriptedModel {
    /// Answers every trial by the script of this scenario file.
    pub fn use_script(&mut self, path: &Path) -> Result<(), SpecError> {
        let text =
            fs::read_to_string(path).map_err(|source| SpecError::Io { path: path.to_owned(), source })?;
        let scenario = Scenario::parse(&path.display().to_string(), &text)?;
        *self = Self {
            script: Some(scenario.script),
            rules: Vec::new(),
            digest: Some(digest([text.as_bytes()])),
        };
        Ok(())
    }
}

impl Spec {
    /// Reads a file; a directory stands for the evaluation in it.
    pub fn open(path: &Path) -> Result<Self, SpecError> {
        let at = |source| SpecError::Io { path: path.to_owned(), source };
        if fs::metadata(path).map_err(at)?.is_dir() {
            let found = ["evals/evals.json", "SKILL.eval.json", "eval.json", "eval.toml", "evals.json"]
                .map(|name| path.join(name))
                .into_iter()
                .find(|file| file.is_file());
            return Self::open(&found.ok_or_else(|| SpecError::Unknown(path.to_owned()))?);
        }
        let bytes = fs::read(path).map_err(at)?;
        let text = String::from_utf8(bytes)
            .map_err(|error| at(io::Error::new(io::ErrorKind::InvalidData, error.utf8_error())))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut spec = if name.ends_with(".toml") {
            own::read(path, &text)?
        } else if name == "evals.json" {
            skill_creator::read(path, &text)?
        } else if name.ends_with("eval.json") {
            clauditor::read(path, &text)?
        } else {
            return Err(SpecError::Unknown(path.to_owned()));
        };
        spec.digest = digest([text.as_bytes()]);
        spec.add_controls();
        Ok(spec)
    }

    fn new(path: &Path, form: Form) -> Self {
        Self {
            path: path.to_owned(),
            form,
            skill: String::new(),
            skill_path: None,
            description: String::new(),
            cases: Vec::new(),
            run: RunSettings::default(),
            thresholds: Thresholds::default(),
            judge: JudgeSettings::default(),
            model: ScriptedModel::default(),
            unchecked: Vec::new(),
            digest: String::new(),
        }
    }

    /// Every evaluation has a control of each kind.
    fn add_controls(&mut self) {
        for (kind, control) in [
            (Kind::ControlPass, super::controls::known_pass()),
            (Kind::ControlFail, super::controls::known_fail()),
        ] {
            if !self.cases.iter().any(|case| case.kind == kind) {
                self.cases.push(control);
            }
        }
    }

    /// The folder of the file.
    pub fn folder(&self) -> &Path {
        self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }
}

impl Case {
    /// A case that asks this and no more.
    pub(crate) fn new(id: impl Into<String>, kind: Kind, prompt: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            kind,
            prompt: prompt.into(),
            prompt_without: None,
            expected: None,
            files: Vec::new(),
            outputs: Vec::new(),
            assertions: Vec::new(),
            expectations: Vec::new(),
            trials: None,
        }
    }
}

/// The SHA-256 of several texts, as hexadecimal digits.
pub(crate) fn digest<'t>(texts: impl IntoIterator<Item = &'t [u8]>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    hash.finalize().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_manual_is_valid() {
        let manual = include_str!("../../../evals/README.md");
        let example = manual.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("greet.toml");
        fs::write(&path, example).unwrap();
        let spec = Spec::open(&path).unwrap_or_else(|error| panic!("{error}"));
        let kinds: Vec<Kind> = spec.cases.iter().map(|case| case.kind).collect();
        assert_eq!(
            kinds,
            [Kind::Task, Kind::MustTrigger, Kind::MustNotTrigger, Kind::ControlPass, Kind::ControlFail]
        );
        assert_eq!((spec.cases[0].assertions.len(), spec.cases[0].expectations.len()), (2, 1));
        assert_eq!((spec.run.trials, spec.thresholds.min_delta), (5, Some(0.3)));
    }
}
