//! Directories of recordings, one a version.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{CaseSet, SourceError};
use crate::version;

/// Why directories are no versions to compare.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VersionsError {
    #[error("{0}: a range of versions stands alone")]
    Range(String),
    #[error("{0}: no such directory; a matrix is of directories of recordings, or of one TARGET@A..B")]
    NoDirectory(String),
    #[error("{0}: {1}")]
    Unreadable(String, std::io::Error),
    #[error("{} and {} are both version {version}", one.display(), other.display())]
    Twice { version: String, one: PathBuf, other: PathBuf },
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(
        "a matrix needs the recordings of two versions at least: name a directory for each, or one that holds them"
    )]
    TooFew,
}

/// The versions in their order, and where the recordings of each are.
#[derive(Debug)]
pub(crate) struct RecordedVersions {
    pub order: Vec<String>,
    pub places: BTreeMap<String, PathBuf>,
}

impl RecordedVersions {
    /// Those of the directories that were named; of a single one those in it.
    pub(crate) fn find(typed: &[String]) -> Result<Self, VersionsError> {
        let mut places: BTreeMap<String, PathBuf> = BTreeMap::new();
        for directory in directories(typed)? {
            let cases = CaseSet::open(&directory)?;
            let named: Vec<&str> = cases.versions().collect();
            let version = match &named[..] {
                [version] => (*version).to_owned(),
                _ => directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            };
            if let Some(one) = places.get(&version).cloned() {
                return Err(VersionsError::Twice { version, one, other: directory });
            }
            places.insert(version, directory);
        }
        let mut order: Vec<String> = places.keys().cloned().collect();
        order.sort_by(|a, b| version::compare(a, b));
        if order.len() < 2 { Err(VersionsError::TooFew) } else { Ok(Self { order, places }) }
    }
}

fn directories(typed: &[String]) -> Result<Vec<PathBuf>, VersionsError> {
    if let Some(path) = typed.iter().find(|path| !Path::new(path).is_dir()) {
        let is_range = path.contains("..") && path.contains('@');
        return Err(match path.clone() {
            path if is_range => VersionsError::Range(path),
            path => VersionsError::NoDirectory(path),
        });
    }
    let [single] = typed else { return Ok(typed.iter().map(PathBuf::from).collect()) };
    let entries =
        std::fs::read_dir(single).map_err(|error| VersionsError::Unreadable(single.clone(), error))?;
    let mut inside: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    inside.sort();
    Ok(inside)
}
