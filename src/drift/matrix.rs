//! When each thing changed, over many versions: a few of them are looked at, and where two differ the ones between them
//! are, until the version is found or as many were looked at as allowed.

use std::collections::{BTreeMap, BTreeSet};

use super::{CaseSet, Change, ComparePolicy, Effect, SourceError, diff};

/// Where the cases of a version come from: a folder, or a program that is run.
pub(crate) trait Lookup {
    /// Why there are none.
    type Error: From<SourceError>;

    /// The cases of a version; none when it cannot be had, which is left out.
    fn cases(&mut self, version: &str) -> Result<Option<CaseSet>, Self::Error>;
}

/// A change, and the versions between which it came.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// The last version looked at that is without it.
    pub after: String,
    /// The first version looked at that has it.
    pub since: String,
    /// Whether no version lies between them.
    pub exact: bool,
    pub change: Change,
}

/// Looks at `sample` of the versions, which are in order, and at no more than `more` others.
pub(crate) fn matrix<L: Lookup>(
    versions: &[String],
    sample: usize,
    more: usize,
    lookup: &mut L,
    policy: &ComparePolicy<'_>,
) -> Result<Vec<Found>, L::Error> {
    let mut table = Table { versions, lookup, policy, cases: BTreeMap::new(), missing: BTreeSet::new() };
    let mut looked: Vec<usize> = Vec::new();
    for at in sampled(versions.len(), sample) {
        if table.look(at)? {
            looked.push(at);
        }
    }
    let mut ranges: Vec<Range> = Vec::new();
    for pair in looked.windows(2) {
        ranges.push(table.range(pair[0], pair[1])?);
    }
    let mut left = more;
    while let Some(at) = next(&ranges, &table.missing).filter(|_| left > 0) {
        let Range { old, new, .. } = ranges[at];
        let Some(middle) = middle(old, new, &table.missing) else { break };
        left -= 1;
        if table.look(middle)? {
            let halves = [table.range(old, middle)?, table.range(middle, new)?];
            ranges.splice(at..=at, halves);
        }
    }
    let found = ranges.into_iter().flat_map(|range| {
        let (after, since) = (versions[range.old].clone(), versions[range.new].clone());
        let exact = range.new - range.old == 1;
        range.changes.into_iter().map(move |change| Found {
            after: after.clone(),
            since: since.clone(),
            exact,
            change,
        })
    });
    Ok(found.collect())
}

struct Range {
    old: usize,
    new: usize,
    changes: Vec<Change>,
}

impl Range {
    fn matters(&self) -> bool {
        self.changes.iter().any(|change| change.effect != Effect::Info)
    }

    fn breaks(&self) -> bool {
        self.changes.iter().any(|change| change.effect == Effect::Breaking)
    }
}

struct Table<'m, L: Lookup> {
    versions: &'m [String],
    lookup: &'m mut L,
    policy: &'m ComparePolicy<'m>,
    cases: BTreeMap<usize, CaseSet>,
    missing: BTreeSet<usize>,
}

impl<L: Lookup> Table<'_, L> {
    fn look(&mut self, at: usize) -> Result<bool, L::Error> {
        let Some(cases) = self.lookup.cases(&self.versions[at])? else {
            self.missing.insert(at);
            return Ok(false);
        };
        self.cases.insert(at, cases);
        Ok(true)
    }

    /// What changed between two versions that were looked at.
    fn range(&self, old: usize, new: usize) -> Result<Range, L::Error> {
        let (Some(before), Some(after)) = (self.cases.get(&old), self.cases.get(&new)) else {
            return Ok(Range { old, new, changes: Vec::new() });
        };
        Ok(Range { old, new, changes: diff(before, after, self.policy)?.changes })
    }
}

/// So many of the versions, evenly, the first and the last among them.
fn sampled(versions: usize, sample: usize) -> BTreeSet<usize> {
    let sample = sample.clamp(2, versions.max(2));
    (0..sample).map(|at| at * versions.saturating_sub(1) / (sample - 1)).filter(|at| *at < versions).collect()
}

/// The range to look into next, which has changes and a version that can still be looked at: breaking changes are searched
/// for first, and the widest range hides the most. What no contract promises changes with every version, and is not
/// searched for.
fn next(ranges: &[Range], missing: &BTreeSet<usize>) -> Option<usize> {
    let candidates = ranges
        .iter()
        .enumerate()
        .filter(|(_, range)| range.matters() && middle(range.old, range.new, missing).is_some());
    candidates.max_by_key(|(_, range)| (range.breaks(), range.new - range.old)).map(|(at, _)| at)
}

/// The version nearest to the middle of a range that is not missing.
fn middle(old: usize, new: usize, missing: &BTreeSet<usize>) -> Option<usize> {
    let centre = usize::midpoint(old, new);
    (old + 1..new).filter(|at| !missing.contains(at)).min_by_key(|at| at.abs_diff(centre))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_even_and_hold_both_ends() {
        assert_eq!(sampled(10, 4).into_iter().collect::<Vec<_>>(), [0, 3, 6, 9]);
        assert_eq!(sampled(2, 9).into_iter().collect::<Vec<_>>(), [0, 1]);
        assert_eq!(sampled(1, 2).into_iter().collect::<Vec<_>>(), [0]);
    }

    /// Ten versions; in the fourth a field goes, in the ninth one comes. The sixth cannot be had.
    struct Folders(tempfile::TempDir, Vec<String>);

    impl Lookup for Folders {
        type Error = SourceError;

        fn cases(&mut self, version: &str) -> Result<Option<CaseSet>, SourceError> {
            self.1.push(version.to_owned());
            if version == "6" { Ok(None) } else { CaseSet::open(&self.0.path().join(version)).map(Some) }
        }
    }

    #[test]
    fn a_change_is_found_between_two_versions() {
        let folder = tempfile::tempdir().unwrap();
        let versions: Vec<String> = (0..10).map(|n: u32| n.to_string()).collect();
        for (number, version) in versions.iter().enumerate() {
            let fields = [("a", true), ("b", number < 4), ("c", number >= 9)];
            let fields = fields.iter().filter(|(_, there)| *there).map(|(name, _)| format!("\"{name}\":1"));
            let document = format!("{{{}}}", fields.collect::<Vec<_>>().join(","));
            std::fs::create_dir(folder.path().join(version)).unwrap();
            std::fs::write(folder.path().join(version).join("x.json"), document).unwrap();
        }
        let mut folders = Folders(folder, Vec::new());
        let policy = ComparePolicy::new(|_, _| crate::golden::Volatile::default()).unwrap();
        let found = matrix(&versions, 2, 20, &mut folders, &policy).unwrap();
        let told: Vec<_> = found
            .iter()
            .map(|found| (found.change.kind.name(), found.after.as_str(), found.since.as_str(), found.exact))
            .collect();
        assert_eq!(told, [("field-removed", "3", "4", true), ("field-added", "8", "9", true)]);
        assert!(folders.1.len() < 10, "{:?}", folders.1);
        // With little to spend, the breaking change is found.
        let few = matrix(&versions, 3, 2, &mut folders, &policy).unwrap();
        assert!(few[0].exact && few[0].since == "4" && !few[1].exact, "{few:?}");
        let coarse = matrix(&versions, 2, 0, &mut folders, &policy).unwrap();
        assert!(coarse.iter().all(|found| !found.exact && found.after == "0" && found.since == "9"));
    }
}
