//! Snapshots that no case has.

use std::path::Path;
use std::sync::Arc;

use super::target::Located;
use super::{Suite, plan};
use crate::golden::{Orphan, Store, StoreError};

/// The snapshots of a target that no case has: none of the suite, and none of the file that a snapshot belongs to.
pub(crate) fn orphans(
    store: &Store,
    suite: &Suite,
    target: &Arc<Located>,
) -> Result<Vec<Orphan>, StoreError> {
    let with_snapshot = |suite: &Suite| {
        let planned = plan(suite, std::slice::from_ref(target));
        let cases = planned.into_iter().filter(|planned| planned.case.golden.skip.is_none());
        cases.map(|planned| planned.case.name.clone()).collect::<Vec<_>>()
    };
    let has = |scenario: &Path, case: &str| {
        let mut own = Suite::default();
        // A file that cannot be read right now may well have the case: in doubt its snapshots stay.
        scenario.exists()
            && (own.add_path(scenario).is_err() || with_snapshot(&own).iter().any(|name| name == case))
    };
    let known = with_snapshot(suite);
    store.orphans(&target.choice.target.name, known.iter().map(String::as_str), has)
}
