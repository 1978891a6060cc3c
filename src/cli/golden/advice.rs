//! What a difference from a golden snapshot means to readers: breaking or additive, and which version bump it asks for.

use std::cell::OnceCell;
use std::path::Path;

use crate::cli::project::Project;
use crate::drift::{ComparePolicy, diff_snapshot};
use crate::golden::Store;
use crate::recording::Recording;
use crate::run::{CaseFinished, Failure, FailureKind};

/// Of what is larger, the lines that differ have to be enough.
const LARGEST: u64 = 16 << 20;

/// Says what differences from the snapshots of a folder mean.
pub(crate) struct SnapshotAdvice<'p> {
    folder: &'p Path,
    project: &'p Project,
    /// Read when the first case differs; none when it cannot be.
    policy: OnceCell<Option<ComparePolicy<'static>>>,
}

impl<'p> SnapshotAdvice<'p> {
    pub(crate) fn new(folder: &'p Path, project: &'p Project) -> Self {
        Self { folder, project, policy: OnceCell::new() }
    }

    /// Adds to the golden difference of a case what it means.
    pub(crate) fn add_to(&self, case: &mut CaseFinished) {
        let differs =
            |failure: &&mut Failure| failure.kind == FailureKind::Golden && !failure.diff.is_empty();
        let Some(recording) = case.recording.as_deref().map(Path::new) else { return };
        let Some(failure) = case.failures.iter_mut().find(differs) else { return };
        if let Some(advice) = self.advice(recording) {
            failure.message = format!("{} ({advice})", failure.message);
        }
    }

    fn advice(&self, recording: &Path) -> Option<String> {
        let policy = self.policy.get_or_init(|| self.project.terms(None).ok()).as_ref()?;
        let facts = Recording::open(recording).ok()?.facts;
        let snapshot = Store::new(self.folder, |_| false).path(&facts.target, &facts.scenario);
        let fits = |path: &Path| path.metadata().is_ok_and(|known| known.len() <= LARGEST);
        if !fits(&snapshot) || !fits(&recording.join("stdout")) {
            return None;
        }
        diff_snapshot(&snapshot, recording, policy).ok()?.advice()
    }
}
