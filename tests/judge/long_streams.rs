//! Streams so long that not everything of them stays in memory: what is far apart is found, and memory stays small.

use std::io::{BufWriter, Write as _};
use std::process::{Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

use crate::files::folder_with;

const LINES: u64 = 1_000_000;
/// What it may allocate, in kilobytes. What the rules keep of the stream takes four times as much.
const MOST: u64 = 56 << 10;

const CONTRACT: &str = r#"
[contract]
name = "long"
title = "A long stream"
protocol = "stream"
[[kind]]
name = "a"
when = { "/type" = "a" }
schema = "any.schema.json"
[[kind]]
name = "b"
when = { "/type" = "b" }
schema = "any.schema.json"
[[clause]]
id = "ids-unique"
level = "must"
source = "this test"
since = "1"
text = "No two messages share an id."
why = "They are told apart by it."
fix = "Print another."
check = { rule = "unique", at = "/id" }
[[clause]]
id = "as-said"
level = "must"
source = "this test"
since = "1"
text = "What b says of a key, a has said of it."
why = "They speak of the same."
fix = "Copy it."
check = { rule = "within", values = { on = "b", at = "/v", key = "/k" }, of = { on = "a", at = "/v", key = "/k" } }
[[clause]]
id = "said-somewhere"
level = "must"
source = "this test"
since = "1"
text = "What b says, a has said."
why = "They speak of the same."
fix = "Copy it."
check = { rule = "within", values = { on = "b", at = "/v" }, of = { on = "a", at = "/v" } }
"#;

#[test]
fn what_is_a_million_lines_apart_is_found_in_little_memory() {
    let files = [("long/contract.toml", CONTRACT), ("long/any.schema.json", r#"{"type": "object"}"#)];
    let folder = folder_with(&files);
    let limit = format!("ulimit -d {MOST}; exec \"$@\"");
    let mut child = Command::new("/bin/sh")
        .args(["-c", &limit, "sh"])
        .arg(cargo_bin("clawgate"))
        .args(["judge", "-", "--quiet", "--format", "json", "--contract", "./long", "--exit-code", "0"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stream = BufWriter::new(child.stdin.take().unwrap());
    for number in 0..LINES {
        writeln!(stream, r#"{{"type":"a","id":{number},"k":{number},"v":"v{number}"}}"#).unwrap();
    }
    // Right, and then with the key of another, with a text that is nowhere, and with the id of the very first line.
    for (id, key, text) in
        [(LINES, 0, "v0"), (LINES + 1, 7, "v8"), (LINES + 2, 9, "x"), (0, LINES - 1, "v999999")]
    {
        writeln!(stream, r#"{{"type":"b","id":{id},"k":{key},"v":"{text}"}}"#).unwrap();
    }
    drop(stream.into_inner().unwrap());
    let output = child.wait_with_output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = told["findings"].as_array().unwrap().iter();
    let found: Vec<_> =
        found.map(|finding| (finding["clause"].as_str().unwrap(), finding["line"].as_u64())).collect();
    let expected = [
        ("long/ids-unique", Some(LINES + 4)),
        ("long/as-said", Some(LINES + 2)),
        ("long/as-said", Some(LINES + 3)),
        ("long/said-somewhere", Some(LINES + 3)),
    ];
    assert_eq!(found, expected);
}
