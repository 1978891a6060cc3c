//! A finished case beside its golden snapshot.

use std::path::Path;

use super::compare::{Failure, FailureKind};
use super::plan::Planned;
use crate::golden::{Difference, Mode, Outcome, Store, StoreError, Volatile, normalise};
#[cfg(feature = "cli")]
use crate::harness::secrets::Masker;
use crate::recording::Recording;
use crate::text::printable;

/// The snapshots that runs are compared with.
#[derive(Debug, Clone)]
pub(crate) struct Golden {
    store: Store,
    mode: Mode,
    /// Whether a target that has no snapshots at all is left alone.
    known_only: bool,
}

/// Whether a text holds what looks like a credential, whoever printed it.
#[cfg(feature = "cli")]
pub(crate) fn is_secret(text: &str) -> bool {
    Masker::new([]).mask(text) != text
}

impl Golden {
    /// Compares with the snapshots of this folder.
    #[cfg(feature = "cli")]
    pub(crate) fn new(folder: &Path, mode: Mode) -> Self {
        Self { store: Store::new(folder, is_secret), mode, known_only: false }
    }

    /// Leaves alone targets of which there are no snapshots.
    #[cfg(feature = "cli")]
    pub(crate) fn known_only(self) -> Self {
        Self { known_only: true, ..self }
    }

    #[cfg(feature = "cli")]
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Whether runs of this target are compared.
    pub(crate) fn covers(&self, target: &str) -> bool {
        !self.known_only || self.store.knows(target)
    }

    /// What is wrong with a run; `as_expected` when nothing else is. What is not as expected is never written down.
    pub(super) fn compare(
        &self,
        planned: &Planned,
        recording: &Recording,
        volatile: &Volatile,
        as_expected: bool,
    ) -> Option<Failure> {
        let target = &planned.target.choice.target;
        if !self.covers(&target.name) || planned.case.golden.skip.is_some() {
            return None;
        }
        let mode = match self.mode {
            // Further repetitions show whether the first one can be repeated.
            Mode::Update if planned.repetition > 1 => Mode::ReadOnly,
            _ if !as_expected => Mode::ReadOnly,
            mode => mode,
        };
        let failure = |message: String| Some(Failure::new(FailureKind::Golden, message));
        let normal = match normalise(recording, volatile) {
            Ok(normal) => normal.owned_by(
                planned.case.source.as_ref().map(|source| self.store.owner(Path::new(&source.file))),
            ),
            Err(error) => return failure(format!("cannot be compared: {}", printable(&error.to_string()))),
        };
        let path = self.store.path(&normal.target, &normal.scenario);
        let outcome = self.store.check(&normal, mode).or_else(|error| match error {
            // The difference matters more than where it could be noted.
            StoreError::Io { .. } if mode == Mode::Check => self.store.check(&normal, Mode::ReadOnly),
            other => Err(other),
        });
        let next = match mode {
            Mode::Check => "decide with: clawgate golden review",
            _ => "take it over with: clawgate run --golden update",
        };
        match outcome {
            Ok(Outcome::New) => failure(format!("there is no {} yet; {next}", path.display())),
            Ok(Outcome::Changed(difference)) => {
                let message = format!("{} {}; {next}", path.display(), told(&difference));
                Some(Failure { diff: difference.lines, ..Failure::new(FailureKind::Golden, message) })
            }
            Ok(_) => None,
            Err(error) => failure(error.to_string()),
        }
    }
}

fn told(difference: &Difference) -> String {
    let shown = |line: &Option<String>| match line {
        Some(line) => format!("`{}`", printable(&line.trim().chars().take(120).collect::<String>())),
        None => "nothing".to_owned(),
    };
    format!(
        "differs in {} lines, first at {}: expected {}, found {}",
        difference.removed.max(difference.added),
        difference.line,
        shown(&difference.first_removed),
        shown(&difference.first_added)
    )
}
