//! How fast streams are judged: as a user's command (`clawgate judge --format json FILE`) beside clauditor, where a Python has
//! it, and parts of it beside parsing each line into a `serde_json::Value` and beside a bare line scan.
//!
//! `cargo bench --bench judge`; the size of each stream in megabytes can be given as an argument. clauditor is what `CLAUDITOR`
//! names or what is on `PATH` (`pip install clauditor-eval==0.1.3`); without it there is no column of it. Every figure is of CPU
//! time.
//!
//! `cargo bench --bench judge -- growth` shows how the command's cost grows instead: streams of 1 to 1,000 MB of each kind,
//! and 1 to 10,000 recordings, with the time on the clock, on one processor and on all, and the most memory that it held.

//!
//! `cargo bench --bench judge -- outcomes` shows what it costs that a contract says as data what messages mean: streams of other
//! agents held to their contract, and to a copy of it whose `[outcome]` has the session alone.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark fails by panicking and prints its table"
)]

#[expect(dead_code, reason = "how a command ended is for the other benchmarks")]
mod support;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

use clawgate::judge::{Contracts, Ending, Judge, Options, Protocol};
use clawgate::recording::Exit;
use clawgate::stream_json::documented::{self, Reader};
use clawgate::stream_json::{Limits, Line, Session, StreamReader};

use support::{
    Shape, asked, children_time, chunks, cpu_time, line_scan, race, run, serde_value, write_stream,
};

const ROUNDS: usize = 3;

/// The reading, the documented reader's answer and what the session was, without contracts.
fn reading(path: &Path) {
    let mut reader = StreamReader::default();
    let mut documented = Reader::new(documented::Settings::default(), Limits::default());
    let mut session = Session::new(Limits::default());
    let mut hear = |line: &Line<'_>| {
        documented.line(line);
        session.line(line);
    };
    chunks(path, |chunk| reader.push(chunk, &mut hear));
    let summary = reader.finish(&mut hear);
    session.finish();
    let exit = Exit::with_code(0);
    assert!(summary.lines > 0 && !session.results.is_empty());
    black_box(documented.finish(&exit, b"", None));
}

/// Everything: the verdict, and every clause of the contract.
fn with_contract(path: &Path) {
    CONTRACTS.with(|contracts| {
        let mut options = Options::with_exit_code(0);
        options.protocol = Some(Protocol::ClaudeStream);
        let mut judge = Judge::of_output(None, contracts, &options);
        chunks(path, |chunk| judge.push(chunk, &mut |_| {}));
        let judgement = judge.finish(Ending::default(), &mut |_| {}).expect("the contracts are sound");
        black_box(judgement);
    });
}

thread_local! {
    static CONTRACTS: Contracts = Contracts::built_in();
}

const CLAWGATE: &str = env!("CARGO_BIN_EXE_clawgate");

/// Lets clauditor's own harness read the stream from a program that prints it; tells the CPU seconds of that.
const CLAUDITOR: &str = r##"
import os, resource, sys, tempfile
from clauditor._harnesses._claude_code import ClaudeCodeHarness
with tempfile.TemporaryDirectory() as folder:
    program = os.path.join(folder, "claude")
    with open(program, "w") as file:
        file.write(f"#!/bin/sh\nexec cat '{sys.argv[1]}'\n")
    os.chmod(program, 0o755)
    used = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    before = used()
    ClaudeCodeHarness(claude_bin=program).invoke("x", cwd=None, env=None, timeout=600)
    print(used() - before)
"##;

/// The command as a user types it.
fn command(path: &Path) -> Duration {
    let before = children_time();
    run(Command::new(CLAWGATE).args(["judge", "--format", "json"]).arg(path));
    children_time().saturating_sub(before)
}

/// What the command takes for one input or a folder of them, on all processors and on one.
fn grown(name: &str, amount: u64, path: &Path) {
    let judge = ["judge", "--format", "json"];
    let before = children_time();
    let all = run(Command::new(CLAWGATE).args(judge).arg(path));
    let cpu = children_time().saturating_sub(before);
    let one = run(Command::new("taskset").args(["-c", "0", CLAWGATE]).args(judge).arg(path));
    println!(
        "{name:<12}{amount:>8}{:>9.2}{:>9.2}{:>15.2}{:>9.1}",
        cpu.as_secs_f64(),
        all.wall.as_secs_f64(),
        one.wall.as_secs_f64(),
        all.peak_kilobytes as f64 / 1024.0
    );
}

fn growth(directory: &Path) {
    println!(
        "{:<12}{:>8}{:>9}{:>9}{:>15}{:>9}",
        "input", "amount", "CPU s", "wall s", "wall s, one CPU", "peak MB"
    );
    for shape in Shape::ALL {
        for megabytes in [1, 10, 100, 1000] {
            let path = directory.join(shape.name());
            write_stream(&path, shape, megabytes << 20);
            grown(shape.name(), megabytes, &path);
        }
    }
    let stream = include_bytes!("../examples/streams/rate-limit.ndjson");
    for count in [1, 100, 10_000] {
        let folder = directory.join(format!("recordings-{count}"));
        fs::create_dir(&folder).expect("a directory can be made");
        for number in 0..count {
            fs::write(folder.join(format!("{number}.ndjson")), stream).expect("a file can be written");
        }
        grown("recordings", count, &folder);
    }
}

/// The Python that runs clauditor: its command names it in the first line.
fn python() -> Option<String> {
    let named = env::var_os("CLAUDITOR").map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let found = || env::split_paths(&path).map(|folder| folder.join("clauditor")).find(|file| file.is_file());
    let command = fs::read_to_string(named.or_else(found)?).ok()?;
    Some(command.lines().next()?.strip_prefix("#!")?.trim().to_owned())
}

/// A copy of a built-in contract, with its `[outcome]` or with the session alone.
fn contract(directory: &Path, name: &str, is_whole: bool) -> PathBuf {
    let copy = directory.join(if is_whole { "whole" } else { "session" }).join(name);
    fs::create_dir_all(&copy).expect("a directory can be made");
    let files = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas").join(name));
    for file in files.expect("it is built in").flatten().filter(|file| file.path().is_file()) {
        let mut text = fs::read_to_string(file.path()).expect("a contract is text");
        if !is_whole && let Some((before, rest)) = text.split_once("[outcome]\n") {
            let (outcome, after) = rest.split_once("\n[[kind]]").expect("kinds follow");
            let session = outcome.lines().find(|line| line.starts_with("session")).expect("it has a session");
            text = format!("{before}[outcome]\n{session}\n\n[[kind]]{after}");
        }
        fs::write(copy.join(file.file_name()), text).expect("a file can be written");
    }
    copy
}

/// What a contract's `[outcome]` costs: CPU seconds of the command, best of several and in turns.
fn outcomes(directory: &Path, megabytes: u64) {
    println!("{:<20}{:>8}{:>14}{:>8}", "contract", "outcome", "session only", "cost");
    for (agent, name) in [("codex", "codex-exec-json"), ("gemini", "gemini-stream-json")] {
        let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/agents").join(agent);
        let capture = fs::read_to_string(capture.join("tool/stdout")).expect("the capture is there");
        let lines: Vec<&str> = capture.split_inclusive('\n').collect();
        let (start, end) = (lines[..2].concat(), lines[lines.len() - 1]);
        let work = lines[2..lines.len() - 1].concat();
        let stream = start + &work.repeat((megabytes << 20) as usize / work.len()) + end;
        let path = directory.join(name);
        fs::write(&path, stream).expect("a file can be written");
        let contracts = [true, false].map(|is_whole| contract(directory, name, is_whole));
        let mut best = [Duration::MAX; 2];
        for _ in 0..ROUNDS {
            for (contract, best) in contracts.iter().zip(&mut best) {
                let before = children_time();
                run(Command::new(CLAWGATE).args(["judge", "--contract"]).args([contract, &path]));
                *best = (*best).min(children_time().saturating_sub(before));
            }
        }
        let [whole, session] = best.map(|time| time.as_secs_f64());
        println!("{name:<20}{whole:>8.2}{session:>14.2}{:>7.1}%", (whole / session - 1.0) * 100.0);
    }
}

fn clauditor(path: &Path) -> Option<Duration> {
    let python = python()?;
    let output = Command::new(python).args(["-c", CLAUDITOR]).arg(path).output().ok()?;
    Some(Duration::from_secs_f64(String::from_utf8_lossy(&output.stdout).trim().parse().ok()?))
}

fn serde(path: &Path) -> Duration {
    let before = cpu_time();
    serde_value(path);
    cpu_time().saturating_sub(before)
}

/// The command beside clauditor and `serde_json`, in turns.
fn as_commands(path: &Path, shape: Shape, bytes: u64) {
    let (mut ours, mut theirs, mut value) = (Duration::MAX, None::<Duration>, Duration::MAX);
    for _ in 0..ROUNDS {
        ours = ours.min(command(path));
        value = value.min(serde(path));
        theirs = clauditor(path).into_iter().chain(theirs).min();
    }
    let speed = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64().max(1e-2);
    let other = theirs.map_or("-".into(), |time| format!("{:.0}", speed(time)));
    let ratio = theirs.map_or("-".into(), |time| format!("{:.1}x", time.as_secs_f64() / ours.as_secs_f64()));
    println!(
        "{:<8}{:>10.0}{other:>11}{ratio:>8}{:>13.0}{:>11.2}x",
        shape.name(),
        speed(ours),
        speed(value),
        value.as_secs_f64() / ours.as_secs_f64()
    );
}

fn main() {
    let megabytes = asked(100);
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    if env::args().any(|word| word == "growth") {
        return growth(directory.path());
    }
    if env::args().any(|word| word == "outcomes") {
        return outcomes(directory.path(), megabytes);
    }
    let mut streams = Vec::new();
    println!("streams of {megabytes} MB, MB per CPU second (best of {ROUNDS}, interleaved)\n");
    println!(
        "{:<8}{:>10}{:>11}{:>8}{:>13}{:>12}",
        "stream", "clawgate", "clauditor", "ratio", "serde Value", "to serde"
    );
    for shape in Shape::ALL {
        let path = directory.path().join(shape.name());
        let (bytes, lines) = write_stream(&path, shape, megabytes << 20);
        as_commands(&path, shape, bytes);
        streams.push((shape, path, bytes, lines));
    }
    println!(
        "\n{:<8}{:>9}{:>9}{:>10}{:>13}{:>11}{:>15}{:>15}{:>9}",
        "stream",
        "lines",
        "reading",
        "contract",
        "serde Value",
        "line scan",
        "reading/Value",
        "contract cost",
        "peak MB"
    );
    for (shape, path, bytes, lines) in streams {
        let contenders = [reading, with_contract, serde_value, line_scan];
        let (speed, peak) = race(contenders, ROUNDS, &path, bytes);
        println!(
            "{:<8}{lines:>9}{:>9.0}{:>10.0}{:>13.0}{:>11.0}{:>14.2}x{:>14.2}x{peak:>9}",
            shape.name(),
            speed[0],
            speed[1],
            speed[2],
            speed[3],
            speed[0] / speed[2],
            speed[2] / speed[1]
        );
    }
    println!(
        "\ncontract cost: CPU time of reading and contract to that of serde Value; peak: of the process so far"
    );
}
