//! How fast an event log is judged, beside parsing each line into a `serde_json::Value` and beside a bare line scan.
//!
//! `cargo bench --bench events`; the size of the log in megabytes can be given as an argument, 1000 by default.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark: what fails ends it, and what it measures it prints"
)]

#[expect(dead_code, reason = "the streams are for the other benchmarks")]
mod support;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use clawgate::internals::events::{Limits, Profile};
use clawgate::internals::schema::EventJudge;
use clawgate::schema::ContractSet;

use support::{Seeded, asked, chunks, line_scan, race, serde_value};

const ROUNDS: usize = 2;
/// Workers that are alive at once.
const WORKERS: u64 = 200;

/// Writes the log of an orchestrator whose workers come and go; answers with its size and lines.
fn write_log(path: &Path, bytes: u64) -> (u64, u64) {
    let mut log = Log {
        out: BufWriter::new(File::create(path).expect("a temporary file can be made")),
        random: Seeded::new(11),
        sequence: 0,
        millis: 1_780_304_400_000,
        written: 0,
    };
    log.system(
        "system.peer.joined",
        r#""peerId":"p_0","role":"orchestrator","peerName":"main","ts":"2026-06-01T09:00:00.000Z""#,
    );
    let mut next = 1;
    while log.written < bytes {
        let crew: Vec<u64> = (next..next + WORKERS).collect();
        next += WORKERS;
        log.crew(&crew);
    }
    log.out.flush().expect("the disk has room");
    (log.written, log.sequence)
}

struct Log {
    out: BufWriter<File>,
    random: Seeded,
    sequence: u64,
    millis: u64,
    written: u64,
}

impl Log {
    fn line(&mut self, topic: &str, from: &str, payload: &str) {
        let time = stamp(self.millis);
        let line = format!(
            r#"{{"topic":"{topic}","from":"{from}","ts_server":"{time}","payload":{payload},"sequence":{}}}"#,
            self.sequence
        );
        writeln!(self.out, "{line}").expect("the disk has room");
        self.written += line.len() as u64 + 1;
        self.sequence += 1;
    }

    fn system(&mut self, topic: &str, fields: &str) {
        self.line(topic, "server", &format!("{{{fields}}}"));
    }

    fn say(&mut self, worker: u64, fact: &str, data: &str) {
        let (high, low) = (self.random.below(1 << 30), self.random.below(1 << 30));
        let id = format!(
            "{high:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
            low & 0xffff,
            high & 0xfff,
            low & 0xfff,
            self.sequence
        );
        let time = stamp(self.millis);
        let payload = format!(
            r#"{{"v":1,"id":"{id}","from_peer":"p_{worker}","from_name":"worker-{worker}","ts_published":"{time}","schema":"worker-{fact}-v1","parent_id":"p_0","data":{{{data}}}}}"#
        );
        self.line(&format!("worker.p_{worker}.{fact}"), &format!("p_{worker}"), &payload);
    }

    /// A crew of workers from hello to leave, with heartbeats and events between.
    fn crew(&mut self, crew: &[u64]) {
        const PHASES: [&str; 7] = ["PLAN", "SPAWN", "DEPLOY", "OBSERVE", "HARVEST", "CLEANUP", "REFLECT"];
        for worker in crew {
            let time = stamp(self.millis);
            self.system(
                "system.peer.joined",
                &format!(
                    r#""peerId":"p_{worker}","role":"worker","peerName":"worker-{worker}","ts":"{time}""#
                ),
            );
            self.say(*worker, "boot", r#""model":"m-1","role":"worker","parent_peer_id":"p_0","mission_summary":"catalogue the logbooks","capabilities":["mcp_claws"],"cwd":"/srv/work","terminal_id":"5""#);
        }
        let mut prev = "null".to_owned();
        let mut done = Vec::new();
        let mut tokens = 0;
        for phase in PHASES {
            done.push(format!("\"{phase}\""));
            for worker in crew {
                self.say(*worker, "phase", &format!(r#""phase":"{phase}","prev":{prev},"transition_reason":"next step","phases_completed":[{}]"#, done.join(",")));
            }
            prev = format!("\"{phase}\"");
            let entered = self.millis;
            let beats = if phase == "REFLECT" { 0 } else { 12 };
            for _ in 0..beats {
                self.millis += 10_000;
                tokens += 40;
                for worker in crew {
                    let inside = self.millis - entered;
                    self.say(*worker, "heartbeat", &format!(r#""current_phase":"{phase}","time_in_phase_ms":{inside},"tokens_used":{tokens},"cost_usd":0.{tokens:06},"last_event_id":null,"active_sub_workers":[]"#));
                    let message = self.random.prose(120);
                    self.say(*worker, "event", &format!(r#""kind":"PROGRESS","severity":"info","message":"{message}","data":{{"percent":0.5,"current_step":2,"total_steps":4,"eta_ms":900}}"#));
                }
            }
        }
        for worker in crew {
            self.say(*worker, "complete", &format!(r#""result":"ok","summary":"done","artifacts":[{{"path":"/srv/out.csv","type":"csv"}}],"phases_completed":[{}],"total_tokens":{tokens},"total_cost_usd":9.5,"duration_ms":720000"#, done.join(",")));
            self.system(
                "system.peer.left",
                &format!(r#""peerId":"p_{worker}","role":"worker","reason":"clean""#),
            );
        }
        self.millis += 1_000;
    }
}

/// An RFC 3339 time on the first days of June 2026.
fn stamp(millis: u64) -> String {
    let since = millis - 1_780_272_000_000;
    let (day, of_day) = (since / 86_400_000 + 1, since % 86_400_000);
    let (seconds, millis) = (of_day / 1000, of_day % 1000);
    format!(
        "2026-06-{day:02}T{:02}:{:02}:{:02}.{millis:03}Z",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

fn judged(path: &Path) {
    let set = ContractSet::open("claws-events").expect("the contract is built in");
    let mut judge = EventJudge::new(&set, Profile::Strict, Limits::default());
    chunks(path, |chunk| judge.push(chunk, &mut ()));
    let (findings, summary) = judge.finish(&mut ());
    let odd: Vec<_> = findings.iter().filter(|finding| finding.line.is_some()).take(3).collect();
    assert!(summary.records > 0);
    // The last crew may be cut short by nothing: every life in the log is whole.
    assert!(odd.is_empty(), "the log keeps every clause, but {odd:#?}");
}

fn main() {
    let megabytes = asked(1000);
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let path = directory.path().join("events.jsonl");
    let (bytes, lines) = write_log(&path, megabytes * 1_000_000);
    println!("a log of {} MB, {lines} records, {WORKERS} workers at once", bytes / 1_000_000);
    println!("MB per CPU second, best of {ROUNDS}, interleaved\n");
    let names = ["judged", "serde Value", "line scan"];
    let (speed, peak) = race([judged, serde_value, line_scan], ROUNDS, &path, bytes);
    for (name, speed) in names.iter().zip(speed) {
        println!("{name:<12} {speed:>8.0} MB/s");
    }
    println!("\njudged to serde Value {:.2}x, to line scan {:.3}x", speed[0] / speed[1], speed[0] / speed[2]);
    println!("peak memory of the judging {peak} MB");
}
