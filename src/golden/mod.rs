//! Golden snapshots: what a run did the last time somebody looked, without what differs from run to run.
//!
//! ```text
//! Recording ─► normalise ─► Normal ─► to_snapshot ─► golden/<target>/<case>.snap
//!                             │                         │
//!                             └────────► Store::check ◄─┘ ─► Same | New | Changed
//! ```

mod difference;
mod entry;
mod interleave;
mod layout;
mod learn;
mod normalise;
mod placeholder;
mod snapshot;
mod store;
mod volatile;

pub(crate) use difference::{DiffLine, Difference, Tag, hunks};
pub(crate) use entry::{DOCUMENT, Entry, read_entries};
pub(crate) use interleave::{INTERLEAVE, Interleave};
pub(crate) use learn::learn;
pub(crate) use normalise::{Normal, normalise, normalise_output};
pub(crate) use store::Store;
pub(crate) use store::{Mode, Orphan, Outcome, SNAP, StoreError, open, read, snapshot_of};
pub use volatile::{Class, Volatile};
