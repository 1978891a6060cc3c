//! Skills: where they are, what their frontmatter says, and whether they keep the agentskills.io specification.

mod discover;
mod frontmatter;
mod lint;

pub use discover::Skill;
pub(crate) use discover::{DiscoverError, discover, find};
pub(crate) use lint::Severity;
pub use lint::lint;
