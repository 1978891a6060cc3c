//! Skills: where they are, what their frontmatter says, and whether they keep the agentskills.io specification.

mod discover;
mod frontmatter;
mod lint;

pub use discover::{DiscoverError, Layout, Skill, discover, find};
pub use frontmatter::{Frontmatter, FrontmatterError, Value};
pub use lint::{Issue, Severity, lint};
