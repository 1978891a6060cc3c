//! One script in the words of every API: what each client is sent, over raw sockets.

use std::fs;

use assert_cmd::Command;
use clawgate::internals::harness::mock::journal::Kind;
use serde_json::{Value, json};

use crate::client::{Client, Response, Server};

const SCRIPT: &str = "scenario.name = \"t\"\n[api]\nseed = 9\nchunk = 6\n[[api.turns]]\nthinking = \"Hm.\"\n\
    text = \"Hello there.\"\ntool = { name = \"Bash\", input = { command = \"ls\" } }\n\
    usage = { input_tokens = 11, output_tokens = 7, cache_read_input_tokens = 3 }\n";

const RESPONSES: &str = "/v1/responses";
const CHAT: &str = "/v1/chat/completions";
const GEMINI: &str = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse";
const WHOLE_GEMINI: &str = "/v1beta/models/gemini-x:generateContent";

/// A question as a client of each API puts it.
fn question(path: &str, stream: bool) -> Value {
    let message = json!({"role": "user", "content": "Hello"});
    match path {
        RESPONSES => json!({"model": "gpt-x", "stream": stream, "input": [message]}),
        CHAT if stream => json!({"model": "gpt-x", "stream": true, "messages": [message],
                                 "stream_options": {"include_usage": true}}),
        CHAT => json!({"model": "gpt-x", "messages": [message]}),
        _ => json!({"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}),
    }
}

fn send(client: &mut Client, method: &str, path: &str, body: &str) -> Response {
    let key =
        if path.contains("v1beta") { "x-goog-api-key: dummy-key" } else { "authorization: Bearer dummy-key" };
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: x\r\n{key}\r\ncontent-length: {length}\r\n\r\n");
    client.send((head + body).as_bytes()).read_response(true)
}

fn ask(server: &Server, path: &str, stream: bool) -> Response {
    send(&mut server.connect(), "POST", path, &question(path, stream).to_string())
}

/// Each API with a path for a stream and one for a whole answer.
const PATHS: [(&str, &str); 3] = [(RESPONSES, RESPONSES), (CHAT, CHAT), (GEMINI, WHOLE_GEMINI)];

#[test]
fn each_api_is_spoken_on_the_wire() {
    for (name, (stream, whole)) in ["responses", "chat", "gemini"].into_iter().zip(PATHS) {
        let server = Server::new(SCRIPT, &[]);
        let (stream, whole) = (ask(&server, stream, true), ask(&server, whole, false));
        assert_eq!((stream.status, whole.status), (200, 200));
        let shown = |response: &Response| {
            let body = String::from_utf8(response.body()).unwrap();
            let ended = body.replace("\r\n\r\n", "\n").replace("\n\n", "\n");
            format!("{}{ended}", response.head.replace('\r', ""))
        };
        insta::assert_snapshot!(format!("wire_{name}"), format!("{}\n\n{}", shown(&stream), shown(&whole)));
        let journal = server.stop();
        assert!(journal.summary().is_clean(), "{:#?}", journal.summary());
        assert!(!serde_json::to_string(&journal).unwrap().contains("dummy-key"));
    }
}

#[test]
fn a_stream_of_gemini_without_events_is_one_list() {
    let server = Server::new(SCRIPT, &[]);
    let path = "/v1beta/models/gemini-x:streamGenerateContent";
    let response = ask(&server, path, true);
    assert_eq!(response.header("content-type"), Some("application/json; charset=UTF-8"));
    let chunks = response.json();
    assert_eq!(chunks[0]["candidates"][0]["content"]["parts"][0], json!({"text": "Hm.", "thought": true}));
    assert_eq!(chunks.as_array().unwrap().last().unwrap()["candidates"][0]["finishReason"], "STOP");
}

#[test]
fn errors_have_the_status_the_words_and_the_headers_of_the_api() {
    let told = |path: &str, stream: bool, fault: &str| {
        let server = Server::new(SCRIPT, &[fault]);
        let response = ask(&server, path, stream);
        (response.json()["error"].clone(), response)
    };
    for (streamed, whole) in PATHS {
        for (path, stream) in [(streamed, true), (whole, false)] {
            for status in [400, 401, 403, 404, 408, 409, 413, 429, 500, 502, 503, 504, 529] {
                let (error, response) = told(path, stream, &format!("http:status={status}"));
                assert_eq!(response.status, status, "{path}");
                assert!(error["message"].is_string(), "{path}: {error}");
            }
        }
    }
    let (error, response) = told(RESPONSES, true, "http:status=429,retry-after=3,should-retry=false");
    assert_eq!(error["code"], "rate_limit_exceeded");
    assert_eq!(response.header("retry-after"), Some("3"));
    assert_eq!(response.header("x-should-retry"), Some("false"));
    assert_eq!(response.header("x-ratelimit-remaining-requests"), Some("3999"));
    let (error, response) = told(GEMINI, true, "http:status=429,retry-after=3");
    assert_eq!(
        (&error["status"], &error["details"][0]["retryDelay"]),
        (&json!("RESOURCE_EXHAUSTED"), &json!("3s"))
    );
    assert_eq!(response.header("retry-after"), None);
}

#[test]
fn an_error_in_a_stream_ends_it_in_the_words_of_the_api() {
    for (path, wanted) in [
        (RESPONSES, "event: response.failed\ndata: {\"type\":\"response.failed\",\"sequence_number\":3,"),
        (CHAT, "data: {\"error\":{\"message\":\"Overloaded\",\"type\":\"server_error\""),
        (
            GEMINI,
            "data: {\"error\":{\"code\":503,\"message\":\"Overloaded\",\"status\":\"UNAVAILABLE\"}}\r\n\r\n",
        ),
    ] {
        let server = Server::new(SCRIPT, &["error-event:after-event=2"]);
        let body = String::from_utf8(ask(&server, path, true).body()).unwrap();
        assert!(body.contains(wanted), "{path}: {body}");
        let healthy = String::from_utf8(ask(&Server::new(SCRIPT, &[]), path, true).body()).unwrap();
        assert!(!healthy.contains("error\":{"), "{path}: {healthy}");
    }
}

#[test]
fn models_and_tokens_are_those_of_the_api() {
    let server = Server::new(SCRIPT, &[]);
    let mut client = server.connect();
    let mut get = |path: &str| send(&mut client, "GET", path, "");
    assert_eq!(get("/v1/models").json()["data"][0]["object"], "model");
    assert_eq!(get("/v1/models/gpt-5").json()["id"], "gpt-5");
    let unknown = get("/v1/models/gpt-0");
    assert_eq!((unknown.status, &unknown.json()["error"]["code"]), (404, &json!("model_not_found")));
    assert_eq!(get("/v1beta/models").json()["models"][1]["name"], "models/gemini-2.5-pro");
    assert_eq!(get("/v1beta/models/gemini-2.5-pro").json()["displayName"], "Gemini 2.5 Pro");
    assert_eq!(get("/v1beta/models/gemini-0").json()["error"]["status"], "NOT_FOUND");
    let body = question(RESPONSES, false).to_string();
    let count = send(&mut client, "POST", "/v1/responses/input_tokens", &body).json();
    assert_eq!(count["object"], "response.input_tokens");
    let body = question(GEMINI, false).to_string();
    let count = send(&mut client, "POST", "/v1beta/models/gemini-x:countTokens", &body).json();
    assert!(count["totalTokens"].as_u64().unwrap() > 0);
}

#[test]
fn what_an_api_refuses_is_refused_in_its_words() {
    let strict = SCRIPT.replace("[api]\n", "[api]\ninvalid_requests = \"refuse\"\n");
    for (path, wrong, pointer) in [
        (RESPONSES, json!({"model": "m", "messages": []}), "/error/type"),
        (CHAT, json!({"model": "m", "messages": [{"role": "robot"}]}), "/error/type"),
        (WHOLE_GEMINI, json!({"contents": []}), "/error/status"),
        // What belongs to another API.
        (
            RESPONSES,
            json!({"model": "m", "input": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]}),
            "/error/type",
        ),
        (
            CHAT,
            json!({"model": "m", "messages": [{"role": "user", "content": [{"type": "input_text", "text": "x"}]}]}),
            "/error/type",
        ),
        (RESPONSES, json!({"model": "m", "input": "x", "tool_choice": "any"}), "/error/type"),
        (
            CHAT,
            json!({"model": "m", "messages": [{"role": "user", "content": "x"}], "tool_choice": "any"}),
            "/error/type",
        ),
    ] {
        let server = Server::new(&strict, &[]);
        let refused = send(&mut server.connect(), "POST", path, &wrong.to_string());
        assert_eq!(refused.status, 400, "{path}");
        let word = refused.json().pointer(pointer).unwrap().clone();
        assert!(word == "invalid_request_error" || word == "INVALID_ARGUMENT", "{path}: {word}");
        assert_eq!(server.ended(1).kind, Kind::Refused);
        assert!(!server.stop().summary().is_clean());
        // Without it, it is a finding and no more.
        let server = Server::new(SCRIPT, &[]);
        assert_eq!(send(&mut server.connect(), "POST", path, &wrong.to_string()).status, 200, "{path}");
        assert!(!server.ended(1).findings.is_empty());
    }
}

#[test]
fn a_request_that_no_turn_answers_is_told_in_the_words_of_the_api() {
    let script = SCRIPT.replace("thinking =", "when.prompt = \"other\"\nthinking =");
    for (streamed, _) in PATHS {
        let server = Server::new(&script, &[]);
        let response = ask(&server, streamed, true);
        assert_eq!(response.status, 400);
        let message = response.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("no turn of the script answers"), "{message}");
        assert_eq!(server.ended(1).kind, Kind::Unmatched);
    }
}

#[test]
fn a_fault_that_an_answer_has_no_place_for_is_a_mistake_of_the_script() {
    // Only the Responses API says so much that there is an event 22.
    let server = Server::new(SCRIPT, &["close:after-event=22"]);
    let findings = |number: u64, path: &str| {
        ask(&server, path, true);
        let findings = server.ended(number).findings;
        findings.iter().map(|found| found.message.clone()).collect::<Vec<_>>().join(" ")
    };
    let found = findings(1, GEMINI);
    assert!(found.contains("the mock failed: fault `close:after-event=22`"), "{found}");
    assert!(!server.stop().summary().is_clean());
    let answerable = SCRIPT.replace("thinking =", "stop_reason = \"pause_turn\"\nthinking =");
    let server = Server::new(&answerable, &[]);
    ask(&server, CHAT, false);
    let findings = server.ended(1).findings;
    assert!(findings[0].message.contains("never stops for `pause_turn`"), "{findings:?}");
}

#[test]
fn every_fault_at_every_place_is_played_in_every_api() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("small.toml");
    fs::write(&file, "[scenario]\nname = \"small\"\n[[api.turns]]\nname = \"only\"\ntext = \"é\"\n").unwrap();
    for api in ["openai-responses", "openai-chat", "gemini"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clawgate"));
        let output =
            command.args(["sweep", file.to_str().unwrap(), "--api", api, "--format", "json"]).output();
        let output = String::from_utf8(output.unwrap().stdout).unwrap();
        let lines: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let (summary, cases) = lines.split_last().unwrap();
        assert_eq!(summary["passed"].as_u64().unwrap(), cases.len() as u64, "{api}: {output}");
        let names = cases.iter().map(|case| case["fault"].as_str().unwrap().split(':').next().unwrap());
        let names: std::collections::BTreeSet<&str> = names.collect();
        assert_eq!(names.len(), 17, "{api}: every fault of the catalogue, in {names:?}");
    }
}
