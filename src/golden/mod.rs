//! Golden snapshots: what a run did the last time somebody looked, without what differs from run to run.
//!
//! ```text
//! Recording ─► normalise ─► Normal ─► to_snapshot ─► golden/<target>/<case>.snap
//!                             │                         │
//!                             └────────► Store::check ◄─┘ ─► Same | New | Changed
//! ```

mod accepted;
mod difference;
mod entry;
mod interleave;
mod layout;
#[cfg(feature = "cli")]
mod learn;
mod normalise;
mod placeholder;
mod snapshot;
mod store;
mod volatile;

pub(crate) use difference::Difference;
#[cfg(feature = "cli")]
pub(crate) use difference::{DiffLine, Tag, difference, hunks};
#[cfg(feature = "cli")]
pub(crate) use entry::{DOCUMENT, Entry, read_entries};
pub(crate) use interleave::{INTERLEAVE, Interleave};
#[cfg(feature = "cli")]
pub(crate) use learn::learn;
pub(crate) use normalise::normalise;
#[cfg(feature = "cli")]
pub(crate) use normalise::{Normal, normalise_output};
pub(crate) use store::Store;
pub use store::StoreError;
pub(crate) use store::{Checked, Fingerprint, Mode, Outcome};
#[cfg(feature = "cli")]
pub(crate) use store::{Orphan, SNAP, open, parse, read, snapshot_of};
pub use volatile::{Class, Volatile};
