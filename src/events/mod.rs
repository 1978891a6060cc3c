//! The claws event protocol: logs of workers, orchestrators and their server, and the rules they keep.
//!
//! [`LogChecker`] reads a log in any of its shapes and chunks, tells its sessions apart, holds every record against the
//! rules, and tells an [`Observer`] which [`Rule`]s were broken and what happened. What a rule weighs is not decided
//! here but by the contract `schemas/claws-events`. Memory is bounded by [`Limits`]: it grows with the peers that are
//! alive and the requests that are open, not with the log.

mod checker;
mod excerpt;
mod features;
mod ids;
mod intake;
mod limits;
mod live;
mod named;
mod peers;
mod phase;
mod profile;
mod record;
mod restart;
mod rule;
mod rules;
mod segments;
mod sequence;
mod timers;
mod topic;
mod uuid;
mod view;
mod violation;
mod worker;

pub use checker::LogChecker;
pub use checker::Summary;
#[cfg(feature = "cli")]
pub(crate) use features::{LogFeatures, kinds as record_kinds, listed as listed_values};
pub use limits::Limits;
pub(crate) use peers::Role;
pub(crate) use phase::Phase;
pub use profile::Profile;
pub use rule::Rule;
pub(crate) use segments::{log_files, segments};
pub use view::Accepted;
pub(crate) use view::is_of_type;
pub use violation::Observer;
pub use violation::Violation;
pub(crate) use violation::{Grade, Occurrence};
