//! Verdicts on the labelled captures of the corpus.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use clawgate::classify::Verdict;
use clawgate::judge::{Ending, Judge, Protocol, Settings};
use clawgate::recording::Recording;
use serde_json::Value;

fn corpus(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(folder)
}

fn judge_recording(directory: &Path) -> Verdict {
    let recording = Recording::open(directory).unwrap();
    let mut stderr = Vec::new();
    recording.stderr().unwrap().read_to_end(&mut stderr).unwrap();
    let mut stdout = Vec::new();
    recording.stdout().unwrap().read_to_end(&mut stdout).unwrap();
    let mut judge = Judge::new(Protocol::of_recording(&recording.facts), Settings::default());
    judge.push(&stdout, &mut |_| {});
    judge.finish(&Ending::of_recording(&recording.facts, stderr), &mut |_| {}).verdict
}

fn judge_stream(path: &Path) -> Verdict {
    let meta = fs::read_to_string(path.with_extension("meta.json")).unwrap_or_else(|_| "{}".into());
    let meta: Value = serde_json::from_str(&meta).unwrap();
    let mut ending = Ending::with_code(meta["exit"].as_i64().unwrap_or(0) as i32);
    ending.stderr = meta["stderr"].as_str().unwrap_or_default().into();
    let mut judge = Judge::new(Protocol::ClaudeStream, Settings::default());
    judge.push(&fs::read(path).unwrap(), &mut |_| {});
    judge.finish(&ending, &mut |_| {}).verdict
}

fn labels(folder: &str) -> BTreeMap<String, Value> {
    serde_json::from_str(&fs::read_to_string(corpus(folder).join("labels.json")).unwrap()).unwrap()
}

fn check(folder: &str, at_least: usize, judge: fn(&Path) -> Verdict) {
    let labels = labels(folder);
    assert!(labels.len() >= at_least, "the corpus is incomplete");
    let mut wrong = Vec::new();
    for (name, label) in &labels {
        let verdict = judge(&corpus(folder).join(name));
        let class = label["class"].as_str().unwrap();
        let detail_matters = matches!(class, "api" | "limit") && !label["detail"].is_null();
        let detail_is_wrong = detail_matters && label["detail"].as_str() != verdict.detail.as_deref();
        if verdict.class.name() != class || detail_is_wrong {
            wrong.push(format!(
                "{name}: {:?}, labelled {label}",
                (verdict.class, &verdict.detail, &verdict.evidence)
            ));
        }
        assert!(!verdict.evidence.is_empty(), "{name}: no evidence");
    }
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), labels.len(), wrong.join("\n"));
}

#[test]
fn labelled_streams_get_their_class() {
    check("stream-json", 25, judge_stream);
}

#[test]
fn labelled_recordings_get_their_class() {
    check("claude-2.1.197", 130, judge_recording);
}
