//! What a reviewer sees and says, without the terminal that it is seen and said on.

use super::difference::{DiffLine, Tag, hunks};
use crate::printable::printable;
use crate::report::style::{BAD, FAINT, GOOD};

/// From this width on both line numbers are shown.
const WIDE: usize = 100;
/// A difference longer than this is shown up to here.
const MOST_LINES: usize = 400;
/// Lines around each difference.
const CONTEXT: usize = 3;

/// What a key means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// It becomes the snapshot.
    Accept,
    /// It goes away.
    Reject,
    /// It waits on.
    Skip,
    /// So does everything else.
    Quit,
    /// The user wants out.
    Interrupt,
}

/// The decision that a key stands for, if any.
pub fn decision(key: u8) -> Option<Decision> {
    match key {
        b'a' => Some(Decision::Accept),
        b'r' => Some(Decision::Reject),
        b's' => Some(Decision::Skip),
        // Ctrl-D: there is no more input.
        b'q' | 4 => Some(Decision::Quit),
        3 => Some(Decision::Interrupt),
        _ => None,
    }
}

/// The difference as lines for a terminal of this width. A new snapshot is shown as it is.
pub fn page(old: Option<&str>, new: &str, width: usize) -> Vec<String> {
    let width = width.max(20);
    let mut lines = Vec::new();
    match old {
        None => {
            for (at, text) in new.lines().enumerate() {
                let line = DiffLine { tag: Tag::Added, old: None, new: Some(at + 1), text: text.to_owned() };
                lines.extend(rendered(&line, width));
            }
        }
        Some(old) => {
            for (at, hunk) in hunks(old, new, CONTEXT).iter().enumerate() {
                if at > 0 {
                    lines.push(format!("{FAINT}{}{FAINT:#}", "·".repeat(width.min(40))));
                }
                lines.extend(hunk.iter().flat_map(|line| rendered(line, width)));
            }
        }
    }
    let more = lines.len().saturating_sub(MOST_LINES);
    if more > 0 {
        lines.truncate(MOST_LINES);
        lines.push(format!("{FAINT}… {more} more lines, in the files{FAINT:#}"));
    }
    lines
}

/// A line with its mark, over as many rows as the terminal needs.
fn rendered(line: &DiffLine, width: usize) -> Vec<String> {
    let (style, mark) = match line.tag {
        Tag::Same => (FAINT, ' '),
        Tag::Removed => (BAD, '-'),
        Tag::Added => (GOOD, '+'),
    };
    let number =
        |number: Option<usize>| number.map_or_else(|| " ".repeat(5), |number| format!("{number:>5}"));
    let gutter =
        if width >= WIDE { format!("{} {} ", number(line.old), number(line.new)) } else { String::new() };
    let room = width.saturating_sub(gutter.len() + 2).max(8);
    let text = printable(&line.text);
    let characters: Vec<char> = text.chars().collect();
    let mut rows: Vec<String> = characters.chunks(room).map(|row| row.iter().collect()).collect();
    if rows.is_empty() {
        rows.push(String::new());
    }
    let row = |(at, row): (usize, String)| {
        let gutter = if at == 0 { gutter.clone() } else { " ".repeat(gutter.len()) };
        // What goes on is marked, so that it is not taken for a line of its own.
        let mark = if at == 0 { mark } else { '\\' };
        format!("{FAINT}{gutter}{FAINT:#}{style}{mark} {row}{style:#}")
    };
    rows.into_iter().enumerate().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(lines: &[String]) -> Vec<String> {
        lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect()
    }

    #[test]
    fn wide_terminals_get_numbers_and_narrow_ones_rows() {
        let (old, new) = ("a\nb\nc\n", "a\nB\nc\n");
        let wide = plain(&page(Some(old), new, 120));
        assert_eq!(wide, ["    1     1   a", "    2       - b", "          2 + B", "    3     3   c"]);
        assert_eq!(plain(&page(Some(old), new, 40)), ["  a", "- b", "+ B", "  c"]);
        let long = plain(&page(None, &"x".repeat(50), 24));
        assert_eq!(long.len(), 3);
        assert!(long.iter().all(|line| line.chars().count() <= 24) && long[1].starts_with("\\ x"));
    }

    #[test]
    fn a_page_is_bounded_and_harmless() {
        let flood = "line\u{1b}[2J\n".repeat(10_000);
        let lines = page(None, &flood, 80);
        assert_eq!(lines.len(), MOST_LINES + 1);
        assert!(plain(&lines).iter().all(|line| !line.contains('\u{1b}')));
    }
}
