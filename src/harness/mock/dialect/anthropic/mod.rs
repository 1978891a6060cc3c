//! Anthropic Messages: `/v1/messages`.

mod events;
mod replay;

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

#[cfg(feature = "cli")]
use super::SampleRequest;
use super::conversation::{Call, Conversation, Returned, Said, Speaker, joined};
use super::data::ApiData;
use super::schema::{self, Schema};
use super::{ApiError, Asked, Dialect, Target};
use crate::harness::mock::answer::Answer;
use crate::harness::mock::message::Message;
use crate::harness::mock::reply::Reply;
use crate::harness::mock::request::{ApiRequest, Endpoint};
use crate::harness::mock::sse::Events;
use crate::harness::mock::validate::{MOST_FINDINGS, RequestFinding, finding};

#[derive(Debug)]
pub(super) struct Anthropic;

static DATA: LazyLock<ApiData> = LazyLock::new(|| ApiData::of("anthropic"));

static MESSAGES_REQUEST: Schema = LazyLock::new(|| schema::compile("anthropic/messages-request.schema.json"));
static COUNT_TOKENS_REQUEST: Schema =
    LazyLock::new(|| schema::compile("anthropic/count-tokens-request.schema.json"));
static MESSAGE: Schema = LazyLock::new(|| schema::compile("anthropic/message.schema.json"));
static STREAM_EVENT: Schema = LazyLock::new(|| schema::compile("anthropic/stream-event.schema.json"));
static ERROR: Schema = LazyLock::new(|| schema::compile("anthropic/error.schema.json"));
static TOKEN_COUNT: Schema = LazyLock::new(|| schema::compile("anthropic/token-count.schema.json"));
static MODEL: Schema = LazyLock::new(|| schema::compile("anthropic/model.schema.json"));
static MODELS: Schema = LazyLock::new(|| schema::compile("anthropic/models.schema.json"));

impl Dialect for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn data(&self) -> &'static ApiData {
        &DATA
    }

    /// Whatever prefix the base URL has.
    fn endpoint(&self, target: &Target<'_>) -> Option<Endpoint> {
        let path = target.trimmed();
        Some(if path.ends_with("/v1/messages") {
            Endpoint::Messages
        } else if path.ends_with("/v1/messages/count_tokens") {
            Endpoint::CountTokens
        } else if path.ends_with("/v1/models") || path.contains("/v1/models/") {
            Endpoint::Models
        } else if path.ends_with("/api/hello") {
            Endpoint::Hello
        } else if path.is_empty() || (target.path.ends_with('/') && !path.contains("/v1")) {
            Endpoint::Root
        } else {
            Endpoint::Other
        })
    }

    fn read<'b>(&self, target: &Target<'b>, body: &'b Value) -> Conversation<'b> {
        let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let tools = body["tools"].as_array().map_or(&[][..], Vec::as_slice);
        let mut conversation = Conversation {
            agent: target.header("x-claude-code-agent-id"),
            model: body["model"].as_str().unwrap_or_default(),
            stream: body["stream"] == true,
            max_tokens: body["max_tokens"].as_u64(),
            listed: messages.len(),
            tools: tools.len(),
            first_tool: tools.first().and_then(|tool| tool["type"].as_str()).unwrap_or_default(),
            ..Conversation::default()
        };
        texts(&body["system"], &mut conversation.system);
        for message in messages {
            // The Claude CLI appends `role: "system"` messages at times: they say something, and answer nothing.
            if message["role"] == "system" {
                texts(&message["content"], &mut conversation.system);
                continue;
            }
            conversation.said.push(said(message));
        }
        conversation
    }

    fn check_request(&self, request: &ApiRequest) -> Vec<RequestFinding> {
        let schema = match request.endpoint {
            Endpoint::Messages => &MESSAGES_REQUEST,
            Endpoint::CountTokens => &COUNT_TOKENS_REQUEST,
            _ => return Vec::new(),
        };
        let mut findings = Vec::new();
        if request.header("x-api-key").is_none() && request.header("authorization").is_none() {
            findings.push(finding("", "neither x-api-key nor authorization is sent"));
        }
        if request.header("anthropic-version").is_none() {
            findings.push(finding("", "the header anthropic-version is missing"));
        }
        let body = schema::check_request(request, schema, &mut findings);
        if let Some(body) = body.filter(|_| request.endpoint == Endpoint::Messages) {
            check_conversation(body, &mut findings);
        }
        findings.truncate(MOST_FINDINGS);
        findings
    }

    fn message(&self, answer: &Answer, _: Asked<'_>) -> Value {
        events::message(answer)
    }

    fn events(&self, answer: &Answer, _: Asked<'_>) -> Events {
        events::events(answer)
    }

    fn check_answer(&self, answer: &Answer) -> Result<(), String> {
        schema::check(&MESSAGE, &events::message(answer))?;
        check_events(&events::events(answer))
    }

    fn error_body(&self, error: &ApiError) -> Value {
        json!({
            "type": "error",
            "error": {"type": error.kind, "message": error.message},
            "request_id": error.request_id,
        })
    }

    fn push_error(&self, events: &mut Events, _: &Answer, _: Asked<'_>, error: &ApiError) {
        let error = json!({"type": error.kind, "message": error.message});
        events.push("error", &json!({"type": "error", "error": error}));
    }

    fn ping(&self) -> &'static [u8] {
        events::PING
    }

    fn built_in(&self, request: &ApiRequest) -> Option<Value> {
        let model = |(id, name): &(String, String)| json!({"type": "model", "id": id, "display_name": name, "created_at": "2026-01-01T00:00:00Z"});
        let models = &DATA.models;
        Some(match request.endpoint {
            Endpoint::Messages | Endpoint::Other => return None,
            Endpoint::Root => json!({}),
            Endpoint::Hello => json!({"message": "hello"}),
            // About four bytes a token: the same for the same body, which is all that a script needs.
            Endpoint::CountTokens => json!({"input_tokens": (request.body_bytes / 4).max(1)}),
            Endpoint::Models => match request.path.split("/v1/models/").nth(1).filter(|id| !id.is_empty()) {
                Some(id) => model(models.iter().find(|(known, _)| known == id)?),
                None => json!({
                    "data": models.iter().map(model).collect::<Vec<_>>(), "has_more": false,
                    "first_id": models.first()?.0, "last_id": models.last()?.0,
                }),
            },
        })
    }

    fn check_built_in(&self, request: &ApiRequest, reply: &Reply, is_answer: bool) -> Result<(), String> {
        let schema = match request.endpoint {
            Endpoint::Root | Endpoint::Hello => return Ok(()),
            _ if reply.status >= 400 => &ERROR,
            _ if is_answer && !reply.ends.is_empty() => return Ok(()),
            _ if is_answer => &MESSAGE,
            Endpoint::CountTokens => &TOKEN_COUNT,
            Endpoint::Models if request.path.contains("/v1/models/") => &MODEL,
            Endpoint::Models => &MODELS,
            _ => return Ok(()),
        };
        let body = serde_json::from_slice(&reply.body).map_err(|error| error.to_string())?;
        schema::check(schema, &body)
    }

    fn read_body(&self, body: Map<String, Value>) -> Message {
        replay::of_body(body)
    }

    fn read_stream(&self, body: &[u8], is_whole: bool) -> Message {
        replay::of_stream(body, is_whole)
    }

    #[cfg(feature = "cli")]
    fn request(&self, conversation: &Conversation<'_>) -> SampleRequest {
        let messages: Vec<Value> = conversation.said.iter().map(written).collect();
        let mut body = json!({
            "model": conversation.model, "max_tokens": conversation.max_tokens.unwrap_or(1024),
            "stream": true, "messages": messages,
        });
        if !conversation.system.is_empty() {
            body["system"] = joined(conversation.system.iter().copied()).into();
        }
        let mut headers = vec![
            ("x-api-key".to_owned(), "sample".to_owned()),
            ("anthropic-version".to_owned(), "2023-06-01".to_owned()),
        ];
        headers.extend(conversation.agent.map(|id| ("x-claude-code-agent-id".to_owned(), id.to_owned())));
        SampleRequest { target: "/v1/messages".to_owned(), headers, body }
    }
}

/// A message as this API writes it.
#[cfg(feature = "cli")]
fn written(said: &Said<'_>) -> Value {
    let role = if said.by == Speaker::Model { "assistant" } else { "user" };
    if said.calls.is_empty() && said.results.is_empty() {
        return json!({"role": role, "content": joined(said.text.iter().copied())});
    }
    let calls = said
        .calls
        .iter()
        .map(|call| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}}));
    let results = said.results.iter().map(|result| {
        json!({"type": "tool_result", "tool_use_id": result.call, "content": result.text, "is_error": result.is_error})
    });
    let texts = said.text.iter().map(|text| json!({"type": "text", "text": text}));
    json!({"role": role, "content": calls.chain(results).chain(texts).collect::<Vec<_>>()})
}

/// The texts of a string or of the text blocks of a list.
fn texts<'b>(content: &'b Value, into: &mut Vec<&'b str>) {
    match content {
        Value::String(text) => into.push(text),
        Value::Array(blocks) => into.extend(blocks.iter().filter_map(|block| block["text"].as_str())),
        _ => {}
    }
}

/// What somebody said. Command lines put reminders of their own among it, which list every skill: a condition on the prompt
/// would hold because a skill is there, not because anybody asked for it.
fn words<'b>(text: &'b str, into: &mut Vec<&'b str>) {
    const REMINDER: (&str, &str) = ("<system-reminder>", "</system-reminder>");
    let mut rest = text;
    while let Some((before, reminder)) = rest.split_once(REMINDER.0) {
        // One that does not end is not the command line's.
        let Some((_, after)) = reminder.split_once(REMINDER.1) else { break };
        into.push(before.trim_end_matches('\n'));
        rest = after.trim_start_matches('\n');
    }
    into.push(rest);
}

fn said(message: &Value) -> Said<'_> {
    let by = match message["role"].as_str() {
        Some("user") => Speaker::User,
        Some("assistant") => Speaker::Model,
        _ => Speaker::Other,
    };
    let mut said = Said { by, ..Said::default() };
    let mut all = Vec::new();
    texts(&message["content"], &mut all);
    for text in all {
        words(text, &mut said.text);
    }
    for block in message["content"].as_array().into_iter().flatten() {
        let text = |key: &str| block[key].as_str().unwrap_or_default();
        match block["type"].as_str() {
            Some("tool_use") => said.calls.push(Call { id: text("id"), name: text("name") }),
            Some("tool_result") => {
                let mut parts = Vec::new();
                texts(&block["content"], &mut parts);
                said.results.push(Returned {
                    call: text("tool_use_id"),
                    text: joined(parts).into(),
                    is_error: block["is_error"] == true,
                });
            }
            _ => {}
        }
    }
    said
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

/// What is wrong with a stream that the server is about to send.
fn check_events(events: &Events) -> Result<(), String> {
    let parsed = events.parse();
    if parsed.len() != events.len() {
        return Err("an event cannot be read back".to_owned());
    }
    events::check_order(&parsed)?;
    for (number, (name, data)) in parsed.iter().enumerate() {
        schema::check(&STREAM_EVENT, data)
            .map_err(|message| format!("event {} ({name}): {message}", number + 1))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
