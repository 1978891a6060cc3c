//! Verdicts on the labelled captures of the corpus.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clawgate::classify::Verdict;
use clawgate::judge::{self, Contracts, Options, Protocol};
use clawgate::recording::Recording;
use serde_json::Value;

use crate::command::corpus;
use crate::files::read_json;

thread_local! {
    /// Opening the contracts takes longer than a verdict.
    static CONTRACTS: Contracts = Contracts::built_in();
}

fn verdict_on(protocol: Protocol, stdout: &[u8], mut options: Options) -> Verdict {
    options.protocol = Some(protocol);
    CONTRACTS.with(|contracts| judge::output(stdout, contracts, &options)).unwrap().verdict.unwrap()
}

fn judge_recording(directory: &Path) -> Verdict {
    let recording = Recording::open(directory).unwrap();
    let judge = |contracts: &Contracts| judge::recording(&recording, contracts, &Options::default());
    CONTRACTS.with(judge).unwrap().verdict.unwrap()
}

fn judge_stream(path: &Path) -> Verdict {
    let meta = fs::read_to_string(path.with_extension("meta.json")).unwrap_or_else(|_| "{}".into());
    let meta: Value = serde_json::from_str(&meta).unwrap();
    let mut options = Options::with_exit_code(meta["exit"].as_i64().unwrap_or(0) as i32);
    options.stderr = meta["stderr"].as_str().map(Into::into);
    verdict_on(Protocol::ClaudeStream, &fs::read(path).unwrap(), options)
}

fn labels(folder: &str) -> BTreeMap<String, Value> {
    read_json(corpus(folder).join("labels.json"))
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

/// The recordings below a folder of the corpus.
fn recordings(folder: &str) -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(corpus(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("recording.json").is_file())
        .collect();
    found.sort();
    assert!(!found.is_empty(), "the corpus is incomplete");
    found
}

const CLAW: [&str; 4] = ["claw-rust-head", "claw-rust-69c326c2", "claw-py-97c4b130", "claw-py-71830d7d"];

#[test]
fn every_capture_is_read() {
    let folders = ["claude-1.0.128", "claude-2.1.0", "claude-2.1.100", "claude-2.1.197", "claude-2.1.325"];
    let all: Vec<_> = folders.iter().chain(&CLAW).flat_map(|folder| recordings(folder)).collect();
    assert!(all.len() > 900);
    for recording in all {
        assert!(!judge_recording(&recording).evidence.is_empty(), "{}", recording.display());
    }
}

/// Whether an envelope reports a failure, told without the code under test.
fn is_error_envelope(envelope: &Value) -> bool {
    let says = |key: &str| envelope[key] == "error";
    let error = &envelope["error"];
    says("type")
        || says("status")
        || says("kind")
        || envelope["ok"] == false
        || (!error.is_null() && error != "")
}

#[test]
fn error_envelopes_of_claw_are_never_ok_and_successes_always() {
    let (mut errors, mut successes) = (0, 0);
    for recording in CLAW.iter().flat_map(|folder| recordings(folder)) {
        let facts = Recording::open(&recording).unwrap().facts;
        let stdout = fs::read(recording.join("stdout")).unwrap();
        let Ok(envelope @ Value::Object(_)) = serde_json::from_slice::<Value>(&stdout) else { continue };
        let class = judge_recording(&recording).class.name();
        if is_error_envelope(&envelope) {
            errors += 1;
            assert_ne!(class, "ok", "{}", recording.display());
        } else if facts.exit.code == Some(0) {
            successes += 1;
            assert_eq!(class, "ok", "{}", recording.display());
        } else {
            assert_ne!(class, "ok", "{}", recording.display());
        }
    }
    assert!(errors > 150 && successes > 200, "{errors} errors, {successes} successes");
}

/// Judges an envelope of claw in JSON mode.
fn claw(envelope: &str, code: i32) -> Verdict {
    verdict_on(Protocol::ClawJson, envelope.as_bytes(), Options::with_exit_code(code))
}

#[test]
fn the_kinds_of_claw_have_class_and_retry() {
    for (kind, class, retryable) in [
        ("parse", "usage", false),
        ("usage", "usage", false),
        ("cli_parse", "usage", false),
        ("command_not_found", "not_found", false),
        ("config_error", "usage", false),
        ("unknown_option", "usage", false),
        ("session_not_found", "not_found", false),
        ("tool_not_found", "not_found", false),
        ("plugin_source_not_found", "not_found", false),
        ("filesystem", "error", true),
        ("runtime", "error", false),
        ("session", "error", false),
        ("mcp", "error", false),
        ("delivery", "error", false),
        ("unknown", "error", false),
        ("a_kind_of_tomorrow", "error", false),
        ("auth", "auth", false),
        ("auth_error", "auth", false),
        ("api_auth_error", "auth", false),
        ("missing_credentials", "auth", false),
        ("api_rate_limit_error", "rate_limit", true),
        ("api_http_error", "api", false),
        ("model_error", "api", false),
        ("permission_denied", "permission", false),
        ("policy", "permission", false),
        ("timeout", "timeout", true),
    ] {
        let flat = claw(&format!(r#"{{"type":"error","error":"x","kind":"{kind}","hint":"try y"}}"#), 1);
        let nested = claw(
            &format!(
                r#"{{"command":"c","exit_code":1,"error":{{"kind":"{kind}","message":"x","hint":"try y"}}}}"#
            ),
            1,
        );
        for verdict in [flat, nested] {
            assert_eq!((verdict.class.name(), verdict.retryable), (class, retryable), "{kind}");
            let fields = verdict.claw.unwrap();
            assert_eq!((fields.kind.as_deref(), fields.hint.as_deref()), (Some(kind), Some("try y")));
        }
        // What the envelope says beats the table, but what was typed wrong or does not exist stays so.
        let says = claw(&format!(r#"{{"error":{{"kind":"{kind}","retryable":{}}}}}"#, !retryable), 1);
        let is_final = matches!(class, "usage" | "not_found");
        assert_eq!(says.retryable, !retryable && !is_final, "{kind}");
    }
}

#[test]
fn kinds_of_the_api_that_nobody_wrote_down_are_read_by_their_words() {
    for (kind, expected, retryable) in [
        ("model_not_found", "api/model_not_found", false),
        ("model_overloaded", "api/overloaded", true),
        ("api_timeout", "api/connection", true),
        ("api_server_error", "api/server_error", true),
        ("api_permission_error", "auth", false),
        ("api_rate_limited_rate_limit", "rate_limit", true),
        ("api_something", "api/unknown", false),
    ] {
        let verdict = claw(&format!(r#"{{"type":"error","error":"x","kind":"{kind}"}}"#), 1);
        assert_eq!((named(&verdict), verdict.retryable), (expected.to_owned(), retryable), "{kind}");
    }
}

/// The class with its detail.
fn named(verdict: &Verdict) -> String {
    let detail = verdict.detail.as_ref().map(|detail| format!("/{detail}")).unwrap_or_default();
    format!("{}{detail}", verdict.class)
}

#[test]
fn http_errors_of_claw_are_named_by_their_status() {
    for (status, class, detail, retryable) in [
        (401, "auth", None, false),
        (403, "auth", None, false),
        (429, "rate_limit", None, true),
        (404, "api", Some("model_not_found"), false),
        (400, "api", Some("invalid_request"), false),
        (500, "api", Some("server_error"), true),
        (529, "api", Some("overloaded"), true),
    ] {
        let verdict = claw(
            &format!(r#"{{"type":"error","kind":"api_http_error","error":"api returned {status} x"}}"#),
            1,
        );
        assert_eq!(
            (verdict.class.name(), verdict.detail.as_deref(), verdict.retryable),
            (class, detail, retryable)
        );
    }
}

#[test]
fn a_session_is_reused_after_a_timeout_only_when_the_cancel_was_observed() {
    for (observed, safe) in [("true", true), ("false", false)] {
        let verdict =
            claw(&format!(r#"{{"final_stop_reason":"timeout","final_cancel_observed":{observed}}}"#), 2);
        assert_eq!((verdict.class.name(), verdict.detail.as_deref()), ("timeout", Some("engine")));
        let fields = verdict.claw.unwrap();
        assert_eq!((fields.cancel_observed, fields.safe_to_reuse_session), (Some(safe), Some(safe)));
    }
    let silent = claw(r#"{"final_stop_reason":"timeout"}"#, 2).claw.unwrap();
    assert_eq!((silent.cancel_observed, silent.safe_to_reuse_session), (Some(false), Some(false)));
    assert_eq!(silent.kind.as_deref(), Some("timeout"));
    let fine = claw(r#"{"session_id":"s","loaded":true}"#, 0).claw.unwrap();
    assert_eq!((fine.session_id.as_deref(), fine.safe_to_reuse_session), (Some("s"), None));
}

/// Every arm of the document's handler, by an input that takes it and one beside it that does not.
#[test]
fn each_arm_of_the_handler_has_its_kind() {
    let parse_failure = Some("parse_failure");
    for (stdout, code, kind) in [
        ("{\"a\":1}\n", 0, None),
        ("usage: claw\n", 0, parse_failure),
        ("", 1, parse_failure),
        ("", 101, parse_failure),
        ("{\"a\":1}\n{\"type\":\"error\",\"kind\":\"runtime\",\"error\":\"x\"}\n", 1, parse_failure),
        ("{\"type\":\"error\",\"kind\":\"runtime\",\"error\":\"x\"}\n", 1, Some("runtime")),
        ("{\"type\":\"error\",\"kind\":\"runtime\",\"error\":\"x\"}\n", 7, Some("unexpected_exit_code")),
        ("{\"a\":1}\n", 101, Some("unexpected_exit_code")),
        ("{\"a\":1}\n", 1, Some("unknown")),
        ("{\"kind\":\"status\"}\n", 1, Some("status")),
        ("{\"a\":1}\n", 2, Some("timeout")),
    ] {
        let verdict = claw(stdout, code);
        let fields = verdict.claw.unwrap();
        assert_eq!(fields.kind.as_deref(), kind, "{stdout:?} exit {code}");
        let hint = fields.hint.as_deref();
        assert_eq!(hint.is_some_and(|hint| hint.contains("--output-format json")), kind == parse_failure);
        assert_eq!(fields.message.is_some(), kind.is_some(), "{stdout:?} exit {code}");
    }
    let ended = |exit: &str, stdout: &str| {
        let claw = r#","contract":"claw-flat","argv":["claw","status","--output-format","json"]"#;
        recorded(stdout, exit, "", claw)
    };
    let impatient = ended(r#"{"signal":9,"timed_out":"wall"}"#, "{\"a\":");
    assert!(impatient.retryable);
    assert_eq!(impatient.claw.unwrap().kind.as_deref(), Some("subprocess_timeout"));
    let late = ended(r#"{"signal":9,"timed_out":"after-result"}"#, "{\"a\":1}\n");
    assert_eq!((late.class.name(), late.claw.unwrap().kind), ("ok", None));
    let killed = ended(r#"{"signal":11}"#, "{\"type\":\"error\",\"kind\":\"parse\",\"error\":\"x\"}\n");
    assert_eq!(killed.claw.unwrap().kind.as_deref(), Some("unexpected_exit_code"));
    let absent = ended(r#"{"spawn_error":{"kind":"missing","message":"no such file"}}"#, "");
    assert_eq!((absent.class.name(), absent.claw.unwrap().kind), ("spawn", None));
}

#[test]
fn a_session_is_named_wherever_the_envelope_says_which() {
    for (envelope, session) in [
        (r#"{"type":"error","kind":"session_not_found","error":"x","session_id":"s"}"#, Some("s")),
        (r#"{"error":{"kind":"session_not_found","session_id":"s"}}"#, Some("s")),
        (r#"{"name":"s","found":false,"error":{"kind":"session_not_found"}}"#, Some("s")),
        (r#"{"error":{"kind":"session_not_found","target":"s"}}"#, Some("s")),
        (r#"{"name":"add-dir","found":false,"error":{"kind":"command_not_found"}}"#, None),
        (r#"{"error":{"kind":"filesystem","target":"/tmp"}}"#, None),
    ] {
        let verdict = claw(envelope, 1);
        assert_eq!(verdict.claw.unwrap().session_id.as_deref(), session, "{envelope}");
    }
    let resource = claw(r#"{"kind":"agents","status":"error","message":"no such agent"}"#, 1).claw.unwrap();
    assert_eq!(resource.message.as_deref(), Some("no such agent"));
}

#[test]
fn a_bootstrap_whose_turn_timed_out_is_a_timeout() {
    let bootstrap = |stop: &str, observed: bool| {
        format!(r#"{{"prompt":"x","turn":{{"stop_reason":"{stop}","cancel_observed":{observed}}}}}"#)
    };
    let verdict = claw(&bootstrap("timeout", true), 2);
    assert_eq!((named(&verdict).as_str(), verdict.retryable), ("timeout/engine", true));
    let fields = verdict.claw.unwrap();
    assert_eq!((fields.kind.as_deref(), fields.safe_to_reuse_session), (Some("timeout"), Some(true)));
    assert_eq!(claw(&bootstrap("timeout", false), 2).claw.unwrap().safe_to_reuse_session, Some(false));
    assert_eq!(claw(&bootstrap("completed", false), 0).class.name(), "ok");
    let turns = r#"{"turns":[{"cancel_observed":false},{"cancel_observed":true}]}"#;
    assert_eq!(claw(turns, 2).claw.unwrap().cancel_observed, Some(true), "of the last turn");
}

#[test]
fn an_output_of_claw_that_is_not_one_document_is_a_protocol_failure() {
    for (stdout, code, class) in [
        ("", 0, "protocol"),
        ("{\"a\":1}\n{\"b\":2}\n", 0, "protocol"),
        ("Allow? {\"a\":1}\n", 0, "protocol"),
        ("[1]\n", 0, "protocol"),
        ("{\"a\":1}\n", 7, "protocol"),
        ("{\"type\":\"error\",\"error\":\"x\"}\n", 139, "protocol"),
        ("{\"a\":1}\n", 139, "crash"),
        ("{\"a\":1}\n", 1, "crash"),
        ("{\"a\":1}\n", 2, "timeout"),
        ("{\"a\":1,\"stop_reason\":\"completed\"}\n", 2, "crash"),
        ("{\"type\":\"error\",\"kind\":\"parse\",\"error\":\"x\"}\n", 2, "usage"),
        ("{\"a\":1}\n", 0, "ok"),
        ("{\"a\":NaN}\n", 0, "ok"),
    ] {
        assert_eq!(claw(stdout, code).class.name(), class, "{stdout:?} exit {code}");
    }
}

/// Judges a stream with a given end.
fn stream(lines: &[&str], exit: &str, stderr: &str) -> Verdict {
    let argv = r#","argv":["claude","--output-format","stream-json"]"#;
    recorded(&lines.join("\n"), exit, stderr, argv)
}

/// Judges an output with a given end and further fields of its recording.
fn recorded(stdout: &str, exit: &str, stderr: &str, more: &str) -> Verdict {
    let facts = format!(
        r#"{{"schema_version":1,"target":"claude","target_version":"x","scenario":"s","exit":{exit}{more}}}"#
    );
    let facts = clawgate::recording::Facts::parse(facts.as_bytes()).unwrap();
    let recording = Recording::new(facts, stdout.into(), stderr.into());
    let judge = |contracts: &Contracts| judge::recording(&recording, contracts, &Options::default());
    CONTRACTS.with(judge).unwrap().verdict.unwrap()
}

const INIT: &str = r#"{"type":"system","subtype":"init","model":"m"}"#;
const SAID: &str =
    r#"{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"Done."}]}}"#;
const DONE: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"Done.","num_turns":1,"stop_reason":"end_turn"}"#;

/// One row for each class and detail, with what triggers it; beside each what nearly does.
#[test]
#[expect(clippy::too_many_lines, reason = "the table of verdicts is as long as it is")]
fn every_row_of_the_table_fires_and_holds_back() {
    let failed = |fields: &str| {
        format!(r#"{{"type":"result","subtype":"success","is_error":true,"num_turns":1,{fields}}}"#)
    };
    let done = |fields: &str| {
        format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"result":"Done.","num_turns":1,{fields}}}"#
        )
    };
    let rows: Vec<(&str, Vec<String>, &str, &str)> = vec![
        ("ok", vec![INIT.into(), SAID.into(), DONE.into()], r#"{"code":0}"#, ""),
        ("ok", vec![INIT.into(), SAID.into(), DONE.into()], r#"{"code":0}"#, "a warning on stderr"),
        ("ok", vec![SAID.into(), DONE.into()], r#"{"signal":9,"timed_out":"after-result"}"#, ""),
        ("ok", vec![SAID.into(), DONE.into()], r#"{"timed_out":"wall"}"#, ""),
        ("harness/port", vec![], r#"{"spawn_error":{"kind":"port","message":"in use"}}"#, ""),
        ("spawn/not_found", vec![], r#"{"spawn_error":{"kind":"not_found","message":"no such file"}}"#, ""),
        ("timeout/wall", vec![INIT.into()], r#"{"timed_out":"wall"}"#, ""),
        ("timeout/idle", vec![INIT.into()], r#"{"signal":9,"timed_out":"idle"}"#, ""),
        ("timeout/first-event", vec![], r#"{"signal":9,"timed_out":"first-event"}"#, ""),
        ("timeout/wall", vec![INIT.into()], r#"{"code":124}"#, ""),
        ("timeout/wall", vec![SAID.into(), DONE.into(), INIT.into(), SAID.into()], r#"{"timed_out":"wall"}"#, ""),
        ("crash/signal", vec![INIT.into()], r#"{"signal":11}"#, ""),
        ("crash/signal", vec![INIT.into()], r#"{"code":143}"#, ""),
        ("crash/panic", vec![], r#"{"code":101}"#, "thread 'main' panicked"),
        ("crash/exit-code", vec![SAID.into(), DONE.into()], r#"{"code":1}"#, ""),
        ("crash/exit-code", vec![SAID.into(), DONE.into()], r#"{"code":130}"#, ""),
        ("crash/exit-code", vec![SAID.into(), DONE.into()], r#"{"code":255}"#, ""),
        ("crash/exit-code", vec![SAID.into(), DONE.into()], r#"{"signal":11}"#, ""),
        ("ok", vec![SAID.into(), DONE.into()], r#"{"code":124}"#, ""),
        ("ok", vec![SAID.into(), DONE.into()], r#"{"code":143,"timed_out":"after-result"}"#, ""),
        ("auth", vec![failed(r#""api_error_status":401,"result":"x""#)], r#"{"code":255}"#, ""),
        ("usage", vec![], r#"{"code":1}"#, "error: unknown option"),
        ("usage", vec![INIT.into()], r#"{"code":1}"#, "Error: tool not found"),
        (
            "usage",
            vec![r#"{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"errors":["No conversation"]}"#.into()],
            r#"{"code":1}"#,
            "",
        ),
        ("protocol", vec!["Hello, world".into()], r#"{"code":0}"#, ""),
        ("protocol", vec![r#"{"no":"type"}"#.into()], r#"{"code":0}"#, ""),
        ("truncated", vec![INIT.into(), SAID.into()], r#"{"code":0}"#, ""),
        ("truncated", vec![], r#"{"code":0}"#, ""),
        ("truncated", vec![SAID.into(), DONE.into(), SAID.into()], r#"{"code":0}"#, ""),
        ("truncated/response", vec![SAID.into(), done(r#""stop_reason":null"#)], r#"{"code":0}"#, ""),
        ("truncated/response", vec![SAID.into(), done(r#""stop_reason":"pause_turn""#)], r#"{"code":0}"#, ""),
        ("ok", vec![SAID.into(), done(r#""stop_reason":"pause_turn""#), SAID.into(), DONE.into()], r#"{"code":0}"#, ""),
        ("crash/exit-code", vec![SAID.into(), done(r#""stop_reason":null"#)], r#"{"code":1}"#, ""),
        (
            "interrupted",
            vec![r#"{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":1,"terminal_reason":"aborted_streaming"}"#.into()],
            r#"{"code":0}"#,
            "",
        ),
        ("limit/max_turns", vec![r#"{"type":"result","subtype":"error_max_turns","is_error":false}"#.into()], r#"{"code":0}"#, ""),
        ("limit/budget", vec![r#"{"type":"result","subtype":"error_max_budget_usd","is_error":true}"#.into()], r#"{"code":1}"#, ""),
        (
            "limit/structured_output",
            vec![r#"{"type":"result","subtype":"error_max_structured_output_retries","is_error":true}"#.into()],
            r#"{"code":1}"#,
            "",
        ),
        (
            "rate_limit",
            vec![r#"{"type":"result","subtype":"error_max_turns","is_error":true,"result":"API Error (429)"}"#.into()],
            r#"{"code":1}"#,
            "",
        ),
        ("rate_limit", vec![failed(r#""api_error_status":429,"result":"x""#)], r#"{"code":1}"#, ""),
        ("rate_limit", vec![failed(r#""result":"You've hit your limit · resets 1am""#)], r#"{"code":1}"#, ""),
        ("auth", vec![failed(r#""api_error_status":401,"result":"x""#)], r#"{"code":1}"#, ""),
        ("auth", vec![failed(r#""result":"Not logged in · Please run /login""#)], r#"{"code":1}"#, ""),
        ("auth", vec![failed(r#""api_error_status":403,"result":"429""#)], r#"{"code":1}"#, ""),
        ("api/overloaded", vec![failed(r#""api_error_status":529,"result":"x""#)], r#"{"code":1}"#, ""),
        ("api/server_error", vec![failed(r#""api_error_status":500,"result":"x""#)], r#"{"code":1}"#, ""),
        ("api/connection", vec![failed(r#""result":"API Error: Unable to connect to API (ECONNRESET)""#)], r#"{"code":1}"#, ""),
        ("api/invalid_request", vec![failed(r#""api_error_status":400,"result":"max_tokens: 4290000 > 64000""#)], r#"{"code":1}"#, ""),
        ("api/model_not_found", vec![failed(r#""api_error_status":404,"result":"x""#)], r#"{"code":1}"#, ""),
        ("api/billing", vec![failed(r#""result":"Credit balance is too low""#)], r#"{"code":1}"#, ""),
        (
            "api/context_window",
            vec![failed(r#""api_error_status":400,"result":"Prompt is too long · the request is ~204291 tokens""#)],
            r#"{"code":1}"#,
            "",
        ),
        ("api/max_output_tokens", vec![failed(r#""result":"x","stop_reason":"max_tokens""#)], r#"{"code":1}"#, ""),
        ("api/refusal", vec![failed(r#""result":"x","stop_reason":"refusal""#)], r#"{"code":1}"#, ""),
        ("api/refusal", vec![SAID.into(), done(r#""stop_reason":"refusal""#)], r#"{"code":0}"#, ""),
        ("api/unknown", vec![failed(r#""result":"something odd""#)], r#"{"code":1}"#, ""),
        ("not_found", vec![r#"{"type":"result","subtype":"success","is_error":false,"num_turns":0,"result":"Unknown command: /x","stop_reason":null}"#.into()], r#"{"code":0}"#, ""),
        (
            "ok",
            vec![SAID.into(), r#"{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"Unknown command: /x","stop_reason":"end_turn"}"#.into()],
            r#"{"code":0}"#,
            "",
        ),
        ("blocked/hook", vec![SAID.into(), done(r#""terminal_reason":"hook_stopped""#)], r#"{"code":0}"#, ""),
        (
            "blocked/hook",
            vec![r#"{"type":"system","subtype":"informational","prevent_continuation":true}"#.into(), SAID.into(), DONE.into()],
            r#"{"code":0}"#,
            "",
        ),
        ("interactive", vec![SAID.into(), done(r#""stop_reason":"end_turn","result":"Which one?""#)], r#"{"code":0}"#, ""),
        (
            "background-task",
            vec![
                r#"{"type":"system","subtype":"task_started","task_id":"t","is_backgrounded":true}"#.into(),
                SAID.into(),
                DONE.into(),
            ],
            r#"{"code":0}"#,
            "",
        ),
        (
            "ok",
            vec![
                r#"{"type":"system","subtype":"task_started","task_id":"t","is_backgrounded":true}"#.into(),
                r#"{"type":"system","subtype":"task_notification","task_id":"t","status":"completed"}"#.into(),
                SAID.into(),
                DONE.into(),
            ],
            r#"{"code":0}"#,
            "",
        ),
        ("permission", vec![SAID.into(), done(r#""permission_denials":[{"tool_name":"Bash"}]"#)], r#"{"code":0}"#, ""),
        ("no_output", vec![r#"{"type":"result","subtype":"success","is_error":false,"result":"","num_turns":1}"#.into()], r#"{"code":0}"#, ""),
        ("ok", vec![r#"{"type":"result","subtype":"success","is_error":false,"result":"","num_turns":0,"stop_reason":null}"#.into()], r#"{"code":0}"#, ""),
    ];
    let mut wrong = Vec::new();
    for (expected, lines, exit, stderr) in rows {
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        let verdict = stream(&lines, exit, stderr);
        let got = named(&verdict);
        if got != expected {
            wrong.push(format!("{got}, expected {expected}: {lines:?} {exit} {:?}", verdict.evidence));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is only told in a way that is easily overlooked.
#[test]
fn what_is_told_once_is_not_overlooked() {
    let failed =
        |text: &str| format!(r#"{{"type":"result","subtype":"success","is_error":true,"result":"{text}"}}"#);
    for (text, class) in [
        ("HTTP429", "rate_limit"),
        ("429_TOO_MANY_REQUESTS", "rate_limit"),
        ("403Forbidden", "auth"),
        ("OAuth error", "auth"),
        ("4290000 is no status, nor is 1403", "api"),
    ] {
        assert_eq!(stream(&[SAID, &failed(text)], r#"{"code":1}"#, "").class.name(), class, "{text}");
    }

    let refused = r#"{"type":"assistant","error":"rate_limit","message":{"model":"<synthetic>","content":[{"type":"text","text":"x"}]}}"#;
    assert_eq!(stream(&[INIT, refused, DONE], r#"{"code":0}"#, "").class.name(), "rate_limit");
    assert_eq!(stream(&[INIT, refused, SAID, DONE], r#"{"code":0}"#, "").class.name(), "ok");

    let launch = r#"{"type":"assistant","message":{"model":"m","content":[{"type":"tool_use","id":"t1","name":"Agent","input":{"run_in_background":true}}]}}"#;
    let started = r#"{"type":"system","subtype":"task_started","task_id":"k1","tool_use_id":"t1"}"#;
    let answered = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"It runs now."}]}}"#;
    let stopped = r#"{"type":"system","subtype":"task_notification","task_id":"k1","tool_use_id":"t1","status":"stopped"}"#;
    let completed = r#"{"type":"system","subtype":"task_notification","task_id":"k1","tool_use_id":"t1","status":"completed"}"#;
    for (end, class) in [(stopped, "background-task"), (INIT, "background-task"), (completed, "ok")] {
        let lines = [INIT, launch, started, answered, end, SAID, DONE];
        assert_eq!(stream(&lines, r#"{"code":0}"#, "").class.name(), class, "{end}");
    }
}

/// What an envelope of claw does not say in so many words.
#[test]
fn an_envelope_of_claw_is_read_as_its_document_says() {
    for (envelope, code, class, kind) in [
        (r#"{"name":"x","found":false}"#, 1, "not_found", Some("not_found")),
        (r#"{"name":"x","found":false,"status":"ok"}"#, 0, "ok", None),
        (r#"{"session_id":"s","loaded":false}"#, 1, "error", Some("unknown")),
        (r#"{"type":"error","error":"x"}"#, 1, "error", Some("unknown")),
        (r#"{"message":" ","model":"m","usage":{}}"#, 0, "no_output", None),
        (r#"{"message":"x","model":"m","usage":{}}"#, 0, "ok", None),
    ] {
        let verdict = claw(envelope, code);
        assert_eq!(
            (verdict.class.name(), verdict.claw.unwrap().kind.as_deref()),
            (class, kind),
            "{envelope}"
        );
    }
}

#[test]
fn an_error_in_any_result_decides() {
    let failed =
        r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":500,"result":"x"}"#;
    assert_eq!(stream(&[SAID, failed, INIT, SAID, DONE], r#"{"code":0}"#, "").class.name(), "api");
}

#[test]
fn advisories_say_what_else_holds() {
    let retry = r#"{"type":"system","subtype":"api_retry","attempt":1}"#;
    let asks = r#"{"type":"result","subtype":"success","is_error":false,"result":"Which one?","num_turns":1,"permission_denials":[{"tool_name":"Bash"}]}"#;
    let verdict = stream(&[INIT, retry, SAID, asks], r#"{"signal":9,"timed_out":"after-result"}"#, "");
    let names: Vec<_> = verdict.advisories.iter().map(|advisory| advisory.name()).collect();
    assert_eq!((verdict.class.name(), names), ("interactive", vec!["permission", "retried", "late_exit"]));
}
