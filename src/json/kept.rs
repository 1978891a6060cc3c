//! Documents that were scanned, side by side, to be looked at when their scanner is at others.

use super::Oddity;
use super::document::{Document, Entry, Look};

/// The documents, all in three lists.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    text: String,
    entries: Vec<Entry>,
    oddities: Vec<Oddity>,
}

/// Where a document is among others: what of each list is its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeptDocument {
    text: (usize, usize),
    entries: (usize, usize),
    oddities: (usize, usize),
    odd_count: usize,
    depth: usize,
    end: usize,
}

impl Documents {
    /// Keeps a document.
    pub(crate) fn keep(&mut self, document: &Document<'_>) -> KeptDocument {
        let before = (self.text.len(), self.entries.len(), self.oddities.len());
        self.text.push_str(document.text);
        self.entries.extend_from_slice(document.entries);
        self.oddities.extend_from_slice(document.oddities);
        KeptDocument {
            text: (before.0, self.text.len()),
            entries: (before.1, self.entries.len()),
            oddities: (before.2, self.oddities.len()),
            odd_count: document.odd_count,
            depth: document.depth,
            end: document.end,
        }
    }

    /// A document that is kept here, as it was.
    pub(crate) fn get(&self, kept: &KeptDocument) -> Document<'_> {
        Document {
            text: &self.text[kept.text.0..kept.text.1],
            entries: &self.entries[kept.entries.0..kept.entries.1],
            oddities: &self.oddities[kept.oddities.0..kept.oddities.1],
            odd_count: kept.odd_count,
            depth: kept.depth,
            end: kept.end,
            look: Look::Plain,
        }
    }

    /// The bytes of their texts.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Forgets all of them, and keeps the room.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.entries.clear();
        self.oddities.clear();
    }
}
