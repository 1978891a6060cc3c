//! How long it takes to put shards together and to make reports of the whole, beside reading the same lines alone.
//!
//! `cargo bench --bench merge`; the number of cases can be given as an argument. Twice as many cases take twice as long.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark fails by panicking and prints its table"
)]

#[expect(dead_code, reason = "the streams are for the other benchmarks")]
mod support;

use std::fs;
use std::path::{Path, PathBuf};

use clawgate::internals::report::merge::{EVENTS_FILE, Log, folders, merge};
use clawgate::internals::report::{Context, Kind, Options, ReportRequest, Sinks};
use clawgate::internals::run::Event;
use serde_json::{Value, json};

use support::{Seeded, asked, cpu_time, peak_megabytes};

const SHARDS: usize = 8;

fn main() {
    let cases = asked(10_000);
    println!(
        "{:>8} {:>8} {:>10} {:>10} {:>8} {:>14} {:>8}",
        "cases", "MB", "read CPU s", "merge", "ratio", "with reports", "peak MB"
    );
    for count in [cases / 10, cases / 2, cases] {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let bytes = write_shards(folder.path(), count);
        let before = cpu_time();
        let lines = read_alone(folder.path());
        let alone = cpu_time().saturating_sub(before);
        assert_eq!(lines, count + 2 * SHARDS);

        let before = cpu_time();
        let out = folder.path().join("whole");
        let logs = folders(folder.path(), &out).expect("shards");
        let logs = logs.iter().map(|shard| Log::read(shard).expect("a shard")).collect();
        let events = merge(logs, &out).expect("all of one run");
        let merged = cpu_time().saturating_sub(before);
        assert_eq!(events.len(), count + 2);
        report(&events, folder.path());
        let reported = cpu_time().saturating_sub(before);
        println!(
            "{count:>8} {:>8.1} {:>10.2} {:>10.2} {:>8.1} {:>14.2} {:>8}",
            bytes as f64 / 1e6,
            alone.as_secs_f64(),
            merged.as_secs_f64(),
            merged.as_secs_f64() / alone.as_secs_f64(),
            reported.as_secs_f64(),
            peak_megabytes()
        );
    }
}

/// Reads every line as a value, and says how many there are.
fn read_alone(folder: &Path) -> usize {
    let read = |shard: usize| {
        let text = fs::read_to_string(folder.join(shard.to_string()).join(EVENTS_FILE)).expect("a shard");
        let parse = |line| serde_json::from_str::<Value>(line).expect("an event");
        text.lines().map(parse).filter(|event| event["type"].is_string()).count()
    };
    (1..=SHARDS).map(read).sum()
}

/// The reports that CI systems ask for.
fn report(events: &[Event], folder: &Path) {
    let wish = |kind, name: &str| ReportRequest::to_file(kind, folder.join(name));
    let wishes = [
        wish(Kind::Json, "events.ndjson"),
        wish(Kind::Junit, "junit.xml"),
        wish(Kind::Html, "report.html"),
        wish(Kind::Sarif, "report.sarif"),
    ];
    let mut sinks = Sinks::open(&wishes, Context::new(PathBuf::from(folder)), Options::default());
    for event in events {
        sinks.on_event(event);
    }
    let (_, lost, _) = sinks.finish();
    assert!(lost.is_empty(), "{lost:?}");
}

/// Shards of one run, of whose cases every tenth failed.
fn write_shards(folder: &Path, cases: usize) -> usize {
    let mut texts = Seeded::new(1);
    let mut shards: Vec<(Vec<String>, [usize; 2])> = (1..=SHARDS)
        .map(|shard| {
            let started = json!({
                "type": "run-started", "schema_version": 1, "cases": cases / SHARDS, "jobs": 2, "clawgate": "0.1.0",
                "targets": [{"target": "reference", "version": "2.1.197"}], "started_at": "2026-11-16T05:37:00Z",
                "out": "out", "plan": {"id": "x", "cases": cases, "shard": shard, "of": SHARDS, "targets": []},
            });
            (vec![started.to_string()], [0, 0])
        })
        .collect();
    for number in 0..cases {
        let fails = number % 10 == 0;
        let prose = texts.prose(200);
        let failure = json!({"kind": "verdict", "message": prose});
        let finding = json!({
            "clause": "claude-stream-json/result-present", "level": "note", "message": "there is no such message",
        });
        let case = json!({
            "type": "case-finished", "case": format!("group-{}/case-{number}", number % 97), "target": "reference",
            "repetition": 1, "attempts": 1, "status": if fails { "fail" } else { "pass" }, "contract": "claude-stream-json",
            "verdict": {
                "class": "ok", "detail": null, "blame": "none", "retryable": false, "counts": true, "advisories": [],
                "evidence": [{"rule": "success", "basis": "structured", "line": 3, "pointer": "/subtype", "value": "success"}],
            },
            "findings": if fails { vec![finding] } else { vec![] }, "failures": if fails { vec![failure] } else { vec![] },
            "duration_ms": texts.below(5000), "recording": format!("out/reference/case-{number}"),
            "replay": "clawgate run", "description": prose, "expected": "ok", "earlier": [],
        });
        let (lines, counts) = &mut shards[number % SHARDS];
        lines.push(case.to_string());
        counts[usize::from(fails)] += 1;
    }
    let mut bytes = 0;
    for (index, (mut lines, [passed, failed])) in shards.into_iter().enumerate() {
        let finished = json!({
            "type": "run-finished", "passed": passed, "failed": failed, "flaky": 0, "skipped": 0, "harness_failures": 0,
            "interrupted": false, "duration_ms": 1000, "exit_code": if failed > 0 { 100 } else { 0 },
        });
        lines.push(finished.to_string());
        let text = lines.join("\n") + "\n";
        bytes += text.len();
        let shard = folder.join((index + 1).to_string());
        fs::create_dir(&shard).expect("a directory");
        fs::write(shard.join(EVENTS_FILE), text).expect("a file");
    }
    bytes
}
