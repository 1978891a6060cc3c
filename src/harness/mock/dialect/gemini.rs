//! Gemini: `/v1beta/models/MODEL:generateContent` and `:streamGenerateContent`.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

#[cfg(feature = "cli")]
use super::SampleRequest;
#[cfg(feature = "cli")]
use super::conversation::joined;
use super::conversation::{Call, Conversation, Returned, Speaker};
use super::data::ApiData;
use super::schema::{self, Schema};
use super::{ApiError, Asked, Dialect, Target};
use crate::harness::mock::answer::{Answer, signature, tool_id};
use crate::harness::mock::message::{Message, events, json_data};
use crate::harness::mock::request::{ApiRequest, Endpoint};
use crate::harness::mock::script::Block;
use crate::harness::mock::sse::Events;
use crate::harness::mock::validate::{MOST_FINDINGS, RequestFinding, finding};

#[derive(Debug)]
pub(super) struct Gemini;

static DATA: LazyLock<ApiData> = LazyLock::new(|| ApiData::of("gemini"));
static REQUEST: Schema = LazyLock::new(|| schema::compile("gemini/request.schema.json"));
static COUNT_REQUEST: Schema = LazyLock::new(|| schema::compile("gemini/count-tokens-request.schema.json"));

/// Why the API gives no call whose arguments are no JSON object.
const MALFORMED: &str = "MALFORMED_FUNCTION_CALL";

/// What stands between two events.
const END: &[u8] = b"\r\n\r\n";

impl Dialect for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn data(&self) -> &'static ApiData {
        &DATA
    }

    fn endpoint(&self, target: &Target<'_>) -> Option<Endpoint> {
        let is_signed = target.header("x-goog-api-key").is_some() || target.parameter("key").is_some();
        match method(target.path) {
            Some("generateContent" | "streamGenerateContent") => Some(Endpoint::Messages),
            Some("countTokens") => Some(Endpoint::CountTokens),
            Some(_) if is_signed => Some(Endpoint::Other),
            _ if is_signed || target.path.contains("/v1beta/") => {
                let path = target.trimmed();
                let is_models = path.ends_with("/models") || path.contains("/models/");
                Some(if is_models { Endpoint::Models } else { Endpoint::Other })
            }
            _ => None,
        }
    }

    fn read<'b>(&self, target: &Target<'b>, body: &'b Value) -> Conversation<'b> {
        let contents = body["contents"].as_array().map_or(&[][..], Vec::as_slice);
        // A tool of this API is a list of functions.
        let functions = body["tools"].as_array().into_iter().flatten().map(|tool| {
            let listed = any(tool, ["functionDeclarations", "function_declarations"]).as_array();
            listed.map_or(1, Vec::len)
        });
        let config = any(body, ["generationConfig", "generation_config"]);
        let mut conversation = Conversation {
            model: model(target.path).unwrap_or_default(),
            stream: method(target.path) == Some("streamGenerateContent"),
            max_tokens: any(config, ["maxOutputTokens", "max_output_tokens"]).as_u64(),
            listed: contents.len(),
            tools: functions.sum(),
            ..Conversation::default()
        };
        let system = any(body, ["systemInstruction", "system_instruction"]);
        conversation.system.extend(parts(system).filter_map(|part| part["text"].as_str()));
        for content in contents {
            let by = if content["role"] == "model" { Speaker::Model } else { Speaker::User };
            conversation.saying(by);
            for part in parts(content) {
                read_part(part, by, &mut conversation);
            }
        }
        conversation
    }

    fn check_request(&self, request: &ApiRequest) -> Vec<RequestFinding> {
        let schema = match request.endpoint {
            Endpoint::Messages => &REQUEST,
            Endpoint::CountTokens => &COUNT_REQUEST,
            _ => return Vec::new(),
        };
        let mut findings = Vec::new();
        let keys = [
            request.header("x-goog-api-key"),
            request.header("authorization"),
            request.target().parameter("key"),
        ];
        if keys.iter().all(Option::is_none) {
            findings.push(finding("", "neither x-goog-api-key nor authorization is sent"));
        }
        let body = schema::check_request(request, schema, &mut findings);
        if let Some(body) = body.filter(|_| request.endpoint == Endpoint::Messages) {
            let (unanswered, unasked) = self.read(&request.target(), body).loose_ends();
            let message = |what: &str, id: &&str| finding("/contents", format!("{what} {id}"));
            findings.extend(unanswered.iter().map(|id| message("no function response follows the call", id)));
            findings
                .extend(unasked.iter().map(|id| message("no function call comes before the response", id)));
        }
        findings.truncate(MOST_FINDINGS);
        findings
    }

    fn check_answer(&self, answer: &Answer) -> Result<(), String> {
        if answer.blocks.iter().any(|block| matches!(block, Block::Raw(_))) {
            return Err("gemini has no `raw` blocks".to_owned());
        }
        match DATA.stop(&answer.stop_reason) {
            Some(_) => Ok(()),
            None => Err(format!("gemini never stops for `{}`", answer.stop_reason)),
        }
    }

    fn message(&self, answer: &Answer, _: Asked<'_>) -> Value {
        let mut said = Vec::new();
        for (block, letters) in answer.blocks() {
            said.extend(part(answer, block, letters));
        }
        chunk(answer, &said, Some(finish(answer)))
    }

    fn events(&self, answer: &Answer, asked: Asked<'_>) -> Events {
        let is_sse = asked.query.split('&').any(|pair| pair == "alt=sse");
        let mut chunks = Vec::new();
        let mut random = answer.random();
        for (block, letters) in answer.blocks() {
            match block {
                Block::Text(text) | Block::Thinking(text) => {
                    let is_thought = matches!(block, Block::Thinking(_));
                    for piece in answer.split(text, &mut random) {
                        chunks.push(chunk(answer, &[text_part(piece, is_thought)], None));
                    }
                }
                // A call is never split.
                _ => chunks.extend(part(answer, block, letters).map(|part| chunk(answer, &[part], None))),
            }
        }
        chunks.push(chunk(answer, &[text_part("", false)], Some(finish(answer))));
        let mut events = Events::default();
        if is_sse {
            for chunk in &chunks {
                events.push_data(chunk, END);
            }
            return events;
        }
        // Without server-sent events the stream is one list, element by element.
        events.content_type = Some(&DATA.json);
        for (index, chunk) in chunks.iter().enumerate() {
            let (open, close) =
                (if index == 0 { "[" } else { ",\r\n" }, if index + 1 == chunks.len() { "]" } else { "" });
            events.push_raw(format!("{open}{chunk}{close}").as_bytes());
        }
        events
    }

    /// When to ask again stands in the details, since the API sends no headers for it.
    fn error_body(&self, error: &ApiError) -> Value {
        let mut told = json!({"code": error.status, "message": error.message, "status": error.kind});
        let mut details = Vec::new();
        if let Some((limit, _)) = &error.limit {
            details.push(json!({
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [{
                    "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
                    "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": limit,
                }],
            }));
        }
        if let Some(seconds) = &error.retry_after {
            let kind = "type.googleapis.com/google.rpc.RetryInfo";
            details.push(json!({"@type": kind, "retryDelay": format!("{seconds}s")}));
        }
        if !details.is_empty() {
            told["details"] = details.into();
        }
        json!({"error": told})
    }

    fn push_error(&self, events: &mut Events, _: &Answer, _: Asked<'_>, error: &ApiError) {
        if events.content_type.is_none() {
            return events.push_data(&self.error_body(error), END);
        }
        let open = if events.len() == 0 { "[" } else { ",\r\n" };
        events.push_raw(format!("{open}{}]", self.error_body(error)).as_bytes());
    }

    /// An empty chunk: the published clients take a comment for an answer that is no JSON.
    fn ping(&self) -> &'static [u8] {
        b"data: {}\r\n\r\n"
    }

    fn built_in(&self, request: &ApiRequest) -> Option<Value> {
        let model = |(id, name): &(String, String)| {
            json!({
                "name": format!("models/{id}"), "version": "001", "displayName": name,
                "inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536,
                "supportedGenerationMethods": ["generateContent", "countTokens"],
            })
        };
        Some(match request.endpoint {
            Endpoint::CountTokens => json!({"totalTokens": (request.body_bytes / 4).max(1)}),
            Endpoint::Models => match request.path.split("/models/").nth(1).filter(|id| !id.is_empty()) {
                Some(id) => model(DATA.models.iter().find(|(known, _)| known == id)?),
                None => json!({"models": DATA.models.iter().map(model).collect::<Vec<_>>()}),
            },
            _ => return None,
        })
    }

    fn read_body(&self, body: Map<String, Value>) -> Message {
        let mut message = Message { is_ended: true, ..Message::default() };
        read_chunk(&Value::Object(body), &mut message);
        close(&mut message);
        message
    }

    fn read_stream(&self, body: &[u8], is_whole: bool) -> Message {
        let chunks = if body.starts_with(b"[") { elements(body) } else { events(body, is_whole, json_data) };
        let mut message = Message::default();
        let mut is_damaged = false;
        for data in chunks {
            match data {
                Some(data) if data.is_object() => read_chunk(&data, &mut message),
                _ => is_damaged = true,
            }
        }
        close(&mut message);
        message.content = message.content.filter(|_| !is_damaged);
        message
    }

    #[cfg(feature = "cli")]
    fn request(&self, conversation: &Conversation<'_>) -> SampleRequest {
        let mut contents = Vec::new();
        for said in &conversation.said {
            let role = if said.by == Speaker::Model { "model" } else { "user" };
            let calls = said
                .calls
                .iter()
                .map(|call| json!({"functionCall": {"id": call.id, "name": call.name, "args": {}}}));
            let results = said.results.iter().map(|result| {
                let key = if result.is_error { "error" } else { "output" };
                let name = conversation.tool_of(result.call);
                json!({"functionResponse": {"id": result.call, "name": name, "response": {key: result.text}}})
            });
            let texts = said.text.iter().map(|text| json!({"text": text}));
            contents
                .push(json!({"role": role, "parts": calls.chain(results).chain(texts).collect::<Vec<_>>()}));
        }
        let mut body = json!({"contents": contents});
        if !conversation.system.is_empty() {
            let system = joined(conversation.system.iter().copied());
            body["systemInstruction"] = json!({"parts": [{"text": system}]});
        }
        let target = format!("/v1beta/models/{}:streamGenerateContent?alt=sse", conversation.model);
        SampleRequest { target, headers: vec![("x-goog-api-key".to_owned(), "sample".to_owned())], body }
    }
}

/// What is done with a model: the word after the last colon of the path.
fn method(path: &str) -> Option<&str> {
    let (before, method) = path.rsplit_once(':')?;
    before.contains("/models/").then_some(method)
}

/// The model that a path names.
fn model(path: &str) -> Option<&str> {
    let (before, _) = path.rsplit_once(':')?;
    before.rsplit_once("/models/").map(|(_, model)| model)
}

/// The API takes the names of fields in both spellings.
fn any<'b>(value: &'b Value, names: [&str; 2]) -> &'b Value {
    names.iter().map(|name| &value[*name]).find(|found| !found.is_null()).unwrap_or(&Value::Null)
}

fn parts(content: &Value) -> impl Iterator<Item = &Value> {
    content["parts"].as_array().into_iter().flatten()
}

fn read_part<'b>(part: &'b Value, by: Speaker, conversation: &mut Conversation<'b>) {
    let text = |value: &'b Value| value.as_str().unwrap_or_default();
    // A call without an id is known by its name.
    let id = |of: &'b Value| of["id"].as_str().unwrap_or_else(|| text(&of["name"]));
    let call = any(part, ["functionCall", "function_call"]);
    let response = any(part, ["functionResponse", "function_response"]);
    if let Some(text) = part["text"].as_str().filter(|_| part["thought"] != true) {
        conversation.saying(by).text.push(text);
    } else if call.is_object() {
        let call = Call { id: id(call), name: text(&call["name"]) };
        conversation.saying(by).calls.push(call);
    } else if response.is_object() {
        let given = &response["response"];
        let said = given["output"].as_str().or_else(|| given["error"].as_str());
        let text = said.map_or_else(|| given.to_string().into(), Into::into);
        let returned = Returned { call: id(response), text, is_error: !given["error"].is_null() };
        conversation.saying(by).results.push(returned);
    }
}

fn is_malformed(answer: &Answer) -> bool {
    let broken = |block: &Block| matches!(block, Block::Tool { input, .. } if input.parsed().is_none());
    answer.blocks.iter().any(broken)
}

fn finish(answer: &Answer) -> &'static str {
    if is_malformed(answer) { MALFORMED } else { DATA.stop(&answer.stop_reason).unwrap_or("STOP") }
}

fn text_part(text: &str, is_thought: bool) -> Value {
    if is_thought { json!({"text": text, "thought": true}) } else { json!({"text": text}) }
}

/// A block as a part; none when the API gives none for it.
fn part(answer: &Answer, block: &Block, letters: &str) -> Option<Value> {
    match block {
        Block::Text(text) => Some(text_part(text, false)),
        Block::Thinking(text) => Some(text_part(text, true)),
        Block::Tool { name, input, .. } => {
            let id = tool_id(block, "call_", letters);
            let mut part = json!({"functionCall": {"id": id, "name": name, "args": input.parsed()?}});
            let thought = answer.blocks.iter().find_map(|block| match block {
                Block::Thinking(text) => Some(text),
                _ => None,
            });
            if let Some(thought) = thought {
                part["thoughtSignature"] = signature(thought).into();
            }
            Some(part)
        }
        Block::Raw(_) => None,
    }
}

/// One chunk of a stream, or the whole of an answer: only what has a `reason` tells all tokens.
fn chunk(answer: &Answer, parts: &[Value], reason: Option<&str>) -> Value {
    let cached = answer.usage.cache_read_input_tokens;
    let input = answer.input_tokens() + cached + answer.usage.cache_creation_input_tokens;
    let mut candidate = json!({"content": {"parts": parts, "role": "model"}});
    let mut usage = json!({"promptTokenCount": input});
    if cached > 0 {
        usage["cachedContentTokenCount"] = cached.into();
    }
    if let Some(reason) = reason {
        candidate["finishReason"] = reason.into();
        if reason == MALFORMED {
            candidate["finishMessage"] = "Malformed function call".into();
        }
        let (output, thought) = (answer.output_tokens(), answer.thinking_tokens());
        usage["candidatesTokenCount"] = (output - thought).into();
        if thought > 0 {
            usage["thoughtsTokenCount"] = thought.into();
        }
        usage["totalTokenCount"] = (input + output).into();
    } else {
        usage["totalTokenCount"] = input.into();
    }
    candidate["index"] = 0.into();
    json!({
        "candidates": [candidate], "usageMetadata": usage, "modelVersion": answer.model, "responseId": answer.id,
    })
}

/// The elements of a list, as far as it goes.
fn elements(body: &[u8]) -> Vec<Option<Value>> {
    let mut found = Vec::new();
    let mut rest = &body[1..];
    loop {
        let skipped = rest.iter().position(|byte| !b", \r\n]".contains(byte)).unwrap_or(rest.len());
        rest = &rest[skipped..];
        if rest.is_empty() {
            return found;
        }
        let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                found.push(Some(value));
                let read = values.byte_offset();
                rest = &rest[read..];
            }
            // Cut off at the end, it says nothing; anything else is garbage.
            Some(Err(error)) if error.is_eof() => return found,
            _ => {
                found.push(None);
                return found;
            }
        }
    }
}

/// Takes one chunk in.
fn read_chunk(chunk: &Value, message: &mut Message) {
    if chunk["error"].is_object() {
        let error = &chunk["error"];
        message.error = json!({"type": error["status"].clone(), "message": error["message"].clone()});
        return;
    }
    if !chunk["candidates"].is_array() {
        return;
    }
    (message.id, message.model) = (chunk["responseId"].clone(), chunk["modelVersion"].clone());
    let content = message.content.get_or_insert_default();
    let candidate = &chunk["candidates"][0];
    for part in parts(&candidate["content"]) {
        if let Some(text) = part["text"].as_str() {
            let kind = if part["thought"] == true { "thinking" } else { "text" };
            match content.last_mut().filter(|last| last["type"] == kind) {
                Some(last) => {
                    if let Value::String(said) = &mut last[kind] {
                        said.push_str(text);
                    }
                }
                None if text.is_empty() => {}
                None => content.push(json!({"type": kind, kind: text})),
            }
        } else if part["functionCall"].is_object() {
            let call = &part["functionCall"];
            let (id, name, input) = (&call["id"], &call["name"], &call["args"]);
            content.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
        }
    }
    if let Some(word) = candidate["finishReason"].as_str() {
        message.is_ended = true;
        message.stop_reason = DATA.reason(word).unwrap_or(word).into();
    }
    let usage = &chunk["usageMetadata"];
    let count = |key: &str| usage[key].as_u64().unwrap_or(0);
    message.usage = json!({
        "input_tokens": count("promptTokenCount").saturating_sub(count("cachedContentTokenCount")),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": count("cachedContentTokenCount"),
        "output_tokens": count("candidatesTokenCount") + count("thoughtsTokenCount"),
    });
}

/// An answer that calls a tool stops for it, though the API has no word for that.
fn close(message: &mut Message) {
    let calls = message.content.iter().flatten().any(|block| block["type"] == "tool_use");
    if calls && message.stop_reason == "end_turn" {
        message.stop_reason = "tool_use".into();
    }
}
