//! How a snapshot and what a run found instead differ.

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};

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
    /// What differs with the lines around it, in stretches that are apart; of very many lines the first.
    pub hunks: Vec<Vec<DiffLine>>,
    /// How many lines more there would be to show.
    pub more: usize,
    /// The first lines of either side at which they differ; what only the other side has counts for the line that it stands
    /// before.
    pub places: Places,
    /// Whether it is where somebody accepted a difference the last time.
    pub is_repeated: bool,
}

impl Difference {
    /// As a report shows it: lines after `-`, `+` or a space, and `@@` where a stretch begins.
    pub(crate) fn lines(&self) -> Vec<String> {
        let heading = |hunk: &Vec<DiffLine>| {
            let line = hunk.first().and_then(|first| first.old.or(first.new)).unwrap_or(1);
            format!("@@ line {line} @@")
        };
        let hunk = |hunk: &Vec<DiffLine>| {
            std::iter::once(heading(hunk)).chain(hunk.iter().map(ToString::to_string)).collect::<Vec<_>>()
        };
        let more = (self.more > 0).then(|| format!("@@ {} more lines @@", self.more));
        self.hunks.iter().flat_map(hunk).chain(more).collect()
    }
}

/// Numbers of lines, of the old text and of the new one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Places {
    pub old: Vec<usize>,
    pub new: Vec<usize>,
}

impl Places {
    /// So many places are enough to recognise one.
    const MOST: usize = 40;

    /// Takes a stretch of lines that is gone, new or both, after so many lines of each side.
    fn add(&mut self, old: (usize, usize), new: (usize, usize)) {
        for (places, (before, count)) in [(&mut self.old, old), (&mut self.new, new)] {
            let room = Self::MOST.saturating_sub(places.len());
            places.extend((before + 1..=before + count.max(1)).take(room));
        }
    }
}

/// How many lines of a difference are kept for reports, and how many stand around each change.
const MOST_LINES: usize = 400;
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

impl fmt::Display for DiffLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.tag {
            Tag::Same => ' ',
            Tag::Removed => '-',
            Tag::Added => '+',
        };
        write!(f, "{mark}{}", self.text)
    }
}

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    Same,
    Removed,
    Added,
}

/// So many bytes of lines on each side are compared at a time. A stretch that is gone or new and is longer than this makes
/// what follows it count as different too, until both sides are at the same line again.
const WINDOW: usize = 4 << 20;

/// Counts the difference between two texts, line by line, and names where it begins; none when there is none.
pub(super) fn difference<E>(
    old: &mut dyn FnMut() -> Result<Option<String>, E>,
    new: &mut dyn FnMut() -> Result<Option<String>, E>,
) -> Result<Option<Difference>, E> {
    let (mut before, mut after) = (Window::new(old), Window::new(new));
    let mut found = Collector::default();
    let mut patience = PATIENCE;
    loop {
        before.fill()?;
        after.fill()?;
        // All of a small one is compared at once, so that lines are matched as they are when it is shown.
        let at_start = before.taken == 0 && after.taken == 0;
        if !(at_start && before.ended && after.ended) {
            let mut pairs = before.lines.iter().zip(&after.lines);
            let same = pairs.position(|(old, new)| old != new);
            let same = same.unwrap_or(before.lines.len().min(after.lines.len()));
            if same > 0 {
                after.drop_front(same);
                before.drain(same, |line| found.line(Tag::Same, line));
                continue;
            }
        }
        if before.lines.is_empty() && after.lines.is_empty() {
            return Ok(found.finish());
        }
        let began = Instant::now();
        let (were, are) = (before.lines.make_contiguous(), after.lines.make_contiguous());
        let mut ops = capture_diff_slices_deadline(Algorithm::Myers, &*were, &*are, Some(began + patience));
        patience = patience.saturating_sub(began.elapsed());
        if !(before.ended && after.ended)
            && let Some(last) = ops.iter().rposition(|op| op.tag() == DiffTag::Equal)
        {
            // What follows the last match may match what is not here yet.
            ops.truncate(last + 1);
        }
        for op in ops {
            let (old, new) = (op.old_range().len(), op.new_range().len());
            if op.tag() == DiffTag::Equal {
                after.drop_front(new);
                before.drain(old, |line| found.line(Tag::Same, line));
            } else {
                found.places.add((before.taken, old), (after.taken, new));
                before.drain(old, |line| found.line(Tag::Removed, line));
                after.drain(new, |line| found.line(Tag::Added, line));
            }
        }
    }
}

/// The next lines of a text.
struct Window<'l, E> {
    next: &'l mut dyn FnMut() -> Result<Option<String>, E>,
    lines: VecDeque<String>,
    bytes: usize,
    /// How many lines were taken out of it.
    taken: usize,
    ended: bool,
}

impl<'l, E> Window<'l, E> {
    fn new(next: &'l mut dyn FnMut() -> Result<Option<String>, E>) -> Self {
        Self { next, lines: VecDeque::new(), bytes: 0, taken: 0, ended: false }
    }

    fn fill(&mut self) -> Result<(), E> {
        while !self.ended && self.bytes < WINDOW {
            match (self.next)()? {
                Some(line) => {
                    self.bytes += line.len() + LINE_COST;
                    self.lines.push_back(line);
                }
                None => self.ended = true,
            }
        }
        Ok(())
    }

    /// Takes lines out.
    fn drain(&mut self, count: usize, mut each: impl FnMut(String)) {
        for line in self.lines.drain(..count) {
            self.bytes -= line.len() + LINE_COST;
            self.taken += 1;
            each(line);
        }
    }

    fn drop_front(&mut self, count: usize) {
        self.drain(count, drop);
    }
}

/// What a line takes in memory besides its bytes.
const LINE_COST: usize = 32;

/// Gathers what differs, and of it as much as is shown.
#[derive(Default)]
struct Collector {
    /// How many lines of either side were taken.
    old: usize,
    new: usize,
    removed: usize,
    added: usize,
    line: usize,
    first_removed: Option<String>,
    first_added: Option<String>,
    hunks: Vec<Vec<DiffLine>>,
    shown: usize,
    /// How many more lines would be shown if there were no bound.
    more: usize,
    /// How many lines are the same since the last change; the last of them, unless they are shown.
    same: usize,
    held: VecDeque<DiffLine>,
    places: Places,
}

impl Collector {
    /// Takes the next line.
    fn line(&mut self, tag: Tag, text: String) {
        self.old += usize::from(tag != Tag::Added);
        self.new += usize::from(tag != Tag::Removed);
        let (old, new) = ((tag != Tag::Added).then_some(self.old), (tag != Tag::Removed).then_some(self.new));
        let line = DiffLine { tag, old, new, text };
        let (count, first) = match tag {
            Tag::Same => return self.hold(line),
            Tag::Removed => (&mut self.removed, &mut self.first_removed),
            Tag::Added => (&mut self.added, &mut self.first_added),
        };
        *count += 1;
        first.get_or_insert_with(|| line.text.trim_end().to_owned());
        self.lead_up();
        self.push(line);
    }

    fn hold(&mut self, line: DiffLine) {
        self.same += 1;
        if self.line > 0 && self.same <= AROUND {
            return self.push(line);
        }
        if self.held.len() == AROUND {
            self.held.pop_front();
        }
        self.held.push_back(line);
    }

    /// Shows what stands before a change, apart from what was shown before where that ended long ago.
    fn lead_up(&mut self) {
        let is_first = self.line == 0;
        if is_first {
            self.line = self.old.max(1);
        }
        if is_first || self.same > 2 * AROUND {
            self.hunks.push(Vec::new());
        }
        for line in std::mem::take(&mut self.held) {
            self.push(line);
        }
        self.same = 0;
    }

    fn push(&mut self, line: DiffLine) {
        match self.hunks.last_mut().filter(|_| self.shown < MOST_LINES) {
            Some(hunk) => {
                hunk.push(line);
                self.shown += 1;
            }
            None => self.more += 1,
        }
    }

    fn finish(mut self) -> Option<Difference> {
        self.hunks.retain(|hunk| !hunk.is_empty());
        let Self { removed, added, line, first_removed, first_added, hunks, more, places, .. } = self;
        let found = Difference {
            removed,
            added,
            line,
            first_removed,
            first_added,
            hunks,
            more,
            places,
            is_repeated: false,
        };
        (removed + added > 0).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn difference(old: &str, new: &str) -> Option<Difference> {
        let (mut old, mut new) = (old.lines(), new.lines());
        let mut next = || Ok::<_, Infallible>(old.next().map(str::to_owned));
        super::difference(&mut next, &mut || Ok(new.next().map(str::to_owned))).unwrap()
    }

    #[test]
    fn a_difference_says_where_it_begins() {
        let found = difference("a\nb\nc\n", "a\nB\nc\nd\n").unwrap();
        assert_eq!((found.removed, found.added, found.line), (1, 2, 2));
        assert_eq!((found.first_removed.as_deref(), found.first_added.as_deref()), (Some("b"), Some("B")));
        assert_eq!(found.lines(), ["@@ line 1 @@", " a", "-b", "+B", " c", "+d"]);
        let numbers = found.hunks[0].iter().map(|line| (line.old, line.new)).collect::<Vec<_>>();
        let expected =
            [(Some(1), Some(1)), (Some(2), None), (None, Some(2)), (Some(3), Some(3)), (None, Some(4))];
        assert_eq!(numbers, expected);
        let many = "x\n".repeat(500);
        assert_eq!(difference("", &many).unwrap().lines().last().unwrap(), "@@ 100 more lines @@");
        assert_eq!(difference(&many, &many), None);
    }

    /// Stretches are those that everybody else's diff shows, also where they touch.
    #[test]
    fn stretches_are_apart_where_enough_is_the_same() {
        let text = |changed: &[usize], gone: &[usize]| -> String {
            let lines = (0..60).filter(|line| !gone.contains(line));
            let mark = |line: usize| if changed.contains(&line) { "!\n" } else { "\n" };
            lines.flat_map(|line| [line.to_string(), mark(line).to_owned()]).collect()
        };
        for (changed, gone) in [(&[0, 7, 15][..], &[59][..]), (&[3, 10, 18], &[30, 31, 38]), (&[], &[0, 58])]
        {
            let (old, new) = (text(&[], &[]), text(changed, gone));
            let diff = similar::TextDiff::from_lines(&old, &new);
            let expected: Vec<String> = diff
                .grouped_ops(AROUND)
                .iter()
                .flat_map(|ops| {
                    let place = ops[0].old_range().start + 1;
                    let changes = ops.iter().flat_map(|op| diff.iter_changes(op));
                    let lines =
                        changes.map(|change| format!("{}{}", change.tag(), change.value().trim_end()));
                    std::iter::once(format!("@@ line {place} @@")).chain(lines).collect::<Vec<_>>()
                })
                .collect();
            assert_eq!(difference(&old, &new).unwrap().lines(), expected);
        }
    }

    #[test]
    fn what_is_larger_than_memory_may_hold_is_matched_again() {
        let line = |number: usize| format!("{number} {}\n", "x".repeat(200));
        let old: String = (0..60_000).map(line).collect();
        let is_kept = |number: &usize| ![5, 30_000, 59_999].contains(number);
        let mut new: String = (0..60_000).filter(is_kept).map(line).collect();
        new.push_str("end\n");
        assert!(old.len() > 2 * WINDOW);
        let found = difference(&old, &new).unwrap();
        assert_eq!((found.removed, found.added, found.line), (3, 1, 6));
        assert_eq!(found.hunks.len(), 3);
    }
}
