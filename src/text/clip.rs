use std::borrow::Cow;

/// At most `limit` characters of a text, followed by an ellipsis when there are more.
pub(crate) fn clip(text: &str, limit: usize) -> Cow<'_, str> {
    match text.char_indices().nth(limit) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// The first `limit` bytes of a text, less those of a character that does not fit.
pub(crate) fn head(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    &text[..end]
}

/// The last `limit` bytes of a text, less those of a character that does not fit.
pub(crate) fn tail(text: &str, limit: usize) -> &str {
    let start = text.len().saturating_sub(limit);
    let start = (start..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_clipped_by_characters_and_marked_only_when_something_is_missing() {
        assert_eq!(clip("né…", 3), "né…");
        assert_eq!(clip("éééé", 3), "ééé…");
        assert_eq!(clip("", 0), "");
        assert!(matches!(clip("as it is", 8), Cow::Borrowed(_)));
    }

    #[test]
    fn bytes_are_cut_between_characters() {
        assert_eq!((head("né", 2), head("né", 3), head("né", 9)), ("n", "né", "né"));
        assert_eq!((tail("né", 1), tail("né", 2), tail("né", 9)), ("", "é", "né"));
    }
}
