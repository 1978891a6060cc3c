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

pub use difference::{DiffLine, Difference, Tag, difference, hunks};
pub use entry::{DOCUMENT, Entry, Form, read_entries};
pub use interleave::{INTERLEAVE, Interleave};
pub use layout::lay_out;
pub use learn::{Proposal, Unsteady, learn};
pub use normalise::{Normal, normalise, normalise_output};
pub use snapshot::SnapshotError;
pub use store::{
    Mode, Orphan, Outcome, PENDING, SNAP, Store, StoreError, open, pending_of, read, snapshot_of,
};
pub use volatile::{Class, Volatile};
