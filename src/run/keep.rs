//! Which recordings of a run stay.

/// Which recordings of a run stay, and whether the bodies of their requests do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "the command line alone lets users choose"))]
pub(crate) enum Keep {
    /// All of them; those that passed without the bodies of requests.
    #[default]
    All,
    /// All of them, whole.
    Bodies,
    /// Those that failed, whole.
    Failed,
    None,
}

impl Keep {
    /// Whether the recording of an attempt stays.
    pub(super) fn keeps(self, has_passed: bool) -> bool {
        match self {
            Self::All | Self::Bodies => true,
            Self::Failed => !has_passed,
            Self::None => false,
        }
    }

    /// Whether the bodies of its requests stay with it.
    pub(super) fn keeps_bodies(self, has_passed: bool) -> bool {
        match self {
            Self::Bodies => true,
            Self::All | Self::Failed => !has_passed,
            Self::None => false,
        }
    }
}
