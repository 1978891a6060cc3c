//! The published clients of Anthropic, OpenAI and Google against the scripted API. `tests/sdk/install.sh` installs them, pinned, and prints
//! where they are; without them these tests fail rather than pass.

use std::path::{Path, PathBuf};
use std::process::Command;

use clawgate::internals::harness::mock::{Journal, MockApi, Options};
use clawgate::internals::run::scenario::Scenario;
use serde_json::{Value, json};

const CONVERSATIONS: &str = include_str!("../sdk/conversations.toml");

pub(crate) fn setting(name: &str) -> PathBuf {
    let value = std::env::var_os(name);
    PathBuf::from(value.unwrap_or_else(|| panic!("{name} is not set; tests/sdk/install.sh prints it")))
}

fn hold(command: &mut Command) -> (Value, Journal) {
    let script = Scenario::parse("conversations.toml", CONVERSATIONS).unwrap().script;
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let api = runtime.block_on(MockApi::start(script, Options::default())).unwrap();
    let output = command.env("CLAWGATE_BASE_URL", api.base_url()).output().unwrap();
    let journal = runtime.block_on(api.stop());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (serde_json::from_slice(&output.stdout).unwrap(), journal)
}

fn client(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk").join(name)
}

fn check_conversations(seen: &Value, journal: &Journal) {
    for (mode, index) in [("stream", 0), ("no stream", 1)] {
        let text = |conversation: &str, text: &str, usage: [u64; 2]| {
            let message = &seen[conversation][index];
            assert_eq!(message["content"].as_array().unwrap().last().unwrap()["text"], text, "{mode}");
            assert_eq!(message["usage"], json!(usage), "{conversation}, {mode}");
        };
        text("plain", "Grüße, 世界! 🦀", [12, 34]);
        text("thinking", "Seen.", [25, 5]);
        assert_eq!(seen["thinking"][index]["content"][0]["thinking"], "Hmm, let me see.", "{mode}");
        let tools = &seen["tools"][index];
        assert_eq!(tools[0]["stop_reason"], "tool_use", "{mode}");
        assert_eq!(
            tools[0]["content"][1]["input"],
            json!({"city": "Zürich", "days": [1, 2], "unit": {"name": "°C", "exact": true}}),
            "{mode}"
        );
        assert_eq!(tools[1]["content"][0]["text"], "It is 21 degrees.", "{mode}");
        assert_eq!(seen["refusal"][index], "refusal", "{mode}");
    }
    assert_eq!(seen["retry"]["content"][0]["text"], "At the second attempt.");
    assert_eq!((&seen["count"], &seen["models"]), (&json!(true), &json!(true)));
    assert!(seen["cut"].is_string(), "a stream that breaks off raises");
    assert_eq!(seen["limited"], json!(["7", "7"]));
    let summary = journal.summary();
    assert!(summary.is_clean(), "{summary:#?}");
    assert!(!serde_json::to_string(journal).unwrap().contains("dummy-key"), "a key is in the journal");
}

fn check_failures(seen: &Value, expected: &[(u16, &str, &str)]) {
    for (status, class, error_type) in expected {
        let wanted = json!({"class": class, "status": status, "type": error_type, "request_id": true});
        let statuses = &seen["statuses"][status.to_string()];
        assert_eq!(statuses, &json!([wanted, wanted]), "status {status}");
    }
    assert_eq!(seen["statuses"].as_object().unwrap().len(), expected.len());
}

/// Both clients come from one generator and name their errors alike.
const FAILURES: [(u16, &str, &str); 13] = [
    (400, "BadRequestError", "invalid_request_error"),
    (401, "AuthenticationError", "authentication_error"),
    (403, "PermissionDeniedError", "permission_error"),
    (404, "NotFoundError", "not_found_error"),
    (408, "RequestTimeoutError", "timeout_error"),
    (409, "ConflictError", "conflict_error"),
    (413, "ContentTooLargeError", "request_too_large"),
    (429, "RateLimitError", "rate_limit_error"),
    (500, "InternalServerError", "api_error"),
    (502, "InternalServerError", "api_error"),
    (503, "ServiceUnavailableError", "api_error"),
    (504, "GatewayTimeoutError", "timeout_error"),
    (529, "OverloadedError", "overloaded_error"),
];

#[test]
#[ignore = "needs the Python package `anthropic`: see tests/sdk/install.sh"]
fn the_python_client_converses_and_raises_its_errors() {
    let (seen, journal) = hold(Command::new(setting("CLAWGATE_SDK_PYTHON")).arg(client("client.py")));
    assert_eq!(seen["version"], "2.8.0", "the pinned version");
    check_conversations(&seen, &journal);
    check_failures(&seen, &FAILURES);
    assert_eq!(
        seen["error_event"],
        json!({"class": "APIStatusError", "status": 200, "type": "overloaded_error", "request_id": true})
    );
    assert_eq!(seen["reset"]["class"], "APIConnectionError");
    assert_eq!(seen["stall"]["class"], "APITimeoutError");
}

/// What a client of another company has seen of the same conversations; `stops` are its words for the end of an answer, of
/// one that calls a tool, and of a refusal.
fn check_neutral(seen: &Value, journal: &Journal, stops: [&str; 3]) {
    for (mode, index) in [("stream", 0), ("no stream", 1)] {
        let check = |message: &Value, text: &str, stop: &str, usage: [u64; 2]| {
            assert_eq!((&message["text"], &message["stop"]), (&json!(text), &json!(stop)), "{mode}");
            assert_eq!(message["usage"], json!(usage), "{text}, {mode}");
        };
        check(&seen["plain"][index], "Grüße, 世界! 🦀", stops[0], [12, 34]);
        check(&seen["thinking"][index], "Seen.", stops[0], [25, 5]);
        assert_eq!(seen["thinking"][index]["thinking"], "Hmm, let me see.", "{mode}");
        let tools = &seen["tools"][index];
        check(&tools[0], "I will look it up.", stops[1], [25, 22]);
        let input = json!({"city": "Zürich", "days": [1, 2], "unit": {"name": "°C", "exact": true}});
        assert_eq!(tools[0]["calls"], json!([["weather", input]]), "{mode}");
        check(&tools[1], "It is 21 degrees.", stops[0], [25, 4]);
        assert_eq!(seen["refusal"][index], stops[2], "{mode}");
    }
    assert_eq!((&seen["count"], seen["models"].as_array().unwrap().len()), (&json!(true), 4));
    let summary = journal.summary();
    assert!(summary.is_clean(), "{summary:#?}");
    assert!(!serde_json::to_string(journal).unwrap().contains("dummy-key"), "a key is in the journal");
}

fn openai(api: &str, stops: [&str; 3]) {
    let mut command = Command::new(setting("CLAWGATE_SDK_PYTHON"));
    let (seen, journal) = hold(command.arg(client("openai_client.py")).arg(api));
    assert_eq!(seen["version"], "3.51.0", "the pinned version");
    check_neutral(&seen, &journal, stops);
    assert_eq!(seen["retry"]["text"], "At the second attempt.");
    assert_eq!(seen["model"], "gpt-5.5");
    for (status, class, code) in [
        (400, "BadRequestError", None),
        (401, "AuthenticationError", Some("invalid_api_key")),
        (403, "PermissionDeniedError", Some("insufficient_permissions")),
        (404, "NotFoundError", Some("model_not_found")),
        (408, "APIStatusError", Some("request_timeout")),
        (409, "ConflictError", Some("conflict")),
        (413, "APIStatusError", Some("request_too_large")),
        (429, "RateLimitError", Some("rate_limit_exceeded")),
        (500, "InternalServerError", Some("server_error")),
        (502, "InternalServerError", Some("bad_gateway")),
        (503, "InternalServerError", Some("server_is_overloaded")),
        (504, "InternalServerError", Some("gateway_timeout")),
        (529, "InternalServerError", Some("server_is_overloaded")),
    ] {
        let wanted = json!({"class": class, "status": status, "code": code, "request_id": true});
        assert_eq!(seen["statuses"][status.to_string()], json!([wanted, wanted]), "status {status}");
    }
    let failed = |class: &str, code: Option<&str>| json!({"class": class, "status": null, "code": code, "request_id": false});
    assert_eq!(seen["error_event"], failed("APIError", Some("server_is_overloaded")));
    assert_eq!(seen["cut"], "openai", "a stream that breaks off raises");
    assert_eq!(seen["limited"], json!([["7", true, true], ["7", true, true]]));
    assert_eq!(seen["reset"], failed("APIConnectionError", None));
    assert_eq!(seen["stall"], failed("APITimeoutError", None));
}

#[test]
#[ignore = "needs the Python package `openai`: see tests/sdk/install.sh"]
fn the_openai_client_converses_by_responses() {
    openai("responses", ["completed", "completed", "content_filter"]);
}

#[test]
#[ignore = "needs the Python package `openai`: see tests/sdk/install.sh"]
fn the_openai_client_converses_by_chat_completions() {
    openai("chat", ["stop", "tool_calls", "content_filter"]);
}

#[test]
#[ignore = "needs the Python package `google-genai`: see tests/sdk/install.sh"]
fn the_gemini_client_converses_and_raises_its_errors() {
    let mut command = Command::new(setting("CLAWGATE_SDK_PYTHON"));
    let (seen, journal) = hold(command.arg(client("gemini_client.py")));
    assert_eq!(seen["version"], "3.3.0", "the pinned version");
    check_neutral(&seen, &journal, ["STOP", "STOP", "SAFETY"]);
    assert_eq!(seen["model"], "models/gemini-2.5-flash");
    let failed =
        |class: &str, status: u16, word: &str| json!({"class": class, "status": status, "word": word});
    assert_eq!(seen["retry"][0], failed("ClientError", 429, "RESOURCE_EXHAUSTED"));
    assert_eq!(seen["retry"][1]["text"], "At the second attempt.");
    for (status, word) in [
        (400, "INVALID_ARGUMENT"),
        (401, "UNAUTHENTICATED"),
        (403, "PERMISSION_DENIED"),
        (404, "NOT_FOUND"),
        (408, "DEADLINE_EXCEEDED"),
        (409, "ABORTED"),
        (413, "INVALID_ARGUMENT"),
        (429, "RESOURCE_EXHAUSTED"),
        (500, "INTERNAL"),
        (502, "UNAVAILABLE"),
        (503, "UNAVAILABLE"),
        (504, "DEADLINE_EXCEEDED"),
        (529, "UNAVAILABLE"),
    ] {
        let wanted = failed(if status < 500 { "ClientError" } else { "ServerError" }, status, word);
        assert_eq!(seen["statuses"][status.to_string()], json!([wanted, wanted]), "status {status}");
    }
    assert_eq!(seen["error_event"], failed("ServerError", 503, "UNAVAILABLE"));
    assert!(
        seen["cut"].as_str().unwrap().starts_with("httpx"),
        "a stream that breaks off raises: {}",
        seen["cut"]
    );
    assert_eq!(seen["limited"], json!([["7s"], ["7s"]]));
    assert_eq!(seen["reset"], json!({"class": "ReadError"}));
    assert_eq!(seen["stall"], json!({"class": "ReadTimeout"}));
}

#[test]
#[ignore = "needs the npm package `@anthropic-ai/sdk`: see tests/sdk/install.sh"]
fn the_typescript_client_converses_and_raises_its_errors() {
    let folder = setting("CLAWGATE_SDK_NODE");
    let (seen, journal) = hold(Command::new("node").arg(client("client.mjs")).arg(&folder));
    assert_eq!(seen["version"], "1.8.0", "the pinned version");
    check_conversations(&seen, &journal);
    check_failures(&seen, &FAILURES);
    assert_eq!(
        seen["error_event"],
        json!({"class": "APIError", "status": null, "type": "overloaded_error", "request_id": true})
    );
    assert_eq!(seen["reset"]["class"], "APIConnectionError");
    assert_eq!(seen["stall"]["class"], "APIConnectionTimeoutError");
}
