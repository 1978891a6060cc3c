//! The published Anthropic clients against the scripted API. `tests/sdk/install.sh` installs them, pinned, and prints
//! where they are; without them these tests fail rather than pass.

use std::path::{Path, PathBuf};
use std::process::Command;

use clawgate::internals::harness::mock::{Journal, MockApi, Options};
use clawgate::internals::run::scenario::Scenario;
use serde_json::{Value, json};

const CONVERSATIONS: &str = include_str!("../sdk/conversations.toml");

fn setting(name: &str) -> PathBuf {
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
