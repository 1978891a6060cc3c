//! One side of a comparison: recordings, golden snapshots, or plain files of JSON, by case.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::ComparePolicy;
use super::side::Side;
use crate::document;
use crate::golden::{
    Go, Normalised, Part, Parts as _, SNAP, Store, StoreError, head_of, holds_message, visit_output,
    visit_snapshot,
};
use crate::judge::{InputError, Source, find};
use crate::recording::{Recording, RecordingError};
use crate::schema::FileError;
use crate::text::{Masked, trouble};

/// The cases of one side.
#[derive(Debug, Clone, Default)]
pub struct CaseSet {
    cases: BTreeMap<String, Vec<Place>>,
    versions: BTreeSet<String>,
}

/// Where a run of a case is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Recording(PathBuf),
    Snapshot(PathBuf),
    /// A file of JSON: a document, or a message a line.
    Fixture(PathBuf),
}

/// Why a side cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// A path cannot be walked.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A recording cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// A file cannot be read.
    #[error("{}: {}", path.display(), trouble(path, source))]
    Io {
        /// The file that cannot be read.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A snapshot cannot be read.
    #[error(transparent)]
    Snapshot(#[from] StoreError),
    /// A contract that a run speaks cannot be read.
    #[error(transparent)]
    Contract(#[from] FileError),
    /// There is nothing to compare.
    #[error("{}: neither recordings, golden snapshots nor JSON files in it", .0.display())]
    Nothing(PathBuf),
    /// What was named holds nothing that could be compared; two of them would always be the same.
    #[error("{}: holds no JSON; name recordings, snapshots, files of JSON or a target", .0.display())]
    NoJson(PathBuf),
}

impl CaseSet {
    /// Finds the cases below a path: recordings, else golden snapshots, else files of JSON.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let inputs = find(path)?;
        let recordings: Vec<&PathBuf> = inputs
            .iter()
            .filter_map(|input| match &input.source {
                Source::Recording(path) => Some(path),
                _ => None,
            })
            .collect();
        let found = if !recordings.is_empty() {
            recordings.into_iter().map(|path| named_recording(path)).collect::<Result<Vec<_>, _>>()?
        } else if let Some(snapshots) = snapshots(path)? {
            snapshots
        } else {
            inputs
                .iter()
                .filter_map(|input| match &input.source {
                    Source::File(file) => Some(fixture(path, file)),
                    _ => None,
                })
                .collect()
        };
        if found.is_empty() {
            return Err(SourceError::Nothing(path.to_owned()));
        }
        // Of plain files one at least has to hold JSON.
        let mut fixtures = found.iter().filter_map(|named| match &named.place {
            Place::Fixture(file) => Some(holds_json(file)),
            _ => None,
        });
        if let Some(first) = fixtures.next()
            && !first?
            && !fixtures.any(|holds| holds.is_ok_and(|holds| holds))
        {
            return Err(SourceError::NoJson(path.to_owned()));
        }
        drop(fixtures);
        Ok(Self::of(&found))
    }

    /// Cases of several targets are told apart by the target's name.
    fn of(found: &[Named]) -> Self {
        let targets: BTreeSet<&str> = found.iter().map(|named| named.target.as_str()).collect();
        let many = targets.len() > 1;
        let mut set = Self::default();
        for named in found {
            let name = if many { format!("{}/{}", named.target, named.case) } else { named.case.clone() };
            set.cases.entry(name).or_default().push(named.place.clone());
            set.versions.extend(named.version.clone());
        }
        set
    }

    /// The names of the cases, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.cases.keys().map(String::as_str)
    }

    /// Whether it has a case.
    pub fn holds(&self, case: &str) -> bool {
        self.cases.contains_key(case)
    }

    /// The versions that its recordings name.
    pub fn versions(&self) -> impl Iterator<Item = &str> {
        self.versions.iter().map(String::as_str)
    }

    /// Keeps the cases that `keep` names.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.cases.retain(|name, _| keep(name));
    }

    /// Reads and normalises every run of a case.
    pub(super) fn load(&self, case: &str, policy: &ComparePolicy<'_>) -> Result<Side, SourceError> {
        let mut side = Side::default();
        for place in self.cases.get(case).into_iter().flatten() {
            place.add_to(&mut side, policy)?;
        }
        Ok(side)
    }
}

impl Place {
    fn path(&self) -> &Path {
        match self {
            Self::Recording(path) | Self::Snapshot(path) | Self::Fixture(path) => path,
        }
    }

    /// What one run holds.
    pub(super) fn load(&self, policy: &ComparePolicy<'_>) -> Result<Side, SourceError> {
        let mut side = Side::default();
        self.add_to(&mut side, policy)?;
        Ok(side)
    }

    fn add_to(&self, side: &mut Side, policy: &ComparePolicy<'_>) -> Result<(), SourceError> {
        side.begin_run(&self.path().display().to_string());
        side.is_fixture |= matches!(self, Self::Fixture(_));
        self.read(policy, side)?;
        side.end_run();
        Ok(())
    }

    fn read(&self, policy: &ComparePolicy<'_>, side: &mut Side) -> Result<(), SourceError> {
        let at = |source| SourceError::Io { path: self.path().to_owned(), source };
        let mut add = |part: Part<'_>| {
            side.add(part);
            Go::Continue(())
        };
        let contract = match self {
            Self::Recording(path) => {
                let recording = Recording::open(path)?;
                let volatile = policy.volatile(&recording.facts.target, recording.facts.contract());
                let run = Normalised::new(&recording, &volatile);
                run.visit(&mut add).map_err(at)?;
                run.head().contract.clone()
            }
            Self::Snapshot(path) => visit_snapshot(path, &mut add)?.contract,
            Self::Fixture(path) => {
                let volatile = policy.volatile("", None);
                let mut add = |entry: &_| add(Part::Stdout(entry));
                visit_output(|| document::open(path).map(Masked::new), &volatile, &mut add).map_err(at)?;
                None
            }
        };
        side.contract = side.contract.take().or(contract);
        Ok(())
    }
}

fn holds_json(path: &Path) -> Result<bool, SourceError> {
    let holds = document::open(path).and_then(holds_message);
    holds.map_err(|source| SourceError::Io { path: path.to_owned(), source })
}

struct Named {
    target: String,
    case: String,
    version: Option<String>,
    place: Place,
}

fn named_recording(path: &Path) -> Result<Named, SourceError> {
    let facts = Recording::open(path)?.facts;
    Ok(Named {
        target: facts.target,
        case: facts.scenario,
        version: Some(facts.target_version).filter(|version| !version.is_empty()),
        place: Place::Recording(path.to_owned()),
    })
}

/// The snapshots below a folder; none when there is not one.
fn snapshots(path: &Path) -> Result<Option<Vec<Named>>, SourceError> {
    let files = if path.is_dir() {
        Store::new(path, |_| false).all()?
    } else if path.extension().is_some_and(|extension| extension == SNAP) {
        vec![path.to_owned()]
    } else {
        Vec::new()
    };
    if files.is_empty() {
        return Ok(None);
    }
    let named = |file: PathBuf| {
        let head = head_of(&file)?;
        Ok(Named { target: head.target, case: head.scenario, version: None, place: Place::Snapshot(file) })
    };
    files.into_iter().map(named).collect::<Result<_, _>>().map(Some)
}

/// A fixture is named after its path below the folder, without the ending.
fn fixture(root: &Path, file: &Path) -> Named {
    let inside = file.strip_prefix(root).ok().filter(|inside| !inside.as_os_str().is_empty());
    let name = inside.map_or_else(|| PathBuf::from(file.file_name().unwrap_or_default()), Path::to_owned);
    Named {
        target: String::new(),
        case: name.with_extension("").to_string_lossy().into_owned(),
        version: None,
        place: Place::Fixture(file.to_owned()),
    }
}
