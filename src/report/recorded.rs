//! Targets that are not at hand, judged by recordings of them: columns of the conformance report.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::judge::{
    Ending, Input, InputError, Judge, Protocol, Settings, Shelf, Source, find, is_of_events, judge_stream,
};
use crate::recording::{Facts, Recording};
use crate::run::{CaseFinished, Failure, Status, TargetInfo};
use crate::schema::{self, FileError, Run};

/// Recordings that are wished for: `claw-flat=recordings/claw`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedWish {
    /// The contract that they are held to.
    pub contract: String,
    /// Where they are.
    pub folder: PathBuf,
}

impl FromStr for RecordedWish {
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
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Recorded {
    /// Where they are.
    pub folder: PathBuf,
    /// The targets that were recorded.
    pub targets: Vec<TargetInfo>,
    /// A case for each recording; it fails when it breaks a must clause.
    pub cases: Vec<CaseFinished>,
}

/// Why recordings cannot be judged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordedError {
    /// They cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The contract cannot be used.
    #[error(transparent)]
    Contract(#[from] FileError),
    /// There are none.
    #[error("{}: there is no recording (a folder with a recording.json) in it", .0.display())]
    None(PathBuf),
}

impl Recorded {
    /// Judges the recordings below a folder.
    pub fn read(wish: &RecordedWish) -> Result<Self, RecordedError> {
        let shelf = Shelf::only(&wish.contract)?;
        let mut read = Self { folder: wish.folder.clone(), ..Self::default() };
        let mut targets = BTreeMap::new();
        for input in find(&wish.folder)? {
            let Input { source: Source::Recording(path), .. } = &input else { continue };
            let recording = Recording::open(path).map_err(InputError::from)?;
            let target = label(&recording.facts);
            targets.insert(target.clone(), recording.facts.target_version.clone());
            let findings = judge(&recording, path, &shelf)?;
            read.cases.push(case(&recording.facts, target, path, &wish.contract, findings));
        }
        if read.cases.is_empty() {
            return Err(RecordedError::None(wish.folder.clone()));
        }
        let info = |(target, version)| TargetInfo { target, version };
        read.targets = targets.into_iter().map(info).collect();
        Ok(read)
    }
}

/// A recorded target is called as one that is chosen by its version.
fn label(facts: &Facts) -> String {
    match (facts.target.as_str(), facts.target_version.as_str()) {
        (target, "") => target.to_owned(),
        (target, version) => format!("{target}@{version}"),
    }
}

fn judge(recording: &Recording, path: &Path, shelf: &Shelf) -> Result<Vec<schema::Finding>, RecordedError> {
    let at = |source| InputError::Io { path: path.to_owned(), source };
    let mut stdout = recording.stdout().map_err(at)?;
    if let Some(set) = shelf.chosen().filter(|set| is_of_events(set)) {
        let recorded = recording.facts.other.get("profile").and_then(serde_json::Value::as_str);
        let profile = recorded.and_then(crate::events::Profile::from_name).unwrap_or_default();
        return Ok(judge_stream(set, profile, &[], stdout, &mut ()).map_err(at)?.findings);
    }
    let mut stderr = Vec::new();
    recording.stderr().and_then(|mut err| err.read_to_end(&mut stderr)).map_err(at)?;
    let ending = Ending::of_recording(&recording.facts, stderr);
    let protocol = Protocol::of_recording(&recording.facts);
    let mut judge = Judge::new(protocol, Settings::default(), shelf, &Run::of(&recording.facts))?;
    let mut chunk = vec![0; 256 << 10];
    loop {
        match stdout.read(&mut chunk).map_err(at)? {
            0 => break,
            read => judge.push(&chunk[..read], &mut |_| {}),
        }
    }
    Ok(judge.finish(&ending, &mut |_| {})?.findings)
}

fn case(
    facts: &Facts,
    target: String,
    path: &Path,
    contract: &str,
    findings: Vec<schema::Finding>,
) -> CaseFinished {
    let failing = findings.iter().filter(|finding| finding.fails());
    let failures: Vec<Failure> = failing.map(Failure::finding).collect();
    CaseFinished {
        case: facts.scenario.clone(),
        target,
        repetition: 1,
        status: if failures.is_empty() { Status::Pass } else { Status::Fail },
        attempts: 1,
        contract: contract.to_owned(),
        findings: findings.into_iter().map(Into::into).collect(),
        failures,
        recording: Some(path.display().to_string()),
        ..CaseFinished::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_a_contract_and_a_folder() {
        let wish: RecordedWish = "claw-flat=a=b".parse().unwrap();
        assert_eq!((wish.contract.as_str(), wish.folder.as_path()), ("claw-flat", Path::new("a=b")));
        for wrong in ["", "claw-flat", "=x", "claw-flat="] {
            assert!(wrong.parse::<RecordedWish>().unwrap_err().contains("claw-flat=recordings/"), "{wrong}");
        }
    }
}
