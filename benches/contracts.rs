//! What judging with contracts costs, next to reading the same lines into `serde_json` values.
//!
//! The aim is at most 1.7 times the parse on a stream of some length; the shorter the messages, the more a clause costs
//! beside them. Run with `cargo bench --bench contracts`.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a benchmark prints, and stops when its input is gone"
)]

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs};

use clawgate::internals::schema::{End, Run};
use clawgate::schema::ContractSet;
use clawgate::stream_json::StreamReader;
use serde_json::Value;

/// All stream-json lines of one version of the corpus.
fn lines(version: &str) -> Vec<Vec<String>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(version);
    let mut runs = Vec::new();
    for entry in fs::read_dir(corpus).into_iter().flatten().flatten() {
        let text = fs::read_to_string(entry.path().join("stdout")).unwrap_or_default();
        let lines: Vec<String> =
            text.lines().filter(|line| line.starts_with('{')).map(str::to_string).collect();
        if lines.len() > 1 {
            runs.push(lines);
        }
    }
    runs
}

/// A run of many messages: the longest one, its middle repeated with ids of their own.
fn long_run(runs: &[Vec<String>], messages: usize) -> Vec<String> {
    let Some(longest) =
        runs.iter().max_by_key(|run| run.iter().filter(|line| line.contains("tool_use")).count())
    else {
        return Vec::new();
    };
    let (first, rest) = longest.split_first().expect("a run has messages");
    let (last, middle) = rest.split_last().expect("a run has an end");
    let mut lines = vec![first.clone()];
    while lines.len() < messages && !middle.is_empty() {
        for line in middle {
            let number = lines.len();
            let mut value: Value = serde_json::from_str(line).unwrap_or_default();
            value["uuid"] = format!("00000000-0000-4000-8000-{number:012}").into();
            let round = (number - 1) / middle.len();
            lines.push(value.to_string().replace("toolu_", &format!("toolu_{round}_")));
        }
    }
    lines.push(last.clone());
    lines
}

/// The shortest of several rounds: the machine is shared, and noise only ever adds.
fn best(rounds: usize, mut work: impl FnMut()) -> Duration {
    let once = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..rounds).map(|_| once(&mut work)).min().unwrap_or_default()
}

/// What a careful reader would check by hand: the fields it reads, and nothing else.
fn by_hand(message: &Value) -> bool {
    let text = |key| message.get(key).is_some_and(Value::is_string);
    match message.get("type").and_then(Value::as_str) {
        Some("system") => text("subtype"),
        Some("assistant" | "user") => {
            message.get("message").is_some_and(Value::is_object) && text("session_id")
        }
        Some("result") => {
            text("subtype")
                && message.get("is_error").is_some_and(Value::is_boolean)
                && message.get("usage").is_some_and(Value::is_object)
        }
        Some(_) => true,
        None => false,
    }
}

/// Reads the lines of a run as a gate does, and holds each against the contract.
fn read_and_judge(set: &ContractSet, facts: &Run, text: &str) {
    let mut judge = set.begin(facts);
    let mut reader = StreamReader::default();
    reader.push(text.as_bytes(), &mut |line| judge.line(line));
    reader.finish(&mut |line| judge.line(line));
    black_box(judge.finish(&End::default()));
}

fn main() {
    // Under `cargo test` the benchmark only shows that it still runs.
    let rounds = if env::args().any(|arg| arg == "--bench") { 30 } else { 1 };
    let set = ContractSet::open("claude-stream-json").expect("the contract loads");
    let start = Instant::now();
    black_box(ContractSet::open("claude-stream-json").expect("the contract loads"));
    println!("load           {:8.2} ms", start.elapsed().as_secs_f64() * 1e3);
    for version in ["claude-2.1.197", "claude-2.1.325"] {
        let runs = lines(version);
        let count: usize = runs.iter().map(Vec::len).sum();
        let bytes: usize = runs.iter().flatten().map(String::len).sum();
        println!(
            "\n{version}: {count} messages in {} runs, {} bytes a message",
            runs.len(),
            bytes / count.max(1)
        );
        let mut facts = Run::default();
        facts.version = version.strip_prefix("claude-").map(str::to_string);
        let parse = |line: &String| serde_json::from_str::<Value>(line).unwrap_or_default();
        let parsing = best(rounds, || {
            for line in runs.iter().flatten() {
                black_box(parse(line));
            }
        });
        let hand = best(rounds, || {
            for line in runs.iter().flatten() {
                black_box(by_hand(&parse(line)));
            }
        });
        let texts: Vec<String> = runs.iter().map(|run| run.join("\n") + "\n").collect();
        let judging = best(rounds, || texts.iter().for_each(|text| read_and_judge(&set, &facts, text)));
        let show = |name: &str, time: Duration| {
            let each = time.as_secs_f64() / count.max(1) as f64;
            let ratio = time.as_secs_f64() / parsing.as_secs_f64();
            println!(
                "{name:<14} {:8.2} us a message  {:>9.0} a second  {ratio:5.2} times the parse",
                each * 1e6,
                1.0 / each
            );
        };
        let empty = best(rounds, || {
            for _ in &runs {
                black_box(set.begin(&Run::default()).finish(&End::default()));
            }
        });
        println!("begin, finish  {:8.2} us a run", empty.as_secs_f64() * 1e6 / runs.len() as f64);
        // Short runs are mostly beginning and end; a long one shows what a message costs.
        let long = long_run(&runs, 2000);
        let long_parse = best(rounds, || {
            for line in &long {
                black_box(parse(line));
            }
        });
        let long_text = long.join("\n") + "\n";
        let long_judge = best(rounds, || read_and_judge(&set, &facts, &long_text));
        println!(
            "one run of {} messages: parse {:.2} us, read and judge {:.2} us a message, {:.2} times the parse",
            long.len(),
            long_parse.as_secs_f64() * 1e6 / long.len() as f64,
            long_judge.as_secs_f64() * 1e6 / long.len() as f64,
            long_judge.as_secs_f64() / long_parse.as_secs_f64()
        );
        show("parse", parsing);
        show("parse, by hand", hand);
        show("read, judge", judging);
    }
}
