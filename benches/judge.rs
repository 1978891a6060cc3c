//! How fast streams are read and get their verdict, beside parsing each line into a `serde_json::Value` and beside a bare line scan.
//!
//! `cargo bench --bench judge`; the size of each stream in megabytes can be given as an argument.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark fails by panicking and prints its table"
)]

mod support;

use std::fs::File;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use clawgate::classify::Process;
use clawgate::classify::claude::classify;
use clawgate::judge::{Contracts, Ending, Judge, Options, Protocol};
use clawgate::recording::Exit;
use clawgate::stream_json::documented::{self, Reader};
use clawgate::stream_json::{Limits, Line, Session, StreamReader};

use support::{Shape, cpu_time, peak_megabytes, write_stream};

const ROUNDS: usize = 3;

fn chunks(path: &Path, mut each: impl FnMut(&[u8])) {
    let mut file = File::open(path).expect("the stream was written");
    let mut chunk = vec![0; 256 << 10];
    loop {
        match file.read(&mut chunk).expect("the stream can be read") {
            0 => return,
            read => each(&chunk[..read]),
        }
    }
}

/// The reading, the documented reader's answer and the verdict, without contracts.
fn verdict(path: &Path) {
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
    let verdict = classify(&session, &Process::new(&exit, ""), summary.lines, true);
    assert_eq!(verdict.class.name(), "ok");
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

fn serde_value(path: &Path) {
    let mut reader = BufReader::with_capacity(256 << 10, File::open(path).expect("the stream was written"));
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).expect("the stream can be read") > 0 {
        black_box(serde_json::from_slice::<serde_json::Value>(&line).expect("the stream is JSON"));
        line.clear();
    }
}

fn line_scan(path: &Path) {
    let mut lines = 0;
    chunks(path, |chunk| lines += memchr::memchr_iter(b'\n', chunk).count());
    black_box(lines);
}

fn main() {
    let megabytes = std::env::args().skip(1).find_map(|word| word.parse::<u64>().ok()).unwrap_or(100);
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    println!("streams of {megabytes} MB, MB per CPU second (best of {ROUNDS}, interleaved)\n");
    println!(
        "{:<7}{:>9}{:>9}{:>10}{:>13}{:>11}{:>15}{:>15}{:>9}",
        "stream",
        "lines",
        "verdict",
        "contract",
        "serde Value",
        "line scan",
        "verdict/Value",
        "contract cost",
        "peak MB"
    );
    for shape in Shape::ALL {
        let path = directory.path().join(shape.name());
        let (bytes, lines) = write_stream(&path, shape, megabytes << 20);
        let contenders: [fn(&Path); 4] = [verdict, with_contract, serde_value, line_scan];
        let mut best = [Duration::MAX; 4];
        let mut peak = 0;
        for _ in 0..ROUNDS {
            for (contender, best) in contenders.iter().zip(&mut best) {
                let before = cpu_time();
                contender(&path);
                *best = (*best).min(cpu_time().saturating_sub(before));
                if peak == 0 {
                    // The verdict is the first to run, so the peak is its own.
                    peak = peak_megabytes();
                }
            }
        }
        let speed = best.map(|time| bytes as f64 / 1e6 / time.as_secs_f64().max(1e-6));
        println!(
            "{:<7}{lines:>9}{:>9.0}{:>10.0}{:>13.0}{:>11.0}{:>14.2}x{:>14.2}x{peak:>9}",
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
        "\ncontract cost: CPU time of verdict and contract to that of serde Value; peak: of the process so far"
    );
}
