//! A run in parts: which case belongs to which, and what the whole is called.

use std::str::FromStr;
use std::time::Duration;

use hmac_sha256::Hash as Sha256;

use super::event::PlanInfo;
use super::memory::LastRun;
use super::plan::{Planned, targets_of};
use crate::text::hex;

/// One part of several: `2/5`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shard {
    number: u64,
    of: u64,
}

/// More parts than anybody has machines.
const MOST: u64 = 10_000;

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        parts
            .and_then(|(number, of)| Self::new(number, of))
            .ok_or_else(|| "expected K/N with K from 1 to N, such as 2/5".into())
    }
}

impl Shard {
    pub(crate) const WHOLE: Self = Self { number: 1, of: 1 };

    /// Part `number` of `of`, if there is such a part.
    pub(crate) fn new(number: u64, of: u64) -> Option<Self> {
        (number >= 1 && number <= of && of <= MOST).then_some(Self { number, of })
    }

    /// The part that a CI system or a cluster has given to this machine, by what it puts into the environment:
    /// `CLAWGATE_SHARD` as `K/N`, GitLab's `CI_NODE_INDEX` and `CI_NODE_TOTAL`, GitHub's matrix through
    /// `strategy.job-index` and `strategy.job-total`, Kubernetes' `JOB_COMPLETION_INDEX` with `JOB_COMPLETIONS`.
    ///
    /// None when nothing is said; an error when it is said and makes no sense, since guessing would leave cases out.
    pub(crate) fn from_environment(env: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, String> {
        if let Some(text) = env("CLAWGATE_SHARD").filter(|text| !text.is_empty()) {
            return text.parse().map(Some).map_err(|reason| format!("CLAWGATE_SHARD is `{text}`: {reason}"));
        }
        // Index, total, and what the first index is called.
        let systems = [
            ("CI_NODE_INDEX", "CI_NODE_TOTAL", 1),
            ("CLAWGATE_JOB_INDEX", "CLAWGATE_JOB_TOTAL", 0),
            ("JOB_COMPLETION_INDEX", "JOB_COMPLETIONS", 0),
        ];
        for (index, total, first) in systems {
            let (Some(k), Some(n)) = (env(index), env(total)) else { continue };
            let number = |name: &str, text: &str| {
                text.trim().parse::<u64>().map_err(|_| format!("{name} is `{text}`, expected a number"))
            };
            let (k, n) = (number(index, &k)?, number(total, &n)?);
            let shard = k.checked_add(1).and_then(|k| Self::new(k.checked_sub(first)?, n));
            return shard.map(Some).ok_or_else(|| {
                format!(
                    "{index} is {k} and {total} is {n}: there is no such part; --shard K/N overrides them"
                )
            });
        }
        Ok(None)
    }
}

/// Keeps the cases of one part, and says of which whole.
///
/// With recorded durations the parts take about equally long: the longest case first, each to the part that has least
/// to do. Without them a case always belongs to the same part, whatever else there is.
pub(crate) fn cut(
    planned: Vec<Planned>,
    shard: Shard,
    durations: Option<&LastRun>,
) -> (Vec<Planned>, PlanInfo) {
    let id = identity(&planned, shard, durations);
    let targets = targets_of(&planned);
    let info = PlanInfo { id, cases: planned.len(), shard: shard.number, of: shard.of, targets };
    let part_of = match durations {
        Some(last) => balanced(&planned, shard.of, last),
        None => planned.iter().map(|case| hashed(case) % shard.of).collect(),
    };
    let kept = planned.into_iter().zip(part_of).filter(|(_, part)| *part == shard.number - 1);
    (kept.map(|(case, _)| case).collect(), info)
}

/// The part of each case, from 0.
fn balanced(planned: &[Planned], of: u64, last: &LastRun) -> Vec<u64> {
    let known: Vec<Option<Duration>> = planned.iter().map(|case| last.duration(&case.key())).collect();
    let mut sorted: Vec<Duration> = known.iter().flatten().copied().collect();
    sorted.sort();
    // A case that nobody has timed is taken for an ordinary one.
    let usual = sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(Duration::from_millis(1));
    let cost = |index: usize| known[index].unwrap_or(usual).max(Duration::from_millis(1));
    let mut order: Vec<usize> = (0..planned.len()).collect();
    order.sort_by_key(|index| {
        (std::cmp::Reverse(cost(*index)), planned[*index].key(), planned[*index].repetition)
    });
    let mut loads = vec![Duration::ZERO; of as usize];
    let mut parts = vec![0; planned.len()];
    for index in order {
        let least = loads.iter().enumerate().min_by_key(|(_, load)| **load).map_or(0, |(part, _)| part);
        loads[least] += cost(index);
        parts[index] = least as u64;
    }
    parts
}

/// FNV-1a: the hash of the standard library may change between versions.
fn hashed(planned: &Planned) -> u64 {
    let (target, case) = planned.key();
    target
        .bytes()
        .chain([0])
        .chain(case.bytes())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A digest of everything that the parts have to agree on.
fn identity(planned: &[Planned], shard: Shard, durations: Option<&LastRun>) -> String {
    let mut digest = Sha256::new();
    digest.update(format!("{}\0{}\0", env!("CARGO_PKG_VERSION"), shard.of));
    let mut lines: Vec<String> = planned
        .iter()
        .map(|case| {
            let (target, name) = case.key();
            let version = case.target.version_for(&case.speaks);
            let took =
                durations.and_then(|last| last.duration(&case.key())).map_or(0, |took| took.as_micros());
            format!("{target}\0{version}\0{name}\0{}\0{took}\0{:?}\n", case.repetition, case.expect)
        })
        .collect();
    lines.sort();
    for line in &lines {
        digest.update(line);
    }
    hex(&digest.finalize()[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Result<Option<Shard>, String> {
        Shard::from_environment(|name| {
            pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_shard_is_a_part() {
        assert!("0/2".parse::<Shard>().is_err() && "3/2".parse::<Shard>().is_err());
        assert_eq!("2/2".parse::<Shard>().unwrap(), Shard { number: 2, of: 2 });
    }

    #[test]
    fn ci_systems_and_clusters_say_which_part() {
        assert_eq!(environment(&[]), Ok(None));
        let second_of_three = Ok(Shard::new(2, 3));
        assert_eq!(environment(&[("CI_NODE_INDEX", "2"), ("CI_NODE_TOTAL", "3")]), second_of_three);
        assert_eq!(environment(&[("CLAWGATE_JOB_INDEX", "1"), ("CLAWGATE_JOB_TOTAL", "3")]), second_of_three);
        assert_eq!(environment(&[("JOB_COMPLETION_INDEX", "1"), ("JOB_COMPLETIONS", "3")]), second_of_three);
        assert_eq!(environment(&[("CLAWGATE_SHARD", "2/3"), ("CI_NODE_INDEX", "9")]), second_of_three);
        // Half of the answer is none: somebody else's variable.
        assert_eq!(environment(&[("JOB_COMPLETION_INDEX", "1")]), Ok(None));
        assert!(
            environment(&[("CI_NODE_INDEX", "4"), ("CI_NODE_TOTAL", "3")]).unwrap_err().contains("no such")
        );
        assert!(environment(&[("CI_NODE_INDEX", "x"), ("CI_NODE_TOTAL", "3")]).is_err());
        assert!(environment(&[("CLAWGATE_SHARD", "4")]).is_err());
    }
}
