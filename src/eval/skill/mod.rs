//! Skills: where they are, what their frontmatter says, and whether they keep the agentskills.io specification.

mod discover;
mod frontmatter;
mod lint;
mod references;

pub(crate) use discover::Layout;
pub use discover::Skill;
pub(crate) use discover::{DiscoverError, discover, find};
pub(crate) use frontmatter::described;
pub(crate) use lint::Severity;
pub use lint::lint;
pub(crate) use references::dangling;
