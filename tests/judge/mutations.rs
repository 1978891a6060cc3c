//! Streams, envelopes, event logs, recordings and files of the user, harmed in every way: nothing panics, and what is
//! said of them is JSON.
//!
//! `cargo test --test judge mutations -- --include-ignored` takes the large number.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use clawgate::internals::config::Config;
use clawgate::internals::eval::spec::Spec;
use clawgate::internals::report::judgement_json;
use clawgate::internals::run::scenario::Scenario;
use clawgate::internals::user_files;
use clawgate::judge::{self, Contracts, Judgement, Options, Protocol};
use clawgate::recording::{Facts, Recording};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::command::ROOT;
use crate::tree::files_below;

/// A number after the other, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).unwrap()
    }
}

/// What no reader should fall over.
const ODD: [&str; 28] = [
    "\0",
    "\u{feff}",
    "\u{9b}31m",
    "\u{202e}",
    "\\ud800",
    "\\u0000",
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\n",
    "\r\n",
    "null",
    "-0",
    "1e999",
    "18446744073709551616",
    "-9223372036854775809",
    "0.1e-400",
    "\"\"",
    "= ",
    "'''",
    "\"\"\"",
    "[[x]]",
    "#",
    "sk-ant-api03-x",
];

/// The same bytes, harmed in one to four ways.
fn harmed(seed: &[u8], other: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(bytes.len() + 1);
        let length = numbers.below(64).min(bytes.len() - at);
        match numbers.below(10) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..at + length)),
            2 => {
                let again = bytes[at..at + length].to_vec();
                bytes.splice(at..at, again);
            }
            3 if at < bytes.len() => bytes[at] ^= 1 << numbers.below(8),
            4 if at < bytes.len() => bytes[at] = numbers.next().to_le_bytes()[0],
            5 => {
                let from = numbers.below(other.len() + 1);
                let part = other[from..(from + 200).min(other.len())].to_vec();
                bytes.splice(at..at, part);
            }
            6 => {
                let mut lines: Vec<Vec<u8>> =
                    bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
                let (one, two) = (numbers.below(lines.len()), numbers.below(lines.len()));
                if !lines.is_empty() {
                    lines.swap(one, two);
                }
                bytes = lines.concat();
            }
            7 => {
                let deep = b"[".repeat(numbers.below(400));
                bytes.splice(at..at, deep);
            }
            _ => {
                let odd = ODD[numbers.below(ODD.len())].bytes();
                bytes.splice(at..at + length.min(8), odd);
            }
        }
    }
    bytes
}

/// Files of the repository that end in one of these ways, not too large.
fn seeds(folder: &str, endings: &[&str]) -> Vec<Vec<u8>> {
    let folder = Path::new(ROOT).join(folder);
    let files =
        files_below(&folder).into_iter().filter(|file| endings.iter().any(|ending| file.ends_with(ending)));
    let texts = files.map(|file| fs::read(folder.join(file)).unwrap()).filter(|text| text.len() < 8 << 10);
    let texts: Vec<_> = texts.collect();
    assert!(!texts.is_empty(), "{}", folder.display());
    texts
}

/// What is made of harmed bytes.
type Use = fn(&[u8], &Path, &Contracts);

fn assert_json(judgement: &Judgement) {
    let text = judgement_json("x", judgement).unwrap();
    // Numbers may be larger than a value holds: the documented reader counts without an end.
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(&text).unwrap();
    assert!(members["findings"].get().starts_with('['));
}

fn judged(bytes: &[u8], contracts: &Contracts, protocols: &[Protocol]) {
    for protocol in protocols {
        let mut options = Options::with_exit_code(i32::from(bytes.len().is_multiple_of(2)));
        options.protocol = Some(*protocol);
        assert_json(&judge::output(bytes, contracts, &options).unwrap());
    }
}

/// Everything that is read, with what it is read by.
fn kinds() -> Vec<(&'static str, Vec<Vec<u8>>, Use)> {
    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }
    // A complaint is shown to people, so it has to be made, too.
    fn complained<T>(read: Result<T, impl std::fmt::Display>) {
        drop(read.map_err(|complaint| complaint.to_string()));
    }
    vec![
        ("streams", seeds("tests/corpus", &[".ndjson", "stdout"]), |bytes, _, contracts| {
            judged(bytes, contracts, &[Protocol::ClaudeStream]);
        }),
        ("envelopes", seeds("tests/corpus", &["stdout"]), |bytes, _, contracts| {
            judged(bytes, contracts, &[Protocol::ClaudeJson, Protocol::ClawJson, Protocol::ClawText]);
        }),
        ("logs", seeds("tests/corpus/claws-events", &[".jsonl", ".log"]), |bytes, _, contracts| {
            judged(bytes, contracts, &[Protocol::EventLog]);
        }),
        ("recordings", seeds("tests/corpus", &["recording.json"]), |bytes, folder, contracts| {
            fs::write(folder.join("recording.json"), bytes).unwrap();
            complained(Recording::open(folder));
            let Ok(facts) = Facts::parse(bytes).map_err(|complaint| complaint.to_string()) else { return };
            assert!(serde_json::from_str::<Value>(&facts.to_value().to_string()).is_ok());
            let stdout =
                b"{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"x\"}\n"
                    .to_vec();
            match judge::recording(&Recording::new(facts, stdout, Vec::new()), contracts, &Options::default())
            {
                Ok(judgement) => assert_json(&judgement),
                Err(complaint) => drop(complaint.to_string()),
            }
        }),
        ("scenarios", seeds("scenarios", &[".toml"]), |bytes, _, _| {
            complained(Scenario::parse("x.toml", &text(bytes)));
        }),
        ("targets", seeds("targets", &[".toml"]), |bytes, _, _| complained(user_files::target(&text(bytes)))),
        ("known failures", seeds("tests/data", &["known-failures.toml"]), |bytes, _, _| {
            complained(user_files::known_failures(&text(bytes)));
        }),
        ("configurations", seeds("src/cli/starter", &["clawgate.toml"]), |bytes, _, _| {
            complained(Config::parse("clawgate.toml", &text(bytes)));
        }),
        ("evaluations", seeds("tests/data/eval", &[".toml", ".json"]), |bytes, folder, _| {
            for name in ["eval.toml", "eval.json"] {
                fs::write(folder.join(name), bytes).unwrap();
                complained(Spec::open(&folder.join(name)));
            }
        }),
        ("contracts", seeds("schemas", &["contract.toml"]), |bytes, folder, _| {
            fs::write(folder.join("contract.toml"), bytes).unwrap();
            complained(Contracts::only(folder.to_str().unwrap()));
        }),
    ]
}

/// Harms so many inputs of each kind.
fn survives(each: usize) {
    let contracts = Contracts::built_in();
    for (kind, seeds, read) in kinds() {
        let folder = tempfile::tempdir().unwrap();
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
        for number in 0..each {
            let (seed, other) = (numbers.below(seeds.len()), numbers.below(seeds.len()));
            let bytes = harmed(&seeds[seed], &seeds[other], &mut numbers);
            let survived = catch_unwind(AssertUnwindSafe(|| read(&bytes, folder.path(), &contracts)));
            if survived.is_err() {
                let kept = std::env::temp_dir().join("clawgate-mutation");
                fs::write(&kept, &bytes).unwrap();
                panic!("number {number} of {kind}; it is kept as {}", kept.display());
            }
        }
    }
}

#[test]
fn harmed_inputs_are_judged_or_refused_and_nothing_breaks() {
    survives(20);
}

#[test]
#[ignore = "20,000 inputs take minutes; run it after a change to a reader"]
fn twenty_thousand_harmed_inputs_break_nothing() {
    survives(2000);
}
