//! How fast streams are read and get their verdict, beside parsing each line into a `serde_json::Value` and beside a bare line scan.
//!
//! `cargo bench --bench judge`; the size of each stream in megabytes can be given as an argument.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark fails by panicking and prints its table"
)]

mod support;

use std::hint::black_box;
use std::path::Path;

use clawgate::classify::Process;
use clawgate::classify::claude::classify;
use clawgate::judge::{Contracts, Ending, Judge, Options, Protocol};
use clawgate::recording::Exit;
use clawgate::stream_json::documented::{self, Reader};
use clawgate::stream_json::{Limits, Line, Session, StreamReader};

use support::{Shape, asked, chunks, line_scan, race, serde_value, write_stream};

const ROUNDS: usize = 3;

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

fn main() {
    let megabytes = asked(100);
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
        let contenders = [verdict, with_contract, serde_value, line_scan];
        let (speed, peak) = race(contenders, ROUNDS, &path, bytes);
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
