//! What the two APIs of OpenAI share: credentials, models and errors.

use serde_json::{Value, json};

use super::conversation::Conversation;
use super::data::ApiData;
use super::{ApiError, Target};
use crate::harness::mock::answer::Answer;
use crate::harness::mock::request::ApiRequest;
use crate::harness::mock::validate::{RequestFinding, finding};

/// A fixed time in the past, so that recordings do not depend on the day.
pub(super) const CREATED: u64 = 1_767_225_600;

/// A comment: it keeps the connection alive and is no event.
pub(super) const PING: &[u8] = b": ping\n\n";

/// Whether a request is of OpenAI's, by what it is signed with: the paths of the models are Anthropic's too.
pub(super) fn is_signed(target: &Target<'_>) -> bool {
    let others = ["anthropic-version", "x-api-key", "x-goog-api-key"];
    target.header("authorization").is_some() && others.iter().all(|name| target.header(name).is_none())
}

/// Whether the path is that of the models, or of one of them.
pub(super) fn is_models(target: &Target<'_>) -> bool {
    target.trimmed().ends_with("/models") || target.path.contains("/models/")
}

/// The list of models, or one of them.
pub(super) fn models(data: &ApiData, request: &ApiRequest) -> Option<Value> {
    let model = |(id, _): &(String, String)| json!({"id": id, "object": "model", "created": CREATED, "owned_by": "openai"});
    Some(match request.path.split("/models/").nth(1).filter(|id| !id.is_empty()) {
        Some(id) => model(data.models.iter().find(|(known, _)| known == id)?),
        None => json!({"object": "list", "data": data.models.iter().map(model).collect::<Vec<_>>()}),
    })
}

pub(super) fn error_body(error: &ApiError) -> Value {
    let mut told = json!({"message": error.message, "type": error.kind, "param": null, "code": error.code});
    if let Some((_, resets_at)) = &error.limit {
        // The limit of a plan, which Codex tells apart from a rate limit.
        told["type"] = "usage_limit_reached".into();
        told["code"] = "usage_limit_reached".into();
        told["plan_type"] = "plus".into();
        told["resets_at"] = (*resets_at).into();
    }
    json!({"error": told})
}

/// The type and message of an error, as recordings tell it.
pub(super) fn read_error(error: &Value) -> (Value, Value) {
    let kind = if error["code"].is_null() { &error["type"] } else { &error["code"] };
    (kind.clone(), error["message"].clone())
}

pub(super) fn check_credential(request: &ApiRequest, findings: &mut Vec<RequestFinding>) {
    // `api-key` is Azure's.
    if request.header("authorization").is_none() && request.header("api-key").is_none() {
        findings.push(finding("", "no authorization is sent"));
    }
}

/// Calls without a result and results without a call, which both APIs refuse.
pub(super) fn check_calls(conversation: &Conversation<'_>, at: &str, findings: &mut Vec<RequestFinding>) {
    let (unanswered, unasked) = conversation.loose_ends();
    findings
        .extend(unanswered.iter().map(|id| finding(at, format!("no tool output found for the call {id}"))));
    findings.extend(unasked.iter().map(|id| finding(at, format!("no tool call found for the output {id}"))));
}

/// Tokens that went in: these APIs count what was read from the cache among them.
pub(super) fn input_tokens(answer: &Answer) -> u64 {
    answer.input_tokens() + answer.usage.cache_read_input_tokens + answer.usage.cache_creation_input_tokens
}

/// The usage as recordings tell it, from the four counts that the APIs name differently.
pub(super) fn read_usage(input: &Value, cached: &Value, written: &Value, output: &Value) -> Value {
    let Some(input) = input.as_u64() else { return Value::Null };
    let (cached, written) = (cached.as_u64().unwrap_or(0), written.as_u64().unwrap_or(0));
    json!({
        "input_tokens": input.saturating_sub(cached + written),
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": cached,
        "output_tokens": output,
    })
}

#[cfg(feature = "cli")]
pub(super) fn sample_headers() -> Vec<(String, String)> {
    vec![("authorization".to_owned(), "Bearer sample".to_owned())]
}
