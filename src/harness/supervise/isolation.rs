//! What keeps a target apart from everything else, and why where something does not.

use serde::{Deserialize, Serialize};

use crate::recording::Facts;
use crate::text::printable;

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

/// What the target of a recording was not kept apart from, and why, in one line for people. Nothing where it was kept apart
/// in every way, and where the recording does not say.
pub(crate) fn not_isolated(facts: &Facts) -> Option<String> {
    let isolation = facts.other.get("isolation")?;
    let isolation: Isolation = serde_json::from_value(isolation.clone()).ok()?;
    isolation.missing().map(|missing| printable(&missing).into_owned())
}

/// That as a sentence.
pub(crate) fn not_isolated_from(missing: &str) -> String {
    format!("targets were not kept apart from the machine's {missing}")
}

impl Isolation {
    /// Nothing but what holds the processes.
    pub(in crate::harness) fn none(processes: &str, reason: impl Into<String>) -> Self {
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

    /// Whether the target saw nothing but the mock.
    pub(crate) fn has_network(&self) -> bool {
        self.network == "namespace"
    }

    /// Whether the room is a file system of its own, which the harness reaches by a descriptor.
    pub(crate) fn has_files(&self) -> bool {
        self.files == "overlay"
    }

    /// Which files the target was not kept apart from, for people.
    pub(crate) fn files_missing(&self) -> Option<String> {
        let is_whole = self.has_files() && self.files_reason.is_none();
        let reason = self.files_reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
        (!is_whole).then(|| format!("files{reason}"))
    }

    /// What does not hold, for people; nothing when the target was kept apart in every way.
    pub(crate) fn missing(&self) -> Option<String> {
        let parts = [
            (!self.has_network(), "network", &self.reason),
            (!self.has_files() || self.files_reason.is_some(), "files", &self.files_reason),
            (self.processes != "namespace", "processes", &self.processes_reason),
        ];
        let lacking: Vec<_> = parts.into_iter().filter(|(lacks, ..)| *lacks).collect();
        // What has one reason says it once.
        let told: Vec<String> = lacking
            .chunk_by(|(.., one), (.., other)| one == other)
            .map(|parts| {
                let names: Vec<&str> = parts.iter().map(|(_, name, _)| *name).collect();
                let reason = parts[0].2.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
                format!("{}{reason}", names.join(", "))
            })
            .collect();
        (!told.is_empty()).then(|| told.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_with_its_reasons() {
        let mut isolation = Isolation::none("subreaper", "not allowed");
        assert_eq!(isolation.missing().as_deref(), Some("network, files, processes (not allowed)"));
        isolation.files = "overlay".into();
        isolation.files_reason = None;
        assert_eq!(isolation.missing().as_deref(), Some("network, processes (not allowed)"));
        isolation.network = "namespace".into();
        isolation.files_reason = Some("these stay writable: /mnt".into());
        let told = "files (these stay writable: /mnt), processes (not allowed)";
        assert_eq!(isolation.missing().as_deref(), Some(told));
        isolation.files_reason = None;
        isolation.processes = "namespace".into();
        assert_eq!(isolation.missing(), None);
        let mut facts = Facts::default();
        assert_eq!(not_isolated(&facts), None);
        facts
            .other
            .insert("isolation".into(), serde_json::json!({"network": "none", "reason": "switched off"}));
        assert_eq!(not_isolated(&facts).as_deref(), Some("network (switched off), files, processes"));
    }
}
