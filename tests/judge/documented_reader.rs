//! `run` equals what the documented reader reports, on every stream of the corpus.

use std::fs;

use clawgate::recording::Exit;
use clawgate::stream_json::documented::{Reader, Run, Settings};
use clawgate::stream_json::{Limits, StreamReader};
use serde_json::{Map, Value};

use crate::command::corpus;

/// What `<name>.meta.json` says of the process around a stream.
struct Meta(Map<String, Value>);

impl Meta {
    fn of(stream: &str) -> Self {
        let path = corpus("stream-json").join(stream.replace(".ndjson", ".meta.json"));
        let text = fs::read_to_string(path).unwrap_or_else(|_| "{}".into());
        Self(serde_json::from_str(&text).unwrap())
    }

    fn exit(&self) -> Exit {
        Exit::with_code(self.0.get("exit").map_or(0, |code| code.as_i64().unwrap() as i32))
    }

    fn stderr(&self) -> Vec<u8> {
        match (self.0.get("stderr"), self.0.get("stderr_hex")) {
            (Some(text), _) => text.as_str().unwrap().into(),
            (None, Some(hex)) => {
                let digits = hex.as_str().unwrap().as_bytes().chunks(2);
                digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
            }
            (None, None) => Vec::new(),
        }
    }

    fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        settings.heuristics = self.0.get("heuristic") != Some(&Value::Bool(false));
        let env = self.0.get("env").and_then(|env| env.get("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"));
        settings.background_disabled = env.and_then(Value::as_str) == Some("1");
        settings
    }
}

fn read(stream: &str) -> Run {
    let meta = Meta::of(stream);
    let bytes = fs::read(corpus("stream-json").join(stream)).unwrap();
    let mut documented = Reader::new(meta.settings(), Limits::default());
    let mut reader = StreamReader::default();
    reader.push(&bytes, &mut |line| documented.line(line));
    reader.finish(&mut |line| documented.line(line));
    documented.finish(&meta.exit(), &meta.stderr(), None)
}

/// The lines of `expected.jsonl`: file name and expectation. Lone surrogates become U+FFFD, big numbers stay text.
fn expectations() -> Vec<(String, String)> {
    let text = fs::read_to_string(corpus("stream-json").join("expected.jsonl")).unwrap();
    let expectations: Vec<_> = text
        .lines()
        .map(|line| {
            let mut scanner = clawgate::json::Scanner::default();
            let document = scanner.scan(line).unwrap();
            (document.root().get("file").unwrap().text().unwrap().into_owned(), line.to_owned())
        })
        .collect();
    assert!(expectations.len() > 500, "the corpus is incomplete");
    expectations
}

/// The fields of a run that must agree, as comparable text.
fn comparable(run: &str, events: &str) -> Vec<(String, String)> {
    let mut scanner = clawgate::json::Scanner::default();
    let document = scanner.scan(run).unwrap();
    let root = document.root();
    let mut fields = Vec::new();
    for key in [
        "output",
        "exit_code",
        "error",
        "error_category",
        "input_tokens",
        "output_tokens",
        "api_key_source",
        "succeeded",
        "succeeded_cleanly",
        events,
    ] {
        let node = root.get(key).unwrap_or_else(|| panic!("no {key} in {run}"));
        let value = node.text().map_or_else(|| node.raw().to_owned(), |text| format!("{text:?}"));
        fields.push((key.replace("n_stream_", ""), value));
    }
    let warnings = root.get("warnings").unwrap().items().map(|warning| {
        let text = warning.text().unwrap();
        let by_prefix = ["malformed", "stderr drainer"].into_iter().find(|prefix| text.starts_with(prefix));
        by_prefix.map_or_else(|| text.into_owned(), str::to_owned)
    });
    fields.push(("warnings".into(), format!("{:?}", warnings.collect::<Vec<_>>())));
    fields
}

#[test]
fn every_stream_that_the_documented_reader_reads_gives_the_same_run() {
    let mut wrong = Vec::new();
    for (file, expected) in expectations() {
        if !expected.contains("\"raised\": null") {
            continue;
        }
        let ours = comparable(&serde_json::to_string(&read(&file)).unwrap(), "events");
        let theirs = comparable(&expected, "n_stream_events");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            if ours != theirs {
                wrong.push(format!("{file}: {} is {:.200}, expected {:.200}", ours.0, ours.1, theirs.1));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_stream_that_makes_the_documented_reader_abort_gives_a_result_with_a_warning() {
    let mut seen = 0;
    for (file, expected) in expectations() {
        if expected.contains("\"raised\": null") {
            continue;
        }
        seen += 1;
        let run = read(&file);
        assert!(!run.warnings.is_empty(), "{file}: no warning");
    }
    assert!(seen > 20, "the corpus is incomplete");
}
