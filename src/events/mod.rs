//! The claws event protocol: logs of workers, orchestrators and their server, and the rules they keep.
//!
//! [`LogJudge`] reads a log in any of its shapes and chunks, splits it into sessions and lives, holds every record
//! against the rules, and tells an [`Observer`] which [`Rule`]s were broken and what happened. What a rule weighs is
//! not decided here but by the contract `schemas/claws-events`. Memory is bounded by [`Limits`]: it grows with the
//! peers that are alive and the requests that are open, not with the log.

mod breach;
mod court;
mod excerpt;
mod ids;
mod judge;
mod limits;
mod peer;
mod phase;
mod profile;
mod record;
mod rule;
mod segments;
mod sequence;
mod subject;
mod timers;
mod topic;
mod uuid;

pub use breach::Breach;
pub use breach::Observer;
pub(crate) use breach::{Grade, Happening};
pub use judge::LogJudge;
pub(crate) use judge::Summary;
pub use limits::Limits;
pub(crate) use phase::Phase;
pub use profile::Profile;
pub use rule::Rule;
pub(crate) use segments::segments;
pub(crate) use subject::{Spoken, kinds as record_kinds, listed as listed_values};
