//! The gate knows the truth: what a program prints and sends is held against what it was asked and served.
//!
//! Real recordings are changed so that every line is well formed and something in it is no longer true; the default gate
//! has to notice. What means nothing (the order of members, white space, escapes, fields that nobody knows) is changed
//! as well, and must stay unnoticed.

mod benign;
mod naive;

use std::collections::BTreeMap;
use std::path::Path;

use clawgate::internals::schema::{Harm, Sample};
use clawgate::judge::{self, Contracts, Options};
use clawgate::recording::Recording;
use clawgate::schema::Level;

use crate::command::ROOT;

/// The least part of the changes that has to be noticed, over all and in each family.
const LEAST: f64 = 0.95;

/// At most so many changes to one place of one recording: they are spread over the ways in which it can be wrong. A plain
/// text has one place only, and gets them all.
const EACH: usize = 2;

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

/// The recordings that are changed, by name.
fn bases() -> BTreeMap<String, Sample> {
    let place = Path::new(ROOT).join("tests/corpus/claude-2.1.325-served");
    std::fs::read_dir(place)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let recording = Recording::open(&entry.path()).unwrap();
            (entry.file_name().into_string().unwrap(), Sample::of_recording(&recording).unwrap())
        })
        .collect()
}

/// Which output a recording has; requests are a family of their own.
fn family(base: &Sample, harm: &Harm) -> &'static str {
    let is = |word: &str| base.argv.iter().flatten().any(|argument| argument == word);
    match () {
        () if harm.in_request => "requests",
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

#[test]
fn what_is_printed_and_sent_is_held_against_what_was_served_and_asked() {
    let contracts = Contracts::built_in();
    let mut tally: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut survivors = Vec::new();
    for (name, base) in bases() {
        let good = said(&base, &contracts);
        assert!(good.broken.is_empty(), "{name}: {good:?}");
        for harm in harms(&base) {
            let family = family(&base, &harm);
            let (noticed, all) = tally.entry(family).or_default();
            *all += 1;
            if notices(&good, &said(&harm.sample, &contracts)) {
                *noticed += 1;
            } else {
                survivors.push(format!("{family}: {name}: {}: {}", harm.place, harm.what));
            }
        }
    }
    let sum = tally.values().fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    tally.insert("all", sum);
    for (family, (noticed, all)) in &tally {
        println!(
            "{family}: {noticed} of {all} changes noticed, {:.1} %",
            100.0 * *noticed as f64 / *all as f64
        );
    }
    println!("{}", survivors.join("\n"));
    assert!(sum.1 >= 300, "only {} changes", sum.1);
    for family in ["stream", "json", "text", "requests", "all"] {
        let (noticed, all) = tally[family];
        let part = noticed as f64 / all as f64;
        assert!(part >= LEAST, "{family}: {noticed} of {all} noticed; not:\n{}", survivors.join("\n"));
    }
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

#[test]
#[ignore = "a tool: changes the recordings below the directory that TRUTH_RECORDINGS names, and lists what is not noticed"]
fn survey() {
    let contracts = Contracts::built_in();
    let root = std::env::var("TRUTH_RECORDINGS").unwrap();
    let only = std::env::var("TRUTH_HAND").unwrap_or_default();
    let mut tally: BTreeMap<(String, String), (usize, usize)> = BTreeMap::new();
    let mut places: BTreeMap<(String, String), (usize, usize, String)> = BTreeMap::new();
    let mut stack = vec![std::path::PathBuf::from(root)];
    let mut dice = naive::Dice::new(7);
    while let Some(place) = stack.pop() {
        if !place.join("recording.json").exists() {
            stack.extend(
                std::fs::read_dir(&place)
                    .unwrap()
                    .flatten()
                    .map(|entry| entry.path())
                    .filter(|path| path.is_dir()),
            );
            continue;
        }
        let name = place.to_string_lossy().into_owned();
        let Ok(base) = Recording::open(&place)
            .map_err(|e| e.to_string())
            .and_then(|r| Sample::of_recording(&r).map_err(|e| format!("{e:?}")))
        else {
            eprintln!("no {name}");
            continue;
        };
        if base.stdout.len() > 300_000
            || base.recorded.get("requests").is_some_and(|r| r.to_string().len() > 3_000_000)
        {
            continue;
        }
        let good = said(&base, &contracts);
        let mut all = Vec::new();
        if only != "naive" {
            all.extend(harms(&base).into_iter().map(|harm| {
                (
                    "harm",
                    naive::Change {
                        place: harm.place,
                        what: harm.what,
                        in_request: harm.in_request,
                        sample: harm.sample,
                    },
                )
            }));
        }
        if only != "harm" {
            all.extend(naive::changes(&base, &mut dice).into_iter().map(|change| ("naive", change)));
        }
        for (hand, change) in all {
            let is = |word: &str| base.argv.iter().flatten().any(|argument| argument == word);
            let family = match () {
                () if change.in_request => "requests",
                () if is("stream-json") => "stream",
                () if is("json") => "json",
                () => "text",
            };
            let seen = notices(&good, &said(&change.sample, &contracts));
            let (noticed, all) = tally.entry((hand.to_string(), family.to_string())).or_default();
            *all += 1;
            *noticed += usize::from(seen);
            let entry = places.entry((format!("{hand} {family}"), change.place.clone())).or_default();
            entry.1 += 1;
            if !seen {
                entry.0 += 1;
                entry.2 = format!("{name}: {}", change.what);
                if std::env::var("TRUTH_ALL").is_ok() {
                    println!("SURVIVOR\t{hand}\t{family}\t{}\t{name}\t{}", change.place, change.what);
                }
            }
        }
    }
    let mut lost: Vec<_> = places.into_iter().filter(|(_, (lost, ..))| *lost > 0).collect();
    lost.sort_by_key(|(_, (lost, ..))| std::cmp::Reverse(*lost));
    for ((hand, place), (lost, all, example)) in lost {
        println!("{lost}/{all}\t{hand}\t{place}\t{example}");
    }
    for ((hand, family), (noticed, all)) in tally {
        println!("{hand} {family}: {noticed} of {all}, {:.1} %", 100.0 * noticed as f64 / all as f64);
    }
}
