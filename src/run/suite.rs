//! The scenarios that there are: built in, and the user's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "cli")]
use super::scenario::library::SCENARIOS;
use super::scenario::{Case, Scenario};
use crate::document::{self, FileError};
use crate::harness::mock::Script;
use crate::text::trouble;

/// Cases, each with the script of its API.
#[derive(Debug, Default)]
pub(crate) struct Suite {
    cases: Vec<(Arc<Case>, Arc<Script>)>,
}

/// Why a scenario cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SuiteError {
    /// A file cannot be read.
    #[error("{}: {}", path.display(), trouble(path, source))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A file says something wrong.
    #[error(transparent)]
    Document(#[from] FileError),
    /// Two cases have the same name.
    #[error("two cases are named `{name}`: in {one} and in {other}; rename one of them")]
    Twice {
        name: String,
        /// Where the first is written.
        one: String,
        /// Where the second is written.
        other: String,
    },
}

impl Suite {
    #[cfg(feature = "cli")]
    pub(crate) fn built_in() -> Result<Self, SuiteError> {
        let mut suite = Self::default();
        for (name, text) in SCENARIOS {
            let mut scenario = Scenario::parse(&format!("scenarios/{name}.toml"), text)?;
            // They are in the binary and in no file of the user's.
            scenario.cases.iter_mut().for_each(|case| case.source = None);
            suite.add(scenario)?;
        }
        Ok(suite)
    }

    /// Adds the cases of a scenario.
    pub(crate) fn add(&mut self, scenario: Scenario) -> Result<(), SuiteError> {
        let script = Arc::new(scenario.script);
        for case in scenario.cases {
            if let Some((known, _)) = self.cases.iter().find(|(known, _)| known.name == case.name) {
                let (one, other) = (place(known), place(&case));
                return Err(SuiteError::Twice { name: case.name, one, other });
            }
            self.cases.push((Arc::new(case), Arc::clone(&script)));
        }
        Ok(())
    }

    /// Adds a file, or every `.toml` file below a directory.
    pub(crate) fn add_path(&mut self, path: &Path) -> Result<(), SuiteError> {
        let at = |source| SuiteError::Io { path: path.to_owned(), source };
        if !fs::metadata(path).map_err(at)?.is_dir() {
            let text = document::read_to_string(path).map_err(at)?;
            return self.add(Scenario::parse(&path.display().to_string(), &text)?);
        }
        let mut entries = fs::read_dir(path).map_err(at)?.collect::<Result<Vec<_>, _>>().map_err(at)?;
        entries.sort_by_key(fs::DirEntry::path);
        for entry in entries {
            let path = entry.path();
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_dir || path.extension().is_some_and(|extension| extension == "toml") {
                self.add_path(&path)?;
            }
        }
        Ok(())
    }

    /// The cases, in the order of their files.
    pub(crate) fn cases(&self) -> &[(Arc<Case>, Arc<Script>)] {
        &self.cases
    }
}

/// Where a case is written.
fn place(case: &Case) -> String {
    let built_in = || "the scenarios that are built in".to_owned();
    case.source.as_ref().map_or_else(built_in, |source| format!("{}:{}", source.file, source.line))
}
