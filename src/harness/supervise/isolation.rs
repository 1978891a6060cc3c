//! What keeps a target apart from everything else, and why where something does not.

use serde::{Deserialize, Serialize};

/// What became of the isolation of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Isolation {
    /// `namespace`: the target saw nothing but the mock. `none`: it shared the network of the harness.
    pub network: String,
    /// Why there is none.
    pub reason: Option<String>,
    /// `overlay`: the target could write nowhere but into its room and into layers of its own over `/tmp`, `/var/tmp` and
    /// `/dev/shm`, and what it wrote there is known. `none`: it is not known.
    #[serde(default)]
    pub files: String,
    /// Why it is not known, or which places could be written all the same.
    #[serde(default)]
    pub files_reason: Option<String>,
    /// `namespace`: the target saw and could signal no process but its own. `subreaper`: everything below the supervisor
    /// was found and ended. `group`: only the process group was.
    #[serde(default)]
    pub processes: String,
    /// Why there is no namespace.
    #[serde(default)]
    pub processes_reason: Option<String>,
}

impl Isolation {
    /// Nothing but what holds the processes.
    pub(super) fn none(processes: &str, reason: impl Into<String>) -> Self {
        let reason = Some(reason.into());
        Self {
            network: "none".into(),
            files: "none".into(),
            processes: processes.into(),
            files_reason: reason.clone(),
            processes_reason: reason.clone(),
            reason,
        }
    }

    /// A network of its own.
    pub(super) fn with_network(processes: &str) -> Self {
        Self {
            network: "namespace".into(),
            reason: None,
            files: "none".into(),
            files_reason: None,
            processes: processes.into(),
            processes_reason: None,
        }
    }

    /// Whether the target saw nothing but the mock.
    pub(crate) fn has_network(&self) -> bool {
        self.network == "namespace"
    }

    /// Whether the room is a file system of its own, which the harness reaches by a descriptor.
    pub(crate) fn has_files(&self) -> bool {
        self.files == "overlay"
    }

    /// What does not hold, for people; nothing when the target was kept apart in every way.
    pub(crate) fn missing(&self) -> Option<String> {
        let mut missing = Vec::new();
        let mut lacks = |what: &str, reason: Option<&String>| {
            missing.push(reason.map_or_else(|| what.to_owned(), |reason| format!("{what} ({reason})")));
        };
        if !self.has_network() {
            lacks("network", self.reason.as_ref());
        }
        if !self.has_files() || self.files_reason.is_some() {
            lacks("files", self.files_reason.as_ref());
        }
        if self.processes != "namespace" {
            lacks("processes", self.processes_reason.as_ref());
        }
        (!missing.is_empty()).then(|| missing.join(", "))
    }
}
