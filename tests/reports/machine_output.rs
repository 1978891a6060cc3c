//! What clawgate prints for programs has the form that is published under `schemas/clawgate`, whatever the command.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

use crate::command::{ROOT, clawgate};
use crate::schema::assert_fit;
use crate::support::json_lines;

/// Each command with `--format json`: its schema, and the arguments to try it with. `OUT` is an empty directory.
const TRIED: &[(&str, &str, &[&str])] = &[
    ("run", "run", &["claude/answers", "events/worker", "--golden", "off", "--out", "OUT"]),
    ("run", "run", &["--list"]),
    ("judge", "judge", &["examples/streams", "tests/corpus/claude-2.1.325"]),
    ("judge", "judge", &["tests/corpus/claws-events/34-HB-04-heartbeat-gap.jsonl"]),
    ("diff", "diff", &["tests/corpus/claw-rust-69c326c2", "tests/corpus/claw-rust-head"]),
    ("eval lint", "eval", &["tests/reports/main.rs"]),
    ("contract list", "contract-list", &[]),
    ("contract show", "contract-show", &["claude-stream-json"]),
    ("contract show", "contract-show", &["claw-1.0"]),
    ("contract show", "contract-show", &["claws-events"]),
    ("contract diff", "contract-diff", &["claw-1.0", "claw-2.0"]),
    (
        "contract learn",
        "contract-learn",
        &["tests/corpus/claw-rust-69c326c2", "--out", "schemas/claw-head", "--check"],
    ),
    ("explain", "explain", &[]),
    ("explain", "explain", &["claws-events/lg-06"]),
    ("explain", "explain", &["claw-flat/error-fields"]),
    ("events timeline", "timeline", &["tests/corpus/claws-events/34-HB-04-heartbeat-gap.jsonl"]),
    ("events timeline", "timeline", &["tests/corpus/claws-events/02-VALID-recover-loop.jsonl"]),
    ("events timeline", "timeline", &["/dev/null"]),
    (
        "events watch",
        "events-watch",
        &["tests/corpus/claws-events/34-HB-04-heartbeat-gap.jsonl", "--for", "0", "--all"],
    ),
    ("audit", "audit", &["claw-2.0"]),
    ("audit", "audit", &["tests/data/blind"]),
    ("mock", "mock", &["--list"]),
    ("sweep", "sweep", &["plain", "--list"]),
    ("target list", "target", &[]),
    ("target list", "target", &["--misbehaviours"]),
    ("target doctor", "target", &["reference"]),
];

/// Commands whose output other tests hold against its schema, because it takes more to get it.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("eval", "eval", "tests/eval/runs.rs"),
    ("eval grade", "eval", "tests/eval/runs.rs"),
    ("matrix", "matrix", "tests/judge/drift.rs"),
    ("events probe", "events-probe", "tests/judge/events_live.rs"),
    ("drift", "diff", "tests/run/versions.rs"),
    ("record", "record", "tests/run/record.rs"),
    ("bundle", "bundle", "tests/run/record.rs"),
];

/// Commands that come after others; see the test of them.
const IN_TURN: &[(&str, &str)] =
    &[("golden accept", "golden"), ("golden reject", "golden"), ("golden prune", "golden"), ("merge", "run")];

/// It needs a terminal, and a person at it.
const FOR_PEOPLE: &str = "golden review";

/// The file of the user's, which is read and not printed.
const CONFIG: &str = "config";

fn schemas() -> std::path::PathBuf {
    Path::new(ROOT).join("schemas/clawgate")
}

/// Runs a command, holds each of its lines against the schema and answers with the lines.
fn lines(mut command: Command, name: &str) -> Vec<Value> {
    let output = command.args(["--format", "json"]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(0 | 100)), "{command:?}: {errors}");
    let lines = json_lines(output.stdout);
    assert!(!lines.is_empty(), "{command:?} prints nothing: {errors}");
    assert_fit(&lines, name);
    lines
}

#[test]
fn everything_printed_for_programs_fits_the_published_schema() {
    for (command, schema, args) in TRIED {
        let out = TempDir::new().unwrap();
        let place = out.path().to_str().unwrap();
        let mut tried = clawgate(ROOT);
        tried.args(command.split(' ')).args(args.iter().map(|arg| if *arg == "OUT" { place } else { arg }));
        lines(tried, schema);
    }
}

#[test]
fn what_comes_after_a_run_fits_the_published_schema_too() {
    let folder = TempDir::new().unwrap();
    let at = |words: &[&str]| {
        let mut command = clawgate(folder.path());
        command.args(words);
        command
    };
    let one = "claude/answers/stream";
    at(&["run", one, "--golden", "update"]).assert().success();
    let snapshot = folder.path().join(format!("golden/reference/{one}.snap"));
    let text = fs::read_to_string(&snapshot).unwrap();
    fs::write(&snapshot, text.replace("\"num_turns\": 1", "\"num_turns\": 7")).unwrap();
    for (decision, done) in [("reject", "rejected"), ("accept", "accepted")] {
        at(&["run", one]).assert().code(100);
        assert_eq!(lines(at(&["golden", decision]), "golden")[0]["type"], done);
    }
    fs::write(snapshot.with_file_name("gone.snap"), &text).unwrap();
    assert_eq!(lines(at(&["golden", "prune", "--dry-run"]), "golden")[0]["type"], "unreferenced");
    assert_eq!(lines(at(&["golden", "prune"]), "golden")[0]["type"], "pruned");
    let merged = lines(at(&["merge", "clawgate-out"]), "run");
    assert_eq!(merged.last().unwrap()["type"], "run-finished");
}

/// The commands below one that have a `--format`.
fn with_format(path: &str, found: &mut BTreeSet<String>) {
    let words = path.split(' ').filter(|word| !word.is_empty());
    let output = clawgate(ROOT).args(words).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    if help.lines().any(|line| line.trim_start().starts_with("--format")) {
        found.insert(path.to_owned());
    }
    // The commands as a whole stand in groups, up to what else can be asked for.
    let (from, until) = match path {
        "" => ("Judge and run:", "Files that you write:"),
        _ => ("Commands:", ""),
    };
    let below = help.lines().skip_while(|line| *line != from).take_while(|line| *line != until);
    for line in below.filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
        let name = line[2..].split(' ').next().unwrap_or_default();
        if name != "help" {
            with_format(format!("{path} {name}").trim_start(), found);
        }
    }
}

#[test]
fn no_command_and_no_schema_is_left_out() {
    let mut commands = BTreeSet::new();
    with_format("", &mut commands);
    let pairs: Vec<(&str, &str)> = TRIED
        .iter()
        .map(|(command, schema, _)| (*command, *schema))
        .chain(ELSEWHERE.iter().map(|(command, schema, _)| (*command, *schema)))
        .chain(IN_TURN.iter().copied())
        .collect();
    let known = pairs.iter().map(|(command, _)| *command).chain([FOR_PEOPLE]);
    assert_eq!(commands, known.map(str::to_owned).collect::<BTreeSet<_>>());
    // What people write is in a folder of its own.
    let entries = fs::read_dir(schemas()).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file());
    let files = entries.map(|entry| {
        let name = entry.file_name().into_string().unwrap();
        name.trim_end_matches(".schema.json").to_owned()
    });
    let used: BTreeSet<String> =
        pairs.iter().map(|(_, schema)| *schema).chain([CONFIG]).map(str::to_owned).collect();
    assert_eq!(files.collect::<BTreeSet<_>>(), used);
    for (command, name, file) in ELSEWHERE {
        let text = fs::read_to_string(Path::new(ROOT).join(file)).unwrap();
        let names_it = text.contains(&format!("{name}.schema.json")) || text.contains(&format!("\"{name}\""));
        assert!(names_it, "{file} does not look at what {command} prints");
    }
}
