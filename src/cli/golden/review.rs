//! `clawgate golden review`: shows each difference on a terminal and takes one key for an answer.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use rustix::termios::{self, LocalModes, OptionalActions, SpecialCodeIndex, Termios};

use serde_json::json;

use crate::cli::golden::PendingArgs;
use crate::cli::output::tell;
use crate::cli::project::Project;
use crate::cli::{CommandError, Format};
use crate::drift::{Change, ComparePolicy, Drift, diff_snapshot};
use crate::exit_code::Outcome;
use crate::golden::{DiffLine, Difference, Fingerprint, Tag, Waiting};
use crate::report::effect_style;
use crate::report::style::{BAD, FAINT, GOOD, NAME};
use crate::text::{clip, printable};

/// From this width on both line numbers are shown.
const WIDE: usize = 100;
/// So many changes are told in words.
const MOST_CHANGES: usize = 12;

pub(super) fn run(args: &PendingArgs) -> Result<Outcome, CommandError> {
    let store = args.store();
    let pending = args.pending(&store)?;
    if pending.is_empty() {
        return Ok(Outcome::Ok);
    }
    let policy = Project::open()?.terms(None)?;
    if args.format.format == Format::Json || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return list(args, &pending, &policy);
    }
    let (mut counts, mut outcome) = ([0_usize; 3], Outcome::Ok);
    for (at, path) in pending.iter().enumerate() {
        let shown = match Page::open(path, &policy) {
            Ok(page) => page.show(at + 1, pending.len()),
            Err(error) => {
                outcome.add(error.told());
                counts[2] += 1;
                continue;
            }
        };
        let decided = match ask()? {
            Decision::Accept => store.accept(path, Some(shown)).map(|_| counts[0] += 1),
            Decision::Reject => store.reject(path, Some(shown)).map(|()| counts[1] += 1),
            Decision::Interrupt => return Err(CommandError::Interrupted),
            Decision::Quit => {
                counts[2] += pending.len() - at;
                break;
            }
            Decision::Skip => {
                counts[2] += 1;
                Ok(())
            }
        };
        if let Err(error) = decided {
            outcome.add(CommandError::from(error).told());
            counts[2] += 1;
        }
    }
    let [accepted, rejected, left] = counts;
    writeln!(anstream::stdout(), "{accepted} accepted, {rejected} rejected, {left} left")?;
    Ok(outcome)
}

/// Without a terminal nothing can be decided: everything is shown, and what waits still waits.
fn list(
    args: &PendingArgs,
    pending: &[PathBuf],
    policy: &ComparePolicy<'_>,
) -> Result<Outcome, CommandError> {
    let mut outcome = Outcome::Findings;
    let mut out = Format::Json.stdout();
    for (at, path) in pending.iter().enumerate() {
        match Page::open(path, policy) {
            Ok(page) if args.format.format == Format::Json => writeln!(out, "{}", page.to_json())?,
            Ok(page) => _ = page.show(at + 1, pending.len()),
            Err(error) => outcome.add(error.told()),
        }
    }
    out.flush()?;
    let folder = args.dir.flag();
    tell(format_args!(
        "decide with: clawgate golden accept{folder}, or reject; review asks where there is a terminal"
    ));
    Ok(outcome)
}

/// What waits for a decision, and what it does to a reader.
struct Page {
    waiting: Waiting,
    /// Nothing where there is nothing to compare with.
    drift: Drift,
}

impl Page {
    fn open(path: &Path, policy: &ComparePolicy<'_>) -> Result<Self, CommandError> {
        let waiting = Waiting::open(path)?;
        let drift =
            if waiting.has_old { diff_snapshot(&waiting.snapshot, path, policy)? } else { Drift::default() };
        Ok(Self { waiting, drift })
    }

    fn what(&self) -> &'static str {
        if self.waiting.snapshot.exists() { "changed" } else { "new" }
    }

    /// Shows it, and returns what was shown.
    fn show(&self, number: usize, of: usize) -> Fingerprint {
        let width = termios::tcgetwinsize(io::stdout()).map_or(80, |size| usize::from(size.ws_col));
        let width = if width == 0 { 80 } else { width };
        let mut out = anstream::stdout().lock();
        let place = self.waiting.snapshot.display().to_string();
        let advice = self.drift.advice().map_or(String::new(), |advice| format!(": {advice}"));
        // Nobody decides about what could not be shown: a terminal that is gone answers nothing either.
        _ = writeln!(
            out,
            "\n{NAME}{}{NAME:#} {} ({number} of {of}){}",
            printable(&place),
            self.what(),
            printable(&advice)
        );
        let difference = self.waiting.difference.as_ref().map_or(Vec::new(), |found| page(found, width));
        for line in effects(&self.drift.changes, width).into_iter().chain(difference) {
            _ = writeln!(out, "{line}");
        }
        self.waiting.shown
    }

    fn to_json(&self) -> serde_json::Value {
        let Self { waiting, drift } = self;
        json!({
            "type": "waiting", "snapshot": waiting.snapshot.display().to_string(), "what": self.what(),
            "effect": drift.changes.iter().map(|change| change.effect).min(),
            "advice": drift.advice(), "bumps": drift.bumps, "changes": drift.changes,
            "diff": waiting.difference.as_ref().map_or(Vec::new(), Difference::lines),
        })
    }
}

/// What a difference does to a reader by the contract's policy, the gravest first.
fn effects(changes: &[Change], width: usize) -> Vec<String> {
    let line = |change: &Change| {
        let style = effect_style(change);
        let place = [change.message.as_deref(), change.pointer.as_deref()];
        let place = place.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let text = format!("{place}: {}", change.summary);
        let text = clip(text.trim_start_matches(": "), width.saturating_sub(11)).into_owned();
        format!("{style}{:<9}{style:#} {}", change.word(), printable(&text))
    };
    let mut lines: Vec<String> = changes.iter().take(MOST_CHANGES).map(line).collect();
    if changes.len() > MOST_CHANGES {
        lines.push(format!("{FAINT}and {} changes more{FAINT:#}", changes.len() - MOST_CHANGES));
    }
    lines
}

/// Waits for a key that means something. What was typed before the question is not an answer to it.
fn ask() -> Result<Decision, CommandError> {
    let keys = Keys::new()?;
    let mut out = anstream::stdout().lock();
    write!(out, "{FAINT}a accept · r reject · s skip · q quit{FAINT:#} ")?;
    out.flush()?;
    loop {
        let mut bytes = [0; 64];
        let read = rustix::io::read(io::stdin(), &mut bytes).map_err(io::Error::from)?;
        // A key that sends several bytes, such as an arrow, or pasted text, is no decision.
        let decision = match &bytes[..read] {
            [] => Some(Decision::Quit),
            [key] => decision(*key),
            _ => None,
        };
        let Some(decision) = decision else {
            write!(out, "(a, r, s or q) ")?;
            out.flush()?;
            continue;
        };
        drop(keys);
        let said = match decision {
            Decision::Accept => "accept",
            Decision::Reject => "reject",
            Decision::Skip => "skip",
            Decision::Quit | Decision::Interrupt => "quit",
        };
        writeln!(out, "{said}")?;
        return Ok(decision);
    }
}

/// The terminal without echo and lines; as it was when the value goes.
struct Keys(Termios);

impl Keys {
    fn new() -> io::Result<Self> {
        let before = termios::tcgetattr(io::stdin())?;
        let mut single = before.clone();
        single.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
        single.special_codes[SpecialCodeIndex::VMIN] = 1;
        single.special_codes[SpecialCodeIndex::VTIME] = 0;
        termios::tcsetattr(io::stdin(), OptionalActions::Flush, &single)?;
        Ok(Self(before))
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// What a key means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
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
fn decision(key: u8) -> Option<Decision> {
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

/// The difference as lines for a terminal of this width.
fn page(difference: &Difference, width: usize) -> Vec<String> {
    let width = width.max(20);
    let mut lines = Vec::new();
    for (at, hunk) in difference.hunks.iter().enumerate() {
        if at > 0 {
            lines.push(format!("{FAINT}{}{FAINT:#}", "·".repeat(width.min(40))));
        }
        lines.extend(hunk.iter().flat_map(|line| rendered(line, width)));
    }
    if difference.more > 0 {
        lines.push(format!("{FAINT}… {} more lines, in the files{FAINT:#}", difference.more));
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

    fn lines(texts: &[(Tag, Option<usize>, Option<usize>, &str)]) -> Vec<DiffLine> {
        let line = |(tag, old, new, text): &(Tag, _, _, &str)| DiffLine {
            tag: *tag,
            old: *old,
            new: *new,
            text: (*text).to_owned(),
        };
        texts.iter().map(line).collect()
    }

    #[test]
    fn wide_terminals_get_numbers_and_narrow_ones_rows() {
        let changed = lines(&[
            (Tag::Same, Some(1), Some(1), "a"),
            (Tag::Removed, Some(2), None, "b"),
            (Tag::Added, None, Some(2), "B\u{1b}[2J"),
        ]);
        let shown = |width| plain(&changed.iter().flat_map(|line| rendered(line, width)).collect::<Vec<_>>());
        assert_eq!(shown(120), ["    1     1   a", "    2       - b", "          2 + B\\u{1b}[2J"]);
        assert_eq!(shown(40), ["  a", "- b", "+ B\\u{1b}[2J"]);
        let long = plain(&rendered(&lines(&[(Tag::Added, None, Some(1), &"x".repeat(50))])[0], 24));
        assert_eq!(long.len(), 3);
        assert!(long.iter().all(|line| line.chars().count() <= 24) && long[1].starts_with("\\ x"));
    }
}
