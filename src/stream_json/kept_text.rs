//! Text that is kept up to a limit and says when it was cut.

use crate::text::head;

/// The head of a text, its whole length in bytes, and whether the head is all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptText {
    kept: String,
    length: u64,
    limit: usize,
    truncated: bool,
}

impl KeptText {
    /// An empty text that keeps this many bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Appends a piece of text, as far as it fits.
    pub fn push(&mut self, piece: &str) {
        self.length += piece.len() as u64;
        if !self.truncated {
            let fits = head(piece, self.limit - self.kept.len());
            self.kept.push_str(fits);
            self.truncated = fits.len() < piece.len();
        }
    }

    /// The part of the text that was kept.
    pub fn as_str(&self) -> &str {
        &self.kept
    }

    /// Whether something was cut off.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// The length of the whole text in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_once_at_a_character() {
        let mut text = KeptText::new(5);
        text.push("abc");
        assert!(!text.is_truncated());
        text.push("déf");
        text.push("g");
        assert_eq!((text.as_str(), text.is_truncated(), text.length()), ("abcd", true, 8));
    }
}
