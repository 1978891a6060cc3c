//! OpenAI Responses: `/v1/responses`.

mod events;
mod replay;

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

#[cfg(feature = "cli")]
use super::SampleRequest;
use super::conversation::{Call, Conversation, Returned, Speaker, joined};
use super::data::ApiData;
use super::schema::{self, Schema};
use super::{ApiError, Asked, Dialect, Target, openai};
use crate::harness::mock::answer::Answer;
use crate::harness::mock::message::Message;
use crate::harness::mock::request::{ApiRequest, Endpoint};
use crate::harness::mock::sse::Events;
use crate::harness::mock::validate::{MOST_FINDINGS, RequestFinding, finding};

#[derive(Debug)]
pub(super) struct OpenAiResponses;

static DATA: LazyLock<ApiData> = LazyLock::new(|| ApiData::of("openai-responses"));
static REQUEST: Schema = LazyLock::new(|| schema::compile("openai-responses/request.schema.json"));

impl Dialect for OpenAiResponses {
    fn name(&self) -> &'static str {
        "openai-responses"
    }

    fn data(&self) -> &'static ApiData {
        &DATA
    }

    fn endpoint(&self, target: &Target<'_>) -> Option<Endpoint> {
        let path = target.trimmed();
        if path.ends_with("/responses") {
            Some(Endpoint::Messages)
        } else if path.ends_with("/responses/input_tokens") {
            Some(Endpoint::CountTokens)
        } else if path.contains("/responses/") {
            Some(Endpoint::Other)
        } else {
            (openai::is_models(target) && openai::is_signed(target)).then_some(Endpoint::Models)
        }
    }

    fn read<'b>(&self, _: &Target<'b>, body: &'b Value) -> Conversation<'b> {
        let tools = body["tools"].as_array().map_or(&[][..], Vec::as_slice);
        let items = body["input"].as_array().map_or(&[][..], Vec::as_slice);
        let mut conversation = Conversation {
            model: body["model"].as_str().unwrap_or_default(),
            stream: body["stream"] == true,
            max_tokens: body["max_output_tokens"].as_u64(),
            system: body["instructions"].as_str().into_iter().collect(),
            listed: items.len(),
            tools: tools.len(),
            first_tool: tools.first().and_then(|tool| tool["type"].as_str()).unwrap_or_default(),
            ..Conversation::default()
        };
        if let Some(text) = body["input"].as_str() {
            conversation.listed = 1;
            conversation.saying(Speaker::User).text.push(text);
        }
        for item in items {
            read_item(item, &mut conversation);
        }
        conversation
    }

    fn check_request(&self, request: &ApiRequest) -> Vec<RequestFinding> {
        if !matches!(request.endpoint, Endpoint::Messages | Endpoint::CountTokens) {
            return Vec::new();
        }
        let mut findings = Vec::new();
        openai::check_credential(request, &mut findings);
        if let Some(body) = schema::check_request(request, &REQUEST, &mut findings) {
            openai::check_calls(&self.read(&request.target(), body), "/input", &mut findings);
            if body["previous_response_id"].is_string() || body["conversation"].is_string() {
                let message = "the scripted API keeps no conversations: send the whole input";
                findings.push(finding("/previous_response_id", message));
            }
        }
        findings.truncate(MOST_FINDINGS);
        findings
    }

    fn message(&self, answer: &Answer, asked: Asked<'_>) -> Value {
        events::message(answer, asked)
    }

    fn events(&self, answer: &Answer, asked: Asked<'_>) -> Events {
        events::events(answer, asked)
    }

    fn error_body(&self, error: &ApiError) -> Value {
        openai::error_body(error)
    }

    fn push_error(&self, events: &mut Events, answer: &Answer, asked: Asked<'_>, error: &ApiError) {
        events::push_error(events, answer, asked, error);
    }

    /// In its pieces, and whole with the text, its part, its item and the response.
    fn repeats(&self) -> usize {
        5
    }

    fn ping(&self) -> &'static [u8] {
        openai::PING
    }

    fn built_in(&self, request: &ApiRequest) -> Option<Value> {
        match request.endpoint {
            Endpoint::Models => openai::models(&DATA, request),
            Endpoint::CountTokens => {
                let tokens = (request.body_bytes / 4).max(1);
                Some(json!({"object": "response.input_tokens", "input_tokens": tokens}))
            }
            _ => None,
        }
    }

    fn read_body(&self, body: Map<String, Value>) -> Message {
        replay::of_body(body)
    }

    fn read_stream(&self, body: &[u8], is_whole: bool) -> Message {
        replay::of_stream(body, is_whole)
    }

    #[cfg(feature = "cli")]
    fn request(&self, conversation: &Conversation<'_>) -> SampleRequest {
        let mut input = Vec::new();
        for said in &conversation.said {
            let (role, kind) = match said.by {
                Speaker::Model => ("assistant", "output_text"),
                _ => ("user", "input_text"),
            };
            input.extend(said.calls.iter().map(|call| {
                json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": "{}"})
            }));
            input.extend(said.results.iter().map(
                |result| json!({"type": "function_call_output", "call_id": result.call, "output": result.text}),
            ));
            input.extend(said.text.iter().map(
                |text| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}),
            ));
        }
        let mut body = json!({"model": conversation.model, "stream": true, "store": false, "input": input});
        if !conversation.system.is_empty() {
            body["instructions"] = joined(conversation.system.iter().copied()).into();
        }
        SampleRequest { target: "/v1/responses".to_owned(), headers: openai::sample_headers(), body }
    }
}

/// Reads one item of the input: a message, a call, what it returned, or what the model thought.
fn read_item<'b>(item: &'b Value, conversation: &mut Conversation<'b>) {
    let text = |key: &str| item[key].as_str().unwrap_or_default();
    // A message may do without its type.
    match item["type"].as_str().unwrap_or("message") {
        "message" => {
            let by = match text("role") {
                "system" | "developer" => return texts(&item["content"], &mut conversation.system),
                "assistant" => Speaker::Model,
                _ => Speaker::User,
            };
            texts(&item["content"], &mut conversation.saying(by).text);
        }
        kind if kind.ends_with("_call_output") => {
            let mut parts = Vec::new();
            texts(&item["output"], &mut parts);
            let returned = Returned { call: text("call_id"), text: joined(parts).into(), is_error: false };
            conversation.saying(Speaker::User).results.push(returned);
        }
        "function_call" | "custom_tool_call" | "local_shell_call" | "shell_call" | "apply_patch_call" => {
            let name = item["name"].as_str().or_else(|| item["type"].as_str()?.strip_suffix("_call"));
            let call = Call { id: text("call_id"), name: name.unwrap_or_default() };
            conversation.saying(Speaker::Model).calls.push(call);
        }
        // Whatever else is listed, the model said it: thoughts, and calls of tools that the API runs itself.
        "item_reference" => {}
        _ => _ = conversation.saying(Speaker::Model),
    }
}

fn texts<'b>(content: &'b Value, into: &mut Vec<&'b str>) {
    match content {
        Value::String(text) => into.push(text),
        Value::Array(parts) => into.extend(parts.iter().filter_map(|part| part["text"].as_str())),
        _ => {}
    }
}
