//! The Claude contracts against every recording of the Claude CLI.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use clawgate::internals::schema::{Run, judge_output};
use clawgate::recording::Recording;
use clawgate::schema::{ContractSet, Finding, Level};

use crate::command::corpus;

/// Runs that ended well and break a clause all the same, because the program did; with what it did.
const REAL_DEVIATIONS: [(&str, &str, &str); 2] = [
    (
        "2.1.197",
        "sse_trunc_nonstream_fallback_ok",
        "an answer that came without a stream is left out of the usage of the result",
    ),
    ("2.1.197", "fallback_sse_err_then_json_ok", "the same"),
];

fn findings(directory: &Path, sets: &BTreeMap<&str, ContractSet>) -> Vec<Finding> {
    let recording = Recording::open(directory).unwrap_or_else(|error| panic!("{error}"));
    let read = |name: &str| fs::read(directory.join(name)).unwrap_or_default();
    let (stdout, stderr) = (read("stdout"), read("stderr"));
    let argv = &recording.facts.argv;
    let asks = |format: &str| argv.windows(2).any(|pair| pair[0] == "--output-format" && pair[1] == format);
    let contract = match () {
        () if asks("stream-json") => "claude-stream-json",
        () if asks("json") => "claude-json",
        () => return Vec::new(),
    };
    let run = Run::of(&recording.facts);
    judge_output(&sets[contract], &run, Some(recording.facts.exit.clone()), &stdout, Some(&stderr))
}

#[test]
fn no_good_run_of_any_version_breaks_a_must_clause() {
    let open = |name| (name, ContractSet::open(name).unwrap_or_else(|error| panic!("{error}")));
    let sets = BTreeMap::from([open("claude-stream-json"), open("claude-json")]);
    let labels = fs::read_to_string(corpus("claude-2.1.197/labels.json")).unwrap();
    let labels: serde_json::Value = serde_json::from_str(&labels).unwrap();
    let mut wrong = Vec::new();
    let mut judged = 0;
    for version in ["2.1.0", "2.1.100", "2.1.197", "2.1.325"] {
        let directory = corpus(&format!("claude-{version}"));
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if !Recording::is_at(&path) {
                continue;
            }
            let case = path.file_name().unwrap().to_string_lossy().into_owned();
            let label =
                labels.get(&case).and_then(|label| label.get("class")).and_then(serde_json::Value::as_str);
            let stdout = fs::read_to_string(path.join("stdout")).unwrap_or_default();
            let recording = Recording::open(&path).unwrap();
            let evidently_ok = recording.facts.exit.code == Some(0)
                && stdout.contains("\"subtype\":\"success\"")
                && !stdout.contains("\"is_error\":true");
            let is_ok = match label {
                Some(label) if version == "2.1.197" => label == "ok",
                _ => evidently_ok,
            };
            if !is_ok {
                continue;
            }
            judged += 1;
            let found: Vec<_> =
                findings(&path, &sets).into_iter().filter(|finding| finding.level == Level::Must).collect();
            if REAL_DEVIATIONS.iter().any(|(of, name, _)| *of == version && *name == case) {
                let usage = found.iter().all(|finding| finding.clause.contains("/usage-"));
                assert!(usage && !found.is_empty(), "{version} {case}: {found:?}");
                continue;
            }
            wrong.extend(found.iter().map(|finding| {
                format!("{version} {case}: {} {} {:?}", finding.clause, finding.message, finding.line)
            }));
        }
    }
    assert!(wrong.is_empty(), "{} findings:\n{}", wrong.len(), wrong.join("\n"));
    assert!(judged > 100, "only {judged} runs were judged");
}
