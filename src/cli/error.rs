//! Why a command could not do its work, and the exit code that follows.

use std::io;
use std::path::Path;

use super::output::complain;
use crate::document::FileError;
use crate::drift::{SourceError, VersionsError};
use crate::eval::TrialRunnerError;
use crate::exit_code::Outcome;
use crate::golden;
use crate::judge::{InputError, JudgeError};
use crate::recording::RecordingError;
use crate::report::merge::MergeError;
use crate::run::target::{ChoiceError, LocateError, NpmError};
use crate::run::{NoCase, RecordError, SuiteError};
use crate::text::trouble;

#[derive(Debug, thiserror::Error)]
pub(super) enum CommandError {
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Environment(String),
    #[error("{0}")]
    NothingSelected(String),
    #[error("interrupted")]
    Interrupted,
    #[error("cannot write the output: {}", trouble(Path::new("-"), .0))]
    Output(#[from] io::Error),
    #[error("cannot start: {}", trouble(Path::new("."), .0))]
    Start(io::Error),
    #[error(transparent)]
    TrialRunner(#[from] TrialRunnerError),
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Judge(#[from] JudgeError),
    #[error(transparent)]
    Locate(#[from] LocateError),
    #[error(transparent)]
    Merge(#[from] MergeError),
    #[error(transparent)]
    NoCase(#[from] NoCase),
    #[error(transparent)]
    Npm(#[from] NpmError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Recording(#[from] RecordingError),
    #[error(transparent)]
    Snapshot(#[from] golden::StoreError),
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Suite(#[from] SuiteError),
    #[error(transparent)]
    Versions(#[from] VersionsError),
}

impl From<serde_json::Error> for CommandError {
    fn from(error: serde_json::Error) -> Self {
        Self::Output(error.into())
    }
}

impl From<&CommandError> for Outcome {
    fn from(error: &CommandError) -> Self {
        use CommandError as E;
        match error {
            E::Usage(_)
            | E::TrialRunner(
                TrialRunnerError::NoScript
                | TrialRunnerError::Contract(_)
                | TrialRunnerError::Broken(_)
                | TrialRunnerError::NoFlag { .. },
            )
            | E::Choice(_)
            | E::File(_)
            | E::Input(_)
            | E::Judge(_)
            | E::Npm(NpmError::NoVersion(_) | NpmError::Unpublished(_) | NpmError::NotCovered { .. })
            | E::Recording(_)
            | E::Snapshot(golden::StoreError::Snapshot { .. } | golden::StoreError::Unread { .. })
            | E::Source(_)
            | E::Suite(_) => Self::Usage,
            E::Merge(error) if !error.is_missing() => Self::Usage,
            E::Versions(error) if !matches!(error, VersionsError::TooFew) => Self::Usage,
            E::Interrupted | E::Record(RecordError::Interrupted) => Self::Interrupted,
            E::Environment(_)
            | E::Output(_)
            | E::Start(_)
            | E::TrialRunner(TrialRunnerError::Skill(_) | TrialRunnerError::NotIsolated(_))
            | E::Locate(_)
            | E::Merge(_)
            | E::Npm(_)
            | E::Record(RecordError::Harness(_))
            | E::Snapshot(golden::StoreError::Io { .. } | golden::StoreError::Moved { .. }) => {
                Self::Environment
            }
            E::NothingSelected(_) | E::NoCase(_) | E::Versions(_) => Self::NothingSelected,
            E::Snapshot(golden::StoreError::Secret { .. } | golden::StoreError::Touched { .. }) => {
                Self::Findings
            }
        }
    }
}

impl CommandError {
    /// Tells the user, unless he knows; the outcome is for a command that goes on with the rest of its work.
    pub(super) fn told(&self) -> Outcome {
        let outcome = Outcome::from(self);
        if outcome != Outcome::Interrupted {
            complain(&self.to_string());
        }
        outcome
    }
}

/// Says which input cannot be read.
pub(super) fn unreadable(path: &Path) -> impl Fn(io::Error) -> CommandError {
    move |error| CommandError::Usage(format!("{}: {}", path.display(), trouble(path, &error)))
}

/// Says which output cannot be written.
pub(super) fn unwritable(path: &Path) -> impl Fn(io::Error) -> CommandError {
    move |error| CommandError::Environment(format!("{}: {}", path.display(), trouble(path, &error)))
}
