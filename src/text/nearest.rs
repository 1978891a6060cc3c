/// The known word that a person most probably meant: up to a third of its letters may be wrong, and one in any case.
/// Of equally near ones the first.
pub(crate) fn nearest<'w>(typed: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    nearest_within((typed.chars().count() / 3).max(1), typed, known)
}

/// The nearest of the known words with at most so many letters wrong.
pub(crate) fn nearest_within<'w>(
    limit: usize,
    typed: &str,
    known: impl IntoIterator<Item = &'w str>,
) -> Option<&'w str> {
    let typed: Vec<char> = typed.chars().collect();
    let known = known.into_iter().filter_map(|word| Some((edits(&typed, word, limit)?, word)));
    known.min_by_key(|(edits, _)| *edits).map(|(_, word)| word)
}

/// What to say after "unknown …": `, did you mean …?` when a known word is near, else all of them.
#[cfg(any(feature = "contracts", test))]
pub(crate) fn did_you_mean(typed: &str, known: &[&str]) -> String {
    match (nearest(typed, known.iter().copied()), known) {
        (Some(word), _) => format!(", did you mean `{word}`?"),
        (None, []) => String::new(),
        (None, _) => format!(", expected one of: {}", known.join(", ")),
    }
}

/// How many letters to add, drop, change or swap with their neighbour to get from `a` to `b`; none beyond the limit.
fn edits(a: &[char], b: &str, limit: usize) -> Option<usize> {
    // Every letter more is an edit, so hostile lengths are not even looked at.
    let b: Vec<char> = b.chars().take(a.len() + limit + 1).collect();
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let mut before = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = change.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.pop().filter(|edits| *edits <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_found_and_not_the_first_near_one() {
        assert_eq!(nearest("txet", ["test", "text"]), Some("text"), "a swap is one slip");
        assert_eq!(nearest("stlal", ["slow", "stall", "rst"]), Some("stall"));
        assert_eq!(nearest("zzzzz", ["slow", "stall"]), None);
        assert_eq!(nearest("levle", ["label", "level"]), Some("level"));
        assert_eq!(nearest("id", ["to", "if"]), Some("if"), "a short word may have one letter wrong");
        assert_eq!(nearest("id", ["to"]), None);
        assert_eq!(nearest_within(2, "heartbeats", ["heartbeta", "heartbeat"]), Some("heartbeat"));
        assert_eq!(nearest("résmué", ["résumé"]), Some("résumé"));
    }

    #[test]
    fn hostile_lengths_are_cheap() {
        let long = "x".repeat(10_000_000);
        assert_eq!(nearest(&long, ["x", "text"]), None);
        assert_eq!(nearest("text", [long.as_str()]), None);
    }

    #[test]
    fn without_a_near_word_all_are_named() {
        assert_eq!(did_you_mean("levle", &["level"]), ", did you mean `level`?");
        assert_eq!(did_you_mean("x", &["level", "id"]), ", expected one of: level, id");
        assert_eq!(did_you_mean("x", &[]), "");
    }
}
