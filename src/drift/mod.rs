//! What changed between two sets of recordings, and what that does to a reader.
//!
//! ```text
//! OLD ─► cases ─► parts ─► Side ─┐
//!                                ├─► compare, case by case ─► Changes: one row each, with all its cases
//! NEW ─► cases ─► parts ─► Side ─┘
//! ```
//!
//! Of one case at a time, the shapes of its messages are in memory, and one message.

mod bump;
mod change;
mod compare;
mod consumer;
mod known;
mod matrix;
mod policy;
mod rows;
mod side;
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

use std::path::Path;

use crate::golden::head_of;
use crate::recording::Recording;
use source::Place;

/// Compares what a golden snapshot holds with a run of the same case: a recording, or a snapshot that waits to be accepted.
/// [`Drift::advice`] says what it means and which version bump it asks for.
pub(crate) fn diff_snapshot(
    snapshot: &Path,
    new: &Path,
    policy: &ComparePolicy<'_>,
) -> Result<Drift, SourceError> {
    let case = head_of(snapshot)?.scenario;
    let old = Place::Snapshot(snapshot.to_owned()).load(policy)?;
    let place = if Recording::is_at(new) { Place::Recording } else { Place::Snapshot };
    let new = place(new.to_owned()).load(policy)?;
    let mut rows = Rows::default();
    compare_case(&case, &policy.of_case(&old)?, &old, &new, &mut rows);
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
