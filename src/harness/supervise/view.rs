//! What a target sees of the machine, as its supervisor is asked for it. Where the system cannot do that, it says so.

use std::ffi::OsStr;

/// What a supervisor makes before its first case: the word that it is started with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// Nothing: the target shares what the harness has.
    Shared,
    /// A view of the file system, and a network.
    Files(Network),
    /// These, and processes of its own.
    Processes(Network),
    /// The same, seen from within: this is the first process.
    First(Network),
}

/// What a target sees of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    /// Nothing but what runs beside it.
    Own,
    /// The machine's, since the API is outside of it.
    Shared,
}

impl View {
    const ALL: [Self; 7] = [
        Self::Shared,
        Self::Files(Network::Own),
        Self::Files(Network::Shared),
        Self::Processes(Network::Own),
        Self::Processes(Network::Shared),
        Self::First(Network::Own),
        Self::First(Network::Shared),
    ];

    pub(in crate::harness) fn word(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Files(Network::Own) => "files",
            Self::Files(Network::Shared) => "files-online",
            Self::Processes(Network::Own) => "processes",
            Self::Processes(Network::Shared) => "processes-online",
            Self::First(Network::Own) => "first",
            Self::First(Network::Shared) => "first-online",
        }
    }

    /// What a supervisor was started with.
    pub(super) fn named(word: Option<&OsStr>) -> Self {
        Self::ALL
            .into_iter()
            .find(|view| word.is_some_and(|word| word == view.word()))
            .unwrap_or(Self::Shared)
    }
}
