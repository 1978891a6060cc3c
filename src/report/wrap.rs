//! Text within the columns of a terminal.

use unicode_width::UnicodeWidthStr as _;

use super::quote::first_columns;
use crate::text::line_of_ours;

/// As much as fits, with an ellipsis when there is more.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    first_columns(text, columns.saturating_sub(1)).0 + "…"
}

/// The lines of a text, broken at blanks where there are any.
pub(super) fn broken(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(20);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.width() + 1 + word.width() > columns {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        while line.width() > columns {
            let (head, _) = first_columns(&line, columns);
            line.drain(..head.len().max(1));
            lines.push(head);
        }
    }
    lines.push(line);
    // A line of a target's making never stands at the beginning of ours: a CI system would obey it.
    lines.iter().map(|line| line_of_ours(line).into_owned()).collect()
}
