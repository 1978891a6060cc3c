//! Targets that are not at hand, judged by recordings of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::broken::broken;
use super::compare::Failure;
use super::event::{CaseFinished, Status, TargetInfo};
use super::process::Process;
use crate::classify::Class;
use crate::judge::{self, Contracts, InputError, JudgeError, Judgement, Options, Source, find};
use crate::recording::{Facts, Recording};
use crate::schema::{FileError, Finding};
use crate::shell::shell_word;

/// A folder of recordings, or of fixtures, and the contract that they are held to: `claw-flat=recordings/claw`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordedFolder {
    pub(crate) contract: String,
    pub(crate) folder: PathBuf,
}

impl FromStr for RecordedFolder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((contract, folder)) if !contract.is_empty() && !folder.is_empty() => {
                Ok(Self { contract: contract.to_owned(), folder: PathBuf::from(folder) })
            }
            _ => Err("expected a contract and a folder, such as claw-flat=recordings/".into()),
        }
    }
}

/// The recordings of a folder, judged.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) folder: PathBuf,
    /// The targets that were recorded.
    pub(crate) targets: Vec<TargetInfo>,
    /// A case for each recording; it fails when it breaks a must clause.
    pub(crate) cases: Vec<CaseFinished>,
}

/// Why recordings cannot be judged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordedError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Contract(#[from] FileError),
    #[error(transparent)]
    Judge(#[from] JudgeError),
    #[error("{}: there is no recording (a folder with a recording.json) and no file of JSON in it", .0.display())]
    None(PathBuf),
}

impl RecordedFolder {
    /// Judges the recordings below the folder.
    pub(crate) fn judge(&self) -> Result<Recorded, RecordedError> {
        let contracts = Contracts::only(&self.contract)?;
        let mut cases = Vec::new();
        let mut targets = BTreeMap::new();
        for input in find(&self.folder)? {
            let path = match &input.source {
                Source::Recording(path) => path.clone(),
                Source::File(path) => {
                    let findings = judge::file(path, &contracts, &Options::default())?.findings;
                    // Files say nothing of the target that printed them: they are a column by where they are.
                    let target = self.folder.display().to_string();
                    targets.insert(target.clone(), String::new());
                    cases.push(self.case(input.origin().2, target, path, findings, &contracts));
                    continue;
                }
                Source::Segments(_) | Source::Stdin => continue,
            };
            let recording = Recording::open(&path).map_err(InputError::from)?;
            let target = label(&recording.facts);
            targets.insert(target.clone(), recording.facts.target_version.clone());
            let findings = judge::recording(&recording, &contracts, &Options::default())?.findings;
            let scenario = recording.facts.scenario.clone();
            let mut case = self.case(scenario, target, &path, findings, &contracts);
            case.process = (case.status == Status::Fail).then(|| Process::of(&recording));
            cases.push(case);
        }
        if cases.is_empty() {
            return Err(RecordedError::None(self.folder.clone()));
        }
        let info = |(target, version)| TargetInfo { target, version };
        let targets = targets.into_iter().map(info).collect();
        Ok(Recorded { folder: self.folder.clone(), targets, cases })
    }

    /// A recording with what was concluded of it, as a case of a report.
    pub(crate) fn as_case(
        path: &Path,
        recording: &Recording,
        judgement: Judgement,
        contracts: &Contracts,
    ) -> CaseFinished {
        let failing = judgement.findings.iter().filter(|finding| finding.fails());
        let failures: Vec<Failure> = failing.map(Failure::finding).collect();
        let is_ok = judgement.verdict.as_ref().is_none_or(|verdict| verdict.class == Class::Ok);
        let status = if failures.is_empty() && is_ok { Status::Pass } else { Status::Fail };
        CaseFinished {
            case: recording.facts.scenario.clone(),
            target: label(&recording.facts),
            repetition: 1,
            status,
            attempts: 1,
            contract: judgement.contract.unwrap_or_default(),
            verdict: judgement.verdict.map(Into::into),
            findings: judgement.findings.into_iter().map(Into::into).collect(),
            clauses: broken(&failures, contracts),
            failures,
            process: (status == Status::Fail).then(|| Process::of(recording)),
            duration_ms: recording.facts.duration_ms.unwrap_or(0) as f64,
            recording: Some(path.display().to_string()),
            replay: format!("clawgate judge {}", shell_word(&path.display().to_string())),
            ..CaseFinished::default()
        }
    }

    fn case(
        &self,
        case: String,
        target: String,
        path: &Path,
        findings: Vec<Finding>,
        contracts: &Contracts,
    ) -> CaseFinished {
        let failing = findings.iter().filter(|finding| finding.fails());
        let failures: Vec<Failure> = failing.map(Failure::finding).collect();
        CaseFinished {
            case,
            target,
            repetition: 1,
            status: if failures.is_empty() { Status::Pass } else { Status::Fail },
            attempts: 1,
            contract: self.contract.clone(),
            findings: findings.into_iter().map(Into::into).collect(),
            clauses: broken(&failures, contracts),
            failures,
            recording: Some(path.display().to_string()),
            ..CaseFinished::default()
        }
    }
}

/// A recorded target is called as one that is chosen by its version.
fn label(facts: &Facts) -> String {
    match (facts.target.as_str(), facts.target_version.as_str()) {
        (target, "") => target.to_owned(),
        (target, version) => format!("{target}@{version}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_are_named_by_a_contract_and_a_folder() {
        let named: RecordedFolder = "claw-flat=a=b".parse().unwrap();
        assert_eq!((named.contract.as_str(), named.folder.as_path()), ("claw-flat", Path::new("a=b")));
        for wrong in ["", "claw-flat", "=x", "claw-flat="] {
            assert!(
                wrong.parse::<RecordedFolder>().unwrap_err().contains("claw-flat=recordings/"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn recorded_event_logs_are_judged_as_everywhere() {
        let folder = tempfile::tempdir().unwrap();
        let facts = r#"{"schema_version":1,"target":"reference","target_version":"","scenario":"s","exit":{"code":0},
            "contract":"claws-events","profile":"lenient"}"#;
        let recording =
            Recording::new(Facts::parse(facts.as_bytes()).unwrap(), b"no record\n".to_vec(), Vec::new());
        recording.save(&folder.path().join("a")).unwrap();
        let wanted = RecordedFolder { contract: "claws-events".into(), folder: folder.path().to_owned() };
        let found: Vec<_> =
            wanted.judge().unwrap().cases[0].findings.iter().map(|finding| finding.clause.clone()).collect();
        let judged = judge::recording(&recording, &Contracts::built_in(), &Options::default()).unwrap();
        assert_eq!(found, judged.findings.iter().map(|finding| finding.clause.clone()).collect::<Vec<_>>());
        assert!(!found.is_empty());
    }
}
