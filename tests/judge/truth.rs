//! The gate knows the truth: what a program prints and sends is held against what it was asked and served.
//!
//! Real recordings are changed so that every line is well formed and something in it is no longer true; the default gate
//! has to notice. What means nothing (the order of members, white space, escapes, fields that nobody knows) is changed
//! as well, and must stay unnoticed.

mod benign;
mod naive;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clawgate::internals::schema::{Harm, Sample};
use clawgate::judge::{self, Contracts, Options};
use clawgate::recording::Recording;
use clawgate::schema::Level;

use crate::command::ROOT;

/// The least part of the changes that has to be noticed, over all and in each family.
const LEAST: f64 = 0.95;

/// The same of changes to any value whatever, of which some are the program's own affair.
const LEAST_OF_ANY: f64 = 0.85;

/// At most so many changes to one place of one recording: they are spread over the ways in which it can be wrong. A plain
/// text has one place only, and gets them all.
const EACH: usize = 2;

/// So many changes to any values of one recording, to what is printed and to what was sent.
const SOME: usize = 16;

/// What the gate says: the class of the verdict, and the must clauses that are broken.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    class: String,
    broken: Vec<String>,
}

fn said(sample: &Sample, contracts: &Contracts) -> Said {
    let recording = sample.recording("claude", "truth");
    let judgement = judge::recording(&recording, contracts, &Options::default()).unwrap();
    let broken = judgement.findings.iter().filter(|finding| finding.level == Level::Must);
    let broken = broken.map(|finding| format!("{}: {}", finding.clause, finding.message)).collect();
    let class = judgement.verdict.map_or_else(String::new, |verdict| verdict.class.name().to_string());
    Said { class, broken }
}

/// Whether the default gate notices: another verdict that fails, or a clause that the good run keeps.
fn notices(good: &Said, changed: &Said) -> bool {
    let fails_otherwise = changed.class != good.class && changed.class != "ok";
    fails_otherwise || changed.broken.iter().any(|broken| !good.broken.contains(broken))
}

/// Names a directory with other recordings that are to be changed, such as the `--out` of `run --keep bodies`: what is
/// noticed there is a better forecast, because no clause was written with them at hand.
const ELSEWHERE: &str = "CLAWGATE_TRUTH_RECORDINGS";

/// Recordings with more output than this are not worth their time.
const LARGEST: usize = 300_000;

/// The recordings that are changed, by name.
fn bases() -> BTreeMap<String, Sample> {
    let elsewhere = std::env::var_os(ELSEWHERE).map(PathBuf::from);
    let mut places =
        vec![elsewhere.clone().unwrap_or_else(|| Path::new(ROOT).join("tests/corpus/claude-2.1.325-served"))];
    let mut bases = BTreeMap::new();
    while let Some(place) = places.pop() {
        if place.join("recording.json").exists() {
            let base = Sample::of_recording(&Recording::open(&place).unwrap()).unwrap();
            bases.insert(place.to_string_lossy().into_owned(), base);
        } else {
            let inner = std::fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().path());
            places.extend(inner.filter(|path| path.is_dir()));
        }
    }
    if elsewhere.is_some() {
        // Some cases put broken output to the test.
        let contracts = Contracts::built_in();
        let is_sound = |base: &Sample| said(base, &contracts).broken.is_empty();
        bases.retain(|_, base| base.stdout.len() < LARGEST && is_sound(base));
    }
    bases
}

/// Which output a recording has; requests are a family of their own.
fn family(base: &Sample, in_request: bool) -> &'static str {
    let is = |word: &str| base.argv.iter().flatten().any(|argument| argument == word);
    match () {
        () if in_request => "requests",
        () if is("stream-json") => "stream",
        () if is("json") => "json",
        () => "text",
    }
}

/// Changes of a run, at most [`EACH`] to a place: as far apart in the list of ways as they can be.
fn harms(base: &Sample) -> Vec<Harm> {
    let mut by_place: BTreeMap<String, Vec<Harm>> = BTreeMap::new();
    for harm in Harm::all(base) {
        by_place.entry(harm.place.clone()).or_default().push(harm);
    }
    let spread = |(number, harms): (usize, Vec<Harm>)| {
        let is_text = harms.first().is_some_and(|harm| harm.place == "text");
        let step = if is_text { 1 } else { harms.len().div_ceil(EACH).max(1) };
        // Another place begins elsewhere in the list, so that all ways come up.
        harms.into_iter().skip(number % step).step_by(step).collect::<Vec<_>>()
    };
    by_place.into_values().enumerate().flat_map(spread).collect()
}

/// How many changes were noticed, by family, and which were not.
#[derive(Default)]
struct Tally {
    noticed: BTreeMap<&'static str, (usize, usize)>,
    survivors: Vec<String>,
}

impl Tally {
    fn add(&mut self, family: &'static str, is_noticed: bool, what: impl FnOnce() -> String) {
        for family in [family, "all"] {
            let (noticed, all) = self.noticed.entry(family).or_default();
            *all += 1;
            *noticed += usize::from(is_noticed);
        }
        if !is_noticed {
            self.survivors.push(format!("{family}: {}", what()));
        }
    }

    /// What was not noticed, and how much was.
    fn told(&self) -> String {
        let part = |(noticed, all): &(usize, usize)| 100.0 * *noticed as f64 / *all as f64;
        let lines = self.noticed.iter().map(|(family, counts)| {
            format!("{family}: {} of {} changes noticed, {:.1} %", counts.0, counts.1, part(counts))
        });
        self.survivors.iter().cloned().chain(lines).collect::<Vec<_>>().join("\n")
    }

    /// Fails unless enough was changed, and enough of it noticed in every family.
    fn check(&self, least: f64) {
        assert!(self.noticed["all"].1 >= 300, "only {} changes", self.noticed["all"].1);
        for family in ["stream", "json", "text", "requests", "all"] {
            let (noticed, all) = self.noticed[family];
            let part = noticed as f64 / all as f64;
            assert!(part >= least, "{family}: {noticed} of {all} noticed\n{}", self.told());
        }
    }
}

#[test]
fn what_is_printed_and_sent_is_held_against_what_was_served_and_asked() {
    let contracts = Contracts::built_in();
    let mut tally = Tally::default();
    for (name, base) in bases() {
        let good = said(&base, &contracts);
        assert!(good.broken.is_empty(), "{name}: {good:?}");
        for harm in harms(&base) {
            let is_noticed = notices(&good, &said(&harm.sample, &contracts));
            let what = || format!("{name}: {}: {}", harm.place, harm.what);
            tally.add(family(&base, harm.in_request), is_noticed, what);
        }
    }
    println!("{}", tally.told());
    tally.check(LEAST);
}

#[test]
fn any_other_value_is_noticed() {
    let contracts = Contracts::built_in();
    let mut tally = Tally::default();
    let mut dice = naive::Dice::new(1);
    for (name, base) in bases() {
        let good = said(&base, &contracts);
        for change in naive::changes(&base, SOME, &mut dice) {
            let is_noticed = notices(&good, &said(&change.sample, &contracts));
            let what = || format!("{name}: {}: {}", change.place, change.what);
            tally.add(family(&base, change.in_request), is_noticed, what);
        }
    }
    println!("{}", tally.told());
    tally.check(LEAST_OF_ANY);
}

#[test]
fn what_means_nothing_stays_green() {
    let contracts = Contracts::built_in();
    let mut all = 0;
    for (name, base) in bases() {
        let good = said(&base, &contracts);
        for (what, sample) in benign::changes(&base) {
            all += 1;
            assert_eq!(said(&sample, &contracts), good, "{name}: {what}");
        }
    }
    assert!(all > 100, "only {all} changes");
}
