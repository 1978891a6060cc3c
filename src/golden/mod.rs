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
mod check;
#[cfg(feature = "cli")]
mod decide;
mod difference;
mod entry;
mod fingerprint;
mod interleave;
mod layout;
#[cfg(feature = "cli")]
mod learn;
mod lines;
mod normalise;
mod normaliser;
mod observed;
mod owner;
mod parts;
mod placeholder;
mod reading;
mod snapshot;
mod snapshot_file;
mod snapshot_reader;
mod store;
mod volatile;

pub(crate) use check::{Checked, Mode, Outcome};
#[cfg(feature = "cli")]
pub(crate) use decide::Waiting;
pub(crate) use difference::Difference;
#[cfg(feature = "cli")]
pub(crate) use difference::{DiffLine, Tag};
#[cfg(feature = "cli")]
pub(crate) use entry::{DOCUMENT, Entry};
pub(crate) use fingerprint::Fingerprint;
pub(crate) use interleave::{INTERLEAVE, Interleave};
#[cfg(feature = "cli")]
pub(crate) use learn::learn;
#[cfg(all(test, feature = "cli"))]
pub(crate) use normalise::normalise_output;
#[cfg(feature = "cli")]
pub(crate) use normalise::visit_output;
pub(crate) use normalise::{Normalised, normalise};
#[cfg(feature = "cli")]
pub(crate) use owner::Orphan;
#[cfg(feature = "cli")]
pub(crate) use parts::{Normal, Part, Parts};
#[cfg(feature = "cli")]
pub(crate) use reading::{Go, holds_message};
#[cfg(feature = "cli")]
pub(crate) use snapshot_file::{head_of, visit_snapshot};
pub(crate) use store::Store;
pub use store::StoreError;
#[cfg(feature = "cli")]
pub(crate) use store::{SNAP, snapshot_of};
pub use volatile::{Class, Volatile};
