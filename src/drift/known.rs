//! Breaking changes that are accepted for now, with a reason and an end.
//!
//! ```toml
//! [[known-change]]
//! kind = "field-removed"
//! message = "result/*"            # a glob; without it any
//! pointer = "/modelUsage/*"       # a glob; without it any
//! case = "*"                      # a glob; every case of the change has to match
//! reason = "announced for 2.2"
//! link = "https://…"              # optional
//! expires = "2027-01-31"          # optional
//! ```
//!
//! As with known failures, an entry that matches nothing any more, or whose day has passed, fails the gate.

use super::rows::Drift;
use super::{Change, Effect, Kind};
use crate::document::{Accepted, Document, FileError, Item};
use crate::text::{did_you_mean, glob};

/// The changes that a list accepts.
#[derive(Debug)]
pub(crate) struct KnownChanges(Vec<KnownChange>);

#[derive(Debug)]
struct KnownChange {
    kind: String,
    message: String,
    pointer: String,
    case: String,
    accepted: Accepted,
}

impl KnownChanges {
    /// Reads a list; `file` names it in errors.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, FileError> {
        let mut root = Document::parse(file, text)?;
        let items = root.list("known-change")?;
        root.finish()?;
        items.iter().map(KnownChange::read).collect::<Result<_, _>>().map(Self)
    }

    /// Marks the changes that are accepted today (`YYYY-MM-DD`), and says what is wrong with the list.
    pub(crate) fn apply(self, drift: &mut Drift, today: &str) -> Vec<FileError> {
        for change in drift.changes.iter_mut().filter(|change| change.effect == Effect::Breaking) {
            for entry in &self.0 {
                if entry.matches(change)
                    && let Some(reason) = entry.accepted.hit(today)
                {
                    change.known = Some(reason.to_owned());
                }
            }
        }
        self.0.iter().filter_map(|entry| entry.accepted.complaint("the known change", today)).collect()
    }
}

impl KnownChange {
    fn read(item: &Item<'_>) -> Result<Self, FileError> {
        let mut table = item.table()?;
        let kind = table.require("kind", "what changed, such as \"field-removed\"")?;
        let name = kind.str()?;
        let known: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        if !known.contains(&name) {
            let hint = did_you_mean(name, &known);
            return Err(kind.complain(format_args!("unknown kind of change `{name}`{hint}")));
        }
        let accepted = Accepted::read(item, &mut table)?;
        let mut pattern = |key| table.take(key).map_or(Ok("*".to_owned()), |item| item.text());
        let (message, pointer, case) = (pattern("message")?, pattern("pointer")?, pattern("case")?);
        table.finish()?;
        Ok(Self { kind: name.to_owned(), message, pointer, case, accepted })
    }

    fn matches(&self, change: &Change) -> bool {
        let hits = |pattern: &str, text: &Option<String>| glob(pattern, text.as_deref().unwrap_or_default());
        self.kind == change.kind.name()
            && hits(&self.message, &change.message)
            && hits(&self.pointer, &change.pointer)
            && change.cases.iter().all(|case| glob(&self.case, case))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(day: &str) -> String {
        format!(
            "[[known-change]]\nkind = \"field-removed\"\nreason = \"r\"\nlink = \"l\"\nexpires = \"{day}\"\n"
        )
    }

    #[test]
    fn regression_a_day_that_does_not_exist_was_taken() {
        assert!(KnownChanges::parse("known.toml", &list("2028-02-29")).is_ok());
        for day in ["2026-13-45", "2026-02-30", "2026-99-99", "soon"] {
            let text = list(day);
            let error = KnownChanges::parse("known.toml", &text).unwrap_err().to_string();
            assert!(error.contains("expected a day"), "{day}: {error}");
        }
    }
}
