use super::{FileError, Item, Table};

/// What an entry of a list of known problems has whatever it is about: why it is accepted, where that is followed up,
/// and until when. An entry that has expired or that matched nothing is a complaint: a list that only grows hides what
/// it was made to show.
#[derive(Debug, Clone)]
pub(crate) struct Accepted {
    reason: String,
    /// The last day it is accepted, as `YYYY-MM-DD`.
    expires: String,
    place: FileError,
    is_used: bool,
}

impl Accepted {
    /// Reads the keys that such entries share.
    pub(crate) fn read(entry: &Item<'_>, table: &mut Table<'_>) -> Result<Self, FileError> {
        let reason = table.require("reason", "why it is accepted")?.text()?;
        table.require("link", "where it is followed up")?.text()?;
        let expires = table.require("expires", "the last day it is accepted, such as 2026-12-31")?.day()?;
        Ok(Self { reason, expires, place: entry.complain(""), is_used: false })
    }

    /// Says that the entry matched; the reason when it is still accepted today (`YYYY-MM-DD`).
    pub(crate) fn hit(&mut self, today: &str) -> Option<&str> {
        self.is_used = true;
        (self.expires.as_str() >= today).then_some(&self.reason)
    }

    /// What is wrong with the entry itself, once everything was matched; `what` names it.
    pub(crate) fn complaint(&self, what: &str, today: &str) -> Option<FileError> {
        if self.expires.as_str() < today {
            Some(self.place.saying(format_args!("{what} expired on {}", self.expires)))
        } else {
            (!self.is_used).then(|| self.place.saying(format_args!("{what} matched nothing: remove it")))
        }
    }
}
