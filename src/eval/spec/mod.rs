//! What is to be evaluated: a skill, cases, assertions and thresholds, in any of three forms.
//!
//! | form | file | reader |
//! |---|---|---|
//! | our own | `*.toml` | every setting |
//! | clauditor's | `<skill>.eval.json`, `SKILL.eval.json`, `eval.json` | all its fields |
//! | skill-creator's | `evals/evals.json` | all its fields |

mod case;
mod clauditor;
mod model;
mod own;
mod sections;
mod settings;
mod skill_creator;
mod triggers;
mod values;

pub use case::Kind;
pub(crate) use case::{Case, Expectation, Input};
pub(crate) use model::{ScriptRule, ScriptedModel};
pub use sections::Section;
pub(crate) use sections::{Field, Tier};
pub(crate) use settings::{JudgeSettings, RunSettings, Thresholds};

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hmac_sha256::Hash as Sha256;
use serde::{Deserialize, Serialize};

pub(crate) use self::values::is_inside;
use self::values::{Ids, assert_can_fail, count, part, positive, said};
use super::arm::{Arm, WITHOUT_SKILL};
use super::assertion::Assertion;
use crate::document::{self, FileError};
use crate::text::{glob, hex, nearest, trouble};

/// An evaluation as its file describes it.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The file that the evaluation was read from.
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
    /// The ways in which every case is tried; the first is the one that is evaluated.
    pub arms: Vec<Arm>,
    /// How trials are run.
    pub run: RunSettings,
    /// What has to be reached.
    pub thresholds: Thresholds,
    /// How expectations are judged.
    pub judge: JudgeSettings,
    /// The scripted model, if the file brings one.
    pub model: ScriptedModel,
    /// Further files of the evaluation, such as a set of triggers.
    pub beside: Vec<PathBuf>,
    /// What the file asks for and is not checked, each with the reason.
    pub unchecked: Vec<String>,
    /// Which cases were chosen on the command line; none when all are.
    pub chosen: Option<Vec<String>>,
    /// The digest of the file's text.
    pub digest: String,
}

/// Which form a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    Own,
    Clauditor,
    SkillCreator,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// It cannot be read.
    #[error("{}: {}", path.display(), trouble(path, source))]
    Io {
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// It says something wrong.
    #[error(transparent)]
    Document(#[from] FileError),
    /// A set of triggers that is beside no skill.
    #[error(
        "{}: whose triggers are these? put the set below the skill's directory, or name it in an evaluation: \
         [triggers] set = FILE", .0.display()
    )]
    NoSkill(PathBuf),
    /// It is not a file of a known form.
    #[error("{}: not an evaluation: expected evals.json, <skill>.eval.json, a .toml file or a set of triggers; a first one is written by: clawgate eval init SKILL", .0.display())]
    Unknown(PathBuf),
}

impl Spec {
    /// Reads a file; a directory stands for the evaluation in it.
    ///
    /// ```
    /// use clawgate::internals::eval::spec::{Kind, Spec};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("greet.eval.json");
    /// let assertion = r#"{"id": "ahoy", "type": "contains", "needle": "Ahoy"}"#;
    /// std::fs::write(&path, format!(r#"{{"test_args": "Ann", "assertions": [{assertion}]}}"#))?;
    /// let spec = Spec::open(&path)?;
    /// assert_eq!((spec.skill.as_str(), spec.cases[0].prompt.as_str()), ("greet", "/greet Ann"));
    /// // Every evaluation has a control that is known to pass and one that is known to fail.
    /// assert_eq!(spec.cases.iter().filter(|case| case.kind.is_control()).count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: &Path) -> Result<Self, SpecError> {
        let at = |source| SpecError::Io { path: path.to_owned(), source };
        if fs::metadata(path).map_err(at)?.is_dir() {
            let found = ["evals/evals.json", "SKILL.eval.json", "eval.json", "eval.toml", "evals.json"]
                .map(|name| path.join(name))
                .into_iter()
                .find(|file| file.is_file());
            return Self::open(&found.ok_or_else(|| SpecError::Unknown(path.to_owned()))?);
        }
        let bytes = document::read(path).map_err(at)?;
        let text = String::from_utf8(bytes)
            .map_err(|error| at(io::Error::new(io::ErrorKind::InvalidData, error.utf8_error())))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut spec = if name.ends_with(".toml") {
            own::read(path, &text)?
        } else if name == "evals.json" {
            skill_creator::read(path, &text)?
        } else if name.ends_with("eval.json") {
            clauditor::read(path, &text)?
        } else if name.ends_with(".json") && text.trim_start().starts_with('[') {
            triggers::read(path, &text)?
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
            arms: vec![Arm::with_skill(), Arm::without_skill()],
            run: RunSettings::default(),
            thresholds: Thresholds::default(),
            judge: JudgeSettings::default(),
            model: ScriptedModel::default(),
            beside: Vec::new(),
            unchecked: Vec::new(),
            chosen: None,
            digest: String::new(),
        }
    }

    /// Leaves out the arm without the skill.
    pub(crate) fn only_with_skill(&mut self) {
        self.arms.retain(|arm| arm.name != WITHOUT_SKILL);
    }

    /// Adds another way of trying every case.
    pub(crate) fn add_arm(&mut self, arm: Arm) -> Result<(), String> {
        if self.arms.iter().any(|known| known.name == arm.name) {
            return Err(format!("a second arm `{}`", arm.name));
        }
        self.arms.push(arm);
        Ok(())
    }

    /// Leaves out the cases whose ids fit none of these patterns; controls stay. The error says what there is.
    pub(crate) fn choose(&mut self, patterns: &[String]) -> Result<(), String> {
        for pattern in patterns {
            if !self.cases.iter().any(|case| !case.kind.is_control() && glob(pattern, &case.id)) {
                let ids =
                    || self.cases.iter().filter(|case| !case.kind.is_control()).map(|case| case.id.as_str());
                let hint = nearest(pattern, ids()).map_or_else(
                    || format!("; there are {}", ids().collect::<Vec<_>>().join(", ")),
                    |id| format!(", did you mean `{id}`?"),
                );
                return Err(format!("{}: no case `{pattern}`{hint}", self.path.display()));
            }
        }
        let fits =
            |case: &Case| case.kind.is_control() || patterns.iter().any(|pattern| glob(pattern, &case.id));
        self.cases.retain(fits);
        self.chosen = Some(patterns.to_vec());
        Ok(())
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
        if self.cases.iter().any(|case| !case.expectations.is_empty()) {
            self.add_judge_controls();
        }
    }

    /// A model that judges is judged itself.
    pub(crate) fn add_judge_controls(&mut self) {
        if !self.cases.iter().any(|case| case.kind.is_judge_control()) {
            self.cases.extend(super::controls::of_judge());
        }
    }

    /// The files that hold what is expected: no trial may see them.
    pub(crate) fn answers(&self) -> Vec<PathBuf> {
        let graders = self.cases.iter().flat_map(|case| &case.assertions).filter_map(Assertion::exam);
        let graders = graders.flat_map(|exam| &exam.files).filter_map(|file| match file {
            Input::Copy { from, .. } => Some(from),
            Input::Text { .. } => None,
        });
        let all = [&self.path].into_iter().chain(&self.beside).chain(graders);
        all.filter_map(|path| fs::canonicalize(path).ok()).collect()
    }

    /// The folder of the file.
    pub fn folder(&self) -> &Path {
        self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }
}

/// The SHA-256 of several texts, as hexadecimal digits.
pub(crate) fn digest<'t>(texts: impl IntoIterator<Item = &'t [u8]>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    hex(&hash.finalize())
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
            [
                [Kind::Task, Kind::MustTrigger, Kind::MustNotTrigger, Kind::ControlPass, Kind::ControlFail]
                    .as_slice(),
                // A model judges, and so it has controls of its own.
                &[Kind::JudgePass, Kind::JudgeFail, Kind::JudgePass, Kind::JudgeFail],
            ]
            .concat()
        );
        assert_eq!((spec.cases[0].assertions.len(), spec.cases[0].expectations.len()), (2, 1));
        assert_eq!((spec.run.trials, spec.thresholds.min_delta), (5, Some(0.3)));
    }
}
