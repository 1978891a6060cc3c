//! Where a snapshot differed from the one before when somebody accepted it, as a line of its header:
//!
//! ```text
//! accepted: 12 40
//! ```
//!
//! A run that differs in the same place again, though nobody changed the target, has something there that differs from run
//! to run, and accepting it once more does not help. The lines are numbered as they are without this one.

use std::io::{self, Write};

use super::lines::LineReader;

const KEY: &str = "  accepted: ";
/// No header of ours has more lines.
const MOST_HEADER: usize = 40;

/// Copies a snapshot, with the places where it differs from the one that it replaces.
pub(super) fn copy(from: impl io::Read, to: &mut impl Write, places: &[usize]) -> io::Result<()> {
    let mut lines = LineReader::new(from);
    let mut rules = 0;
    while let Some(line) = lines.next()? {
        rules += usize::from(rules < 2 && line == "---");
        if rules < 2 && line.starts_with(KEY) {
            continue;
        }
        if rules == 2 && !places.is_empty() {
            let places: Vec<String> = places.iter().map(ToString::to_string).collect();
            writeln!(to, "{KEY}{}", places.join(" "))?;
        }
        // Only before the second rule.
        rules += usize::from(rules == 2);
        writeln!(to, "{line}")?;
    }
    Ok(())
}

/// The places that the header of a snapshot names.
pub(super) fn of(snapshot: impl io::Read) -> io::Result<Vec<usize>> {
    let mut lines = LineReader::new(snapshot);
    for _ in 0..MOST_HEADER {
        let Some(line) = lines.next()? else { break };
        if let Some(places) = line.strip_prefix(KEY) {
            return Ok(places.split(' ').filter_map(|number| number.parse().ok()).collect());
        }
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_of_the_last_decision_stand_in_the_header() {
        let snapshot = "---\nsource: clawgate\ninfo:\n  case: a\n---\n== exit\n---\n== end\n";
        let copied = |text: &str, places: &[usize]| {
            let mut out = Vec::new();
            copy(text.as_bytes(), &mut out, places).unwrap();
            String::from_utf8(out).unwrap()
        };
        let with = copied(snapshot, &[7, 12]);
        assert_eq!(with, snapshot.replacen("a\n---", "a\n  accepted: 7 12\n---", 1));
        assert_eq!((of(with.as_bytes()).unwrap(), of(snapshot.as_bytes()).unwrap()), (vec![7, 12], vec![]));
        assert_eq!(copied(&with, &[]), snapshot);
    }
}
