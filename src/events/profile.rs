//! Which reading of the protocol a log is held to.

use std::fmt;

/// How the contradictions of the document are decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// The document by its letter; where it contradicts itself the table beats the diagram.
    #[default]
    Strict,
    /// Any reading that the text supports.
    Lenient,
    /// What the published server really accepts and sends.
    Origin,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Lenient, Self::Origin];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Lenient => "lenient",
            Self::Origin => "origin",
        }
    }

    /// The profile of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.name() == name)
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
