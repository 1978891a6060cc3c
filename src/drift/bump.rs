//! The version bump that a versioning policy asks for, and whether it was made.
//!
//! "Breaking changes bump `schema_version` to 2.0; additive changes stay at 1.0; readers check it before they rely on
//! fields." So what changes inside of messages that carry the right bump is announced: a reader that does as it is told has
//! noticed before it reads on. What a reader meets before it can read a version (the exit code, the stream, the form of
//! the output) no bump announces, and a bump that announces nothing breaks readers for nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::change::Change;
use super::side::Side;
use crate::schema::policy::{Effect, Kind, Policy};

/// The bump that the policy of a contract asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Bump {
    pub contract: String,
    /// `major`, `minor` or `none`.
    pub asked: String,
    /// Where messages name their version, as a JSON pointer; none when the policy does not say.
    pub version_at: Option<String>,
    /// The version on the old side, if there is one and only one.
    pub old: Option<String>,
    /// The version on the new side, if there is one and only one.
    pub new: Option<String>,
    /// Whether every message that changed carries it.
    pub made: bool,
}

impl fmt::Display for Bump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { contract, asked, .. } = self;
        let field = self.version_at.as_deref().unwrap_or("the version");
        if asked == "none" {
            return write!(f, "{contract} asks for no bump of {field}");
        }
        write!(f, "{contract} asks for a {asked} bump of {field}")?;
        if self.version_at.is_none() {
            return Ok(());
        }
        let wanted = self.old.as_deref().and_then(|old| Version::parse(old)?.bumped(asked));
        match (&self.old, &self.new, wanted) {
            (Some(old), Some(new), _) if self.made => write!(f, ", and it was made: {old} became {new}"),
            (Some(old), Some(new), Some(wanted)) if old == new => {
                write!(f, " from {old} to {wanted}, but it is still {new}")
            }
            (Some(old), Some(new), Some(wanted)) => write!(f, " from {old} to {wanted}, but it became {new}"),
            _ if self.made => f.write_str(", and it was made"),
            _ => f.write_str(", which not every message carries"),
        }
    }
}

/// The first two numbers of a version.
struct Version(u64, u64);

impl Version {
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.').map(|number| number.parse().ok());
        let major = numbers.next()??;
        Some(Self(major, numbers.next().unwrap_or(Some(0))?))
    }

    /// The next version, as it is written.
    fn bumped(&self, level: &str) -> Option<String> {
        match level {
            "major" => Some(format!("{}.0", self.0.checked_add(1)?)),
            "minor" => Some(format!("{}.{}", self.0, self.1.checked_add(1)?)),
            _ => None,
        }
    }
}

/// Whether a version is far enough from an earlier one.
fn is_bumped(old: &str, new: &str, level: &str) -> bool {
    let (Some(old), Some(new)) = (Version::parse(old), Version::parse(new)) else { return false };
    match level {
        "major" => new.0 > old.0,
        "minor" => (new.0, new.1) > (old.0, old.1),
        _ => false,
    }
}

/// Whether a change is one that a version inside of the message can announce.
fn can_be_announced(kind: Kind) -> bool {
    use Kind as K;
    matches!(
        kind,
        K::MessageRemoved
            | K::FieldRemoved
            | K::FieldRetyped
            | K::FieldOptional
            | K::FieldNull
            | K::EnumValueAdded
            | K::EnumValueRemoved
            | K::ElementRemoved
            | K::ValueChanged
            | K::TextChanged
    )
}

/// What the cases of each contract say about versions.
#[derive(Debug, Default)]
pub(super) struct Announcements {
    contracts: BTreeMap<String, Contract>,
}

#[derive(Debug, Default)]
struct Contract {
    version_at: Option<String>,
    breaking: Option<String>,
    additive: Option<String>,
    old: BTreeSet<String>,
    new: BTreeSet<String>,
    cases: BTreeSet<String>,
    /// Cases whose messages carry the bump of a breaking change.
    bumped: BTreeSet<String>,
}

impl Announcements {
    /// Looks at the versions of a case on both sides.
    pub(super) fn note(&mut self, case: &str, contract: &str, policy: &Policy, sides: [&Side; 2]) {
        let noted = self.contracts.entry(contract.to_owned()).or_insert_with(|| Contract {
            version_at: policy.version_at.clone(),
            breaking: policy.breaking.clone(),
            additive: policy.additive.clone(),
            ..Contract::default()
        });
        noted.cases.insert(case.to_owned());
        let (Some(at), Some(level)) = (&policy.version_at, &policy.breaking) else { return };
        let [old, new] = sides.map(|side| side.versions(at));
        let told = |side: &BTreeSet<Option<String>>| side.iter().flatten().cloned().collect::<BTreeSet<_>>();
        noted.old.extend(told(&old));
        noted.new.extend(told(&new));
        let pairs =
            || old.iter().flat_map(|old| new.iter().map(move |new| old.as_deref().zip(new.as_deref())));
        let is_bump = |pair: Option<(&str, &str)>| pair.is_some_and(|(old, new)| is_bumped(old, new, level));
        if !old.is_empty() && !new.is_empty() && pairs().all(is_bump) {
            noted.bumped.insert(case.to_owned());
        }
    }

    /// Marks the changes that were announced, and names the bumps that were asked for.
    pub(super) fn apply(self, changes: &mut [Change]) -> Vec<Bump> {
        let mut bumps = Vec::new();
        for (contract, noted) in self.contracts {
            let is_version =
                |change: &Change| noted.version_at.is_some() && change.pointer == noted.version_at;
            let concerns = |change: &Change| change.cases.iter().any(|case| noted.cases.contains(case));
            let announces = |change: &Change| {
                change.effect == Effect::Breaking
                    && can_be_announced(change.kind)
                    && change.cases.iter().all(|case| noted.bumped.contains(case))
            };
            let worst = changes.iter().filter(|change| concerns(change) && !is_version(change));
            let worst = worst.map(|change| change.effect).filter(|effect| *effect != Effect::Info).min();
            let asked = match worst {
                Some(Effect::Breaking) => &noted.breaking,
                Some(Effect::Additive) => &noted.additive,
                _ => &None,
            };
            let Some(asked) = asked.clone() else { continue };
            let has_reason = changes.iter().any(|change| announces(change) && !is_version(change));
            for change in changes.iter_mut().filter(|change| has_reason && announces(change)) {
                change.announced = true;
            }
            let is_open =
                |change: &Change| concerns(change) && change.effect == Effect::Breaking && !change.announced;
            let only = |set: &BTreeSet<String>| set.first().filter(|_| set.len() == 1).cloned();
            bumps.push(Bump {
                made: asked != "none"
                    && has_reason
                    && !changes.iter().any(|change| can_be_announced(change.kind) && is_open(change)),
                contract,
                asked,
                version_at: noted.version_at.clone(),
                old: only(&noted.old),
                new: only(&noted.new),
            });
        }
        bumps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bump_is_told_by_its_numbers() {
        assert!(is_bumped("1.0", "2.0", "major") && is_bumped("1", "2.0.1", "major"));
        assert!(!is_bumped("1.0", "1.1", "major") && !is_bumped("2.0", "1.0", "major"));
        assert!(is_bumped("1.0", "1.1", "minor") && is_bumped("1.9", "2.0", "minor"));
        assert!(!is_bumped("1.0", "1.0", "minor") && !is_bumped("1.0", "next", "major"));
        assert!(!is_bumped("1.0", "2.0", "none"));
        assert_eq!(Version(u64::MAX, 0).bumped("major"), None);
    }
}
