//! Where a snapshot differed from the one before when somebody accepted it, as a line of its header:
//!
//! ```text
//! accepted: 12 40
//! ```
//!
//! A run that differs in the same place again, though nobody changed the target, has something there that differs from run
//! to run, and accepting it once more does not help.

use super::difference::{DiffLine, Tag, hunks};

const KEY: &str = "  accepted: ";
/// Lines around each change: enough to know where lines went that are gone.
const AROUND: usize = 1;
/// So many places are enough to recognise one.
const MOST: usize = 40;

/// A snapshot's text with where it differs from the one that it replaces.
pub(super) fn remember(new: &str, old: Option<&str>) -> String {
    let Some(old) = old else { return new.to_owned() };
    let found = places(content(old), content(new), |line| line.new);
    let places: Vec<String> = found.iter().take(MOST).map(ToString::to_string).collect();
    match new.split_once("\n---\n") {
        Some((header, content)) if !places.is_empty() => {
            format!("{header}\n{KEY}{}\n---\n{content}", places.join(" "))
        }
        _ => new.to_owned(),
    }
}

/// Whether what was found differs from a snapshot where that was accepted the last time.
pub(super) fn is_repeated(snapshot: &str, expected: &str, found: &str) -> bool {
    let header = snapshot.split_once("\n---\n").map_or("", |(header, _)| header);
    let Some(accepted) = header.lines().find_map(|line| line.strip_prefix(KEY)) else { return false };
    let accepted: Vec<usize> = accepted.split(' ').filter_map(|number| number.parse().ok()).collect();
    places(content(expected), content(found), |line| line.old).iter().any(|place| accepted.contains(place))
}

fn content(snapshot: &str) -> &str {
    snapshot.split_once("\n---\n").map_or(snapshot, |(_, content)| content)
}

/// The lines of one side at which the two differ; what only the other side has counts for the line that it stands before.
fn places(old: &str, new: &str, number: fn(&DiffLine) -> Option<usize>) -> Vec<usize> {
    let mut places = Vec::new();
    for hunk in hunks(old, new, AROUND) {
        let mut at = hunk.iter().find_map(number).unwrap_or(1);
        let mut is_replaced = false;
        for line in &hunk {
            let own = number(line);
            at = own.unwrap_or(at);
            // What comes instead of lines of this side stands where they do.
            if line.tag != Tag::Same && !(own.is_none() && is_replaced) && places.last() != Some(&at) {
                places.push(at);
            }
            is_replaced = line.tag != Tag::Same && (own.is_some() || is_replaced);
            at += usize::from(own.is_some());
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(lines: &str) -> String {
        format!("---\nsource: clawgate\ninfo:\n  case: a\n---\n{lines}")
    }

    #[test]
    fn the_same_place_twice_is_repeated_and_another_is_not() {
        let [first, second, third] = ["a\nb 1\nc\n", "a\nb 2\nc\n", "a\nb 3\nc\n"].map(snapshot);
        assert!(!is_repeated(&first, &first, &second), "nobody accepted anything yet");
        let accepted = remember(&second, Some(&first));
        assert!(accepted.contains("\n  accepted: 2\n---\n"), "{accepted}");
        assert!(is_repeated(&accepted, &second, &third));
        for elsewhere in ["a\nb 2\nC\n", "A\nb 2\nc\n"] {
            assert!(!is_repeated(&accepted, &second, &snapshot(elsewhere)), "{elsewhere}");
        }
        assert_eq!(remember(&first, None), first);
    }

    #[test]
    fn a_line_that_comes_and_goes_is_repeated() {
        let [with, without] = ["a\nb\nc\n", "a\nc\n"].map(snapshot);
        let accepted = remember(&without, Some(&with));
        assert!(is_repeated(&accepted, &without, &with), "{accepted}");
        let accepted = remember(&with, Some(&without));
        assert!(is_repeated(&accepted, &with, &without), "{accepted}");
    }
}
