//! The most memory that a command of a user holds while it compares much output, or judges a large document: `run --golden`
//! with a target that prints a file, `diff` of two recordings, `judge` of one document.
//!
//! `cargo bench --bench memory`; megabytes of output can be given as an argument, instead of 16 and 256. Sixteen times the
//! output takes sixteen times as long and the same memory. The time is the command's CPU time.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark fails by panicking and prints its table"
)]

#[expect(dead_code, reason = "the rest is for the other benchmarks")]
mod support;

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Command;

use serde_json::json;

use support::{Seeded, asked, run};

const CLAWGATE: &str = env!("CARGO_BIN_EXE_clawgate");
/// The size of the documents; a document of more than 16 MB is none.
const DOCUMENT: usize = 15;

/// A target that prints a file, and a contract that asks little of it.
const TARGET: &str = r#"
[target]
name = "printer"
program = "/bin/cat"
[limits]
wall_ms = 600000
most_stdout = 1000000000
[[volatile]]
as = "ms"
fields = ["duration_ms"]
[[speaks]]
contract = "./lines"
"#;
const CONTRACT: &str = r#"
[contract]
name = "lines"
title = "Lines of JSON"
protocol = "stream"
[[clause]]
id = "not-empty"
level = "must"
source = "this benchmark"
since = "1"
text = "Something is printed."
why = "Else there is nothing to compare."
fix = "Print something."
check = { rule = "framing", oddity = "empty" }
"#;

fn main() {
    let sizes = match asked(0) {
        0 => vec![16, 256],
        megabytes => vec![megabytes],
    };
    println!("{:<34} {:>6} {:>5} {:>8} {:>8}", "command", "MB", "exit", "CPU s", "peak MB");
    let folder = tempfile::tempdir().expect("a temporary directory");
    let root = folder.path();
    measure(root, "judge of a small recording", 0, &["judge", &small(root)]);
    for megabytes in sizes {
        let sides = [1, 2].map(|side| {
            let place = root.join(format!("{megabytes}-{side}"));
            recording(&place, "claude", &["-p", "x", "--output-format", "stream-json"], |out| {
                stream(out, megabytes, side, 0);
            });
            place.display().to_string()
        });
        measure(root, "judge of a stream", megabytes, &["judge", &sides[0]]);
        measure(root, "diff of two streams", megabytes, &["diff", &sides[0], &sides[1]]);
        golden(root, megabytes);
        for side in &sides {
            fs::remove_dir_all(side).expect("the recording is there");
        }
    }
    documents(root);
}

/// `run --golden` with a target that prints a file: taken, compared with the same, and with a message more.
fn golden(root: &Path, megabytes: usize) {
    let project = root.join("project");
    fs::create_dir_all(project.join("lines")).expect("a directory");
    for (name, text) in [("printer.toml", TARGET), ("lines/contract.toml", CONTRACT), ("clawgate.toml", "")] {
        fs::write(project.join(name), text).expect("a file");
    }
    let output = project.join("output");
    let print = |side: u64, more: usize| {
        stream(&mut BufWriter::new(File::create(&output).expect("a file")), megabytes, side, more);
    };
    let scenario = format!(
        "[scenario]\nname = \"prints\"\ncontract = \"lines\"\n[run]\nargs = [{:?}]\n",
        output.display()
    );
    fs::write(project.join("prints.toml"), scenario).expect("a file");
    let run = |mode| ["run", "prints.toml", "--target", "printer.toml", "--golden", mode];
    print(1, 0);
    measure(&project, "run --golden update", megabytes, &run("update"));
    print(2, 0);
    measure(&project, "run --golden check, the same", megabytes, &run("check"));
    print(2, 1);
    measure(&project, "run --golden check, one line more", megabytes, &run("check"));
    fs::remove_dir_all(&project).expect("the project is there");
}

/// Documents as large as they are judged: one text, and a list of many elements.
fn documents(root: &Path) {
    let text = json!({
        "type": "result", "subtype": "success", "is_error": false, "duration_ms": 1, "duration_api_ms": 1, "num_turns": 1,
        "result": "word ".repeat(DOCUMENT * 200_000), "stop_reason": "end_turn", "session_id": uuid(1, 1),
        "total_cost_usd": 0.1, "usage": {"input_tokens": 1, "output_tokens": 2}, "modelUsage": {},
        "permission_denials": [], "uuid": uuid(1, 2),
    });
    let element = |number: usize| json!({"kind": "command", "name": format!("n{number}"), "score": 1, "source_hint": "x".repeat(1100)});
    let list = json!({
        "command": "route", "schema_version": "1.0", "timestamp": "2026-11-18T07:00:00Z", "exit_code": 0,
        "output_format": "json", "prompt": "x", "limit": 5, "match_count": DOCUMENT * 850,
        "matches": (0..DOCUMENT * 850).map(element).collect::<Vec<_>>(),
    });
    for (name, target, document) in [("one text", "claude", text), ("a list", "claw", list)] {
        let sides = [1, 2].map(|side| {
            let place = root.join(format!("{target}-{side}"));
            recording(&place, target, &["route", "x", "--output-format", "json"], |out| {
                writeln!(out, "{document}").expect("a file");
            });
            place.display().to_string()
        });
        measure(root, &format!("judge of a document, {name}"), DOCUMENT, &["judge", &sides[0]]);
        measure(root, &format!("diff of documents, {name}"), DOCUMENT, &["diff", &sides[0], &sides[1]]);
    }
}

fn small(root: &Path) -> String {
    let place = root.join("small");
    recording(&place, "claude", &["-p", "x", "--output-format", "stream-json"], |out| stream(out, 0, 1, 0));
    place.display().to_string()
}

fn recording(place: &Path, target: &str, args: &[&str], write: impl FnOnce(&mut BufWriter<File>)) {
    fs::create_dir_all(place).expect("a directory");
    let argv: Vec<&str> = [target].iter().chain(args).copied().collect();
    let facts = json!({
        "schema_version": 1, "target": target, "target_version": "", "scenario": "s", "exit": {"code": 0}, "argv": argv,
    });
    fs::write(place.join("recording.json"), facts.to_string()).expect("a file");
    write(&mut BufWriter::new(File::create(place.join("stdout")).expect("a file")));
}

/// Messages of a stream as they come with `--include-partial-messages`, some of them long; with other ids on each side.
fn stream(out: &mut impl std::io::Write, megabytes: usize, side: u64, more: usize) {
    let session = uuid(side, u64::MAX);
    let mut texts = Seeded::new(1);
    let (mut written, mut number) = (0, 0);
    let mut print = |message: serde_json::Value| {
        let mut message = message;
        message["session_id"] = session.clone().into();
        message["uuid"] = uuid(side, number).into();
        number += 1;
        let line = message.to_string();
        writeln!(out, "{line}").expect("a file");
        line.len() + 1
    };
    print(json!({"type": "system", "subtype": "init", "cwd": "/w", "tools": ["Bash"], "model": "claude-x"}));
    while written < megabytes * 1_000_000 {
        for _ in 0..16 {
            let delta = json!({"type": "text_delta", "text": texts.prose(12)});
            let event = json!({"type": "content_block_delta", "index": 0, "delta": delta});
            written += print(json!({"type": "stream_event", "event": event, "parent_tool_use_id": null}));
        }
        let content = json!([{"type": "text", "text": texts.prose(1500)}]);
        let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": content,
                             "stop_reason": null, "usage": {"input_tokens": 1, "output_tokens": 1}});
        written += print(json!({"type": "assistant", "message": message, "parent_tool_use_id": null}));
    }
    for _ in 0..more {
        print(json!({"type": "user", "message": {"role": "user", "content": "more"}}));
    }
    print(
        json!({"type": "result", "subtype": "success", "is_error": false, "duration_ms": side, "result": "x"}),
    );
}

fn uuid(side: u64, number: u64) -> String {
    let mut ids = Seeded::new(side.wrapping_mul(1 << 40).wrapping_add(number));
    let (a, b) = (ids.below(u64::from(u32::MAX)), ids.below(u64::from(u32::MAX)));
    format!("{a:08x}-0000-4000-8000-{:08x}{:04x}", b, number & 0xffff)
}

/// Runs a command, and prints what it took.
fn measure(folder: &Path, name: &str, megabytes: usize, args: &[&str]) {
    let taken = run(Command::new(CLAWGATE).args(args).current_dir(folder));
    println!(
        "{name:<34} {megabytes:>6} {:>5} {:>8.2} {:>8.1}",
        taken.exit.map_or("-".to_owned(), |code| code.to_string()),
        taken.cpu.as_secs_f64(),
        taken.peak_kilobytes as f64 / 1024.0
    );
}
