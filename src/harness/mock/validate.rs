//! The Messages API as schemas: what a client may ask, and what the mock itself may send.
//!
//! Schemas are compiled once a process. A request that breaks one is a finding about the client; an answer that breaks
//! one is a bug of the script or of the mock, and stops the server from starting.

use std::sync::LazyLock;

use jsonschema::{PatternOptions, Validator};
use serde::Serialize;
use serde_json::Value;

use super::request::{ApiRequest, Body, Endpoint};
use super::sse::{self, Events};

/// Something in a request that the Messages API would refuse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RequestFinding {
    /// A JSON pointer into the body; empty for the request as a whole.
    pub pointer: String,
    pub message: String,
}

/// More findings than anybody reads are not kept.
const MOST_FINDINGS: usize = 8;

macro_rules! schema {
    ($name:literal) => {
        compile(include_str!(concat!("../../../schemas/anthropic/", $name, ".schema.json")))
    };
}

/// What a client or the mock sends, in the order of [`SCHEMAS`].
#[derive(Debug, Clone, Copy)]
pub(super) enum BodyKind {
    MessagesRequest,
    CountTokensRequest,
    Message,
    StreamEvent,
    Error,
    TokenCount,
    Model,
    Models,
}

static SCHEMAS: LazyLock<Result<[Validator; 8], String>> = LazyLock::new(|| {
    Ok([
        schema!("messages-request")?,
        schema!("count-tokens-request")?,
        schema!("message")?,
        schema!("stream-event")?,
        schema!("error")?,
        schema!("token-count")?,
        schema!("model")?,
        schema!("models")?,
    ])
});

fn schema(kind: BodyKind) -> Result<&'static Validator, String> {
    SCHEMAS.as_ref().map(|schemas| &schemas[kind as usize]).map_err(Clone::clone)
}

fn compile(text: &str) -> Result<Validator, String> {
    let schema: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex())
        .offline()
        .build(&schema)
        .map_err(|error| error.to_string())
}

/// What the API would refuse in a request, in a fixed order.
pub(super) fn check_request(request: &ApiRequest) -> Vec<RequestFinding> {
    let kind = match request.endpoint() {
        Endpoint::Messages => BodyKind::MessagesRequest,
        Endpoint::CountTokens => BodyKind::CountTokensRequest,
        _ => return Vec::new(),
    };
    let schema = match schema(kind) {
        Ok(schema) => schema,
        Err(message) => return vec![finding("", format!("the schemas are broken: {message}"))],
    };
    if request.method != "POST" {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if request.header("x-api-key").is_none() && request.header("authorization").is_none() {
        findings.push(finding("", "neither x-api-key nor authorization is sent"));
    }
    if request.header("anthropic-version").is_none() {
        findings.push(finding("", "the header anthropic-version is missing"));
    }
    match &request.body {
        Body::Empty => findings.push(finding("", "the body is empty")),
        Body::Broken(error) => findings.push(finding("", format!("the body is not JSON: {error}"))),
        Body::Json(body) => {
            if !schema.is_valid(body) {
                findings.extend(schema.iter_errors(body).take(MOST_FINDINGS).map(|error| {
                    // Masked: a message that repeats the value could repeat a secret.
                    finding(error.instance_path().as_str(), error.masked().to_string())
                }));
            }
            if request.endpoint() == Endpoint::Messages {
                check_conversation(body, &mut findings);
            }
        }
    }
    findings.truncate(MOST_FINDINGS);
    findings
}

fn finding(pointer: &str, message: impl Into<String>) -> RequestFinding {
    RequestFinding { pointer: pointer.to_owned(), message: message.into() }
}

/// A finding about ourselves, so that nobody takes it for the client's.
pub(super) fn harness_finding(message: &str) -> RequestFinding {
    finding("", format!("the mock failed: {message}"))
}

/// The rules between messages that a schema cannot say: the first is the user's, each tool call is answered at once,
/// and each result answers a call.
fn check_conversation(body: &Value, findings: &mut Vec<RequestFinding>) {
    let Some(messages) = body["messages"].as_array() else { return };
    let turns: Vec<(usize, &Value)> =
        messages.iter().enumerate().filter(|(_, message)| message["role"] != "system").collect();
    if turns.first().is_some_and(|(_, message)| message["role"] != "user") {
        findings.push(finding("/messages/0/role", "the first message is not the user's"));
    }
    for (at, (index, message)) in turns.iter().enumerate() {
        let ids = |message: &Value, kind: &str, key: &str| -> Vec<String> {
            let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
            let blocks = blocks.iter().filter(|block| block["type"] == kind);
            blocks.filter_map(|block| block[key].as_str().map(str::to_owned)).collect()
        };
        let before = at.checked_sub(1).map(|before| turns[before].1);
        let after = turns.get(at + 1).map(|(_, message)| *message);
        for id in ids(message, "tool_use", "id") {
            if after.is_some_and(|after| !ids(after, "tool_result", "tool_use_id").contains(&id)) {
                findings.push(finding(
                    &format!("/messages/{index}"),
                    format!("the tool call {id} has no tool_result in the next message"),
                ));
            }
        }
        for id in ids(message, "tool_result", "tool_use_id") {
            if !before.is_some_and(|before| ids(before, "tool_use", "id").contains(&id)) {
                findings.push(finding(
                    &format!("/messages/{index}"),
                    format!("the tool_result {id} answers no call of the message before it"),
                ));
            }
        }
    }
    if let (Some(budget), Some(most)) =
        (body["thinking"]["budget_tokens"].as_u64(), body["max_tokens"].as_u64())
        && budget >= most
    {
        findings.push(finding("/thinking/budget_tokens", "not less than max_tokens"));
    }
}

/// What is wrong with a body that the mock is about to send.
pub(super) fn check_body(kind: BodyKind, body: &Value) -> Result<(), String> {
    let schema = schema(kind)?;
    if schema.is_valid(body) {
        return Ok(());
    }
    Err(schema.iter_errors(body).next().map_or("not valid".to_owned(), |error| {
        let path = error.instance_path().as_str();
        format!("{error} (at {})", if path.is_empty() { "/" } else { path })
    }))
}

/// What is wrong with a stream that the mock is about to send.
pub(super) fn check_events(events: &Events) -> Result<(), String> {
    let parsed = events.parse();
    if parsed.len() != events.len() {
        return Err("an event cannot be read back".to_owned());
    }
    sse::check_order(&parsed)?;
    for (number, (name, data)) in parsed.iter().enumerate() {
        check_body(BodyKind::StreamEvent, data)
            .map_err(|message| format!("event {} ({name}): {message}", number + 1))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn findings(body: &Value) -> Vec<String> {
        let headers = [("x-api-key", "k"), ("anthropic-version", "2023-06-01")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let request = ApiRequest::new("POST", "/v1/messages", headers, body.to_string().as_bytes());
        check_request(&request)
            .into_iter()
            .map(|found| format!("{} {}", found.pointer, found.message))
            .collect()
    }

    fn healthy() -> Value {
        json!({
            "model": "claude-x", "max_tokens": 2000, "stream": true, "system": [{"type": "text", "text": "s"}],
            "thinking": {"type": "enabled", "budget_tokens": 1024}, "new_beta_key": {},
            "tools": [{"name": "Bash", "input_schema": {"type": "object"}},
                      {"name": "web_search", "type": "web_search_20250305"}],
            "messages": [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"},
                                             {"type": "a_block_of_next_year", "x": 1}]},
                {"role": "system", "content": "brief"},
            ],
        })
    }

    #[test]
    fn a_healthy_request_has_no_findings() {
        assert_eq!(findings(&healthy()), Vec::<String>::new());
    }

    #[test]
    fn each_broken_request_has_its_finding() {
        let cases: [(&str, Value, &str); 12] = [
            ("/model", Value::Null, "/model "),
            ("/max_tokens", json!("many"), "/max_tokens "),
            ("/messages", json!([]), "/messages "),
            ("/messages/0/role", json!("robot"), "/messages/0/role "),
            ("/messages/0/content", json!(""), "/messages/0/content "),
            ("/messages/0/role", json!("assistant"), "the first message is not the user's"),
            ("/messages/1/content/0/input", json!("x"), "/messages/1/content/0/input "),
            ("/messages/2/content/0/tool_use_id", json!("t2"), "has no tool_result"),
            ("/messages/1/content/0/id", json!("t3"), "answers no call"),
            ("/system/0/text", json!(1), "/system"),
            ("/tools/0/input_schema", Value::Null, "/tools/0/input_schema "),
            ("/thinking/budget_tokens", json!(4000), "not less than max_tokens"),
        ];
        for (pointer, value, expected) in cases {
            let mut body = healthy();
            *body.pointer_mut(pointer).unwrap() = value;
            let found = findings(&body);
            assert!(found.iter().any(|found| found.contains(expected)), "{pointer}: {found:?}");
        }
    }

    #[test]
    fn findings_never_repeat_the_value() {
        let mut body = healthy();
        body["model"] = json!(["sk-ant-secret"]);
        assert!(!findings(&body).concat().contains("secret"));
    }

    #[test]
    fn everything_built_in_is_what_the_api_sends() {
        use crate::harness::mock::answer::{Answer, AnswerSeed};
        use crate::harness::mock::auxiliary::Auxiliary;
        use crate::harness::mock::error_body::{error_body, error_of_status};
        let seed = AnswerSeed { seed: 1, entry: 1, earlier: 1 };
        for kind in Auxiliary::all() {
            let answer = Answer::of_text(kind.answer(), "claude", seed);
            assert_eq!(check_body(BodyKind::Message, &answer.message()), Ok(()), "{}", kind.name());
            assert_eq!(check_events(&answer.events()), Ok(()), "{}", kind.name());
        }
        for status in 400..600 {
            let (error_type, message) = error_of_status(status);
            assert_eq!(
                check_body(BodyKind::Error, &error_body(error_type, message, &seed.request_id())),
                Ok(())
            );
        }
    }

    #[test]
    fn what_the_api_never_sends_is_refused() {
        use crate::harness::mock::answer::{Answer, AnswerSeed};
        let seed = AnswerSeed { seed: 1, entry: 1, earlier: 1 };
        let healthy = Answer::of_text("x", "claude", seed);
        for (pointer, value) in [
            ("/id", json!("other")),
            ("/stop_reason", json!("tired")),
            ("/content/0/text", json!(7)),
            ("/usage/output_tokens", json!(-1)),
            ("/role", json!("user")),
        ] {
            let mut message = healthy.message();
            *message.pointer_mut(pointer).unwrap() = value;
            assert!(check_body(BodyKind::Message, &message).is_err(), "{pointer}");
        }
        let mut events = healthy.events();
        events.truncate(3);
        assert!(check_events(&events).unwrap_err().contains("no message_stop"));
        let odd = healthy.events().replace(2, b"event: ping\ndata: {\"type\":\"ping\",\"more\":1}\n\n");
        assert!(check_events(&odd).is_err());
    }

    #[test]
    fn headers_are_part_of_the_contract() {
        let request = ApiRequest::new("POST", "/v1/messages", Vec::new(), healthy().to_string().as_bytes());
        let messages: Vec<_> = check_request(&request).into_iter().map(|found| found.message).collect();
        assert_eq!(
            messages,
            ["neither x-api-key nor authorization is sent", "the header anthropic-version is missing",]
        );
    }
}
