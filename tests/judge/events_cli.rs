//! Event logs on the command line: `judge`, `events timeline`, `events watch`, and the catalogue.

use std::fs;
use std::io::Write;

use predicates::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

use crate::command::{ROOT, clawgate, corpus, said};
use crate::schema::assert_fit;
use crate::support::{json_lines, process};

const GOOD: &str = "tests/corpus/claws-events/01-VALID-golden-run.jsonl";
const GAP: &str = "tests/corpus/claws-events/34-HB-04-heartbeat-gap.jsonl";
const SPOOF: &str = "tests/corpus/claws-events/19-ENV-14-from-peer-spoof.jsonl";

fn judged(args: &[&str]) -> (i32, Value) {
    let output = clawgate(ROOT)
        .args(["judge", "--format", "json", "--contract", "claws-events"])
        .args(args)
        .output()
        .unwrap();
    (output.status.code().unwrap(), serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn a_log_has_findings_and_no_verdict() {
    let (code, line) = judged(&[GAP]);
    assert_eq!(code, 100);
    assert!(line["verdict"].is_null() && line["run"].is_null());
    assert_eq!(line["findings"][0]["clause"], "claws-events/hb-04");
    assert_eq!(line["findings"][0]["line"], 10);
    assert_eq!(line["findings"][0]["consequences"][0], "claws-events/sy-09 on line 10");
    assert_fit(std::slice::from_ref(&line), "judge");
    assert_eq!(judged(&[GOOD]).0, 0);
}

#[test]
fn the_profile_decides_what_a_spoofed_sender_weighs() {
    assert_eq!(judged(&[SPOOF]).0, 100);
    assert_eq!(judged(&["--profile", "lenient", SPOOF]).0, 100);
    assert_eq!(judged(&["--profile", "origin", SPOOF]).0, 0);
    clawgate(ROOT)
        .args(["judge", "--profile", "loose", SPOOF])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("strict, lenient or origin"));
}

#[test]
fn a_log_is_known_by_its_shape_and_that_is_said() {
    clawgate(ROOT)
        .args(["judge", GOOD])
        .assert()
        .code(0)
        .stdout(predicate::str::contains("every must clause kept"))
        .stdout(predicate::str::contains("(a guess;"));
}

#[test]
fn the_segments_of_a_server_are_one_log_in_their_order() {
    let directory = TempDir::new().unwrap();
    let stream = directory.path().join("events/default");
    fs::create_dir_all(&stream).unwrap();
    let log = fs::read_to_string(GAP).unwrap();
    let lines: Vec<_> = log.lines().collect();
    // By name the tenth segment would come before the second.
    let parts = [("2", &lines[..6]), ("10", &lines[6..])];
    for (number, part) in parts {
        let name = format!("{number}-2026-06-01T09.jsonl");
        fs::write(stream.join(name), format!("{}\n", part.join("\n"))).unwrap();
    }
    fs::write(stream.join("manifest.json"), "{}").unwrap();
    let path = directory.path().join("events");
    let (code, line) = judged(&[path.to_str().unwrap()]);
    assert_eq!(code, 100);
    let findings = line["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0]["line"], 10);
    assert!(findings[0]["message"].as_str().unwrap().ends_with("(line 4 of 10-2026-06-01T09.jsonl)"));
}

#[test]
fn the_timeline_tells_the_story() {
    let output = clawgate(ROOT).args(["events", "timeline", GAP]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap());
    clawgate(ROOT)
        .args(["events", "timeline", "tests/corpus/claws-events/02-VALID-recover-loop.jsonl"])
        .assert()
        .stdout(predicate::str::is_match(r"mean time to recover +\d+ ms .*1 recoveries").unwrap());
    clawgate(ROOT)
        .args(["events", "timeline", "tests/corpus/claws-events/04-VALID-request-and-blocked-answered.jsonl"])
        .assert()
        .stdout(predicate::str::is_match(r"mean answer time +250 ms .*2 answers").unwrap())
        .stdout(predicate::str::contains("REQUEST which shelf first? → approve"));
}

#[test]
fn hostile_text_is_shown_and_obeyed_nowhere() {
    let directory = TempDir::new().unwrap();
    let log = fs::read_to_string(GOOD)
        .unwrap()
        .replace("catalogue the lighthouse logbooks", r"<script>alert(1)</script>\u001b[2J\u202e");
    let path = directory.path().join("log.jsonl");
    fs::write(&path, log).unwrap();
    let page = directory.path().join("page.html");
    clawgate(ROOT)
        .args(["events", "timeline"])
        .arg(&path)
        .arg("--html")
        .arg(&page)
        .assert()
        .code(0)
        .stdout("");
    let page = fs::read_to_string(page).unwrap();
    // One script is ours, and by the page's policy no other runs.
    assert!(
        page.contains("&lt;script&gt;") && page.matches("<script").count() == 1 && !page.contains('\u{1b}')
    );
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("src="));
    let output = clawgate(ROOT).args(["events", "timeline"]).arg(&path).output().unwrap();
    assert!(!output.stdout.contains(&0x1b) && !String::from_utf8_lossy(&output.stdout).contains('\u{202e}'));
}

#[test]
fn watch_reports_what_is_there_and_what_comes() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("log.jsonl");
    let log = fs::read_to_string(SPOOF).unwrap();
    let (head, tail) = log.split_at(log.match_indices('\n').nth(6).unwrap().0 + 20);
    fs::write(&path, head).unwrap();
    let mut child = process(ROOT)
        .args(["events", "watch", "--for", "1.5", "--format", "json"])
        .arg(&path)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(tail.as_bytes()).unwrap();
    let mut output = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut output).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(100));
    let first: Value = serde_json::from_str(output.lines().next().unwrap()).unwrap();
    assert_eq!(first["finding"]["clause"], "claws-events/env-14");
    assert_eq!(first["finding"]["line"], 10);
}

#[test]
fn a_log_that_is_not_there_is_said() {
    for command in ["timeline", "watch"] {
        clawgate(ROOT)
            .args(["events", command, "nowhere.jsonl"])
            .assert()
            .code(2)
            .stderr(predicate::str::contains("nowhere.jsonl: "));
    }
}

#[test]
fn the_catalogue_has_every_clause_and_says_which_are_live_only() {
    clawgate(ROOT).args(["contract", "list"]).assert().stdout(predicate::str::contains("173 clauses"));
    clawgate(ROOT)
        .args(["contract", "show", "claws-events"])
        .assert()
        .stdout(predicate::str::contains("live only").count(4));
    clawgate(ROOT)
        .args(["explain", "claws-events/env-14"])
        .assert()
        .code(0)
        .stdout(predicate::str::contains("breaks it"))
        .stdout(predicate::str::contains("origin  off"));
    clawgate(ROOT)
        .args(["explain", "claws-events/or-01"])
        .assert()
        .code(0)
        .stdout(predicate::str::contains("live only"));
}

/// Every line of a watch against its published form.
fn assert_watch_form(output: &str) -> Vec<Value> {
    let lines = json_lines(output);
    assert_fit(&lines, "events-watch");
    lines
}

/// A watch of a log, from which lines are read as they come.
struct Watching {
    child: std::process::Child,
    lines: std::io::Lines<std::io::BufReader<std::process::ChildStdout>>,
}

impl Watching {
    fn start(log: &std::path::Path) -> Self {
        let mut child = process(ROOT)
            .args(["events", "watch", "--all", "--format", "json"])
            .arg(log)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = std::io::BufReader::new(child.stdout.take().unwrap());
        Self { child, lines: std::io::BufRead::lines(stdout) }
    }

    /// Everything up to the first line that holds this text.
    fn until(&mut self, text: &str) -> String {
        let mut seen = String::new();
        loop {
            let line = self.lines.next().unwrap().unwrap();
            seen.push_str(&line);
            seen.push('\n');
            if line.contains(text) {
                return seen;
            }
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

#[test]
fn watch_prints_what_its_schema_says() {
    let output = clawgate(ROOT)
        .args(["events", "watch", "--all", "--for", "0.2", "--format", "json", SPOOF])
        .output()
        .unwrap();
    let lines = assert_watch_form(&String::from_utf8(output.stdout).unwrap());
    for kind in ["finding", "happening"] {
        assert!(lines.iter().any(|line| line["type"] == kind), "{lines:?}");
    }
}

#[test]
fn watch_goes_on_when_the_log_is_rotated_or_cut() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("log.jsonl");
    let log = fs::read_to_string(GOOD).unwrap();
    let again = log.replace("gull", "tern");
    fs::write(&path, &log).unwrap();
    let mut watching = Watching::start(&path);
    watching.until("left: clean");
    // Cut and written anew in place.
    fs::write(&path, "").unwrap();
    let short = again.lines().take(3).collect::<Vec<_>>().join("\n") + "\n";
    fs::write(&path, short).unwrap();
    let seen = watching.until("booted");
    assert!(seen.contains("tern"), "{seen}");
    drop(watching);

    // Renamed away, and a new file in its place that is longer than the old one.
    fs::write(&path, &log).unwrap();
    let mut watching = Watching::start(&path);
    watching.until("left: clean");
    fs::rename(&path, directory.path().join("log.jsonl.1")).unwrap();
    fs::write(&path, format!("{again}{again}")).unwrap();
    let seen = watching.until("joined as worker tern");
    assert_watch_form(&seen);
}

#[test]
fn watch_goes_on_to_the_next_segment() {
    let directory = TempDir::new().unwrap();
    let log = fs::read_to_string(GAP).unwrap();
    let lines: Vec<_> = log.lines().collect();
    let segment = |number: u32, part: &[&str]| {
        let name = format!("{number:04}-2026-06-01T09.jsonl");
        fs::write(directory.path().join(name), format!("{}\n", part.join("\n"))).unwrap();
    };
    segment(1, &lines[..6]);
    let mut watching = Watching::start(directory.path());
    watching.until("booted");
    segment(2, &lines[6..]);
    let seen = watching.until("claws-events/hb-04");
    assert_watch_form(&seen);
}

#[test]
fn a_recording_of_a_worker_is_judged_as_the_log_that_it_is() {
    let directory = TempDir::new().unwrap();
    let recording = directory.path().join("worker");
    fs::create_dir(&recording).unwrap();
    let facts = r#"{"schema_version":1,"target":"w","target_version":"","scenario":"s","exit":{"code":0}"#;
    fs::copy(SPOOF, recording.join("stdout")).unwrap();
    let path = recording.to_str().unwrap();
    // By its contract's name, and then by what the recording itself says.
    fs::write(recording.join("recording.json"), format!("{facts}}}")).unwrap();
    let (code, line) = judged(&[path]);
    assert_eq!((code, &line["findings"][0]["clause"]), (100, &"claws-events/env-14".into()));
    for (profile, wanted) in [("strict", 100), ("origin", 0)] {
        let says = format!("{facts},\"contract\":\"claws-events\",\"profile\":\"{profile}\"}}");
        fs::write(recording.join("recording.json"), says).unwrap();
        let output = clawgate(ROOT).args(["judge", "--format", "json", path]).output().unwrap();
        let line: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(wanted), "{line}");
        assert_eq!((&line["events"]["profile"], &line["verdict"]), (&profile.into(), &Value::Null));
        assert_eq!(line["contract_detected"], false);
    }
}

#[test]
fn regression_an_empty_log_passed_the_gate() {
    let folder = TempDir::new().unwrap();
    let empty = folder.path().join("empty.jsonl");
    fs::write(&empty, "").unwrap();
    let (code, line) = judged(&[empty.to_str().unwrap()]);
    assert_eq!((code, &line["findings"][0]["clause"]), (100, &"claws-events/lg-06".into()));
    let human = clawgate(ROOT).args(["judge", "--contract", "claws-events"]).arg(&empty).assert().code(100);
    human.stdout(predicate::str::contains("the log holds no record"));
}

#[test]
fn regression_the_21st_finding_of_a_clause_took_its_level_and_not_its_own() {
    let lines = fs::read_to_string(std::path::Path::new(ROOT).join(GOOD)).unwrap();
    let lines: Vec<&str> = lines.lines().take(4).collect();
    let folder = TempDir::new().unwrap();
    let log = folder.path().join("log.jsonl");
    // Who still runs at the end of the log is a note, of a clause that weighs more.
    for workers in [20, 21, 30] {
        let mut text = format!("{}\n", lines[0]);
        for number in 0..workers {
            for (at, line) in lines[1..].iter().enumerate() {
                let line = line.replace("p_000002", &format!("p_{:06}", 2 + number));
                let mut record: Value = serde_json::from_str(&line).unwrap();
                record["sequence"] = (1 + 3 * number + at).into();
                record["ts_server"] = "2026-06-01T09:00:00.802Z".into();
                if record["payload"]["id"].is_string() {
                    record["payload"]["id"] = format!("cd613e30-d8f1-4adf-91b7-{number:06x}{at:06x}").into();
                }
                text += &record.to_string();
                text.push('\n');
            }
        }
        fs::write(&log, text).unwrap();
        let (code, line) = judged(&[log.to_str().unwrap()]);
        let notes: Vec<&Value> = line["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["clause"] == "claws-events/cm-07")
            .collect();
        assert_eq!((code, notes.len()), (0, workers.min(21)), "{line}");
        assert!(notes.iter().all(|one| one["level"] == "note"), "{notes:?}");
    }
}

#[test]
fn the_timeline_is_there_for_programs_too() {
    let output = clawgate(ROOT).args(["events", "timeline", GAP, "--format", "json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let timeline: Value = serde_json::from_slice(&output.stdout).unwrap();
    let lives = timeline["lives"].as_array().unwrap();
    let worker = lives.iter().find(|life| life["role"] == "worker").unwrap();
    let kinds: Vec<_> = worker["entries"].as_array().unwrap().iter().map(|entry| &entry["kind"]).collect();
    assert!(kinds.contains(&&"phase".into()) && kinds.contains(&&"silence".into()), "{kinds:?}");
    let found =
        worker["entries"].as_array().unwrap().iter().find(|entry| entry["kind"] == "finding").unwrap();
    assert_eq!((&found["level"], &found["line"]), (&"must".into(), &10.into()));
}

#[test]
fn judge_watch_and_timeline_agree_on_every_log() {
    let mut logs: Vec<_> = fs::read_dir(corpus("claws-events"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect();
    logs.sort();
    assert_eq!(logs.len(), 40);
    let told = |finding: &Value| format!("{} {} {}", finding["line"], finding["level"], finding["clause"]);
    for log in logs {
        let log = log.to_str().unwrap();
        let (code, judged) = judged(&[log]);
        let mut expected: Vec<_> = judged["findings"].as_array().unwrap().iter().map(told).collect();
        expected.sort();
        let watch = ["events", "watch", log, "--for", "0", "--format", "json"];
        let (watch_code, watched) = said(clawgate(ROOT).args(watch));
        let mut found: Vec<_> = watched.iter().map(|line| told(&line["finding"])).collect();
        found.sort();
        assert_eq!((Some(code), &expected), (watch_code, &found), "{log}");
        let (_, lines) = said(clawgate(ROOT).args(["events", "timeline", log, "--format", "json"]));
        let lives = lines[0]["lives"].as_array().unwrap().iter();
        let entries = lives.flat_map(|life| life["entries"].as_array().unwrap());
        let mut found: Vec<_> = entries
            .chain(lines[0]["about_the_log"].as_array().unwrap())
            .filter(|entry| entry["kind"] == "finding")
            .map(|entry| {
                let clause = entry["text"].as_str().unwrap().split(' ').next().unwrap();
                format!("{} {} \"{clause}\"", entry["line"], entry["level"])
            })
            .collect();
        found.sort();
        assert_eq!(expected, found, "{log}");
    }
}
