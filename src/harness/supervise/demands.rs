//! What a target must be kept apart from.

use serde::{Deserialize, Serialize};

/// Whether a target is kept away from the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkMode {
    /// Where the kernel allows it.
    #[default]
    Auto,
    /// Always: a case does not run without it.
    Require,
    Off,
}

/// What a target must be kept apart from, or it does not run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Demands {
    pub network: NetworkMode,
    /// Whether it must be kept apart from the machine's files and processes too.
    pub isolation: bool,
    /// Whether it must be kept apart from the machine's files, since it may do everything.
    pub files: bool,
    /// Whether it asks the real API, for which it needs the machine's network and nothing else of it.
    pub real_api: bool,
}
