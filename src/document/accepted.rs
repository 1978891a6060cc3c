use std::sync::atomic::{AtomicBool, Ordering};

use super::{FileError, Item, Table};

/// What an entry of a list of known problems has whatever it is about: why it is accepted, and perhaps where that is
/// followed up and until when. An entry that has expired or that matched nothing is a complaint: a list that only grows
/// hides what it was made to show.
#[derive(Debug)]
pub(crate) struct Accepted {
    reason: String,
    /// The last day it is accepted, as `YYYY-MM-DD`; none when nobody set one.
    expires: Option<String>,
    place: FileError,
    is_used: AtomicBool,
}

impl Accepted {
    /// Reads the keys that such entries share.
    pub(crate) fn read(entry: &Item<'_>, table: &mut Table<'_>) -> Result<Self, FileError> {
        let mut reason = table.require("reason", "why it is accepted")?.text()?;
        if let Some(link) = table.take("link") {
            reason = format!("{reason} ({})", link.text()?);
        }
        let expires = table.take("expires").map(|day| day.day()).transpose()?;
        Ok(Self { reason, expires, place: entry.complain(""), is_used: AtomicBool::new(false) })
    }

    /// Says that the entry matched; the reason, with the link, when it is still accepted today (`YYYY-MM-DD`).
    pub(crate) fn hit(&self, today: &str) -> Option<&str> {
        self.is_used.store(true, Ordering::Relaxed);
        (!self.is_expired(today)).then_some(&self.reason)
    }

    /// Whether anything matched so far.
    pub(crate) fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Relaxed)
    }

    /// Whether its last day is over.
    pub(crate) fn is_expired(&self, today: &str) -> bool {
        self.expires.as_deref().is_some_and(|day| day < today)
    }

    /// What is wrong with the entry itself when everything that it could be about was matched; `what` names it.
    pub(crate) fn complaint(&self, what: &str, today: &str) -> Option<FileError> {
        match &self.expires {
            Some(day) if self.is_expired(today) => {
                Some(self.place.saying(format_args!("{what} expired on {day}")))
            }
            _ => (!self.is_used())
                .then(|| self.place.saying(format_args!("{what} matched nothing: remove it"))),
        }
    }
}
