//! The labelled event logs: exactly the expected clauses at the expected lines, under each profile, and nothing else.

use std::fmt::Write as _;
use std::fs;

use clawgate::internals::events::Profile;
use clawgate::internals::schema::judge_log;
use clawgate::schema::{ContractSet, Finding};
use serde_json::Value;

use crate::command::corpus;
use crate::files::read_json;
use crate::support::json_lines;

fn contract() -> ContractSet {
    ContractSet::open("claws-events").unwrap_or_else(|error| panic!("{error}"))
}

/// A finding as the index writes it.
fn written(finding: &Finding) -> (u64, String, String) {
    let clause = finding.clause.strip_prefix("claws-events/").unwrap().to_uppercase();
    let severity = match finding.level.name() {
        "must" => "error",
        "should" => "warn",
        other => other,
    };
    (finding.line.unwrap_or(0), clause, severity.to_owned())
}

#[test]
fn every_labelled_log_has_exactly_its_findings_under_every_profile() {
    let set = contract();
    let index: Vec<Value> = read_json(corpus("claws-events/index.json"));
    assert_eq!(index.len(), 40);
    let mut wrong = Vec::new();
    for entry in &index {
        let file = entry["file"].as_str().unwrap();
        let log = fs::read(corpus("claws-events").join(file)).unwrap();
        for profile in Profile::ALL {
            let mut expected: Vec<_> = entry["expected"][profile.name()]
                .as_array()
                .unwrap()
                .iter()
                .map(|finding| {
                    let text = |key: &str| finding[key].as_str().unwrap().to_owned();
                    (finding["line"].as_u64().unwrap(), text("clause"), text("severity"))
                })
                .collect();
            let findings = judge_log(&set, profile, &log);
            let mut found: Vec<_> = findings.iter().map(written).collect();
            expected.sort();
            found.sort();
            if expected != found {
                wrong.push(format!("{file} {profile}: expected {expected:?}\n  found {findings:#?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The findings of a real log under `origin`, with how often each clause is broken.
fn broken(file: &str) -> Vec<(String, usize)> {
    let log = fs::read(corpus("claws-events/real").join(file)).unwrap();
    let mut counts = std::collections::BTreeMap::new();
    for finding in judge_log(&contract(), Profile::Origin, &log) {
        let clause = finding.clause.strip_prefix("claws-events/").unwrap();
        *counts.entry(format!("{} {clause}", finding.level)).or_default() += 1;
    }
    counts.into_iter().collect()
}

#[test]
fn a_server_that_was_killed_and_restarted_is_three_sessions_and_no_fault() {
    assert_eq!(broken("server-log-crash-restart.jsonl"), [("note lg-05".to_owned(), 2)]);
}

/// The real log was made by sending the published server one wrong message after the other. The server's own complaints
/// (`system.malformed.received`) name the same ones: the missing cwd, the phase VERIFY, the wrong kind, severity,
/// request id, tokens, result and envelopes. The rest is what it lets through: repeats, order and silence.
#[test]
fn the_log_of_the_published_server_has_a_known_set_of_findings() {
    let found = broken("server-log-soft.jsonl");
    insta::assert_debug_snapshot!(found);
}

#[test]
fn the_sidecar_of_the_same_run_tells_the_same_story() {
    assert_eq!(broken("sidecar-soft.log"), broken("server-log-soft.jsonl"));
}

#[test]
fn real_logs_are_read_whole() {
    use clawgate::internals::events::{Limits, LogChecker, Observer};
    struct Deaf;
    impl Observer for Deaf {
        fn violation(&mut self, _: clawgate::internals::events::Violation) {}
    }
    for (file, records) in
        [("server-log-crash-restart.jsonl", 30), ("server-log-soft.jsonl", 137), ("sidecar-soft.log", 136)]
    {
        let log = fs::read(corpus("claws-events/real").join(file)).unwrap();
        for size in [1, 7, 4096, log.len()] {
            let mut judge = LogChecker::new(Profile::Origin, Limits::default());
            log.chunks(size).for_each(|chunk| judge.push(chunk, &mut Deaf));
            assert_eq!(judge.finish(&mut Deaf).records, records, "{file} in chunks of {size}");
        }
    }
}

#[test]
fn silence_is_found_by_the_clock_alone() {
    use clawgate::internals::events::Limits;
    use clawgate::internals::schema::EventJudge;
    let set = contract();
    let log = fs::read_to_string(corpus("claws-events/01-VALID-golden-run.jsonl")).unwrap();
    let head: String = log.split_inclusive('\n').take(9).collect();
    let mut judge = EventJudge::new(&set, Profile::Strict, Limits::default());
    judge.push(head.as_bytes(), &mut ());
    let (clock, deadline) = judge.clock();
    let clock = clock.unwrap();
    // The first look is due 30 s after the boot; the heartbeats since then put it off.
    assert!(deadline.unwrap() <= clock + 30_000);
    judge.tick(clock + 29_000, &mut ());
    judge.tick(clock + 31_000, &mut ());
    judge.tick(clock + 90_000, &mut ());
    let (findings, _) = judge.finish(&mut ());
    let found: Vec<_> = findings.iter().map(|f| (f.level.name(), f.clause.as_str(), f.line)).collect();
    assert_eq!(
        found,
        [("must", "claws-events/hb-04", Some(9)), ("note", "claws-events/cm-07", Some(9))],
        "{findings:#?}"
    );
}

fn written_out(lines: &[Value]) -> String {
    lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n"
}

/// The golden run with one value of one line replaced: the findings with their lines, but for notes.
fn edited(line: usize, pointer: &str, value: Value) -> Vec<(u64, String)> {
    let log = fs::read_to_string(corpus("claws-events/01-VALID-golden-run.jsonl")).unwrap();
    let mut lines = json_lines(&log);
    *lines[line - 1].pointer_mut(pointer).unwrap() = value;
    let log = written_out(&lines);
    let findings = judge_log(&contract(), Profile::Strict, log.as_bytes());
    let loud = findings.iter().map(written).filter(|(_, _, severity)| severity != "note");
    loud.map(|(line, clause, _)| (line, clause)).collect()
}

#[test]
fn regression_an_empty_log_was_green() {
    for empty in ["", "\n\n  \n", "{\"type\":\"sidecar.connected\"}\n"] {
        for profile in Profile::ALL {
            let found: Vec<_> =
                judge_log(&contract(), profile, empty.as_bytes()).iter().map(written).collect();
            assert_eq!(found, [(1, "LG-06".to_owned(), "error".to_owned())], "{empty:?} {profile}");
        }
    }
    // What cannot be read has its own finding, and a record is something.
    let clauses = |log: &[u8]| -> Vec<_> {
        judge_log(&contract(), Profile::Strict, log).iter().map(|found| written(found).1).collect()
    };
    assert_eq!(clauses(b"oops\n"), ["LG-01"]);
    assert_eq!(clauses(b"{}\n"), ["LG-02"]);
    assert!(!clauses(b"{\"topic\":\"a.b\",\"payload\":{}}\n").contains(&"LG-06".to_owned()));
}

#[test]
fn regression_a_payload_that_is_no_object_was_only_a_warning() {
    assert_eq!(edited(6, "/topic", "worker.p_000002.phase".into()), []);
    for payload in [Value::Null, "x".into(), 5.into(), Value::Array(Vec::new())] {
        assert_eq!(
            edited(6, "/payload", payload.clone()),
            [(6, "ENV-13".to_owned()), (6, "ENV-01".to_owned())],
            "{payload}"
        );
    }
}

#[test]
fn regression_one_number_far_ahead_was_taken_for_a_restart() {
    assert_eq!(edited(6, "/sequence", 5.into()), []);
    assert_eq!(edited(6, "/sequence", 5.0.into()), []);
    assert_eq!(edited(6, "/sequence", 99.into()), [(6, "LG-03".to_owned())]);
    assert_eq!(edited(6, "/sequence", 3.into()), [(6, "LG-03".to_owned())]);
}

#[test]
fn regression_a_sequence_that_is_no_number_was_not_looked_at() {
    for odd in [Value::Null, (-1).into(), 5.5.into(), "5".into(), Value::Array(Vec::new())] {
        assert_eq!(edited(6, "/sequence", odd.clone()), [(6, "LG-03".to_owned())], "{odd}");
    }
}

#[test]
fn numbers_that_are_given_out_again_after_a_gap_are_a_restart() {
    let log = fs::read_to_string(corpus("claws-events/01-VALID-golden-run.jsonl")).unwrap();
    // The last record leaves one number out, and the server that was killed then gives that one out again.
    let count = log.lines().count() as u64;
    let mut numbers: Vec<u64> = (0..count - 1).collect();
    numbers.push(count);
    let mut lines = json_lines(&log);
    for (line, number) in lines.iter_mut().zip(numbers) {
        line["sequence"] = number.into();
    }
    let heartbeat = |number: u64| {
        serde_json::json!({"topic": "system.heartbeat", "from": "server", "ts_server": "2026-06-01T10:00:00Z",
            "payload": {"peers": 0}, "sequence": number})
    };
    lines.extend((count - 1..count + 3).map(heartbeat));
    let log = written_out(&lines);
    let found: Vec<_> = judge_log(&contract(), Profile::Strict, log.as_bytes()).iter().map(written).collect();
    assert_eq!(found, [(count + 1, "LG-05".to_owned(), "note".to_owned())]);
}

/// A worker's life from boot to complete, as the published server logs it: no joins, no leaves.
fn life(peer: &str, sequence: &mut u64, second: &mut u64) -> String {
    let mut log = String::new();
    let mut say = |fact: &str, data: Value| {
        let (id, number, at) =
            (format!("{:08x}-0000-4000-8000-{:012x}", *sequence, *second), *sequence, *second);
        let stamp = format!("2026-06-01T09:{:02}:{:02}.000Z", at / 60, at % 60);
        *sequence += 1;
        *second += 1;
        let envelope = serde_json::json!({"v": 1, "id": id, "from_peer": peer, "from_name": "w",
            "ts_published": stamp, "schema": format!("worker-{fact}-v1"), "data": data});
        let record = serde_json::json!({"topic": format!("worker.{peer}.{fact}"), "from": peer, "ts_server": stamp,
            "payload": envelope, "sequence": number});
        writeln!(log, "{record}").unwrap();
    };
    say(
        "boot",
        serde_json::json!({"model": "m", "role": "worker", "parent_peer_id": null, "mission_summary": "x",
        "capabilities": [], "cwd": "/", "terminal_id": "1"}),
    );
    let mut prev = Value::Null;
    let mut done = Vec::new();
    for phase in ["PLAN", "SPAWN", "DEPLOY", "OBSERVE", "HARVEST", "CLEANUP", "REFLECT"] {
        done.push(phase);
        say(
            "phase",
            serde_json::json!({"phase": phase, "prev": prev, "transition_reason": "x",
            "phases_completed": done}),
        );
        prev = phase.into();
    }
    say(
        "complete",
        serde_json::json!({"result": "ok", "summary": "s", "artifacts": [], "phases_completed": done}),
    );
    log
}

/// What the published server says of itself; it was started this many seconds ago.
fn uptime(sequence: &mut u64, second: u64, started: u64) -> String {
    let number = *sequence;
    *sequence += 1;
    format!(
        "{{\"topic\":\"system.heartbeat\",\"from\":\"server\",\"ts_server\":\"2026-06-01T09:{:02}:{:02}.000Z\",\"payload\":{{\"uptimeMs\":{}}},\"sequence\":{number}}}\n",
        second / 60,
        second % 60,
        (second - started) * 1000
    )
}

#[test]
fn regression_a_clean_restart_split_the_life_of_a_worker() {
    let (mut sequence, mut second) = (0, 0);
    // The first worker is cut off by the restart; the second has its id, and the uptime comes in the middle of its life.
    let first: String = life("p_000002", &mut sequence, &mut second).split_inclusive('\n').take(5).collect();
    for (gap, line) in [(1, 6), (0, 6)] {
        let (mut sequence, mut second) = (5 + gap, 12);
        let lines = life("p_000002", &mut sequence, &mut second);
        let mut lines: Vec<_> = lines.split_inclusive('\n').map(str::to_owned).collect();
        // Its number comes after its neighbours', as nothing depends on it here.
        lines
            .insert(6, uptime(&mut sequence, 17, 10).replace(&format!(",\"sequence\":{}", sequence - 1), ""));
        let log = format!("{first}{}", lines.concat());
        let found: Vec<_> = judge_log(&contract(), Profile::Origin, log.as_bytes())
            .iter()
            .map(written)
            .filter(|(_, clause, _)| clause != "CM-07")
            .collect();
        assert_eq!(found, [(line, "LG-05".to_owned(), "note".to_owned())], "a gap of {gap}");
    }
}

#[test]
fn regression_a_worker_that_outlived_its_server_had_no_plan() {
    let (mut sequence, mut second) = (0, 0);
    let whole = life("7", &mut sequence, &mut second);
    let mut lines: Vec<_> = whole.split_inclusive('\n').map(str::to_owned).collect();
    // The server is started anew between two phases of a worker that has the id of its terminal.
    let restart =
        uptime(&mut sequence, 5, 4).replace(&format!(",\"sequence\":{}", sequence - 1), ",\"sequence\":0");
    lines.insert(5, restart);
    let renumbered = |lines: &[String]| {
        let mut log = lines[..6].concat();
        for (number, line) in lines[6..].iter().enumerate() {
            let mut value: Value = serde_json::from_str(line).unwrap();
            value["sequence"] = (number + 1).into();
            writeln!(log, "{value}").unwrap();
        }
        log
    };
    let found = |log: &str| -> Vec<_> {
        let found = judge_log(&contract(), Profile::Origin, log.as_bytes());
        found.iter().map(written).filter(|(_, clause, _)| clause != "CM-07").collect()
    };
    assert_eq!(found(&renumbered(&lines)), [(6, "LG-05".to_owned(), "note".to_owned())]);
    // It goes on where it was: a phase that it cannot go to is as wrong as before.
    lines.remove(6);
    let jump = found(&renumbered(&lines));
    assert!(jump.iter().any(|(line, clause, _)| (*line, &**clause) == (7, "PH-05")), "{jump:?}");
}

#[test]
fn regression_many_notes_failed_the_gate() {
    let log = fs::read_to_string(corpus("claws-events/01-VALID-golden-run.jsonl")).unwrap();
    let mut lines = json_lines(&log);
    let event = lines.iter().position(|line| line["topic"] == "worker.p_000002.heartbeat").unwrap();
    for number in 0..60 {
        let mut line = lines[event].clone();
        line["payload"]["id"] = format!("00000000-0000-4000-8000-{number:012x}").into();
        // A clock that is off is a note, each time.
        line["payload"]["ts_published"] = "2026-06-01T08:00:00.000Z".into();
        line.as_object_mut().unwrap().remove("sequence");
        lines.insert(event + 1, line);
    }
    let found = judge_log(&contract(), Profile::Strict, written_out(&lines).as_bytes());
    assert_eq!(found.len(), 21, "{found:#?}");
    assert!(found.iter().all(|finding| finding.level.name() == "note"));
    assert!(found.iter().any(|finding| finding.message == "and 40 more of the same"));
}

#[test]
fn a_missing_part_of_a_log_is_no_missing_heartbeat() {
    let log = fs::read_to_string(corpus("claws-events/01-VALID-golden-run.jsonl")).unwrap();
    let mut lines = json_lines(&log);
    // From the tenth record on everything is two minutes and a hundred records later.
    for line in &mut lines[9..] {
        line["sequence"] = (line["sequence"].as_u64().unwrap() + 100).into();
        for pointer in ["/ts_server", "/payload/ts_published"] {
            if let Some(time) = line.pointer_mut(pointer) {
                *time = time.as_str().unwrap().replace("T09:00:", "T09:02:").into();
            }
        }
    }
    let found: Vec<_> = judge_log(&contract(), Profile::Strict, written_out(&lines).as_bytes());
    assert!(found.iter().all(|finding| finding.level.name() != "must"), "{found:#?}");
    assert!(found.iter().any(|finding| finding.clause.ends_with("lg-07")));
}

#[test]
fn one_record_stamped_back_is_a_clock_that_is_off() {
    for (line, time) in [(9, "2026-06-01T08:00:00.000Z"), (9, "2026-06-01T09:05:00.000Z")] {
        let found = edited(line, "/ts_server", time.into());
        assert!(found.iter().all(|(_, clause)| clause == "LG-04"), "{found:?}");
        assert_eq!(found.len(), 1, "{found:?}");
    }
}

#[test]
fn data_that_is_not_there_is_one_finding() {
    let log = fs::read_to_string(corpus("claws-events/01-VALID-golden-run.jsonl")).unwrap();
    for at in [2, 3, 4, 9, 13] {
        let mut lines = json_lines(&log);
        lines[at]["payload"].as_object_mut().unwrap().remove("data");
        let found: Vec<_> = judge_log(&contract(), Profile::Strict, written_out(&lines).as_bytes());
        let loud: Vec<_> =
            found.iter().filter(|finding| finding.level.name() != "note").map(written).collect();
        assert_eq!(loud, [(at as u64 + 1, "ENV-13".to_owned(), "error".to_owned())], "line {}", at + 1);
    }
}
