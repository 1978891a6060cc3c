//! Text that is kept up to a limit and says when it was cut.

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

    /// Appends a piece.
    pub fn push(&mut self, piece: &str) {
        self.length += piece.len() as u64;
        if !self.truncated {
            let fits = head(piece, self.limit - self.kept.len());
            self.kept.push_str(fits);
            self.truncated = fits.len() < piece.len();
        }
    }

    /// What was kept.
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

/// The last `limit` bytes of a text, cut at a character.
pub(super) fn tail(text: &str, limit: usize) -> &str {
    let from = text.len().saturating_sub(limit);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[from..]
}

/// The first `limit` bytes of a text, cut at a character.
pub(super) fn head(text: &str, limit: usize) -> &str {
    let to = (0..=limit.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    &text[..to]
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
        assert_eq!(head("né", 2), "n");
        assert_eq!(tail("né", 1), "");
        assert_eq!(tail("né", 2), "é");
    }
}
