//! A range of a target's versions, as the user types it.

use super::TARGETS;
use crate::version;

/// Two versions that exist, whatever the target.
const EXAMPLE: &str = "such as claude@2.1.0..2.1.325";

/// `TARGET@A..B`; without `A` from the first version on, without `B` to the newest.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Span<'t> {
    pub(crate) target: &'t str,
    from: Option<&'t str>,
    to: Option<&'t str>,
}

impl<'t> Span<'t> {
    /// Reads it; the error says what to type instead.
    pub(crate) fn parse(typed: &'t str) -> Result<Self, String> {
        let Some((target, range)) = typed.split_once('@') else {
            let known = TARGETS.iter().any(|(name, _)| *name == typed);
            let target = if known { typed } else { "TARGET" };
            return Err(format!("{typed}: neither a directory of recordings nor {target}@A..B, {EXAMPLE}"));
        };
        let Some((from, to)) = range.split_once("..") else {
            return Err(if version::is_whole(range) {
                format!(
                    "{typed}: one version has nothing to be compared with; {typed}.. goes on to the newest, \
                     {target}@..{range} begins with the first"
                )
            } else {
                format!("{typed}: expected a range of versions, {target}@A..B, {EXAMPLE}")
            });
        };
        let end = |end: &'t str| match end {
            "" => Ok(None),
            end if version::is_whole(end) => Ok(Some(end)),
            end => Err(format!("{typed}: `{end}` is no whole version; a range is {target}@A..B, {EXAMPLE}")),
        };
        let (from, to) = (end(from)?, end(to)?);
        if let (Some(from), Some(to)) = (from, to) {
            match version::compare(from, to) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => {
                    return Err(format!(
                        "{typed}: one version has nothing to be compared with; {target}@{from}.. goes on to the newest"
                    ));
                }
                std::cmp::Ordering::Greater => {
                    return Err(format!("{typed}: the older version comes first: {target}@{to}..{from}"));
                }
            }
        }
        Ok(Self { target, from, to })
    }

    /// What the user should know of the versions inside: which ends of the range were never published.
    pub(crate) fn unpublished_ends(&self, inside: &[String]) -> Vec<String> {
        let ends = [(self.from, inside.first()), (self.to, inside.last())];
        let told = ends.into_iter().filter_map(|(end, version)| {
            let (end, version) = (end?, version?);
            (end != version).then(|| {
                let target = self.target;
                format!("{target}@{end} was never published; the nearest in the range is {version}")
            })
        });
        told.collect()
    }

    /// The versions that are inside, of which there are two at least.
    pub(crate) fn among(&self, published: &[String]) -> Result<Vec<String>, String> {
        let is_inside = |version: &&String| {
            self.from.is_none_or(|from| version::compare(version, from).is_ge())
                && self.to.is_none_or(|to| version::compare(version, to).is_le())
        };
        let inside: Vec<String> = published.iter().filter(is_inside).cloned().collect();
        if inside.len() > 1 {
            return Ok(inside);
        }
        let has = match inside.first() {
            Some(only) => format!("only {only} was published in this range"),
            None => "no version was published in this range".to_owned(),
        };
        let (Some(first), Some(last)) = (published.first(), published.last()) else {
            return Err(format!("npm has no version of {}", self.target));
        };
        Err(format!("{has}; npm has {}@{first}..{last}", self.target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_may_be_open() {
        let span = |typed| Span::parse(typed).map(|span| (span.target, span.from, span.to)).unwrap();
        assert_eq!(span("claude@2.1.0..2.1.325"), ("claude", Some("2.1.0"), Some("2.1.325")));
        assert_eq!(span("claude@2.1.0.."), ("claude", Some("2.1.0"), None));
        assert_eq!(span("claude@..2.1.0"), ("claude", None, Some("2.1.0")));
    }

    #[test]
    fn what_is_no_range_says_what_to_type() {
        let complaint = |typed| Span::parse(typed).unwrap_err();
        for (typed, says) in [
            ("claude", "such as claude@2.1.0..2.1.325"),
            ("codex", "nor codex@A..B, such as claude@2.1.0..2.1.325"),
            ("codex@latest", "codex@A..B, such as claude@2.1.0..2.1.325"),
            ("./nowhere", "./nowhere: neither a directory"),
            ("claude@", "such as claude@2.1.0..2.1.325"),
            ("claude@latest", "such as claude@2.1.0..2.1.325"),
            ("claude@2.1.197", "claude@2.1.197.. goes on to the newest"),
            ("claude@2.1.197..2.1.197", "claude@2.1.197.. goes on to the newest"),
            ("claude@2.1.325..2.1.0", "claude@2.1.0..2.1.325"),
            ("claude@x..y", "`x` is no whole version"),
            ("claude@2.1.0...2.1.5", "`.2.1.5` is no whole version"),
            ("claude@2.1..2.2", "`2.1` is no whole version"),
        ] {
            assert!(complaint(typed).contains(says), "{typed}: {}", complaint(typed));
        }
    }

    #[test]
    fn a_range_holds_what_was_published() {
        let published: Vec<String> = ["1.0.0", "2.1.2", "2.1.10", "2.1.12"].map(str::to_owned).to_vec();
        let among = |typed| Span::parse(typed).unwrap().among(&published);
        assert_eq!(among("x@2.1.0..2.1.11").unwrap(), ["2.1.2", "2.1.10"]);
        assert_eq!(among("x@2.1.10..").unwrap(), ["2.1.10", "2.1.12"]);
        assert_eq!(
            among("x@9.0.0..9.9.9").unwrap_err(),
            "no version was published in this range; npm has x@1.0.0..2.1.12"
        );
        assert_eq!(
            among("x@2.1.11..3.0.0").unwrap_err(),
            "only 2.1.12 was published in this range; npm has x@1.0.0..2.1.12"
        );
    }
}
