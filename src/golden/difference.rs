//! How a snapshot and what a run found instead differ.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// A difference that takes longer than this to find is shown less exactly.
const PATIENCE: Duration = Duration::from_millis(500);

/// How two snapshots differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Lines that are gone.
    pub removed: usize,
    /// Lines that are new.
    pub added: usize,
    /// The line of the old one where the first difference is, from 1.
    pub line: usize,
    /// The first line that is gone.
    pub first_removed: Option<String>,
    /// The first line that is new.
    pub first_added: Option<String>,
    /// What differs with the lines around it, each after `-`, `+` or a space as a diff shows it; of very many the first.
    pub lines: Vec<String>,
    /// Whether it is where somebody accepted a difference the last time.
    pub is_repeated: bool,
}

/// How many lines of a difference are kept for reports, and how many stand around each change.
const MOST_LINES: usize = 200;
const AROUND: usize = 3;

/// One line of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiffLine {
    /// Whether it is gone, new, or as it was.
    pub tag: Tag,
    /// Its number in the old one.
    pub old: Option<usize>,
    /// Its number in the new one.
    pub new: Option<usize>,
    pub text: String,
}

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    Same,
    Removed,
    Added,
}

/// Counts the difference, and names where it begins.
pub(crate) fn difference(old: &str, new: &str) -> Difference {
    let hunks = hunks(old, new, AROUND);
    let mut found = Difference {
        removed: 0,
        added: 0,
        line: 0,
        first_removed: None,
        first_added: None,
        lines: as_diff(&hunks),
        is_repeated: false,
    };
    let mut at = 1;
    for line in hunks.iter().flatten() {
        at = line.old.unwrap_or(at);
        let (count, first) = match line.tag {
            Tag::Same => continue,
            Tag::Removed => (&mut found.removed, &mut found.first_removed),
            Tag::Added => (&mut found.added, &mut found.first_added),
        };
        *count += 1;
        first.get_or_insert_with(|| line.text.trim_end().to_owned());
        if found.line == 0 {
            found.line = at;
        }
    }
    found
}

fn as_diff(hunks: &[Vec<DiffLine>]) -> Vec<String> {
    let line = |line: &DiffLine| {
        let mark = match line.tag {
            Tag::Same => ' ',
            Tag::Removed => '-',
            Tag::Added => '+',
        };
        format!("{mark}{}", line.text)
    };
    let mut lines: Vec<String> = Vec::new();
    for hunk in hunks {
        let place = hunk.first().and_then(|line| line.old.or(line.new)).unwrap_or_default();
        lines.push(format!("@@ line {place} @@"));
        lines.extend(hunk.iter().map(line));
    }
    if lines.len() > MOST_LINES {
        let more = lines.len() - MOST_LINES;
        lines.truncate(MOST_LINES);
        lines.push(format!("@@ {more} more lines @@"));
    }
    lines
}

/// The lines around each difference; hunks are apart.
pub(crate) fn hunks(old: &str, new: &str, context: usize) -> Vec<Vec<DiffLine>> {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    let line = |change: similar::Change<&str>| DiffLine {
        tag: match change.tag() {
            ChangeTag::Equal => Tag::Same,
            ChangeTag::Delete => Tag::Removed,
            ChangeTag::Insert => Tag::Added,
        },
        old: change.old_index().map(|index| index + 1),
        new: change.new_index().map(|index| index + 1),
        text: change.value().trim_end_matches(['\n', '\r']).to_owned(),
    };
    let hunk =
        |ops: &Vec<similar::DiffOp>| ops.iter().flat_map(|op| diff.iter_changes(op)).map(line).collect();
    diff.grouped_ops(context).iter().map(hunk).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_says_where_it_begins() {
        let found = difference("a\nb\nc\n", "a\nB\nc\nd\n");
        assert_eq!((found.removed, found.added, found.line), (1, 2, 2));
        assert_eq!((found.first_removed.as_deref(), found.first_added.as_deref()), (Some("b"), Some("B")));
        assert_eq!(found.lines, ["@@ line 1 @@", " a", "-b", "+B", " c", "+d"]);
        let many = "x\n".repeat(500);
        assert_eq!(difference("", &many).lines.last().unwrap(), "@@ 301 more lines @@");
        assert_eq!(hunks("a\nb\n", "a\nb\n", 3).len(), 0);
        let lines = hunks("a\nb\nc\n", "a\nB\nc\n", 0).remove(0);
        assert_eq!(
            lines.iter().map(|line| (line.tag, line.text.as_str())).collect::<Vec<_>>(),
            [(Tag::Removed, "b"), (Tag::Added, "B")]
        );
    }
}
