//! What the clean room costs: `clawgate run` of 200 short cases beside the same commands started bare, as many at a
//! time. And what happens at the end of a case: from the target's exit to its verdict, and from a deadline to the end
//! of everything that the target started.
//!
//! `cargo bench --bench run`. Wall time is what is bounded, so the rounds are interleaved and the best of each counts.
//! Exits with 1 when a bound is not kept.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark: it prints, and a failure ends it"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clawgate::internals::harness::mock::{MockApi, Options};
use clawgate::internals::run::scenario::Scenario;
use serde_json::Value;
use tempfile::TempDir;

const CLAWGATE: &str = env!("CARGO_BIN_EXE_clawgate");
const CASES: usize = 200;
const JOBS: usize = 2;
const ROUNDS: usize = 3;
/// A run may take this many times as long as the bare commands …
const RATIO: f64 = 1.15;
/// … and so many milliseconds a case more: with a network of its own, and without.
const EXTRA_MS: [(&str, f64); 2] = [("require", 6.0), ("off", 3.0)];
/// From exit to verdict, in the median.
const VERDICT_MS: f64 = 5.0;
/// From a deadline to the end.
const DEADLINE_MS: f64 = 200.0;

/// A command that is run both ways.
struct Workload {
    name: &'static str,
    case: &'static str,
    role: &'static str,
    args: &'static [&'static str],
}

const WORKLOADS: [Workload; 2] = [
    Workload {
        name: "no request",
        case: "claw/status/ok",
        role: "claw-flat",
        args: &["status", "--output-format", "json"],
    },
    Workload {
        name: "one answer",
        case: "claude/answers/stream",
        role: "claude",
        args: &["-p", "Say hello.", "--output-format", "stream-json", "--verbose"],
    },
];

/// CPU time of everything that was started and has ended. On a shared machine it tells more than wall time.
fn cpu_of_children() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    // The fields after the name in brackets; the kernel counts in hundredths of a second.
    let fields = stat.rsplit_once(") ").unwrap().1.split(' ');
    let ticks: u64 = fields.skip(13).take(2).map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(10 * ticks)
}

/// How long it took, by the clock and of CPU time.
fn measured(work: impl FnOnce() -> Duration) -> [Duration; 2] {
    let before = cpu_of_children();
    let wall = work();
    [wall, cpu_of_children().saturating_sub(before)]
}

/// The same command without anything around it, `CASES` times, `JOBS` at a time.
fn bare(workload: &Workload, api: &str) -> Duration {
    let home = TempDir::new().unwrap();
    let left = AtomicUsize::new(CASES);
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(|| {
                while left
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
                    .is_ok()
                {
                    let output = Command::new(CLAWGATE)
                        .args(workload.args)
                        .env_clear()
                        .envs([("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LC_ALL", "C.UTF-8")])
                        .envs([("CLAWGATE_ACT_AS", workload.role), ("CLAUDE_CODE_MAX_RETRIES", "0")])
                        .envs([("ANTHROPIC_BASE_URL", api), ("ANTHROPIC_API_KEY", "x")])
                        .env("HOME", home.path())
                        .current_dir(home.path())
                        .stdin(Stdio::null())
                        .output()
                        .unwrap();
                    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
                }
            });
        }
    });
    started.elapsed()
}

/// The ends of the cases that a run tells of, and how long the whole took.
fn run(folder: &Path, args: &[&str]) -> (Duration, Vec<Value>) {
    let started = Instant::now();
    let output = Command::new(CLAWGATE)
        .args(["run", "--format", "json", "--jobs", &JOBS.to_string(), "--out", "out"])
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap();
    let took = started.elapsed();
    let text = String::from_utf8_lossy(&output.stdout);
    let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let finished: Vec<_> = events.filter(|event| event["type"] == "case-finished").collect();
    assert!(!finished.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (took, finished)
}

fn field(event: &Value, name: &str) -> f64 {
    event[name].as_f64().unwrap()
}

/// One line of the report; whether the bound is kept.
fn line(what: &str, found: f64, bound: f64) -> bool {
    let kept = found <= bound;
    println!("{what:<58} {found:>8.2} ms  at most {bound:>8.2}  {}", if kept { "kept" } else { "NOT KEPT" });
    kept
}

fn overhead(api: &str) -> bool {
    let mut kept = true;
    for workload in &WORKLOADS {
        let mut fastest = [[Duration::MAX; 2]; 3];
        let mut verdicts = Vec::new();
        let keep_least = |least: &mut [Duration; 2], found: [Duration; 2]| {
            *least = [least[0].min(found[0]), least[1].min(found[1])];
        };
        for _ in 0..ROUNDS {
            keep_least(&mut fastest[2], measured(|| bare(workload, api)));
            for ((network, _), fastest) in EXTRA_MS.iter().zip(&mut fastest) {
                let folder = TempDir::new().unwrap();
                let repeat = CASES.to_string();
                let mut cases = Vec::new();
                let found = measured(|| {
                    let args = [workload.case, "--repeat", &repeat, "--network", network];
                    let (took, finished) = run(folder.path(), &args);
                    cases = finished;
                    took
                });
                assert_eq!(cases.len(), CASES);
                assert!(cases.iter().all(|case| case["status"] == "pass"), "{}", cases[0]);
                keep_least(fastest, found);
                verdicts.extend(cases.iter().map(|case| field(case, "verdict_ms")));
            }
        }
        let per_case = fastest.map(|both| both.map(|time| time.as_secs_f64() * 1e3 / CASES as f64));
        let [wall, cpu] = per_case[2];
        println!(
            "{}: {CASES} cases, {JOBS} at a time; bare {wall:.2} ms a case, {cpu:.2} ms of CPU",
            workload.name
        );
        for ((network, extra), [found, found_cpu]) in EXTRA_MS.iter().zip(per_case) {
            let what = format!(
                "  --network {network}, a case ({:.2}x, CPU +{:.2} ms)",
                found / wall,
                found_cpu - cpu
            );
            kept &= line(&what, found, RATIO * wall + extra);
        }
        verdicts.sort_by(f64::total_cmp);
        kept &= line("  from exit to verdict, median", verdicts[verdicts.len() / 2], VERDICT_MS);
    }
    kept
}

/// Targets that do not end by themselves, each with something below it that holds the pipe.
const STUBBORN: [(&str, &str); 4] = [
    ("grandchild holds the pipe", "sleep 600 & sleep 600"),
    ("grandchild in another session", "setsid sleep 600 & sleep 600"),
    ("daemon that has forked twice", "(setsid sh -c 'sleep 600 & exit' &) ; sleep 600"),
    ("nobody heeds TERM", "trap '' TERM; (trap '' TERM; sleep 600) & while :; do sleep 1; done"),
];

fn deadlines() -> bool {
    const WALL_MS: u64 = 300;
    let mut kept = true;
    println!("from the deadline to the end of the case, the worst of 20");
    for (what, script) in STUBBORN {
        let folder = TempDir::new().unwrap();
        let text = format!(
            "[scenario]\nname = \"stubborn\"\ncontract = \"claude-stream-json\"\n[run]\nprogram = \"/bin/sh\"\n\
             bare = true\nargs = [\"-c\", {script:?}]\nwall_ms = {WALL_MS}\n[expect]\nverdict = \"timeout\"\n"
        );
        fs::write(folder.path().join("stubborn.toml"), text).unwrap();
        let (_, cases) = run(folder.path(), &["stubborn.toml", "--repeat", "20"]);
        let late = cases.iter().map(|case| {
            assert_eq!(case["verdict"]["detail"], "wall", "{case}");
            field(case, "duration_ms") + field(case, "verdict_ms") - WALL_MS as f64
        });
        kept &= line(&format!("  {what}"), late.fold(0.0, f64::max), DEADLINE_MS);
    }
    kept
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let script = Scenario::parse("plain.toml", include_str!("../scenarios/plain.toml")).unwrap().script;
    let api = runtime.block_on(MockApi::start(script, Options::default())).unwrap();
    let kept = [overhead(&api.base_url()), deadlines()];
    runtime.block_on(api.stop());
    if kept.contains(&false) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
