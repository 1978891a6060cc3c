//! Breaking changes that are accepted for now, with a reason and an end.
//!
//! ```toml
//! [[known-change]]
//! kind = "field-removed"
//! message = "result/*"            # a glob; without it any
//! pointer = "/modelUsage/*"       # a glob; without it any
//! case = "*"                      # a glob; every case of the change has to match
//! reason = "announced for 2.2"
//! link = "https://…"
//! expires = "2027-01-31"
//! ```
//!
//! As with known failures, an entry that matches nothing any more, or whose day has passed, fails the gate.

use super::rows::Drift;
use super::{Change, Effect, Kind};
use crate::document::{Document, DocumentError, Place, Table};
use crate::text::glob;
use crate::text::nearest;
use crate::time::is_day;

/// The changes that a list accepts.
#[derive(Debug)]
pub(crate) struct KnownChanges<'t> {
    entries: Vec<Entry<'t>>,
}

#[derive(Debug)]
struct Entry<'t> {
    kind: String,
    message: String,
    pointer: String,
    case: String,
    reason: String,
    expires: String,
    place: Place<'t>,
    used: bool,
}

impl<'t> KnownChanges<'t> {
    /// Reads a list; `file` names it in errors.
    pub(crate) fn parse(file: &'t str, text: &'t str) -> Result<Self, DocumentError> {
        let mut root = Document::parse(file, text)?;
        let items = root.list("known-change")?;
        root.finish()?;
        let entries = items
            .into_iter()
            .map(|item| {
                let place = item.place();
                entry(item.into_table()?, place)
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { entries })
    }

    /// Marks the changes that are accepted today (`YYYY-MM-DD`), and says what is wrong with the list.
    pub(crate) fn apply(mut self, drift: &mut Drift, today: &str) -> Vec<DocumentError> {
        for change in drift.changes.iter_mut().filter(|change| change.effect == Effect::Breaking) {
            for entry in &mut self.entries {
                if !entry.matches(change) {
                    continue;
                }
                entry.used = true;
                if entry.expires.as_str() >= today {
                    change.known = Some(entry.reason.clone());
                }
            }
        }
        let complaint = |entry: &Entry<'t>| {
            if entry.expires.as_str() < today {
                Some(entry.place.complain(format!("the known change expired on {}", entry.expires)))
            } else {
                (!entry.used).then(|| entry.place.complain("the known change matched nothing: remove it"))
            }
        };
        self.entries.iter().filter_map(complaint).collect()
    }
}

impl Entry<'_> {
    fn matches(&self, change: &Change) -> bool {
        let hits = |pattern: &str, text: Option<&String>| {
            glob(pattern, text.map(String::as_str).unwrap_or_default())
        };
        self.kind == change.kind.name()
            && hits(&self.message, change.message.as_ref())
            && hits(&self.pointer, change.pointer.as_ref())
            && change.cases.iter().all(|case| glob(&self.case, case))
    }
}

fn entry<'t>(mut table: Table<'t>, place: Place<'t>) -> Result<Entry<'t>, DocumentError> {
    let kind = table.require("kind", "what changed, such as \"field-removed\"")?;
    let kind_place = kind.place();
    let kind = kind.into_string()?;
    if Kind::ALL.iter().all(|known| known.name() != kind) {
        let hint = nearest(&kind, Kind::ALL.iter().map(|known| known.name()));
        let hint = hint.map_or(String::new(), |known| format!(", did you mean `{known}`?"));
        return Err(kind_place.complain(format!("unknown kind of change `{kind}`{hint}")));
    }
    let reason = table.require("reason", "why it is accepted")?.into_string()?;
    table.require("link", "where it is followed up")?.into_string()?;
    let expires = table.require("expires", "the last day it is accepted, such as \"2026-12-31\"")?;
    let day_place = expires.place();
    let expires = expires.into_string()?;
    if !is_day(&expires) {
        return Err(day_place.complain("expected a day such as \"2026-12-31\""));
    }
    let mut pattern = |key| table.string(key).map(|text| text.unwrap_or_else(|| "*".into()));
    let (message, pointer, case) = (pattern("message")?, pattern("pointer")?, pattern("case")?);
    table.finish()?;
    Ok(Entry { kind, message, pointer, case, reason, expires, place, used: false })
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
