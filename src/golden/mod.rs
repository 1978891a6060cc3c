//! Golden snapshots: what a run did the last time somebody looked, without what differs from run to run.
//!
//! ```text
//! Recording ─► Normalised ─► Parts ─► lines ─► golden/<target>/<case>.snap
//!                                       │               │
//!                                       └─► Store::check ◄┘ ─► Same | New | Changed
//! ```
//!
//! Both sides are read as streams: in memory are one message of each, and what differs.

mod accepted;
mod difference;
mod entry;
mod interleave;
mod layout;
#[cfg(feature = "cli")]
mod learn;
mod normalise;
mod parts;
mod placeholder;
mod reading;
mod snapshot;
mod store;
mod volatile;

pub(crate) use difference::Difference;
#[cfg(feature = "cli")]
pub(crate) use difference::{DiffLine, Tag, hunks};
#[cfg(feature = "cli")]
pub(crate) use entry::{DOCUMENT, Entry};
pub(crate) use interleave::{INTERLEAVE, Interleave};
#[cfg(feature = "cli")]
pub(crate) use learn::learn;
#[cfg(all(test, feature = "cli"))]
pub(crate) use normalise::normalise_output;
#[cfg(feature = "cli")]
pub(crate) use normalise::visit_output;
pub(crate) use normalise::{Normalised, normalise};
#[cfg(feature = "cli")]
pub(crate) use parts::{Normal, Part, Parts};
#[cfg(feature = "cli")]
pub(crate) use reading::{Go, holds_message};
pub(crate) use store::Store;
pub use store::StoreError;
pub(crate) use store::{Checked, Fingerprint, Mode, Outcome};
#[cfg(feature = "cli")]
pub(crate) use store::{Orphan, SNAP, head_of, read, snapshot_of, visit_snapshot};
pub use volatile::{Class, Volatile};
