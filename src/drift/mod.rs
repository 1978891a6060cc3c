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
mod shape;
mod source;

pub use change::{Change, Effect, Evidence, Kind};
pub use compare::compare_case;
pub use consumer::{Broken, Consumer};
pub use known::KnownChanges;
pub use matrix::{Found, Lookup, matrix};
pub use rows::{Drift, Rows};
pub use source::{CaseSet, Place, SourceError};

use crate::golden::Volatile;

/// The rules for a recording of a target, by its name and contract.
pub type Rules<'r> = dyn Fn(&str, Option<&str>) -> Volatile + 'r;

/// Compares the cases that both sides have.
pub fn diff(old: &CaseSet, new: &CaseSet, rules: &Rules<'_>) -> Result<Drift, SourceError> {
    let mut rows = Rows::default();
    for case in old.names() {
        if !new.holds(case) {
            rows.only_old(case);
            continue;
        }
        let (before, after) = (old.load(case, rules)?, new.load(case, rules)?);
        compare_case(case, &before, &after, &mut rows);
    }
    for case in new.names().filter(|case| !old.holds(case)) {
        rows.only_new(case);
    }
    Ok(rows.finish())
}
