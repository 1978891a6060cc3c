//! Live servers and workers: every probe holds of a server that keeps the document and fails of one that does not, and
//! whatever a server does the probe comes to an end.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;

use assert_cmd::cargo::cargo_bin;
use clawgate::internals::harness::claws::PROBES;
use predicates::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

use crate::command::{ROOT, clawgate, said};
use crate::schema::assert_fit;

/// A server of ours after `--`, with its socket in the folder.
fn probe(folder: &Path, of_probe: &[&str], of_server: &[&str]) -> (Option<i32>, Vec<Value>) {
    let own = cargo_bin("clawgate");
    let own = own.to_str().unwrap();
    let mut command = clawgate(folder);
    command.args(["events", "probe", "--socket", "s", "--format", "json", "--speed", "20"]).args(of_probe);
    command.args(["--", own, "events", "serve", "--socket", "s", "--speed", "20", "--log", "log.jsonl"]);
    said(command.args(of_server))
}

fn failed(lines: &[Value]) -> Vec<&str> {
    lines.iter().filter(|line| line["status"] == "fail").map(|line| line["probe"].as_str().unwrap()).collect()
}

#[test]
fn a_server_that_keeps_the_document_passes_every_probe() {
    let folder = TempDir::new().unwrap();
    let (code, lines) = probe(folder.path(), &["--transcript", "visit.jsonl"], &[]);
    assert_fit(&lines, "events-probe");
    assert_eq!((code, failed(&lines)), (Some(0), vec![]), "{lines:#?}");
    assert_eq!(lines.len(), PROBES.len() + 1);
    // What was seen can be judged again, and the server's own log is clean too.
    for log in ["visit.jsonl", "log.jsonl"] {
        clawgate(folder.path()).args(["judge", "--contract", "claws-events", log]).assert().success();
    }
}

#[test]
fn every_probe_fails_of_a_server_that_is_wrong_in_it() {
    for wrong in PROBES {
        let folder = TempDir::new().unwrap();
        let (code, lines) =
            probe(folder.path(), &["--within", "700", "--fail-on", "should", wrong], &["--wrong", wrong]);
        assert_eq!((code, failed(&lines)), (Some(100), vec![wrong]), "{lines:#?}");
        let finding = &lines[0]["finding"];
        assert!(finding["clause"] == lines[0]["clause"] && finding["message"].is_string(), "{finding}");
        assert_fit(&lines, "events-probe");
    }
}

#[test]
fn every_probe_is_a_clause_that_explain_knows() {
    let folder = TempDir::new().unwrap();
    let (_, lines) = probe(folder.path(), &["lv-*"], &[]);
    let clause = lines[0]["clause"].as_str().unwrap();
    let explained = clawgate(ROOT).args(["explain", clause]).assert().success();
    explained.stdout(predicate::str::contains(lines[0]["text"].as_str().unwrap()));
    let (code, _) = probe(folder.path(), &["no-such-probe"], &[]);
    assert_eq!(code, Some(4));
}

/// A server that does what it is told with each connection.
fn hostile(folder: &Path, act: fn(UnixStream)) {
    let listener = UnixListener::bind(folder.join("s")).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || act(stream));
        }
    });
}

fn visited(act: fn(UnixStream), within: &str) -> (Option<i32>, Vec<Value>, String) {
    let folder = TempDir::new().unwrap();
    hostile(folder.path(), act);
    let args = ["events", "probe", "--socket", "s", "--format", "json", "--within", within, "--speed", "100"];
    let output = clawgate(folder.path()).args(args).output().unwrap();
    let lines = crate::support::json_lines(&output.stdout);
    (output.status.code(), lines, String::from_utf8(output.stderr).unwrap())
}

/// What a server does with whoever comes.
type Act = fn(UnixStream);

#[test]
fn a_server_that_lets_nobody_in_fails_the_environment() {
    let cases: [(Act, &str); 5] = [
        (
            |mut stream| {
                // After the hello, so that it is read before the connection ends.
                BufReader::new(&stream).read_line(&mut String::new()).unwrap();
                stream.write_all(b"\xff\xfe garbage\n\0\n").unwrap();
            },
            "no JSON object",
        ),
        (
            |mut stream| {
                let line = vec![b'x'; 65536];
                while stream.write_all(&line).is_ok() {}
            },
            "a line of more than 1 MB",
        ),
        (|stream| drop(stream), "the server closed the connection"),
        (|stream| _ = BufReader::new(stream).lines().count(), "no answer to a hello within 300 ms"),
        (
            |mut stream| {
                while stream.write_all(b"{\"push\":\"message\",\"topic\":\"a\",\"payload\":{}}\n").is_ok() {}
            },
            "a flood",
        ),
    ];
    for (act, reason) in cases {
        // Only silence is waited for; everything else ends the wait, however slow the machine is.
        let within = if reason.contains("300 ms") { "300" } else { "30000" };
        let (code, lines, told) = visited(act, within);
        assert_eq!((code, lines.len()), (Some(3), 0), "{reason}: {told}");
        assert!(told.contains(reason), "{reason}: {told}");
    }
}

/// Lets everybody in and says yes to everything, as many times as it is told; then it does something else.
fn yes(stream: &UnixStream, times: usize) {
    let mut answers = stream.try_clone().unwrap();
    for (at, line) in BufReader::new(stream).lines().map_while(Result::ok).enumerate().take(times) {
        let request: Value = serde_json::from_str(&line).unwrap_or_default();
        let answer = serde_json::json!({"rid": request["id"], "ok": true, "peerId": format!("p{at}")});
        if writeln!(answers, "{answer}").is_err() {
            return;
        }
    }
}

#[test]
fn a_server_that_goes_away_or_floods_breaks_what_could_not_be_tried() {
    for act in [
        (|stream| yes(&stream, 5)) as fn(UnixStream),
        |mut stream| {
            yes(&stream, 3);
            while stream.write_all(b"{\"push\":\"message\",\"topic\":\"a\",\"payload\":{}}\n").is_ok() {}
        },
        // Reads no more.
        |stream| {
            yes(&stream, 3);
            thread::park();
            drop(stream);
        },
    ] {
        let (code, lines, _) = visited(act, "300");
        assert_eq!(code, Some(100));
        assert_fit(&lines, "events-probe");
        assert!(lines.last().unwrap()["trouble"].is_string(), "{lines:#?}");
        assert!(failed(&lines).contains(&"role-delivered"), "{lines:#?}");
    }
    // One that says yes to everything and does nothing is found out.
    let (code, lines, _) = visited(|stream| yes(&stream, usize::MAX), "300");
    assert_eq!(code, Some(100));
    assert!(failed(&lines).len() > 15, "{lines:#?}");
}

#[test]
fn there_is_no_server() {
    let folder = TempDir::new().unwrap();
    let args = ["events", "probe", "--socket", "nothing.sock"];
    let told = predicate::str::contains("start the server").and(predicate::str::contains("os error").not());
    clawgate(folder.path()).args(args).assert().code(3).stderr(told);
    let told = predicate::str::contains("before it listened");
    clawgate(folder.path()).args(args).args(["--", "true"]).assert().code(3).stderr(told);
}

#[test]
fn a_worker_that_is_refused_something_or_keeps_its_orchestrator_waiting_fails() {
    let folder = TempDir::new().unwrap();
    let own = cargo_bin("clawgate");
    let serve = |wrong: &str, orders: &str| {
        fs::write(folder.path().join("orders.toml"), orders).unwrap();
        let mut command = clawgate(folder.path());
        command.env("CLAWS_HEARTBEAT_MS", "200").args([
            "events",
            "serve",
            "--orders",
            "orders.toml",
            "--",
            "env",
        ]);
        command.arg("CLAWGATE_ACT_AS=worker");
        if !wrong.is_empty() {
            command.arg(format!("CLAWGATE_MISBEHAVE={wrong}"));
        }
        command.arg(&own);
        command.assert()
    };
    let approve = "[[order]]\non = \"worker.*.event\"\nwhere = { kind = \"REQUEST\" }\nsend = \"approve\"\n";
    serve("", approve).success().stdout(predicate::str::contains(".complete"));
    serve("worker-skips-phase", approve)
        .code(100)
        .stderr(predicate::str::contains("OBSERVE does not follow SPAWN"));
    let never = "[[order]]\non = \"worker.*.boot\"\n[[order]]\non = \"task.**\"\nwithin_ms = 100\n";
    serve("", never).code(100).stderr(predicate::str::contains("order 2 (line 3) waited 100 ms for task.**"));
    let wrong = "[[order]]\non = \"worker.*.boot\"\nsent = \"approve\"\n";
    serve("", wrong).code(2).stderr(predicate::str::contains("send"));
}

const GOOD: &str = "tests/corpus/claws-events/01-VALID-golden-run.jsonl";

fn findings(folder: &Path, args: &[&str]) -> Vec<String> {
    let output = clawgate(folder).args(args).output().unwrap();
    let line: Value = serde_json::from_slice(&output.stdout).unwrap();
    let clauses = line["findings"].as_array().unwrap().iter();
    clauses.map(|finding| format!("{} {}", finding["level"], finding["clause"]).replace('"', "")).collect()
}

#[test]
fn a_log_that_was_rotated_is_one_log() {
    let folder = TempDir::new().unwrap();
    let text = fs::read_to_string(Path::new(ROOT).join(GOOD)).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let third = lines.len() / 3;
    for (name, part) in [
        ("events.jsonl.2", &lines[..third]),
        ("events.jsonl.1", &lines[third..2 * third]),
        ("events.jsonl", &lines[2 * third..]),
    ] {
        fs::write(folder.path().join(name), part.concat()).unwrap();
    }
    let judge = ["judge", "--format", "json", "--contract", "claws-events", "events.jsonl"];
    let whole = ["judge", "--format", "json", "--contract", "claws-events", GOOD];
    assert_eq!(findings(folder.path(), &judge), findings(Path::new(ROOT), &whole));
    // Also where the folder is named, with another file in it.
    fs::write(folder.path().join("other.jsonl"), &text).unwrap();
    let judge = ["judge", "--format", "json", "--contract", "claws-events", "."];
    let (_, inputs) = said(clawgate(folder.path()).args(judge));
    assert_eq!(inputs.len(), 2, "{inputs:?}");
    assert_eq!(inputs[0]["findings"], inputs[1]["findings"]);
    fs::remove_file(folder.path().join("other.jsonl")).unwrap();
    let watched = |folder: &Path, log: &str| {
        let (code, lines) =
            said(clawgate(folder).args(["events", "watch", log, "--for", "0", "--all", "--format", "json"]));
        (code, lines.len())
    };
    assert_eq!(watched(folder.path(), "events.jsonl"), watched(Path::new(ROOT), GOOD));
    let lives = |folder: &Path, log: &str| {
        let (_, lines) = said(clawgate(folder).args(["events", "timeline", log, "--format", "json"]));
        lines[0]["sessions"].clone()
    };
    assert_eq!(lives(folder.path(), "events.jsonl"), lives(Path::new(ROOT), GOOD));
}

#[test]
fn an_empty_log_is_the_same_finding_everywhere() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("empty.jsonl"), "").unwrap();
    let said_of = |args: &[&str]| {
        let output = clawgate(folder.path()).args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap().contains("claws-events/lg-06")
    };
    assert!(said_of(&["judge", "--contract", "claws-events", "empty.jsonl"]));
    assert!(said_of(&["events", "timeline", "empty.jsonl"]));
    assert!(said_of(&["events", "watch", "--for", "0", "empty.jsonl"]));
    // One that never came is as empty.
    clawgate(folder.path())
        .args(["events", "watch", "--wait", "--for", "0", "never.jsonl"])
        .assert()
        .code(100);
    clawgate(folder.path()).args(["events", "watch", "--for", "0", "never.jsonl"]).assert().code(2);
}

#[test]
fn a_role_that_the_log_does_not_tell_can_be_told() {
    let folder = TempDir::new().unwrap();
    let pause = r#"{"topic":"cmd.p_2.pause","from":"p_1","ts_server":"2026-06-01T09:00:00.000Z","payload":{},"sequence":0}"#;
    fs::write(folder.path().join("log.jsonl"), format!("{pause}\n")).unwrap();
    let judge = ["judge", "--format", "json", "--contract", "claws-events", "log.jsonl"];
    let with = |role: &str| {
        let found = findings(folder.path(), &[&judge[..], &["--role", role]].concat());
        found.into_iter().find(|finding| finding.ends_with("auth-03"))
    };
    let unknown = findings(folder.path(), &judge).into_iter().find(|finding| finding.ends_with("auth-03"));
    assert!(unknown.is_some_and(|finding| !finding.starts_with("must")));
    assert_eq!(with("p_1=orchestrator"), None);
    assert_eq!(with("p_1=observer").as_deref(), Some("must claws-events/auth-03"));
    for wrong in ["p_1=boss", "p_1", "=worker"] {
        clawgate(folder.path()).args(judge).args(["--role", wrong]).assert().code(2);
    }
}
