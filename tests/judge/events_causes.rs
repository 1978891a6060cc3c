//! One cause is one finding, and what the published server's own schemas and names allow is none under `origin`.

use std::fs;

use serde_json::{Value, json};

use crate::command::{clawgate, corpus};

/// The golden run of the corpus, a record a line.
fn golden() -> Vec<Value> {
    let text = fs::read_to_string(corpus("claws-events").join("01-VALID-golden-run.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The index of the first record with this topic's end and this phase in its data, if any is asked for.
fn find(log: &[Value], end: &str, phase: Option<&str>) -> usize {
    let is_it = |record: &Value| {
        let topic = record["topic"].as_str().unwrap();
        let has_phase = |phase| record.pointer("/payload/data/phase").is_some_and(|is| is == phase);
        topic.ends_with(end) && phase.is_none_or(has_phase)
    };
    log.iter().position(is_it).unwrap()
}

/// `level clause` of every finding, with `+clause` for what follows from it.
fn judged(mut log: Vec<Value>, reading: &str) -> Vec<String> {
    for (number, record) in log.iter_mut().enumerate() {
        record["sequence"] = json!(number);
    }
    let folder = tempfile::tempdir().unwrap();
    let lines: Vec<String> = log.iter().map(Value::to_string).collect();
    fs::write(folder.path().join("log.jsonl"), lines.join("\n") + "\n").unwrap();
    let output = clawgate(folder.path())
        .args(["judge", "--format", "json", "--contract", "claws-events", "--reading", reading, "log.jsonl"])
        .output()
        .unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let judged: Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = |clause: &str| clause.trim_start_matches("claws-events/").to_owned();
    let told = judged["findings"].as_array().unwrap().iter().map(|finding| {
        let also = finding["consequences"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let also: Vec<String> =
            also.map(|text| format!(" +{}", name(text.split_whitespace().next().unwrap()))).collect();
        let also = also.concat();
        format!("{} {}{also}", finding["level"].as_str().unwrap(), name(finding["clause"].as_str().unwrap()))
    });
    told.collect()
}

#[test]
fn a_worker_that_goes_on_after_its_end_is_told_once() {
    let mut log = golden();
    let spawn = find(&log, ".phase", Some("SPAWN"));
    log[spawn]["payload"]["data"]["phase"] = json!("REFLECT");
    let told = judged(log, "strict");
    let count = |what: &str| told.iter().filter(|finding| finding.ends_with(what)).count();
    assert_eq!((count("ph-06"), count("ph-07"), count("hb-06")), (1, 1, 0), "{told:#?}");
    assert_eq!((count("ph-09"), count("cm-09")), (0, 0), "{told:#?}");
}

#[test]
fn heartbeats_after_the_end_are_told_once() {
    let mut log = golden();
    let beat = log[find(&log, ".heartbeat", None)].clone();
    let reflect = find(&log, ".phase", Some("REFLECT"));
    for number in 0..3 {
        let mut beat = beat.clone();
        beat["ts_server"] = log[reflect]["ts_server"].clone();
        beat["payload"]["ts_published"] = log[reflect]["payload"]["ts_published"].clone();
        beat["payload"]["id"] = json!(format!("00000000-0000-4000-8000-00000000000{number}"));
        beat["payload"]["data"]["current_phase"] = json!("REFLECT");
        log.insert(reflect + 1, beat);
    }
    assert_eq!(judged(log, "strict"), ["should hb-06"]);
}

#[test]
fn a_wrong_phase_is_not_told_again_at_the_next() {
    let mut log = golden();
    let observe = find(&log, ".phase", Some("OBSERVE"));
    log[observe]["payload"]["data"]["phase"] = json!("PLAN");
    let told = judged(log, "strict");
    let graver: Vec<&String> = told.iter().filter(|finding| !finding.starts_with("note")).collect();
    assert_eq!(graver, ["must ph-06"], "{told:#?}");
}

#[test]
fn a_phase_that_was_not_published_is_one_finding() {
    let mut log = golden();
    log.remove(find(&log, ".phase", Some("DEPLOY")));
    let told = judged(log, "strict");
    let musts: Vec<&String> = told.iter().filter(|finding| finding.starts_with("must")).collect();
    assert_eq!(musts, ["must ph-05 +ph-06"], "{told:#?}");
}

#[test]
fn a_phase_on_a_topic_of_nobody_is_one_finding() {
    for topic in ["WORKER.p_000002.PHASE", "worker.p_000009.phase"] {
        let mut log = golden();
        let plan = find(&log, ".phase", Some("PLAN"));
        log[plan]["topic"] = json!(topic);
        let told = judged(log, "strict");
        assert_eq!(told.iter().filter(|finding| finding.starts_with("must")).count(), 1, "{told:#?}");
    }
}

#[test]
fn an_orchestrator_is_nobodys_sub_worker() {
    let mut log = golden();
    let beat = find(&log, ".heartbeat", None);
    log[beat]["payload"]["data"]["active_sub_workers"] = json!(["p_000001"]);
    assert_eq!(judged(log, "strict"), ["should hb-09"]);
}

#[test]
fn names_that_users_give_stand_in_the_published_servers_own_topics() {
    let with = |topic: &str| {
        let mut log = golden();
        let mut record = log[find(&log, ".boot", None)].clone();
        record["topic"] = json!(topic);
        record["from"] = json!("server");
        record["ts_server"] = log[4]["ts_server"].clone();
        record["payload"] = json!({"waveId": "W1"});
        log.insert(5, record);
        log
    };
    assert!(judged(with("wave.W1.lead.boot"), "strict").contains(&"must top-01".to_owned()));
    assert_eq!(judged(with("wave.W1.lead.boot"), "origin"), ["note top-01"]);
    assert!(judged(with("wave..lead.boot"), "origin").contains(&"must top-01".to_owned()));
    assert!(judged(with("Worker.p_000002.event"), "origin").contains(&"must top-01".to_owned()));
}

#[test]
fn the_published_schemas_know_a_number_in_the_envelope() {
    for (value, is_sound) in [(json!(7), true), (json!(-1), false), (json!(1.5), false), (json!(null), false)]
    {
        let mut log = golden();
        let beat = find(&log, ".heartbeat", None);
        log[beat]["payload"]["sequence"] = value.clone();
        let expected: &[&str] = if is_sound { &[] } else { &["must lg-03"] };
        assert_eq!(judged(log.clone(), "origin"), expected, "{value}");
        assert!(judged(log, "strict").is_empty(), "the document does not know the field: {value}");
    }
}

#[test]
fn only_the_data_says_under_origin_what_a_command_answers() {
    let text = fs::read_to_string(corpus("claws-events").join("04-VALID-request-and-blocked-answered.jsonl"));
    let mut log: Vec<Value> = text.unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let approve = find(&log, ".approve", None);
    log[approve]["payload"]["correlation_id"] = json!("00000000-0000-4000-8000-000000000025");
    assert!(judged(log.clone(), "strict").contains(&"must cd-18".to_owned()));
    assert_eq!(judged(log, "origin"), ["note cd-18"]);
}
