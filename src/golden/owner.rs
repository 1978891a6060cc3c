//! Whose snapshots they are: each names the file of its scenario, and those that no case has are orphans.

#[cfg(feature = "cli")]
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

#[cfg(feature = "cli")]
use super::snapshot_file::head_of;
use super::store::Store;
#[cfg(feature = "cli")]
use super::store::StoreError;

/// A snapshot that no case has.
#[cfg(feature = "cli")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Orphan {
    pub path: PathBuf,
    /// The file of a scenario outside of the project that it belongs to, and that is not here: it is left alone.
    pub kept_for: Option<String>,
}

impl Store {
    /// How a scenario's file is named in its snapshots: the way to it from their folder, which is the same in every copy of
    /// a project.
    pub(crate) fn owner(&self, scenario: &Path) -> String {
        let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let (from, to) = (whole(self.root()), whole(scenario));
        let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
        let up = from.components().skip(shared).map(|_| Component::ParentDir);
        let way: PathBuf = up.chain(to.components().skip(shared)).collect();
        way.to_string_lossy().into_owned()
    }

    /// The snapshots of a target that none of these cases has. Who else may have one is for its header to say: `has` knows
    /// whether the file of a scenario has a case.
    #[cfg(feature = "cli")]
    pub(crate) fn orphans<'c>(
        &self,
        target: &str,
        cases: impl IntoIterator<Item = &'c str>,
        has: impl Fn(&Path, &str) -> bool,
    ) -> Result<Vec<Orphan>, StoreError> {
        let known: BTreeSet<PathBuf> = cases.into_iter().map(|case| self.path(target, case)).collect();
        let mut orphans = Vec::new();
        for path in self.snapshots(target)?.into_iter().filter(|path| !known.contains(path)) {
            let head = head_of(&path)?;
            let Some(owner) = head.owner else {
                orphans.push(Orphan { path, kept_for: None });
                continue;
            };
            let scenario = self.root().join(&owner);
            // Beside the snapshots, a file that is not there is gone; elsewhere it may be on another machine.
            let is_ours = !Path::new(&owner).starts_with("../..");
            let kept_for = (!scenario.exists() && !is_ours).then_some(owner);
            if !has(&scenario, &head.scenario) {
                orphans.push(Orphan { path, kept_for });
            }
        }
        Ok(orphans)
    }
}
