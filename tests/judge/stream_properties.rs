//! Properties that hold for any bytes.

use clawgate::json::Scanner;
use clawgate::judge::{self, Contracts, Ending, Judge, Options, Protocol};
use clawgate::stream_json::Limits;
use proptest::prelude::*;

/// Everything that is concluded of a stream, as text.
fn conclusions(chunks: &[&[u8]], limits: Limits) -> String {
    CONTRACTS.with(|contracts| conclusions_with(contracts, chunks, limits))
}

thread_local! {
    static CONTRACTS: Contracts = Contracts::built_in();
}

fn options(protocol: Protocol, code: i32) -> Options {
    let mut options = Options::with_exit_code(code);
    options.protocol = Some(protocol);
    options
}

fn conclusions_with(contracts: &Contracts, chunks: &[&[u8]], limits: Limits) -> String {
    let mut options = options(Protocol::ClaudeStream, 0);
    options.limits = limits;
    let mut judge = Judge::of_output(None, contracts, &options);
    let mut lines = Vec::new();
    let mut watch = |line: &clawgate::stream_json::Line<'_>| {
        lines.push(format!(
            "{} {:?} {:?}",
            line.number(),
            line.problem(),
            line.message().map(|m| m.text.to_owned())
        ));
    };
    for chunk in chunks {
        judge.push(chunk, &mut watch);
    }
    let judgement = judge.finish(Ending::default(), &mut watch).unwrap();
    let json = clawgate::internals::report::judgement_json("x", &judgement).unwrap();
    format!("{lines:?}\n{json}")
}

/// Bytes that are often nearly a stream.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => prop::sample::select(vec![
            r#"{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"hi?"}],"usage":{"input_tokens":1}}}"#,
            r#"{"type":"result","subtype":"success","is_error":true,"result":"API Error: 429","usage":{"input_tokens":1e3}}"#,
            r#"{"type":"system","subtype":"task_started","task_id":"t","tool_use_id":"u"}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"u","is_error":true}]}}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"u","name":"Task","input":{"run_in_background":true}}]}}"#,
            "\n", "\r", "\r\n", "{", "}", "[", "]", "\"", "\\", "\\ud800", "NaN", "1e999", "\u{feff}", "\u{2028}", "é", ",", ":",
        ]).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..20),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_bytes_give_a_result(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        conclusions(&[&bytes], Limits::default());
    }

    #[test]
    fn any_split_of_the_same_bytes_gives_the_same_result(bytes in stream(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let chunks: Vec<_> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(conclusions(&chunks, Limits::default()), conclusions(&[&bytes], Limits::default()));
    }

    #[test]
    fn splits_do_not_matter_under_tight_limits_either(bytes in stream(), size in 1..40_usize) {
        let mut limits = Limits::default();
        limits.line = 60;
        limits.text = 20;
        limits.samples = 2;
        limits.open = 2;
        let chunks: Vec<_> = bytes.chunks(size).collect();
        prop_assert_eq!(conclusions(&chunks, limits), conclusions(&[&bytes], limits));
    }

    #[test]
    fn what_serde_json_reads_is_read_alike(text in stream().prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())) {
        for line in text.lines() {
            if let Ok(theirs) = serde_json::from_str::<serde_json::Value>(line) {
                let mut scanner = Scanner::default();
                let ours = scanner.scan(line).expect("serde_json reads it").root().to_value();
                prop_assert_eq!(ours, theirs);
            }
        }
    }

    #[test]
    fn any_document_gives_a_verdict(bytes in stream(), code in -1..130_i32) {
        for protocol in [Protocol::ClaudeJson, Protocol::ClaudeText, Protocol::ClawJson, Protocol::ClawText] {
            let judge = |contracts: &Contracts| judge::output(&bytes, contracts, &options(protocol, code));
            let verdict = CONTRACTS.with(judge).unwrap().verdict.unwrap();
            prop_assert!(!verdict.evidence.is_empty());
            prop_assert!(code == 0 || !verdict.is_ok(), "a failed process is never ok");
        }
    }
}

/// Found by fuzzing: several unanswered calls on one line were listed in the order of a hash.
#[test]
fn unanswered_calls_on_one_line_are_listed_in_their_order() {
    let calls: Vec<_> =
        (0..12).map(|i| format!(r#"{{"type":"tool_use","id":"t{i:02}","name":"Bash"}}"#)).collect();
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"x"}"#;
    let stream =
        format!("{{\"type\":\"assistant\",\"message\":{{\"content\":[{}]}}}}\n{result}\n", calls.join(","));
    let judgement = CONTRACTS
        .with(|contracts| judge::output(stream.as_bytes(), contracts, &options(Protocol::ClaudeStream, 0)))
        .unwrap();
    let unanswered =
        judgement.findings.iter().filter(|finding| finding.clause.ends_with("/tool-use-answered"));
    let ids: Vec<_> = unanswered.map(|finding| finding.seen.clone().unwrap()).collect();
    let expected: Vec<_> = (0..12).map(|i| serde_json::json!(format!("t{i:02}"))).collect();
    assert_eq!(ids, expected);
}
