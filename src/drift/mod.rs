//! What changed between two sets of recordings, and what that does to a reader.
//!
//! ```text
//! OLD ─► cases ─► Normal ─► Shape ─┐
//!                                  ├─► compare, case by case ─► Changes: one row each, with all its cases
//! NEW ─► cases ─► Normal ─► Shape ─┘
//! ```
//!
//! Only one case of each side is in memory at a time.

mod change;
mod compare;
mod consumer;
mod known;
mod matrix;
mod policy;
mod rows;
mod source;
mod versions;

pub(crate) use change::Change;
pub(crate) use compare::compare_case;
pub(crate) use consumer::{Broken, Consumer};
pub(crate) use known::KnownChanges;
pub(crate) use matrix::{Found, Lookup, matrix};
pub use policy::ComparePolicy;
pub(crate) use rows::{Drift, Rows};
pub use source::CaseSet;
pub(crate) use source::SourceError;
pub(crate) use versions::{RecordedVersions, VersionsError};

pub(crate) use crate::schema::policy::{Effect, Kind};

use crate::golden::Normal;
use crate::schema::FileError;

/// Compares two runs of one case, each with the name of its file.
pub(crate) fn diff_runs(
    case: &str,
    old: (String, Normal),
    new: (String, Normal),
    policy: &ComparePolicy<'_>,
) -> Result<Drift, FileError> {
    let mut rows = Rows::default();
    let (old, new) = ([old], [new]);
    compare_case(case, &policy.of_case(&old)?, &old, &new, &mut rows);
    Ok(rows.finish(policy.standard()))
}

/// Compares the cases that both sides have. What a change does is for the contract of the old side to say.
pub fn diff(old: &CaseSet, new: &CaseSet, policy: &ComparePolicy<'_>) -> Result<Drift, SourceError> {
    let mut rows = Rows::default();
    for case in old.names() {
        if !new.holds(case) {
            rows.only_old.push(case.to_owned());
            continue;
        }
        let (before, after) = (old.load(case, policy)?, new.load(case, policy)?);
        compare_case(case, &policy.of_case(&before)?, &before, &after, &mut rows);
    }
    for case in new.names().filter(|case| !old.holds(case)) {
        rows.only_new.push(case.to_owned());
    }
    Ok(rows.finish(policy.standard()))
}
