//! Versions of targets and ranges of them: `>=2.1.100, <2.1.248`.

use std::cmp::Ordering;

/// A range of versions: all of its bounds must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VersionRange {
    text: String,
    bounds: Vec<(Bound, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    AtLeast,
    Above,
    AtMost,
    Below,
    Exactly,
}

impl VersionRange {
    /// Reads a range; the error says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut bounds = Vec::new();
        for part in text.split(',').map(str::trim) {
            let operators = [
                (">=", Bound::AtLeast),
                ("<=", Bound::AtMost),
                (">", Bound::Above),
                ("<", Bound::Below),
                ("=", Bound::Exactly),
            ];
            let found =
                operators.iter().find_map(|(sign, bound)| Some((*bound, part.strip_prefix(sign)?.trim())));
            let (bound, version) = found.unwrap_or((Bound::Exactly, part));
            if version.is_empty() || (bound != Bound::Exactly && numbers(version).is_none()) {
                return Err(format!("`{part}` is no version bound such as `>=2.1.100`"));
            }
            bounds.push((bound, version.to_string()));
        }
        Ok(Self { text: text.to_string(), bounds })
    }

    /// Whether a version is inside. An unknown one, and one that is no dotted number, counts as the newest, so that
    /// nothing is promised less for it; the latter also meets itself.
    pub(crate) fn holds(&self, version: Option<&str>) -> bool {
        self.bounds.iter().all(|(bound, limit)| {
            let known = version.and_then(numbers).zip(numbers(limit));
            let Some((version, limit)) = known else {
                return match bound {
                    Bound::AtLeast | Bound::Above => true,
                    Bound::Exactly => version == Some(limit),
                    Bound::AtMost | Bound::Below => false,
                };
            };
            let order = compare_numbers(&version, &limit);
            match bound {
                Bound::AtLeast => order != Ordering::Less,
                Bound::Above => order == Ordering::Greater,
                Bound::AtMost => order != Ordering::Greater,
                Bound::Below => order == Ordering::Less,
                Bound::Exactly => order == Ordering::Equal,
            }
        })
    }

    /// The range as it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// Orders versions by their numbers; what is no dotted number comes first, by its letters.
#[cfg(feature = "testing")]
pub(crate) fn compare(a: &str, b: &str) -> Ordering {
    match (numbers(a), numbers(b)) {
        (Some(a), Some(b)) => compare_numbers(&a, &b),
        (a_numbers, b_numbers) => a_numbers.is_some().cmp(&b_numbers.is_some()).then_with(|| a.cmp(b)),
    }
}

fn numbers(version: &str) -> Option<Vec<u64>> {
    let core = version.trim_start_matches('v');
    let core = core.split(['-', '+', ' ']).next().unwrap_or(core);
    core.split('.').map(|part| part.parse().ok()).collect()
}

fn compare_numbers(a: &[u64], b: &[u64]) -> Ordering {
    let at = |list: &[u64], index| list.get(index).copied().unwrap_or(0);
    (0..a.len().max(b.len()))
        .map(|i| at(a, i).cmp(&at(b, i)))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// Whether a text is a version as npm has them: three numbers, and perhaps more after a hyphen.
#[cfg(feature = "testing")]
pub(crate) fn is_whole(text: &str) -> bool {
    let (core, rest) = text.split_once('-').map_or((text, None), |(core, rest)| (core, Some(rest)));
    let is_number =
        |part: &str| !part.is_empty() && part.len() < 10 && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_rest = |rest: &str| {
        !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
    };
    core.split('.').count() == 3 && core.split('.').all(is_number) && rest.is_none_or(is_rest)
}

/// The first version in what a program says of itself.
#[cfg(feature = "testing")]
pub(crate) fn find(text: &str) -> Option<String> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-')))
        .map(|word| word.trim_start_matches('v').trim_end_matches('.'))
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_by_number_not_by_letter() {
        let range = VersionRange::parse(">=2.1.100, <2.1.248").unwrap();
        for (version, inside) in
            [("2.1.99", false), ("2.1.100", true), ("2.1.247", true), ("2.1.248", false), ("2.2", false)]
        {
            assert_eq!(range.holds(Some(version)), inside, "{version}");
        }
        assert!(!range.holds(None), "the newest is past the end");
        assert!(VersionRange::parse(">=2.1.0").unwrap().holds(None));
        assert!(VersionRange::parse("rust-head").unwrap().holds(Some("rust-head")));
        assert!(
            VersionRange::parse(">=1.0").unwrap().holds(Some("rust-head")),
            "as of any that is not known"
        );
        assert!(!VersionRange::parse("<1.0").unwrap().holds(Some("rust-head")));
        assert!(!VersionRange::parse("rust-head").unwrap().holds(Some("2.1.0")));
        assert!(VersionRange::parse(">=new").is_err());
    }

    #[test]
    fn a_version_is_three_numbers() {
        for version in ["2.1.197", "0.2.9", "1.0.0-beta.1"] {
            assert!(is_whole(version), "{version}");
        }
        for other in [
            "",
            "2",
            "2.1",
            "2.1.x",
            "2.1.197.1",
            "2..1",
            "latest",
            "2.1.0-",
            "2.1.0-a b",
            "../2.1.0",
            "v2.1.0",
        ] {
            assert!(!is_whole(other), "{other}");
        }
    }

    #[test]
    fn a_version_is_the_first_dotted_number() {
        assert_eq!(find("2.1.197 (Claude Code)\n").as_deref(), Some("2.1.197"));
        assert_eq!(find("claw v0.1.3\n").as_deref(), Some("0.1.3"));
        assert_eq!(find("GitHub Copilot CLI 1.0.102.\n").as_deref(), Some("1.0.102"));
        assert_eq!(find("no version"), None);
    }
}
